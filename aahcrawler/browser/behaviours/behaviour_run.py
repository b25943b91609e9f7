"""Run behaviours on a page, within limits."""

import asyncio
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Protocol, TypeVar

from aahcrawler.browser.visits.rendered_page import BehaviourInfo, VisitBounds
from knowledge_base.behaviours import Act, Behaviour, BehaviourStep


class PageLostError(Exception):
    """Raised when the document is gone because the page was reloaded, or when it does not respond."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What a visit has used so far, and how many requests were refused because of their method."""

    bytes: int = 0
    requests: int = 0
    refused_methods: int = 0
    under_way: int = 0
    """How many requests have no complete response yet."""


class ActingPage(Protocol):
    """A page on which behaviours can act."""

    async def evaluate(self, expression: str, frame: str = "") -> object:
        """Return the JSON value of a JavaScript expression; a promise is awaited.

        The expression is evaluated in an isolated world that the page's scripts cannot reach, the same world for all
        calls on a document. ``frame`` is one of ``frames``, empty for the main one. Raises `PageLostError` if the
        document is gone or the expression fails.
        """
        ...

    async def frames(self) -> Sequence[str]:
        """Return the names of the frames within the page, including those from other sites."""
        ...

    async def wait_for_quiet(self, seconds: float) -> None:
        """Return once no request has been in progress for some tenths of a second, but after at most ``seconds``."""
        ...

    def spent(self) -> Spent:
        """Return what the visit has used so far."""
        ...


_FOLDER = Path(__file__).parent
_PARTS = ("seeing.js", "keeping.js", "acting.js")
_ABSENT = "absent"

Found = Mapping[str, object]


class PageActs:
    """Performs acts on one page. Raises what ``ActingPage.evaluate`` raises."""

    def __init__(self, page: ActingPage) -> None:
        self._page = page

    async def take(self, act: str, said: Mapping[str, object] | None = None, frame: str = "") -> Found:
        """Perform one act of the script library and return its result, injecting the library if it is missing."""
        call = f"globalThis.aahActs?.{act} instanceof Function ? aahActs.{act}({json.dumps(said or {})}) : '{_ABSENT}'"
        found = await self._page.evaluate(call, frame)
        if found == _ABSENT:
            await self._page.evaluate(_library(), frame)
            found = await self._page.evaluate(call, frame)
        if found == _ABSENT:
            raise PageLostError
        return found if isinstance(found, Mapping) else {}


def meant(behaviour: Behaviour, step: BehaviourStep) -> dict[str, object]:
    """Return the parameters of a step's act."""
    return {
        "selectors": [{"css": each.css, "xpath": each.source} for each in step.selectors],
        "words": plain_words(step.words),
        "never": plain_words(behaviour.never),
    }


def plain_words(words: Sequence[str]) -> list[str]:
    """Return words in the form in which the library compares them: only letters, single blanks.

    >>> plain_words(["no, thanks", "don't accept"])
    ['no thanks', 'don t accept']
    """
    return [" ".join("".join(each if _is_letter(each) else " " for each in word.lower()).split()) for word in words]


def number_in(found: Found, name: str) -> int:
    """Return a number from an act's result; 0 if it is missing."""
    value = found.get(name)
    return int(value) if isinstance(value, int | float) else 0


def _is_letter(sign: str) -> bool:
    return sign.isalpha() or not (sign.isascii() or sign.isnumeric() or not sign.isprintable() or sign in _SIGNS)


_SIGNS = "’‘“”«»¿¡…–—、。，！？：；（）「」・،؟"


@cache
def _library() -> str:
    parts = "\n".join((_FOLDER / name).read_text(encoding="utf-8") for name in _PARTS)
    return f"(() => {{ 'use strict';\n{parts}\nglobalThis.aahActs = acts;\n return true; }})()"


DONE = "done"
NOTHING_MORE = "nothing more"
STEPS = "steps"
TIME = "time"
BYTES = "bytes"
REQUESTS = "requests"
REFUSED = "refused"
LOST = "lost"

_RANKS = (LOST, TIME, BYTES, REQUESTS, STEPS, REFUSED, NOTHING_MORE, DONE)
"""The possible ends of steps by rank: a behaviour's end is the one of its steps' ends that comes first here."""

_MIN_STEPS = 3
_MIN_SECONDS = 1.5
"""The seconds that a behaviour leaves to each later one, unless a twentieth of the limit is less."""
_BATCH = 10
"""How many elements are opened before waiting for the page."""
_SCREENS = 8
"""How many parts of a window's height are scrolled before the limits are checked again."""
_QUIET = 5.0
"""The most seconds to wait for the page after one act."""
_PATIENCE = 0.5
"""How many seconds to wait once more if an act had no effect."""
_LAST = 2.0
"""How many seconds stopping media may take after the behaviours' time is over."""


async def run_behaviours(
    page: ActingPage, behaviours: Sequence[Behaviour], bounds: VisitBounds
) -> tuple[BehaviourInfo, ...]:
    """Run behaviours in order, and return what each did and why it ended.

    ``bounds`` apply to all of them together, including bytes and requests that the visit has used before. If the page
    is lost, they end with ``lost``. Other errors of the page, such as a crash, are raised. Afterwards, ``put_back``
    restores what the page has shown and removed again.
    """
    run = _Run(page, bounds, [(each, step) for each in behaviours for step in each.steps if step.act is Act.OPEN])
    notes = [await run.behave(each, len(behaviours) - number) for number, each in enumerate(behaviours, 1)]
    if any(note.steps for note in notes):
        await run.finish()
    return tuple(notes)


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class PutBack:
    """How many elements were put back, and how many removals and changes could not be undone.

    A removal or change is not undone if the limits or the time are exceeded, or its place is gone.
    """

    returned: int
    dropped: int


async def put_back(page: ActingPage, seconds: float) -> PutBack:
    """Restore elements that the page showed and removed during behaviours, for at most ``seconds``.

    Call this when no script of the page runs any more, before capturing the document: scripts of lists would remove the
    elements again, because restoring moves what is in view. It may be called again if scripts were interrupted
    meanwhile. Raises what ``ActingPage.evaluate`` raises.
    """
    found = await PageActs(page).take("putBack", {"milliseconds": 1000 * seconds})
    return PutBack(number_in(found, "returned"), number_in(found, "dropped"))


class _EndedError(Exception):
    """Raised to take no further step; ``reason`` is one of those above."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True)
class _Count:
    steps: int = 0


class _Run:
    """One run of behaviours on one page."""

    def __init__(
        self, page: ActingPage, bounds: VisitBounds, folded: Sequence[tuple[Behaviour, BehaviourStep]]
    ) -> None:
        self._folded = folded
        self._page = page
        self._acts = PageActs(page)
        self._bounds = bounds
        self._end = self._until = time.monotonic() + bounds.seconds
        self._taken, self._left = 0, bounds.steps
        self._over = ""
        self._vanishing = False
        self._takers: Mapping[Act, Callable[[Behaviour, BehaviourStep, _Count], Awaitable[str]]] = {
            Act.SCROLL: self._scroll,
            Act.CLICK: self._click,
            Act.OPEN: self._open,
            Act.DISMISS: self._dismiss,
            Act.PLAY: self._play,
        }

    async def behave(self, behaviour: Behaviour, waiting: int) -> BehaviourInfo:
        """Take the steps of one behaviour, leaving a share of the limits to the later ones."""
        count, ends = _Count(), set[str]()
        self._until = self._end - waiting * min(_MIN_SECONDS, self._bounds.seconds / 20)
        self._left = self._bounds.steps - self._taken - waiting * min(_MIN_STEPS, self._bounds.steps // 20)
        for step in behaviour.steps:
            try:
                self._check()
                kept = step.act.value if step.act in (Act.SCROLL, Act.CLICK, Act.OPEN) else ""
                await self._take("keepDuring", {"during": kept})
                await self._take("measure")
                ends.add(await self._takers[step.act](behaviour, step, count))
            except _EndedError as ended:
                ends.add(ended.reason)
                self._over = self._over or (ended.reason if ended.reason in (LOST, BYTES, REQUESTS) else "")
        return BehaviourInfo(behaviour.name, count.steps, min(ends, key=_RANKS.index, default=DONE))

    async def finish(self) -> None:
        """Stop media that are playing."""
        try:
            async with asyncio.timeout(_LAST):
                await self._acts.take("pause")
        except (TimeoutError, PageLostError):
            return

    async def _scroll(self, behaviour: Behaviour, step: BehaviourStep, count: _Count) -> str:
        said = meant(behaviour, step)
        for _ in range(step.most):
            if not await self._to_end(said):
                return NOTHING_MORE
            count.steps += 1
            await self._settle(step)
            if await self._came(scrolled=True):
                continue
            if not number_in(await self._take("nudge", said), "moved"):
                return NOTHING_MORE
            await self._settle(step, least=_PATIENCE)
            if not await self._came(scrolled=True):
                return NOTHING_MORE
        return STEPS

    async def _to_end(self, said: Mapping[str, object]) -> bool:
        """Scroll to the current end of the page; return whether anything scrolls."""
        self._spend()
        while True:
            self._check()
            found = await self._take("scroll", {**said, "screens": _SCREENS})
            if not found.get("found"):
                return False
            if found.get("vanishing"):
                if not self._vanishing:
                    self._vanishing = True
                    await self._take("rewind", said)
                    await self._calm()
                    await self._open_passing()
                    continue
                await self._calm()
                await self._open_passing()
            elif self._page.spent().under_way:
                await self._quiet(1.0)
            if found.get("atEnd") or number_in(found, "moved") < 1:
                return True

    async def _calm(self) -> None:
        """On a page that removes what is out of view, wait for the content that comes into view."""
        await self._take("calm", {"least": 150, "most": 1000})
        if self._page.spent().under_way:
            await self._quiet(_QUIET)

    async def _open_passing(self) -> None:
        """On a page that removes what is out of view, open collapsed content while it is in the document."""
        for behaviour, step in self._folded:
            found = await self._take("open", {**meant(behaviour, step), "most": _BATCH})
            if number_in(found, "clicked"):
                await self._calm()

    async def _click(self, behaviour: Behaviour, step: BehaviourStep, count: _Count) -> str:
        said, refused = meant(behaviour, step), False
        for _ in range(step.most):
            self._check()
            before = self._page.spent()
            key = (await self._take("click", said)).get("key")
            if not key:
                return REFUSED if refused else NOTHING_MORE
            self._spend()
            count.steps += 1
            await self._settle(step)
            if not await self._came():
                await self._settle(step, least=_PATIENCE)
                if not await self._came():
                    refused = refused or self._page.spent().refused_methods > before.refused_methods
                    await self._take("spend", {"key": key})
        return STEPS

    async def _open(self, behaviour: Behaviour, step: BehaviourStep, count: _Count) -> str:
        said, opened = meant(behaviour, step), 0
        while opened < step.most:
            self._check()
            found = await self._take("open", {**said, "most": min(_BATCH, step.most - opened)})
            clicked = number_in(found, "clicked")
            if clicked < 1:
                return DONE
            self._spend()
            count.steps += 1
            opened += clicked
            await self._settle(step)
        return STEPS

    async def _dismiss(self, behaviour: Behaviour, step: BehaviourStep, count: _Count) -> str:
        for _ in range(step.most):
            self._check()
            if not (await self._take("dismiss", meant(behaviour, step))).get("key"):
                return DONE
            self._spend()
            count.steps += 1
            await self._settle(step)
        return STEPS

    async def _play(self, behaviour: Behaviour, step: BehaviourStep, count: _Count) -> str:
        started = 0
        for frame in ("", *await self._within_time(self._page.frames())):
            try:
                found = await self._take("play", {**meant(behaviour, step), "most": step.most - started}, frame)
            except PageLostError:
                continue
            started += number_in(found, "started")
            if started >= step.most:
                break
        if started:
            self._spend()
            count.steps += 1
            await self._settle(step)
        return STEPS if started >= step.most else DONE

    async def _take(self, act: str, said: Mapping[str, object] | None = None, frame: str = "") -> Found:
        try:
            return await self._within_time(self._acts.take(act, said, frame))
        except PageLostError as error:
            if frame:
                raise
            raise _EndedError(LOST) from error

    async def _came(self, *, scrolled: bool = False) -> bool:
        """Return whether new content has come.

        After scrolling, it also counts if the page grew, or if the page now turns out to remove what is out of view,
        because what was passed must then be shown again.
        """
        found = await self._take("measure")
        passed_by = found.get("vanishing") and not self._vanishing
        return bool(found.get("came") or (scrolled and (found.get("grew") or passed_by)))

    async def _settle(self, step: BehaviourStep, least: float = 0.0) -> None:
        """Wait until the page is quiet, after ``least`` seconds and the step's pause."""
        if max(step.pause, least):
            await self._within_time(asyncio.sleep(max(step.pause, least)))
        await self._quiet(_QUIET)

    async def _quiet(self, seconds: float) -> None:
        left = max(0.0, self._until - time.monotonic())
        await self._within_time(self._page.wait_for_quiet(min(seconds, left)))

    async def _within_time(self, doing: Awaitable[_T]) -> _T:
        try:
            async with asyncio.timeout_at(asyncio.get_running_loop().time() + self._until - time.monotonic()):
                return await doing
        except TimeoutError as error:
            raise _EndedError(TIME) from error

    def _spend(self) -> None:
        if self._left < 1:
            raise _EndedError(STEPS)
        self._left -= 1
        self._taken += 1

    def _check(self) -> None:
        if self._over:
            raise _EndedError(self._over)
        reason = _exceeded(self._page.spent(), self._bounds, time.monotonic() >= self._until)
        if reason:
            raise _EndedError(reason)


def _exceeded(spent: Spent, bounds: VisitBounds, late: bool) -> str:
    if late:
        return TIME
    if spent.bytes >= bounds.bytes:
        return BYTES
    return REQUESTS if spent.requests >= bounds.requests else ""

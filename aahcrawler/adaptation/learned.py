"""Actions, links and signs that a crawl learned on one site, their evidence, and what people decided of them."""

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import ClassVar, Final, Generic, TypeVar

from filelock import FileLock
from lxml import etree
from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.segments import append_line
from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import LinkSource, Navigate


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOnSite:
    """The common fields of everything that is learned.

    ``level`` is empty for signs of the application as a whole. ``pages`` are the URLs of the pages that agree,
    ``date`` is the fetch time of the last of them. ``method`` is how the content of these pages was found.
    """

    site: str
    application: str
    level: str
    name: str
    method: Method
    pages: tuple[str, ...]
    confidence: float
    date: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedInPlace(LearnedOnSite):
    """Replaces ``action`` of ``level``, which was given up because of ``failure``.

    ``before`` and ``after`` count the results of the action of the file and of the learned one on ``pages``.
    """

    found: ClassVar[str]
    """The name of the counted results, for people."""

    action: str
    failure: str
    before: int
    after: int

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"{self.application}: {self.level}: {self.action} learned on {self.site} ({self.method}, {self.failure}): "
            f"{self.after} {self.found} on {len(self.pages)} pages, {self.before} before; "
            f"confidence {self.confidence:.2f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedAction(LearnedInPlace):
    """An extraction action that was learned; ``before`` and ``after`` count objects."""

    found = "objects"

    wrapper: Wrapper

    def xml(self) -> etree._Element:
        """Return the ``extract`` element."""
        return self.wrapper.xml()

    def signs(self) -> tuple[Expression, ...]:
        """Return expressions for pages on which the action finds something."""
        return self.wrapper.signs()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLinks(LearnedInPlace):
    """A navigation action that was learned; ``before`` and ``after`` count links.

    It leads to level ``to``. With ``documented`` only links to documented URLs of that level count.
    """

    found = "links"

    to: str
    expression: Expression
    documented: bool

    def navigate(self) -> Navigate:
        """Compile it. Raises `knowledge_base.selectors.BadExpressionError`."""
        return Navigate(self.action, self.to, (LinkSource(self.expression.selector, self.documented),))

    def xml(self) -> etree._Element:
        """Return the ``navigate`` element."""
        element = etree.Element("navigate", {"name": self.action, "to": self.to})
        documented = {"documented": "yes"} if self.documented else {}
        etree.SubElement(element, "select", self.expression.attributes() | documented)
        return element

    def signs(self) -> tuple[Expression, ...]:
        """Return expressions for pages on which the action finds something."""
        return (Expression(self.expression.css, self.expression.xpath),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSign(LearnedOnSite):
    """A sign of a level, or of the application.

    ``pages`` are of the level and have the sign, ``others`` is the number of pages of other levels without it.
    ``method`` is how the level of these pages was known: from a former crawl, or (relaxed) because the sign is similar
    to one of the file, or (induced) by their objects.
    """

    expression: Expression
    others: int

    def __str__(self) -> str:
        """Return one line for people."""
        of = f"level {self.level}" if self.level else "the application"
        return (
            f"{self.application}: sign of {of} learned on {self.site} ({self.method}): {self.expression.css}; on "
            f"{len(self.pages)} pages and on none of {self.others} others; confidence {self.confidence:.2f}"
        )


Learned = LearnedAction | LearnedLinks | LearnedSign


FREE = 3
"""Failures in a row before the first page is spared."""
MAX_PAUSE = 64


@dataclass(slots=True)
class Backoff:
    """Spares exponentially more pages after each failure, from the fourth in a row on, up to `MAX_PAUSE`."""

    left: int = 0
    pause: int = 0
    failures: int = 0

    def allows(self) -> bool:
        """Return whether to try on this page; a page that is spared counts down."""
        if self.left:
            self.left -= 1
            return False
        return True

    def failed(self) -> None:
        """Note a failure: from the fourth in a row on, twice as many pages are spared as after the one before."""
        self.failures += 1
        if self.failures > FREE:
            self.pause = min(MAX_PAUSE, max(1, 2 * self.pause))
        self.left = self.pause

    def succeeded(self) -> None:
        """Note a success: the next page is tried, and failures are counted anew."""
        self.left = self.pause = self.failures = 0


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruMapping(Generic[K, V]):
    """At most ``most`` values, each made when it is asked for and missing.

    >>> squares = LruMapping(2)
    >>> [squares.get(number, lambda: [number])[0] for number in (1, 2, 1, 3)], 1 in squares, 2 in squares
    ([1, 2, 1, 3], True, False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = self._values[key] = make()
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """Drop a key, if it is there."""
        self._values.pop(key, None)

    def __contains__(self, key: K) -> bool:
        """Return whether there is a value."""
        return key in self._values


DECISIONS: Final = "decisions.jsonl"
"""The file in the folder of learned items."""
_LOCK = ".lock"
_MAX_BYTES = 16 << 20


class State(StrEnum):
    """What became of a learned item."""

    WAITING = "waiting"
    """Nobody has decided yet; crawls of this folder use it."""
    ACCEPTED = "accepted"
    """It became part of a file of the knowledge base."""
    REJECTED = "rejected"
    """No crawl of this folder uses it any more."""


class Decision(BaseModel):
    """A decision about a learned item: its `key_of`, when (UTC), by whom, and why; its names are for people."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    key: str
    state: State
    when: datetime
    who: str
    why: str = ""
    application: str = ""
    level: str = ""
    name: str = ""
    site: str = ""

    @property
    def words(self) -> str:
        """What was decided, by whom, when and why, in one line."""
        why = f": {self.why}" if self.why else ""
        return f"{self.state} by {self.who or 'somebody'} on {self.when:%Y-%m-%d %H:%M} UTC{why}"

    def is_about(self, place: tuple[str, str, str, str], learned: str) -> bool:
        """Return whether it is about the item of that application, level, name and site, as ``learned`` (ISO 8601).

        What took the place of an item of that name later has not been decided.
        """
        try:
            is_since = self.when >= datetime.fromisoformat(learned)
        except (ValueError, TypeError):
            return False
        return is_since and place == (self.application, self.level, self.name, self.site)


class Decisions:
    """The decisions about what one crawl learned; the last one about an item counts."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def note(self, learned: Learned, state: State, who: str, why: str) -> Decision:
        """Note a decision. Raises ``OSError`` if the disk refuses."""
        decision = Decision(
            key=key_of(learned),
            state=state,
            when=datetime.now(UTC),
            who=who,
            why=why,
            application=learned.application,
            level=learned.level,
            name=learned.name,
            site=learned.site,
        )
        self._folder.mkdir(parents=True, exist_ok=True)
        with FileLock(self._folder / _LOCK):
            append_line(self._folder / DECISIONS, decision.model_dump_json())
        return decision

    def latest(self) -> Mapping[str, Decision]:
        """Return the last decision about each item, by its key; lines that cannot be read are left out.

        Raises ``OSError`` if the disk refuses.
        """
        return {decision.key: decision for decision in self._read()}

    def rejected(self) -> frozenset[str]:
        """Return the keys of what is not to be used."""
        return frozenset(key for key, decision in self.latest().items() if decision.state is State.REJECTED)

    def _read(self) -> Iterator[Decision]:
        try:
            with (self._folder / DECISIONS).open("rb") as file:
                lines = file.read(_MAX_BYTES).splitlines()
        except (FileNotFoundError, NotADirectoryError):
            return
        for line in lines:
            try:
                yield Decision.model_validate_json(line)
            except ValidationError:
                continue


class Rejected:
    """What people rejected, as those that learn ask; filled from the decisions of a crawl's folder."""

    def __init__(self) -> None:
        self._keys: frozenset[str] = frozenset()

    def take(self, keys: frozenset[str]) -> None:
        """Go by these from now on."""
        self._keys = keys

    def covers(self, learned: Learned) -> bool:
        """Return whether an item was rejected, under whatever name."""
        return bool(self._keys) and key_of(learned) in self._keys


def key_of(learned: Learned) -> str:
    """Return what tells a learned item from others: its place, its site and what it looks for, whatever its name."""
    if isinstance(learned, LearnedSign):
        content = json.dumps(learned.expression.attributes(), sort_keys=True).encode()
        action = ""
    else:
        content = etree.tostring(learned.xml(), method="c14n")
        action = learned.action
    place = "\n".join((learned.site, learned.application, learned.level, action))
    return sha256(place.encode("utf-8", "replace") + b"\n" + content).hexdigest()[:32]

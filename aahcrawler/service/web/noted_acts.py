"""The log of a service, and the note of each act in it before anything of it is done."""

import asyncio
import fcntl
import json
import logging
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol, TextIO

from fastapi.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aahcrawler.layout import SERVICE_LOG
from aahcrawler.segments import append_line, private

_logger = logging.getLogger(__name__)

MAX_FILE_BYTES: Final = 16 << 20
"""Bytes of a file after which another one is begun."""
MAX_FORMER: Final = 64
"""Files that were full and are kept; of more the oldest are removed, which the log says."""
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode

Clock = Callable[[], datetime]


class ActOutcome(StrEnum):
    """What became of an act."""

    ASKED = "asked"
    """It was asked for; nothing of it is done yet. A second line tells the outcome."""
    DONE = "done"
    REFUSED = "refused"
    FAILED = "failed"
    """It met a defect, and what was done by then is not known."""
    ENDED = "ended"
    """Work that went on after its response is over, as ``detail`` says."""
    USED = "used"
    """Somebody read, or posted scored URLs: noted once a day for each name and address."""


class NotNotedError(Exception):
    """Raised where the log cannot be written; the message says why."""


def now() -> datetime:
    """Return the time by the wall clock, in UTC."""
    return datetime.now(UTC)


class ServiceLog:
    """Adds lines to a file of its owner's alone, each forced to the disk; several processes and threads may.

    Without a path lines go to the process's own log. A file that is full is kept under its name with the time in it.
    """

    def __init__(self, path: Path | None = None, clock: Clock = now, largest: int = MAX_FILE_BYTES) -> None:
        self._path, self._clock, self._largest = path, clock, largest
        self._lock = threading.Lock()

    @property
    def path(self) -> Path | None:
        """The file that lines are added to."""
        return self._path

    def note(self, entry: Mapping[str, object]) -> None:
        """Add a line with the time and the fields of an entry that are not empty. Raise ``NotNotedError``."""
        told = {name: value for name, value in entry.items() if value not in ("", ())}
        if self._path is None:
            _logger.info("%s", self._line(told))
            return
        try:
            with self._lock:
                self._add(self._path, told)
        except OSError as error:
            raise NotNotedError(f"{self._path} cannot be written: {error.strerror or error}") from error

    def _add(self, path: Path, told: Mapping[str, object]) -> None:
        while True:
            with open(path, "ab", opener=private) as held:
                fcntl.flock(held, fcntl.LOCK_EX)
                if not _is_the_file(path, held.fileno()):
                    continue  # Another process found it full, and has begun another one.
                # Nobody else adds a line meanwhile: lines are in the order of their times.
                if append_line(path, self._line(told)) >= self._largest:
                    self._begin_another(path)
                return

    def _begin_another(self, path: Path) -> None:
        """Keep a full file under a name of its own. Where that cannot be done it goes on growing, which is reported."""
        try:
            path.rename(path.with_name(f"{path.stem}.{self._clock():%Y%m%dT%H%M%S%fZ}{path.suffix}"))
            removed = former_files(path)[:-MAX_FORMER]
            for old in removed:
                # Said before it is done, so that nothing is missing without a word.
                said = {"act": "remove", "object": old.name, "outcome": ActOutcome.DONE}
                with open(path, "ab", opener=private):
                    append_line(path, self._line({**said, "detail": f"{MAX_FORMER} full files are kept"}))
                old.unlink(missing_ok=True)
        except OSError as error:
            _logger.error("%s is full, and no other can be begun: %s", path, error.strerror)

    def _line(self, told: Mapping[str, object]) -> str:
        return _ENCODE({"at": self._clock().isoformat(timespec="milliseconds"), **told})


def former_files(path: Path) -> list[Path]:
    """Return the full files of a log, the oldest first."""
    return sorted(path.parent.glob(f"{path.stem}.*Z{path.suffix}"))


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that is no entry: its file and number, from 1."""

    path: Path
    line: int


def read_entries(place: Path) -> Iterator[Mapping[str, object] | Damage]:
    """Yield the entries of a log, the oldest first; ``place`` is its file, or the folder that it lies in.

    Raise ``FileNotFoundError`` where there is none.
    """
    path = place / SERVICE_LOG if place.is_dir() else place
    files = [*former_files(path), path]
    if not any(file.is_file() for file in files):
        raise FileNotFoundError(f"{path}: no log of a service is there")
    for file in files:
        with suppress(FileNotFoundError), file.open(encoding="utf-8", errors="replace") as lines:
            yield from _entries(file, lines)


def _entries(path: Path, lines: TextIO) -> Iterator[Mapping[str, object] | Damage]:
    for number, line in enumerate(lines, 1):
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            entry = None
        yield entry if isinstance(entry, dict) and isinstance(entry.get("at"), str) else Damage(path, number)


def _is_the_file(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


MAX_PATH_LENGTH = 2_000
"""Characters of a path that are logged: whoever asks may make it as long as a head."""
access_log = logging.getLogger("aahcrawler.service.web.access")


class AccessLog:
    """Logs client, request, status and milliseconds of every response, and the caller's name where one was let in."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            client = scope["client"][0] if scope.get("client") else "-"
            asked = scope.get("raw_path", b"").decode("latin-1")
            query = scope["query_string"].decode("latin-1")
            path = f"{asked}?{query}" if query else asked
            if len(path) > MAX_PATH_LENGTH:
                path = f"{path[:MAX_PATH_LENGTH]}..."
            spent = (time.perf_counter() - began) * 1000
            caller = getattr(HTTPConnection(scope).state, "caller", None)
            who = f" for {caller.name}" if caller is not None else ""
            access_log.info('%s "%s %s" %d %.1f ms%s', client, scope["method"], path, status, spent, who)


MAX_REFUSALS: Final = 60
"""Refused requests a minute that get lines of their own; of more there is a count. Strangers cause them, too."""
MAX_DETAIL_LENGTH: Final = 2_000
"""Characters of what an act was on, and of what was said of it: whoever asks may make them long."""
_MAX_USERS: Final = 10_000
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_REFUSED: Final = frozenset({401, 403, 421, 429})
"""Answers to who only looks that are noted."""


class Somebody(Protocol):
    """Whoever asks, as the log tells it."""

    @property
    def name(self) -> str:
        """The name of the token."""

    @property
    def roles(self) -> frozenset[str]:
        """What they may do."""


@dataclass(slots=True)
class ActUnderWay:
    """A request of somebody, from its beginning to its response and what follows.

    ``is_use`` says that it changes nothing that has to be noted each time.
    """

    log: ServiceLog
    client: str
    through: str
    method: str
    path: str
    caller: Somebody | None
    is_use: bool
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    begun: bool = False
    refused: bool = False
    said: str = ""
    did: list[str] = field(default_factory=list)

    def note(self, outcome: ActOutcome, status: int = 0, detail: str = "") -> None:
        """Add a line. Raise ``NotNotedError``."""
        caller, path = self.caller, self.path
        entry: dict[str, object] = {
            "id": self.id,
            "by": caller.name if caller is not None else "",
            "roles": tuple(sorted(caller.roles)) if caller is not None else (),
            "client": self.client,
            "through": self.through,
            "act": self.method,
            "object": path if len(path) <= MAX_DETAIL_LENGTH else f"{path[:MAX_DETAIL_LENGTH]}…",
            "outcome": outcome,
            "did": tuple(self.did),
            "detail": (detail or self.said)[:MAX_DETAIL_LENGTH],
        }
        self.log.note({**entry, "status": status} if status else entry)

    def note_later(self, outcome: ActOutcome, status: int = 0, detail: str = "") -> None:
        """Add a line about what is done already. Where that cannot be written it is reported with what it says."""
        try:
            self.note(outcome, status, detail)
        except NotNotedError as error:
            _logger.error("%s; it stands all the same: %s %s %s", error, self.id, outcome, detail or self.said)


_UNDER_WAY: ContextVar[ActUnderWay | None] = ContextVar("act under way", default=None)


def under_way() -> ActUnderWay | None:
    """Return the act that this is done for, None where nobody asked for it."""
    return _UNDER_WAY.get()


async def note_asked() -> None:
    """Note that the act under way was asked for, by somebody who is let in, before anything of it is done.

    Raise ``NotNotedError``.
    """
    act = under_way()
    if act is None or act.is_use or act.begun:
        return
    await asyncio.to_thread(act.note, ActOutcome.ASKED)
    act.begun = True


def note_did(crawl: str, act: str) -> None:
    """Have the line of the act under way tell what was done to which crawl."""
    if (now_doing := under_way()) is not None:
        now_doing.did.append(f"{act} {crawl}")


def note_said(text: str, *, refused: bool) -> None:
    """Have the line of the act under way tell what is told of it, and whether it was refused."""
    if (now_doing := under_way()) is not None:
        now_doing.said, now_doing.refused = text, refused or now_doing.refused


def note_caller(caller: Somebody) -> None:
    """Have the line of the act under way tell who is known by now: a sign-in begins without a name."""
    if (now_doing := under_way()) is not None:
        now_doing.caller = caller


@dataclass(frozen=True, slots=True)
class Noting:
    """How requests are noted: in which log, through what they came, and what tells who sends one.

    ``is_use`` says of method and path that they change nothing that has to be noted each time.
    """

    log: ServiceLog
    through: str
    who: Callable[[HTTPConnection], Somebody | None]
    is_use: Callable[[str, str], bool] = field(default=lambda _method, _path: False)


class NotedActs:
    """Notes requests: acts twice, as asked for (``note_asked``) and with their outcome.

    Of what was not let in, each refusal is noted, up to ``MAX_REFUSALS`` a minute; of those who only look, the first
    request of each day by each name and address.
    """

    def __init__(self, app: ASGIApp, noting: Noting) -> None:
        self._app, self._noting = app, noting
        self._users: OrderedDict[tuple[str, ...], None] = OrderedDict()
        self._minute, self._refusals = "", 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        act, responded = self._act(scope), False

        async def noted(message: Message) -> None:
            nonlocal responded
            if message["type"] == "http.response.start":
                responded = True
                await self._note(act, int(message["status"]))
            await send(message)

        token = _UNDER_WAY.set(act)
        try:
            await self._app(scope, receive, noted)
        except Exception as error:
            if act.begun and not responded:
                await asyncio.to_thread(act.note_later, ActOutcome.FAILED, detail=type(error).__name__)
            raise
        finally:
            _UNDER_WAY.reset(token)

    def _act(self, scope: Scope) -> ActUnderWay:
        client = str(scope["client"][0]) if scope.get("client") else ""
        path, query = scope.get("raw_path", b"").decode("latin-1"), scope["query_string"].decode("latin-1")
        noting, method = self._noting, str(scope["method"])
        return ActUnderWay(
            noting.log,
            client,
            noting.through,
            method,
            f"{path}?{query}" if query else path,
            noting.who(HTTPConnection(scope)),
            is_use=method in _SAFE or noting.is_use(method, scope["path"]),
        )

    async def _note(self, act: ActUnderWay, status: int) -> None:
        if act.begun:
            await asyncio.to_thread(act.note_later, _outcome(act, status), status)
        elif status in _REFUSED or (act.caller is None and not act.is_use):
            await self._note_refusal(act, status)
        elif not act.is_use:
            await asyncio.to_thread(act.note_later, _outcome(act, status), status)
        elif act.caller is not None and self._is_new_user(act.caller.name, act):
            await asyncio.to_thread(act.note_later, ActOutcome.USED, status)

    async def _note_refusal(self, act: ActUnderWay, status: int) -> None:
        minute = f"{now():%Y-%m-%dT%H:%M}"
        if minute != self._minute:
            more, self._minute, self._refusals = self._refusals - MAX_REFUSALS, minute, 0
            if more > 0:
                await asyncio.to_thread(
                    act.note_later, ActOutcome.REFUSED, detail=f"{more:,} others before within a minute"
                )
        self._refusals += 1
        if self._refusals <= MAX_REFUSALS:
            await asyncio.to_thread(act.note_later, ActOutcome.REFUSED, status)

    def _is_new_user(self, name: str, act: ActUnderWay) -> bool:
        key = f"{now():%Y-%m-%d}", name, act.client, act.method
        if key in self._users:
            return False
        self._users[key] = None
        if len(self._users) > _MAX_USERS:
            self._users.popitem(last=False)
        return True


def _outcome(act: ActUnderWay, status: int) -> ActOutcome:
    if act.refused:
        return ActOutcome.REFUSED
    return ActOutcome.FAILED if status == 500 else ActOutcome.REFUSED if status >= 400 else ActOutcome.DONE


def details_of(entry: Mapping[str, object]) -> str:
    """Return an entry of the log as people read it.

    >>> details_of({"at": "2026-03-01T12:00:00.000+00:00", "by": "anna", "client": "10.0.0.7", "outcome": "done",
    ...             "act": "POST", "object": "/v1/crawls/flood/pause", "did": ["pause flood"]})
    '2026-03-01T12:00:00.000+00:00 anna 10.0.0.7 done: POST /v1/crawls/flood/pause (pause flood)'
    """
    did = entry.get("did")
    told = [str(each) for each in (*(did if isinstance(did, list) else ()), entry.get("detail")) if each]
    who = " ".join(str(entry.get(name) or "-") for name in ("at", "by", "client", "outcome"))
    what = " ".join(str(entry[name]) for name in ("act", "object") if name in entry)
    return f"{who}: {what}" + (f" ({'; '.join(told)})" if told else "")

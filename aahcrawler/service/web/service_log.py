"""The log of a service: who did what, when, from where and with what outcome, as lines of JSON that are only added."""

import fcntl
import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Final, TextIO

from fastapi.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aahcrawler.layout import SERVICE_LOG
from aahcrawler.segments import append_line, private

LARGEST: Final = 16 << 20
"""Bytes of a file after which another one is begun."""
MAX_FORMER: Final = 64
"""Files that were full and are kept; of more the oldest are removed, which the log says."""
_ENCODE = json.JSONEncoder(ensure_ascii=False).encode
_logger = logging.getLogger(__name__)

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
    """Work that went on after its answer is over, as ``detail`` says."""
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

    def __init__(self, path: Path | None = None, clock: Clock = now, largest: int = LARGEST) -> None:
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
    """Logs client, request, status and milliseconds of every answer, and the caller's name where one was let in."""

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

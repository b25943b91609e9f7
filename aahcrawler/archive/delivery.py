"""Copy the closed files of a crawl to its target, without making the crawl wait.

A file is ready once it has lost the suffix ``.open``. The index, and the small files that describe the crawl, are
copied when it has ended. Nothing is deleted on either side. Delivering twice changes nothing.
"""

import hashlib
import json
import logging
import os
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, Self

from aahcrawler.archive.folders import ArchiveError, ArchiveFolder
from aahcrawler.archive.index import replace_lines
from aahcrawler.archive.target import Target, TargetError, check_address, first_line, lasting_address
from aahcrawler.definitions import read_id
from aahcrawler.layout import (
    ARCHIVE,
    DEFINITION,
    DELIVERED,
    FORMER,
    INDEX,
    INDEXES,
    LEARNED,
    NQUADS,
    OBJECTS,
    SUMMARY,
    TOPIC,
    WARC,
)
from aahcrawler.segments import is_open, segments

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Ready:
    """A file that can be copied. ``name`` is its path below the crawl's folder, with slashes.

    ``grows_no_more`` means that a file of this name never changes again, so a copy of the same size is whole.
    """

    name: str
    path: Path
    size: int
    changed: int
    grows_no_more: bool


@dataclass(slots=True)
class Delivered:
    """The record of which files are known to be at ``target``; ``crawl`` is the name of the crawl's folder there."""

    path: Path
    target: str = ""
    crawl: str = ""
    _known: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    _torn: bool = False
    _unwritable: bool = False

    @classmethod
    def read(cls, folder: Path) -> "Delivered":
        """Read the record of deliveries in a crawl's folder, including the last target."""
        delivered = cls(folder / DELIVERED)
        with suppress(OSError):
            lines = delivered.path.read_bytes().split(b"\n")
            delivered._torn = bool(lines.pop())
            for line in lines:
                delivered._take(line)
        return delivered

    def aim(self, target: str, crawl: str) -> None:
        """Set the target of the next copies."""
        if (target, crawl) != (self.target, self.crawl):
            self.target, self.crawl = target, crawl
            self._append({"target": target, "crawl": crawl})

    def has(self, ready: Ready) -> bool:
        """Return whether this version of the file was copied to the target."""
        return self._known.get((self._place, ready.name)) == (ready.size, ready.changed)

    def add(self, ready: Ready) -> None:
        """Record that a file was copied to the target."""
        self._known[self._place, ready.name] = ready.size, ready.changed
        self._append({"name": ready.name, "size": ready.size, "changed": ready.changed})

    @property
    def _place(self) -> str:
        return f"{self.target}\n{self.crawl}"

    def _take(self, line: bytes) -> None:
        try:
            match json.loads(line):
                case {"target": str(target), "crawl": str(crawl)}:
                    self.target, self.crawl = target, crawl
                case {"name": str(name), "size": int(size), "changed": int(changed)}:
                    self._known[self._place, name] = size, changed
        except (ValueError, RecursionError):
            return

    def _append(self, fields: dict[str, object]) -> None:
        line = (b"\n" if self._torn else b"") + json.dumps(fields).encode("ascii") + b"\n"
        try:
            fd = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o644)
            try:
                self._torn = os.write(fd, line) != len(line)
            finally:
                os.close(fd)
        except OSError as error:
            if not self._unwritable:
                _logger.warning("%s: %s; copied files will be compared by size", self.path, error)
            self._unwritable = True


_CLOSED = ((ARCHIVE, WARC), (OBJECTS, NQUADS))
_LAST = (f"{INDEXES}/{INDEX}",)
_RECORDS = (DEFINITION, TOPIC, f"{FORMER}/*/*.json", f"{LEARNED}/*.xml", SUMMARY)
_TRIES = 3


class Receiver(Protocol):
    """The file operations that a target must offer."""

    def size(self, name: str) -> int | None:
        """Return the size of a file in bytes; None if it does not exist."""

    def put(self, source: BinaryIO, name: str) -> None:
        """Copy a file to this name, either whole or not at all."""

    def digest(self, name: str) -> bytes | None:
        """Read a file and return its SHA-256; None if it does not exist."""


Connect = Callable[[str], Receiver]


class DeliveryError(Exception):
    """Raised when files could not be delivered; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Progress:
    """The number and bytes of closed files at the target, and of those not copied yet."""

    target: str
    files: int = 0
    bytes: int = 0
    waiting: int = 0
    waiting_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Rhythm:
    """Intervals of a delivery in seconds.

    ``look`` is the time between two looks at the folder; ``shortest`` and ``longest`` bound the pause before a retry;
    ``end`` is the longest wait at the end of a crawl. ``chance`` returns numbers from 0 to 1 that vary the pauses, so
    that many crawls do not retry at the same time.
    """

    look: float = 2.0
    shortest: float = 1.0
    longest: float = 300.0
    end: float = 10.0
    chance: Callable[[], float] = random.random

    def pause(self, failures: int) -> float:
        """Return the seconds to wait after this many failures in a row.

        >>> [Rhythm(chance=lambda: 1.0).pause(n) for n in (1, 2, 3, 40)]
        [1.0, 2.0, 4.0, 300.0]
        """
        whole = min(self.longest, self.shortest * 2.0 ** min(failures - 1, 30))
        return whole * (0.5 + 0.5 * self.chance())


class Delivery:
    """Copies files of a crawl in a thread of its own while the context is open.

    Errors of the target never reach the crawl: they are logged when they begin and when they end, and each file is
    retried until it has arrived. Leaving the context waits at most ``Rhythm.end`` seconds, and not at all while the
    target fails.
    """

    def __init__(
        self, folder: Path, crawl: str, address: str, rhythm: Rhythm | None = None, connect: Connect = Target
    ) -> None:
        self._folder = folder
        self._rhythm = rhythm or Rhythm()
        self._delivered = Delivered.read(folder)
        self._delivered.aim(lasting_address(address), crawl)
        self._courier = _Courier(self._delivered, connect)
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._given_up = threading.Event()
        self._is_complete = False
        self._trouble = ""
        self._late: set[str] = set()
        self.progress = self._progress()
        self._thread = threading.Thread(target=self._run, name="delivery", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Deliver the remaining files, or give up if that takes too long. May be called twice."""
        if self._given_up.is_set() or not self._thread.ident:
            return
        self._ending.set()
        self._wake.set()
        self._thread.join(self._rhythm.end)
        self._given_up.set()
        self._wake.set()
        if not self._is_complete:
            self._note_progress()
        self.progress = self._progress((*_LAST, *_RECORDS))

    def _run(self) -> None:
        failures = 0
        while not self._given_up.is_set():
            is_end = self._ending.is_set()
            if self._deliver(closed_files(self._folder, _LAST if is_end else ())):
                failures = 0
                if is_end:
                    self._note_progress()
                    self._is_complete = self._deliver(closed_files(self._folder, _RECORDS))
                    return
            else:
                failures += 1
                if is_end and failures > 1:
                    return
            self._wake.wait(self._rhythm.pause(failures) if failures else self._rhythm.look)
            if not self._given_up.is_set():
                self._wake.clear()

    def _deliver(self, files: Iterator[Ready]) -> bool:
        """Deliver files until one fails, trying those that failed before last. Return whether all arrived."""
        ready = None
        try:
            # A file that the target rejects must not hold up the others.
            for ready in sorted(files, key=lambda file: file.name in self._late):
                if self._given_up.is_set():
                    return False
                if not self._delivered.has(ready):
                    self._courier.bring(ready)
                self._late.discard(ready.name)
        except Exception as error:  # File systems raise what they like, and none of it is the crawl's trouble.
            self._courier.reconnect()
            self._late.update([ready.name] if ready else [])
            self._fall_behind(error)
            return False
        finally:
            self.progress = self._progress()
        if self._trouble:
            _logger.warning("delivery to %s works again", self._delivered.target)
            self._trouble = ""
        return True

    def _fall_behind(self, error: Exception) -> None:
        if not self._trouble:
            self._trouble = first_line(error)
            _logger.warning("delivery to %s is put off, the crawl goes on: %s", self._delivered.target, self._trouble)

    def _progress(self, last: Iterable[str] = ()) -> Progress:
        with suppress(OSError):
            return progress_of(self._delivered, closed_files(self._folder, last))
        return Progress(self._delivered.target)

    def _note_progress(self) -> None:
        """Write the counts of copied and waiting files to ``crawl.json`` before that file is itself delivered."""
        path = self._folder / SUMMARY
        with suppress(OSError, ValueError, AttributeError, RecursionError):
            summary = json.loads(path.read_text("utf-8"))
            noted = summary | {"delivery": asdict(self._progress(_LAST))}
            replace_lines(path, [(json.dumps(noted, indent=2, ensure_ascii=False) + "\n").encode("utf-8")])


class _Courier:
    """Copies one file at a time over a connection that is opened when needed."""

    def __init__(self, delivered: Delivered, connect: Connect) -> None:
        self._delivered = delivered
        self._connect = connect
        self._receiver: Receiver | None = None

    def bring(self, ready: Ready, *, knows_best: bool = False, compare_digests: bool = False) -> bool:
        """Copy a file unless the target has it; return whether it was copied. A file that has vanished is skipped.

        With ``knows_best``, a recorded copy only counts if the target has it; with ``compare_digests``, its SHA-256
        must match.
        """
        receiver = self._receiver = self._receiver or self._connect(self._delivered.target)
        name = f"{self._delivered.crawl}/{ready.name}"
        may_be_there = ready.grows_no_more or (knows_best and self._delivered.has(ready))
        is_there = may_be_there and receiver.size(name) == ready.size
        if is_there and not (compare_digests and _differs(ready.path, receiver, name)):
            if not self._delivered.has(ready):
                self._delivered.add(ready)
            return False
        try:
            source = ready.path.open("rb")
        except FileNotFoundError:
            return False
        with source:
            receiver.put(source, name)
        self._delivered.add(ready)
        return True

    def reconnect(self) -> None:
        """Close the connection, so that the next file uses a new one."""
        self._receiver = None


def _differs(path: Path, receiver: Receiver, name: str) -> bool:
    with path.open("rb") as file:
        return receiver.digest(name) != hashlib.file_digest(file, "sha256").digest()


def closed_files(folder: Path, last: Iterable[str] = ()) -> Iterator[Ready]:
    """Yield the files of a crawl that will not change: closed segments, then the files named in ``last``."""
    for place, extension in _CLOSED:
        if (folder / place).is_dir():
            for path in segments(folder / place, extension):
                if not is_open(path):
                    yield from _ready(folder, path, grows_no_more=True)
    for pattern in last:
        for path in sorted(folder.glob(pattern)):
            yield from _ready(folder, path, grows_no_more=False)


def _ready(folder: Path, path: Path, *, grows_no_more: bool) -> Iterator[Ready]:
    with suppress(FileNotFoundError):
        status = path.stat()
        name = path.relative_to(folder).as_posix()
        yield Ready(name, path, status.st_size, status.st_mtime_ns, grows_no_more)


def progress_of(delivered: Delivered, files: Iterable[Ready]) -> Progress:
    """Return how many of the files are at the target, and how many are not."""
    counts = {True: [0, 0], False: [0, 0]}
    for ready in files:
        count = counts[delivered.has(ready)]
        count[0] += 1
        count[1] += ready.size
    return Progress(delivered.target, *counts[True], *counts[False])


def deliver(
    path: Path, address: str = "", connect: Connect = Target, *, compare_digests: bool = False
) -> Iterator[str]:
    """Copy missing files to the target, and compare the sizes of the others; yield a line per copy, then a total.

    An empty ``address`` means the target that the crawl used last. With ``compare_digests`` everything at the target is
    read again, and files that differ are copied again. Raises ``ArchiveError`` for a folder that holds no crawl or in
    which one is running, and ``DeliveryError`` if files could not be delivered.
    """
    try:
        check_address(address)
    except TargetError as error:
        raise DeliveryError(f"the target {error}") from error
    archive = ArchiveFolder.at(path)
    if archive.crawl is None:
        raise ArchiveError(f"{path}: is no folder of a crawl; name one, with {DEFINITION} in it")
    with archive.alone():
        delivered = Delivered.read(archive.crawl)
        if not (address or delivered.target):
            raise DeliveryError(f"{path}: this crawl had no archive.target; name one with --target")
        delivered.aim(lasting_address(address) if address else delivered.target, _name_of(archive.crawl, delivered))
        courier = _Courier(delivered, connect)
        ready = list(closed_files(archive.crawl, (*_LAST, *_RECORDS)))
        copied = 0
        for file in ready:
            if _brought(courier, file, delivered.target, compare_digests=compare_digests):
                copied += 1
                yield f"{file.name}: {file.size:,} bytes"
    yield f"{copied} files copied to {delivered.target}, {len(ready) - copied} were there"


def _brought(courier: _Courier, ready: Ready, target: str, *, compare_digests: bool) -> bool:
    rhythm = Rhythm()
    for failures in range(1, _TRIES + 1):
        try:
            return courier.bring(ready, knows_best=True, compare_digests=compare_digests)
        except TargetError as error:
            raise DeliveryError(f"the target {error}") from error
        except Exception as error:  # File systems raise what they like.
            courier.reconnect()
            if failures == _TRIES:
                raise DeliveryError(
                    f"{target}: {ready.name} could not be delivered ({first_line(error)}); "
                    "see to the target, the same command goes on from here"
                ) from error
            time.sleep(rhythm.pause(failures))
    return False


def _name_of(folder: Path, delivered: Delivered) -> str:
    """Return the name of the crawl's folder at the target: the crawl's id."""
    if delivered.crawl:
        return delivered.crawl
    with suppress(OSError, ValueError):
        return read_id(folder / DEFINITION)
    return folder.resolve().name

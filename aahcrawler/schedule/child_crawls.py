"""The crawls that a schedule starts, each as a process that outlives the one that started it.

The output of a process goes to a log file of its entry, which the process holds locked while it runs. So a successor of
a killed scheduler can tell which crawls still run. How a crawl ended is read from its folder.
"""

import fcntl
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Final, Protocol, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aahcrawler.crawls import running_process
from aahcrawler.layout import SUMMARY
from aahcrawler.revisits.change_log import counted_changes
from aahcrawler.revisits.time_left import TimeLeft
from aahcrawler.schedule.schedule_file import Entry
from aahcrawler.schedule.visit_log import Found
from aahcrawler.seeds.verdicts import GIVING, Verdict
from aahcrawler.segments import DamageError, private
from aahcrawler.urls import canonicalize, queue_of
from online_analysis.icd import Icd, IcdError

logger = logging.getLogger(__name__)
FINISHED: Final = "finished"
LIMITED: Final = ("limits.", "closespider_")
"""The beginnings of the reasons with which crawls end that reached one of their limits."""
AAH: Final = (sys.executable, "-m", "aahcrawler.cli")
_GIVING: Final = frozenset({"", Verdict.PENDING, *GIVING})
_PROGRESS: Final = ("now: ", "pages: ")
"""The beginnings of the lines that say how far a crawl is by now."""
_READ: Final = 1 << 14
_MAX_SAID: Final = 2000
_MAX_SEEDS: Final = 20


class SeedTold(BaseModel):
    """What became of a seed, by ``crawl.json``."""

    model_config = ConfigDict(frozen=True)

    url: str = ""
    verdict: str = ""
    advice: str = ""


class CrawlTold(BaseModel):
    """The state of the crawl in a folder, by its ``crawl.json``; the defaults stand for a folder without a crawl."""

    model_config = ConfigDict(frozen=True)

    crawl: int = 0
    state: str = ""
    reason: str = ""
    started_at: str = ""
    pages: int = 0
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    gone: int = 0
    bytes: int = 0
    seconds: float = 0.0
    time_left: TimeLeft = TimeLeft()
    seeds: tuple[SeedTold, ...] = Field(default=(), repr=False)

    @classmethod
    def of(cls, folder: Path) -> Self:
        """Read the state of the crawl in a folder."""
        try:
            return cls.model_validate_json((folder / SUMMARY).read_bytes())
        except (OSError, ValidationError):
            return cls()

    @property
    def mark(self) -> str:
        """A text that identifies one run of a crawl among all in its folder."""
        return f"{self.crawl} {self.started_at}"

    @property
    def is_over(self) -> bool:
        """Whether the crawl came to its end, so that the next start begins a new one."""
        return self.state == FINISHED or self.reason.startswith(LIMITED)

    @property
    def found(self) -> Found:
        """The counts of the crawl."""
        told = self.crawl, self.pages, self.new, self.changed, self.unchanged, self.gone
        return Found(*told, self.bytes, self.seconds)

    @property
    def lacks_a_seed(self) -> bool:
        """Whether some seed did not lead into its site."""
        return any(each.verdict not in _GIVING for each in self.seeds)

    @property
    def seeds_in_words(self) -> str:
        """The outcomes of those seeds that were not simply fetched."""
        told = [each for each in self.seeds if each.verdict not in ("", Verdict.FETCHED)]
        words = [f"{each.url}: {each.verdict}; {each.advice}" for each in told[:_MAX_SEEDS]]
        return "\n".join([*words, *([f"and {len(told) - _MAX_SEEDS} others"] if len(told) > _MAX_SEEDS else [])])


def found_in(folder: Path, told: CrawlTold) -> Found:
    """Return the counts of a crawl; changes are counted from its log of changes, which survives a kill."""
    names = ("new", "changed", "unchanged", "gone")
    try:
        counts = counted_changes(folder, told.crawl, {name: getattr(told, name) for name in names})
    except (DamageError, OSError, sqlite3.Error) as error:
        logger.warning("%s: changes are counted as crawl.json has them: %s", folder, error)
        return told.found
    return replace(told.found, **counts)


class Child(Protocol):
    """The process of a crawl."""

    def poll(self) -> int | None:
        """Return the exit code, None while the process runs. A process that somebody else started gives 0."""
        ...

    def end(self) -> None:
        """Ask the process to end in good order; if called again, to end at once."""
        ...

    @property
    def said(self) -> str:
        """Return the last lines of its output."""
        ...


class ChildCrawls(Protocol):
    """Starts crawls and reports their states; ``folder`` arguments are the folders of entries' crawls."""

    def told(self, folder: Path) -> CrawlTold:
        """Read the state of the crawl in a folder."""
        ...

    def is_used(self, folder: Path) -> bool:
        """Return whether a crawl runs in a folder, whoever started it."""
        ...

    def running(self, name: str, folder: Path) -> Child | None:
        """Return the running process of an entry's crawl that a former scheduler started; None if there is none."""
        ...

    def begin(self, name: str, entry: Entry, within: timedelta, ended: Callable[[], None]) -> Child:
        """Start the crawl of an entry, which is due again after ``within``. Raise ``OSError``.

        Another thread calls ``ended`` when the process ends.
        """
        ...


@dataclass(frozen=True, slots=True)
class CrawlProcesses:
    """Runs crawls as processes of ``aah crawl`` in the folder of their schedule, with their output in ``logs``."""

    folder: Path
    logs: Path
    program: Sequence[str] = AAH

    def told(self, folder: Path) -> CrawlTold:
        """See ``ChildCrawls``."""
        return CrawlTold.of(folder)

    def is_used(self, folder: Path) -> bool:
        """See ``ChildCrawls``."""
        return running_process(folder) is not None

    def running(self, name: str, folder: Path) -> Child | None:
        """See ``ChildCrawls``."""
        log = self._log(name)
        return _Orphan(log, folder) if is_locked(log) else None

    def begin(self, name: str, entry: Entry, within: timedelta, ended: Callable[[], None]) -> Child:
        """See ``ChildCrawls``."""
        self.logs.mkdir(exist_ok=True)
        path = self._log(name)
        with open(path, "ab", opener=private) as log:
            fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
            log.truncate(0)
            process = subprocess.Popen(
                [*self.program, "crawl", entry.definition, *_options(entry, within)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                start_new_session=True,
            )
        threading.Thread(target=_await, args=(process, ended), daemon=True, name=f"crawl {name}").start()
        return _Process(path, process)

    def _log(self, name: str) -> Path:
        return self.logs / f"{name}.log"


def _options(entry: Entry, within: timedelta) -> list[str]:
    options = ["--workers", str(entry.workers)] if entry.workers > 1 else []
    if entry.accept_changes:
        options.append("--accept-changes")
    if entry.pages is not None:
        fitting = entry.pages if entry.pages.within else entry.pages.model_copy(update={"within": within})
        options += ["--revisits", fitting.model_dump_json()]
    return options


def _await(process: subprocess.Popen[bytes], ended: Callable[[], None]) -> None:
    process.wait()
    ended()


@dataclass(slots=True)
class _Process:
    """A crawl that this process started."""

    log: Path
    process: subprocess.Popen[bytes]

    def poll(self) -> int | None:
        return self.process.returncode

    def end(self) -> None:
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGINT)

    @property
    def said(self) -> str:
        return _last_lines(self.log)


@dataclass(slots=True)
class _Orphan:
    """A running crawl whose scheduler was killed; only the lock on its log shows that it runs."""

    log: Path
    folder: Path
    is_unwanted: bool = False

    def poll(self) -> int | None:
        if not is_locked(self.log):
            return 0
        if self.is_unwanted:
            self.end()
        return None

    def end(self) -> None:
        """Ask the crawl to end once it has opened its folder, since its process id is unknown before."""
        process = running_process(self.folder)
        self.is_unwanted = process is None
        if process is not None:
            with suppress(OSError):
                os.kill(process.pid, signal.SIGINT)

    @property
    def said(self) -> str:
        return _last_lines(self.log)


def is_locked(log: Path) -> bool:
    """Return whether any process holds the lock on a file."""
    try:
        with log.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _last_lines(log: Path) -> str:
    """Return the end of a process's output, without control characters and lines of progress."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _READ))
            lines = file.read(_READ).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    plain = ("".join(sign for sign in line if sign.isprintable()).strip() for line in lines)
    return "\n".join(line for line in plain if line and not line.startswith(_PROGRESS))[-_MAX_SAID:]


@dataclass(frozen=True, slots=True)
class Defined:
    """What a schedule needs of a definition: the folder of its crawl, and the pay-level domain of its first seed."""

    folder: Path
    site: str


@dataclass(slots=True)
class CrawlFolders:
    """The folders and sites of entries' definitions; a definition is read again when its file has changed."""

    folder: Path
    _known: dict[Path, tuple[tuple[int, int], Defined]] = field(default_factory=dict)

    def of(self, entry: Entry) -> Path:
        """Return the folder of an entry's crawl. Raise ``IcdError`` if its definition has mistakes."""
        return self._defined(entry).folder

    def site(self, entry: Entry) -> str:
        """Return the site of an entry's crawl: the pay-level domain of its first seed. Raise as ``of`` does."""
        return self._defined(entry).site

    def faults(self, entries: Mapping[str, Entry]) -> Mapping[str, str]:
        """Return the first mistake in each entry's definition that has mistakes, by entry."""
        found: dict[str, str] = {}
        for name, entry in entries.items():
            try:
                self._defined(entry)
            except IcdError as error:
                found[name] = str(error.mistakes[0])
        return found

    def stamp(self, entry: Entry) -> tuple[int, int] | None:
        """Return time and size of an entry's definition file, by which changes are noticed.

        None if it cannot be read.
        """
        try:
            status = (self.folder / entry.definition).stat()
        except OSError:
            return None
        return status.st_mtime_ns, status.st_size

    def _defined(self, entry: Entry) -> Defined:
        path = self.folder / entry.definition
        stamp = self.stamp(entry)
        if stamp is None:
            return self._read(path)
        known = self._known.get(path)
        if known is None or known[0] != stamp:
            known = self._known[path] = stamp, self._read(path)
        return known[1]

    def _read(self, path: Path) -> Defined:
        icd = Icd.load(path)
        seed = canonicalize(icd.seeds[0]) if icd.seeds else None
        return Defined(self.folder / icd.output, queue_of(seed or ""))

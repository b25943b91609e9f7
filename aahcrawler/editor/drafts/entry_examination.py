"""Examine a work's entry in a process that can be killed: whether it is valid, and what it reads."""

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

from aahcrawler.editor.checks.check_findings import Finding, Severity
from aahcrawler.editor.checks.examination import Busy, Task, reports, reports_of
from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.staging import Staged, staged, write_alone
from aahcrawler.editor.pages.saved_pages import SavedPageError
from aahcrawler.editor.pages.trial import Trial
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.jobs import bound_memory
from knowledge_base.loader import LoadError

SECONDS: Final = 90.0
"""How long an examination may take."""
STEP_SECONDS: Final = 20.0
"""How long one step of it may take."""
MEMORY: Final = 2 << 30
"""Bytes of address space that an examination may take beside what its process has at the beginning."""
MAX_FINDINGS: Final = 500
_GRACE: Final = 5
_PATIENCE: Final = 0.1


@dataclass(frozen=True, slots=True)
class PlacedFinding:
    """A mistake in an entry: place and line of the element, and what to do; an error makes the entry unusable.

    ``is_guess`` marks an unconfirmed guess, which is no mistake.
    """

    place: str
    line: int
    severity: Severity
    message: str
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """The differences between what is read on a page and what is expected, one a line; empty if there are none."""

    page: str
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Examined:
    """The result of examining a revision; ``unfinished`` says why it is incomplete, empty if it is complete."""

    revision: int
    findings: tuple[PlacedFinding, ...]
    pages: tuple[PageOutcome, ...]
    unfinished: str = ""

    @property
    def errors(self) -> tuple[PlacedFinding, ...]:
        """The findings that forbid the use of the entry."""
        return tuple(each for each in self.findings if each.severity is Severity.ERROR)

    @property
    def warnings(self) -> tuple[PlacedFinding, ...]:
        """All other findings."""
        return tuple(each for each in self.findings if each.severity is not Severity.ERROR)

    @property
    def failed(self) -> tuple[PageOutcome, ...]:
        """The pages that are read differently than expected."""
        return tuple(page for page in self.pages if page.differences)

    def at(self, place: str) -> tuple[PlacedFinding, ...]:
        """Return the findings about one element."""
        return tuple(each for each in self.findings if each.place == place)


@dataclass(frozen=True, slots=True)
class WantedExamination:
    """An entry to examine, as ``revision`` has it, within the folders of the knowledge base, its own one last."""

    revision: int
    entry: Entry
    folders: tuple[Path, ...]


_Report = PlacedFinding | PageOutcome | str | None
"""What the process says: results, what it is busy with, None at its end."""


@dataclass(slots=True)
class _Found:
    findings: list[PlacedFinding] = field(default_factory=list)
    pages: list[PageOutcome] = field(default_factory=list)
    busy: str = "starting"

    def take(self, report: _Report) -> None:
        match report:
            case PlacedFinding():
                if report not in self.findings and len(self.findings) < MAX_FINDINGS:
                    self.findings.append(report)
            case PageOutcome():
                self.pages.append(report)
            case str():
                self.busy = report


def never() -> bool:
    """Return False: the default for work that is never cancelled."""
    return False


def examined(
    wanted: WantedExamination, seconds: float = SECONDS, is_outdated: Callable[[], bool] = never
) -> Examined | None:
    """Examine an entry in a process that is killed after ``seconds``; return None if it becomes outdated before.

    Raise `EditError` for an entry that is no XML.
    """
    EntryText(wanted.entry.xml)  # It raises where there is nothing that a process could look at.
    found = _Found()
    # The scratch folder is not the process's own: killed, it would leave its temporary folders behind.
    with (
        tempfile.TemporaryDirectory(prefix="aah-") as scratch,
        reports_of(_examine, wanted, scratch, seconds) as ours,
    ):
        unfinished = _taken(ours, found, time.monotonic() + seconds, is_outdated)
    if unfinished is None:
        return None
    findings = tuple(sorted(found.findings, key=lambda each: (each.severity, each.line, each.message)))
    return Examined(wanted.revision, findings, tuple(found.pages), unfinished)


def _taken(ours: Connection, found: _Found, end: float, is_outdated: Callable[[], bool]) -> str | None:
    """Receive reports; return why some are missing, empty if none is, None if the examination became outdated."""
    while time.monotonic() < end:
        if is_outdated():
            return None
        if not ours.poll(_PATIENCE):
            continue
        try:
            report: _Report = ours.recv()
        except (EOFError, OSError):
            return f"the process broke down, busy with {found.busy}"
        if report is None:
            return ""
        found.take(report)
    return f"it took too long, busy with {found.busy}"


def _examine(connection: Connection, wanted: WantedExamination, scratch: str, seconds: float) -> None:
    """Send reports over a connection, and None after the last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent hears it too, and ends this process.
    signal.setitimer(signal.ITIMER_REAL, seconds + _GRACE)  # In case an expression holds up the thread below.
    watcher = threading.Thread(target=_end_with_parent, args=(scratch,), daemon=True)
    watcher.start()
    bound_memory(MEMORY)
    tempfile.tempdir = scratch
    try:
        for report in _reports(wanted, connection.send):
            connection.send(report)
        connection.send(None)
    except OSError:
        if not _is_orphaned():
            raise
    finally:
        if _is_orphaned():
            watcher.join()


def _is_orphaned() -> bool:
    parent = multiprocessing.parent_process()
    return parent is not None and not parent.is_alive()


def _end_with_parent(scratch: str) -> None:
    """Wait until the parent has died, delete the temporary folder on its behalf, and end this process."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    parent.join()
    while Path(scratch).exists():  # Until then more may be written to it.
        shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)


def _reports(wanted: WantedExamination, busy: Callable[[str], None]) -> Iterator[_Report]:
    text = EntryText(wanted.entry.xml)
    busy("reading the files")
    try:
        with staged(wanted.entry, wanted.folders) as stage:
            yield from _outcomes(stage, busy)
            yield from _checked(stage, wanted, text, busy)
    except LoadError as error:
        own = f"{wanted.entry.name}.xml"
        for problem in error.problems:
            is_own = Path(problem.file).name == own
            place = text.place_at(problem.line) if is_own else ""
            said = problem.message if is_own else f"with this entry, {problem.file} is wrong: {problem.message}"
            yield PlacedFinding(place, problem.line if is_own else 0, Severity.ERROR, said)
    except SavedPageError as error:
        yield PlacedFinding("", 0, Severity.ERROR, str(error))


def _outcomes(stage: Staged, busy: Callable[[str], None]) -> Iterator[PageOutcome]:
    trial = Trial(stage.knowledge_base)
    for page in stage.own_pages():
        busy(f"reading the page {page.file.stem}")
        yield PageOutcome(page.file.stem, trial.outcome(page).differences)


def _checked(
    stage: Staged, wanted: WantedExamination, text: EntryText, busy: Callable[[str], None]
) -> Iterator[PlacedFinding]:
    """Check the entry with the files that it extends only; others were checked when they were saved."""
    root = text.element("")
    extends = (root.get("extends") or "").strip() if root is not None else ""
    with tempfile.TemporaryDirectory() as temporary:
        own = write_alone(wanted.entry, extends, stage.folders, Path(temporary))

        def begin(step: Busy) -> None:
            busy(step.doing)

        for report in reports(Task((Path(temporary),), STEP_SECONDS), begin):
            if isinstance(report, Finding) and report.place.file == str(own):
                place = text.place(report.element) or text.place_at(report.place.line)
                yield PlacedFinding(place, report.place.line, report.severity, report.message, report.is_guess)

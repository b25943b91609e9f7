"""``aah kb check``: find everything that can be wrong with a knowledge base, step by step.

The steps run in a process that is killed when one of them does not end.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from lxml import etree

from aahcrawler.editor.checks import cost
from aahcrawler.editor.checks.check_findings import Finding, LevelPages, Severity, error, warning
from aahcrawler.editor.checks.contradictions import (
    contradictions,
    greedy_rules,
    narrow_addresses,
    open_guesses,
    rivalries,
)
from aahcrawler.editor.checks.fruitless_parts import (
    common_signs,
    fruitless_parts,
    idle_behaviours,
    shared_signs,
    short_bodies,
)
from aahcrawler.editor.pages.saved_pages import SavedPage, SavedPageError, pages_folder, saved_pages
from aahcrawler.editor.text.file_lines import EntryLines, FileLines, TextPlace, read_files
from knowledge_base.file_selection import SHIPPED, chosen_files
from knowledge_base.loader import LoadError, load
from knowledge_base.matching import Detector
from knowledge_base.model import KnowledgeBase

GRACE = 5
"""The seconds after which a step ends by itself, if its parent is gone and cannot stop it."""
_SHOWN = 100
SECONDS = 60.0
MAX_KILLS = 25
"""Steps that may hang before the rest is left unexamined."""
STARTING = 30.0
"""Seconds a process has for its start, on top of those for its first step."""


@dataclass(frozen=True, slots=True)
class Task:
    """The steps to examine: ``start`` is the first, those before it are done; a step may take ``seconds``."""

    folders: tuple[Path, ...]
    seconds: float
    start: int = 0


@dataclass(frozen=True, slots=True)
class Busy:
    """The beginning or progress of a step: its number, place, and subject, which completes the words "busy with"."""

    step: int
    place: TextPlace
    doing: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Citations:
    """The documentation of one application: the number of its entries, and those without a citation or unproven.

    Each of the latter is its place and words.
    """

    application: str
    entries: int
    uncited: tuple[tuple[TextPlace, str], ...]
    unproven: tuple[tuple[TextPlace, str], ...]


Report = Busy | Finding | Citations | None
"""The messages of the connection; None at the end."""


def examine(connection: Connection, task: Task) -> None:
    """Send reports of every step over a connection, and None after the last."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent hears it too, and ends us.

    def begin(busy: Busy) -> None:
        signal.setitimer(signal.ITIMER_REAL, task.seconds + GRACE)
        connection.send(busy)

    with suppress(BrokenPipeError):
        for report in reports(task, begin):
            connection.send(report)
        connection.send(None)


def reports(task: Task, begin: Callable[[Busy], None]) -> Iterator[Finding | Citations]:
    """Examine a knowledge base: files, contradictions, results on saved pages, then the cost of each expression.

    ``begin`` is called with each next step.
    """
    places = FileLines(read_files(chosen_files(task.folders).applications))
    if task.start == 0:
        begin(Busy(0, TextPlace(str(task.folders[-1]), 0), "reading the files"))
        yield from _citations(places)
        yield from _contents(task.folders, places, begin)
    last = len(places.files)
    if task.start <= last:
        yield from _on_pages(task, places, begin)
    for step, entries in enumerate(_different(entry for file in places.files for entry in file.entries), last + 1):
        if step >= task.start:
            yield from _cost(entries, step, begin)


def _contents(folders: tuple[Path, ...], places: FileLines, begin: Callable[[Busy], None]) -> Iterator[Finding]:
    pages: list[SavedPage] = []
    for folder in folders:
        try:
            pages += saved_pages(pages_folder(folder))
        except SavedPageError as mistake:
            yield warning(TextPlace(str(pages_folder(folder)), 0), f"{mistake}; its saved pages were left out here")
    for file in places.files:
        yield from open_guesses(file)
    try:
        knowledge_base = load(*folders)
    except LoadError as mistakes:
        for problem in mistakes.problems:
            yield error(places.line(problem.file, problem.line), problem.message)
        return
    yield from _structure(knowledge_base, places, tuple(pages), lambda place, words: begin(Busy(0, place, words)))
    begin(Busy(0, TextPlace(str(folders[-1]), 0), "looking for its signs on pages of other software"))
    yield from shared_signs(knowledge_base, places, _readable((*folders, SHIPPED)))


def _on_pages(task: Task, places: FileLines, begin: Callable[[Busy], None]) -> Iterator[Finding]:
    """Yield findings on what each file finds, misses and refuses on saved pages; one step for each file."""
    try:
        knowledge_base = load(*task.folders)
    except LoadError:
        return  # The step before has reported it.
    pages = LevelPages(knowledge_base, places, _readable(task.folders))
    for step, file in enumerate(places.files, 1):
        if step >= task.start and file.name in pages.applications:
            begin(Busy(step, file.place(), f"reading the saved pages of {file.name}"))
            yield from narrow_addresses(file, pages)
            yield from fruitless_parts(file, pages)
            yield from idle_behaviours(file, pages)
            yield from short_bodies(file, pages)
            yield from greedy_rules(pages.applications[file.name], pages)


def _readable(folders: Iterable[Path]) -> tuple[SavedPage, ...]:
    """Return the saved pages in folders; a page in a later folder replaces one of the same name."""
    found: dict[str, SavedPage] = {}
    for folder in dict.fromkeys(folders):
        with suppress(SavedPageError):  # It was reported with the files.
            found |= {page.name: page for page in saved_pages(pages_folder(folder))}
    return tuple(found.values())


def _citations(places: FileLines) -> Iterator[Citations]:
    for file in places.files:
        uncited = tuple((entry.place, _short(entry.words)) for entry in file.entries if not entry.cite)
        unproven = tuple(
            (entry.place, _short(entry.words)) for entry in file.entries if entry.cite and not entry.is_proven
        )
        yield Citations(file.name, len(file.entries), uncited, unproven)


def _structure(
    knowledge_base: KnowledgeBase,
    places: FileLines,
    pages: tuple[SavedPage, ...],
    busy: Callable[[TextPlace, str], None],
) -> Iterator[Finding]:
    for application in knowledge_base.applications:
        place = places.application(application.name)
        busy(place, f"the levels and rules of {application.name}")
        own = [page.expected.level for page in pages if page.expected.application == application.name]
        yield from contradictions(application, places, (level for level in own if level is not None))
        yield from common_signs(application, places)
    detector = Detector(knowledge_base)
    for page in pages:
        busy(TextPlace(str(page.file), 0), "telling whose page this is")
        yield from rivalries(detector, (page,), places)


def _different(entries: Iterable[EntryLines]) -> tuple[tuple[EntryLines, ...], ...]:
    """Group entries with equal expressions."""
    by_source: dict[str, list[EntryLines]] = {}
    for entry in entries:
        if entry.source:
            by_source.setdefault(entry.source, []).append(entry)
    return tuple(map(tuple, by_source.values()))


def _cost(entries: tuple[EntryLines, ...], step: int, begin: Callable[[Busy], None]) -> Iterator[Finding]:
    first = entries[0]
    advice = cost.advice(first.source)

    def busy(page: str) -> None:
        begin(Busy(step, first.place, f"{_short(first.written)} on {page}", advice))

    try:
        worst = cost.worst(first.source, busy)
    except etree.XPathSyntaxError:
        return  # The loader has reported it.
    except etree.XPathError as mistake:
        better = "use the functions of XPath 1.0 alone, such as contains() and starts-with()"
        for entry in entries:
            yield error(entry.place, f"this cannot be evaluated ({mistake}): {_short(entry.written)}; {better}")
        return
    if worst.is_slow:
        say = error if worst.is_hopeless else warning
        for entry in entries:
            yield say(entry.place, f"this {worst}: {_short(entry.written)}; {advice}")


def _short(written: str) -> str:
    written = " ".join(written.split())
    return written if len(written) <= _SHOWN else f"{written[:_SHOWN]}..."


@dataclass(slots=True)
class Checked:
    """The results of a check."""

    findings: list[Finding] = field(default_factory=list)
    citations: list[Citations] = field(default_factory=list)

    @property
    def errors(self) -> int:
        """The number of findings that forbid the use of the knowledge base."""
        return sum(finding.severity is Severity.ERROR for finding in self.findings)

    def lines(self, *, unproven: bool = False) -> Iterator[str]:
        """Yield a line for each finding, by file and line, then the summary.

        With ``unproven``, undocumented entries are listed application by application.
        """
        yield from map(str, sorted(self.findings, key=lambda finding: finding.key))
        for citations in self.citations if unproven else ():
            yield from _undocumented(citations)
        entries = sum(each.entries for each in self.citations)
        missing = sum(len(each.uncited) for each in self.citations)
        doubtful = sum(len(each.unproven) for each in self.citations)
        proven = sum(not each.uncited and not each.unproven for each in self.citations)
        yield (
            f"{_counted(len(self.citations), 'application')}, {proven} documented in every entry; "
            f"of {_counted(entries, 'entry', 'entries')} {missing} without cite, {doubtful} unproven"
        )
        yield f"{_counted(self.errors, 'error')}, {_counted(len(self.findings) - self.errors, 'warning')}"

    def add(self, finding: Finding) -> None:
        """Take a finding; the same one counts once."""
        if finding not in self.findings:
            self.findings.append(finding)


def _quietly(_: str) -> None:
    pass


def check(folders: tuple[Path, ...], seconds: float = SECONDS, progress: Callable[[str], None] = _quietly) -> Checked:
    """Check a knowledge base; a step that takes longer than ``seconds`` is ended and reported.

    ``progress`` is called with the current step. Folders are those of `knowledge_base.loader.load`.
    """
    checked = Checked()
    start = 0
    for _ in range(MAX_KILLS):
        task = Task(folders, seconds, start)
        with reports_of(examine, task) as ours:
            silence = _taken(ours, task, checked, progress)
        if silence is None:
            return checked
        checked.add(_told(silence, seconds))
        start = silence.busy.step + 1
    message = f"{MAX_KILLS} expressions took longer than {seconds:g} s; mend these, then check again"
    checked.add(error(TextPlace(str(folders[-1]), 0), message))
    return checked


@dataclass(frozen=True, slots=True)
class _Silence:
    """The last reported step of a process that stopped reporting; ``broken`` if it ended by itself."""

    busy: Busy
    broken: bool


@contextmanager
def reports_of(target: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """Run a function in a process of its own, which is killed at the end; yield the connection over which it reports.

    ``target`` gets the other end of the connection and the arguments.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        process.kill()
        process.join()
        ours.close()


def _taken(ours: Connection, task: Task, checked: Checked, progress: Callable[[str], None]) -> _Silence | None:
    """Receive reports until the last one (return None), or until none arrives in time."""
    busy = Busy(task.start, TextPlace(str(task.folders[-1]), 0), "starting")
    patience = task.seconds + STARTING
    while ours.poll(patience):
        patience = task.seconds
        try:
            report: Report = ours.recv()
        except EOFError:
            return _Silence(busy, broken=True)
        match report:
            case None:
                return None
            case Busy():
                busy = report
                progress(f"{report.place}: {report.doing}")
            case Citations():
                checked.citations.append(report)
            case Finding():
                checked.add(report)
    return _Silence(busy, broken=False)


def _told(silence: _Silence, seconds: float) -> Finding:
    busy = silence.busy
    what = "the process that checks broke down" if silence.broken else f"ended after {seconds:g} s"
    return error(busy.place, f"{what}, busy with {busy.doing}{f'; {busy.advice}' if busy.advice else ''}")


def _undocumented(citations: Citations) -> Iterator[str]:
    documented = citations.entries - len(citations.uncited) - len(citations.unproven)
    yield f"{citations.application}: {documented} of {_counted(citations.entries, 'entry', 'entries')} documented"
    yield from (f"  {place}: no cite: {words}" for place, words in citations.uncited)
    yield from (f"  {place}: unproven: {words}" for place, words in citations.unproven)


def _counted(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"

"""``aah kb check``: everything that can be wrong with a knowledge base, found by a process that may be killed."""

import multiprocessing
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path

from aahcrawler.authoring.check_findings import Finding, Severity, error
from aahcrawler.authoring.examination import Busy, Citations, Report, Task, examine
from aahcrawler.authoring.file_lines import Place

SECONDS = 60.0
MOST_KILLS = 25
"""Steps that may hang before the rest is left unexamined."""
STARTING = 30.0
"""Seconds a process has for its start, on top of those for its first step."""


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
    for _ in range(MOST_KILLS):
        silence = _examined(Task(folders, seconds, start), checked, progress)
        if silence is None:
            return checked
        checked.add(_told(silence, seconds))
        start = silence.busy.step + 1
    message = f"{MOST_KILLS} expressions took longer than {seconds:g} s; mend these, then check again"
    checked.add(error(Place(str(folders[-1]), 0), message))
    return checked


@dataclass(frozen=True, slots=True)
class _Silence:
    """The last reported step of a process; ``broken`` if it ended by itself."""

    busy: Busy
    broken: bool


def _examined(task: Task, checked: Checked, progress: Callable[[str], None]) -> _Silence | None:
    """Examine in a process of its own; None if it came to its end."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=examine, args=(theirs, task), daemon=True)
    process.start()
    theirs.close()
    try:
        return _taken(ours, task, checked, progress)
    finally:
        process.kill()
        process.join()
        ours.close()


def _taken(ours: Connection, task: Task, checked: Checked, progress: Callable[[str], None]) -> _Silence | None:
    """Take reports until the last one, or until none comes any more."""
    busy = Busy(task.start, Place(str(task.folders[-1]), 0), "starting")
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

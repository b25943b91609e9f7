"""Import an entry that somebody else packed: inspect it, prove it, and only then save it."""

import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import unified_diff
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic

from aahcrawler.editor.checks.check_findings import Finding, Severity
from aahcrawler.editor.checks.examination import check, reports_of
from aahcrawler.editor.entries.entry_files import Change, Contents, Entry, file_part
from aahcrawler.editor.entries.entry_pack import Pack, PackError, root_attributes
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.entries.staging import Staged, staged, write_alone
from aahcrawler.editor.pages.saved_pages import SavedPage, SavedPageError
from aahcrawler.editor.pages.trial import Trial
from aahcrawler.editor.text.file_lines import read_files
from aahcrawler.editor.text.printable_text import plain_line, printable
from knowledge_base.file_selection import SHIPPED, chosen_files, filled
from knowledge_base.loader import LoadError, load
from knowledge_base.matching import Sight
from knowledge_base.model import Application, KnowledgeBase, Pattern, Strength

SECONDS = 300.0
"""Seconds after which the proof is ended."""
MAX_LINES = 100
"""Lines that are told of what fails."""
STEP = 10.0
"""Seconds that an expression may take while its cost is measured."""
MAX_NOTES = 20
MAX_DIFFERENCE = 400
"""Lines of a difference that are shown."""
MAX_LINE_LENGTH = 300
"""Characters of each that are shown."""


@dataclass(frozen=True, slots=True)
class Task:
    """An entry to be proved in the last of some folders."""

    entry: Entry
    folders: tuple[Path, ...]


def failures(task: Task, seconds: float = SECONDS) -> tuple[str, ...]:
    """Return a line for each failure of an entry; empty if it may be saved.

    An entry fails if the knowledge base would not load with it, if one of its saved pages is read differently than
    expected, if a saved page of another entry would be read differently than before, or if one of its signs occurs on
    pages of others.
    """
    with reports_of(_prove, task, seconds) as ours:
        if not ours.poll(seconds):
            return (f"trying its saved pages did not end within {seconds:g} s; it may be made to hang",)
        try:
            found: tuple[str, ...] = ours.recv()
        except EOFError:
            return ("the process that tries its saved pages broke down; it may be made to break programs",)
        return found


def _prove(connection: Connection, task: Task, seconds: float) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # The parent hears it too, and ends us.
    signal.setitimer(signal.ITIMER_REAL, seconds + 5)  # The parent may be gone.
    with suppress(BrokenPipeError):
        connection.send(tuple(line for line, _ in zip(failures_of(task), range(MAX_LINES), strict=False)))


def failures_of(task: Task) -> Iterator[str]:
    """Yield a line for each failure of an entry."""
    try:
        before = load(*filled(task.folders))
        with staged(task.entry, task.folders) as stage:
            yield from _failing(stage, before)
    except LoadError as error:
        yield from (str(problem) for problem in error.problems)
    except SavedPageError as error:
        yield str(error)


def _failing(stage: Staged, before: KnowledgeBase) -> Iterator[str]:
    after, earlier = Trial(stage.knowledge_base), Trial(before)
    own = {page.name for page in stage.own_pages()}
    (application,) = (each for each in stage.knowledge_base.applications if each.name == stage.application)
    for page in stage.own_pages():
        yield from (f"its saved page {page.name}: {difference}" for difference in after.outcome(page).differences)
    for page in stage.pages():
        if page.name in own:
            continue
        yield from _changed(page, after, earlier)
        if page.expected.application != application.name:
            yield from _shared(page, application)


def _changed(page: SavedPage, after: Trial, before: Trial) -> Iterator[str]:
    """Yield how a page of another entry would be read differently than before."""
    differences = after.outcome(page).differences
    former = before.outcome(page).differences if differences else ()
    for difference in differences:
        if difference not in former:
            yield f"{page.name}, a saved page of another entry, would be read differently: {difference}"


def _shared(page: SavedPage, application: Application) -> Iterator[str]:
    """Yield the sufficient signs that occur on a page of another application."""
    sight = Sight(page.page)
    for pattern in application.patterns:
        if pattern.strength > Strength.HINT and sight.shows(pattern):
            yield (
                f"its sign {_written(pattern)} is on {page.name} too, a page of "
                f"{page.expected.application or 'no known application'}; it is no sign of {application.name} alone"
            )


def _written(pattern: Pattern) -> str:
    """Return a sign much as its file writes it."""
    if pattern.selector is not None:
        return f'css="{pattern.selector.css}"' if pattern.selector.css else f'xpath="{pattern.selector.source}"'
    if pattern.rule is not None:
        return f'path="{pattern.rule.path.source}"' if pattern.rule.path is not None else "about its URL"
    return f'{pattern.signal}="{pattern.name}{": " if pattern.name else ""}{pattern.value}"'


class ImportRefusedError(PackError):
    """The entry was not imported; ``lines`` say why."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(("nothing was written:", *(f"  {line}" for line in self.lines))))


@dataclass(frozen=True, slots=True)
class Proposal:
    """A packed entry after inspection and trial, not saved.

    ``wrong`` says why it cannot be imported, ``said`` what people should know. ``former`` is the own entry of the same
    name, None if there is none; ``covers`` is the file in an earlier folder that it would replace. ``difference`` has
    the lines of a unified diff.
    """

    pack: Pack
    wrong: tuple[str, ...]
    said: tuple[str, ...]
    former: Entry | None
    covers: Path | None
    difference: tuple[str, ...]

    @property
    def replaces(self) -> bool:
        """Whether it would take the place of an entry that is there."""
        return self.former is not None or self.covers is not None


def propose(pack: Pack, folders: Sequence[Path], seconds: float = SECONDS) -> Proposal:
    """Inspect an entry, and try it together with all others as part of the last folder.

    Its file is first examined in a process that may be killed. Nothing is written. Raise `PackError` if the last folder
    is the shipped one.
    """
    if folders[-1].resolve() == SHIPPED.resolve():
        raise PackError(
            "the files that ship belong to the installed package; name a folder of your own: --kb shipped:FOLDER"
        )
    entry = pack.entry
    wrong, warned = _examined(entry, folders, seconds)
    if not wrong:
        wrong = failures(Task(entry, tuple(folders)), seconds)
    former = OwnFolder(folders[-1]).entry(entry.name)
    covered = _covered(pack, folders)
    difference = tuple(_difference(entry, former, covered))
    said = tuple(map(plain_line, (*_said(pack), *warned)))
    return Proposal(pack, tuple(map(plain_line, wrong)), said, former, covered, difference)


def take(proposal: Proposal, folder: Path, who: str, *, replace: bool = False) -> Change:
    """Save a proposed entry in an own folder, and record that in its history.

    Raise `ImportRefusedError` if it failed, or would replace another entry without ``replace``; raise `OwnFolderError`
    if the own entry was changed since the proposal.
    """
    if proposal.wrong:
        raise ImportRefusedError(proposal.wrong)
    manifest, entry = proposal.pack.manifest, proposal.pack.entry
    if proposal.replaces and not replace:
        there = proposal.covers or file_part(entry.name)
        raise ImportRefusedError(
            [f"it would take the place of {there}; look at what would change, then allow it (--replace)"]
        )
    what = f"taken in from an entry packed by {manifest.by or 'somebody'}, changed last on {manifest.made:%Y-%m-%d}"
    return OwnFolder(folder).save(
        entry.name,
        entry.xml,
        entry.pages,
        who,
        what,
        licence=entry.licence,
        expected=proposal.former.digest if proposal.former is not None else "",
    )


def _examined(entry: Entry, folders: Sequence[Path], seconds: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the errors and the warnings that a check finds in an entry, read with the files that it extends."""
    end = monotonic() + seconds

    def goes_on(_: str) -> None:
        if monotonic() > end:
            raise TimeoutError

    with tempfile.TemporaryDirectory(prefix="aah-") as temporary:
        write_alone(entry, root_attributes(entry.xml).get("extends", "").strip(), folders, Path(temporary))
        try:
            findings = sorted(check((Path(temporary),), STEP, goes_on).findings, key=lambda finding: finding.key)
        except TimeoutError:
            return (f"measuring its expressions did not end within {seconds:g} s; it may be made to hang",), ()
    others = (f"{temporary}/kinds/", f"{temporary}/applications/_")
    told = [(finding, _in_words(finding, temporary, entry.name)) for finding in findings]
    own = [(finding, line) for finding, line in told if not finding.place.file.startswith(others)]
    wrong = tuple(line for finding, line in own if finding.severity is Severity.ERROR)
    return wrong, tuple(line for finding, line in own if finding.severity is Severity.WARNING)[:MAX_NOTES]


def _in_words(finding: Finding, folder: str, name: str) -> str:
    """Return a finding with the file as it is called in the entry; what is of no file is about the entry."""
    return plain_line(str(finding).replace(f"{folder}/applications/", "").replace(f"{folder}:0", f"{name}.xml"))


def _covered(pack: Pack, folders: Sequence[Path]) -> Path | None:
    """Return the file of an earlier folder that describes the application too, None if there is none."""
    earlier = read_files(chosen_files(filled(folders[:-1])).applications)
    return next((file.path for file in earlier if file.name.lower() == pack.manifest.application.lower()), None)


def _said(pack: Pack) -> Iterator[str]:
    """Yield what people have to know of an entry."""
    manifest = pack.manifest
    yield (
        f"{manifest.name}: {manifest.application} ({manifest.kind}), packed by {manifest.by or 'somebody'} with "
        f"{manifest.program}, changed last on {manifest.made:%Y-%m-%d}"
    )
    yield f"licence: {manifest.licence}; anybody can write any name and licence into such a file"
    match manifest.pages:
        case Contents.LEFT_OUT | Contents.NONE:
            yield "no saved pages came with it, so nothing proves that it reads any page; save some: aah kb capture"
        case Contents.OTHERS:
            yield f"its {len(pack.entry.pages)} saved pages hold what other people wrote; do not pass them on"
        case Contents.MINE | Contents.MADE_UP:
            yield f"it comes with {len(pack.entry.pages)} saved pages, whose words are said to be {manifest.pages}"
    if root_attributes(pack.entry.xml).get("draft") == "yes":
        yield "it is a draft: nobody has confirmed its guesses"


def _difference(entry: Entry, former: Entry | None, covered: Path | None) -> Iterator[str]:
    """Yield what would change, a line each."""
    if former is None and covered is None:
        return
    before = former.xml if former is not None else covered.read_bytes() if covered is not None else b""
    old, new = (plain.decode("utf-8", "replace").splitlines() for plain in (before, entry.xml))
    lines = list(unified_diff(old, new, "before", "after", lineterm="", n=1))
    yield from (printable(line)[:MAX_LINE_LENGTH] for line in lines[:MAX_DIFFERENCE])
    if len(lines) > MAX_DIFFERENCE:
        yield f"and {len(lines) - MAX_DIFFERENCE} more lines"
    was = {page.stem: page for page in former.pages} if former is not None else {}
    now = {page.stem: page for page in entry.pages}
    yield from (f"- saved page {stem}" for stem in sorted(was.keys() - now.keys()))
    yield from (f"+ saved page {stem}" for stem in sorted(now.keys() - was.keys()))
    yield from (f"! saved page {stem} differs" for stem in sorted(was.keys() & now.keys()) if was[stem] != now[stem])

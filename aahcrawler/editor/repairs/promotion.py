"""Make learned items part of the application's file, with a page as their test, if all pages prove them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

from aahcrawler import urls
from aahcrawler.adaptation.learned import Learned, LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.editor.entries.entry_files import Entry
from aahcrawler.editor.entries.own_folder import OwnFolder, own_folder
from aahcrawler.editor.entries.staging import Staged, staged
from aahcrawler.editor.pages.page_capture import Captured, CaptureError, Wish, capture
from aahcrawler.editor.pages.saved_pages import SavedPage, as_text
from aahcrawler.editor.pages.trial import Trial, all_pages
from aahcrawler.editor.repairs.consolidation import Surroundings, ways
from aahcrawler.editor.repairs.insertion import Insertion, PromotionError
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.file_lines import read_files
from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.extraction.extraction import Runner
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from knowledge_base.file_selection import SHIPPED, chosen_files, filled
from knowledge_base.loader import LoadError, load
from knowledge_base.model import Application, KnowledgeBase
from knowledge_base.url_rules import ParsedUrl

READ = ("title", "author", "date", "body")
MAX_TOLD = 3
_SHOWN = 60
MAX_PAGES = 40
"""Pages of the evidence on which a change is proved."""
MAX_LINE_LENGTH = 300
"""Characters of a line of a file that are shown as a whole."""


def taken_for(page: Page, knowledge_base: KnowledgeBase) -> tuple[str, str, str]:
    """Return the application, level and variant that a page is recognised as, empty where there is none."""
    match = ApplicationAwareHelper(knowledge_base).assist(page).match
    if match is None:
        return "", "", ""
    return match.application.name, match.level.name if match.level is not None else "", match.variant


def misreadings(
    page: Page, knowledge_base: KnowledgeBase, learned: Learned, variant: str | None = None, *, fully: bool = False
) -> Iterator[str]:
    """Yield a line for each difference between reading a page of the evidence and the learned item's own reading.

    With ``variant``, that variant must read the page. Of learned links, at least one must be followed, with ``fully``
    all.
    """
    application = knowledge_base.application(learned.application)
    found = ApplicationAwareHelper(knowledge_base).assist(page)
    match = found.match
    if match is None or match.application.name != learned.application:
        yield (
            f"{page.url} would not be recognised as a page of {learned.application}: one hint is not enough. Accept a "
            "second sign that was learned, or mark one in the file as strong"
        )
        return
    level = match.level.name if match.level is not None else ""
    if learned.level and level != learned.level:
        yield f"{page.url} would be taken for {f'level {level}' if level else 'no level'}, not for {learned.level}"
    elif variant is not None and match.variant != variant:
        by = f"the variant {match.variant}" if match.variant else "the level itself"
        yield f"{page.url} would still be read by {by}, whose signs it shows as well"
    elif isinstance(learned, LearnedAction):
        yield from _misread(page, application, learned, found)
    elif isinstance(learned, LearnedLinks):
        yield from _unfollowed(page, application, learned, found, fully=fully)


def concerned(learned: Learned, saved: Iterable[SavedPage]) -> tuple[SavedPage, ...]:
    """Return the saved pages that a learned item could change: of its application, for a sign of that all there are."""
    everywhere = isinstance(learned, LearnedSign) and not learned.level
    return tuple(page for page in saved if everywhere or page.expected.application == learned.application)


def lost_pages(after: KnowledgeBase, before: KnowledgeBase, saved: Iterable[SavedPage]) -> Iterator[str]:
    """Yield a line for each saved page that is read as expected ``before`` and would no longer be."""
    trial, earlier = Trial(after), Trial(before)
    for page in saved:
        told = trial.misreadings(page)
        if told and not earlier.misreadings(page):
            yield (
                f"the saved page {page.name}, of another template, would be read differently than expected: {told[0]}"
            )


def _misread(page: Page, application: Application, learned: LearnedAction, found: Assistance) -> Iterator[str]:
    """Say which objects would not be read as the learned action reads them."""
    wanted = objects_of(page, application, learned)
    if not wanted:
        types = dict.fromkeys(
            (learned.wrapper.action.first_type or learned.wrapper.action.type, learned.wrapper.action.type)
        )
        yield f"what was learned finds nothing of type {' or '.join(types)} on {page.url}"
    there = {each.iri: each for each in found.objects}
    differing = (line for each in wanted for line in _differing(each, there.get(each.iri)))
    yield from (line for line, _ in zip(differing, range(MAX_TOLD), strict=False))


def objects_of(page: Page, application: Application, learned: LearnedAction) -> Sequence[WebObject]:
    """Return what the learned action finds on a page."""
    runner = Runner.of(page, application, application.level(learned.level))
    return [each.object for each in runner.run(learned.wrapper.action).extracted]


def _differing(wanted: WebObject, found: WebObject | None) -> Iterator[str]:
    if found is None:
        yield f"{wanted.iri} would not be found"
        return
    for name in READ:
        if wanted.first(name) != found.first(name):
            shown = (_shown(as_text(each.first(name))) for each in (found, wanted))
            yield "{}: {} would be {} and not {}, as the crawl read it".format(wanted.iri, name, *shown)


def _shown(value: str | None) -> str:
    line = " ".join((value or "").split())
    return f'"{line[:_SHOWN]}{"..." if len(line) > _SHOWN else ""}"' if line else "nothing"


def _unfollowed(
    page: Page, application: Application, learned: LearnedLinks, found: Assistance, *, fully: bool
) -> Iterator[str]:
    """Say if links that the learned action finds would not be followed."""
    followed = {link.url for link in found.document.outlinks}
    (source,) = learned.navigate().sources
    hrefs = (element.get("href") for element in source.selector.elements(page.tree))
    resolved = {url for href in hrefs if href and (url := urls.resolve(page.base_url, href)) is not None}
    addresses = {application.canonical(ParsedUrl.parse(url)) for url in resolved}
    here = application.canonical(ParsedUrl.parse(page.url)).url
    wanted = {
        address.url
        for address in addresses
        if application.refusal(address) is None
        and address.url != here
        and (not source.documented or application.level_of(address) is application.level(learned.to))
    }
    if not wanted or not wanted & followed or (fully and not wanted <= followed):
        yield f"no link to level {learned.to} would be followed from {page.url}"


@dataclass(frozen=True, slots=True)
class Target:
    """Where a learned item goes: ``file`` in the last folder, and ``source``, the file in force.

    ``former`` is the text of ``source``. Both files are equal unless the last folder has none of the application.
    ``base`` is the digest of ``file``, empty if it does not exist.
    """

    source: Path
    file: Path
    former: bytes
    base: str


@dataclass(frozen=True, slots=True)
class Proof:
    """How many pages of the evidence, and saved pages, prove a change.

    ``refused`` says why ways that would change less do not work.
    """

    evidence: int
    saved: int = 0
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What promoting a learned item would change: proved, but not written.

    ``insertion`` is None if the file reads the pages correctly already. ``entry`` is the future entry, with
    ``captured`` as its new saved page, None if no page of the evidence is available.
    """

    learned: Learned
    target: Target
    entry: Entry
    proof: Proof
    insertion: Insertion | None = None
    captured: Captured | None = None

    @property
    def variant(self) -> str:
        """The variant that gets it, empty for items outside of variants."""
        return (self.insertion.variant or "") if self.insertion is not None else ""

    def lines(self) -> Iterator[str]:
        """Yield lines for people: what is added where, on how many pages it was proved, what did not do and why."""
        proof = self.proof
        if self.insertion is None:
            pages = _pages(proof.evidence)
            yield f"{self.target.source} reads the {pages} that {self.learned.name} was learned from already"
            yield "  as the crawl read them; nothing has to change"
            return
        yield f"{self.learned.name} can become part of {self.target.file} {self.insertion.said}"
        if self.target.source != self.target.file:
            yield f"  (a copy of {self.target.source}, which stays as it is)"
        for number, line in self.added():
            yield f"  line {number}: {line}"
        if proof.evidence:
            yield f"  proved on {_pages(proof.evidence)} that it was learned from, read as the crawl read them"
        else:
            yield "  not proved: no page that it was learned from is in the crawl's archive any more"
        if proof.saved:
            yield f"  tried on {_pages(proof.saved, 'saved page')}: none is read differently than before"
        else:
            yield "  no saved page of the application is there to show that other templates are read as before"
        yield from (f"  it cannot become part of it {reason}" for reason in proof.refused)

    def added(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that the file would have and has not, with their numbers."""
        before, after = (text.decode("utf-8", "replace").splitlines() for text in (self.target.former, self.entry.xml))
        for kind, first, last, begin, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
            if kind in ("insert", "replace"):
                former = "".join(before[first:last])
                yield from ((number + 1, _new_part(after[number], former)) for number in range(begin, end))


@dataclass(frozen=True, slots=True)
class Promoted:
    """The file with the learned item, and the page saved as its test, None if none was available.

    ``variant`` is empty for items outside of variants. ``changed`` is False where the file did all of it already.
    """

    file: Path
    variant: str
    captured: Captured | None
    changed: bool = True


def planned(learned: Learned, pages: Sequence[Page], folders: Sequence[Path], variant: str = "") -> Plan:
    """Find the way to write a learned item into its application's file that changes least and that all pages prove.

    The file is that of the last of the folders; if that has none of the application, the file in use is copied there.
    ``pages`` are the available ones of the evidence. ``variant`` names the variant that is to get it. The knowledge
    base must be valid with it, read each of the pages as the learned item does, and every saved page as before. Raises
    `PromotionError`, `LoadError`, `SavedPageError` and `OwnFolderError`; nothing is written.
    """
    if folders[-1].resolve() == SHIPPED.resolve() and not _is_ours(SHIPPED):
        raise PromotionError(
            "the files that ship belong to the installed package; name a folder of your own: --kb shipped:FOLDER"
        )
    there = filled(folders)
    known, source = load(*there), _file_of(learned.application, there)
    file = folders[-1] / "applications" / source.name
    return _Planning(learned, tuple(pages[:MAX_PAGES]), tuple(folders), known, source, file).plan(variant)


def carried_out(plan: Plan, folders: Sequence[Path], who: str) -> Promoted:
    """Write what was planned, all of it at once. Raises `OwnFolderError`."""
    if plan.insertion is None:
        return Promoted(plan.target.source, "", None, changed=False)
    learned, own = plan.learned, own_folder(folders)
    what = f"took over {learned.name}, learned on {learned.site} from {len(learned.pages)} pages, {plan.insertion.said}"
    if own is None:
        for part, data in plan.entry.parts().items():
            target = folders[-1] / "applications" / part
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
    else:
        own.save(plan.entry.name, plan.entry.xml, plan.entry.pages, who, what, expected=plan.target.base)
    return Promoted(plan.target.file, plan.variant, plan.captured)


@dataclass(frozen=True, slots=True)
class _Planning:
    learned: Learned
    pages: tuple[Page, ...]
    folders: tuple[Path, ...]
    known: KnowledgeBase
    source: Path
    file: Path

    def plan(self, variant: str) -> Plan:
        """Return the first way that all pages prove. Raises `PromotionError` with the reasons against each."""
        former = self.source.read_bytes()
        there = OwnFolder(self.folders[-1]).entry(self.source.stem)
        if there is not None and self.source != self.file:
            raise PromotionError(
                f"{self.file} describes another application, and would be lost; call it otherwise, then try again"
            )
        target = Target(self.source, self.file, former, there.digest if there is not None else "")
        entry = there or Entry(self.source.stem, former)
        around = self._surroundings(former)
        if not variant and self._is_read_already():
            return Plan(self.learned, target, entry, Proof(len(self.pages)))
        refused: list[str] = []
        for way in ways(self.learned, around, variant):
            try:
                return self._proved(way, target, entry, tuple(refused))
            except PromotionError as error:
                refused.append(f"{way.said}: {error}")
        lines = "".join(f"\n  {reason}" for reason in refused)
        raise PromotionError(
            f"{self.learned.name} cannot become part of {self.file.name} in any way. Nothing was changed. It cannot "
            f"become part of it{lines}\naah kb explain says by which lines a page is read; aah kb reject rejects what "
            "was learned"
        )

    def _surroundings(self, former: bytes) -> Surroundings:
        read_by = tuple(self._read_by(page) for page in self.pages)
        name = self.learned.application
        others = tuple(page.page for page in all_pages(self.folders) if page.expected.application == name)
        try:
            return Surroundings(EntryText(former), self.known.application(name), read_by, others)
        except EditError as error:
            raise PromotionError(f"{self.source}: {error}") from error

    def _is_read_already(self) -> bool:
        if not self.pages or isinstance(self.learned, LearnedSign):
            return False
        return not any(line for page in self.pages for line in misreadings(page, self.known, self.learned, fully=True))

    def _read_by(self, page: Page) -> tuple[Page, str, str]:
        application, level, variant = taken_for(page, self.known)
        if application != self.learned.application and isinstance(self.learned, (LearnedAction, LearnedLinks)):
            raise PromotionError(
                f"{page.url} is not recognised as a page of {self.learned.application} any more, so nothing in its "
                "file would be used on it. Accept a sign of the application that was learned (aah kb learned lists "
                "them), or add a <pattern> to its file that fits the page; then try again"
            )
        return page, level, variant

    def _proved(self, way: Insertion, target: Target, entry: Entry, refused: tuple[str, ...]) -> Plan:
        """Return the plan for a way that all pages prove. Raises `PromotionError`."""
        after = Entry(entry.name, way.into(EntryText(target.former)).data, entry.pages, entry.licence)
        try:
            with staged(after, self.folders) as stage:
                saved = self._check(way, stage)
                captured = self._captured(way, stage)
                changed = stage.entry()
        except LoadError as error:
            raise PromotionError(f"the file would not be valid: {error}") from error
        return Plan(self.learned, target, changed, Proof(len(self.pages), saved, refused), way, captured)

    def _check(self, way: Insertion, stage: Staged) -> int:
        """Return on how many saved pages a change was proved. Raises `PromotionError`."""
        wrong = [
            line for page in self.pages for line in misreadings(page, stage.knowledge_base, self.learned, way.variant)
        ]
        if wrong:
            raise PromotionError(_first(wrong))
        renewed = self._test(way, stage)
        saved = concerned(self.learned, (page for page in stage.pages() if page.name != renewed))
        lost = list(lost_pages(stage.knowledge_base, self.known, saved))
        if lost:
            raise PromotionError(_first(lost))
        return len(saved)

    def _test(self, way: Insertion, stage: Staged) -> str:
        """Return the name of the saved page that is to be its test, new or of the same URL; empty if there is none."""
        tested = self._tested(stage)
        if tested is None:
            return ""
        start = f"{self.learned.level or 'detected'}-{way.template}"
        there: dict[str, SavedPage] = {page.name: page for page in stage.pages()}
        number, name = 1, f"{stage.name}/{start}"
        while name in there and there[name].expected.url != tested.url:
            number += 1
            name = f"{stage.name}/{start}-{number}"
        return name

    def _tested(self, stage: Staged) -> Page | None:
        """Return the first page of the evidence that is of a level."""
        return next((page for page in self.pages if taken_for(page, stage.knowledge_base)[1]), None)

    def _captured(self, way: Insertion, stage: Staged) -> Captured | None:
        """Save a page of the evidence beside the staged file; None if none is of a level."""
        page = self._tested(stage)
        if page is None:
            return None
        wish = Wish(self.learned.application, self._test(way, stage).partition("/")[2], replace=True)
        try:
            captured = capture(page, stage.knowledge_base, stage.folders, wish)
        except CaptureError as error:
            raise PromotionError(f"{page.url} cannot be saved as its test: {error}") from error
        return replace(captured, saved=replace(captured.saved, file=stage.really(captured.saved.file)))


def _new_part(line: str, former: str) -> str:
    """Return a line; of a long line, only the beginning of what differs from its former text."""
    if len(line) <= MAX_LINE_LENGTH:
        return line
    begin = next((at for at, signs in enumerate(zip(line, former, strict=False)) if signs[0] != signs[1]), 0)
    return f"... {line[begin:][:MAX_LINE_LENGTH]} ..."


def _pages(number: int, noun: str = "page") -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _first(reasons: Sequence[str]) -> str:
    more = f" (and {len(reasons) - 1} more of this sort)" if len(reasons) > 1 else ""
    return f"{reasons[0]}{more}"


def _is_ours(folder: Path) -> bool:
    """Return whether the shipped files belong to a working copy of the source."""
    return (folder.parent / "pyproject.toml").exists()


def _file_of(application: str, folders: Sequence[Path]) -> Path:
    for file in read_files(chosen_files(folders).applications):
        if file.name == application:
            return file.path
    raise PromotionError(f"no file of {', '.join(map(str, folders))} describes {application}")

"""The repairs of a crawl, in words and with pages that prove them; people correct, accept or reject them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.adaptation.learned import (
    Decision,
    Decisions,
    Learned,
    LearnedAction,
    LearnedLinks,
    LearnedSign,
    State,
    key_of,
)
from aahcrawler.adaptation.overlay import Overlay
from aahcrawler.editor.pages.page_source import SourceError, kept_page
from aahcrawler.editor.pages.saved_pages import ObjectRow, object_row
from aahcrawler.editor.repairs.promotion import Plan, Promoted, carried_out, planned
from aahcrawler.editor.text.edits import Edit, apply
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.printable_text import plain_line
from aahcrawler.helper.detection import FAILING
from aahcrawler.helper.extraction.extraction import Extraction, Runner, find_fragment
from aahcrawler.layout import LEARNED
from aahcrawler.page import Page
from aahcrawler.report.report_sections import FAILURE_WORDS, METHOD_WORDS
from aahcrawler.webobject import WebObject
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.file_selection import filled
from knowledge_base.loader import load
from knowledge_base.matching import Sight
from knowledge_base.model import Action, Application, Extract, KnowledgeBase, Navigate, PageLevel
from knowledge_base.parsing.attributes import selector
from knowledge_base.parsing.extraction_actions import extract, navigate
from knowledge_base.selectors import Selector
from knowledge_base.xml_reader import Notes

MAX_FOUND = 500
"""The most objects, links or elements of one page that are shown."""


@dataclass(frozen=True, slots=True)
class Compared:
    """A part of an action as the application's file has it, and as it was learned."""

    part: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def compared(learned: Learned, knowledge_base: KnowledgeBase) -> tuple[Compared, ...]:
    """Return the parts of a learned item that differ from those it replaces."""
    application = next((each for each in knowledge_base.applications if each.name == learned.application), None)
    before = dict(_replaced_parts(learned, application)) if application is not None else {}
    after = dict(_learned_parts(learned))
    rows = (Compared(part, before.get(part, ()), after.get(part, ())) for part in dict.fromkeys((*after, *before)))
    return tuple(row for row in rows if row.before != row.after)


def described(learned: Learned) -> Iterator[str]:
    """Yield lines of text that describe a learned item: where it applies, what failed, its evidence and confidence."""
    method = METHOD_WORDS.get(learned.method, learned.method)
    sure = f"learned {method} on {learned.date:%Y-%m-%d %H:%M}, confidence {learned.confidence:.2f} of 1"
    match learned:
        case LearnedSign():
            of = f"sign of level {learned.level}" if learned.level else "sign of the application"
            yield f"{learned.name}: {learned.application}, {of}, on {learned.site}"
            yield f"  it is on {len(learned.pages)} pages, and on none of {learned.others} of other levels"
        case LearnedAction() | LearnedLinks():
            what = "objects" if isinstance(learned, LearnedAction) else "links"
            place = f"level {learned.level}, action {learned.action}"
            why = FAILURE_WORDS.get(learned.failure, learned.failure)
            yield f"{learned.name}: {learned.application}, {place}, on {learned.site}"
            yield f"  the file's action {why}"
            yield (
                f"  on {len(learned.pages)} pages it found {learned.before} {what}, and what was learned finds "
                f"{learned.after}"
            )
    yield f"  {sure}"


def _replaced_by(learned: LearnedAction, application: Application) -> Extract | None:
    """Return the action of the level that a learned one replaces, None if the level has none."""
    level = next((each for each in application.levels if each.name == learned.level), None)
    named = (action for action in level.actions if action.name == learned.action) if level is not None else ()
    return next((action for action in named if isinstance(action, Extract)), None)


def _replaced_parts(learned: Learned, application: Application) -> Iterator[tuple[str, tuple[str, ...]]]:
    level = next((each for each in application.levels if each.name == learned.level), None)
    match learned:
        case LearnedAction():
            replaced = _replaced_by(learned, application)
            yield from _parts(replaced) if replaced is not None else ()
        case LearnedLinks() if level is not None:
            named = (each for each in level.actions if isinstance(each, Navigate) and each.name == learned.action)
            sources = (source.selector for action in named for source in action.sources)
            yield "links", _shown(sources)
        case LearnedSign():
            signs = level.when if level is not None else application.patterns
            yield "sign", _shown(sign.selector for sign in signs if sign.selector is not None)


def _learned_parts(learned: Learned) -> Iterator[tuple[str, tuple[str, ...]]]:
    match learned:
        case LearnedAction():
            yield from _parts(learned.wrapper.action)
        case LearnedLinks():
            documented = " (documented URLs)" if learned.documented else ""
            yield "links", tuple(f"{each}{documented}" for each in _shown((learned.expression.selector,)))
        case LearnedSign():
            yield "sign", _shown((learned.expression.selector,))


def _parts(action: Extract) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield "item", _shown(action.items)
    if action.identity is not None:
        yield "identity", _shown(action.identity.selectors)
    if action.parent is not None:
        yield "parent", _shown(action.parent.selectors)
    fields: dict[str, tuple[str, ...]] = {}
    for each in action.fields:
        fields[each.name] = (*fields.get(each.name, ()), *_shown(each.selectors))
    yield from fields.items()


def _shown(selectors: Iterable[Selector]) -> tuple[str, ...]:
    return tuple(f"{each.css or each.source}{f' @{each.attribute}' if each.attribute else ''}" for each in selectors)


class RepairError(Exception):
    """A repair cannot be shown, accepted or rejected; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Repair:
    """A learned action, learned links or a learned sign of the crawl in a folder.

    ``key`` identifies it: it does not change as long as the place, the site and the expressions do not. ``replaces``
    are the parts in which it differs from the file. ``decision`` is the last one about it, None while it waits for one.
    """

    crawl: Path
    key: str
    learned: Learned
    replaces: tuple[Compared, ...]
    decision: Decision | None
    knowledge_base: KnowledgeBase

    @property
    def state(self) -> State:
        """Whether it waits, was accepted or was rejected."""
        return self.decision.state if self.decision is not None else State.WAITING

    @property
    def evidence(self) -> tuple[str, ...]:
        """The URLs of the pages that it was learned from."""
        return self.learned.pages

    def lines(self) -> Iterator[str]:
        """Yield lines for people: what it is, its state, what it replaces, and its evidence."""
        first, *rest = described(self.learned)
        yield f"{first} ({self.state})"
        if self.decision is not None:
            yield f"  {self.decision.words}"
        yield from rest
        for row in self.replaces:
            yield f"  {row.part}"
            yield f"    - {' | '.join(row.before) or 'nothing'}"
            yield f"    + {' | '.join(row.after) or 'nothing'}"
        yield from (f"  learned from {url}" for url in self.evidence)


def repairs_of(crawl: Path, folders: Sequence[Path]) -> tuple[Repair, ...]:
    """Return what the crawl in a folder learned about applications of a knowledge base, undecided repairs first.

    Raises `LoadError`. What cannot be read is left out; `repairs_in` reports it.
    """
    return repairs_in(crawl, load(*filled(folders)))[0]


def repairs_in(crawl: Path, knowledge_base: KnowledgeBase) -> tuple[tuple[Repair, ...], tuple[str, ...]]:
    """Return the same for a loaded knowledge base, with a line for each thing that cannot be read."""
    learnt, problems = Overlay(crawl / LEARNED).learned(knowledge_base)
    decisions = Decisions(crawl / LEARNED).latest()
    found = [
        Repair(crawl, key, learned, compared(learned, knowledge_base), decisions.get(key), knowledge_base)
        for learned in learnt
        for key in (key_of(learned),)
    ]
    found.sort(key=lambda repair: tuple(State).index(repair.state))
    return tuple(found), tuple(map(str, problems))


def repair_of(repairs: Sequence[Repair], name: str, application: str = "", site: str = "") -> Repair:
    """Return the only repair with a name or key. Raises `RepairError` if there is none or several."""
    found = [
        repair
        for repair in repairs
        if name in (repair.key, repair.learned.name)
        and application in ("", repair.learned.application)
        and site in ("", repair.learned.site)
    ]
    if len(found) == 1:
        return found[0]
    if not found:
        known = ", ".join(sorted({repair.learned.name for repair in repairs})) or "nothing at all"
        raise RepairError(f"nothing was learned under the name {name}; there is {known}")
    several = "; ".join(
        f"--application {repair.learned.application!r} --site {repair.learned.site}" for repair in found
    )
    raise RepairError(f"several are called {name}; add one of: {several}")


def pages_of(repair: Repair) -> tuple[Page, ...]:
    """Return those pages of its evidence that are in the crawl's archive and can be read."""
    return tuple(page for url in repair.evidence if (page := _page(repair.crawl, url)) is not None)


def _page(crawl: Path, url: str) -> Page | None:
    try:
        return kept_page(crawl, url)
    except SourceError:
        return None


def xml_of(learned: Learned) -> bytes:
    """Return what was learned as a file would write it: an ``extract``, a ``navigate``, or a ``when``."""
    written = (
        etree.Element("when", learned.expression.attributes()) if isinstance(learned, LearnedSign) else learned.xml()
    )
    etree.indent(written)
    return etree.tostring(written)


def edited(repair: Repair, edits: Sequence[Edit]) -> Repair:
    """Return a repair with edits, whose places start at the learned element: ``field[title]/select[1]``.

    Raises `RepairError` if they cannot be made, or the result cannot be used.
    """
    if not edits:
        return repair
    try:
        text = apply(EntryText(xml_of(repair.learned)), edits)
    except EditError as error:
        raise RepairError(str(error)) from error
    element = etree.fromstring(text.data, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    notes = Notes(Path(repair.learned.name))
    changed = _read(repair, element, notes)
    if notes.problems:
        raise RepairError("; ".join(problem.message for problem in notes.problems))
    return replace(repair, learned=changed)


def _read(repair: Repair, element: etree._Element, notes: Notes) -> Learned:
    learned = repair.learned
    match learned:
        case LearnedSign():
            return replace(learned, expression=Expression.of(selector(element, notes)))
        case LearnedLinks():
            read = navigate(element, None, notes)
            if len(read.sources) != 1:
                raise RepairError("learned links have one <select>; keep it at one")
            (source,) = read.sources
            return replace(learned, to=read.to, expression=Expression.of(source.selector), documented=source.documented)
        case LearnedAction():
            application = repair.knowledge_base.application(learned.application)
            kind = next(kind for kind in repair.knowledge_base.kinds if kind.name == application.kind)
            action = extract(element, None, kind, notes)
            return replace(learned, wrapper=Wrapper(action, learned.wrapper.support))


def planned_repair(repair: Repair, folders: Sequence[Path], edits: Sequence[Edit] = (), variant: str = "") -> Plan:
    """Return what accepting a repair, edited or unchanged, would change; nothing is written.

    Raises `RepairError`, `PromotionError`, `LoadError`, `SavedPageError` and `OwnFolderError`.
    """
    return planned(edited(repair, edits).learned, pages_of(repair), folders, variant)


def accept(
    repair: Repair, folders: Sequence[Path], who: str, edits: Sequence[Edit] = (), variant: str = ""
) -> Promoted:
    """Write a repair, edited or unchanged, into its application's file if all pages prove it; record the decision.

    Raises what `planned_repair` raises, before anything is written.
    """
    return accept_plan(repair, planned_repair(repair, folders, edits, variant), folders, who)


def accept_plan(repair: Repair, plan: Plan, folders: Sequence[Path], who: str) -> Promoted:
    """Write what `planned_repair` returned, and record that the repair was accepted. Raises `OwnFolderError`."""
    promoted = carried_out(plan, folders, who)
    changed = "with changes" if plan.learned != repair.learned else ""
    Decisions(repair.crawl / LEARNED).note(repair.learned, State.ACCEPTED, plain_line(who), changed)
    return promoted


def reject(repair: Repair, who: str, why: str) -> Decision:
    """Record that a repair is not to be used: further crawls in its folder do not use it, and it is not offered again.

    Raises `RepairError` without a reason, or if the disk refuses.
    """
    reason = plain_line(why)
    if not reason:
        raise RepairError("say why it is rejected, so that others understand: --because TEXT")
    try:
        return Decisions(repair.crawl / LEARNED).note(repair.learned, State.REJECTED, plain_line(who), reason)
    except OSError as error:
        raise RepairError(f"the folder of the crawl cannot be written to: {error.strerror or error}") from error


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object with its element, and the elements from which each of its fields was read.

    ``element`` is None if the object has no element of its own.
    """

    row: ObjectRow
    element: HtmlElement | None = None
    fields: Mapping[str, tuple[HtmlElement, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link: its resolved URL, and its element."""

    url: str
    element: HtmlElement


@dataclass(frozen=True, slots=True)
class RepairReading:
    """What an item finds on a page: objects of an extraction, links of a navigation, or elements that are signs.

    ``failure`` says why something is missing, empty if nothing is.
    """

    objects: tuple[FoundObject, ...] = ()
    links: tuple[FoundLink, ...] = ()
    signs: tuple[HtmlElement, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Both:
    """A page as read by the file, and as read by the learned item.

    All elements are of the same ``page.tree``.
    """

    page: Page
    before: RepairReading
    after: RepairReading

    @property
    def differing(self) -> tuple[str, ...]:
        """The IRIs and URLs that only one of the readings has, or that differ between them."""
        before, after = _told(self.before), _told(self.after)
        return tuple(each for each in dict.fromkeys((*before, *after)) if before.get(each) != after.get(each))


def read_both(repair: Repair, page: Page) -> Both:
    """Read a page of the evidence by the file, and by what was learned in its place."""
    learned = repair.learned
    application = repair.knowledge_base.application(learned.application)
    level = next((each for each in application.levels if each.name == learned.level), None)
    match learned:
        case LearnedSign():
            signs = level.when if level is not None else application.patterns
            before = [sign.selector for sign in signs if sign.selector is not None]
            after = [learned.expression.selector]
            return Both(page, _signs(page, before), _signs(page, after))
        case LearnedLinks():
            there = _action_of(page, level, learned.action)
            sources = [source.selector for source in there.sources] if isinstance(there, Navigate) else []
            links = [source.selector for source in learned.navigate().sources]
            return Both(page, _links(page, sources), _links(page, links))
        case LearnedAction() if level is not None:
            there = _action_of(page, level, learned.action)
            own = _objects(page, application, level, there) if isinstance(there, Extract) else RepairReading()
            return Both(page, own, _objects(page, application, level, learned.wrapper.action))
        case _:
            return Both(page, RepairReading(), RepairReading())


def _action_of(page: Page, level: PageLevel | None, name: str) -> Action | None:
    """Return the action with a name that would read a page of a level, of the first variant that the page shows."""
    if level is None:
        return None
    variant = Sight(page).variant(level)
    actions = variant.actions if variant is not None else level.actions
    return next((action for action in actions if action.name == name), None)


def _objects(page: Page, application: Application, level: PageLevel, action: Extract) -> RepairReading:
    try:
        runner = Runner.of(page, application, level)
        outcome = runner.run(action)
        extraction = _extraction(runner, action)
        items = extraction.items()
        left = {each.object.iri: each.object for each in outcome.extracted[:MAX_FOUND]}
        found = tuple(_found(extraction, items, left))
    except FAILING as error:
        return RepairReading(failure=_unusable(error))
    rest = tuple(FoundObject(object_row(each, computed=False)) for each in left.values())
    failure = f"{outcome.failure}{f': {outcome.detail}' if outcome.detail else ''}" if outcome.failure else ""
    return RepairReading(objects=(*found, *rest), failure=failure)


def _extraction(runner: Runner, action: Extract) -> Extraction:
    again = runner.again()
    return Extraction(action, again.location, again.reader)


def _found(extraction: Extraction, items: Sequence[HtmlElement], left: dict[str, WebObject]) -> Iterator[FoundObject]:
    """Yield the objects of items with their elements, and remove them from ``left``."""
    action, location = extraction.action, extraction.location
    for number, item in enumerate(items[:MAX_FOUND]):
        iri = _iri(extraction, item)
        if iri is None and action.identity is not None and action.identity.fields:
            iri = next(iter(left), None)
        web_object = left.pop(iri, None) if iri is not None else None
        if web_object is None:
            continue
        first = number == 0 and location.is_first
        row = object_row(web_object, computed=False)
        if action.run is not None:
            yield FoundObject(row)
        else:
            yield FoundObject(row, item, _fields(extraction, item, first=first))


def _iri(extraction: Extraction, item: HtmlElement) -> str | None:
    """Return the IRI of an item's object, None if it depends on values of the object."""
    action, location = extraction.action, extraction.location
    if action.identity is None:
        return location.own.url
    elements = location.page.elements if action.run is None else None
    fragment = find_fragment(action.identity, action.identity.selectors, item, elements)
    return f"{location.own.url}#{fragment}" if fragment is not None else None


def _fields(extraction: Extraction, item: HtmlElement, *, first: bool) -> Mapping[str, tuple[HtmlElement, ...]]:
    found: dict[str, tuple[HtmlElement, ...]] = {}
    for wanted in extraction.action.fields:
        if wanted.name in found or (wanted.first_only and not first):
            continue
        read = extraction.reader.read(wanted, item, extraction.owners)
        if read.values:
            found[wanted.name] = read.elements
    return found


def _signs(page: Page, selectors: Sequence[Selector]) -> RepairReading:
    elements, failure = _elements(page, selectors)
    return RepairReading(signs=elements, failure=failure)


def _links(page: Page, selectors: Sequence[Selector]) -> RepairReading:
    found: dict[HtmlElement, str] = {}
    elements, failure = _elements(page, selectors)
    for element in elements:
        href = element.get("href")
        url = urls.resolve(page.base_url, href) if href else None
        if url is not None:
            found.setdefault(element, url)
    return RepairReading(links=tuple(FoundLink(url, element) for element, url in found.items()), failure=failure)


def _elements(page: Page, selectors: Sequence[Selector]) -> tuple[tuple[HtmlElement, ...], str]:
    """Return what selectors find on a page, and why one of them cannot be used, empty if all can."""
    found: dict[HtmlElement, None] = {}
    failure = ""
    for each in selectors:
        try:
            found |= dict.fromkeys(each.elements(page.tree, page.elements))
        except FAILING as error:
            failure = _unusable(error)
    return tuple(found)[:MAX_FOUND], failure


def _unusable(error: Exception) -> str:
    return f"an expression cannot be used on this page: {error}"


def _told(reading: RepairReading) -> dict[str, object]:
    """Return the findings by IRI or URL, in a form that can be compared."""
    rows: dict[str, object] = {each.row.iri: each.row for each in reading.objects}
    return rows | {link.url: True for link in reading.links}

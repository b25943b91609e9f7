"""A page as it is read by the action of the file and by the learned one, with the elements that each matched."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.adaptation.store.learned import LearnedAction, LearnedLinks, LearnedSign
from aahcrawler.editor.pages.saved_pages import ObjectRow, object_row
from aahcrawler.editor.repairs.repair_list import Repair
from aahcrawler.helper.detection.attempts import FAILING
from aahcrawler.helper.extraction import fragments
from aahcrawler.helper.extraction.extraction import Extraction
from aahcrawler.helper.extraction.outcome import Runner
from aahcrawler.page import Page
from aahcrawler.webobject import WebObject
from knowledge_base.matching import Sight
from knowledge_base.model import Action, Application, Extract, Navigate, PageLevel
from knowledge_base.selectors import Selector

MOST_FOUND = 500
"""Objects, links or elements of one page that are shown."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """An object with the element that is it, and those that each of its fields was read from.

    ``element`` is None where it has none of its own.
    """

    row: ObjectRow
    element: HtmlElement | None = None
    fields: Mapping[str, tuple[HtmlElement, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FoundLink:
    """A link: its URL as it is resolved, and its element."""

    url: str
    element: HtmlElement


@dataclass(frozen=True, slots=True)
class Reading:
    """What is found on a page: objects of an extraction, links of a navigation, or the elements that are signs.

    ``failure`` says why something is missing, empty where nothing is.
    """

    objects: tuple[FoundObject, ...] = ()
    links: tuple[FoundLink, ...] = ()
    signs: tuple[HtmlElement, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Both:
    """A page as the file has it read, and as the learned item reads it.

    All elements are of the same ``page.tree``.
    """

    page: Page
    before: Reading
    after: Reading

    @property
    def differing(self) -> tuple[str, ...]:
        """The IRIs and URLs that only one of them has, or that are not the same in both."""
        before, after = _told(self.before), _told(self.after)
        return tuple(each for each in dict.fromkeys((*before, *after)) if before.get(each) != after.get(each))


def read_both(repair: Repair, page: Page) -> Both:
    """Read a page of the evidence with what the file has, and with what was learned in its place."""
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
            own = _objects(page, application, level, there) if isinstance(there, Extract) else Reading()
            return Both(page, own, _objects(page, application, level, learned.wrapper.action))
        case _:
            return Both(page, Reading(), Reading())


def _action_of(page: Page, level: PageLevel | None, name: str) -> Action | None:
    """Return the action of a name that would read a page of a level: that of the first variant that it shows."""
    if level is None:
        return None
    variant = Sight(page).variant(level)
    actions = variant.actions if variant is not None else level.actions
    return next((action for action in actions if action.name == name), None)


def _objects(page: Page, application: Application, level: PageLevel, action: Extract) -> Reading:
    try:
        runner = Runner.of(page, application, level)
        outcome = runner.run(action)
        extraction = _extraction(runner, action)
        items = extraction.items()
        left = {each.object.iri: each.object for each in outcome.extracted[:MOST_FOUND]}
        found = tuple(_found(extraction, items, left))
    except FAILING as error:
        return Reading(failure=_unusable(error))
    rest = tuple(FoundObject(object_row(each, computed=False)) for each in left.values())
    failure = f"{outcome.failure}{f': {outcome.detail}' if outcome.detail else ''}" if outcome.failure else ""
    return Reading(objects=(*found, *rest), failure=failure)


def _extraction(runner: Runner, action: Extract) -> Extraction:
    again = runner.again()
    return Extraction(action, again.location, again.reader)


def _found(extraction: Extraction, items: Sequence[HtmlElement], left: dict[str, WebObject]) -> Iterator[FoundObject]:
    """Yield the objects of items with their elements, and take them out of those left."""
    action, location = extraction.action, extraction.location
    for number, item in enumerate(items[:MOST_FOUND]):
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
    """Return the IRI of an item's object, None where its number is made of its values."""
    action, location = extraction.action, extraction.location
    if action.identity is None:
        return location.own.url
    elements = location.page.elements if action.run is None else None
    fragment = fragments.found(action.identity, action.identity.selectors, item, elements)
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


def _signs(page: Page, selectors: Sequence[Selector]) -> Reading:
    elements, failure = _elements(page, selectors)
    return Reading(signs=elements, failure=failure)


def _links(page: Page, selectors: Sequence[Selector]) -> Reading:
    found: dict[HtmlElement, str] = {}
    elements, failure = _elements(page, selectors)
    for element in elements:
        href = element.get("href")
        url = urls.resolve(page.base_url, href) if href else None
        if url is not None:
            found.setdefault(element, url)
    return Reading(links=tuple(FoundLink(url, element) for element, url in found.items()), failure=failure)


def _elements(page: Page, selectors: Sequence[Selector]) -> tuple[tuple[HtmlElement, ...], str]:
    """Return what selectors find on a page, and why one of them cannot be used, empty where all can."""
    found: dict[HtmlElement, None] = {}
    failure = ""
    for selector in selectors:
        try:
            found |= dict.fromkeys(selector.elements(page.tree, page.elements))
        except FAILING as error:
            failure = _unusable(error)
    return tuple(found)[:MOST_FOUND], failure


def _unusable(error: Exception) -> str:
    return f"an expression cannot be used on this page: {error}"


def _told(reading: Reading) -> dict[str, object]:
    """Return what is found, by IRI or URL, in a form that can be compared."""
    rows: dict[str, object] = {each.row.iri: each.row for each in reading.objects}
    return rows | {link.url: True for link in reading.links}

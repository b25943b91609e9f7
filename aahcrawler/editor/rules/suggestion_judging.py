"""Judges expressions by the pages of a sample: where they find something, and where that differs from what is there."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.pages.saved_pages import SavedPageError, read_page
from aahcrawler.editor.rules.marked_pages import Role, Search, WantedMarks, items_on
from aahcrawler.editor.rules.page_sample import PageSample, ReadBy, ReadObject, SampledPage, page_links
from aahcrawler.editor.rules.selector_candidates import Candidate
from aahcrawler.editor.rules.values_on_pages import ValueRead, objects_of, paired, values_on
from aahcrawler.page import Page
from knowledge_base.matching import literals_of
from knowledge_base.selectors import Selector, SourceLiterals
from knowledge_base.url_rules import ParsedUrl

MAX_SAVED = 2_000
"""The most saved pages that are examined."""
_SHORT = 60


@dataclass(frozen=True)
class OtherPage:
    """A saved page with its name, such as ``phpbb/thread``."""

    name: str
    page: Page

    @cached_property
    def literals(self) -> SourceLiterals:
        """An index of its texts, by which expressions that cannot match are skipped."""
        return literals_of(self.page)


class OtherSoftware:
    """The saved pages of the knowledge base's applications, read on demand and then kept. Thread-safe."""

    def __init__(self, folders: Iterable[Path]) -> None:
        """Take the folders of saved pages, in which each application has a folder."""
        self._folders = tuple(folders)
        self._pages: tuple[OtherPage, ...] | None = None
        self._lock = Lock()

    def showing(self, selector: Selector, but: str = "") -> Iterator[str]:
        """Yield the names of the saved pages on which an expression finds something.

        The pages in the application folder ``but`` are left out.
        """
        for other in self._read():
            if other.name.partition("/")[0] == but:
                continue
            narrowed = other.literals.narrow(selector)
            if narrowed is not None and _shows(narrowed, other.page):
                yield other.name

    def _read(self) -> tuple[OtherPage, ...]:
        with self._lock:
            if self._pages is None:
                self._pages = tuple(self._found())
            return self._pages

    def _found(self) -> Iterator[OtherPage]:
        files = [file for folder in self._folders for file in sorted(folder.glob("*/*.html"))]
        for file in files[:MAX_SAVED]:
            try:
                saved = read_page(file)
            except SavedPageError:
                continue
            yield OtherPage(saved.name, saved.page)


def _shows(selector: Selector, page: Page) -> bool:
    try:
        return selector.shows(page.tree, page.elements)
    except XPathError:
        return False


@dataclass(frozen=True, slots=True)
class PageVerdict:
    """How an expression does on a page.

    ``found`` is the number of its results. ``agrees`` is None if it is unknown what is there; ``said`` says what
    differs.
    """

    record: str
    url: str
    found: int
    agrees: bool | None = None
    said: str = ""


@dataclass
class Judging:
    """Judges expressions for one rule. What is found out about a page is kept for the next expression."""

    wanted: WantedMarks
    sample: PageSample
    search: Search

    @cached_property
    def own_groups(self) -> frozenset[int]:
        """The groups of the marked pages' URLs."""
        numbers = (self.sample.group_of(mark.page.captured.record) for mark in self.wanted.right)
        return frozenset(number for number in numbers if number is not None)

    def verdict(self, candidate: Candidate, page: SampledPage) -> PageVerdict:
        """Return how an expression does on a page."""
        judge: Mapping[Role, Callable[[Candidate, SampledPage], PageVerdict]] = {
            Role.ITEM: self._of_item,
            Role.FIELD: self._of_field,
            Role.SIGN: self._of_sign,
            Role.LEVEL: self._of_level,
            Role.LINKS: self._of_links,
        }
        try:
            return judge[self.wanted.role](candidate, page)
        except XPathError:
            return _told(page, 0, None, "it was not looked for here: that would take too long")

    def _of_sign(self, candidate: Candidate, page: SampledPage) -> PageVerdict:
        return _told(page, len(self.search.found(page, candidate.selector)))

    def _of_level(self, candidate: Candidate, page: SampledPage) -> PageVerdict:
        found = len(self.search.found(page, candidate.selector))
        group = self.sample.group_of(page.captured.record)
        if group is None:
            return _told(page, found)
        if group in self.own_groups:
            return _told(page, found, True if found else None)
        return _told(page, found, not found, "a page of other addresses shows it" if found else "")

    def _of_links(self, candidate: Candidate, page: SampledPage) -> PageVerdict:
        addresses = self._addresses(page)
        found = self.search.found(page, candidate.selector)
        targets = {self._group_of(addresses.get(element, "")) for element in found}
        astray = len([None for element in found if self._group_of(addresses.get(element, "")) not in self._targets])
        if not found or None in self._targets:
            return _told(page, len(found))
        several = "" if targets <= self._targets else f"{astray} of {len(found)} lead elsewhere"
        return _told(page, len(found), not several, several)

    @cached_property
    def _targets(self) -> frozenset[int | None]:
        """The groups of the URLs that marked links lead to; None is among them for a URL of no known group."""
        found = set()
        for mark in self.wanted.right:
            found.add(self._group_of(self._addresses(mark.page).get(mark.element, "")))
        return frozenset(found)

    def _addresses(self, page: SampledPage) -> Mapping[HtmlElement, str]:
        record = page.captured.record
        if record not in self._links:
            self._links[record] = dict(page_links(page.page))
        return self._links[record]

    @cached_property
    def _links(self) -> dict[str, Mapping[HtmlElement, str]]:
        return {}

    def _group_of(self, url: str) -> int | None:
        """Return the group of a URL, by its shape if the URL itself is unknown."""
        if url not in self._groups:
            self._groups[url] = self._shaped(url) if url else None
        return self._groups[url]

    def _shaped(self, url: str) -> int | None:
        known = self._known_urls.get(url)
        if known is not None:
            return known
        address = ParsedUrl.parse(url)
        rules = (group.addresses.shape.rule for group in self.sample.groups)
        return next((number for number, rule in enumerate(rules) if rule.matches(address)), None)

    @cached_property
    def _known_urls(self) -> Mapping[str, int]:
        return {url: number for number, group in enumerate(self.sample.groups) for url in group.addresses.urls}

    @cached_property
    def _groups(self) -> dict[str, int | None]:
        return {}

    def _of_item(self, candidate: Candidate, page: SampledPage) -> PageVerdict:
        found = self.search.found(page, candidate.selector)
        found = found if self.wanted.many else found[:1]
        is_other = self.sample.group_of(page.captured.record) not in self.own_groups
        if page.reading.by is ReadBy.NOBODY or (is_other and not found):
            return _told(page, len(found))
        types = self._types(candidate)
        objects = tuple(each for each in page.reading.objects if each.type in types)
        if not types:
            return _told(page, len(found))
        difference = _difference(page, found, objects)
        return _told(page, len(found), not difference, difference)

    def _types(self, candidate: Candidate) -> frozenset[str]:
        """Return the types of the objects that an expression finds on the marked pages; empty if unknown.

        A single element, such as that of an article, may contain other objects, such as all comments. If there are as
        many elements as objects, they are these objects, wherever these were found on the page.
        """
        held: Counter[str] = Counter()
        for page, elements in zip(self.wanted.pages, candidate.found, strict=True):
            if len(elements) == len(page.reading.objects):
                held.update(each.type for each in page.reading.objects)
                continue
            pairing = paired(page, elements, page.reading.objects)
            held.update(each.type for objects in pairing.of_item.values() for each in objects)
        if max(map(len, candidate.found), default=0) > 1:
            return frozenset(held)
        single = frozenset(kind for kind, count in held.items() if count <= len(candidate.found))
        return single if len(single) == 1 else frozenset()

    def _of_field(self, candidate: Candidate, page: SampledPage) -> PageVerdict:
        read = self.values(candidate, page)
        found = sum(bool(each.value) for each in read)
        judged = [each for each in read if each.agrees is not None]
        wrong = [each for each in judged if not each.agrees]
        if not wrong:
            return _told(page, found, True if judged else None)
        first = wrong[0]
        now = f"“{short(first.value)}”" if first.value else "nothing"
        more = f" ({len(wrong)} of {len(judged)} differ)" if len(judged) > 1 else ""
        return _told(page, found, False, f"reads {now} where “{short(first.before)}” was read before{more}")

    def values(self, candidate: Candidate, page: SampledPage) -> tuple[ValueRead, ...]:
        """Return what an expression reads as the field of each object of a page, beside the recorded value."""
        items = self._items(page) if self.wanted.items else (page.tree,)
        wanted = self.wanted.reading(candidate.selector, page=candidate.page)
        read_in = page.tree if candidate.page or not items else items[0]
        self.search.spend(page, candidate.selector, read_in, 1 if candidate.page else len(items))
        return values_on(page, items[:1] if candidate.page else items, self._objects(page, items), wanted)

    def _items(self, page: SampledPage) -> tuple[HtmlElement, ...]:
        record = page.captured.record
        if record not in self._known_items:
            self._known_items[record] = items_on(page, self.wanted.items)
        return self._known_items[record]

    @cached_property
    def _known_items(self) -> dict[str, tuple[HtmlElement, ...]]:
        return {}

    def _objects(self, page: SampledPage, items: Sequence[HtmlElement]) -> Mapping[int, ReadObject]:
        """Return the object that each item is, if known, by the items' numbers."""
        record = page.captured.record
        if record not in self._known_objects:
            self._known_objects[record] = objects_of(page, items)
        return self._known_objects[record]

    @cached_property
    def _known_objects(self) -> dict[str, Mapping[int, ReadObject]]:
        return {}


def _difference(page: SampledPage, found: Sequence[HtmlElement], objects: Sequence[ReadObject]) -> str:
    """Return in words how the elements differ from the recorded objects; empty if they do not."""
    if len(found) != len(objects):
        return f"finds {len(found) or 'nothing'} where {len(objects) or 'nothing'} was read before"
    pairing = paired(page, found, objects)
    if any(len(each) > 1 for each in pairing.of_item.values()):
        return "finds an element that holds several of the objects that were read before"
    if pairing.lost:
        words = short(pairing.lost[0].title or pairing.lost[0].body)
        return f"misses an object that was read before: “{words}”"
    return "" if pairing.is_one_to_one else "finds several elements in one object that was read before"


def _told(page: SampledPage, found: int, agrees: bool | None = None, said: str = "") -> PageVerdict:
    return PageVerdict(page.captured.record, page.captured.url, found, agrees, said)


def short(text: str) -> str:
    """Return the beginning of a text, in one line."""
    text = " ".join(text.split())
    return text if len(text) <= _SHORT else f"{text[:_SHORT].rstrip()}…"

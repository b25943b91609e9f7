"""Split pages of no known application into parts, and assign each link to a part."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lxml import etree
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import Owners
from aahcrawler.helper.parts.splitting import MAX_REST, ListText, author_of, body_of, read_list
from aahcrawler.induction.generic_objects import GenericReading
from aahcrawler.induction.record_sets import Nature, Record
from aahcrawler.page import Page, generic
from aahcrawler.page.generic import PageLink
from aahcrawler.page.text import MAX_PARAGRAPH_LENGTH, fold, plain_text
from aahcrawler.page.zones import Sidebar, Zone, Zones, sidebars
from aahcrawler.webobject import WebObject
from online_analysis.document import DocumentPart

_WHOLES = frozenset({"article", "post", "reply"})
_WRITTEN = _WHOLES | {"comment", "gallery", "photo"}
_MIN_LEFT = 200
_MIN_ENTRIES = 3
_MUCH = 0.2
_MAX_OF = 0.5
_RUNNING = 80
_MIN_BOILERPLATE = 500
_MAX_BOILERPLATE = 50
_MIN_QUOTE_LENGTH = 4
_MIN_TITLE_LENGTH = 12
_MAX_QUOTES = 1_000
_QUOTED_TEXT = 100_000


@dataclass
class GenericSplit:
    """The parts of a page, and for the elements of links the part that each lies in, if any.

    ``rest`` is the main content outside of posts or entries, ``contexts`` are the texts of entries by their links.
    """

    parts: list[DocumentPart] = field(default_factory=list)
    part_of: dict[Element, int] = field(default_factory=dict)
    rest: str = ""
    contexts: Mapping[Element, str] = field(default_factory=dict)

    @property
    def texts(self) -> tuple[str, ...]:
        """The texts of all parts, and the rest."""
        return (*(part.text for part in self.parts), self.rest)

    def add(self, part: DocumentPart, links: Iterable[Element] = ()) -> None:
        """Add a part that has text, with the links in it."""
        if part.text:
            self.part_of.update(dict.fromkeys(links, len(self.parts)))
            self.parts.append(part)


def split(page: Page, reading: GenericReading, links: Sequence[PageLink]) -> GenericSplit:
    """Split an HTML page by the results of induction.

    Posts and comments are a content part each, and so is an article. Without post and article, the entries of lists,
    found by induction or around links on their own, are one navigation part; the other content of the page is the rest,
    or a content part if it is longer. With few entries the main content is the content, or all of the page's text if
    that is much more. Each sidebar is a part.
    """
    written = [item for item in reading.objects if item.type in _WRITTEN and body_of(item)]
    teasers = _teasers(reading)
    main = page.once(generic.main_content)
    sorting = _Sorting(page, _regions(reading, written), _elements(teasers))
    sorting.sort(links, main if len(written) < 2 else "", lists=not _is_whole(written))
    blocks = sidebars(sorting.beside, sorting.zones)
    found = GenericSplit([DocumentPart("content", body_of(item), author_of(item)) for item in written], sorting.owned)
    taken = (*_boilerplate(sorting.zones, len(main)), *_beside(blocks, sorting.beside))
    if _is_whole(written):
        entries = map(plain_text, _elements(teasers))
        _add_content(found, written, sorting, _without(main, taken, entries))
        listed = [fold(text)[:MAX_PARAGRAPH_LENGTH] for text in map(plain_text, _elements(teasers))]
        found.add(DocumentPart("navigation", _without(_joined(listed), found.texts)), sorting.entered)
    else:
        _add_list(found, _read_list(page, sorting, teasers, links), sorting, main, taken)
    for block in blocks:
        found.add(DocumentPart("sidebar", block.text), block.links)
    lost = lost_text(page.tree, sorting.zones, found.texts)
    found.rest = _joined((found.rest, lost))[:MAX_REST].rstrip()
    return found


def whole(page: Page) -> GenericSplit:
    """Return all of a page's text as one part."""
    text = page.attempt("text", lambda: plain_text(page.tree)[: generic.MAX_CONTENT], str)
    found = GenericSplit()
    found.add(DocumentPart("content", text))
    return found


def _read_list(page: Page, sorting: "_Sorting", teasers: Sequence[Record], links: Sequence[PageLink]) -> ListText:
    """Read the entries that induction found, and those that other links are of."""
    at = {link.url: link.element for link in links}
    given = {at.get(each.target or "", each.element): each.elements for each in teasers}
    return read_list(page.tree, [[link.element for link in sorting.listed]], sorting.zones, given)


def _add_list(found: GenericSplit, listed: ListText, sorting: "_Sorting", main: str, taken: Sequence[str]) -> None:
    """Add the entries of a list and the rest of the page; if there are few entries, the main content instead."""
    written = found.texts
    rest = _without(listed.rest, taken, written)
    if len(sorting.entered) >= _MIN_ENTRIES:
        navigation = _without(listed.text, written)
        found.contexts = listed.contexts
        if len(rest) <= max(len(navigation), _MIN_LEFT):
            found.rest = rest[:MAX_REST]
        else:
            found.add(DocumentPart("content", rest), sorting.quoted)
        found.add(DocumentPart("navigation", navigation), sorting.entered)
        return
    left = _without(main, taken, written)
    shown = _joined((listed.text, rest))
    found.add(DocumentPart("content", left if len(left) >= _MAX_OF * len(shown) else shown), sorting.quoted)
    entries = [link.context or link.anchor for link in sorting.listed]
    found.add(DocumentPart("navigation", _without(_joined(entries), found.texts)), sorting.entered)


def _joined(texts: Iterable[str]) -> str:
    return "\n".join(filter(None, dict.fromkeys(texts)))


def _is_whole(written: Iterable[WebObject]) -> bool:
    """Return whether a page has posts or an article, not only comments on an object that is not found."""
    return any(item.type in _WHOLES for item in written)


def _add_content(found: GenericSplit, written: Sequence[WebObject], sorting: "_Sorting", main: str) -> None:
    """Add the main content outside of posts to an article that is cut, as a part of its own, or as the rest."""
    if [item.type for item in written] == ["article"] and _is_cut(found.parts[0].text, main):
        found.parts[0] = replace(found.parts[0], text=main)
        found.part_of.update(dict.fromkeys(sorting.quoted, 0))
        return
    found.rest = _without(main, (part.text for part in found.parts))[:MAX_REST]
    if not sorting.owned:
        found.part_of.update(dict.fromkeys(sorting.quoted, 0))


class _Sorting:
    """The links of a page, grouped by their surroundings.

    ``owned`` links lie in posts, ``entered`` ones in or as entries of lists, ``listed`` are those that are entries
    themselves, ``quoted`` lie in the lines of the main content, and ``beside`` are all others.
    """

    def __init__(self, page: Page, regions: Mapping[HtmlElement, int], entries: Collection[HtmlElement]) -> None:
        self.zones = Zones(page.tree, (*regions, *entries), lists=not regions)
        self.owned: dict[Element, int] = {}
        self.entered: list[Element] = []
        self.listed: list[PageLink] = []
        self.quoted: list[Element] = []
        self.beside: dict[Element, PageLink] = {}
        self._regions = regions
        self._owners = Owners((*regions, *entries))

    def sort(self, links: Iterable[PageLink], main: str, *, lists: bool) -> None:
        """Group links; ``main`` is the main content, which may contain them; ``lists`` is True for a list."""
        lines = frozenset(main.split("\n"))
        beginning = main[:_QUOTED_TEXT]
        for number, link in enumerate(links):
            element = link.element
            owner = self._owners.of(element)
            zone = self.zones.of(element)
            is_open = zone in (Zone.OPEN, Zone.MAIN)
            if owner is not None and owner in self._regions:
                self.owned[element] = self._regions[owner]
            elif owner is not None:
                self.entered.append(element)
            elif is_open and (link.context in lines or (number < _MAX_QUOTES and _is_quoted(link, beginning))):
                self.quoted.append(element)
            elif is_open and lists and (zone is Zone.MAIN or _is_entry(link)):
                self.listed.append(link)
                self.entered.append(element)
            else:
                self.beside[element] = link


def _is_entry(link: PageLink) -> bool:
    """Return whether a link, with the text around it, is as long as a title; one Chinese character counts three."""
    return len((link.context or link.anchor).encode("utf-8", "replace")) >= _MIN_TITLE_LENGTH


def _is_quoted(link: PageLink, text: str) -> bool:
    return len(link.anchor) >= _MIN_QUOTE_LENGTH and link.anchor in text


def _regions(reading: GenericReading, written: Sequence[WebObject]) -> Mapping[HtmlElement, int]:
    """Return the elements that contain the texts of objects, with the numbers of the objects."""
    found: dict[HtmlElement, int] = {}
    for number, item in enumerate(written):
        region = reading.bodies.get(item.iri)
        for element in region.elements if region is not None else ():
            if isinstance(element, HtmlElement):
                found.setdefault(element, number)
    return found


def _teasers(reading: GenericReading) -> Sequence[Record]:
    """Return the entries of lists outside of sidebars; a single one is no list."""
    lists = (
        each for each in reading.sets if each.nature is Nature.TEASERS and not each.aside and len(each.records) > 1
    )
    return [record for each in lists for record in each.records]


def _elements(records: Iterable[Record]) -> Sequence[HtmlElement]:
    elements = (element for record in records for element in record.elements)
    return [element for element in elements if isinstance(element, HtmlElement)]


def _boilerplate(zones: Zones, most: int) -> Iterable[str]:
    """Yield the texts of menus, footers and the like; one that is longer than half of the main content is spared."""
    taken: set[Element] = set()
    for element in zones.boilerplate[:_MAX_BOILERPLATE]:
        if not taken.isdisjoint(element.iterancestors()):
            continue
        taken.add(element)
        text = plain_text(element)
        if len(text) <= max(most / 2, _MIN_BOILERPLATE):
            yield text


def _is_cut(body: str, main: str) -> bool:
    """Return whether the main content has much running text that the body of an article has not."""
    missing = sum(len(line) for line in _without(main, (body,)).split("\n") if len(line) >= _RUNNING)
    return missing > _MUCH * len(body)


def _beside(blocks: Iterable[Sidebar], links: Mapping[Element, PageLink]) -> Iterable[str]:
    """Yield the lines that sidebars may have: runs of text, links, and the items of lists that contain these."""
    for block in blocks:
        yield block.text
        for link in block.links:
            yield from (links[link].anchor, links[link].context)


def _without(text: str, *taken: Iterable[str]) -> str:
    """Return a text without the lines of others."""
    lines = {line for texts in taken for each in texts for line in each.split("\n")}
    return "\n".join(line for line in text.split("\n") if line not in lines) if lines else text


_MIN_KEPT = 0.5
"""The share of the visible text, without boilerplate and sidebars, that a document has of most pages."""
_MAX_LINES = 2_000
"""The lines of a page that are compared with its document."""
_all_text = etree.XPath("string()", smart_strings=False)


def lost_text(page: Element, zones: Zones, texts: Iterable[str]) -> str:
    """Return the visible text that a document with some texts lacks, "" if it has half of it or more.

    A page with an introduction and a long list of contents is read as a short article: its list is what it is about.
    Menus, footers, advertising and sidebars do not count. At most ``MAX_REST`` characters of 2,000 lines are
    returned.
    """
    kept = "\n".join(texts)
    body = page.find("body")
    region = page if body is None else body
    if len(kept) >= _MIN_KEPT * len(_all_text(region)):
        return ""
    sides, boilerplate = zones.apart(region)
    visible = plain_text(region, frozenset((*sides, *boilerplate)))
    if len(kept) >= _MIN_KEPT * len(visible):
        return ""
    return "\n".join(_missing(visible.split("\n")[:_MAX_LINES], kept))[:MAX_REST].rstrip()


def _missing(lines: Iterable[str], kept: str) -> Iterator[str]:
    length = 0
    for line in lines:
        if length > MAX_REST:
            return
        if line not in kept:
            length += len(line) + 1
            yield line

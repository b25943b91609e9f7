"""Split a page into the parts of a document, and assign each link to one, with and without a known application."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from lxml import etree
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.helper.detection import Place
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.helper.extraction.field_reader import Owners
from aahcrawler.helper.links.navigation import ChosenLink, Links, content_links, starting_points, unsaid
from aahcrawler.helper.links.page_links import Contexts, outlink_of
from aahcrawler.induction.generic_objects import GenericReading
from aahcrawler.induction.record_sets import Nature, Record
from aahcrawler.page import Page, generic
from aahcrawler.page.generic import PageLink
from aahcrawler.page.text import MAX_PARAGRAPH_LENGTH, Entry, entries, fold, lines_of, paragraphs, plain_text
from aahcrawler.page.zones import Sidebar, Subtrees, Zone, Zones, sidebars
from aahcrawler.webobject import Person, WebObject
from knowledge_base.model import Application, Navigate
from online_analysis.document import DocumentPart, LevelRole, Outlink

MAX_REST = 20_000
"""The most characters that are kept of a page's text outside of its entries."""

MAX_TEXT = 1_000_000
"""The most characters that are kept of all entries of a page."""

_CONTROLS = ("button", "select", "textarea")
_OF_SECTIONS = frozenset({"footer", "header"})
_mains = etree.XPath("descendant::*[self::main or @role = 'main']")


@dataclass(frozen=True)
class ListText:
    """The entries of a list as one text, a line for each paragraph of each entry; ``rest`` is the page's other text.

    ``contexts`` has, for the link of each entry, the first paragraph of the entry.
    """

    text: str = ""
    contexts: Mapping[Element, str] = field(default_factory=dict)
    rest: str = ""


def read_list(
    page: Element, links: Sequence[Sequence[Element]], zones: Zones, given: Mapping[Element, Entry] | None = None
) -> ListText:
    """Read the text around links of a page; sidebars, boilerplate and form controls are left out.

    Of several groups of links, later ones make entries only outside of the entries of earlier ones. ``given`` are
    entries that are already known. If all links lie in the declared main part of the page, only that part is read.
    """
    given = given or {}
    heads = [*(link for group in links for link in group), *(entry[0] for entry in given.values())]
    around = {above for head in heads for above in (head, *head.iterancestors())}
    region = _region(page, heads)
    sides, boilerplate = zones.apart(region)
    sides = [each for each in sides if each not in around and each.find(".//article") is None]
    dropped = frozenset((*sides, *(each for each in boilerplate if each not in around), *region.iter(*_CONTROLS)))
    found = _entries(links, given, region, (*sides, *_title(region)), dropped)
    if len(found) > 1:
        dropped -= _of_entries(found, (*sides, *(each for each in boilerplate if each.tag in _OF_SECTIONS)))
    taken: set[Element] = set()
    texts: dict[Element, Sequence[str]] = {}
    for link, entry in found.items():
        texts[link] = [*paragraphs(lines_of(entry, dropped))] if entry[0] not in taken else ()
        taken.update(entry)
    contexts = {link: text[0] for link, text in texts.items() if text}
    text = "\n".join(line for lines in texts.values() for line in lines)
    rest = plain_text(region, dropped | taken)
    return ListText(text[:MAX_TEXT].rstrip(), contexts, rest[:MAX_REST].rstrip())


def _region(page: Element, heads: Iterable[Element]) -> Element:
    main, body = declared_main(page), page.find("body")
    if main is not None and all(map(Subtrees((main,)).covers, heads)):
        return main
    return page if body is None else body


def _of_entries(found: Mapping[Element, Entry], elements: Iterable[Element]) -> frozenset[Element]:
    """Return the elements that lie within entries: a header, footer or list of tags in an entry belongs to a post."""
    within = Subtrees(element for entry in found.values() for element in entry)
    return frozenset(filter(within.covers, elements))


def _title(region: Element) -> Sequence[Element]:
    """Return the heading of a list: the only heading, without a link.

    Headings of entries are several, or have links.
    """
    headings = list(islice(region.iter("h1"), 2))
    return headings if len(headings) == 1 and headings[0].find(".//a") is None else ()


def declared_main(page: Element) -> Element | None:
    """Return the main part that a page declares, None if it declares none or several."""
    mains: list[Element] = _mains(page)
    return mains[0] if mains and len(mains) == 1 + len(_mains(mains[0])) else None  # Others lie in the first one.


def _entries(
    groups: Iterable[Sequence[Element]],
    given: Mapping[Element, Entry],
    region: Element,
    apart: Sequence[Element],
    without: frozenset[Element],
) -> Mapping[Element, Entry]:
    links: list[Element] = []
    found = given
    known = [element for entry in given.values() for element in entry]
    for group in groups:
        covering = Subtrees(element for entry in found.values() for element in entry)
        added = [link for link in group if not covering.covers(link)]
        if added:
            links += added
            found = {**given, **entries(links, region, (*apart, *known), without)}
    return found


_BOILERPLATE = frozenset({Zone.MENU, Zone.DROPPED})


@dataclass(frozen=True, slots=True)
class Split:
    """The parts of a page, each link with the part that it lies in, and the text of a list outside of its entries.

    ``is_empty_list`` is True for a page of an intermediate level whose actions chose only links in menus and footers.
    """

    parts: tuple[DocumentPart, ...] = ()
    outlinks: tuple[Outlink, ...] = ()
    rest: str = ""
    is_empty_list: bool = False


@dataclass
class Splitting:
    """Splits one page of a level.

    Each object with a body is a content part. The entries of a page of an intermediate level are one navigation part:
    the text around the links that actions chose, except those in sidebars and among boilerplate; the other text of the
    page is the rest. Each sidebar is a part.
    """

    links: Links
    application: Application
    place: Place
    contexts: Contexts

    def split(self, extracted: Sequence[Extracted], chosen: Sequence[ChosenLink]) -> Split:
        """Split a page by the results of its actions."""
        parts, outlinks = self._content(extracted)
        zones = self._zones(extracted)
        beside = sidebars(self._beside(chosen, outlinks), zones, signed=True)
        entries, is_empty = self._entries(chosen, zones, beside)
        found = self._listed(entries, zones) if self._is_list and self.links.page.is_html else ListText()
        outlined = [(link, outlink_of(link, None, self.contexts, found.contexts)) for link in chosen]
        entered = {link.element for link in entries}
        listed = found.text or _contexts(outlink for link, outlink in outlined if link.element in entered)
        blocks = [(DocumentPart("navigation", listed), entered)] if listed else []
        blocks += [
            (DocumentPart("sidebar", sidebar.text), set(sidebar.links))
            for sidebar in beside
            if entered.isdisjoint(sidebar.links)
        ]
        part_of = {link: number for number, (_, links) in enumerate(blocks, len(parts)) for link in links}
        for link, outlink in outlined:
            known = outlinks.get(link.url)
            part = known.part if known is not None else part_of.get(link.element)
            leads_to = self._roles.get(link.action or "")
            outlinks[link.url] = replace(known or outlink, part=part, action=link.action, leads_to=leads_to)
        for link in self._others(outlinks.values()):
            if link.url not in outlinks:
                outlinks[link.url] = outlink_of(link, part_of.get(link.element), self.contexts, found.contexts)
        return Split((*parts, *(part for part, _ in blocks)), tuple(outlinks.values()), found.rest, is_empty)

    def _others(self, known: Iterable[Outlink]) -> Iterable[ChosenLink]:
        """Return links that no action chose, but without which a part of the site may be out of reach.

        A crawl may begin at any post, and a theme may link to the front page in a way that actions do not expect.
        """
        if not self._is_list and all(link.leads_to != "intermediate" for link in known):
            yield from starting_points(self.links, self.application)
        yield from unsaid(self.links, self.application)

    def _listed(self, chosen: Iterable[ChosenLink], zones: Zones) -> ListText:
        """Read the entries of a list; those of the action that chose the most links come first."""
        by_action: dict[str | None, list[Element]] = {}
        for link in chosen:
            if link.element is not None:
                by_action.setdefault(link.action, []).append(link.element)
        return read_list(self.links.page.tree, sorted(by_action.values(), key=len, reverse=True), zones)

    def _content(self, extracted: Iterable[Extracted]) -> tuple[Sequence[DocumentPart], dict[str, Outlink]]:
        """Return a part for each object that has a body, and the links in these parts."""
        parts: list[DocumentPart] = []
        outlinks: dict[str, Outlink] = {}
        for item in extracted:
            written = body_of(item.object)
            if not written:
                continue
            for body in item.body:
                for link in content_links(self.links, self.application, body):
                    outlinks.setdefault(link.url, outlink_of(link, len(parts), self.contexts))
            parts.append(DocumentPart("content", written, author_of(item.object)))
        return parts, outlinks

    @cached_property
    def _is_list(self) -> bool:
        return self.place.level.role == "intermediate"

    @cached_property
    def _roles(self) -> Mapping[str, LevelRole]:
        actions = (action for action in self.place.actions if isinstance(action, Navigate))
        return {action.name: self.application.level(action.to).role for action in actions}

    def _zones(self, extracted: Iterable[Extracted]) -> Zones:
        bodies: list[Element] = [body for item in extracted for body in item.body]
        return Zones(self.links.page.tree, bodies, lists=self._is_list)

    def _beside(self, chosen: Sequence[ChosenLink], content: Mapping[str, Outlink]) -> Iterable[Element]:
        """Return the links that may lie in sidebars: all that are neither junk nor in the content."""
        if not self.links.page.is_html:
            return ()
        apart = {refused.url for refused in self.links.refused}.union(content)
        elements: dict[Element, None] = dict.fromkeys(each for url, each in self.links.anchors if url not in apart)
        elements.update(dict.fromkeys(link.element for link in chosen if link.element is not None))
        return elements

    def _entries(
        self, chosen: Sequence[ChosenLink], zones: Zones, beside: Sequence[Sidebar]
    ) -> tuple[Sequence[ChosenLink], bool]:
        """Return the links that are entries of a list, and whether the list has none.

        If all lie in sidebars, the list is one of these.
        """
        if not self._is_list:
            return (), False
        aside = {link for sidebar in beside for link in sidebar.links}
        paging = {action.name for action in self.place.actions if isinstance(action, Navigate) and action.pages}
        entries = [link for link in chosen if link.action not in paging]
        shown = [each for each in entries if each.element is None or zones.of(each.element) not in _BOILERPLATE]
        listed = [each for each in shown if each.element not in aside]
        main = declared_main(self.links.page.tree)
        within = Subtrees(() if main is None else (main,))
        inner = [each for each in listed if each.element is not None and within.covers(each.element)]
        return inner or listed or entries, not shown


def _contexts(outlinks: Iterable[Outlink]) -> str:
    return "\n".join(dict.fromkeys(filter(None, (outlink.context or outlink.anchor for outlink in outlinks))))


def body_of(item: WebObject) -> str:
    """Return the text of an object, empty if it has none."""
    body = item.first("body")
    return body if isinstance(body, str) else ""


def author_of(item: WebObject) -> str:
    """Return the name of an object's author, empty if not known."""
    author = item.first("author")
    return author.name if isinstance(author, Person) else author if isinstance(author, str) else ""


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
    """The parts of a page, and the part in which the element of each link lies, if any.

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

    Each post or comment is a content part, and so is an article. On a page without posts and article, the entries of
    lists, found by induction or around links, are one navigation part; the other content of the page is the rest, or a
    content part if it is longer. If entries are few, the main content is the content part, or all of the page's text if
    that is much longer. Each sidebar is a part.
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
    """Read the entries that induction found, and entries around further links."""
    at = {link.url: link.element for link in links}
    given = {at.get(each.target or "", each.element): each.elements for each in teasers}
    return read_list(page.tree, [[link.element for link in sorting.listed]], sorting.zones, given)


def _add_list(found: GenericSplit, listed: ListText, sorting: "_Sorting", main: str, taken: Sequence[str]) -> None:
    """Add the entries of a list and the rest of the page; if entries are few, add the main content instead."""
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
    """Return whether a page has posts or an article, and not only comments on something that was not found."""
    return any(item.type in _WHOLES for item in written)


def _add_content(found: GenericSplit, written: Sequence[WebObject], sorting: "_Sorting", main: str) -> None:
    """Add main content that no post has: to an article that is truncated, as a part of its own, or as the rest."""
    if [item.type for item in written] == ["article"] and _is_cut(found.parts[0].text, main):
        found.parts[0] = replace(found.parts[0], text=main)
        found.part_of.update(dict.fromkeys(sorting.quoted, 0))
        return
    found.rest = _without(main, (part.text for part in found.parts))[:MAX_REST]
    if not sorting.owned:
        found.part_of.update(dict.fromkeys(sorting.quoted, 0))


class _Sorting:
    """The links of a page, grouped by their surroundings.

    ``owned`` links lie in posts, ``entered`` links lie in entries of lists or are entries themselves, and these are
    ``listed``. ``quoted`` links lie in lines of the main content, and ``beside`` are all others.
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
    """Return whether a link with the text around it is as long as a title; one Chinese character counts as three."""
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
    """Yield the texts of menus, footers and the like, except those longer than half of the main content."""
    taken: set[Element] = set()
    for element in zones.boilerplate[:_MAX_BOILERPLATE]:
        if not taken.isdisjoint(element.iterancestors()):
            continue
        taken.add(element)
        text = plain_text(element)
        if len(text) <= max(most / 2, _MIN_BOILERPLATE):
            yield text


def _is_cut(body: str, main: str) -> bool:
    """Return whether the main content has much running text that the body of an article lacks."""
    missing = sum(len(line) for line in _without(main, (body,)).split("\n") if len(line) >= _RUNNING)
    return missing > _MUCH * len(body)


def _beside(blocks: Iterable[Sidebar], links: Mapping[Element, PageLink]) -> Iterable[str]:
    """Yield the lines that sidebars may have: runs of text, links, and list items that contain links."""
    for block in blocks:
        yield block.text
        for link in block.links:
            yield from (links[link].anchor, links[link].context)


def _without(text: str, *taken: Iterable[str]) -> str:
    """Return a text without the lines of other texts."""
    lines = {line for texts in taken for each in texts for line in each.split("\n")}
    return "\n".join(line for line in text.split("\n") if line not in lines) if lines else text


_MIN_KEPT = 0.5
"""The share of the visible text, without boilerplate and sidebars, that the document of most pages has."""
_MAX_LINES = 2_000
"""The most lines of a page that are compared with its document."""
_all_text = etree.XPath("string()", smart_strings=False)


def lost_text(page: Element, zones: Zones, texts: Iterable[str]) -> str:
    """Return the visible text that is in none of a document's texts; "" if they have half of it or more.

    A page with an introduction and a long list is read as a short article, although the list is its content. Menus,
    footers, advertising and sidebars do not count. At most ``MAX_REST`` characters of 2,000 lines are returned.
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

"""Split pages of known applications into parts and entries, and assign each link to a part."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.helper.detection import Place
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.helper.links.navigation import ChosenLink, Links, content_links, starting_points, unsaid
from aahcrawler.helper.links.page_links import Contexts, outlink_of
from aahcrawler.page.text import Entry, entries, lines_of, paragraphs, plain_text
from aahcrawler.page.zones import Sidebar, Subtrees, Zone, Zones, sidebars
from aahcrawler.webobject import Person, WebObject
from knowledge_base.model import Application, Navigate
from online_analysis.document import DocumentPart, LevelRole, Outlink

MAX_REST = 20_000
"""The most characters of a page outside of its entries that are kept."""

MAX_TEXT = 1_000_000
"""Characters that are kept of all entries of a page."""

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
    """Read the text around links of a page; sidebars, boilerplate and controls of forms are left out.

    Of several groups of links, the later ones make entries only outside of those before. ``given`` are entries that are
    known already. If all links lie in the declared main part of the page, only that part is read.
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
    """Return the elements within entries: the header, footer or tags within an entry are those of a post."""
    within = Subtrees(element for entry in found.values() for element in entry)
    return frozenset(filter(within.covers, elements))


def _title(region: Element) -> Sequence[Element]:
    """Return the heading of a list, which leads nowhere; headings of its entries are several, or do."""
    headings = list(islice(region.iter("h1"), 2))
    return headings if len(headings) == 1 and headings[0].find(".//a") is None else ()


def declared_main(page: Element) -> Element | None:
    """Return the declared main part of a page, None if it declares none or several."""
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
    """The parts of a page, its links with the parts that they lie in, and the text of a list outside of its entries.

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
        """Return links that no action chose, without which a part of the site may be out of reach.

        A crawl may begin at any post, and a theme may link to the front page otherwise than actions expect.
        """
        if not self._is_list and all(link.leads_to != "intermediate" for link in known):
            yield from starting_points(self.links, self.application)
        yield from unsaid(self.links, self.application)

    def _listed(self, chosen: Iterable[ChosenLink], zones: Zones) -> ListText:
        """Read the entries of a list, those of the action that chose most of them first."""
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

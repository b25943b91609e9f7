"""Read the repeated structure of a page: authors, records, and the extent of an article."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from lxml.etree import XPathError
from lxml.etree import _Element as Element

from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.extraction.extraction import BODY
from aahcrawler.helper.site_memory import site_of
from aahcrawler.induction.headings import page_heading
from aahcrawler.induction.main_part import MainPart, main_part
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_finding import records
from aahcrawler.induction.record_sets import Byline, Nature, RecordSet, Region
from aahcrawler.page import Page
from aahcrawler.urls import resolve
from aahcrawler.wrapper_induction.element_features import is_beside, is_name
from knowledge_base.model import Application, Extract
from knowledge_base.url_rules import ParsedUrl, Reason

MIN_LISTED = 3
"""Entries that make a list of other pages: fewer stand below articles as well."""

GOES_ON = 80
"""The weight of running text that makes a neighbour of the body a part of it."""

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_ASIDE = frozenset({"nav", "aside", "footer", "header"})
_NO_TEXT = _ASIDE | {"form", "button", "input", "select", "script", "style", "h1"}
_HOLDERS = frozenset({"div", "section", "article"})


class Structures:
    """Prepares each page once for all repair strategies that ask about it; keeps the last one."""

    def __init__(self) -> None:
        self._last: tuple[Page, Application, Structure] | None = None

    def of(self, page: Page, application: Application) -> "Structure":
        """Return the structure of an HTML page of an application."""
        if self._last is None or self._last[0] is not page or self._last[1] is not application:
            self._last = page, application, Structure(page, application)
        return self._last[2]


class Structure:
    """The records and the article of one page, which is of an application."""

    def __init__(self, page: Page, application: Application) -> None:
        self.prepared = page.once(PreparedPage.of)
        self._page = page
        self._application = application

    @cached_property
    def sets(self) -> Sequence[RecordSet]:
        """The sets of records of the page.

        Entries that lead to other views of themselves alone are posts: the rules of an application for URLs say so, and
        no redesign changes them.
        """
        return tuple(
            replace(each, nature=Nature.POSTS)
            if each.nature is Nature.TEASERS and self._show_themselves(each)
            else each
            for each in self._page.once(records)
        )

    def _show_themselves(self, listed: RecordSet) -> bool:
        targets = [record.target for record in listed.records if record.target is not None]
        return 2 * len(targets) > len(listed.records) and all(map(self._is_other_view, targets))

    def _is_other_view(self, url: str) -> bool:
        rule = self._application.refusal(self._application.canonical(ParsedUrl.parse(url.partition("#")[0])))
        return rule is not None and rule.reason is Reason.DUPLICATE

    @cached_property
    def is_list(self) -> bool:
        """Whether the page is a list of other pages: it has no text but in their entries, or below their titles."""
        if self.part is None:
            return bool(self._listed)
        running = self.prepared.outline.running
        listed = sum(running(place) for place in self._main if self._is_listed(place))
        return self._is_titled_list or 2 * listed > sum(map(running, self._main))

    @cached_property
    def _main(self) -> tuple[int, ...]:
        """The places of the page's main text."""
        places = self.prepared.outline.places
        return tuple(places[element] for element in self.part.body.elements) if self.part is not None else ()

    @cached_property
    def _is_titled_list(self) -> bool:
        """Whether headings within the page's main text lead to other pages of its application."""
        targets = (
            self._target(place) for main in self._main for place in range(main, self.prepared.outline.ends[main])
        )
        return len(set(filter(None, targets))) >= MIN_LISTED

    def _target(self, place: int) -> str:
        """Return the address of another page that a heading leads to, empty where it leads to none."""
        outline, page, application = self.prepared.outline, self._page, self._application
        if outline.tags[place] not in HEADINGS:
            return ""
        link = next(outline.elements[place].iter("a"), None)
        url = resolve(page.base_url, link.get("href") or "") if link is not None else None
        if url is None or site_of(url) != site_of(page.url):
            return ""
        address = application.canonical(ParsedUrl.parse(url.partition("#")[0]))
        is_page = application.refusal(address) is None and application.level_of(address) is not None
        return address.url if is_page and address.url != application.canonical(ParsedUrl.parse(page.url)).url else ""

    def _is_listed(self, place: int) -> bool:
        outline = self.prepared.outline
        if any(self._is_entry(each) for each in (place, *outline.ancestors(place))):
            return True
        held = [entry for entry in self._listed if outline.contains(place, entry)]
        return len(held) >= MIN_LISTED and 2 * sum(map(outline.running, held)) > outline.running(place)

    def _is_entry(self, place: int) -> bool:
        """Return whether an element is an entry of a list, or stands among entries and looks like them."""
        outline = self.prepared.outline
        entries = self._looks.get(outline.parents[place], {})
        tokens = entries.get(outline.tags[place])
        return tokens is not None and (not tokens or not tokens.isdisjoint(outline.tokens[place]))

    @cached_property
    def _looks(self) -> Mapping[int, Mapping[str, frozenset[str]]]:
        """The tags of entries by the places of what they stand in, and the names that all of a tag have in common."""
        outline = self.prepared.outline
        looks: dict[int, dict[str, frozenset[str]]] = {}
        for entry in self._listed:
            tokens, known = frozenset(outline.tokens[entry]), looks.setdefault(outline.parents[entry], {})
            known[outline.tags[entry]] = tokens & known.get(outline.tags[entry], tokens)
        return looks

    @cached_property
    def _listed(self) -> tuple[int, ...]:
        """The places of the entries of lists of other pages, sidebars aside."""
        lists = (each for each in self.sets if each.nature is Nature.TEASERS and not each.aside)
        return self._places([each for each in lists if len(each.records) >= MIN_LISTED])

    @cached_property
    def part(self) -> MainPart | None:
        """The article of the page."""
        return main_part(self.prepared.outline, self.prepared.shown, self.sets, self.prepared.names)

    @cached_property
    def bylines(self) -> Mapping[int, Byline]:
        """The authors of all records, by their places."""
        found = (record.author for each in self.sets for record in each.records)
        return {self.prepared.outline.places[author.element]: author for author in found if author is not None}

    @cached_property
    def records(self) -> tuple[int, ...]:
        """The places of all records, in document order."""
        return self._places(self.sets)

    @cached_property
    def posts(self) -> tuple[int, ...]:
        """The places of those records that people wrote, and that are shown in full."""
        return self._places([each for each in self.sets if each.nature is Nature.POSTS])

    def _places(self, sets: Sequence[RecordSet]) -> tuple[int, ...]:
        places = self.prepared.outline.places
        roots = (root for each in sets for record in each.records for root in record.elements)
        return tuple(sorted(places[root] for root in roots if root in places))

    def holds_several(self, items: Sequence[int]) -> bool:
        """Return whether elements contain several of the page's repeated posts, none of which is an element itself."""
        contains = self.prepared.outline.contains
        inner = [post for post in self.posts if post not in items]
        held = (sum(contains(item, post) for post in inner) for item in items)
        return any(number > 1 for number in held) and len(inner) > len(items)

    def holds_article(self, items: Sequence[int]) -> bool:
        """Return whether one of some elements holds the article of the page with its heading."""
        part = self.part
        if part is None or part.heading is None or not part.body.elements:
            return False
        outline = self.prepared.outline
        body, heading = outline.places[part.body.elements[0]], part.heading
        return any(outline.contains(item, body) and outline.contains(item, heading) for item in items)

    def heading(self, body: int) -> int | None:
        """Return the place of the heading of the page's main text, which begins at ``body``."""
        found = page_heading(self.prepared.outline, self.prepared.names, body, self.records)
        return found[1] if found is not None else None

    def extended(self, region: Region, beside: frozenset[Element]) -> Region:
        """Return the body with the adjacent content before and behind it that is running text of the same sort."""
        outline = self.prepared.outline
        if len(region.elements) != 1:
            return region
        body = region.elements[0]
        taken = beside | {outline.elements[place] for place in self.records}

        def goes_on(element: Element) -> bool:
            place = outline.places.get(element)
            alike = element.tag == body.tag or (element.tag in _HOLDERS and body.tag in _HOLDERS)
            if place is None or not alike or is_beside(element):
                return False
            running = outline.running(place)
            return running >= GOES_ON and running > 2 * outline.linked(place) and taken.isdisjoint(element.iter())

        before = list(takewhile(goes_on, body.itersiblings("*", preceding=True)))[::-1]
        behind = list(takewhile(goes_on, body.itersiblings("*")))
        return Region((*before, body, *behind), region.without) if before or behind else region


def is_beside_article(question: Question) -> bool:
    """Return whether the level's pages are about one object, and the action's objects belong to it."""
    others = (action for action in question.level.actions if isinstance(action, Extract))
    return any(not action.many and action.name != question.action.name for action in others)


def left_out(action: Extract, page: Page) -> frozenset[Element]:
    """Return the elements that an action leaves out of bodies, anywhere on a page."""
    selectors = [each for wanted in action.fields if wanted.name == BODY for each in wanted.without]
    found: set[Element] = set()
    for selector in selectors:
        try:
            found.update(selector.elements(page.tree, page.elements))
        except XPathError:
            continue
    return frozenset(found)


def less(region: Region, out: frozenset[Element]) -> Region:
    """Return a body without those elements, unless that leaves little of it: names may mean something else by now."""
    if region.text is not None or not out:
        return region
    inner = [each for element in region.elements for each in element.iter() if each in out and each is not element]
    rest = Region(region.elements, (*region.without, *inner))
    return rest if inner and 2 * len(rest.plain()) > len(region.plain()) else region


def whole(region: Region, beside: frozenset[Element]) -> Region:
    """Return the element that contains all parts of a body as the body, without the named parts beside them.

    Which of the blocks of one text belong to it is a guess that differs from page to page; their container is not. A
    part that contains one of ``beside``, or has a name of its own, is left out. If all parts have names, they are not
    such blocks: the template gives the text several containers, on some pages one.
    """
    holder = region.elements[0].getparent()
    if len(region.elements) < 2 or region.text is not None or holder is None or holder.tag in ("body", "html"):
        return region
    own = frozenset(region.elements)
    if any(element.getparent() is not holder for element in region.elements):
        return region
    if all(element.tag in _HOLDERS and _is_named(element) for element in region.elements):
        return region
    others = [child for child in holder if isinstance(child.tag, str) and child not in own]
    out = [child for child in others if _is_named(child) or not beside.isdisjoint(child.iter())]
    return Region((holder,), (*region.without, *out))


def _is_named(element: Element) -> bool:
    named = any(map(is_name, (element.get("class") or "").split())) or is_name(element.get("id") or "")
    return named or element.tag in _NO_TEXT

"""What becomes of each link of a page: which rule follows it, and where to; or why it is not followed."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from lxml import etree
from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.rules.page_sample import page_links
from aahcrawler.editor.text.entry_text import EntryText
from aahcrawler.editor.text.places import parent_of
from aahcrawler.helper import Assistance
from aahcrawler.helper.links.junk_urls import junk_reason
from aahcrawler.helper.links.navigation import Ignored
from aahcrawler.helper.site_memory import site_of
from aahcrawler.page import Page
from knowledge_base.model import Application, Navigate, PageLevel
from knowledge_base.parsing.attributes import has_expression
from knowledge_base.selectors import BadExpressionError, Selector, compile_selector
from knowledge_base.url_rules import ParsedUrl

_NOT_SHOWN = frozenset({"cite", "literal", "strength"})


@dataclass(frozen=True, slots=True)
class Part:
    """An element of an entry. ``number`` is its position, from 0, among the elements of its tag in the same parent."""

    place: str
    parent: str
    tag: str
    number: int
    element: etree._Element

    def text(self, attribute: str) -> str:
        """Return an attribute without surrounding blanks; empty if it is missing."""
        return (self.element.get(attribute) or "").strip()

    @property
    def words(self) -> str:
        """The expression or text that the part looks for, as written."""
        given = ((str(name), str(value)) for name, value in self.element.attrib.items())
        return " ".join(f'{name}="{value}"' for name, value in given if name not in _NOT_SHOWN)

    @property
    def selector(self) -> Selector | None:
        """The compiled expression, None where there is none or it cannot be compiled."""
        if not has_expression(self.element):
            return None
        try:
            return compile_selector(xpath=self.text("xpath"), css=self.text("css"), attribute=self.text("attribute"))
        except BadExpressionError:
            return None


class EntryParts:
    """All parts of an entry, in document order."""

    def __init__(self, text: EntryText) -> None:
        self.all = tuple(_parts(text))
        self._by_place = {part.place: part for part in self.all}
        self._children: dict[str, list[Part]] = {}
        for part in self.all:
            if part.place:
                self._children.setdefault(part.parent, []).append(part)

    def at(self, place: str) -> Part | None:
        """Return the part at a place."""
        return self._by_place.get(place)

    def children(self, part: Part, *tags: str) -> tuple[Part, ...]:
        """Return the parts within a part that have one of some tags."""
        return tuple(each for each in self._children.get(part.place, ()) if each.tag in tags)

    def around(self, part: Part, *tags: str) -> Part | None:
        """Return the nearest part around a part that has one of some tags; None if there is none."""
        place = part.place
        while place:
            place = parent_of(place)
            found = self._by_place.get(place)
            if found is not None and found.tag in tags:
                return found
        return None


def _parts(text: EntryText) -> Iterator[Part]:
    counted: Counter[tuple[str, str]] = Counter()
    for place in text.places():
        element = text.element(place)
        if element is None:
            continue
        parent, tag = parent_of(place), str(element.tag)
        yield Part(place, parent, tag, counted[parent, tag], element)
        counted[parent, tag] += 1


ACTIONS = ("navigate", "pages", "use")


class Fate(StrEnum):
    """The ways in which a link may end."""

    LEADS = "leads to a level"
    FOLLOWED = "followed"
    AVOIDED = "avoided"
    LEFT = "not followed"
    NO_PAGE = "no link to a page"


@dataclass(frozen=True, slots=True)
class LinkFate:
    """A link of a page. ``url`` is canonical, empty for a link that leads to no page.

    ``level`` is the level that it leads to, or that documents its URL. ``place`` is the part of the entry that decided,
    empty if none did. ``said`` is the result in words.
    """

    element: HtmlElement
    url: str
    fate: Fate
    level: str = ""
    place: str = ""
    said: str = ""


@dataclass
class LinkFates:
    """The links of a page that was read. Without ``application``, the page is of none, or of another application."""

    page: Page
    assistance: Assistance
    parts: EntryParts
    application: Application | None

    def all(self) -> Iterator[LinkFate]:
        """Yield the links in document order, at most 3,000."""
        return (self._of(element, url) for element, url in page_links(self.page))

    def _of(self, element: HtmlElement, url: str) -> LinkFate:
        if not url:
            return LinkFate(element, "", Fate.NO_PAGE, said="it leads to no page")
        if self.application is None:
            return self._unknown(element, url)
        canonical = self.application.canonical(ParsedUrl.parse(url)) if self._is_here(url) else ParsedUrl.parse(url)
        return self._known(element, canonical, self.application)

    def _known(self, element: HtmlElement, address: ParsedUrl, application: Application) -> LinkFate:
        url = address.url
        if url in self._followed:
            return self._leads(element, url, application)
        if not self._is_here(url):
            return LinkFate(element, url, Fate.LEFT, said="it leads to another site, and not from within a text")
        rule = application.refusal(address)
        if rule is not None:
            number = next((at for at, each in enumerate(application.avoid.rules) if each is rule), -1)
            place = self._avoid_places.get(number, "")
            by = "" if place else ", by a rule that all applications of its kind share"
            return LinkFate(element, url, Fate.AVOIDED, place=place, said=f"avoided because {rule.reason}{by}")
        if self._ignored is not None and self._ignored.covers(element):
            return LinkFate(element, url, Fate.LEFT, place=self._ignore_place, said="it lies in what is ignored")
        level = application.level_of(address)
        known = f", although its address is one of level {level.name}" if level is not None else ""
        if url == application.canonical(ParsedUrl.parse(self.page.url)).url:
            known = ": it is the page itself"
        else:
            known = f": no action chooses it{known}"
        return LinkFate(element, url, Fate.LEFT, level.name if level is not None else "", said=f"not followed{known}")

    def _leads(self, element: HtmlElement, url: str, application: Application) -> LinkFate:
        action = self._followed[url]
        if action is None:
            level = application.level_of(ParsedUrl.parse(url)) if self._is_here(url) else None
            name = level.name if level is not None else ""
            return LinkFate(element, url, Fate.FOLLOWED, name, said=f"followed: {self._reason}")
        found = self._actions.get(action)
        to = found.to if found is not None else ""
        said = f"leads to {to or 'a further page'}, by {action}"
        return LinkFate(element, url, Fate.LEADS, to, self._action_places.get(action, ""), said)

    @property
    def _reason(self) -> str:
        """The reason for which links are followed that no action chose."""
        if self._level is None:
            return "the entry names no level for the page, which is read as pages are of which nothing is known"
        return "it stands in a text" if self.assistance.objects else "it begins a part of the site"

    def _unknown(self, element: HtmlElement, url: str) -> LinkFate:
        if url in self._refused:
            return LinkFate(element, url, Fate.AVOIDED, said=f"avoided because {self._refused[url]}")
        reason = junk_reason(url)
        if reason is not None:
            return LinkFate(element, url, Fate.AVOIDED, said=f"avoided because {reason}")
        if url in self._followed:
            return LinkFate(
                element, url, Fate.FOLLOWED, said="followed, as all links of pages that nothing is known of"
            )
        return LinkFate(element, url, Fate.LEFT, said="not followed")

    def _is_here(self, url: str) -> bool:
        return site_of(url) == site_of(self.page.url)

    @cached_property
    def _followed(self) -> Mapping[str, str | None]:
        return {link.url: link.action for link in self.assistance.document.outlinks}

    @cached_property
    def _refused(self) -> Mapping[str, str]:
        return {each.url: str(each.reason) for each in self.assistance.refused}

    @property
    def _level(self) -> PageLevel | None:
        return self.assistance.match.level if self.assistance.match is not None else None

    @cached_property
    def _actions(self) -> Mapping[str, Navigate]:
        if self._level is None:
            return {}
        variant = self.assistance.match.variant if self.assistance.match is not None else ""
        own = next((each.actions for each in self._level.variants if each.name == variant), self._level.actions)
        return {action.name: action for action in own if isinstance(action, Navigate)}

    @cached_property
    def _action_places(self) -> Mapping[str, str]:
        """The places of the navigation actions of the page's level, those of its variant first."""
        name = self._level.name if self._level is not None else ""
        found: dict[str, str] = {}
        for part in self.parts.all:
            if part.tag not in ACTIONS or self._named(part, "level") != name:
                continue
            variant = self._named(part, "variant")
            if variant in ("", self.assistance.match.variant if self.assistance.match is not None else ""):
                found[part.text("name") or part.text("action")] = part.place
        return found

    def _named(self, part: Part, tag: str) -> str:
        around = self.parts.around(part, tag)
        return around.text("name") if around is not None else ""

    @cached_property
    def _avoid_places(self) -> Mapping[int, str]:
        """The places of the entry's own avoid rules, by their numbers among all rules of the application."""
        rules = (part for part in self.parts.all if part.tag == "url" and part.parent.startswith("avoid"))
        return {number: part.place for number, part in enumerate(rules)}

    @cached_property
    def _ignore_place(self) -> str:
        return next((part.place for part in self.parts.all if part.tag == "ignore"), "")

    @cached_property
    def _ignored(self) -> Ignored | None:
        if self.application is None or not self.application.ignored:
            return None
        tree, elements = self.page.tree, self.page.elements
        try:
            return Ignored(tree, (part for each in self.application.ignored for part in each.elements(tree, elements)))
        except XPathError:
            return None

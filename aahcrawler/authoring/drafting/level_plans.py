"""Decides which levels a draft has: those of the pages given, and those that the links of these pages lead to."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from lxml.html import HtmlElement

from aahcrawler.authoring.drafting.url_generalisation import paging_of, shape_of
from aahcrawler.authoring.drafting.url_shape import Shape
from aahcrawler.page import Page, generic
from aahcrawler.page.generic import PageLink
from aahcrawler.urls import canonicalize, origin
from knowledge_base.url_rules import Paging, ParsedUrl, Reason

_CRUMBS = re.compile(r"breadcrumb|crumbs|navlinks|\bpath\b|trail", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Terms:
    """The names of the levels and objects of a kind of application.

    If ``thing`` is empty, the pages contain only repeated objects, as in a forum; else each page is about one thing,
    and the repeated objects are answers to it.
    """

    terminal: str
    listing: str
    repeated: str
    first: str = ""
    thing: str = ""
    front: str = "front"

    @property
    def useful(self) -> frozenset[Reason]:
        """The sorts of URLs that may be articles or lists of them, whatever their words."""
        words = frozenset({Reason.HELP, Reason.PROFILE, Reason.MEMBER_LIST, Reason.CALENDAR, Reason.STATISTICS})
        return words if self.thing else frozenset()


TERMS = {
    "web-forum": Terms("thread", "forum", "reply", first="post", front="board"),
    "q-and-a": Terms("question", "list", "answer", first="question"),
    "social-network": Terms("conversation", "timeline", "reply", first="post"),
    "blog": Terms("article", "archive", "comment", thing="post"),
    "news": Terms("article", "section", "comment", thing="article"),
    "wiki": Terms("article", "category", "comment", thing="article"),
    "photo": Terms("photo", "album", "comment", thing="photo"),
    "video": Terms("video", "channel", "comment", thing="video"),
    "music": Terms("track", "album", "comment", thing="track"),
}
"""By the kind's name."""


@dataclass(frozen=True)
class LevelPlan:
    """A level to write. ``pages`` are the given pages that show it; none if only its URL is known."""

    name: str
    terminal: bool
    shape: Shape
    pages: tuple[Page, ...] = ()
    paging: tuple[Paging, ...] = ()
    start: bool = False
    links: tuple[PageLink, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Given:
    """The pages a person gave: of content, and of lists."""

    contents: tuple[Page, ...]
    lists: tuple[Page, ...] = ()

    @property
    def pages(self) -> tuple[Page, ...]:
        """All of them."""
        return (*self.contents, *self.lists)


def plan_levels(given: Given, terms: Terms) -> tuple[LevelPlan, ...]:
    """Return the levels in the order in which a file has them: front page, lists, content."""
    links = own_links(given.pages)
    contents = _grouped(given.contents, terms.terminal, links, terminal=True)
    lists = [
        replace(level, name=terms.front, start=True) if _is_root(ParsedUrl.parse(level.pages[0].url)) else level
        for level in _grouped(given.lists, terms.listing, links, terminal=False)
    ]
    known = [level.shape for level in (*lists, *contents)]
    guessed = () if lists else tuple(_listing(given.contents[0], terms, known, links))
    front = tuple(_front(given, terms, (*lists, *guessed, *contents)))
    return (*front, *lists, *guessed, *contents)


def own_links(pages: Iterable[Page]) -> tuple[PageLink, ...]:
    """Return the links of pages to their own hosts, each URL once."""
    found: dict[str, PageLink] = {}
    for page in pages:
        here = origin(canonicalize(page.url) or page.url)
        for link in generic.links(page):
            if origin(link.url) == here:
                found.setdefault(link.url, link)
    return tuple(found.values())


def crumbs(page: Page) -> tuple[PageLink, ...]:
    """Return the links of a page's breadcrumb line."""
    here = origin(canonicalize(page.url) or page.url)
    return tuple(link for link in generic.links(page) if origin(link.url) == here and _is_crumb(link))


def elements(links: Iterable[PageLink]) -> list[HtmlElement]:
    """Return the elements of links, all of one page."""
    return [cast("HtmlElement", link.element) for link in links]


def _grouped(pages: Sequence[Page], name: str, links: Sequence[PageLink], *, terminal: bool) -> Iterable[LevelPlan]:
    """Make one level of the pages whose URLs are alike: of one shape, or fitted by that of an earlier page."""
    addresses = [ParsedUrl.parse(link.url) for link in links]
    groups: dict[Shape, tuple[list[Page], tuple[Paging, ...], tuple[PageLink, ...]]] = {}
    for page in pages:
        here = ParsedUrl.parse(page.url)
        own = own_links((page,))
        paging = paging_of(here, own)
        fitting = (known for known in groups if known.rule.matches(here))
        shape = next(fitting, None) or shape_of(here, addresses, paging)
        known = groups.setdefault(shape, ([], paging, own))
        known[0].append(page)
    names = (name if number == 1 else f"{name}-{number}" for number in range(1, len(groups) + 1))
    return [
        LevelPlan(called, terminal, shape, tuple(alike), paging, links=own)
        for called, (shape, (alike, paging, own)) in zip(names, groups.items(), strict=True)
    ]


def _listing(page: Page, terms: Terms, known: Sequence[Shape], links: Sequence[PageLink]) -> Iterator[LevelPlan]:
    """Guess the list a page belongs to from the line above it that says where it stands."""
    addresses = [ParsedUrl.parse(link.url) for link in links]
    for link in reversed(crumbs(page)):
        address = ParsedUrl.parse(link.url)
        if _is_root(address) or any(shape.rule.matches(address) for shape in known):
            continue
        yield LevelPlan(terms.listing, False, shape_of(address, addresses))
        return


def _front(given: Given, terms: Terms, known: Sequence[LevelPlan]) -> Iterator[LevelPlan]:
    """Guess that the front page of the site leads to the rest, unless it was given."""
    root = ParsedUrl.parse(origin(given.contents[0].url) + "/")
    if not any(level.shape.rule.matches(root) for level in known):
        yield LevelPlan(terms.front, False, Shape("/"), start=True)


def _is_root(address: ParsedUrl) -> bool:
    return address.path in ("", "/") and not address.query


def _is_crumb(link: PageLink) -> bool:
    nearest = [link.element, *link.element.iterancestors()][:5]
    return any(
        _CRUMBS.search(" ".join(element.get(name) or "" for name in ("class", "id", "aria-label", "itemtype")))
        for element in nearest
    )

"""Decides which levels a draft has: those of the pages given, and those that the links of these pages lead to."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import cast

from lxml.html import HtmlElement

from aahcrawler.editor.drafting.address_groups import INDEX, AddressGroup, Shape, address_groups, literal
from aahcrawler.editor.drafting.url_generalisation import beyond_paging, paging_of, reason_of, shape_of
from aahcrawler.page import Page, generic
from aahcrawler.page.generic import PageLink
from aahcrawler.page.zones import Zone, Zones
from aahcrawler.urls import canonicalize, origin
from knowledge_base.url_rules import Paging, ParsedUrl, Reason, first_page

MAX_LISTS = 6
MAX_ABSENT = 12
"""Levels that are guessed from links."""

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
        if self.has_timelines:
            return frozenset({Reason.PROFILE})
        words = frozenset({Reason.HELP, Reason.PROFILE, Reason.MEMBER_LIST, Reason.CALENDAR, Reason.STATISTICS})
        return words if self.thing else frozenset()

    @property
    def has_timelines(self) -> bool:
        """Whether posts are listed on the pages of their authors alone, as timelines."""
        return self.listing == "timeline"

    @property
    def lists(self) -> Mapping[str, str]:
        """The words in URLs that lead to lists of such an application, each with the name of its level."""
        if self.has_timelines:
            return {**_LISTS_OF_FORUMS, **_TIMELINES}
        return _LISTS_OF_THINGS if self.thing else _LISTS_OF_FORUMS


def _named(**lists: str) -> Mapping[str, str]:
    return {word: name for name, words in lists.items() for word in words.split()}


_LISTS_OF_FORUMS = _named(
    forum="forum forums board boards subforum subforums viewforum forumdisplay showforum f fid forum_id board_id",
    category="category categories cat section sections c cid group groups",
    tag="tag tags tagged label labels topic-tag",
    latest="recent latest new-topics index list archive archives",
)
_LISTS_OF_THINGS = _named(
    archive="archive archives page index list recent latest blog blogs all",
    category="category categories cat section sections rubric topic topics set sets cat_id",
    tag="tag tags tagged label labels keyword keywords term",
    author="author authors people user users",
    album="album albums gallery galleries playlist playlists channel channels artist artists collection collections",
)

_TIMELINES = _named(timeline="user users profile profiles people member members author authors timeline u")

TERMS = {
    "web-forum": Terms("thread", "forum", "reply", first="post", front="board"),
    "q-and-a": Terms("question", "list", "answer", first="question"),
    "social-network": Terms("conversation", "timeline", "reply", first="post"),
    "blog": Terms("article", "archive", "comment", thing="post"),
    "news": Terms("article", "section", "comment", thing="article"),
    "wiki": Terms("article", "category", "comment", thing="article"),
    "photo": Terms("photo", "album", "comment", thing="photo"),
    "video": Terms("video", "channel", "comment", thing="video"),
    "mail-archive": Terms("thread", "list", "message"),
    "tracker": Terms("ticket", "query", "comment", thing="ticket"),
    "documentation": Terms("chapter", "contents", "comment", thing="chapter"),
    "music": Terms("track", "album", "comment", thing="track"),
}
"""By the kind's name."""


@dataclass(frozen=True)
class LevelPlan:
    """A level to write. ``pages`` are the given pages of it; empty if only its URL is known.

    ``urls`` are the URLs from which its shape was made: the given pages, and what they link to. ``borrowed`` are
    pagings of other levels that may apply to this one, too. ``further`` are shapes of further pages' URLs that no
    paging describes; with ``counts_within``, such URLs have the level's own shape.
    """

    name: str
    terminal: bool
    shape: Shape
    pages: tuple[Page, ...] = ()
    paging: tuple[Paging, ...] = ()
    start: bool = False
    links: tuple[PageLink, ...] = field(default=(), repr=False)
    urls: tuple[str, ...] = ()
    borrowed: tuple[Paging, ...] = ()
    further: tuple[Shape, ...] = ()
    counts_within: bool = False

    @property
    def beyond(self) -> tuple[Shape, ...]:
        """The shapes of the URLs of pages after the first that do not fit that of the first."""
        parts = (rule.part for rule in (*self.paging, *self.borrowed) if rule.part)
        paths = (f"{self.shape.path.rstrip('/')}{part}" for part in parts if not re.search(r"\.\w+$", self.shape.path))
        paged = (replace(self.shape, path=path) for path in paths)
        return tuple(dict.fromkeys((*paged, *self.further)))

    def has(self, url: str) -> bool:
        """Return whether a URL has the shape of this level, on any of its pages."""
        address = ParsedUrl.parse(url)
        pagings = (*self.paging, *self.borrowed)
        rule = self.shape.address(paging.parameter for paging in pagings if paging.parameter)
        rules = (rule, *(shape.address() for shape in self.further))
        return any(each.matches(address) for each in rules) or rule.matches(first_page(address, pagings))


@dataclass(frozen=True, slots=True)
class Given:
    """The pages a person gave: of content, and of lists."""

    contents: tuple[Page, ...]
    lists: tuple[Page, ...] = ()

    @property
    def pages(self) -> tuple[Page, ...]:
        """All of them."""
        return (*self.contents, *self.lists)


@dataclass(frozen=True)
class Plan:
    """The levels in the order in which a file has them, and all groups of URLs that the given pages link to."""

    levels: tuple[LevelPlan, ...]
    groups: tuple[AddressGroup, ...]

    def left(self) -> Iterator[AddressGroup]:
        """Yield the groups that are of no level."""
        return (group for group in self.groups if not any(level.has(group.urls[0]) for level in self.levels))


def plan_levels(given: Given, terms: Terms) -> Plan:
    """Plan the levels: front page, lists, content; the shape of each comes from all URLs that are linked alike."""
    links = own_links(given.pages)
    pagings = tuple(dict.fromkeys(rule for page in given.pages for rule in _paging(page)))
    own = [canonicalize(page.url) or page.url for page in given.pages]
    groups = address_groups((*own, *(link.url for link in links)), pagings)
    planning = _Planning(given, terms, links, groups, pagings)
    contents = planning.grouped(given.contents, terms.terminal, terminal=True)
    fronts = [page for page in given.lists if _is_root(ParsedUrl.parse(page.url))]
    lists = [
        *(replace(level, start=True) for level in planning.grouped(fronts, terms.front)),
        *planning.grouped([page for page in given.lists if page not in fronts], terms.listing),
    ]
    known = [*lists, *contents]
    crumb = () if lists else tuple(planning.from_crumbs(known))
    guessed = tuple(planning.linked_lists([*known, *crumb]))
    front = tuple(planning.front([*lists, *crumb, *guessed, *contents]))
    return Plan((*front, *_narrow_first([*lists, *crumb, *guessed]), *contents), groups)


def without_index(page: Page) -> Page:
    """Return a page under the URL of its folder, if its own names the file that is shown for a folder."""
    address = ParsedUrl.parse(page.url)
    if address.query or not INDEX.fullmatch(address.segments[-1]):
        return page
    return replace(page, url=page.url.partition("#")[0].removesuffix(address.path.rpartition("/")[2]))


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


def main_links(page: Page, *, menus: bool = False) -> tuple[PageLink, ...]:
    """Return the links of a page to its own host that lie in no footer or notice, nor in a menu unless ``menus``."""
    zones = Zones(page.tree, lists=True)
    beside = (Zone.DROPPED,) if menus else (Zone.MENU, Zone.DROPPED)
    return tuple(link for link in own_links((page,)) if zones.of(link.element) not in beside)


def _paging(page: Page) -> tuple[Paging, ...]:
    return paging_of(ParsedUrl.parse(canonicalize(page.url) or page.url), own_links((page,)))


@dataclass
class _Planning:
    """Makes levels of given pages and of the groups that their links form."""

    given: Given
    terms: Terms
    links: Sequence[PageLink]
    groups: Sequence[AddressGroup]
    pagings: Sequence[Paging]

    def grouped(self, pages: Sequence[Page], name: str, *, terminal: bool = False) -> list[LevelPlan]:
        """Make one level of the pages whose URLs are alike: of one group, or fitted by the shape of an earlier page."""
        found: dict[Shape, LevelPlan] = {}
        for page in pages:
            here = first_page(ParsedUrl.parse(canonicalize(page.url) or page.url), self.pagings)
            shape = next((known for known in found if known.rule.matches(here)), None)
            group = self._group(page)
            shape = shape or self._shape(here, group)
            if not terminal and any(shape.rule.matches(ParsedUrl.parse(each.url)) for each in self.given.contents):
                shape = literal(here) or shape
            known = found.get(shape) or LevelPlan(name, terminal, shape, urls=group.urls if group else ())
            paging = tuple(dict.fromkeys((*known.paging, *_paging(page))))[:2]
            own = own_links((page,))
            further = tuple(dict.fromkeys((*known.further, *self._further(here, own))))
            links = known.links or own
            within = known.counts_within or any(
                shape.rule.matches(ParsedUrl.parse(url)) for url in beyond_paging(here, own)
            )
            known = replace(known, paging=paging, links=links, further=further, counts_within=within)
            found[shape] = replace(known, pages=(*known.pages, page))
        names = (name if number == 1 else f"{name}-{number}" for number in range(1, len(found) + 1))
        named = [replace(level, name=called) for called, level in zip(names, found.values(), strict=True)]
        return [self._with_borrowed(level) for level in named]

    def _further(self, here: ParsedUrl, links: Sequence[PageLink]) -> Iterator[Shape]:
        """Yield the shapes of further pages that differ from the first in a number that no paging can name."""
        for url in beyond_paging(here, links):
            group = next((group for group in self.groups if url in group.urls), None)
            if group is not None and not group.shape.rule.matches(here):
                yield group.shape

    def _with_borrowed(self, level: LevelPlan) -> LevelPlan:
        """Add the parameters that number pages elsewhere on the site, if no page of this level shows any paging."""
        if level.paging:
            return level
        named = {part.partition("=")[0] for part in level.shape.parameters}
        return replace(level, borrowed=tuple(rule for rule in self.pagings if rule.parameter not in named)[:2])

    def _group(self, page: Page) -> AddressGroup | None:
        url = canonicalize(page.url) or page.url
        return next((group for group in self.groups if url in group.urls), None)

    def _shape(self, here: ParsedUrl, group: AddressGroup | None) -> Shape:
        """Return the shape of a page's group.

        If no link resembles the page's URL, a shape guessed from that URL alone.
        """
        if group is not None:
            firsts = {first_page(ParsedUrl.parse(url), self.pagings).url for url in group.urls}
            if len(firsts) > 1:
                return group.shape
        shape = shape_of(here, [ParsedUrl.parse(link.url) for link in self.links], self.pagings)
        return shape if shape.parameters else replace(shape, absent=self._absent(shape))

    def _absent(self, shape: Shape) -> tuple[str, ...]:
        """Return the parameters that other URLs with the path of a shape have, which lead to other sorts of pages."""
        counted = {rule.parameter for rule in self.pagings}
        beside = [group.shape for group in self.groups if group.shape.path == shape.path and group.shape.parameters]
        named = (part.partition("=")[0] for each in beside for part in each.parameters)
        return tuple(dict.fromkeys(name for name in named if name not in counted))[:MAX_ABSENT]

    def from_crumbs(self, known: Sequence[LevelPlan]) -> Iterator[LevelPlan]:
        """Guess the list a page belongs to from the line above it that says where it stands."""
        for link in reversed(crumbs(self.given.contents[0])):
            address = first_page(ParsedUrl.parse(link.url), self.pagings)
            if _is_root(address) or any(level.has(link.url) for level in known):
                continue
            group = next((group for group in self.groups if link.url in group.urls), None)
            level = LevelPlan(self.terms.listing, False, self._shape(address, group), urls=group.urls if group else ())
            yield self._with_borrowed(level)
            return

    def linked_lists(self, known: Sequence[LevelPlan]) -> Iterator[LevelPlan]:
        """Guess that URLs lead to lists which say so by a word, and which pages link to outside of their footers."""
        linked = {link.url for page in self.given.pages for link in main_links(page, menus=True)}
        names = {level.name for level in known}
        taken = [*known]
        for group in self.groups:
            name = self._list_name(group)
            if name is None or not linked.intersection(group.urls) or _is_taken(group, taken):
                continue
            called = _called(name, names)
            names.add(called)
            level = self._with_borrowed(LevelPlan(called, False, group.shape, urls=group.urls))
            taken.append(level)
            yield level
            if len(taken) - len(known) == MAX_LISTS:
                return

    def _list_name(self, group: AddressGroup) -> str | None:
        """Return the name of the level of lists that a group's URLs say they lead to, None if they say nothing."""
        reason = reason_of(group)
        if reason is not None and reason not in self.terms.useful:
            return None
        shape = group.shape
        if self.terms.thing and re.fullmatch(r"/#(?:/#){0,2}/?", shape.path) and not shape.parameters:
            return self.terms.listing
        parts = [part for part in shape.path.split("/") if part.strip("*#") and not INDEX.fullmatch(part)]
        fixed = [part.partition(".")[0].lower() for part in parts]
        ends = fixed if re.search(r"[*#][^/]*/?$", shape.path) else fixed[-1:]
        stems = [re.split(r"[-_:#*.]", part)[0] for part in ends]
        named = [each.lower() for part in shape.parameters for each in part.split("=")]
        return next((self.terms.lists[word] for word in (*stems, *ends, *named) if word in self.terms.lists), None)

    def front(self, known: Sequence[LevelPlan]) -> Iterator[LevelPlan]:
        """Guess that the front page of the site leads to the rest, unless it was given."""
        root = f"{origin(self.given.contents[0].url)}/"
        if not any(level.has(root) for level in known):
            yield self._with_borrowed(LevelPlan(self.terms.front, False, Shape("/"), start=True))


def _is_taken(group: AddressGroup, levels: Iterable[LevelPlan]) -> bool:
    """Return whether a group belongs to a level; lists may have URLs that a content level's shape matches as well."""
    fitting = (level for level in levels if level.has(group.urls[0]))
    return any(not level.terminal or level.shape == group.shape for level in fitting)


def _called(name: str, taken: set[str]) -> str:
    """Return the name of a level that no other level has."""
    return next(each for number in count(1) if (each := name if number == 1 else f"{name}-{number}") not in taken)


def _narrow_first(levels: Sequence[LevelPlan]) -> list[LevelPlan]:
    """Sort levels whose URLs vary less before others, since the first match counts."""
    return sorted(levels, key=lambda level: level.shape.path.replace("**", "").count("*") - len(level.shape.parameters))


def _is_root(address: ParsedUrl) -> bool:
    return not address.query and (address.path in ("", "/") or INDEX.fullmatch(address.path[1:]) is not None)


def _is_crumb(link: PageLink) -> bool:
    nearest = [link.element, *link.element.iterancestors()][:5]
    return any(
        _CRUMBS.search(" ".join(element.get(name) or "" for name in ("class", "id", "aria-label", "itemtype")))
        for element in nearest
    )

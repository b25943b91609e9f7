"""Remember what the pages of a site have in common."""

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache
from hashlib import blake2b
from typing import Final, Protocol

from aahcrawler import urls
from aahcrawler.page import Page, generic
from aahcrawler.page.dates import Order
from aahcrawler.page.record_shape import RecordShape
from aahcrawler.urls import without_session
from knowledge_base.matching import HostIndex, Shape, Shapes
from knowledge_base.model import Application, KnowledgeBase, PageLevel, Pattern
from knowledge_base.url_rules import ParsedUrl, Reason
from online_analysis.document import DocumentPart, PartRole

MAX_LESSONS: Final = 1_000
"""The most lessons that are kept of one page."""


class Memory(Enum):
    """Names one of the memories of a site."""

    SITES = auto()
    RECORDS = auto()
    LANGUAGES = auto()
    LINES = auto()


@dataclass(frozen=True, slots=True)
class SiteLesson:
    """A call of a memory's method with its arguments, to be repeated in another process. It can be pickled."""

    memory: Memory
    learn: Callable[..., object]
    told: tuple[object, ...]


class SiteLessons:
    """The lessons since ``begin`` was called, at most ``MAX_LESSONS``."""

    def __init__(self) -> None:
        self._heard: list[SiteLesson] = []

    def __iter__(self) -> Iterator[SiteLesson]:
        """Yield the lessons in their order."""
        return iter(tuple(self._heard))

    def begin(self) -> None:
        """Drop all lessons."""
        self._heard.clear()

    def hear(self, memory: Memory, learn: Callable[..., object], *told: object) -> None:
        """Keep a call of a memory's method, unless there are too many already."""
        if len(self._heard) < MAX_LESSONS:
            self._heard.append(SiteLesson(memory, learn, told))


MAX_HOSTS = 10_000
MAX_VERDICTS = 50_000
MAX_EVIDENCE = 4
MIN_TITLES, MAX_TITLES = 4, 12

SignKey = tuple[str, str, str]
"""The key of a pattern (``Pattern.key``)."""


@dataclass(frozen=True, slots=True)
class UrlVerdict:
    """What an application says of one URL.

    ``url`` is the canonical form, ``level`` the level that documents it, ``reason`` why it is not to be fetched. With
    ``contradicts``, a draft both avoids the URL and documents it as of a level: either guess may be wrong, so the URL
    is not avoided.
    """

    url: str
    address: ParsedUrl
    level: PageLevel | None
    reason: Reason | None
    contradicts: bool = False


class Sites:
    """Remembers the application of each host, and caches verdicts on URLs.

    The hosts unused for longest are forgotten first. The helper that owns it sets ``applications``, ``hosts`` (those
    that describe single sites and are not detected) and ``judge``, what the crawl of the page at hand knows of its
    links. ``lessons`` are what was learned since they began.
    """

    def __init__(self, most_hosts: int = MAX_HOSTS) -> None:
        self.hosts = HostIndex()
        self.applications: Mapping[str, Application] = {}
        self.judge: LinkJudge = ByName()
        self._hosts: OrderedDict[str, tuple[Application, tuple[Pattern, ...]]] = OrderedDict()
        self._orders: OrderedDict[str, tuple[set[Order], set[Order]]] = OrderedDict()
        self._titles: OrderedDict[str, deque[tuple[str, ...]]] = OrderedDict()
        self._most_hosts = most_hosts
        self.lessons = SiteLessons()
        self.records = SiteRecords(most_hosts, self.lessons)
        self.languages = SiteLanguages(most_hosts, self.lessons)
        self.lines = SiteLines(self.lessons)
        self.verdict = lru_cache(MAX_VERDICTS)(Verdicts().of)
        self._absolute = lru_cache(MAX_VERDICTS)(urls.resolve)
        self.whole = lru_cache(MAX_VERDICTS)(_whole)

    def date_order(self, url: str, shown: Order | None, implied: Order | None = None) -> Order | None:
        """Record the order of dates that a page shows; return the one that the pages of its site have agreed on so far.

        ``implied`` is a likely order; it counts as long as no page of the site shows one.
        """
        self.lessons.hear(Memory.SITES, Sites.date_order, url, shown, implied)
        known, likely = self._orders.setdefault(site_of(url), (set(), set()))
        self._orders.move_to_end(site_of(url))
        while len(self._orders) > self._most_hosts:
            self._orders.popitem(last=False)
        if shown is not None:
            known.add(shown)
        if implied is not None:
            likely.add(implied)
        believed = known or likely
        return next(iter(believed)) if len(believed) == 1 else shown

    def shared_titles(self, url: str, parts: Sequence[str]) -> frozenset[str]:
        """Record the parts of a page's title; return those that name the site or a section of it.

        They are at an end of all titles but one, or would be if others of them were left out: ``Topic`` and ``Board``
        in ``The harbour - Topic - Board``. Titles that differ only in numbers, like those of a thread's pages, count
        once. Returns nothing before ``MIN_TITLES`` titles are known; the last ``MAX_TITLES`` titles count.
        """
        self.lessons.hear(Memory.SITES, Sites.shared_titles, url, tuple(parts))
        unnumbered = tuple(part for part in parts if not any(map(str.isdigit, part)))
        shared: set[str] = set()
        for scope in (site_of(url), part_of_site(url)):
            known = self._titles.setdefault(scope, deque(maxlen=MAX_TITLES))
            self._titles.move_to_end(scope)
            if unnumbered and unnumbered not in known:
                known.append(unnumbered)
            shared |= _shared_ends(known)
        while len(self._titles) > 2 * self._most_hosts:
            self._titles.popitem(last=False)
        return frozenset(shared)

    def resolve(self, base: str, reference: str) -> str | None:
        """Resolve a reference as `aahcrawler.urls.resolve` does, with a cache for references that many pages share."""
        if reference.startswith("?") or not reference.isascii():  # Its query is in the encoding of the page.
            return urls.resolve(base, reference)
        folder = base.partition("?")[0].partition("#")[0].rpartition("/")[0]
        return self._absolute(folder + "/", reference)

    def remember(self, url: str, application: Application, evidence: tuple[Pattern, ...]) -> None:
        """Keep the application of the URL's site and the strongest patterns that showed it."""
        keys = frozenset(pattern.key for pattern in evidence[:MAX_EVIDENCE])
        self.lessons.hear(Memory.SITES, Sites.remember_shown, url, application.name, keys)
        site = site_of(url)
        self._hosts[site] = (application, evidence[:MAX_EVIDENCE])
        self._hosts.move_to_end(site)
        while len(self._hosts) > self._most_hosts:
            self._hosts.popitem(last=False)

    def remember_shown(self, url: str, name: str, keys: Collection[SignKey]) -> None:
        """Remember the application with a name, and those of its patterns that have one of the keys."""
        application = self.applications.get(name)
        if application is not None:
            self.remember(url, application, _signs(application, keys))

    def learn(self, lessons: Iterable[SiteLesson]) -> None:
        """Apply the lessons of pages that another process has read."""
        memories: Mapping[Memory, object] = {
            Memory.SITES: self,
            Memory.RECORDS: self.records,
            Memory.LANGUAGES: self.languages,
            Memory.LINES: self.lines,
        }
        for each in lessons:
            each.learn(memories[each.memory], *each.told)

    def forget(self) -> None:
        """Forget the applications of hosts; verdicts on URLs are kept."""
        self._hosts.clear()

    def restart(self) -> None:
        """Forget all that was learned of sites; verdicts on URLs are kept, which depend on the applications alone."""
        for memory in (self._hosts, self._orders, self._titles):
            memory.clear()
        self.records = SiteRecords(self._most_hosts, self.lessons)
        self.languages = SiteLanguages(self._most_hosts, self.lessons)
        self.lines = SiteLines(self.lessons)

    def recall(self, url: str) -> tuple[Application, tuple[Pattern, ...]] | None:
        """Return the application last remembered for the URL's site."""
        site = site_of(url)
        if site in self._hosts:
            self._hosts.move_to_end(site)
        return self._hosts.get(site)

    def under(self, knowledge_base: KnowledgeBase) -> "Sites":
        """Return the memory of the same sites for another knowledge base, such as a changed one.

        A site is forgotten if its application is gone or has lost all of the signs that showed it.
        """
        applications = {application.name: application for application in knowledge_base.applications}
        sites = Sites(self._most_hosts)
        for site, (known, evidence) in self._hosts.items():
            application = applications.get(known.name)
            kept = _signs(application, {pattern.key for pattern in evidence}) if application else ()
            if application is not None and kept:
                sites._hosts[site] = (application, kept)
        return sites

    def application(self, url: str) -> Application | None:
        """Return the application remembered for the URL's site, else one that describes the site.

        The memory is not refreshed.
        """
        known = self._hosts.get(site_of(url))
        return known[0] if known is not None else next(iter(self.hosts.of(url)), None)


def _signs(application: Application, keys: Collection[SignKey]) -> tuple[Pattern, ...]:
    """Return the patterns of an application that have some keys, the strongest first."""
    found = (sign for sign in application.patterns if sign.key in keys)
    return tuple(sorted(found, key=lambda sign: -sign.strength))


def _shared_ends(titles: Collection[tuple[str, ...]]) -> set[str]:
    """Return the parts that are at an end of all titles but one, repeatedly, without those found before."""
    shared: set[str] = set()
    while len(titles) >= MIN_TITLES:
        ends: dict[str, int] = {}
        for title in titles:
            rest = [part for part in title if part not in shared] if shared else title
            for end in {rest[0], rest[-1]} if rest else ():
                ends[end] = ends.get(end, 0) + 1
        found = {end for end, number in ends.items() if number >= len(titles) - 1}
        if not found:
            break
        shared |= found
    return shared


def site_of(url: str) -> str:
    """Return host and port of a canonical URL, without a leading ``www.``.

    >>> site_of("https://www.a.test:8080/x")
    'a.test:8080'
    """
    start = url.find("://") + 3
    end = url.find("/", start)
    return url[start : end if end > 0 else len(url)].removeprefix("www.")


def _whole(level: PageLevel, url: str) -> str:
    """Return the URL of the first page of a list or thread of that level."""
    return level.first_page(ParsedUrl.parse(url)).url


class Verdicts:
    """Judges URLs by an application's rules, once for all URLs that the rules cannot distinguish."""

    def __init__(self) -> None:
        self._shapes: dict[Application, Shapes] = {}
        self._known: dict[tuple[Application, Shape], tuple[UrlVerdict, frozenset[str]]] = {}

    def of(self, application: Application, url: str) -> UrlVerdict:
        """Return what an application says of a URL."""
        address = ParsedUrl.parse(url)
        shapes = self._shapes.get(application) or self._shapes.setdefault(application, Shapes(application))
        shape = shapes.of(address)
        if shape is None:
            return _verdict(application, address)
        known = self._known.get((application, shape))
        if known is None:
            verdict = _verdict(application, address)
            if len(self._known) >= MAX_VERDICTS:
                self._known.clear()
            self._known[application, shape] = verdict, frozenset(map(shapes.part, verdict.address.query))
            return verdict
        alike, kept = known
        query = tuple([raw for raw, part in zip(address.query, shape[1], strict=True) if part in kept])
        is_canonical = len(query) == len(address.query) and alike.address.path == address.path
        canonical = address if is_canonical else ParsedUrl(address.prefix, alike.address.path, query)
        return UrlVerdict(canonical.url, canonical, alike.level, alike.reason, alike.contradicts)


def _verdict(application: Application, address: ParsedUrl) -> UrlVerdict:
    canonical = application.canonical(address)
    refusal = application.refusal(canonical)
    level = application.level_of(canonical) if refusal is None or application.draft else None
    if refusal is not None and level is not None:
        return UrlVerdict(canonical.url, canonical, level, None, contradicts=True)
    return UrlVerdict(canonical.url, canonical, level, refusal.reason if refusal else None)


MIN_LANGUAGE_PAGES = 5
"""Pages in a row whose text must agree with the declared language before the declarations of a site are believed."""
CHECKED_AGAIN = 16
"""One page in this many of a site that is believed is checked thoroughly all the same."""


@dataclass(slots=True)
class _Declared:
    language: str
    agreed: int = 0
    unchecked: int = 0


LANGUAGE_SAMPLE = 600
"""Characters of a text by which its language is identified."""


class SiteLanguages:
    """The language that the pages of each site declare, and how many pages in a row agreed with it by their texts.

    The sites unused for longest are forgotten first. The memory depends only on the pages and their order.
    """

    def __init__(self, most: int, lessons: SiteLessons | None = None) -> None:
        self._most = most
        self._lessons = lessons or SiteLessons()
        self._sites: OrderedDict[str, _Declared] = OrderedDict()

    def believes(self, site: str, declared: str) -> bool:
        """Return whether the site's declarations of this language proved right, so that a quick check suffices."""
        known = self._sites.get(site)
        if known is None or known.language != declared or known.agreed < MIN_LANGUAGE_PAGES:
            return False
        known.unchecked += 1
        return known.unchecked < CHECKED_AGAIN

    def language(
        self, page: Page, parts: Sequence[DocumentPart], roles: Sequence[PartRole] = ("content",)
    ) -> str | None:
        """Return the language of the parts with these roles if their text is long enough, else the declared language.

        Where a site's declarations proved right, the declared language is returned unless a quick check contradicts it.
        """
        sample = "\n".join(part.text for part in parts if part.role in roles)[:LANGUAGE_SAMPLE]
        declared = (page.tree.get("lang") or page.tree.get("xml:lang") or "").strip().lower()[:2]
        known = declared if len(declared) == 2 and declared.isalpha() else ""
        if not sample:
            return known or None
        site = site_of(page.url)
        believed = self.believes(site, known)
        told = generic.language(sample, known, believed=believed)
        if not believed or told != known:
            self.learn(site, known, told)
        return told or known or None

    def learn(self, site: str, declared: str, told: str | None) -> None:
        """Record the language that a thorough check of a page identified, None where its text is too short."""
        if told is None or not declared:
            return
        self._lessons.hear(Memory.LANGUAGES, SiteLanguages.learn, site, declared, told)
        known = self._sites.setdefault(site, _Declared(declared))
        self._sites.move_to_end(site)
        if told != declared or known.language != declared:
            known.language, known.agreed = declared, 0
        known.agreed += told == declared
        known.unchecked = 0
        if len(self._sites) > self._most:
            self._sites.popitem(last=False)


MIN_LINE_PAGES = 3
"""Pages that must have shown a line before it counts as repeated on further pages."""
MAX_SITES = 500
MAX_LINES = 400
"""The most lines that are remembered of one site; the lines not shown for longest are forgotten first."""


class SiteLines:
    """The lines of articles of each site, as digests, with the first pages that showed each line.

    The sites unused for longest are forgotten first. The memory depends only on the pages and their order.
    """

    def __init__(self, lessons: SiteLessons | None = None) -> None:
        self._lessons = lessons or SiteLessons()
        self._sites: OrderedDict[str, OrderedDict[int, tuple[int, ...]]] = OrderedDict()

    def repeated(self, site: str, url: str) -> frozenset[int]:
        """Return the digests of lines that several pages of a site have shown, for the reading of the page at a URL.

        The first pages that showed a line keep it, so that reading them again yields the same.
        """
        known = self._sites.get(site)
        if known is None:
            return frozenset()
        page = _digest(url)
        return frozenset(line for line, pages in known.items() if len(pages) >= MIN_LINE_PAGES and page not in pages)

    def learn(self, site: str, url: str, lines: Sequence[int]) -> None:
        """Record the lines of the article at a URL of a site."""
        if not lines:
            return
        self._lessons.hear(Memory.LINES, SiteLines.learn, site, url, tuple(lines))
        known = self._sites.setdefault(site, OrderedDict())
        self._sites.move_to_end(site)
        page = _digest(url)
        for line in lines:
            pages = known.get(line, ())
            known[line] = pages if page in pages or len(pages) >= MIN_LINE_PAGES else (*pages, page)
            known.move_to_end(line)
        while len(known) > MAX_LINES:
            known.popitem(last=False)
        if len(self._sites) > MAX_SITES:
            self._sites.popitem(last=False)


def _digest(url: str) -> int:
    return int.from_bytes(blake2b(url.encode("utf-8", "replace"), digest_size=8).digest())


MIN_RECORD_PAGES = 2
"""Pages that must have shown records of a shape before other pages are read by it."""
MAX_RECORD_TITLES = 10_000
MAX_PAGES = 32
"""The most pages of each sort that are counted for a shape. A shape on more lists than pages with posts is none of
posts.
"""
MAX_SHAPES = 8
"""The most shapes that are remembered of one part of a site."""
_SCRIPT = re.compile(r"[\w-]+\.[a-z]{2,5}", re.IGNORECASE)


@dataclass(slots=True)
class _Known:
    """A shape, the pages on which its records were posts, and the pages on which they were entries of a list."""

    shape: RecordShape
    pages: set[str] = field(default_factory=set)
    lists: set[str] = field(default_factory=set)


class SiteRecords:
    """The shapes of records of each part of a site; the parts unused for longest are forgotten first."""

    def __init__(self, most: int, lessons: SiteLessons | None = None) -> None:
        self._most = most
        self._lessons = lessons or SiteLessons()
        self._parts: OrderedDict[str, list[_Known]] = OrderedDict()
        self._titles: OrderedDict[str, str] = OrderedDict()

    def of(self, url: str) -> tuple[RecordShape, ...]:
        """Return the shapes that several pages in a URL's part of the site have shown, the most frequent first."""
        known = [
            each
            for each in self._parts.get(part_of_site(url), ())
            if len(each.pages) >= MIN_RECORD_PAGES and len(each.pages) > len(each.lists)
        ]
        return tuple(each.shape for each in sorted(known, key=lambda each: -len(each.pages)))

    def titled(self, iri: str, title: str) -> str:
        """Record the title that a page gives an object; return the title that it has on any page, "" for none.

        A message alone on its page often lacks the title that it has in its thread.
        """
        if title:
            self._lessons.hear(Memory.RECORDS, SiteRecords.titled, iri, title)
            self._titles[iri] = title
            if len(self._titles) > MAX_RECORD_TITLES:
                self._titles.popitem(last=False)
        return title or self._titles.get(iri, "")

    def learn(self, url: str, shapes: Sequence[RecordShape], listed: Sequence[RecordShape] = ()) -> None:
        """Record the shapes of a page's posts, and of its ``listed`` entries, which lead to pages of their own."""
        if not shapes and not listed:
            return
        self._lessons.hear(Memory.RECORDS, SiteRecords.learn, url, tuple(shapes), tuple(listed))
        known = self._parts.setdefault(part_of_site(url), [])
        self._parts.move_to_end(part_of_site(url))
        for shape in shapes:
            _add(known, shape, url, are_posts=True)
        for shape in listed:
            _add(known, shape, url, are_posts=False)
        if len(self._parts) > self._most:
            self._parts.popitem(last=False)


def _add(known: list[_Known], shape: RecordShape, url: str, *, are_posts: bool) -> None:
    for each in known:
        common = each.shape.common(shape)
        if common is not None and common.is_telling:
            each.shape = common if are_posts else each.shape
            shown = each.pages if are_posts else each.lists
            if len(shown) < MAX_PAGES:
                shown.add(url)
            return
    if len(known) < MAX_SHAPES:
        known.append(_Known(shape, {url}, set()) if are_posts else _Known(shape, set(), {url}))


def part_of_site(url: str) -> str:
    """Return the host of a canonical URL with its first directory or script: pages of one part tend to be alike.

    >>> part_of_site("http://a.test/topic/7/knots/?page=2"), part_of_site("http://a.test/viewtopic.php?t=7")
    ('a.test/topic', 'a.test/viewtopic.php')
    >>> part_of_site("http://a.test/knots-and-ropes-7/")
    'a.test/*'
    """
    host, _, rest = url.partition("://")[2].partition("/")
    path = rest.partition("?")[0]
    first, slash, more = path.partition("/")
    is_directory = (slash and more) or _SCRIPT.fullmatch(first)
    return f"{host}/{re.sub(r'[0-9]+', '#', first)}" if is_directory else f"{host}/*"


class LinkJudge(Protocol):
    """What a crawl knows of canonical URLs."""

    def without_id(self, url: str) -> str:
        """Return a URL without session ids."""

    def knows(self, url: str) -> bool:
        """Return whether a URL was fetched, or is queued."""

    def allows(self, url: str, word: str) -> bool:
        """Return whether an operator allowed URLs with this word, and this URL is one of them."""


class ByName:
    """Judges links where there is no crawl: session ids are those that documented software writes."""

    def without_id(self, url: str) -> str:
        """Return a URL without the ids of sessions that documented software writes."""
        return without_session(url)

    def knows(self, url: str) -> bool:  # noqa: ARG002
        """Return False: nothing was fetched."""
        return False

    def allows(self, url: str, word: str) -> bool:  # noqa: ARG002
        """Return False: nobody said anything."""
        return False

"""Remember the application of each host, and its verdicts on URLs."""

from collections import Counter, OrderedDict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aahcrawler import urls
from aahcrawler.helper.site_memory.lessons import Lesson, Lessons, Memory
from aahcrawler.helper.site_memory.link_judge import ByName, LinkJudge
from aahcrawler.helper.site_memory.site_languages import SiteLanguages
from aahcrawler.helper.site_memory.site_lines import SiteLines
from aahcrawler.helper.site_memory.site_records import SiteRecords, part_of_site
from aahcrawler.page.dates import Order
from knowledge_base.hosts import HostIndex
from knowledge_base.model import Application, KnowledgeBase, PageLevel, Pattern
from knowledge_base.url_rules import ParsedUrl, Reason
from knowledge_base.url_shapes import Shape, Shapes

MOST_HOSTS = 10_000
MOST_VERDICTS = 50_000
MOST_EVIDENCE = 4
LEAST_TITLES, MOST_TITLES = 4, 12

SignKey = tuple[str, str, str]
"""The key of a pattern (``Pattern.key``)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """An application's verdict on one URL.

    ``url`` is the canonical form, ``level`` the level that documents it, ``reason`` why it is not to be fetched.
    ``contradicts`` tells that a draft avoids a URL that one of its levels documents: either guess may be wrong, and the
    URL is not avoided for that.
    """

    url: str
    address: ParsedUrl
    level: PageLevel | None
    reason: Reason | None
    contradicts: bool = False


class Sites:
    """Remembers the application of each host, the least recently seen forgotten first, and verdicts on URLs.

    It serves one helper, which sets ``applications``, ``hosts``, those that describe single sites and are not detected,
    and ``judge``: what the crawl that the page at hand is of knows of its links. ``lessons`` are what was learned since
    these began.
    """

    def __init__(self, most_hosts: int = MOST_HOSTS) -> None:
        self.hosts = HostIndex()
        self.applications: Mapping[str, Application] = {}
        self.judge: LinkJudge = ByName()
        self._hosts: OrderedDict[str, tuple[Application, tuple[Pattern, ...]]] = OrderedDict()
        self._orders: OrderedDict[str, tuple[set[Order], set[Order]]] = OrderedDict()
        self._titles: OrderedDict[str, deque[tuple[str, ...]]] = OrderedDict()
        self._most_hosts = most_hosts
        self.lessons = Lessons()
        self.records = SiteRecords(most_hosts, self.lessons)
        self.languages = SiteLanguages(most_hosts, self.lessons)
        self.lines = SiteLines(self.lessons)
        self.verdict = lru_cache(MOST_VERDICTS)(Verdicts().of)
        self._absolute = lru_cache(MOST_VERDICTS)(urls.resolve)
        self.whole = lru_cache(MOST_VERDICTS)(_whole)

    def date_order(self, url: str, shown: Order | None, implied: Order | None = None) -> Order | None:
        """Note the order of dates that a page shows; return the one that the pages of its site agree on so far.

        ``implied`` is a likely one; it counts as long as no page of the site shows any.
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
        """Record the parts of a page's title; return those that titles of its site, or of its part of it, end with.

        These stand at an end of all titles but one, or would if others of them were left out: ``Topic`` and ``Board``
        in ``The harbour - Topic - Board``. Titles that differ by numbers alone, as those of a thread's pages, count
        once. Nothing is returned before ``LEAST_TITLES`` titles are known; beyond ``MOST_TITLES`` the last ones count.
        """
        self.lessons.hear(Memory.SITES, Sites.shared_titles, url, tuple(parts))
        unnumbered = tuple(part for part in parts if not any(map(str.isdigit, part)))
        shared: set[str] = set()
        for scope in (site_of(url), part_of_site(url)):
            known = self._titles.setdefault(scope, deque(maxlen=MOST_TITLES))
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
        keys = frozenset(pattern.key for pattern in evidence[:MOST_EVIDENCE])
        self.lessons.hear(Memory.SITES, Sites.remember_shown, url, application.name, keys)
        site = site_of(url)
        self._hosts[site] = (application, evidence[:MOST_EVIDENCE])
        self._hosts.move_to_end(site)
        while len(self._hosts) > self._most_hosts:
            self._hosts.popitem(last=False)

    def remember_shown(self, url: str, name: str, keys: Collection[SignKey]) -> None:
        """Keep the application of that name, one of those known here, by the keys of its patterns that showed it."""
        application = self.applications.get(name)
        if application is not None:
            self.remember(url, application, _signs(application, keys))

    def learn(self, lessons: Iterable[Lesson]) -> None:
        """Learn what a page taught that another process has read."""
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
    """Return the parts that stand at an end of all titles but one, those found before left out."""
    shared: set[str] = set()
    while len(titles) >= LEAST_TITLES:
        rest = [tuple(part for part in title if part not in shared) for title in titles]
        ends = Counter(end for title in rest if title for end in {title[0], title[-1]})
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
    """Judges URLs; URLs that an application's rules cannot distinguish are judged once."""

    def __init__(self) -> None:
        self._shapes: dict[Application, Shapes] = {}
        self._known: dict[tuple[Application, Shape], tuple[Verdict, frozenset[str]]] = {}

    def of(self, application: Application, url: str) -> Verdict:
        """Return what an application says of a URL."""
        address = ParsedUrl.parse(url)
        shapes = self._shapes.get(application) or self._shapes.setdefault(application, Shapes(application))
        shape = shapes.of(address)
        if shape is None:
            return _verdict(application, address)
        known = self._known.get((application, shape))
        if known is None:
            verdict = _verdict(application, address)
            if len(self._known) >= MOST_VERDICTS:
                self._known.clear()
            self._known[application, shape] = verdict, frozenset(map(shapes.part, verdict.address.query))
            return verdict
        alike, kept = known
        query = tuple(raw for raw, part in zip(address.query, shape[1], strict=True) if part in kept)
        is_canonical = len(query) == len(address.query) and alike.address.path == address.path
        canonical = address if is_canonical else ParsedUrl(address.prefix, alike.address.path, query)
        return Verdict(canonical.url, canonical, alike.level, alike.reason, alike.contradicts)


def _verdict(application: Application, address: ParsedUrl) -> Verdict:
    canonical = application.canonical(address)
    refusal = application.refusal(canonical)
    level = application.level_of(canonical) if refusal is None or application.draft else None
    if refusal is not None and level is not None:
        return Verdict(canonical.url, canonical, level, None, contradicts=True)
    return Verdict(canonical.url, canonical, level, refusal.reason if refusal else None)

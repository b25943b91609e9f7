"""Notes what becomes of the seeds, of what they redirect to, and of their sites."""

import logging
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import urlsplit

from aahcrawler import seeds
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.hops import redirects_in_a_row
from aahcrawler.frontier.protocol import Lease, State
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.pipeline.links import DiscoveredLinks
from aahcrawler.scope import Refusal, Spelling
from aahcrawler.seeds import Verdict
from aahcrawler.seeds.verdicts import ROBOTS, Trail, main_reason
from online_analysis.document import Document
from online_analysis.icd import SparqlSource

logger = logging.getLogger(__name__)

NOTHING: Mapping[str, float] = {}
_TELLING = 200
"""Characters of text that say something: from here on, a page that is not relevant shows its site's other topic."""


class SeedTrail:
    """Returns what the end of a lease adds to the crawl's counts; nothing where it is no page of a seed's site."""

    def __init__(self, context: CurrentContext, stats: Stats, reading: PageReading) -> None:
        self._context = context
        self._reading = reading
        self._stats = stats

    async def answered(
        self,
        lease: Lease,
        page: Page,
        found: PageAnalysis | None,
        discovered: DiscoveredLinks,
        rows: int | None = None,
    ) -> Mapping[str, float]:
        """Return the notes on a response; ``rows`` is how many it has, None where it is no document of rows."""
        if not lease.is_page or found is None:
            return NOTHING
        counts: dict[str, float] = {}
        is_kept = page.is_content or page.status == 304
        if is_kept and self._context.now.scope.is_of_seeds(lease.queue):
            counts |= _on_site(lease, page, found, _followed(discovered))
        if self._is_of_seed(lease):
            counts[await self._note(lease, page, found, discovered, rows)] = 1
        return counts

    def failed(self, lease: Lease, state: State, reason: str) -> Mapping[str, float]:
        """Return the notes on a URL that ended without a response."""
        if not self._is_of_seed(lease):
            is_link = lease.is_page and lease.via and self._context.now.scope.is_of_seeds(lease.queue)
            return seeds.forbidden_on_site(lease.queue) if is_link and reason == ROBOTS else NOTHING
        return {seeds.of_failure(lease.url, reason, blocked=state is State.BLOCKED): 1}

    async def tried(self, lease: Lease, reason: str, page: Page | None) -> Mapping[str, float]:
        """Return the notes on a URL that is to be tried again; ``page`` is the response, None where there was none."""
        if not self._is_of_seed(lease):
            return NOTHING
        is_told = page is None or page.status < 400
        verdict = seeds.of_reason(reason) if is_told or page is None else await self._wall(page, Metadata())
        return {seeds.of_attempt(lease.url, verdict): 1}

    def cut(self, lease: Lease) -> Mapping[str, float]:
        """Return the notes on a URL whose response was under way when the crawl ended."""
        return {seeds.of_cut(lease.url): 1} if self._is_of_seed(lease) else NOTHING

    async def _note(
        self, lease: Lease, page: Page, found: PageAnalysis, discovered: DiscoveredLinks, rows: int | None
    ) -> str:
        if self._is_query(lease.url) and (verdict := _of_query(page, found, rows)) is not None:
            return seeds.of_page(lease.url, verdict)
        target = next((link for link in found.metadata.links if link.type is LinkType.REDIRECT), None)
        if 300 <= page.status < 400 and page.status != 304 and not page.is_content:
            return self._redirect(lease, page, target, discovered)
        if page.status == 304:  # Of one that was asked for, the former page is known.
            is_known = found.document is not None or found.metadata.score is not None
            return seeds.of_page(lease.url, Verdict.FETCHED if is_known else Verdict.NO_CONTENT)
        if found.error and not found.metadata.links:
            return seeds.of_page(lease.url, Verdict.UNREAD)
        if Refusal.LANGUAGE in discovered.refused:
            return seeds.of_page(lease.url, Verdict.LANGUAGE)
        verdict = await self._wall(page, found.metadata)
        if page.status == 401 and urlsplit(lease.url).hostname in self._context.now.icd.network.accounts:
            verdict = Verdict.LOGIN_FAILED
        if target is not None and not found.metadata.objects and verdict is not Verdict.CHALLENGE:
            return self._redirect(lease, page, target, discovered)
        if verdict is Verdict.FETCHED and (reason := _refused(found, discovered)):
            return seeds.of_refused_links(lease.url, reason)
        return seeds.of_page(lease.url, verdict)

    async def _wall(self, page: Page, said: Metadata) -> Verdict:
        try:
            return await self._reading.of(page, lambda page: seeds.wall(page, said))
        except WorkEndedError as error:
            logger.warning("%s: nobody knows whether it is a page: %s", page.url, error)
            return Verdict.UNREAD

    def _redirect(self, lease: Lease, page: Page, target: Link | None, discovered: DiscoveredLinks) -> str:
        sets_cookie = bool(page.headers.get("Set-Cookie"))
        if target is None:  # It names itself.
            return seeds.of_redirect(lease.url, lease.url, sets_cookie=sets_cookie)
        if discovered.redirect is None and (verdict := seeds.redirect_wall(target.url)) is not None:
            return seeds.of_page(lease.url, verdict)
        return seeds.of_redirect(lease.url, discovered.redirect or "", sets_cookie=sets_cookie)

    def _is_of_seed(self, lease: Lease) -> bool:
        if not lease.is_page:
            return False
        now = self._context.now
        if lease.url in _canonical(now.scope.spelling, now.icd.seeds) or self._is_query(lease.url):
            return True
        hops = redirects_in_a_row(lease.path)
        return 0 < hops == len(lease.path) and Trail.of(self._stats.counts).leads_to(lease.url)

    def _is_query(self, url: str) -> bool:
        """Return whether a URL is the first page of a query to a SPARQL endpoint."""
        now = self._context.now
        return bool(now.icd.sources.sparql) and url in _first_pages(now.scope.spelling, now.icd.sources.sparql)


_WRONG_QUERY = frozenset({400, 406, 413, 414, 415, 422})


def _of_query(page: Page, found: PageAnalysis, rows: int | None) -> Verdict | None:
    """Return what became of a query by its first page; None where that is as with other seeds."""
    if page.status in _WRONG_QUERY:
        return Verdict.QUERY_REFUSED
    if not 200 <= page.status < 300 or found.document is None:
        return None
    return Verdict.NO_RESULTS if rows is None else Verdict.FETCHED if rows else Verdict.NO_ROWS


def _followed(discovered: DiscoveredLinks) -> int:
    return sum(offer.kind == "page" for offer in discovered.offers)


def _refused(found: PageAnalysis, discovered: DiscoveredLinks) -> str:
    """Return why no link of a page is followed, empty where some are or none is to be."""
    if _followed(discovered):
        return ""
    refused = Counter(str(each.reason) for each in found.refused)
    refused.update({reason: len(places) for reason, places in discovered.refused.items()})
    return main_reason(refused, has_objects=bool(found.metadata.objects))


def _on_site(lease: Lease, page: Page, found: PageAnalysis, links: int) -> Mapping[str, float]:
    """Return what a page adds to the counts of its site. What a wall shows of an article is no object of the site."""
    said, document = found.metadata, found.document
    if document is None:  # It is remembered.
        return seeds.on_site(lease.queue, len(said.objects), said.relevant, links)
    objects = 0 if len(said.objects) == 1 and seeds.wall(page, said) is Verdict.LOGIN else len(said.objects)
    relevant = said.relevant if len(document.text) >= _TELLING else None
    return seeds.on_site(lease.queue, objects, relevant, links, has_text=_has_text(document))


def _has_text(document: Document) -> bool:
    """Return whether a page says something beside its links, and the blocks and teasers that belong to these."""
    around = {each.context or each.anchor for each in document.outlinks}
    return len(document.text) - sum(map(len, around)) >= _TELLING


@lru_cache(maxsize=8)
def _canonical(spelling: Spelling, given: tuple[str, ...]) -> frozenset[str]:
    return frozenset(filter(None, map(spelling.url, given)))


@lru_cache(maxsize=8)
def _first_pages(spelling: Spelling, queries: tuple[SparqlSource, ...]) -> frozenset[str]:
    return frozenset(filter(None, (spelling.url(each.url()) for each in queries)))

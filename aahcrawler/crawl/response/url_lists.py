"""Sitemaps, feeds that pages announce, and such listings of applications, in a crawl: where they lead.

Such a list is a URL of the frontier like any other, of the kind that counts as no page or a step of ``listings``; the
last hop of its path tells it. It is read as pages are, beside the event loop where that takes long, and what it holds
is offered piece by piece, so that a crash leaves some of it offered, and the list to be fetched again.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from aahcrawler.crawl.capture.description import malformed
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.response.listings import MAX_HOSTS, Contents, ListingStep
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease, Offer, Offered, Purpose
from aahcrawler.helper.assistance import Failure
from aahcrawler.page import Page
from aahcrawler.pipeline.links import Admitted
from aahcrawler.pipeline.score import ScoredPage, score, understand_list
from aahcrawler.scope import SourceRefusal
from aahcrawler.scores import Source
from aahcrawler.urls import queue_of

logger = logging.getLogger(__name__)

MAX_NESTED = 500
"""How many sitemaps that other sitemaps of a host name are asked for."""
DEEPEST = 5
"""How many sitemaps may lead to one another."""


class UrlLists:
    """Offers what lists hold, as far as the crawl wants it."""

    def __init__(self, context: CurrentContext, writer: StoreWriter, reading: PageReading) -> None:
        self._context = context
        self._writer = writer
        self._reading = reading
        self._nested: OrderedDict[str, int] = OrderedDict()

    async def understood(self, lease: Lease, page: Page, stats: Stats) -> Sequence[ScoredPage]:
        """Return what a list holds, in pieces, and count what is wrong with it.

        Of one whose reading the clock ended that is nothing. Raise ``StoppedError`` where the crawl ended before.
        """
        known = self._context.now

        def work(page: Page) -> tuple[ScoredPage, ...]:
            listed = understand_list(page, known.helper, known.scope.spelling, known.link_rules)
            return tuple(score(each, known.analysers, known.icd.scoring.weights) for each in listed)

        try:
            pieces = await self._reading.of(page, work)
        except WorkEndedError as error:
            logger.warning("%s: reading took too long: %s", lease.url, error)
            stats.merge({f"error:{type(error).__name__}": 1, f"failure:{Failure.SLOW}": 1})
            return ()
        for each in pieces:
            stats.merge(malformed(lease.url, lease.purpose, each.assistance.mistakes))
        return pieces

    async def offer(self, lease: Lease, pieces: Sequence[ScoredPage], stats: Stats) -> Contents:
        """Offer where a list leads; count what is refused, and how many URLs it has.

        Return what it lists; sitemaps that it names are part of that.
        """
        contents = Contents()
        context, frontier = self._context.now, self._writer.stores.frontier
        for piece in pieces:
            admitted = Admitted()
            stats.add("listed", len(piece.links))
            for refused in piece.assistance.refused:
                offer = Offer(refused.url, queue_of(refused.url), 0.0, lease.depth + 1, via=lease.url)
                admitted.rejected.setdefault(str(refused.reason), []).append(offer)
            admitted.add(self._vouched(lease, piece, admitted.rejected), context.link_rules)
            stats.merge(admitted.counts)
            await self._keep(lease, admitted.rejected)
            answers = await self._writer.call(frontier.offer, admitted.offers)
            added = [offer for offer, answer in zip(admitted.offers, answers, strict=True) if answer is Offered.ADDED]
            await self._log(lease, [(offer.url, offer.score) for offer in added if offer.kind == "page"])
            contents = contents.with_more([*(link.url for link in piece.links), *piece.assistance.sitemaps], len(added))
        return contents

    async def _keep(self, lease: Lease, rejected: dict[str, list[Offer]]) -> None:
        log = self._writer.stores.refusals
        if log is not None and rejected:
            await self._writer.write(log.refused, lease.url, None, rejected)

    async def _log(self, lease: Lease, new: Sequence[tuple[str, float]]) -> None:
        source = Source.SITEMAP if lease.purpose is Purpose.SITEMAP else Source.FEED
        await self._writer.write(self._writer.stores.scores.offered, source, new)

    def _vouched(self, lease: Lease, piece: ScoredPage, rejected: dict[str, list[Offer]]) -> Iterator[Offer]:
        """Yield what a list may lead to: a feed to anything, a sitemap to pages of the hosts that it speaks for.

        The rest is added to what is ``rejected``, by reason.
        """
        hosts = _spoken_for(lease) if lease.purpose is Purpose.SITEMAP else None
        is_complete, helper = ListingStep.of(lease) is not None, self._context.now.helper
        for offer in self._offers(lease, piece):
            if hosts is not None and _host(offer.url) not in hosts:
                rejected.setdefault(SourceRefusal.NOT_VOUCHED, []).append(offer)
            elif is_complete and offer.kind == "page" and helper.is_intermediate(offer.url):
                rejected.setdefault(SourceRefusal.LISTED_LINKS, []).append(offer)
            elif offer.kind == "requisite" and self._is_beyond(lease):
                rejected.setdefault(SourceRefusal.TOO_MANY_SITEMAPS, []).append(offer)
            else:
                yield offer

    def _offers(self, lease: Lease, piece: ScoredPage) -> Iterator[Offer]:
        """Yield links to pages, then sitemaps; the robots.txt that vouches for one vouches for those it names."""
        hop = Hop.SITEMAP if lease.purpose is Purpose.SITEMAP else Hop.FEED
        rules = self._context.now.link_rules
        for link in piece.links:
            yield rules.offer(link.url, lease, link.score, depth=lease.depth + 1, hop=hop)
        for url in piece.assistance.sitemaps:
            offer = rules.offer(url, lease, lease.score, kind="requisite", hop=Hop.SITEMAP)
            yield replace(offer, via=lease.via)

    def _is_beyond(self, lease: Lease) -> bool:
        """Count one more sitemap that another one names, and say whether it is one too many."""
        host = _host(lease.via or lease.url)
        number = self._nested[host] = self._nested.pop(host, 0) + 1
        while len(self._nested) > MAX_HOSTS:
            self._nested.popitem(last=False)
        return _sitemaps_in_a_row(lease.path) >= DEEPEST or number > MAX_NESTED


def _sitemaps_in_a_row(path: str) -> int:
    bare = path.upper().replace(Hop.REDIRECT, "")
    return len(bare) - len(bare.rstrip(Hop.SITEMAP))


def _spoken_for(lease: Lease) -> frozenset[str]:
    """Return the hosts that a sitemap may speak for: its own, and the one whose robots.txt names it (sitemaps.org)."""
    return frozenset({_host(lease.url), _host(lease.via)} - {""})


def _host(url: str) -> str:
    """Return the host of a URL; http and https, and with and without ``www.``, are the same site."""
    return urlsplit(url).netloc.removeprefix("www.")

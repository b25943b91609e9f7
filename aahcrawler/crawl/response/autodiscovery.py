"""Offer what sites announce: sitemaps in their robots.txt, feeds on their pages; each once, some of each host."""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice

from aahcrawler import urls
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.robots_txt import MOST_NAMED
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease, Offer

MOST_FEEDS = 10
"""How many feeds that pages of a host announce are asked for."""
MOST_HOSTS = 10_000

_ROBOTS = "/robots.txt"
_USUAL = "/sitemap.xml"


class AnnouncedSitemaps:
    """Offers the sitemaps of hosts whose pages are fetched, as far as the definition asks for them."""

    def __init__(self, context: CurrentContext, writer: StoreWriter) -> None:
        self._context = context
        self._writer = writer
        self._known: OrderedDict[str, None] = OrderedDict()

    async def of(self, lease: Lease, named: Iterable[str]) -> None:
        """Offer what the robots.txt of a page's host names; where that is nothing, what is there as a rule.

        Each host's are offered once, with the score of the page. ``named`` are URLs as they are written.
        """
        wanted, origin = self._context.now.icd.sources.sitemaps, urls.origin(lease.url)
        if wanted == "off" or lease.kind != "page" or origin in self._known:
            return
        self._known[origin] = None
        while len(self._known) > MOST_HOSTS:
            self._known.popitem(last=False)
        found = tuple(islice(filter(None, (urls.resolve(origin + "/", each.strip()) for each in named)), MOST_NAMED))
        if not found and wanted == "guess":
            found = (origin + _USUAL,)
        offers = [self._offer(lease, origin, url) for url in dict.fromkeys(found)]
        scope = self._context.now.scope
        admitted = [offer for offer in offers if scope.admit(offer) is None]
        if admitted:
            await self._writer.call(self._writer.stores.frontier.offer, admitted)

    def _offer(self, lease: Lease, origin: str, url: str) -> Offer:
        offer = self._context.now.link_rules.offer(url, lease, lease.score, kind="requisite", hop=Hop.SITEMAP)
        return replace(offer, via=origin + _ROBOTS)


class AnnouncedFeeds:
    """Makes offers of the feeds that pages announce."""

    def __init__(self, context: CurrentContext) -> None:
        self._context = context
        self._of_host: OrderedDict[str, set[str]] = OrderedDict()

    def of(self, lease: Lease, feeds: Iterable[str]) -> Iterator[Offer]:
        """Yield the feeds of a page that no page of its host has announced before, with the score of the page."""
        for url in feeds:
            host = urls.origin(lease.url)
            known = self._of_host[host] = self._of_host.pop(host, set())
            while len(self._of_host) > MOST_HOSTS:
                self._of_host.popitem(last=False)
            if url not in known and len(known) < MOST_FEEDS:
                known.add(url)
                yield self._context.now.link_rules.offer(url, lease, lease.score, kind="requisite", hop=Hop.FEED)

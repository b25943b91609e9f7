"""What sites list themselves: sitemaps, feeds and listings of applications, when they are due and where they lead.

Such a list is a URL of the frontier like any other, of the kind that counts as no page or a step of ``listings``; the
last hop of its path tells it. It is read as pages are, beside the event loop where that takes long, and what it holds
is offered piece by piece, so that a crash leaves some of it offered, and the list to be fetched again.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from itertools import islice
from typing import Final, Self
from urllib.parse import parse_qs, urlencode, urlsplit

from aahcrawler import urls
from aahcrawler.crawl.capture.archiver import malformed
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import LISTING, UNSCORED, Lease, Offer, Offered, Purpose
from aahcrawler.helper.assistance import Failure
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import ScoredPage, score, understand_list
from aahcrawler.pipeline.links import Admitted
from aahcrawler.scope import SourceRefusal
from aahcrawler.scores import Source
from aahcrawler.urls import queue_of
from aahcrawler.wire.robots_txt import MAX_NAMED
from knowledge_base.model import Application, Listing
from knowledge_base.url_rules import ParsedUrl

logger = logging.getLogger(__name__)

MAX_PAGES: Final = 1_000
"""How many pages of one listing are asked for."""
MAX_KNOWN: Final = 10
"""How many of them in a row may be known already."""
MAX_ROOTS: Final = 10
"""How many installations of one application on a host have their listings asked for."""

_EMPTY: Final = "nothing listed"
_SAME: Final = "the same page again"
_HOPS: Final = {"sitemap": Hop.SITEMAP, "feed": Hop.FEED, "page": Hop.NAVIGATION}


@dataclass(frozen=True, slots=True)
class ListingStep:
    """A page of one listing of an application: the pages are counted from 1, ``root`` is the URL of its front page.

    ``before`` is a digest of the first URL that the page before lists, empty where there is none.

    >>> ListingStep("https://a.test/", "WordPress", "feed", 2).via
    'https://a.test/#application=WordPress&listing=feed&page=2'
    """

    root: str
    application: str
    listing: str
    page: int = 1
    before: str = ""

    @property
    def via(self) -> str:
        """The ``via`` by which a URL of the frontier is known as this step."""
        fields = {"application": self.application, "listing": self.listing, "page": self.page}
        before = {"before": self.before} if self.before else {}
        return f"{self.root}#{urlencode(fields | before)}"

    @classmethod
    def of(cls, queued: Lease | Offer) -> Self | None:
        """Return the step that a leased or queued URL is, None for any other URL."""
        root, sign, _ = queued.via.partition(LISTING)
        if not sign:
            return None
        fields = parse_qs(queued.via.partition("#")[2])
        name, listing, page, before = (fields.get(key, [""])[0] for key in ("application", "listing", "page", "before"))
        return cls(root, name, listing, int(page), before) if page.isascii() and page.isdigit() else None


@dataclass(frozen=True, slots=True)
class Contents:
    """The content of a page of a listing: the number of URLs, that of new ones among them, and the first one."""

    listed: int = 0
    new: int = 0
    first: str = ""

    def with_more(self, urls_of_piece: Sequence[str], new: int) -> Self:
        """Return the contents with those of another piece of the same response."""
        first = self.first or next(iter(urls_of_piece), "")
        return replace(self, listed=self.listed + len(urls_of_piece), new=self.new + new, first=first)


class Listings:
    """Leads from one step to the next, as long as the listings of an application bring anything new.

    A listing that can be read makes those behind it needless; one that cannot is counted and reported, and the next one
    is asked for.
    """

    def __init__(self, context: CurrentContext, writer: StoreWriter) -> None:
        self._context = context
        self._writer = writer
        self._begun: OrderedDict[tuple[str, str], list[str]] = OrderedDict()

    async def begin(self, lease: Lease, status: int, metadata: Metadata) -> None:
        """Ask for the listings of an application whose front page was understood, each installation's once."""
        application = self._application(metadata.application)
        if application is None or not lease.is_page or metadata.trap or not 200 <= status < 300:
            return
        depth = self._context.now.icd.scope.depth
        found = {link.action for link in metadata.links if link.action is not None}
        is_needed = any(found.isdisjoint(listing.when_none) for listing in self._wanted(application))
        if not is_needed or (depth is not None and lease.depth >= depth):
            return
        if application.begins_at(ParsedUrl.parse(lease.url), metadata.level) and self._is_new(application, lease.url):
            await self._ask(lease, application, lease.url, 0)

    async def read(self, lease: Lease, status: int, contents: Contents) -> None:
        """Go on after a page of a listing was answered, as far as it brought anything new."""
        step = ListingStep.of(lease)
        if step is None:
            return
        begins = blake2s(contents.first.encode("utf-8", "replace"), digest_size=4).hexdigest()
        if not 200 <= status < 300:
            await self.failed(lease, f"status {status}")
        elif not contents.listed:
            await self.failed(lease, _EMPTY)
        elif step.before == begins:
            await self.failed(lease, _SAME)
        else:
            await self._count(step, "read")
            application = self._application(step.application)
            listing = _named(application, step.listing)
            tells_first = listing is not None and listing.oldest_first
            if application is not None and (contents.new or (step.page == 1 and not tells_first)):
                await self._ask_page(lease, application, listing, replace(step, page=step.page + 1, before=begins))

    async def redirected(self, lease: Lease, offers: Sequence[Offer]) -> Sequence[Offer]:
        """Ask for what a listing redirects to; go on behind it where that is known already, or refused.

        Return what of the ``offers`` is still to be made: all, where the lease is of no listing.
        """
        step = ListingStep.of(lease)
        if step is None:
            return offers
        moved = [replace(offer, via=lease.via) for offer in offers]
        if not moved or Offered.ADDED not in await self._offer(moved):
            await self._go_on_behind(lease, step)
        return ()

    async def _go_on_behind(self, lease: Lease, step: ListingStep) -> None:
        application = self._application(step.application)
        listing = _named(application, step.listing)
        if application is None or listing is None:
            return
        after = ListingStep(step.root, step.application, step.listing, step.page + 1)
        if not listing.is_paged or not await self._ask_page(lease, application, listing, after):
            await self._ask(lease, application, step.root, application.listings.index(listing) + 1)

    async def failed(self, lease: Lease, reason: str) -> None:
        """Go on after a listing that could not be had, or not be read. A further page of one that was read ends it.

        Where all pages are the same, the server knows no pages, and the next listing is asked for as well.
        """
        step = ListingStep.of(lease)
        if step is None:
            return
        is_end = step.page > 1 and (reason.startswith("status 4") or reason == _EMPTY)
        if not is_end:
            logger.warning("%s: listing %s of %s: %s", lease.url, step.listing, step.application, reason)
            await self._count(step, reason)
        application = self._application(step.application)
        listing = _named(application, step.listing)
        if application is not None and listing is not None and (step.page == 1 or reason == _SAME):
            await self._ask(lease, application, step.root, application.listings.index(listing) + 1)

    def _application(self, name: str | None) -> Application | None:
        return self._context.now.helper.application(name) if name is not None else None

    def _wanted(self, application: Application) -> Sequence[Listing]:
        sources = self._context.now.icd.sources
        if sources.listings == "off":
            return ()
        return [each for each in application.listings if each.kind != "feed" or sources.feeds != "off"]

    def _is_new(self, application: Application, root: str) -> bool:
        """Note the root of an installation; say whether none was known that it lies in."""
        key = urls.origin(root), application.name
        known = self._begun[key] = self._begun.pop(key, [])
        while len(self._begun) > MAX_HOSTS:
            self._begun.popitem(last=False)
        if len(known) >= MAX_ROOTS or any(root.startswith(each) for each in known):
            return False
        known.append(_folder(root))
        return True

    async def _ask(self, lease: Lease, application: Application, root: str, first: int) -> None:
        """Offer the first page of a listing, of the first one from the ``first`` on that can be."""
        wanted = self._wanted(application)
        for listing in application.listings[first:]:
            step = ListingStep(root, application.name, listing.name)
            if listing in wanted and await self._ask_page(lease, application, listing, step):
                return

    async def _ask_page(
        self, lease: Lease, application: Application, listing: Listing | None, step: ListingStep
    ) -> bool:
        """Offer a page of a listing, or the next one that is not known; False where there is none that may be had."""
        if listing is None:
            return False
        last = min(step.page + MAX_KNOWN - 1, MAX_PAGES) if listing.is_paged else 1
        for number in range(step.page, last + 1):
            offer = self._made(lease, replace(step, page=number), listing)
            refusal = "no URL" if offer is None else self._context.now.scope.admit(offer)
            if offer is None or refusal is not None:
                logger.info("%s: listing %s of %s: %s", step.root, listing.name, application.name, refusal)
                await self._count(step, str(refusal))
                return False
            if (await self._offer([offer]))[0] in (Offered.ADDED, Offered.BLOCKED):
                return True
        return False

    def _made(self, lease: Lease, step: ListingStep, listing: Listing) -> Offer | None:
        url = urls.resolve(step.root, listing.reference(step.page))
        if url is None or urls.origin(url) != urls.origin(step.root):
            return None
        known = self._context.now
        if listing.kind == "page":
            url = known.scope.spelling(known.helper.canonical(url))
        before = replace(lease, path=_stem(lease.path)) if ListingStep.of(lease) else lease
        return replace(known.link_rules.offer(url, before, UNSCORED, hop=_HOPS[listing.kind]), via=step.via)

    async def _offer(self, offers: Sequence[Offer]) -> Sequence[Offered]:
        return await self._writer.call(self._writer.stores.frontier.offer, offers)

    async def _count(self, step: ListingStep, what: str) -> None:
        await self._writer.count({f"listing:{step.application}, {step.listing}: {what}": 1})


def _named(application: Application | None, name: str) -> Listing | None:
    listings = application.listings if application is not None else ()
    return next((each for each in listings if each.name == name), None)


def _folder(url: str) -> str:
    return url.partition("?")[0].rpartition("/")[0] + "/"


def _stem(path: str) -> str:
    """Return the hops that led to the front page, of those that led to one of its listings."""
    return path.rstrip(Hop.REDIRECT + Hop.REDIRECT.lower())[:-1]


MAX_FEEDS = 10
"""How many feeds that pages of a host announce are asked for."""
MAX_HOSTS = 10_000

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
        if wanted == "off" or not lease.is_page or origin in self._known:
            return
        self._known[origin] = None
        while len(self._known) > MAX_HOSTS:
            self._known.popitem(last=False)
        found = tuple(islice(filter(None, (urls.resolve(origin + "/", each.strip()) for each in named)), MAX_NAMED))
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
            while len(self._of_host) > MAX_HOSTS:
                self._of_host.popitem(last=False)
            if url not in known and len(known) < MAX_FEEDS:
                known.add(url)
                yield self._context.now.link_rules.offer(url, lease, lease.score, kind="requisite", hop=Hop.FEED)


MAX_NESTED = 500
"""How many sitemaps that other sitemaps of a host name are asked for."""
MAX_IN_A_ROW = 5
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
        return _sitemaps_in_a_row(lease.path) >= MAX_IN_A_ROW or number > MAX_NESTED


def _sitemaps_in_a_row(path: str) -> int:
    bare = path.upper().replace(Hop.REDIRECT, "")
    return len(bare) - len(bare.rstrip(Hop.SITEMAP))


def _spoken_for(lease: Lease) -> frozenset[str]:
    """Return the hosts that a sitemap may speak for: its own, and the one whose robots.txt names it (sitemaps.org)."""
    return frozenset({_host(lease.url), _host(lease.via)} - {""})


def _host(url: str) -> str:
    """Return the host of a URL; http and https, and with and without ``www.``, are the same site."""
    return urlsplit(url).netloc.removeprefix("www.")

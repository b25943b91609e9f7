"""Where an answer leads: its links as offers to the frontier, as far as the crawl wants them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from aahcrawler.crawl.capture.recrawl import RecrawlComparison
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.response.autodiscovery import AnnouncedFeeds
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.hops import Hop, redirects_in_a_row
from aahcrawler.frontier.protocol import Lease, Offer
from aahcrawler.metadata import Link, LinkType, Metadata
from aahcrawler.scope import SourceRefusal
from aahcrawler.traps import Trap

SCOPE = "scope:"
"""What the reasons begin with for which a URL is blocked that was queued when the scope changed."""

MOST_REDIRECTS = 20
"""How many redirects in a row are followed, as by browsers (WHATWG Fetch, section 4.4)."""


@dataclass(frozen=True, slots=True)
class DiscoveredLinks:
    """Where an answer leads: what is offered, requisites too.

    ``pages`` are its links to pages in their order, and ``refused`` the positions of those that are not offered, by
    reason. ``redirect`` is what it redirects to, None where that is nothing or is refused. ``rejected`` are the offers
    of all kinds that the scope refuses, by reason.
    """

    offers: Sequence[Offer] = ()
    pages: Sequence[Link] = ()
    refused: Mapping[str, Sequence[int]] = field(default_factory=dict)
    redirect: str | None = None
    rejected: Mapping[str, Sequence[Offer]] = field(default_factory=dict)


NO_LINKS = DiscoveredLinks()

_TYPES = (LinkType.PAGE, LinkType.REQUISITE, LinkType.REDIRECT, LinkType.FEED)
_SOURCES = {"feed": Hop.FEED, "document": Hop.DOCUMENT}


class LinkDiscovery:
    """Turns links into offers; every one that is refused is counted by its reason."""

    def __init__(self, context: CurrentContext, requisites_spent: Callable[[], bool]) -> None:
        self._context = context
        self._requisites_spent = requisites_spent
        self._feeds = AnnouncedFeeds(context)

    def of(self, lease: Lease, comparison: RecrawlComparison, said: Metadata, stats: Stats) -> DiscoveredLinks:
        """Return what an answer leads to, as far as scope and limits admit it; errors lead nowhere."""
        if comparison.page.status >= 400:
            return NO_LINKS
        context = self._context.now
        pages, needed, targets, feeds = ([link for link in said.links if link.type is kind] for kind in _TYPES)
        rejected: dict[str, list[Offer]] = {}
        offers, refused = self._followed(lease, said, pages, rejected)
        for reason, positions in refused.items():
            stats.add(f"refused:{reason}", len(positions))
        redirects = list(self.admitted(self._redirect(lease, targets, stats), stats, rejected))
        offers += redirects
        offers += self.admitted(self._feeds.of(lease, (link.url for link in feeds)), stats, rejected)
        if not self._requisites_spent():
            wanted = (
                context.offer(link.url, lease, lease.score, kind="requisite", hop=Hop.REQUISITE) for link in needed
            )
            offers += self.admitted(wanted, stats, rejected)
        return DiscoveredLinks(offers, pages, refused, redirects[0].url if redirects else None, rejected)

    def _followed(
        self, lease: Lease, said: Metadata, links: Sequence[Link], rejected: dict[str, list[Offer]]
    ) -> tuple[list[Offer], dict[str, list[int]]]:
        """Return the offers that links to pages become, and the positions of those that do not, by reason."""
        context, unwanted = self._context.now, self._unwanted(said)
        offers: list[Offer] = []
        refused: dict[str, list[int]] = {}
        for position, link in enumerate(links):
            offer = self._context.now.offer(
                link.url, lease, link.score or 0.0, depth=lease.depth + 1, hop=_hop(said, link)
            )
            refusal = unwanted or context.scope.admit(offer, said.language) or self._trapped(offer, said.trap)
            if refusal is None:
                offers.append(offer)
            else:
                refused.setdefault(refusal, []).append(position)
                if unwanted is None:
                    rejected.setdefault(refusal, []).append(offer)
        return offers, refused

    def _unwanted(self, said: Metadata) -> SourceRefusal | None:
        sources = self._context.now.icd.sources
        return SourceRefusal.SOURCE if said.source == "feed" and sources.feeds == "off" else None

    def _trapped(self, offer: Offer, of_page: str = "") -> str | None:
        """Return why a link to a page is a part of a trap: for where it stands (``of_page``), or where it leads."""
        if offer.kind != "page":
            return None
        if of_page == Trap.SOFT_404 or (of_page and not is_chosen(offer.path)):
            return of_page
        return self._context.now.traps.admit(offer.url, trusted=is_chosen(offer.path))

    def _redirect(self, lease: Lease, targets: Sequence[Link], stats: Stats) -> list[Offer]:
        if targets and redirects_in_a_row(lease.path) >= MOST_REDIRECTS:
            stats.add("refused:redirects")
            return []
        to = (self._target(lease, link.url) for link in targets)
        return [self._context.now.offer(url, lease, lease.score, kind=lease.kind, hop=Hop.REDIRECT) for url in to]

    def _target(self, lease: Lease, url: str) -> str:
        """Return what a redirect leads to: as it is where its spelling would be that of the page which redirects."""
        spelled = self._context.now.scope.spelling(url) if lease.kind == "page" else url
        return url if spelled == lease.url else spelled

    def admitted(self, offers: Iterable[Offer], stats: Stats, rejected: dict[str, list[Offer]]) -> Iterator[Offer]:
        """Yield the offers that the crawl wants; the others are counted, and put with their reasons."""
        scope = self._context.now.scope
        for offer in offers:
            refusal = scope.admit(offer) or self._trapped(offer)
            if refusal is None:
                yield offer
            else:
                stats.add(f"refused:{refusal}")
                rejected.setdefault(refusal, []).append(offer)


def _hop(said: Metadata, link: Link) -> Hop:
    return _SOURCES.get(said.source) or (Hop.LINK if link.action is None else Hop.NAVIGATION)


def is_chosen(path: str) -> bool:
    """Say whether the last hop to a page was a link that navigation of a known application chose."""
    return path[-1:].upper() == Hop.NAVIGATION

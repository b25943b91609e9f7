"""Where responses lead: their links as offers, as far as the scope and the session of a site admit them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from aahcrawler.crawl.response.response_steps import LeaseHandling
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Lease, Offer
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from aahcrawler.page.requisites import foreign_links
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.pipeline.links import NO_LINKS, DiscoveredLinks, discover_links
from aahcrawler.scope import Refusal, Spelling
from aahcrawler.urls import queue_of


class LinkDiscovery(LeaseHandling):
    """Finds where responses lead, and logs the links that are refused."""

    def discover(self, lease: Lease, page: Page, metadata: Metadata, stats: Stats) -> DiscoveredLinks:
        """Return what a response leads to, and count in ``stats`` what of that is refused; errors lead nowhere."""
        if page.status >= 400:
            return NO_LINKS
        found = discover_links(
            lease,
            metadata,
            self._context.now.link_rules,
            lambda feeds: self._steps.announced_feeds.of(lease, feeds),
            wants_requisites=not self._lifecycle.requisites_spent,
        )
        if ending := self._steps.sessions.ending(lease.url, found.pages):
            stats.add("refused:logout", sum(offer.url in ending for offer in found.offers))
            refused = {**found.rejected, "logout": [offer for offer in found.offers if offer.url in ending]}
            offers = [offer for offer in found.offers if offer.url not in ending]
            found = replace(found, offers=offers, rejected=refused)
        stats.merge(found.counts)
        if lease.is_page and page.is_html:
            foreign = page.attempt("foreign links", lambda: page.once(foreign_links), dict[str, int])
            stats.merge({f"refused:{Refusal.SCHEME}:{name}": number for name, number in foreign.items()})
        return found

    async def keep_refused(self, lease: Lease, found: PageAnalysis | None, discovered: DiscoveredLinks) -> None:
        """Write refused links to their log, where people look and where a change of the definition finds them."""
        log = self._writer.stores.refusals
        refused = _refused(lease, found, discovered, self._context.now.scope.spelling)
        if log is not None and refused:
            language = None if found is None else found.metadata.language
            await self._writer.write(log.refused, lease.url, language, refused)


def _refused(
    lease: Lease, found: PageAnalysis | None, discovered: DiscoveredLinks, spelling: Spelling
) -> Mapping[str, Sequence[Offer]]:
    """Return every link of a page that was refused, by reason: all that the counts of refused links count."""
    refused = {reason: list(offers) for reason, offers in discovered.rejected.items()}
    urls = {
        str(reason): [discovered.pages[position].url for position in positions]
        for reason, positions in discovered.refused.items()
        if reason not in refused
    }
    for each in () if found is None else found.refused:
        urls.setdefault(str(each.reason), []).append(spelling(each.url) or each.url)
    for reason, named in urls.items():
        offers = [Offer(url, queue_of(url), 0.0, lease.depth + 1, via=lease.url) for url in named]
        refused.setdefault(reason, []).extend(offers)
    return refused

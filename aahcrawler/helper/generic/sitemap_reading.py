"""Read a sitemap, or a feed that is read as one, in pieces."""

from collections.abc import Iterable, Iterator
from itertools import islice

from aahcrawler.helper.assistance import Assistance
from aahcrawler.helper.links.link_collection import LinkCollector
from aahcrawler.helper.site_memory.sites import Sites
from aahcrawler.page import Page
from aahcrawler.page.sitemaps import Sitemap, SitemapEntry
from online_analysis.document import Document, Outlink

AT_ONCE = 1_000
"""Entries of one piece."""


def read(page: Page, sites: Sites) -> Iterator[Assistance]:
    """Yield the links of a sitemap, some of its entries at a time: links to pages, and other sitemaps.

    URLs are in the canonical form of the application of their site, if known; junk is refused. What was wrong with the
    sitemap comes last.
    """
    sitemap = Sitemap(page)
    entries = iter(sitemap)
    while piece := tuple(islice(entries, AT_ONCE)):
        yield _piece(page, piece, sites)
    if sitemap.mistakes.any:
        yield Assistance(None, Document(page.url, None, "", (), ()), mistakes=sitemap.mistakes)


def _piece(page: Page, entries: Iterable[SitemapEntry], sites: Sites) -> Assistance:
    listing, nested = LinkCollector(sites), dict[str, None]()
    for entry in entries:
        if entry.is_sitemap:
            nested[entry.url] = None
        else:
            context = f"{entry.title} {entry.summary}".strip()
            listing.add(Outlink(entry.url, entry.title, context, date=entry.changed))
    document = Document(page.url, None, "", (), tuple(listing.outlinks.values()))
    return Assistance(None, document, refused=tuple(listing.refused.values()), sitemaps=tuple(nested))

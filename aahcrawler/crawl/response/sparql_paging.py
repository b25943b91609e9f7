"""The pages of queries to SPARQL endpoints: which one follows an answer, and what endpoints say of theirs."""

import logging
from dataclasses import replace
from typing import Final

from aahcrawler.crawl.capture.recrawl import RecrawlComparison
from aahcrawler.crawl.core.stores import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.documents import is_rdf
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Page
from aahcrawler.pipeline.links import DiscoveredLinks
from online_analysis.icd import SparqlSource

logger = logging.getLogger(__name__)

_MOST_TOLD: Final = 300


class SparqlPaging:
    """Adds to where an answer leads the page of the query that is behind it.

    The next page begins behind the rows that came, however many were asked for: an endpoint that gives fewer than that,
    as many do without a word, is asked for all of them nevertheless. A page without rows is the last one. A page that
    says the same as in a former crawl leads nowhere: the pages behind it are visited again as all pages are.
    """

    def __init__(self, context: CurrentContext) -> None:
        self._context = context

    def beyond(
        self, lease: Lease, comparison: RecrawlComparison, discovered: DiscoveredLinks, stats: Stats
    ) -> DiscoveredLinks:
        """Return where an answer leads, with the next page of its query, and count pages and what is wrong with them.

        An answer to another URL is returned as it is.
        """
        queries = self._context.now.icd.sources.sparql if lease.is_page else ()
        found = next(((each, at) for each in queries if (at := each.offset(lease.url)) is not None), None)
        if found is None:
            return discovered
        query, offset = found
        stats.add("sparql:pages")
        page = comparison.page
        if page.status >= 400:
            logger.warning("%s: no page of its query behind %d rows: %s", query.endpoint, offset, _said(page))
            stats.add("sparql:refused")
            return discovered
        if state := page.headers.get("x-sql-state"):
            told = f"{state} {page.headers.get('x-sql-message')}".strip()[:_MOST_TOLD]
            logger.warning("%s: says that its rows behind %d are not all: %s", query.endpoint, offset, told)
            stats.add("sparql:partial")
        if comparison.remembered:
            return discovered
        behind = self._behind(query, offset, page, stats)
        if behind is None:
            return discovered
        rules = self._context.now.link_rules
        url = rules.scope.spelling(query.url(behind))
        offer = rules.offer(url, lease, lease.score, depth=lease.depth, hop=Hop.NAVIGATION)
        refusal = rules.scope.admit(offer)
        if refusal is not None:
            logger.warning("%s: its rows behind %d are refused (%s)", query.endpoint, behind, refusal)
            return discovered
        return replace(discovered, offers=[*discovered.offers, offer])

    def _behind(self, query: SparqlSource, offset: int, page: Page, stats: Stats) -> int | None:
        """Return behind how many rows the next page begins, None where there is none.

        Of a graph nobody can tell how many solutions made it.
        """
        rows = None if page.transcript is None else page.transcript.entries
        if rows is None:
            logger.warning("%s: how many rows it has behind %d cannot be read", query.endpoint, offset)
            stats.add("sparql:unread")
            return None
        if offset % query.rows and rows:
            logger.info("%s: gives fewer rows than the %d it is asked for", query.endpoint, query.rows)
            stats.add("sparql:short")
        behind = offset + (query.rows if is_rdf(page) else rows)
        if not rows:
            return None
        if behind >= query.rows * query.pages:
            logger.warning("%s: rows behind %d are not asked for (sources.sparql.pages)", query.endpoint, behind)
            stats.add("sparql:bounded")
            return None
        return behind


def _said(page: Page) -> str:
    """Return the status of an answer and the beginning of what it says in words."""
    text = " ".join((page.tree.text_content() if page.is_html else page.text).split())
    return f"{page.status} {text[:_MOST_TOLD]}".strip()

"""The pages of queries to SPARQL endpoints: which one follows a response, and what endpoints say of theirs."""

import json
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final

from aahcrawler.crawl.capture.recrawl import RecrawlComparison
from aahcrawler.crawl.core.stores import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.documents import NotComparedError, Statements, is_rdf
from aahcrawler.documents.formats import RESULTS, format_of
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Page
from aahcrawler.pipeline.links import DiscoveredLinks
from online_analysis.icd import SparqlSource
from online_analysis.icd.source_fields import MAX_OFFSET, QueryPage

logger = logging.getLogger(__name__)

_MAX_TOLD_LENGTH: Final = 300


class SparqlPaging:
    """Adds to where a response leads the page of the query that is behind it.

    The next page begins behind the rows that came, however many were asked for: an endpoint that gives fewer than that,
    as many do without a word, is asked for all of them nevertheless. A page without rows is the last one. A page that
    says the same as in a former crawl leads nowhere: the pages behind it are visited again as all pages are. Behind
    ``MAX_OFFSET`` rows pages begin at the key of the last row, where the query and its rows allow that.
    """

    def __init__(self, context: CurrentContext, statements: Callable[[Page], Awaitable[Statements]]) -> None:
        """``statements`` reads what a document says."""
        self._context = context
        self._statements = statements
        self._told: set[str] = set()
        self._few: dict[str, tuple[int, int] | None] = {}

    async def beyond(
        self, lease: Lease, comparison: RecrawlComparison, discovered: DiscoveredLinks, stats: Stats
    ) -> DiscoveredLinks:
        """Return where a response leads, with the next page of its query, and count pages and what is wrong with them.

        A response to another URL is returned as it is.
        """
        queries = self._context.now.icd.sources.sparql if lease.is_page else ()
        found = next(((each, at) for each in queries if (at := each.page(lease.url)) is not None), None)
        if found is None:
            return discovered
        query, place = found
        offset = place.behind
        stats.add("sparql:pages")
        page = comparison.page
        if page.status >= 400:
            logger.warning("%s: no page of its query behind %d rows: %s", query.endpoint, offset, said(page))
            stats.add("sparql:refused")
            return discovered
        if state := page.headers.get("x-sql-state"):
            told = f"{state} {page.headers.get('x-sql-message')}".strip()[:_MAX_TOLD_LENGTH]
            logger.warning("%s: says that its rows behind %d are not all: %s", query.endpoint, offset, told)
            stats.add("sparql:partial")
        if comparison.remembered:
            return discovered
        self._tell_of_bound(query, page, stats)
        following = await self._following(query, place, page, stats)
        if following is None:
            return discovered
        behind = following.behind
        rules = self._context.now.link_rules
        url = rules.scope.spelling(query.url(following))
        offer = rules.offer(url, lease, lease.score, depth=lease.depth, hop=Hop.NAVIGATION)
        refusal = rules.scope.admit(offer)
        if refusal is not None:
            logger.warning("%s: its rows behind %d are refused (%s)", query.endpoint, behind, refusal)
            return discovered
        return replace(discovered, offers=[*discovered.offers, offer])

    async def _following(self, query: SparqlSource, place: QueryPage, page: Page, stats: Stats) -> QueryPage | None:
        """Return the page that follows one, None where there is none.

        Of a graph nobody can tell how many solutions made it.
        """
        rows = None if page.transcript is None else page.transcript.entries
        if rows is None:
            logger.warning("%s: how many rows it has behind %d cannot be read", query.endpoint, place.behind)
            stats.add("sparql:unread")
            return None
        if place.offset == place.behind and place.offset % query.rows and rows:
            logger.info("%s: gives fewer rows than the %d it is asked for", query.endpoint, query.rows)
            stats.add("sparql:short")
        if not rows:
            return None
        if is_rdf(page):
            self._look_at_graph(query, place, rows, stats)
        passed = query.rows if is_rdf(page) else rows
        behind = place.behind + passed
        if behind >= query.rows * query.pages:
            logger.warning("%s: rows behind %d are not asked for (sources.sparql.pages)", query.endpoint, behind)
            stats.add("sparql:bounded")
            return None
        following = QueryPage(behind, place.offset + passed, place.key)
        if following.offset + query.rows <= MAX_OFFSET:
            return following
        try:
            return await self._by_key(query, place, following, page)
        except _KeyError as error:
            self._tell_once(query, str(error), stats)
            return following

    def _look_at_graph(self, query: SparqlSource, place: QueryPage, statements: int, stats: Stats) -> None:
        """Tell of a graph with fewer statements than solutions were asked for, once there are more behind it."""
        name = f"{query.endpoint} {query.query}"
        before, self._few[name] = self._few.get(name), (place.behind, statements) if statements < query.rows else None
        if before is not None and before[0] + query.rows == place.behind:
            logger.warning(
                "%s: gave %d statements for the %d solutions behind %d, and has more behind these: where it cuts what "
                "it gives, solutions between are missing; write `rows` of no more than it gives",
                query.endpoint, before[1], query.rows, before[0],
            )  # fmt: skip
            stats.add("sparql:cut")

    def _tell_of_bound(self, query: SparqlSource, page: Page, stats: Stats) -> None:
        """Tell that an endpoint gives no more rows than it says, of a graph: its pages then miss what is beyond."""
        most = page.headers.get("x-sparql-maxrows").strip()
        if is_rdf(page) and re.fullmatch(r"[0-9]{1,9}", most) and int(most) < query.rows:
            logger.warning(
                "%s: gives %s solutions at most, and is asked for %d: what is between is missing; write `rows: %s`",
                query.endpoint, most, query.rows, most,
            )  # fmt: skip
            stats.add("sparql:cut")

    async def _by_key(self, query: SparqlSource, place: QueryPage, following: QueryPage, page: Page) -> QueryPage:
        """Return the page that follows, from the key of the last row on; raise ``_KeyError`` where that cannot be."""
        if query.keyed is None:
            raise _KeyError("its query is no SELECT without GROUP BY that has a variable of its rows first in ORDER BY")
        if format_of(page) not in RESULTS:
            raise _KeyError("its rows do not tell IRIs from text, as results in JSON and XML do")
        try:
            parts = (await self._statements(page)).parts
        except NotComparedError as error:
            raise _KeyError(f"its rows cannot be read ({error})") from error
        keys = Counter[str]()
        last = place.key
        for part, number in (parts or {}).items():
            key = str(json.loads(part).get(query.keyed.variable, ""))
            if not (key.startswith("<") and key.endswith(">") and key[1:-1] >= last):
                raise _KeyError(f"?{query.keyed.variable} has values that are no IRIs in the order of their characters")
            last = key[1:-1]
            keys[last] += number
        if not keys or (len(keys) == 1 and last != place.key):
            return following  # Rows of its only key may stand on the pages before, too.
        if last == place.key:
            return following
        found = query.behind_key(last, following.behind, keys[last])
        if found is None:
            raise _KeyError(f"the key {last[:100]} cannot be written into a query")
        return found

    def _tell_once(self, query: SparqlSource, why: str, stats: Stats) -> None:
        """Say why rows are passed over by OFFSET, which some endpoints refuse."""
        stats.add("sparql:unkeyed")
        if (told := f"{query.endpoint} {query.query} {why}") not in self._told:
            self._told.add(told)
            advice = "where the endpoint refuses that, divide the query by a FILTER"
            logger.warning(
                "%s: rows behind %d are passed over by OFFSET, as %s; %s", query.endpoint, MAX_OFFSET, why, advice
            )


class _KeyError(Exception):
    """Rows cannot be had by keys; the message says why."""


def said(page: Page) -> str:
    """Return the status of a response and the beginning of what it says in words."""
    text = " ".join((page.tree.text_content() if page.is_html else page.text).split())
    return f"{page.status} {text[:_MAX_TOLD_LENGTH]}".strip()

"""Handle responses: write, then queue, in an order that a crash cannot harm.

A page is understood first, and what was said of its links is logged. Then its response, its request and what was
understood are archived, all or none, and added to the history; then come its triples, and then, in one atomic step of
the frontier, its links, its counts and its end. A crash before that step leaves the lease to run out, so the page is
fetched again; after it this crawl never fetches it again.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from aahcrawler.archive.history import Former
from aahcrawler.archive.writer import WrittenCapture
from aahcrawler.crawl.browsing.page_rendering import NO_LOOK, Rendering
from aahcrawler.crawl.capture.archiver import Annotations, count, description, identified, object_counts
from aahcrawler.crawl.capture.recrawl import (
    UNCONDITIONAL,
    ConditionalRequest,
    RecrawlComparison,
    UnreadableCaptureError,
)
from aahcrawler.crawl.core.lifecycle import is_too_large
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.health.outages import is_full, is_local
from aahcrawler.crawl.response.lease_ending import FROM_SOURCES, LeaseEnding
from aahcrawler.crawl.response.link_discovery import LinkDiscovery
from aahcrawler.crawl.response.listings import Contents
from aahcrawler.crawl.response.page_analyser import with_look
from aahcrawler.crawl.response.repaired_pages import ReadPage
from aahcrawler.crawl.response.response_steps import LeaseHandling, ResponseSteps, RunningCrawl
from aahcrawler.crawl.response.session_probing import Ask
from aahcrawler.crawl.response.visit_noting import AnsweredVisit, ListedPages
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.exchange import Exchange, Truncation
from aahcrawler.frontier.protocol import Lease, Outcome, Purpose, State
from aahcrawler.helper.links.page_links import is_long
from aahcrawler.objects.vocabulary import crawl as crawl_iri
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline.analysis import PageAnalysis, ScoredPage, needs_requisites, of_redirect
from aahcrawler.pipeline.links import NO_LINKS, DiscoveredLinks
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.soft_errors import is_probe
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.politeness import AGAIN, retry_after

logger = logging.getLogger(__name__)


_LATE: Final = timedelta(days=2)
"""How long after a change a list may begin to tell of it."""


@dataclass(frozen=True, slots=True)
class HandledResponse:
    """What is written of a response, complete before the first of it is written.

    ``sent`` is the page as its server sent it, ``comparison`` has the one that was understood, and ``look`` what a
    browser made of it. ``found`` is None for what leads nowhere by itself, such as an image. ``stats`` are the counts
    that finishing the lease adds.
    """

    lease: Lease
    response: CapturedResponse
    sent: Page
    comparison: RecrawlComparison
    look: Rendering
    found: PageAnalysis | None
    discovered: DiscoveredLinks
    stats: Stats

    @property
    def page(self) -> Page:
        """The page as it was shown, with the status of this response."""
        return self.look.page or self.sent

    @property
    def rows(self) -> int | None:
        """How many rows or statements it has, None where it is no document of such."""
        transcript = self.comparison.page.transcript
        return None if transcript is None else transcript.entries

    @property
    def annotations(self) -> Annotations:
        """What is archived with the response: metadata of pages, files of objects, and sheets that lead somewhere.

        What is remembered is in the archive already.
        """
        metadata = None if self.found is None else self.found.metadata
        language = None if metadata is None else metadata.language
        is_stated = (
            metadata is not None
            and not self.comparison.remembered
            and (self.lease.is_page or needs_requisites(metadata) or bool(metadata.objects))
        )
        return Annotations(
            identified(self.sent.body, language, declared=self.sent.media_type),
            metadata if is_stated else None,
            self.comparison.original,
            self.look.resources,
        )


class ResponseHandler(LeaseHandling):
    """Handles responses and finishes their leases; nothing that it meets on a page stops the crawl.

    A disk that is full makes it wait. What does stop a crawl are other errors of this machine, as ``is_local`` tells
    it: the lease stays out then, and its URL is fetched again when the crawl goes on.
    """

    def __init__(self, crawl: RunningCrawl, steps: ResponseSteps) -> None:
        super().__init__(crawl, steps)
        self.ending = LeaseEnding(crawl, steps)
        self._discovery = LinkDiscovery(crawl, steps)

    def trap(self, lease: Lease) -> Trap | None:
        """Return why a leased page is not to be fetched any more, None where it is."""
        return self._steps.trap_detection.refused(lease)

    def is_excluded(self, lease: Lease) -> bool:
        """Return whether the institution excludes a URL that was queued before it did, or by another spelling."""
        return self._context.now.scope.exclusions.covers(lease.url)

    def worth(self, lease: Lease) -> float:
        """Return what part of its score a leased page is worth by now, less than 1 where it is to give way."""
        return self._steps.trap_detection.worth(lease)

    def ask_by(self, ask: Ask) -> None:
        """Ask for a page once more in this way, where its links may hold the id of a session."""
        self._steps.session_probing.ask_by(ask)

    def ends_session(self, lease: Lease) -> bool:
        """Return whether fetching a URL would log out of its site."""
        return self._steps.sessions.ends_session(lease.url)

    async def close(self) -> None:
        """Score what waits for its batch, read again what waits for that, and end the process that reads documents."""
        await self._steps.transcripts.close()
        if self._steps.rendering is not None:
            await self._steps.rendering.close()
        if self._steps.rereading is not None and self._lifecycle.failure is None:
            await self._steps.rereading.close()
        try:
            await self._steps.batch_scoring.end()
        except Exception as error:
            if not is_local(error):
                raise
            self._lifecycle.fail(error)

    async def on_response(
        self, lease: Lease, response: CapturedResponse, asked: ConditionalRequest = UNCONDITIONAL
    ) -> None:
        """Understand a response, which was ``asked`` for so, archive it, queue its links, and finish its lease."""
        politeness, rest = self._fetching.politeness, rest_asked(response)
        is_fetched = response.exchange.is_fetched
        if is_fetched:
            politeness.on_response(lease.url, response.status, response.captured.latency, rest)
        self._fetching.proxy_outage.over(response.exchange.proxy)
        try:
            if self._worth_another_try(lease, response, asked):
                await self._try_again(lease, response)
            else:
                await self._finish(lease, response, asked)
        except Exception as error:  # Whatever a page may provoke, the crawl goes on.
            await self.ending.on_error(lease, error)
        finally:
            response.exchange.close()
            if is_fetched:
                politeness.fetch_ended(lease.url)
            self._fetching.leases.finished(lease)

    async def on_snapshot(self, lease: Lease, response: CapturedResponse, asked: ConditionalRequest) -> None:
        """Understand and archive one of several captures of a URL, and queue its links; the lease goes on.

        Of lists the last one counts, and what is too large or of a type that is not wanted is passed over.
        """
        page = _page(lease, response)
        is_refused = self._context.now.scope.admit_type(lease, page.media_type) is not None
        try:
            if not lease.purpose.is_list and not is_refused and not self._is_too_large(lease, page, response):
                await self._finish(lease, response, asked, is_last=False)
        except Exception as error:  # Whatever a page may provoke, the other captures are looked at.
            if is_local(error) or is_full(error):
                raise
            logger.error("%s: unforeseen error", lease.url, exc_info=error)
        finally:
            response.exchange.close()

    async def put_aside(self, lease: Lease, response: CapturedResponse | WireError) -> None:
        """Archive what a site said in whose place a capture of a source was taken; the lease has ended."""
        self._fetching.politeness.fetch_ended(lease.url)
        if isinstance(response, WireError):
            await self._writer.archive_remains(response)
            return
        with closing(response.exchange) as exchange:
            await self._writer.archive(exchange)
            counts = {"requests": 1, "answers": 1, "bytes": exchange.response_size, f"status:{response.status}": 1}
        await self._writer.count(counts)

    def _worth_another_try(self, lease: Lease, response: CapturedResponse, asked: ConditionalRequest) -> bool:
        """Return whether asking again may help. A 304 to a request without conditions says nothing of its page."""
        unasked = response.status == HTTPStatus.NOT_MODIFIED and not asked.conditional
        broken = unasked or response.status in AGAIN or response.exchange.truncated is Truncation.DISCONNECT
        return broken and response.exchange.memento is None and lease.attempt < self._context.now.attempts

    async def _try_again(self, lease: Lease, response: CapturedResponse) -> None:
        await self._writer.archive(response.exchange)
        counts = {"requests": 1.0, "bytes": float(response.exchange.response_size)}
        await self._writer.count({**counts, **self._steps.budgets.used(lease.url, counts)})
        self._lifecycle.check_limits()
        is_cut = response.exchange.truncated is Truncation.DISCONNECT and response.status not in AGAIN
        reason = "disconnect" if is_cut else f"status {response.status}"
        await self.ending.retry(lease, reason, rest_asked(response), page=_page(lease, response))

    async def _finish(
        self, lease: Lease, response: CapturedResponse, asked: ConditionalRequest, *, is_last: bool = True
    ) -> None:
        """Compare a response with former crawls, understand it, write what is known of it, and finish its lease.

        Where it is not the last capture of its URL, the lease goes on, and traps learn nothing: captures of one URL
        are alike.
        """
        sent = _page(lease, response)
        if lease.purpose.is_list:
            await self._finish_list(lease, response, sent, asked)
            return
        if is_last and await self._is_refused(lease, sent, response):
            return
        stats = Stats()
        try:
            comparison, look = await self._compare(lease, response, sent, asked, stats)
        except UnreadableCaptureError:
            await self._ask_plainly(lease, response)
            return
        found = await self._understand(lease, comparison, look, stats, response.exchange)
        discovered = (
            NO_LINKS if found is None else self._discovery.discover(lease, look.page or sent, found.metadata, stats)
        )
        await asyncio.sleep(0)
        if lease.is_page and is_last:
            discovered = await self._learn(lease, response.status, comparison, found, discovered)
            discovered = await self._steps.sparql_paging.beyond(lease, comparison, discovered, stats)
        record = HandledResponse(lease, response, sent, comparison, look, found, discovered, stats)
        await self._write(record)
        if is_last:
            await self._end_with(record)
        else:
            await self._writer.call(self._frontier.offer, discovered.offers)
            await self._writer.count(stats.counts)

    async def _compare(
        self, lease: Lease, response: CapturedResponse, sent: Page, asked: ConditionalRequest, stats: Stats
    ) -> tuple[RecrawlComparison, Rendering]:
        """Compare a page, as a browser shows it where one is to, with former crawls, and count its response.

        The page of the comparison has its transcript, and the former page is as the present reader reads it. Raise
        ``UnreadableCaptureError`` where the response stands for a former page that cannot be read from the archive.
        """
        recrawl, rendering = self._steps.recrawl, self._steps.rendering
        as_sent = recrawl.compare(lease, sent, response.exchange, asked, self._context.now.fingerprint)
        is_shown = rendering is not None and response.exchange.memento is None  # A browser would ask sites of today.
        look = await rendering.of(lease, response, as_sent) if is_shown and rendering is not None else NO_LOOK
        as_shown = recrawl.shown(as_sent, look.page, look.text, is_made=look.is_made)
        as_shown = await self._steps.transcripts.compared(as_shown, recrawl)
        _count_response(stats, lease, as_shown, response, asked)
        stats.merge(look.counts)
        status = (look.page or sent).status
        if status >= HTTPStatus.BAD_REQUEST and not is_probe(lease.url):
            stats.merge(await self.ending.keep_failed(lease, f"status {status}"))
        with_transcript = await self._steps.transcripts.read(lease, as_shown, stats)
        return await self._steps.analyser.recalled(lease, with_transcript), look

    async def _understand(
        self, lease: Lease, comparison: RecrawlComparison, look: Rendering, stats: Stats, exchange: Exchange
    ) -> PageAnalysis | None:
        """Return what a response says; a requisite that nobody understands is counted here, a page elsewhere."""
        if not comparison.remembered and exchange.memento is None:
            await self._steps.session_probing.look(lease, comparison.page)
        found = await self._steps.analyser.analyse(lease, comparison)
        if found is not None and found.error and not lease.is_page:
            stats.add(f"error:{found.error}")
        await asyncio.sleep(0)  # Others have their turn: a page may have ten thousand links.
        return None if found is None else with_look(found, look, lease, self._context.now.scope.spelling)

    async def _learn(
        self,
        lease: Lease,
        status: int,
        comparison: RecrawlComparison,
        found: PageAnalysis | None,
        discovered: DiscoveredLinks,
    ) -> DiscoveredLinks:
        """Have traps, ranker and topic learn from a page; return where it leads, a probe of its host included."""
        if found is not None:
            discovered = self._steps.trap_detection.learn(lease, comparison, found, discovered)
        await self._steps.link_ranking.answered(lease, status, found, discovered)
        await self._learn_topic(found)
        return discovered

    async def _write(self, record: HandledResponse) -> None:
        """Write refused links, the capture, its triples and the visit, in this order; count what was written."""
        lease, found, stats = record.lease, record.found, record.stats
        await self._discovery.keep_refused(lease, found, record.discovered)
        capture = await self._writer.archive(record.response.exchange, record.annotations)
        visit = AnsweredVisit(lease, record.response, record.page, record.comparison, record.look, found, capture)
        if found is not None and (lease.is_page or found.metadata.objects):
            stated = await self._describe(record, found, capture)
            self._count(record, found, stated)
            stats.merge(await self._writer.hand_on(stated, found.metadata.objects))
            visit = replace(visit, changes=stated.changes)
        await self._steps.visit_noting.answered(visit)
        stats.merge(await self._steps.seed_trail.answered(lease, record.page, found, record.discovered, record.rows))
        logger.info("%s %d %s", lease.url, record.page.status, record.comparison.change or lease.kind)

    async def _end_with(self, record: HandledResponse) -> None:
        """Offer where a response leads, and finish its lease, in one step of the frontier."""
        found, discovered, batch_scoring = record.found, await self._listed(record), self._steps.batch_scoring
        offers, rest = batch_scoring.offers(found, discovered), max(rest_asked(record.response), record.look.rest)
        if await self.ending.commit(record.lease, State.DONE, offers, Outcome(stats=record.stats.counts), rest):
            if self._steps.peer_export is not None and found is not None:
                self._steps.peer_export.links(
                    record.lease.url, discovered.pages, discovered.refused, are_scored=found.contribution is None
                )
            await batch_scoring.add(found, discovered)

    async def _is_refused(self, lease: Lease, page: Page, response: CapturedResponse) -> bool:
        """End a lease whose response is not to be kept, for its size or its type; return whether it is such."""
        if not page.is_content:
            return False
        if self._is_too_large(lease, page, response):
            await self._writer.count({"requests": 1, "requisite_bytes": response.exchange.response_size})
            await self.ending.end(lease, State.BLOCKED, "requisite_file_bytes")
            return True
        refusal = self._context.now.scope.admit_type(lease, page.media_type)
        if refusal is not None:
            await self.ending.block(lease, refusal)
        return refusal is not None

    def _is_too_large(self, lease: Lease, page: Page, response: CapturedResponse) -> bool:
        """Return whether a requisite was cut off for its size; the beginning of a film would be replayed as broken."""
        exchange = response.exchange
        cut_at = exchange.response_size - exchange.head_size + 1 if exchange.truncated is Truncation.LENGTH else 0
        return bool(cut_at) and is_too_large(self._context.now.icd.limits, lease.kind, page.headers, cut_at)

    async def _finish_list(
        self, lease: Lease, response: CapturedResponse, page: Page, asked: ConditionalRequest
    ) -> None:
        """Archive a sitemap, or a feed that was announced, and offer what it lists."""
        size, offers = response.exchange.response_size, NO_LINKS.offers
        stats = Stats({"requests": 1, "answers": 1, "bytes": size, f"status:{page.status}": 1, lease.purpose: 1})
        stats.merge(_coding_fault(lease, response))
        listed = await self._steps.url_lists.understood(lease, page, stats) if page.status < 300 else ()
        annotations = Annotations(identified(page.body, declared=page.media_type))
        capture = await self._writer.archive(response.exchange, annotations)
        told = ListedPages(_dates(listed, asked.former), _frequencies(listed))
        await self._steps.visit_noting.listed(lease, response, capture, told)
        if 300 <= page.status < 400:
            discovered = self._discovery.discover(lease, page, of_redirect(lease, page), stats)
            await self._discovery.keep_refused(lease, None, discovered)
            offers = await self._steps.listings.redirected(lease, discovered.offers)
        else:
            contents = await self._steps.url_lists.offer(lease, listed, stats)
            await self._steps.listings.read(lease, page.status, contents)
        logger.info("%s %d %s", lease.url, page.status, lease.purpose)
        await self.ending.commit(lease, State.DONE, offers, Outcome(stats=stats.counts), rest_asked(response))

    async def _listed(self, record: HandledResponse) -> DiscoveredLinks:
        """Return where a response leads; go on with listings from a front page of an application, or one of them."""
        lease, page, discovered = record.lease, record.page, record.discovered
        if not lease.is_page or record.found is None:
            return discovered
        await self._steps.listings.begin(lease, page.status, record.found.metadata)
        if 300 <= page.status < 400 and not page.is_content:
            return replace(discovered, offers=await self._steps.listings.redirected(lease, discovered.offers))
        await self._steps.listings.read(lease, page.status, Contents(len(discovered.pages)))
        return discovered

    async def _learn_topic(self, found: PageAnalysis | None) -> None:
        """Learn what a page says of the topic; errors and what is remembered say nothing."""
        topic_learner = self._context.now.topic_learner
        if topic_learner is None or found is None or found.document is None or found.metadata.score is None:
            return
        await topic_learner.learn(found.document, found.metadata.score, self._writer.retry)

    async def _ask_plainly(self, lease: Lease, response: CapturedResponse) -> None:
        """Archive a 304 that stands for nothing any more, and ask again, at once and without conditions."""
        logger.warning("%s: the page that has not changed cannot be read from the archive; it is fetched", lease.url)
        self._steps.recrawl.ask_plainly(lease.url)
        await self._writer.archive(response.exchange)
        counts = {"requests": 1, "bytes": response.exchange.response_size, "conditional": 1, "asked_again": 1}
        await self._writer.count(counts)
        self._lifecycle.check_limits()
        await self._writer.call(self._frontier.release, [lease])

    def _count(self, record: HandledResponse, found: PageAnalysis, stated: CaptureDescription) -> None:
        """Add what was stated to the counts; pages may be read again later."""
        comparison = record.comparison
        if not record.lease.is_page:
            record.stats.merge(object_counts(found.metadata))
            return
        count(comparison, found, record.stats)
        if self._steps.rereading is not None:
            read = ReadPage(record.lease, stated, comparison.former, comparison.change)
            self._steps.rereading.noted(read, found, is_apart=comparison.page.once(is_long))

    async def _describe(
        self, record: HandledResponse, found: PageAnalysis, capture: WrittenCapture
    ) -> CaptureDescription:
        """Write the triples of a capture, and return what was stated of it."""
        lease, comparison = record.lease, record.comparison
        stated = replace(
            description(lease, comparison, found.metadata, capture, record.page.status),
            crawl=crawl_iri(self._context.now.icd.id, self._lifecycle.number),
            changes=await self._steps.analyser.changes(lease, comparison, found),
        )
        # What is remembered was stated of the former capture, which the new one refers to.
        objects = () if comparison.remembered else found.metadata.objects
        await self._writer.describe(stated, objects, found.containers)
        return stated


def _dates(listed: Sequence[ScoredPage], former: Former | None) -> Mapping[str, datetime]:
    """Return when a list says that pages changed; what it said when it was read last is in the log."""
    since = datetime.min.replace(tzinfo=UTC) if former is None else former.last_seen - _LATE
    outlinks = (outlink for piece in listed for outlink in piece.assistance.document.outlinks)
    return {each.url: each.date for each in outlinks if each.date is not None and each.date >= since}


def _frequencies(listed: Sequence[ScoredPage]) -> Mapping[str, str]:
    """Return how often a list says that pages change."""
    outlinks = (outlink for piece in listed for outlink in piece.assistance.document.outlinks)
    return {each.url: each.changefreq for each in outlinks if each.changefreq}


def _page(lease: Lease, response: CapturedResponse) -> Page:
    """Return the page of a response; an archive may have it by another scheme or host name than was asked for."""
    return Page(
        lease.url if response.exchange.memento is None else response.exchange.url,
        response.status,
        Headers(response.wire_headers),
        response.body,
        response.exchange.started_at,
        complete=response.complete,
        memento=response.exchange.memento is not None,
    )


def _count_response(
    stats: Stats, lease: Lease, comparison: RecrawlComparison, response: CapturedResponse, asked: ConditionalRequest
) -> None:
    """Add a response to the counts; one that a visit captured was counted by the visit."""
    size, memento = response.exchange.response_size, response.exchange.memento
    if response.exchange.kept_in:
        stats.add("from_archive")
        return
    if memento is not None:
        counts = {f"source:{memento.source}": 1, f"source_archive:{memento.archive}": 1, f"status:{response.status}": 1}
        stats.merge({FROM_SOURCES: 1, "answers": 1, "bytes": size, **counts, **_coding_fault(lease, response)})
        return
    stats.merge({"requests": 1, "answers": 1, "bytes": size, f"status:{response.status}": 1})
    if asked.conditional:
        stats.add("conditional")
    if response.exchange.tls_problem:
        stats.add(f"unverified:{response.exchange.tls_problem}")
    stats.merge(_coding_fault(lease, response))
    if lease.purpose is Purpose.REQUISITE and (comparison.unmodified or not 300 <= response.status < 400):
        stats.merge({"probes" if is_probe(lease.url) else "requisites": 1, "requisite_bytes": size})


def _coding_fault(lease: Lease, response: CapturedResponse) -> Mapping[str, int]:
    """Log and count that the content coding of a response is broken; what could be decoded is read."""
    fault = response.captured.coding_fault
    if fault is None:
        return {}
    logger.warning("%s: its content coding is broken (%s); what could be decoded is read", lease.url, fault)
    return {f"coding:{fault}": 1}


def rest_asked(response: CapturedResponse) -> float:
    """Return for how many seconds a response asks to be left in peace (``retry_after``)."""
    return retry_after(response.status, response.wire_headers)

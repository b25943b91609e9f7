"""How a lease ends: what is written, what is queued, and in which order.

A page is understood first, and what was said of its links is logged. Then its response, its request and what was
understood are archived, all or none, and the history is told; then come its triples, and then, in one atomic step of
the frontier, its links, its counts and its end. A crash before that step leaves the lease to run out, so the page is
fetched again; after it this crawl never fetches it again.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from email.utils import parsedate_to_datetime
from time import time

from aahcrawler.archive.writer import Capture
from aahcrawler.crawl.capture.archiver import Enclosed, identified
from aahcrawler.crawl.capture.description import count, description
from aahcrawler.crawl.capture.page_analysis import Reading, needs_requisites, of_redirect
from aahcrawler.crawl.capture.recrawl import UNKNOWN, Asked, LostError, Visit
from aahcrawler.crawl.core.job import Job
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import AddressBusyError
from aahcrawler.crawl.fetch.politeness import StoppedError
from aahcrawler.crawl.fetch.robots_txt import RobotsDeniedError, RobotsUnreachableError
from aahcrawler.crawl.health.error_classification import is_full, is_local
from aahcrawler.crawl.lease.lease_source import LostLeaseError
from aahcrawler.crawl.response.batch_scoring import Batches
from aahcrawler.crawl.response.discovered_links import NOWHERE, SCOPE, Led, Outlinks
from aahcrawler.crawl.response.link_ranking import Ranking
from aahcrawler.crawl.response.page_analyser import Comprehension
from aahcrawler.crawl.response.transcripts import Documents
from aahcrawler.crawl.response.trap_detection import TrappedError, Trapping
from aahcrawler.crawl.response.url_lists import ListKind, Lists, list_kind
from aahcrawler.crawl.stats.collector import Tally
from aahcrawler.exchange import Truncation
from aahcrawler.frontier.protocol import Lease, Offer, Outcome, State
from aahcrawler.objects.vocabulary import crawl as crawl_iri
from aahcrawler.page import Headers, Page
from aahcrawler.traps import is_probe
from aahcrawler.wire.errors import RefusedAddressError, WireError

logger = logging.getLogger(__name__)

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be another one later."""
LONGEST_REST = 3600.0
"""Seconds beyond which a Retry-After is not believed."""


class SpentError(Exception):
    """A requisite was leased, and ``limits.requisite_bytes`` has been used up since it was offered."""


class ReplacedError(Exception):
    """A middleware gave another request in place of an answer."""


class Settlement:
    """Ends leases, each exactly once; nothing that it meets on a page stops the crawl.

    A disk that is full makes it wait. What does stop a crawl is other trouble of this machine, as ``is_local`` tells
    it: the lease stays out then, and its URL is fetched again when the crawl goes on.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self.trapping = Trapping(job)
        self._comprehension = Comprehension(job, self.trapping)
        self._outlinks = Outlinks(job)
        self._lists = Lists(job, self._outlinks)
        self.documents = Documents(job)
        self.ranking = Ranking(job)
        self.batches = Batches(job)
        self._frontier = job.stores.frontier

    async def answered(self, lease: Lease, response: CapturedResponse, asked: Asked = UNKNOWN) -> None:
        """Understand an answer, which was ``asked`` for so, archive it, queue its links, and finish its lease."""
        manners, rest = self._job.manners, rest_asked(response)
        manners.answered(lease.url, response.status, response.captured.latency, rest)
        try:
            if self._worth_another_try(lease, response):
                await self._try_again(lease, response)
            else:
                await self._finish(lease, response, asked)
        except Exception as error:  # Whatever a page may provoke, the crawl goes on.
            await self.failed(lease, error)
        finally:
            response.exchange.close()
            manners.ended(lease.url)
            self._job.leases.settled(lease)

    async def failed(self, lease: Lease, error: Exception) -> None:
        """End a lease whose URL gave no answer: try again later, give up, or block."""
        try:
            if is_full(error):
                await self._give_way(lease, error)
            elif is_local(error):
                raise error
            else:
                await self._end_without_answer(lease, error)
        except Exception as trouble:
            if not is_local(trouble):
                raise
            self._job.fail(trouble)
        finally:
            if isinstance(error, WireError) and error.exchange is not None:
                error.exchange.close()
            self._job.leases.settled(lease)

    # Without an answer

    async def _give_way(self, lease: Lease, error: Exception) -> None:
        """Give back a lease whose answer could not be kept for want of room.

        An answer that is too large for the room there is, but no trouble for anything else, is not fetched for ever.
        """
        self._job.room.look()
        if self._job.room.is_short or self._job.ending.is_set():
            logger.warning("%s: given back, for %s", lease.url, error)
            await self._job.call(self._frontier.release, [lease])
        else:
            await self._retry(lease, "no room")

    async def _end_without_answer(self, lease: Lease, error: Exception) -> None:
        match error:
            case WireError():
                await self._end_with_trouble(lease, error)
            case LostLeaseError():
                logger.warning("%s: its lease had run out before it was asked for", lease.url)
            case StoppedError():
                await self._job.call(self._frontier.release, [lease])
            case AddressBusyError():
                await self._let_others_go_first(lease, error)
            case TrappedError(trap=trap):
                await self._end(lease, State.BLOCKED, trap)
            case SpentError():
                await self._end(lease, State.BLOCKED, "requisite_bytes")
            case ReplacedError():
                await self._end(lease, State.FAILED, "replaced")
            case RobotsDeniedError():
                await self._end(lease, State.BLOCKED, "robots")
            case RobotsUnreachableError():
                await self._retry(lease, "robots.txt")
            case _:
                logger.error("%s: unforeseen trouble", lease.url, exc_info=error)
                await self._end(lease, State.FAILED, type(error).__name__)

    async def _let_others_go_first(self, lease: Lease, error: AddressBusyError) -> None:
        """Give back a lease whose address is being asked for others, until its turn has come."""
        logger.info("%s: given back, for %s", lease.url, error)
        await self._job.leases.give_back_behind(lease)
        await self._job.call(self._frontier.release, [lease], delay=error.seconds)
        await self._job.count({"address_busy": 1})

    async def _end_with_trouble(self, lease: Lease, error: WireError) -> None:
        self._job.manners.ended(lease.url)
        await self._job.keep_remains(error)
        if isinstance(error, RefusedAddressError):
            await self._end(lease, State.BLOCKED, "address")
        elif error.retryable:
            await self._retry(lease, error.reason)
        else:
            logger.warning("%s", error)
            await self._end(lease, State.FAILED, error.reason)

    async def _end(self, lease: Lease, state: State, reason: str) -> None:
        logger.info("%s %s: %s", lease.url, state, reason)
        group = "blocked" if state is State.BLOCKED else "error"
        await self._commit(lease, state, (), Outcome(reason, {f"{group}:{reason}": 1}))

    def _worth_another_try(self, lease: Lease, response: CapturedResponse) -> bool:
        broken = response.status in AGAIN or response.exchange.truncated is Truncation.DISCONNECT
        return broken and lease.attempt < self._job.attempts

    async def _try_again(self, lease: Lease, response: CapturedResponse) -> None:
        await self._job.archive(response.exchange)
        await self._job.count({"bytes": response.exchange.response_size})
        self._job.check_limits()
        reason = f"status {response.status}" if response.status in AGAIN else "disconnect"
        await self._retry(lease, reason, rest_asked(response))

    async def _retry(self, lease: Lease, reason: str, rest: float = 0.0) -> None:
        """Let the URL be fetched again; its queue rests longer with every attempt."""
        pause = max(rest, self._job.manners.delay_of(lease.url), 2.0 ** min(lease.attempt - 1, 10))
        last = lease.attempt >= self._job.attempts
        outcome = Outcome(reason, {f"error:{reason}": 1.0} if last else {"retries": 1.0})
        logger.info("%s attempt %d: %s; its site rests for %.0f s", lease.url, lease.attempt, reason, pause)
        learned = self._job.manners.learned(lease.url)
        state = await self._job.call(self._frontier.retry, lease, delay=pause, learned=learned, outcome=outcome)
        if state is State.FAILED:
            await self.ranking.ended(lease, state, reason)
        await self._job.leases.give_back_behind(lease)
        self._job.tally.merge(outcome.tally)

    # With an answer

    async def _finish(self, lease: Lease, response: CapturedResponse, asked: Asked) -> None:
        page, known = _page(lease, response), self._job.understanding
        kind = list_kind(lease)
        if kind is not None:
            await self._finish_list(lease, response, page, kind)
            return
        refusal = known.scope.admit_type(lease, page.media_type) if 200 <= page.status < 300 else None
        if refusal is not None:
            await self._put_aside(lease, refusal)
            return
        try:
            visit = self._job.recrawl.visit(lease, page, response.exchange, asked, known.fingerprint)
        except LostError:
            await self._ask_plainly(lease, response)
            return
        tally = _tally(lease, visit, response, asked)
        visit = await self.documents.read(lease, visit, tally)
        found = self._comprehension.read(lease, visit)
        led = self._outlinks.of(lease, visit, found.metadata, tally) if found is not None else NOWHERE
        if lease.kind == "page":
            led = led if found is None else self.trapping.learn(lease, visit, found, led)
            await self.ranking.answered(lease, response.status, found, led)
            await self._learn(found)
        await self._keep_refused(lease, found, led)
        capture = await self._job.archive(response.exchange, _enclosed(lease, page, visit, found))
        if found is not None and lease.kind == "page":
            await self._describe(lease, visit, found, capture, page.status)
            count(visit, found, tally)
        logger.info("%s %d %s", lease.url, page.status, visit.change or lease.kind)
        offers, outcome = self.batches.offers(found, led), Outcome(tally=tally.counts)
        if await self._commit(lease, State.DONE, offers, outcome, rest_asked(response)):
            if self._job.sharing is not None and found is not None:
                self._job.sharing.links(lease.url, led.pages, led.refused, are_scored=found.contribution is None)
            await self.batches.add(found, led)

    async def _put_aside(self, lease: Lease, refusal: str) -> None:
        """Block a URL for what its answer is; it comes back when the scope changes."""
        blocking, delay = self._job.stores.blocking, self._job.manners.delay_of(lease.url)
        if blocking is None:
            await self._end(lease, State.BLOCKED, refusal)
            return

        def at_once() -> bool:
            self._frontier.release([lease], delay=delay)
            return blocking.block_urls([lease.url], f"{SCOPE}{refusal}")[0]

        if await self._job.call(at_once):
            logger.info("%s %s: %s", lease.url, State.BLOCKED, refusal)
            await self._job.count({f"blocked:{refusal}": 1})
            await self.ranking.ended(lease, State.BLOCKED, refusal)

    async def _finish_list(self, lease: Lease, response: CapturedResponse, page: Page, kind: ListKind) -> None:
        """Archive a sitemap, or a feed that was announced, and offer what it lists."""
        size, offers = response.exchange.response_size, NOWHERE.offers
        tally = Tally({"answers": 1, "bytes": size, f"status:{page.status}": 1, kind: 1})
        await self._job.archive(response.exchange, Enclosed(identified(page.body, declared=page.media_type)))
        if 200 <= page.status < 300:
            await self._lists.read(lease, page, tally)
        elif page.status < 400:
            offers = self._outlinks.of(lease, Visit(page), of_redirect(lease, page), tally).offers
        logger.info("%s %d %s", lease.url, page.status, kind)
        await self._commit(lease, State.DONE, offers, Outcome(tally=tally.counts), rest_asked(response))

    async def _learn(self, found: Reading | None) -> None:
        """Learn what a page says of the topic; errors and what is remembered say nothing."""
        refining = self._job.understanding.refining
        if refining is None or found is None or found.document is None or found.metadata.score is None:
            return
        await refining.answered(found.document, found.metadata.score, self._job.room.held)

    async def _keep_refused(self, lease: Lease, found: Reading | None, led: Led) -> None:
        """Keep the links that are refused, for the case that the definition is changed."""
        log, language = self._job.stores.refusals, None if found is None else found.metadata.language
        if log is None or not led.rejected:
            return

        async def once() -> None:
            log.refused(lease.url, language, led.rejected)

        await self._job.room.held(once)

    async def _ask_plainly(self, lease: Lease, response: CapturedResponse) -> None:
        """Archive a 304 that stands for nothing any more, and ask again, at once and without conditions."""
        logger.warning("%s: the page that has not changed cannot be read from the archive; it is fetched", lease.url)
        self._job.recrawl.ask_plainly(lease.url)
        await self._job.archive(response.exchange)
        counts = {"bytes": response.exchange.response_size, "conditional": 1, "asked_again": 1}
        await self._job.count(counts)
        self._job.check_limits()
        await self._job.call(self._frontier.release, [lease])

    async def _describe(self, lease: Lease, visit: Visit, found: Reading, capture: Capture, status: int) -> None:
        stated = replace(
            description(lease, visit, found.metadata, capture, status),
            crawl=crawl_iri(self._job.icd.id, self._job.number),
            changes=self._comprehension.changes(lease, visit, found.metadata),
        )
        # What is remembered was stated of the former capture, which the new one refers to.
        objects = () if visit.remembered else found.metadata.objects
        await self._job.describe(stated, objects, found.containers)

    async def _commit(
        self, lease: Lease, state: State, links: Sequence[Offer], outcome: Outcome, rest: float = 0.0
    ) -> bool:
        """Finish a lease; False where it had been lost."""
        manners = self._job.manners
        delay = max(rest, manners.delay_of(lease.url)) if state is not State.BLOCKED else 0.0
        learned = manners.learned(lease.url)
        held = await self._job.call(
            self._frontier.finish, lease, state, delay=delay, learned=learned, links=links, outcome=outcome
        )
        if held:
            self._job.tally.merge(outcome.tally)
            if state is not State.DONE:
                await self.ranking.ended(lease, state, outcome.reason)
            self._job.check_limits()
        else:
            logger.warning("%s: its lease had run out, so it is fetched again", lease.url)
        return held


def _page(lease: Lease, response: CapturedResponse) -> Page:
    return Page(
        lease.url,
        response.status,
        Headers(response.wire_headers),
        response.body,
        response.exchange.started_at,
        complete=response.complete,
    )


def _enclosed(lease: Lease, page: Page, visit: Visit, found: Reading | None) -> Enclosed:
    """Return what is archived with an answer: metadata of pages, and of style sheets that lead somewhere.

    What is remembered is in the archive already.
    """
    said = found.metadata if found is not None else None
    what = identified(page.body, said.language if said is not None else None, declared=page.media_type)
    is_told = said is not None and not visit.remembered and (lease.kind == "page" or needs_requisites(said))
    return Enclosed(what, said if is_told else None, visit.original)


def _tally(lease: Lease, visit: Visit, response: CapturedResponse, asked: Asked) -> Tally:
    size = response.exchange.response_size
    tally = Tally({"answers": 1, "bytes": size, f"status:{response.status}": 1})
    if asked.conditional:
        tally.add("conditional")
    if lease.kind == "requisite" and (visit.unmodified or not 300 <= response.status < 400):
        tally.merge({"probes" if is_probe(lease.url) else "requisites": 1, "requisite_bytes": size})
    return tally


def rest_asked(response: CapturedResponse) -> float:
    """Return for how many seconds an answer asks to be left in peace, at most ``LONGEST_REST`` (RFC 9110, 10.2.3).

    0 for answers that mean something else by Retry-After, and where it cannot be read.
    """
    if response.status not in AGAIN:
        return 0.0
    value = Headers(response.wire_headers).get("Retry-After").strip()
    if value.isascii() and value.isdigit():
        return min(float(value[:9]), LONGEST_REST)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - time()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(0.0, seconds), LONGEST_REST)

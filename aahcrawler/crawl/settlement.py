"""How a lease ends: what is written, what is queued, and in which order.

A page's WARC records come first, then its triples, then, in one atomic step of the frontier, its links, its counts
and its end. A crash before that step leaves the lease to run out, so the page is fetched again; after it the page is
never fetched again.
"""

import errno
import logging
from collections.abc import Iterable, Sequence
from email.utils import parsedate_to_datetime
from time import time

from aahcrawler import urls
from aahcrawler.archive.writer import Capture
from aahcrawler.crawl.download import CapturedResponse
from aahcrawler.crawl.job import Job
from aahcrawler.crawl.manners import StoppedError
from aahcrawler.crawl.robots import RobotsDeniedError, RobotsUnreachableError
from aahcrawler.crawl.room import is_full
from aahcrawler.crawl.tally import Tally
from aahcrawler.exchange import Truncation
from aahcrawler.flow import Processed, process
from aahcrawler.frontier.protocol import FrontierUnavailableError, Lease, Offer, Outcome, State
from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.page import Headers, Page, requisites
from aahcrawler.segments import SegmentError
from aahcrawler.wire.errors import RefusedAddressError, SpoolError, WireError

logger = logging.getLogger(__name__)

AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that may be another one later."""
LONGEST_REST = 3600.0
"""Seconds beyond which a Retry-After is not believed."""
MOST_REDIRECTS = 20
"""How many redirects in a row are followed, as by browsers (WHATWG Fetch, section 4.4)."""


EXHAUSTED = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)
"""What the operating system says when this machine, and not a page, is in trouble."""


class SpentError(Exception):
    """A requisite was leased, and ``limits.requisite_bytes`` has been used up since it was offered."""


class Settlement:
    """Ends leases, each exactly once; nothing that it meets on a page stops the crawl.

    A disk that is full makes it wait. What does stop a crawl is other trouble of this machine, as ``is_local`` tells
    it: the lease stays out then, and its URL is fetched again when the crawl goes on.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._frontier = job.stores.frontier

    async def answered(self, lease: Lease, response: CapturedResponse) -> None:
        """Archive an answer, understand it, queue its links, and finish its lease."""
        try:
            if self._worth_another_try(lease, response):
                await self._try_again(lease, response)
            else:
                await self._finish(lease, response)
        except Exception as error:  # Whatever a page may provoke, the crawl goes on.
            await self.failed(lease, error)
        finally:
            response.exchange.close()
            self._job.manners.answered(lease.queue)
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
            case StoppedError():
                await self._job.call(self._frontier.release, [lease])
            case SpentError():
                await self._end(lease, State.BLOCKED, "requisite_bytes")
            case RobotsDeniedError():
                await self._end(lease, State.BLOCKED, "robots")
            case RobotsUnreachableError():
                await self._retry(lease, "robots.txt")
            case _:
                logger.error("%s: unforeseen trouble", lease.url, exc_info=error)
                await self._end(lease, State.FAILED, type(error).__name__)

    async def _end_with_trouble(self, lease: Lease, error: WireError) -> None:
        self._job.manners.answered(lease.queue)
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
        pause = max(rest, self._job.manners.delay_of(lease.queue), 2.0 ** min(lease.attempt - 1, 10))
        last = lease.attempt >= self._job.attempts
        outcome = Outcome(reason, {f"error:{reason}": 1.0} if last else {"retries": 1.0})
        logger.info("%s attempt %d: %s; its site rests for %.0f s", lease.url, lease.attempt, reason, pause)
        await self._job.call(self._frontier.retry, lease, delay=pause, outcome=outcome)
        await self._job.leases.give_back_behind(lease)
        self._job.tally.merge(outcome.tally)

    # With an answer

    async def _finish(self, lease: Lease, response: CapturedResponse) -> None:
        exchange = response.exchange
        page = Page(
            lease.url,
            response.status,
            Headers(response.wire_headers),
            response.body,
            exchange.started_at,
            complete=response.complete,
        )
        capture = await self._job.archive(exchange, page.media_type or None)
        tally = Tally({"answers": 1, "bytes": exchange.response_size, f"status:{page.status}": 1})
        if 300 <= page.status < 400:
            links = await self._redirect(lease, page, capture, tally)
        elif lease.kind == "requisite":
            tally.merge({"requisites": 1, "requisite_bytes": exchange.response_size})
            links = self._stylesheet(lease, page, tally) if page.media_type == "text/css" else []
        else:
            links = await self._understand(lease, page, capture, tally)
        logger.info("%s %d %s", lease.url, page.status, lease.kind)
        await self._commit(lease, State.DONE, links, Outcome(tally=tally.counts), rest_asked(response))

    async def _redirect(self, lease: Lease, page: Page, capture: Capture, tally: Tally) -> list[Offer]:
        if lease.kind == "page":
            await self._job.describe(_description(lease, page, capture, None))
        target = urls.resolve(page.url, page.headers.get("Location"))
        if target is None or target == lease.url:
            return []
        if lease.redirects >= MOST_REDIRECTS:
            tally.add("refused:redirects")
            return []
        offer = self._job.offer(target, lease, lease.score, kind=lease.kind, redirects=lease.redirects + 1)
        return self._admitted([offer], tally)

    def _stylesheet(self, lease: Lease, page: Page, tally: Tally) -> list[Offer]:
        return self._requisites(lease, requisites.of_stylesheet(page.text, page.url), tally)

    async def _understand(self, lease: Lease, page: Page, capture: Capture, tally: Tally) -> list[Offer]:
        job = self._job
        known = job.understanding
        try:
            processed = process(page, known.helper, known.analysers, job.icd.scoring.weights)
        except Exception as error:  # Whatever a page may provoke, it is archived, and the crawl goes on.
            if is_local(error):
                raise
            logger.exception("%s: not understood", page.url)
            description = _description(lease, page, capture, None)
            await job.describe(description)
            _count(description, None, tally)
            tally.add(f"error:{type(error).__name__}")
            return []
        description = _description(lease, page, capture, processed, job.icd.scoring.relevant)
        await job.describe(description, processed.assistance.objects, processed.assistance.containers)
        _count(description, processed, tally)
        for action in processed.assistance.failed_actions:
            logger.warning("%s: %s", page.url, action)
        if page.status >= 400:
            return []
        needed = self._requisites(lease, processed.assistance.requisites, tally)
        if known.scope.admit_language(processed.assistance.document.language) is not None:
            tally.add("refused:language", len(processed.links))
            return needed
        links = [job.offer(link.url, lease, link.score, depth=lease.depth + 1) for link in processed.links]
        return self._admitted(links, tally) + needed

    def _admitted(self, offers: Iterable[Offer], tally: Tally) -> list[Offer]:
        admitted = []
        for offer in offers:
            scope = self._job.understanding.scope
            refusal = (
                scope.admit(offer.url, offer.queue, offer.depth)
                if offer.kind == "page"
                else scope.admit_requisite(offer.url)
            )
            if refusal is None:
                admitted.append(offer)
            else:
                tally.add(f"refused:{refusal}")
        return admitted

    def _requisites(self, lease: Lease, addresses: Sequence[str], tally: Tally) -> list[Offer]:
        if self._job.requisites_spent:
            return []
        offers = (self._job.offer(url, lease, lease.score, kind="requisite") for url in addresses)
        return self._admitted(offers, tally)

    async def _commit(
        self, lease: Lease, state: State, links: Sequence[Offer], outcome: Outcome, rest: float = 0.0
    ) -> None:
        delay = max(rest, self._job.manners.delay_of(lease.queue)) if state is not State.BLOCKED else 0.0
        if await self._job.call(self._frontier.finish, lease, state, delay=delay, links=links, outcome=outcome):
            self._job.tally.merge(outcome.tally)
            self._job.check_limits()
        else:
            logger.warning("%s: its lease had run out, so it is fetched again", lease.url)


def is_local(error: Exception) -> bool:
    """Tell a frontier that is gone and a machine that is out of disk or files from whatever a page may provoke."""
    if isinstance(error, OSError):
        return error.errno in EXHAUSTED
    return isinstance(error, FrontierUnavailableError | SegmentError | SpoolError)


def _description(
    lease: Lease, page: Page, capture: Capture, processed: Processed | None, relevant_at: float = 0.0
) -> CaptureDescription:
    match = processed.assistance.match if processed else None
    level = match.level if match else None
    score = processed.score if processed and page.status < 300 else None
    return CaptureDescription(
        iri=capture.record_id,
        url=page.url,
        status=page.status,
        fetched_at=page.fetched_at,
        media_type=page.media_type,
        application=match.application.name if match else None,
        level=level.name if level else None,
        role=level.role if level else None,
        score=score,
        relevant=None if score is None else score >= relevant_at,
        priority=lease.score,
        depth=lease.depth,
        via=lease.via,
    )


def _count(description: CaptureDescription, processed: Processed | None, tally: Tally) -> None:
    if description.status < 300:
        tally.merge({"pages": 1, "relevant": int(bool(description.relevant))})
        tally.add(f"type:{description.media_type or 'unknown'}")
        tally.add(f"application:{description.application or 'unknown'}")
        tally.add(f"level:{description.role or 'none'}")
    if processed is None:
        return
    assistance = processed.assistance
    tally.add("objects", len(assistance.objects))
    for web_object in assistance.objects:
        tally.add(f"object:{web_object.type}")
    for refused in assistance.refused:
        tally.add(f"refused:{refused.reason}")
    tally.add("failed_actions", len(assistance.failed_actions))


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

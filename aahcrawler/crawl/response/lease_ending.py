"""End leases in the frontier: done, tried again later, given up, or blocked; a site's rest and all counts go with that.

A URL that gave no response to keep ends here by its error. Responses are read by ``handler``, which finishes their
leases here too, in one step of the frontier with their links.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from aahcrawler.crawl.core.lifecycle import DomainBudgetError
from aahcrawler.crawl.core.site_sessions import LoginFailedError
from aahcrawler.crawl.fetch.ip_claims import IpAddressBusyError
from aahcrawler.crawl.fetch.sourced_captures import NotTakenError
from aahcrawler.crawl.health.outages import is_full, is_local
from aahcrawler.crawl.lease.lease_source import CutError, LostLeaseError, StoppedError
from aahcrawler.crawl.response.response_steps import LeaseHandling, ResponseSteps, RunningCrawl
from aahcrawler.crawl.response.trap_detection import GivesWayError, TrapError
from aahcrawler.frontier.protocol import UNSCORED, Lease, Offer, Outcome, Rescore, State
from aahcrawler.page import Page
from aahcrawler.scope import SCOPE, Refusal
from aahcrawler.tallies import DENIED, FAILURE, NO_CAPTURE
from aahcrawler.wire.errors import ProxyUnavailableError, RefusedAddressError, WireError
from aahcrawler.wire.robots_txt import RobotsDeniedError, RobotsUnreachableError

logger = logging.getLogger(__name__)

FROM_SOURCES: Final = "from_sources"
"""The count of captures that were taken from archives."""

MAX_WAIT_FOR_SOURCES: Final = 15.0
"""Seconds that the pages of a site wait at most for archives that failed: more would cost those that others have."""

MAX_PUT_BEHIND: Final = 100_000
"""URLs whose scores are known that wait behind others for an archive."""

SHARE_FOR_SOURCES: Final = 0.05
"""The part of a crawl's time for which its sites wait in all for archives that failed, while others can be asked."""

IN_TURN: Final = 20
"""Pages that give way one after another; the best of the queue are looked at together then, and give way at once."""

LOOKED_AT: Final = 500
"""How many of them are looked at in one step, again and again as long as half of them give way."""

MAX_LOOKS: Final = 20
"""The most steps after which the crawl goes on."""

_NOT_ASKED: Final = frozenset({"from_archive", FROM_SOURCES})
"""Counts of a lease whose site was not asked for it."""


class RequisiteBudgetError(Exception):
    """A requisite was leased, and ``limits.requisite_bytes`` has been used up since it was offered."""


class ExcludedError(Exception):
    """A page was leased that the institution excludes from its crawls."""


class EndsSessionError(Exception):
    """A URL was leased that would log out of its site."""


class RequestReplacedError(Exception):
    """A middleware gave another request in place of a response."""


class RequestIgnoredError(Exception):
    """A middleware does not want the URL to be fetched, or its response to be handled."""


class UncapturedError(Exception):
    """A middleware made a response up, of which nothing came over the wire: there is nothing to archive."""


_ENDINGS: Final[Mapping[type[Exception], tuple[State, str]]] = {
    RobotsDeniedError: (State.BLOCKED, "robots"),
    EndsSessionError: (State.BLOCKED, "logout"),
    ExcludedError: (State.BLOCKED, f"{SCOPE}{Refusal.EXCLUDED}"),
    RequisiteBudgetError: (State.BLOCKED, "requisite_bytes"),
    RequestIgnoredError: (State.BLOCKED, "ignored"),
    RequestReplacedError: (State.FAILED, "replaced"),
    UncapturedError: (State.FAILED, "uncaptured"),
}
"""What becomes of a URL, for an error that says all there is to say."""


class LeaseEnding(LeaseHandling):
    """Ends leases, each exactly once. Errors of this machine (``is_local``) end none: they end the crawl."""

    def __init__(self, crawl: RunningCrawl, steps: ResponseSteps) -> None:
        super().__init__(crawl, steps)
        self._waited_for_sources = 0.0
        self._put_behind: dict[str, float] = {}
        self._gave_way = 0

    async def on_error(self, lease: Lease, error: Exception) -> None:
        """End a lease whose URL gave no response: try again later, give up, or block."""
        try:
            if is_full(error):
                await self._give_way(lease, error)
            elif is_local(error):
                raise error
            else:
                await self._end_without_response(lease, error)
        except Exception as failure:
            if not is_local(failure):
                raise
            self._lifecycle.fail(failure)
        finally:
            if isinstance(error, WireError) and error.exchange is not None:
                error.exchange.close()
            self._fetching.leases.finished(lease)

    async def _give_way(self, lease: Lease, error: Exception) -> None:
        """Give back a lease whose response could not be kept for want of disk space.

        A response that alone is too large for the disk is not fetched for ever.
        """
        self._writer.disk_space.look()
        if self._writer.disk_space.is_short or self._lifecycle.is_ending:
            logger.warning("%s: given back, for %s", lease.url, error)
            await self._give_back(lease)
        else:
            await self.retry(lease, "no room")

    async def _end_without_response(self, lease: Lease, error: Exception) -> None:
        match error:
            case WireError():
                await self._end_with_wire_error(lease, error)
            case LostLeaseError():
                logger.warning("%s: its lease had run out before it was asked for", lease.url)
            case StoppedError():
                if isinstance(error, CutError) and (noted := self._steps.seed_trail.cut(lease)):
                    logger.info("%s: its answer was under way when the crawl ended, and did not end", lease.url)
                    await self._writer.count(noted)
                await self._give_back(lease)
            case IpAddressBusyError():
                await self._let_others_go_first(lease, error)
            case GivesWayError(worth=worth):
                await self._give_back(lease)
                await self._writer.call(self._frontier.rescore, [Rescore(lease.url, lease.score * worth)])
                await self._let_others_give_way()
            case TrapError(trap=reason) | DomainBudgetError(reason=reason):
                await self.end(lease, State.BLOCKED, reason)
            case LoginFailedError(may_pass=may_pass):
                await (self.retry(lease, "login") if may_pass else self.end(lease, State.FAILED, "login"))
            case RobotsUnreachableError(cause=cause):
                await self.retry(lease, "robots.txt", cause=cause)
            case _:
                await self._end_by_type(lease, error)

    async def _let_others_give_way(self) -> None:
        """Put the best of the queue back together where many give way: one by one, a long list would stop the crawl."""
        self._gave_way += 1
        if self._gave_way % IN_TURN:
            return
        for _ in range(MAX_LOOKS):
            best = await self._writer.call(self._frontier.iterate, LOOKED_AT)
            judged = ((page, self._steps.trap_detection.worth(page)) for page in best if page.score >= 0)
            scores = [Rescore(page.url, page.score * worth) for page, worth in judged if worth < 1]
            await self._writer.call(self._frontier.rescore, scores)
            if len(scores) < LOOKED_AT // 2:
                return

    async def _end_by_type(self, lease: Lease, error: Exception) -> None:
        if isinstance(error, NotTakenError):
            await self._end_without_source(lease, error)
        elif type(error) in _ENDINGS:
            await self.end(lease, *_ENDINGS[type(error)])
        else:
            logger.error("%s: unforeseen error", lease.url, exc_info=error)
            await self.end(lease, State.FAILED, type(error).__name__)

    async def _end_without_source(self, lease: Lease, error: NotTakenError) -> None:
        """End the lease of a URL that no source has, or look it up again later where some could not be asked.

        One whose sources asked for a rest is given back, and the attempt not counted.
        """
        if error.reason == NO_CAPTURE:
            self._put_behind.pop(lease.url, None)
            await self.end(lease, State.FAILED, NO_CAPTURE)
        elif error.seconds:
            await self._fetching.leases.give_back_behind(lease)
            # Others of its site go first and need not wait; links raise its score again.
            goes_behind = error.is_answered and lease.is_page
            delay = 0.0 if goes_behind and lease.is_scored else error.seconds
            await self._writer.call(self._frontier.release, [lease], delay=delay)
            if goes_behind:
                if lease.is_scored and len(self._put_behind) < MAX_PUT_BEHIND:
                    self._put_behind[lease.url] = lease.score
                await self._writer.call(self._frontier.rescore, [Rescore(lease.url, UNSCORED)])
        else:
            await self._look_up_later(lease, error)

    async def on_late_answers(self, urls: Sequence[str]) -> None:
        """Give URLs their scores back that were put behind others until an archive answered, which it now has."""
        scores = [Rescore(url, self._put_behind.pop(url)) for url in urls if url in self._put_behind]
        if scores:
            await self._writer.call(self._frontier.rescore, scores)

    async def _look_up_later(self, lease: Lease, error: NotTakenError) -> None:
        """Look a URL up again that could not be looked up everywhere, behind all others of its site.

        Its site's other pages wait, too: where no source could be asked, for no longer than is worth a second try, and
        where some could, for a small part of the crawl's time in all.
        """
        rest = min(error.rest, MAX_WAIT_FOR_SOURCES)
        if error.is_answered:
            rest = max(0.0, min(rest, SHARE_FOR_SOURCES * self._lifecycle.seconds - self._waited_for_sources))
            self._waited_for_sources += rest
        await self.retry(lease, error.reason, rest, backs_off=not error.is_answered)
        await self._writer.call(self._frontier.rescore, [Rescore(lease.url, UNSCORED)])

    async def _let_others_go_first(self, lease: Lease, error: IpAddressBusyError) -> None:
        """Give back a lease whose IP address is being asked for others, until it may be claimed."""
        logger.info("%s: given back, for %s", lease.url, error)
        await self._fetching.leases.give_back_behind(lease)
        await self._give_back(lease, error.seconds)
        await self._writer.count({"address_busy": 1})

    async def _give_back(self, lease: Lease, seconds: float = 0.0) -> None:
        """Release a lease; its queue rests for some seconds, and for as long as what was asked of it demands."""
        rest = max(seconds, self._fetching.politeness.rest_left(lease.url))
        await self._writer.call(self._frontier.release, [lease], delay=rest)

    async def _end_with_wire_error(self, lease: Lease, error: WireError) -> None:
        self._fetching.politeness.fetch_ended(lease.url)
        await self._writer.archive_remains(error)
        if isinstance(error, ProxyUnavailableError):
            await self._wait_for_proxy(lease, error)
        elif isinstance(error, RefusedAddressError):
            await self.end(lease, State.BLOCKED, "address")
        elif error.retryable:
            await self.retry(lease, error.reason)
        else:
            logger.warning("%s", error)
            await self.end(lease, State.FAILED, error.reason)

    async def _wait_for_proxy(self, lease: Lease, error: ProxyUnavailableError) -> None:
        """Give back a lease whose proxy is away: neither the URL nor its site is the cause."""
        seconds = self._fetching.proxy_outage.began(error.proxy, str(error))
        logger.info("%s: given back, for %s", lease.url, error)
        await self._fetching.leases.give_back_behind(lease)
        await self._give_back(lease, seconds)

    async def end(self, lease: Lease, state: State, reason: str) -> None:
        """End a lease whose URL is not to be fetched again: failed or blocked, for a reason that people can read."""
        logger.info("%s %s: %s", lease.url, state, reason)
        group = "blocked" if state is State.BLOCKED else "error"
        is_failure = state is State.FAILED or reason in DENIED
        kept = await self.keep_failed(lease, reason) if is_failure else {}
        if state is State.FAILED and reason != NO_CAPTURE:
            await self._steps.visit_noting.failed(lease, reason)
        await self._steps.listings.failed(lease, reason)
        counts = {f"{group}:{reason}": 1.0, **kept, **self._steps.seed_trail.failed(lease, state, reason)}
        await self.commit(lease, state, (), Outcome(reason, counts))

    async def retry(
        self,
        lease: Lease,
        reason: str,
        rest: float = 0.0,
        cause: str = "",
        page: Page | None = None,
        *,
        backs_off: bool = True,
    ) -> None:
        """Let the URL be fetched again; its queue rests longer with every attempt, except where it is said not to.

        ``cause`` is what a seed's verdict is made of where that is not the reason, and ``page`` what was answered.
        """
        backed_off = max(self._fetching.politeness.delay_of(lease.url), 2.0 ** min(lease.attempt - 1, 10))
        pause = max(rest, backed_off) if backs_off else rest
        last = lease.attempt >= self._context.now.attempts
        trail, told = self._steps.seed_trail, cause or reason
        noted = trail.failed(lease, State.FAILED, told) if last else await trail.tried(lease, told, page)
        learned = self._fetching.politeness.learned(lease.url)
        kept = await self.keep_failed(lease, reason) if last else {}
        if last:
            await self._steps.visit_noting.failed(lease, reason)
        outcome = Outcome(reason, {f"error:{reason}" if last else "retries": 1.0, **kept, **noted}, pause, learned)
        logger.info("%s attempt %d: %s; its site rests for %.0f s", lease.url, lease.attempt, reason, pause)
        state = await self._writer.call(self._frontier.retry, lease, outcome)
        if state is State.FAILED:
            await self._steps.listings.failed(lease, reason)
            await self._steps.link_ranking.ended(lease, state, reason)
        await self._fetching.leases.give_back_behind(lease)
        self._writer.stats.merge(outcome.stats)

    async def block(self, lease: Lease, refusal: str) -> None:
        """Block a URL for what its response is; it comes back when the scope changes."""
        blocking, delay = self._writer.stores.blocking, self._fetching.politeness.delay_of(lease.url)
        if blocking is None:
            await self.end(lease, State.BLOCKED, refusal)
            return

        def at_once() -> bool:
            self._frontier.release([lease], delay=delay)
            return blocking.block_urls([lease.url], f"{SCOPE}{refusal}")[0]

        await self._steps.listings.failed(lease, refusal)
        if await self._writer.call(at_once):
            logger.info("%s %s: %s", lease.url, State.BLOCKED, refusal)
            noted = self._steps.seed_trail.failed(lease, State.BLOCKED, refusal)
            await self._writer.count({f"blocked:{refusal}": 1, **noted})
            await self._steps.link_ranking.ended(lease, State.BLOCKED, refusal)

    async def keep_failed(self, lease: Lease, reason: str) -> Mapping[str, float]:
        """Keep that a URL failed, for people to see, and return what that adds to the counts."""
        if self._writer.stores.refusals is not None:
            await self._writer.write(self._writer.stores.refusals.failed, lease.url, reason, lease.kind, lease.via)
        return {f"{FAILURE}:{reason}": 1.0}

    async def commit(
        self, lease: Lease, state: State, links: Sequence[Offer], outcome: Outcome, rest: float = 0.0
    ) -> bool:
        """Finish a lease; False where it had been lost."""
        politeness = self._fetching.politeness
        delay = max(rest, politeness.delay_of(lease.url))
        is_asked = state is not State.BLOCKED and outcome.reason != NO_CAPTURE and not outcome.stats.keys() & _NOT_ASKED
        if not is_asked:  # Nothing of its site was asked for, robots.txt perhaps.
            delay = politeness.rest_left(lease.url)
        stats = {**outcome.stats, **self._steps.budgets.used(lease.url, outcome.stats)}
        outcome = replace(outcome, stats=stats, delay=delay, learned=politeness.learned(lease.url))
        held = await self._writer.call(self._frontier.finish, lease, state, outcome, links)
        if held:
            if state is State.DONE:
                politeness.told(lease.url, delay)
            self._writer.stats.merge(outcome.stats)
            if state is not State.DONE:
                await self._steps.link_ranking.ended(lease, state, outcome.reason)
            self._lifecycle.check_limits()
        else:
            logger.warning("%s: its lease had run out, so it is fetched again", lease.url)
        return held

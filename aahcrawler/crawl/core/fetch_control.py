"""Bring together leases, politeness and IP claims."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.client_settings import routes
from aahcrawler.crawl.fetch.ip_claims import ClaimHolder, IpClaims
from aahcrawler.crawl.health.outages import ProxyOutage
from aahcrawler.crawl.lease.lease_source import (
    Backlog,
    LeaseRenewer,
    LeaseSource,
    Slots,
    StoppedError,
    capacity,
    worker_name,
)
from aahcrawler.crawl.reporting.live_display import Activity
from aahcrawler.crawls import lease_seconds
from aahcrawler.frontier.protocol import Lease
from aahcrawler.urls import queue_of
from aahcrawler.wire.politeness import PolitenessTracker
from online_analysis.icd import Icd

_HINDERED_SECONDS = 1.0
"""Seconds between two looks at whether a crawl that is hindered may go on."""


@dataclass(frozen=True, slots=True)
class FetchControl:
    """The leases of a crawl, how polite it is to queues and IP addresses, and ``ending``, set when it is stopped."""

    stores: StoreWriter
    leases: LeaseSource
    politeness: PolitenessTracker
    ip_claims: IpClaims
    renewer: LeaseRenewer
    ending: asyncio.Event
    proxy_outage: ProxyOutage
    _turns: dict[str, float] = field(default_factory=dict)
    """The queues of leases that wait for their turn, and when that is, by the clock of the leases."""

    @classmethod
    def of(
        cls,
        icd: Icd,
        stores: StoreWriter,
        ending: asyncio.Event,
        backlog: Backlog | None = None,
        slots: Slots | None = None,
    ) -> "FetchControl":
        """Return what fetches by a definition; ``slots`` are shared with other crawls, None where there are none."""
        worker, politeness, frontier = worker_name(), PolitenessTracker(icd.politeness), stores.stores.frontier
        proxy_outage = ProxyOutage(str(routes(icd).general.proxy or ""))
        leases = LeaseSource(
            frontier,
            stores.executor,
            worker,
            capacity(icd.limits.pages),
            lambda: bool(stores.hindrance) or proxy_outage.is_resting,
            backlog=backlog,
            slots=slots,
            connections=politeness.connections_of,
        )
        holder = ClaimHolder(worker, lease_seconds(icd))
        ip_claims = IpClaims(holder, politeness.delay_of, stores.executor, stores.stores.ip_locks)
        renewer = LeaseRenewer(frontier, leases, ip_claims.renew)
        return cls(stores, leases, politeness, ip_claims, renewer, ending, proxy_outage)

    def use(self, icd: Icd) -> None:
        """Go by another definition from the next request on."""
        self.politeness.use(icd.politeness)
        self.leases.capacity = capacity(icd.limits.pages)

    async def remember_delay(self, lease: Lease) -> None:
        """Tell the frontier a changed delay of a lease's queue before the request: this process may die meanwhile."""
        delay = self.politeness.delay_of(lease.url)
        if self.politeness.is_news(lease.url, delay):
            await self.stores.call(self.stores.stores.frontier.remember_delay, lease, delay)
            self.politeness.told(lease.url, delay)

    async def wait_for_slot(self, url: str) -> None:
        """Reserve the next turn of a URL's queue and wait for it; raise ``StoppedError`` if the crawl stops before."""
        has_come = False
        while not has_come:
            await self._until_unhindered()
            with self._waiting(url, self.politeness.reserve(url)) as seconds:
                await self._until_ending(seconds)
            if self.ending.is_set():
                raise StoppedError
            has_come = not self._is_hindered

    async def wait_within_visit(self, seconds: float) -> None:
        """Wait between two requests of a browser visit, which keeps the delay itself.

        Wait on while fetching is hindered. Raise ``StoppedError`` if the crawl is stopped before.
        """
        has_come = False
        while not has_come:
            await self._until_unhindered()
            if seconds > 0:
                await self._until_ending(seconds)
            if self.ending.is_set():
                raise StoppedError
            has_come, seconds = not self._is_hindered, 0.0

    async def _until_unhindered(self) -> None:
        while self._is_hindered and not self.ending.is_set():
            await self._until_ending(_HINDERED_SECONDS)

    @property
    def _is_hindered(self) -> bool:
        return bool(self.stores.hindrance) or self.proxy_outage.is_resting

    @property
    def activity(self) -> Activity:
        """Return what this process does at present."""
        leased = dict.fromkeys(lease.queue for lease in self.leases.leases)
        if busy := tuple(queue for queue in leased if queue not in self._turns):
            return Activity(busy)
        now = self.leases.clock()
        if self._turns:
            queue, at = min(self._turns.items(), key=lambda turn: turn[1])
            return Activity((), max(0.0, at - now), queue)
        if self.leases.ready_at is None:
            return Activity()
        wait = max(0.0, self.leases.ready_at - now)
        return Activity((), wait, self.politeness.rests_for(wait))

    @contextmanager
    def _waiting(self, url: str, seconds: float) -> Iterator[float]:
        queue = queue_of(url)
        self._turns[queue] = self.leases.clock() + seconds
        try:
            yield seconds
        finally:
            self._turns.pop(queue, None)

    async def _until_ending(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ending.wait(), seconds)

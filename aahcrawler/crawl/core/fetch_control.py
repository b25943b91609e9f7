"""Bring together leases, politeness and IP claims."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass

from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.fetch.ip_claims import ClaimHolder, IpClaims
from aahcrawler.crawl.fetch.politeness import PolitenessTracker, StoppedError
from aahcrawler.crawl.lease.lease_source import Backlog, LeaseSource, capacity, worker_name
from aahcrawler.crawl.lease.renewal import LeaseRenewer
from aahcrawler.crawl.lease.slots import Slots
from aahcrawler.crawls import lease_seconds
from aahcrawler.frontier.protocol import Lease
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
        leases = LeaseSource(
            frontier,
            stores.executor,
            worker,
            capacity(icd.limits.pages),
            lambda: bool(stores.hindrance),
            backlog=backlog,
            slots=slots,
            connections=politeness.connections_of,
        )
        holder = ClaimHolder(worker, lease_seconds(icd))
        ip_claims = IpClaims(holder, politeness.delay_of, stores.executor, stores.stores.ip_locks)
        renewer = LeaseRenewer(frontier, leases, ip_claims.renew)
        return cls(stores, leases, politeness, ip_claims, renewer, ending)

    def use(self, icd: Icd) -> None:
        """Go by another definition from the next request on."""
        self.politeness.use(icd.politeness)
        self.leases.capacity = capacity(icd.limits.pages)

    async def remember_delay(self, lease: Lease) -> None:
        """Have the frontier know how long a queue rests before it is asked: this process may die meanwhile."""
        delay = self.politeness.delay_of(lease.url)
        if self.politeness.is_news(lease.url, delay):
            await self.stores.call(self.stores.stores.frontier.remember_delay, lease, delay)
            self.politeness.told(lease.url, delay)

    async def wait_for_slot(self, url: str) -> None:
        """Wait until a URL's queue may be fetched from; raise ``StoppedError`` if the crawl is stopped before."""
        has_come = False
        while not has_come:
            while self.stores.hindrance and not self.ending.is_set():
                await self._until_ending(_HINDERED_SECONDS)
            await self._until_ending(self.politeness.reserve(url))
            if self.ending.is_set():
                raise StoppedError
            has_come = not self.stores.hindrance

    async def _until_ending(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self.ending.wait(), seconds)

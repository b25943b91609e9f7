"""One machine is asked by one worker at a time, and at a distance, whatever the domains that lead to it.

What a queue's delay is for its pay-level domain, an IP address's is for the machine: the frontier keeps domains apart,
and here the fetches of an IP address are, once its name has been resolved.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Protocol

from aahcrawler.crawl.lease.frontier_executor import FrontierExecutor
from aahcrawler.frontier.ip_locks import IpLocks
from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.urls import queue_of
from aahcrawler.wire.admission import Admission, machine

IP_CLAIM = "aah_ip_claim"
"""The key of ``Request.meta`` that holds a request's ``Claim``."""
SOON = 2.0
"""Seconds that a request waits for its IP address; what would take longer goes back to the frontier meanwhile."""


class IpAddressBusyError(Exception):
    """An IP address is not to be asked for some ``seconds``: nothing was sent, and the attempt does not count."""

    def __init__(self, address: str, seconds: float) -> None:
        super().__init__(f"{address} is not to be asked for {seconds:.1f} s")
        self.seconds = seconds


@dataclass(frozen=True, slots=True)
class ClaimHolder:
    """The worker that claims IP addresses, and the seconds after which a claim ends unless it is renewed."""

    worker: str
    seconds: float


class IpClaims:
    """Claims IP addresses for requests.

    ``delay_of`` returns the seconds between two fetches of a URL's site, and so of its IP address. The
    ``locks`` are asked in the ``executor``.
    """

    def __init__(
        self,
        holder: ClaimHolder,
        delay_of: Callable[[str], float],
        executor: FrontierExecutor,
        locks: IpLocks,
    ) -> None:
        self.delay_of = delay_of
        self._holder = holder
        self._executor = executor
        self._locks = locks
        self._claimed: Counter[str] = Counter()

    def of(self, url: str) -> "IpClaim":
        """Return the claim of one request. Where there is no delay, nothing is claimed and nothing waits."""
        return IpClaim(self, url)

    async def enter(self, name: str, url: str) -> None:
        """Claim an IP address for a URL; raise ``IpAddressBusyError`` where it is not to be had soon."""
        delay = self.delay_of(url)
        wait = await self.claim(name, delay)
        if 0 < wait <= SOON:
            await asyncio.sleep(wait)
            wait = await self.claim(name, delay)
        if wait:
            raise IpAddressBusyError(name, wait)

    async def claim(self, address: str, delay: float, *, goes_on: bool = False) -> float:
        """Claim an IP address: 0, or in how many seconds it may be had (``IpLocks.claim``)."""
        arguments = address, self._holder.worker, delay, self._holder.seconds
        wait = await self._executor.call(self._locks.claim, *arguments, goes_on=goes_on)
        if not wait:
            self._claimed[address] += 1
        return wait

    def renew(self) -> None:
        """Let all that is claimed stay claimed; for any thread. Errors are those of the shared claims."""
        claimed = tuple(self._claimed)
        self._locks.renew(claimed, self._holder.worker, self._holder.seconds)

    async def release(self, address: str, delay: float) -> None:
        """Let others claim an IP address after a delay."""
        self._claimed[address] -= 1
        if not self._claimed[address]:
            del self._claimed[address]
        with suppress(FrontierUnavailableError):  # Claims end by themselves.
            await self._executor.call(self._locks.release, address, self._holder.worker, delay)


class Claim(Admission, Protocol):
    """The claim of one request, at one IP address at a time."""

    async def leave(self) -> None:
        """Let the delay of the IP address begin: the request has ended."""
        ...


class _Claims(Protocol):
    """Whoever claims IP addresses for several requests."""

    def delay_of(self, url: str, /) -> float:
        """Return the seconds between two requests to an IP address; where there are none, it is not claimed."""
        ...

    async def enter(self, name: str, url: str) -> None:
        """Claim an IP address for a URL; raise ``IpAddressBusyError`` where it is not to be had in time."""
        ...

    async def release(self, address: str, delay: float) -> None:
        """Let others claim an IP address after a delay."""
        ...


class IpClaim:
    """The claim of one request (``Claim``)."""

    def __init__(self, claims: _Claims, url: str) -> None:
        self._claims = claims
        self._url = url
        self._address = ""

    async def enter(self, address: str, port: int) -> None:
        """Return when the IP address may be asked; raise ``IpAddressBusyError`` where that is not in time."""
        name = machine(address, port)
        if self._claims.delay_of(self._url) <= 0 or name == self._address:
            return
        await self.leave()
        await self._claims.enter(name, self._url)
        self._address = name

    async def leave(self) -> None:
        """See ``Claim.leave``."""
        name, self._address = self._address, ""
        if name:
            await self._claims.release(name, self._claims.delay_of(self._url))


APART: Final = 0.05
"""Seconds between two requests of a visit to one host, and after one to an IP address.

Browsers send what a page needs all at once; twenty a second is what one reader with a slow connection causes.
"""
MAX_WAITED: Final = 6.0
"""Seconds that all requests of a visit together wait for IP addresses that other workers have."""


class VisitClaims:
    """Claims IP addresses for the requests of a visit to a page (``url``)."""

    def __init__(self, claims: IpClaims, url: str) -> None:
        self._claims = claims
        self._url = url
        self._left = MAX_WAITED
        self._machines: set[str] = set()

    def delay_of(self, url: str) -> float:
        """Return the seconds between two requests to a URL's host: none where its site asks for no delay."""
        return min(APART, self._claims.delay_of(url))

    def of(self, url: str) -> IpClaim:
        """Return the claim of one request. Where there is no delay, nothing is claimed and nothing waits."""
        return IpClaim(self, url)

    async def enter(self, name: str, url: str) -> None:
        """Claim an IP address by its name; raise ``IpAddressBusyError`` where it is not to be had in time."""
        while wait := await self._claims.claim(name, self.delay_of(url), goes_on=True):
            if wait > self._left:
                raise IpAddressBusyError(name, wait)
            self._left -= wait
            await asyncio.sleep(wait)
        if queue_of(url) == queue_of(self._url):
            self._machines.add(name)

    async def release(self, address: str, delay: float) -> None:
        """Let others claim an IP address after a delay."""
        await self._claims.release(address, delay)

    async def end(self) -> None:
        """Let the delay of the page's site begin for the IP addresses that the visit asked it at."""
        delay, machines = self._claims.delay_of(self._url), self._machines
        self._machines = set()
        for name in machines:
            if not await self._claims.claim(name, delay, goes_on=True):
                await self._claims.release(name, delay)

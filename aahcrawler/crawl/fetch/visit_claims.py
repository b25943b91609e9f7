"""The claims of IP addresses by the requests of one visit: each for its own time, none waited for by one that holds.

The delay of a site lies before and after a visit, not between its requests; so these begin a moment apart, and the
delay after what the worker itself asked the IP address for last is no reason to wait. Other workers are: for them it
is one worker's at a time here as well. A request that waits holds nothing, so no two visits that load from each other's
sites can wait for one another; and all requests of a visit wait for so long together, then no more.
"""

import asyncio
from typing import Final

from aahcrawler.crawl.fetch.ip_claims import IpAddressBusyError, IpClaims, machine
from aahcrawler.urls import queue_of

APART: Final = 0.05
"""Seconds between two requests of a visit to one host, and after one to an IP address.

Browsers send what a page needs all at once; twenty a second is what one reader with a slow connection causes.
"""
MOST_WAITED: Final = 6.0
"""Seconds that all requests of a visit together wait for IP addresses that other workers have."""


class VisitClaims:
    """Claims IP addresses for the requests of a visit to a page (``url``)."""

    def __init__(self, claims: IpClaims, url: str) -> None:
        self._claims = claims
        self._url = url
        self._left = MOST_WAITED
        self._machines: set[str] = set()

    def apart(self, url: str) -> float:
        """Return the seconds between two requests to a URL's host: none where its site asks for no delay."""
        return min(APART, self._claims.delay_of(url))

    def of(self, url: str) -> "VisitClaim":
        """Return the claim of one request. Where there is no delay, nothing is claimed and nothing waits."""
        return VisitClaim(self, url)

    async def claim(self, name: str, url: str) -> None:
        """Claim an IP address by its name; raise ``IpAddressBusyError`` where it is not to be had in time."""
        while wait := await self._claims.claim(name, self.apart(url), goes_on=True):
            if wait > self._left:
                raise IpAddressBusyError(name, wait)
            self._left -= wait
            await asyncio.sleep(wait)
        if queue_of(url) == queue_of(self._url):
            self._machines.add(name)

    async def release(self, name: str, url: str) -> None:
        """Let others claim an IP address in a moment."""
        await self._claims.release(name, self.apart(url))

    async def end(self) -> None:
        """Let the delay of the page's site begin for the IP addresses that the visit asked it at."""
        delay, machines = self._claims.delay_of(self._url), self._machines
        self._machines = set()
        for name in machines:
            if not await self._claims.claim(name, delay, goes_on=True):
                await self._claims.release(name, delay)


class VisitClaim:
    """The claim of one request of a visit (``ip_claims.Claim``)."""

    def __init__(self, claims: VisitClaims, url: str) -> None:
        self._claims = claims
        self._url = url
        self._address = ""

    async def enter(self, address: str, port: int) -> None:
        """Return when the IP address may be asked; raise ``IpAddressBusyError`` where it may not."""
        name = machine(address, port)
        if self._claims.apart(self._url) <= 0 or name == self._address:
            return
        await self.leave()
        await self._claims.claim(name, self._url)
        self._address = name

    async def leave(self) -> None:
        """See ``Claim.leave``."""
        name, self._address = self._address, ""
        if name:
            await self._claims.release(name, self._url)

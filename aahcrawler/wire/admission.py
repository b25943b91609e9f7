"""The protocol by which the crawl decides whether a request may go to an IP address at this moment."""

import asyncio
from ipaddress import IPv6Address, ip_address
from typing import Protocol


class Admission(Protocol):
    """Admits a request to the IP addresses it tries, one at a time, as names resolve and connections are refused."""

    async def enter(self, address: str, port: int) -> None:
        """Wait until a request may be sent to an IP address; raise any exception to end the fetch instead.

        If only a proxy knows the IP address, the host's name is passed in its place. The client calls this only for IP
        addresses that the policy allows, before it connects or sends. The time spent here counts against no timeout of
        the wire client. Entering an IP address releases the one entered before.
        """
        ...


class Waiting:
    """Calls an admission, if there is one, and records the seconds that it took."""

    def __init__(self, admission: Admission | None) -> None:
        self._admission = admission
        self.seconds = 0.0

    async def enter(self, address: str, port: int) -> None:
        """See ``Admission.enter``."""
        if self._admission is None:
            return
        loop = asyncio.get_running_loop()
        began = loop.time()
        try:
            await self._admission.enter(address, port)
        finally:
            self.seconds += loop.time() - began


def machine(address: str, port: int) -> str:
    """Return the name under which an IP address is claimed: its one spelling, on loopback with the port, as for queues.

    >>> machine("2001:DB8::0:1", 80), machine("::ffff:192.0.2.1", 80), machine("127.0.0.1", 8080)
    ('2001:db8::1', '192.0.2.1', '127.0.0.1:8080')

    Of a host that a proxy resolves the name stands for its machine.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address.lower()
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return f"{parsed}:{port}" if parsed.is_loopback else str(parsed)

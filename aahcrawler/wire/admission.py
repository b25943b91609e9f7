"""Define who is asked before a request goes to an IP address."""

import asyncio
from typing import Protocol


class Admission(Protocol):
    """Lets one request pass to one IP address after another, as names resolve and connections are refused."""

    async def enter(self, address: str, port: int) -> None:
        """Wait until a request may be sent to an address; raise any exception to end the fetch instead.

        Where only a proxy knows the IP address, the host's name stands for it.
        Only IP addresses that the policy allows are asked about, before anything is connected to or sent. What this
        takes counts against no timeout of the wire client. Entering an IP address ends the stay at the one before.
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

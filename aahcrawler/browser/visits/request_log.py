"""Know what a page's requests are for before they reach the network."""

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

_PATIENCE = 0.2
"""How long a request is held until DevTools tell of it, in seconds. Some they never tell of."""

_DESTINATIONS = {
    "audio": "Media",
    "document": "Document",
    "embed": "Document",
    "empty": "Fetch",
    "font": "Font",
    "frame": "Document",
    "iframe": "Document",
    "image": "Image",
    "manifest": "Manifest",
    "object": "Document",
    "report": "CSPViolationReport",
    "script": "Script",
    "serviceworker": "Script",
    "sharedworker": "Script",
    "style": "Stylesheet",
    "track": "TextTrack",
    "video": "Media",
    "worker": "Script",
}
"""Values of Sec-Fetch-Dest (https://www.w3.org/TR/fetch-metadata/), and what DevTools call them."""


@dataclass(frozen=True, slots=True)
class RequestPurpose:
    """What a request is for, in the words of the DevTools protocol, and whether a service worker makes it."""

    resource_type: str = ""
    initiator: str = ""
    in_background: bool = False


def purpose_by_fields(headers: tuple[tuple[str, str], ...]) -> RequestPurpose:
    """Return what a request's own header fields say that it is for."""
    said = next((value for name, value in headers if name.lower() == "sec-fetch-dest"), "")
    return RequestPurpose(_DESTINATIONS.get(said.strip().lower(), ""))


class RequestLog:
    """The requests that the targets of a visit have announced and that have not reached the network.

    It holds at most ``most``; the oldest, which scripts have called off or the browser answered by itself, go first.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._announced: OrderedDict[tuple[str, str], deque[RequestPurpose]] = OrderedDict()
        self._number = 0
        self._waiting: dict[tuple[str, str], deque[asyncio.Future[RequestPurpose]]] = {}

    def announce(self, event: dict[str, Any], *, in_background: bool = False) -> None:
        """Take an event ``Network.requestWillBeSent``."""
        request = event.get("request", {})
        key = str(request.get("method", "")), str(request.get("url", ""))
        if not key[1].startswith(("http:", "https:")):
            return
        initiator = str(event.get("initiator", {}).get("type", ""))
        kind = "Preflight" if initiator == "preflight" else str(event.get("type", ""))
        purpose = RequestPurpose(kind, initiator, in_background)
        waiting = self._waiting.get(key, ())
        for one in waiting:
            if not one.done():
                one.set_result(purpose)
                return
        self._announced.setdefault(key, deque()).append(purpose)
        self._number += 1
        while self._number > self.most:
            _, lost = self._announced.popitem(last=False)
            self._number -= len(lost)

    async def purpose(self, method: str, url: str) -> RequestPurpose | None:
        """Return what a request is for that has reached the network; None if nobody says so soon."""
        key = method, url
        announced = self._announced.get(key)
        if announced:
            self._number -= 1
            purpose = announced.popleft()
            if not announced:
                del self._announced[key]
            return purpose
        return await self._told_soon(key)

    async def _told_soon(self, key: tuple[str, str]) -> RequestPurpose | None:
        told: asyncio.Future[RequestPurpose] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(key, deque())
        waiting.append(told)
        try:
            async with asyncio.timeout(_PATIENCE):
                return await told
        except TimeoutError:
            return None
        finally:
            waiting.remove(told)
            if not waiting:
                self._waiting.pop(key, None)

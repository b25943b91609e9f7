"""The protocol of an upstream, which answers a page's requests in place of the network."""

from dataclasses import dataclass
from typing import Protocol

from aahcrawler.wire.relay import Relay


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """A request as a page makes it.

    ``headers`` are those that the browser sent, in its order and case, without hop-by-hop fields (RFC 9110, section
    7.6.1). ``resource_type`` and ``initiator`` have the values of the DevTools protocol (``Document``, ``Script``,
    ``XHR``; ``parser``, ``script``); empty if unknown.
    """

    url: str
    method: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    resource_type: str = ""
    initiator: str = ""


class RequestRefusedError(Exception):
    """Raised when a page's request is refused or gets no response.

    ``reason`` is a word for counts, such as ``robots`` or ``scope``.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Upstream(Protocol):
    """Answers the requests of one visit, several at once."""

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """Answer a request through ``relay``; return when the response has ended.

        Raises ``RequestRefusedError`` if there is no complete response. Nothing else is raised except on cancellation,
        which means that the browser no longer wants the response.
        """
        ...

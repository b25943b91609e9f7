"""Define who answers the requests of a page, in the browser's place."""

from dataclasses import dataclass
from typing import Protocol

from aahcrawler.wire.relay import Relay


@dataclass(frozen=True, slots=True)
class BrowserRequest:
    """A request as a page makes it.

    ``headers`` are what the browser sent, in its order and case, without those of the hop (RFC 9110, section 7.6.1).
    ``resource_type`` and ``initiator`` are as the DevTools protocol names them (``Document``, ``Script``, ``XHR``;
    ``parser``, ``script``), empty where nobody knows.
    """

    url: str
    method: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    resource_type: str = ""
    initiator: str = ""


class RequestRefusedError(Exception):
    """A request of a page is not made, or got no answer; ``reason`` is a word for the counts: ``robots``, ``scope``."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Upstream(Protocol):
    """Answers the requests of one visit; several at once."""

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """Have a request answered through ``relay``; return when the answer has ended.

        Raise ``RequestRefusedError`` where there is none, or none to its end. Nothing else is raised, but for
        cancellation, which says that the browser does not want the answer any more.
        """
        ...

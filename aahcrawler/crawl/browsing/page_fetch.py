"""One request of a visit on its way to the network, and who sends it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from aahcrawler.crawl.browsing.visit_pace import VisitPace
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.wire.relay import Relay


@dataclass(frozen=True, slots=True)
class PageFetch:
    """A request as a visit has it sent: ``relay`` is given its answer, which ends when ``until`` is set.

    ``wanted`` and ``most_bytes`` are as in ``WireRequest``; ``pace`` is the visit's.
    """

    url: str
    method: str
    headers: Sequence[tuple[str, str]]
    body: bytes
    relay: Relay
    wanted: Callable[[int, Sequence[tuple[str, str]]], bool]
    most_bytes: int | None
    pace: VisitPace
    until: asyncio.Event


Fetch = Callable[[PageFetch], Awaitable[CapturedResponse]]
"""Sends a request through all that stands between the crawl and the network: robots.txt, sessions, middlewares.

Raises ``RequestRefusedError``, ``WireError``, and what the crawl's requests raise else.
"""

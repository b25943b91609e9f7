"""The rules of a robots.txt, and what they mean for a fetch (RFC 9309)."""

import re
from dataclasses import dataclass
from itertools import islice

from protego import Protego
from scrapy.exceptions import IgnoreRequest

from aahcrawler.crawl.fetch.client_settings import PRODUCT

LARGEST = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""
MAX_NAMED = 20
"""How many sitemaps that a robots.txt names are asked for."""
_AGENT_LINE = re.compile(r"\s*user(?:-|\s*)agent(?:\s*:|\s)(.*)", re.IGNORECASE)


class RobotsDeniedError(IgnoreRequest):
    """The host's robots.txt does not let us fetch the URL."""


class RobotsUnreachableError(IgnoreRequest):
    """The host's robots.txt could not be had: nothing may be fetched now (RFC 9309, section 2.3.1.4).

    ``cause`` is a ``WireReason`` where the host did not answer at all, else empty.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one host; ``parsed`` is None if everything is allowed."""

    parsed: Protego | None
    expires: float

    @classmethod
    def read(cls, body: bytes, expires: float) -> "Rules":
        """Read a robots.txt, or as much of it as is read of any."""
        text = body[:LARGEST].decode("utf-8-sig", "replace")
        return cls(Protego.parse(_addressed_to_us(text)), expires)

    def allow(self, url: str) -> bool:
        """Say whether we may fetch a URL."""
        return self.parsed is None or bool(self.parsed.can_fetch(url, PRODUCT))

    @property
    def delay(self) -> float:
        """The Crawl-delay in seconds, 0 where none is given."""
        return float((self.parsed and self.parsed.crawl_delay(PRODUCT)) or 0.0)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The first sitemaps that are named, as they are written."""
        return () if self.parsed is None else tuple(islice(self.parsed.sitemaps, MAX_NAMED))


def _addressed_to_us(text: str) -> str:
    """Return a robots.txt in which all other agents are one.

    The parser gives each rule of a group to each of its agents, and thousands of both would take all memory; and it
    takes the beginning of a product's name for the whole, where RFC 9309 does not (section 2.2.1).
    """
    return "\n".join(map(_with_our_agent, text.splitlines()))


def _with_our_agent(line: str) -> str:
    match = _AGENT_LINE.match(line.partition("#")[0])
    if match is None:
        return line
    agent = match[1].strip()
    product = agent.partition("/")[0].rstrip(" *").lower()
    if agent == "*" or not agent:
        return line
    return f"User-agent: {PRODUCT if product == PRODUCT.lower() else 'another'}"

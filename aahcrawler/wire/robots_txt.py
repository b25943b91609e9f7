"""robots.txt: fetching it, what it permits, and which of its lines forbids a URL (RFC 9309)."""

import re
from bisect import bisect_left
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from protego import Protego

from aahcrawler import urls
from aahcrawler.page import Page
from aahcrawler.page.onward import location
from aahcrawler.wire.errors import WireError, WireReason
from online_analysis.icd import PRODUCT

MAX_ROBOTS_BYTES = 512 * 1024
"""How many bytes of a robots.txt are read; RFC 9309 requires at least 500 KiB."""
MAX_NAMED = 20
"""How many of the sitemaps in a robots.txt are fetched."""
MAX_ROBOTS_REDIRECTS: Final = 5
"""How many redirects of a robots.txt are followed (RFC 9309, section 2.3.1.2)."""
_AGENT_LINE = re.compile(r"\s*user(?:-|\s*)agent(?:\s*:|\s)(.*)", re.IGNORECASE)
_DISALLOW_LINE = re.compile(r"\s*d[ials]{4,6}[ao]w\b", re.IGNORECASE)
"""Disallow, and the misspellings of it that the parser accepts."""
_OF_THE_HOST = frozenset(
    {
        WireReason.ADDRESS,
        WireReason.RESOLVE,
        WireReason.CONNECT,
        WireReason.TLS,
        WireReason.PROXY,
        WireReason.PROXY_REFUSED,
        WireReason.PROXY_UNAVAILABLE,
    }
)
"""Errors that concern every URL of a host, not only its robots.txt."""


class RobotsDeniedError(Exception):
    """Raised when the host's robots.txt forbids the URL; ``rule`` is the line that forbids it, if it was looked up."""

    reason: Final = "robots"

    def __init__(self, url: str, rule: str = "") -> None:
        super().__init__(f"{urls.origin(url)}/robots.txt does not let us fetch {url}{f' ({rule})' if rule else ''}")
        self.url, self.rule = url, rule


class RobotsUnreachableError(Exception):
    """Raised when the host's robots.txt cannot be fetched: nothing may be fetched now (RFC 9309, section 2.3.1.4).

    ``cause`` is a ``WireReason`` if the host did not respond at all, else empty.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause

    @property
    def reason(self) -> str:
        """The word for why nothing was fetched, as for ``WireError``."""
        return self.cause or "robots.txt"


async def ask(origin: str, fetch: Callable[[str], Awaitable[Page]]) -> Page | None:
    """Fetch the robots.txt of an origin, following its redirects; return None if there is none, so that all is allowed.

    ``fetch`` returns the response for a URL, with at most ``MAX_ROBOTS_BYTES`` bytes of its body. Raises
    ``RobotsUnreachableError``, and the ``WireError`` of a host that cannot be reached at all.
    """
    url: str | None = f"{origin}/robots.txt"
    for hop in range(MAX_ROBOTS_REDIRECTS + 1):
        if url is None:
            break
        try:
            page = await fetch(url)
        except WireError as error:
            if hop == 0 and error.reason in _OF_THE_HOST:
                raise
            raise RobotsUnreachableError(f"{url}: {error}", error.reason if hop == 0 else "") from error
        if page.status >= 500 or page.status == 429:
            raise RobotsUnreachableError(f"{url} answered {page.status}")
        if not 300 <= page.status < 400:
            return page if page.status < 300 else None
        url = location(url, page.status, page.headers)
    return None  # Too many redirects count as no robots.txt (section 2.3.1.2).


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one host; ``parsed`` is None if everything is allowed."""

    parsed: Protego | None
    expires: float

    @classmethod
    def read(cls, body: bytes, expires: float) -> "Rules":
        """Parse the beginning of a robots.txt, at most ``MAX_ROBOTS_BYTES`` bytes."""
        return cls(Protego.parse("\n".join(_lines(body))), expires)

    def allow(self, url: str) -> bool:
        """Return whether the crawler may fetch a URL."""
        return self.parsed is None or bool(self.parsed.can_fetch(url, PRODUCT))

    @property
    def delay(self) -> float:
        """The Crawl-delay in seconds; 0 if none is given."""
        return float((self.parsed and self.parsed.crawl_delay(PRODUCT)) or 0.0)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The URLs of the first ``MAX_NAMED`` sitemaps, as written in the file."""
        return () if self.parsed is None else tuple(islice(self.parsed.sitemaps, MAX_NAMED))


def denial(body: bytes, url: str) -> str:
    r"""Return the line by which a robots.txt forbids the crawler a URL, with its number; empty if none does.

    >>> denial(b"User-agent: *\nDisallow: /private", "http://a.test/private/a")
    'line 2, Disallow: /private'

    The parser does not tell, so it is asked with the first Disallow lines alone, in about as many steps as their number
    has digits in base two: more of them never forbid less. Of several lines that suffice, it is the first.
    """
    lines = _lines(body)
    candidates = [number for number, line in enumerate(lines) if _DISALLOW_LINE.match(line)]

    def denies(kept: int) -> bool:
        left_out = set(candidates[kept:])
        # A Disallow without a path forbids nothing, and its group stays apart from the next one.
        tried = ("Disallow:" if number in left_out else line for number, line in enumerate(lines))
        return not bool(Protego.parse("\n".join(tried)).can_fetch(url, PRODUCT))

    if not denies(len(candidates)):
        return ""
    least = bisect_left(range(len(candidates)), True, key=lambda place: denies(place + 1))
    number = candidates[least]
    return f"line {number + 1}, {lines[number].partition('#')[0].strip()}"


def _lines(body: bytes) -> list[str]:
    """Return the lines of a robots.txt, with all other crawlers' names replaced by one.

    The parser copies each rule of a group for each of its crawlers, so thousands of both would exhaust memory. It also
    accepts the beginning of a product's name for the whole, which RFC 9309 does not (section 2.2.1).
    """
    return [_with_our_agent(line) for line in body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace").splitlines()]


def _with_our_agent(line: str) -> str:
    match = _AGENT_LINE.match(line.partition("#")[0])
    if match is None:
        return line
    agent = match[1].strip()
    product = agent.partition("/")[0].rstrip(" *").lower()
    if agent == "*" or not agent:
        return line
    return f"User-agent: {PRODUCT if product == PRODUCT.lower() else 'another'}"

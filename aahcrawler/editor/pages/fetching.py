"""Fetch one page for a person, as politely as a crawl would, and tell which line of a robots.txt forbids it."""

import asyncio
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from importlib.metadata import version
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.page.onward import location
from aahcrawler.wire.client import (
    IpPolicy,
    Limits,
    RefusedAddressError,
    Timeouts,
    WireClient,
    WireError,
    WireRequest,
    WireResponse,
    WireSettings,
)
from aahcrawler.wire.ip_policy import Network

LARGEST = 512 * 1024
"""Bytes of a robots.txt that are read; RFC 9309 asks for at least 500 KiB."""

_LINE = re.compile(r"\s*(user-agent|allow|disallow)\s*:(.*)", re.IGNORECASE)
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_UNRESERVED = re.compile(r"[A-Za-z0-9._~-]")
PRODUCT = "AAHCrawler"
"""The crawler's name in robots.txt files."""
MAX_REDIRECTS = 5
PAGE_BYTES = 10 * 1024 * 1024
"""The bytes of a page that are read; the rest is left out."""
TIMEOUTS = Timeouts(connect=15.0, first_byte=30.0, idle=20.0, total=90.0)
_CONTACT = re.compile(r"(?:mailto:)?[!-~]+@[!-~]+|https?://[!-~]+")


@dataclass(frozen=True, slots=True)
class RobotsRule:
    """An Allow or Disallow line; ``line`` counts from 1."""

    line: int
    allows: bool
    path: str

    def __str__(self) -> str:
        return f"line {self.line}, {'Allow' if self.allows else 'Disallow'}: {self.path}"


def denial(body: bytes, target: str, product: str) -> RobotsRule | None:
    r"""Return the line that denies a path with its query to a crawler called ``product``; None if it may be read.

    The groups that name the crawler count, else those of ``*``; the longest fitting rule prevails, and of equally
    long ones the one that allows.

    >>> str(denial(b"User-agent: *\nDisallow: /private", "/private/a", "Ours"))
    'line 2, Disallow: /private'
    """
    groups = tuple(_groups(body[:LARGEST].decode("utf-8-sig", "replace")))
    product = product.lower()
    ours = [rule for agents, rules in groups if product in agents for rule in rules]
    if not any(product in agents for agents, _ in groups):
        ours = [rule for agents, rules in groups if "*" in agents for rule in rules]
    path = _normal(target)
    fitting = [rule for rule in ours if rule.path and _fits(_normal(rule.path), path)]
    best = max(fitting, key=lambda rule: (len(_normal(rule.path)), rule.allows), default=None)
    return best if best is not None and not best.allows else None


def _groups(text: str) -> Iterator[tuple[frozenset[str], tuple[RobotsRule, ...]]]:
    agents: set[str] = set()
    rules: list[RobotsRule] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _LINE.match(line.partition("#")[0])
        if match is None:
            continue
        name, value = match[1].lower(), match[2].strip()
        if name != "user-agent":
            rules.append(RobotsRule(number, name == "allow", value))
            continue
        if rules:
            yield frozenset(agents), tuple(rules)
            agents, rules = set(), []
        agents.add("*" if value == "*" else value.partition("/")[0].rstrip(" *").lower())
    yield frozenset(agents), tuple(rules)


def _normal(path: str) -> str:
    """Return a path without needless escapes, and the other escapes in capitals."""

    def plain(match: re.Match[str]) -> str:
        sign = chr(int(match[1], 16))
        return sign if _UNRESERVED.match(sign) else match[0].upper()

    escaped = "".join(sign if sign.isascii() else "".join(f"%{byte:02X}" for byte in sign.encode()) for sign in path)
    return _ESCAPE.sub(plain, escaped)


def _fits(rule: str, path: str) -> bool:
    """Return whether a path matches a rule; takes time linear in the path for each star of the rule."""
    anchored = rule.endswith("$")
    first, *others = rule.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    for number, part in enumerate(others, 1):
        if anchored and number == len(others):
            return path.endswith(part) and len(path) - len(part) >= at
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return not anchored or at == len(path)


class FetchError(Exception):
    """A page could not be fetched; the message says why and what to do."""


class BadAddressError(FetchError):
    """The given text is no http or https URL."""


class NoContactError(FetchError):
    """No contact was given; nothing was sent."""


class PrivateAddressError(FetchError):
    """The host is on a private network; nothing was sent."""


class RobotsDeniedError(FetchError):
    """The host's robots.txt forbids the URL; ``rule`` is the deciding line."""

    def __init__(self, url: str, robots: str, rule: RobotsRule) -> None:
        self.url, self.rule = url, rule
        super().__init__(
            f"{url} may not be fetched: {robots} says so ({rule}). Save the page with your browser and give the file."
        )


class RobotsUnreachableError(FetchError):
    """The host's robots.txt could not be had, so nothing may be fetched from it now (RFC 9309, section 2.3.1.4)."""


class NoAnswerError(FetchError):
    """The server gave no answer that can be read."""


class TooManyRedirectsError(FetchError):
    """The URL redirects on and on."""


def _ignore(_: str, __: str) -> None:
    pass


def fetch_page(
    url: str,
    *,
    allow_private: bool = False,
    contact: str = "",
    redirected: Callable[[str, str], None] = _ignore,
    addresses: IpPolicy | None = None,
) -> Page:
    """Fetch one page, whatever its status, and follow redirects to it.

    The page's ``url`` is that of the last redirect, in canonical form; ``redirected`` is called with each step (from,
    to). Every host's robots.txt is fetched first and obeyed. ``contact`` is an e-mail address or a URL at which the
    site's owner reaches the user, part of the User-Agent; it may be empty with ``allow_private`` alone, which permits
    hosts on private networks. A URL that names this machine, or a private IP address, permits that as well: a person
    typed it here. Where ``addresses`` is given, it alone says where connections may go. Pages are cut at
    ``PAGE_BYTES``, and each request takes at most ``TIMEOUTS.total`` seconds. Must not be called in a running event
    loop. Raises `FetchError`.
    """
    address = urls.canonicalize(url.strip())
    if address is None:
        raise BadAddressError(f"{url!r} is no URL; write one that begins with http:// or https://")
    policy = addresses or IpPolicy(allow_private or _named_networks(address))
    agent = _user_agent(contact, needed=addresses is not None or not policy.allow_private)
    with tempfile.TemporaryDirectory(prefix="aah-") as spool:
        settings = WireSettings(
            Path(spool),
            policy,
            TIMEOUTS,
            Limits(body_bytes=PAGE_BYTES, payload_bytes=PAGE_BYTES),
        )
        return asyncio.run(_fetch(address, settings, agent, redirected))


def _named_networks(url: str) -> tuple[Network, ...]:
    """Return the private networks named by a URL that a person typed: this machine, or its private IP address."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return (IPv4Network("127.0.0.0/8"), IPv6Network("::1/128"))
    try:
        address = ip_address(host)
    except ValueError:
        return ()
    return () if address.is_global else (ip_network(address),)


def _user_agent(contact: str, *, needed: bool) -> str:
    contact = contact.strip()
    if needed and not contact:
        raise NoContactError(
            "give a contact, so that the owner of the site can reach you: --contact you@example.org, or set AAH_CONTACT"
        )
    if contact and not _CONTACT.fullmatch(contact):
        raise NoContactError(f"{contact!r} is neither an e-mail address nor a URL; write --contact you@example.org")
    return f"{PRODUCT}/{version('aahcrawler')}{f' (+{contact})' if contact else ''}"


async def _fetch(url: str, settings: WireSettings, agent: str, redirected: Callable[[str, str], None]) -> Page:
    asking = _Asking(WireClient(settings), agent)
    try:
        for _ in range(MAX_REDIRECTS + 1):
            page = await asking.page(url)
            target = location(url, page.status, page.headers)
            if target is None:
                return page
            redirected(url, target)
            url = target
    finally:
        await asking.client.close()
    raise TooManyRedirectsError(f"{url}: more than {MAX_REDIRECTS} redirects; give the URL of the page itself")


@dataclass(frozen=True, slots=True)
class _Asking:
    """Fetches pages that robots.txt permits; each robots.txt is read once."""

    client: WireClient
    agent: str
    robots: dict[str, tuple[str, bytes]] = field(default_factory=dict)

    async def page(self, url: str) -> Page:
        origin = urls.origin(url)
        if origin not in self.robots:
            self.robots[origin] = await self._robots(origin)
        where, rules = self.robots[origin]
        rule = denial(rules, url[len(origin) :], PRODUCT)
        if rule is not None:
            raise RobotsDeniedError(url, where, rule)
        try:
            return await self._get(url, PAGE_BYTES)
        except WireError as error:
            raise _no_answer(url, error) from error

    async def _robots(self, origin: str) -> tuple[str, bytes]:
        """Return the URL and the content of an origin's robots.txt; no rules if there is no such file."""
        url: str | None = f"{origin}/robots.txt"
        for _ in range(MAX_REDIRECTS + 1):
            if url is None:
                break
            try:
                page = await self._get(url, LARGEST)
            except WireError as error:
                raise _no_answer(url, error) from error
            if page.status >= 500 or page.status == 429:
                raise RobotsUnreachableError(
                    f"{url} answered {page.status}, so nothing may be fetched from there now; try again later"
                )
            if not 300 <= page.status < 400:
                return url, page.body if page.status < 300 else b""
            url = location(url, page.status, page.headers)
        return f"{origin}/robots.txt", b""

    async def _get(self, url: str, most: int) -> Page:
        fields = (("User-Agent", self.agent), ("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"))
        try:
            answer = await self.client.fetch(WireRequest(url, fields, max_bytes=most, keep=most))
        except WireError as error:
            if error.exchange is not None:
                error.exchange.close()
            raise
        with closing(answer.exchange):
            return _page(url, answer, most)


def _page(url: str, answer: WireResponse, most: int) -> Page:
    headers = Headers(answer.headers)
    decoded = decode_content(answer.payload, ", ".join(headers.all("Content-Encoding")), most)
    complete = answer.payload_complete and decoded.complete
    return Page(url, answer.status, headers, decoded.body, answer.exchange.started_at, complete)


def _no_answer(url: str, error: WireError) -> FetchError:
    if isinstance(error, RefusedAddressError):
        reason = str(error).partition(";")[0]
        return PrivateAddressError(f"{url} was not asked: {reason}. If it is your own machine, add --allow-private.")
    advice = "try again later" if error.retryable else "check the URL"
    return NoAnswerError(f"{url} gave no answer: {error}; {advice}")

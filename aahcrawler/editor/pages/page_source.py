"""Pages that a person names: a URL, a file of the browser, a saved page, captures of a crawl."""

import asyncio
import re
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler import urls
from aahcrawler.archive.history import History
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.editor.pages.saved_pages import read_page
from aahcrawler.exchange import Exchange
from aahcrawler.layout import ARCHIVE, INDEXES, WARC
from aahcrawler.page import Headers, Page
from aahcrawler.segments import OPEN
from aahcrawler.wire.client import IpPolicy, Limits, RefusedAddressError, Timeouts, WireClient, WireError, WireSettings
from aahcrawler.wire.ip_policy import Network
from aahcrawler.wire.polite_client import DelayError, Manners, PoliteClient, TooManyRedirectsError, Turns
from aahcrawler.wire.replay import replayed
from aahcrawler.wire.robots_txt import RobotsDeniedError, RobotsUnreachableError
from online_analysis.icd import Politeness, user_agent

PAGE_BYTES = 10 * 1024 * 1024
"""The bytes of a page that are read; the rest is left out."""
TIMEOUTS = Timeouts(connect=15.0, first_byte=30.0, idle=20.0, total=90.0)
_POLITENESS = Politeness.model_validate({"delay": "0 s"})
"""A page is wanted at once after its robots.txt, unless that asks for a Crawl-delay."""
_CONTACT = re.compile(r"(?:mailto:)?[!-~]+@[!-~]+|https?://[!-~]+")


class FetchError(Exception):
    """A page could not be fetched; the message says why and what to do."""


def fetch_page(
    url: str,
    *,
    allow_private: bool = False,
    contact: str = "",
    redirected: Callable[[str, str], object] = lambda _, __: None,
    addresses: IpPolicy | None = None,
) -> Page:
    """Fetch one page, whatever its status, and follow redirects to it.

    The page's ``url`` is that of the last redirect, in canonical form; ``redirected`` is called with each step (from,
    to). Every host's robots.txt is fetched first and obeyed, its Crawl-delay as well. ``contact`` is an e-mail address
    or a URL at which the site's owner reaches the user, part of the User-Agent; it may be empty with ``allow_private``
    alone, which permits hosts on private networks. A URL that names this machine, or a private IP address, permits that
    as well: a person typed it here. Where ``addresses`` is given, it alone says where connections may go. Pages are cut
    at ``PAGE_BYTES``, and each request takes at most ``TIMEOUTS.total`` seconds. Must not be called in a running event
    loop. Raises `FetchError`.
    """
    address = urls.canonicalize(url.strip())
    if address is None:
        raise FetchError(f"{url!r} is no URL; write one that begins with http:// or https://")
    policy = addresses or IpPolicy(allow_private or _named_networks(address))
    agent = _agent(contact, needed=addresses is not None or not policy.allow_private)
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


def _agent(contact: str, *, needed: bool) -> str:
    contact = contact.strip()
    if needed and not contact:
        raise FetchError(
            "give a contact, so that the owner of the site can reach you: --contact you@example.org, or set AAH_CONTACT"
        )
    if contact and not _CONTACT.fullmatch(contact):
        raise FetchError(f"{contact!r} is neither an e-mail address nor a URL; write --contact you@example.org")
    return user_agent(contact)


async def _fetch(url: str, settings: WireSettings, agent: str, redirected: Callable[[str, str], object]) -> Page:
    headers = {"User-Agent": agent, "Accept": "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"}
    client = WireClient(settings)
    try:
        polite = PoliteClient(client, _POLITENESS, Manners(headers, PAGE_BYTES, patience=TIMEOUTS.total))
        return await polite.final_page(url, redirected)
    except RobotsDeniedError as error:
        raise FetchError(f"{error}. Save the page with your browser and give the file.") from error
    except RobotsUnreachableError as error:
        raise FetchError(f"{error}, so nothing may be fetched from there now; try again later") from error
    except DelayError as error:
        raise FetchError(f"{url}: {error}; try again later") from error
    except TooManyRedirectsError as error:
        raise FetchError(f"{error}; give the URL of the page itself") from error
    except RefusedAddressError as error:
        reason = str(error).partition(";")[0]
        raise FetchError(f"{url} was not asked: {reason}. If it is your own machine, add --allow-private.") from error
    except WireError as error:
        advice = "try again later" if error.retryable else "check the URL"
        raise FetchError(f"{url} gave no answer: {error}; {advice}") from error
    finally:
        await client.close()


_ADDRESS = re.compile(r"https?://", re.IGNORECASE)
_SAVED_FROM = re.compile(r"saved from url=\(\d+\)(\S+)", re.IGNORECASE)
_FILE_START = 4_096
ENDINGS = (f".{WARC}", f".{WARC}{OPEN}", ".warc")


class SourceError(Exception):
    """No page is available under the given name; the message says what to name instead."""


@dataclass(frozen=True, slots=True)
class Source:
    """The source of pages: ``fetch`` uses the network, ``now`` is the fetch time of files."""

    fetch: Callable[[str], Page]
    now: datetime

    def page(self, named: str, url: str = "") -> Page:
        """Return the page at a URL, or of a file that was found under ``url``.

        A file with an expectation beside it needs no URL. Raises `SourceError`, and the exceptions of ``fetch``.
        """
        if _ADDRESS.match(named):
            if url:
                raise SourceError(f"--url is for files; {named} is a URL already")
            return self.fetch(named)
        file = Path(named)
        if not file.is_file():
            raise SourceError(f"{named} is neither a file nor a URL that starts with http:// or https://")
        if not url and file.suffix == ".html" and file.with_suffix(".json").is_file():
            return read_page(file).page
        return _page(file, url, self.now)

    def pages(self, named: Sequence[str], of_files: Sequence[str]) -> tuple[Page, ...]:
        """Return several pages; ``of_files`` are the URLs of those that are files, in their order."""
        left = list(of_files)
        found = []
        for name in named:
            is_file = not _ADDRESS.match(name)
            found.append(self.page(name, left.pop(0) if left and is_file else ""))
        if left:
            raise SourceError(f"--url {left[0]} belongs to no file; write one --url for each file, in their order")
        return tuple(found)


def source(contact: str, *, allow_private: bool) -> Source:
    """Return pages from the network and from files, those fetched now; pages of one host are fetched apart."""
    turns = Turns()

    def fetch(url: str) -> Page:
        time.sleep(turns.reserve(urls.queue_of(url), Politeness().delay.total_seconds()))
        return fetch_page(url, contact=contact, allow_private=allow_private)

    return Source(fetch, datetime.now(UTC))


def as_typed(named: str, url: str) -> str:
    """Return the arguments by which commands name a page: its URL, or its file and that file's URL.

    >>> as_typed("topic.html", "http://a.test/topic.php?id=7")
    'topic.html --url "http://a.test/topic.php?id=7"'
    """
    return named if _ADDRESS.match(named) else f'{named} --url "{url}"'


def _page(file: Path, url: str, now: datetime) -> Page:
    body = file.read_bytes()
    if not url:
        guess = _own_address(body, now)
        advice = f"; by its own words it is --url {guess}" if guess else ": --url http://..."
        raise SourceError(f"give the URL at which {file} was found{advice}")
    address = urls.canonicalize(url)
    if address is None:
        raise SourceError(f"--url {url} is no URL; write one that starts with http:// or https://")
    return Page(address, 200, Headers((("Content-Type", "text/html"),)), body, now)


def _own_address(body: bytes, now: datetime) -> str | None:
    """Return the URL that a browser or the template wrote into a file."""
    marked = _SAVED_FROM.search(body[:_FILE_START].decode("utf-8", "replace"))
    if marked:
        return urls.canonicalize(marked[1])
    tree = Page("http://localhost/", 200, Headers((("Content-Type", "text/html"),)), body, now).tree
    links = (link.get("href") or "" for link in tree.iter("link") if (link.get("rel") or "").lower() == "canonical")
    return next((url for link in links if (url := urls.canonicalize(link))), None)


def named_page(
    named: str, url: str, contact: str, *, allow_private: bool, redirected: Callable[[str, str], None]
) -> Page:
    """Return the page at a URL, of a file, or of a WARC file, the latter two found under ``url``.

    Raises `SourceError`, `FetchError`, `SavedPageError` and `SegmentError`.
    """
    if named.endswith(ENDINGS) and Path(named).is_file():
        return archived_page(Path(named), url)
    fetch = partial(fetch_page, contact=contact, allow_private=allow_private, redirected=redirected)
    return Source(fetch, datetime.now(UTC)).page(named, url)


def archived_page(file: Path, url: str) -> Page:
    """Return the last capture of a URL in a WARC file of a crawl. Raises `SourceError`, `SegmentError`."""
    wanted = urls.canonicalize(url)
    if wanted is None:
        raise SourceError(f"say which page of {file}: --url http://...")
    name = file.name.removesuffix(OPEN)
    with ArchivedCaptures(file.parent) as source:
        captures = [each for each in source.of_url(wanted) if each.shows_target and each.place.file == name]
        if not captures:
            raise SourceError(f"{file} holds no capture of {wanted}")
        if captures[-1].page is None:
            raise SourceError(f"the capture of {wanted} has no readable head")
        return captures[-1].page


def kept_page(crawl: Path, url: str) -> Page | None:
    """Return the newest capture of a URL in the archive of a crawl, None if there is no readable one."""
    with History(crawl / ARCHIVE, crawl / INDEXES) as history:
        former = history.former(url)
        exchange = history.exchange(former) if former is not None else None
    if exchange is None:
        return None
    with closing(exchange):
        return _page_of(exchange)


def _page_of(exchange: Exchange) -> Page:
    page = replayed(exchange, PAGE_BYTES)
    if page is None:
        raise SourceError(f"the capture of {exchange.url} has no readable head")
    return page

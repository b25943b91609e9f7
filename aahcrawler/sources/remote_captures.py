"""Turn an archive's response into a capture: the memento is checked, and restored to what its site had sent.

OpenWayback, pywb and the Wayback Machine name a memento by a prefix, 14 digits, an optional modifier, and its URL:
``https://archive.example/web/20130605100000id_/http://a.test/``. With the modifier ``id_``, they deliver the payload as
it was captured.
"""

import hashlib
import logging
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, Final, Self, cast
from urllib.parse import urljoin, urlsplit

from aahcrawler.archive.payload import HttpPayload
from aahcrawler.exchange import Exchange, Memento, Truncation
from aahcrawler.page import Headers
from aahcrawler.page.decoding import decode_content
from aahcrawler.replay.link_format import http_date, links_in
from aahcrawler.sources.archive_client import ArchiveClient, is_memento
from aahcrawler.sources.source import Clock, Demand, LateError, SnapshotChoice, SourceError, is_credible
from aahcrawler.urls import canonicalize
from aahcrawler.wire.client import WireResponse

RAW: Final = "id_"
"""The modifier of a memento's address with which its payload is given as it was captured."""
_ADDRESS: Final = re.compile(r"(?P<prefix>https?://[^?#]*?/)(?P<stamp>\d{14})(?P<modifier>[a-z]{2}_)?/(?P<url>[^/].*)")
_SINGLE_SLASH: Final = re.compile(r"(https?):/+", re.IGNORECASE)
_ORIGINAL: Final = "x-archive-orig-"
_OF_CONTENT: Final = frozenset({"content-type", "content-language", "content-disposition", "location", "refresh"})
"""Fields that are the response's own even where an archive does not mark what is: they say what the payload is."""
_OF_THE_WAY: Final = frozenset({"transfer-encoding", "content-length", "connection", "keep-alive", "content-encoding"})
"""Fields of the original response that say how its bytes were sent then, which are no more as they were."""
_INSERTED: Final = (
    re.compile(rb"<!-- WB Insert -->.{0,60000}?<!-- End WB Insert -->", re.DOTALL),
    re.compile(rb"<!-- BEGIN WAYBACK TOOLBAR INSERT -->.{0,60000}?<!-- END WAYBACK TOOLBAR INSERT -->", re.DOTALL),
    re.compile(rb"(?<=<head>).{0,20000}?<!-- End Wayback Rewrite JS Include -->", re.DOTALL | re.IGNORECASE),
)
"""What archives put into pages that they rewrite, by the marks that they put around it."""


@dataclass(frozen=True, slots=True)
class MementoAddress:
    """The address of a memento that contains its time and its URL."""

    prefix: str
    stamp: str
    modifier: str
    url: str

    @classmethod
    def read(cls, uri: str) -> Self | None:
        """Parse a URI-M; return None if it does not contain time and URL.

        >>> MementoAddress.read("http://archive.test/web/20130605100000/http://a.test/x").url
        'http://a.test/x'
        """
        found = _ADDRESS.fullmatch(uri)
        if found is None:
            return None
        url = _SINGLE_SLASH.sub(r"\1://", found["url"], count=1)
        url = url if "://" in url[:10] else f"http://{url}"
        return cls(found["prefix"], found["stamp"], found["modifier"] or "", url)

    @property
    def date(self) -> datetime | None:
        """The time in the address, None if it is no valid time."""
        try:
            return datetime.strptime(self.stamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            return None

    @property
    def raw(self) -> str:
        """The address of the same memento's payload as it was captured."""
        return f"{self.prefix}{self.stamp}{RAW}/{self.url}"


def original_url(found: str, uri: str, url: str) -> str:
    """Return the original URL of a link in the memento at ``uri``; ``url`` is the memento's own URL.

    A link into the archive stands for the URL that it shows; any other link is relative to the memento's own URL.

    >>> original_url("/web/20130605100000id_/http://a.test/x", "http://archive.test/web/2013/y", "http://a.test/")
    'http://a.test/x'
    >>> original_url("../x", "http://archive.test/web/20130605100000/http://a.test/b/c", "http://a.test/b/c")
    'http://a.test/x'
    """
    try:
        target = MementoAddress.read(urljoin(uri, found))
        is_into_archive = target is not None and urlsplit(target.prefix).netloc == urlsplit(uri).netloc
        is_relative = not found.startswith(("http:", "https:", "/"))
        if target is not None and is_into_archive and not is_relative:
            return target.url
        return urljoin(url, found)
    except ValueError:
        return found


def original_fields(fields: Sequence[tuple[str, str]], uri: str, url: str) -> Iterator[tuple[str, str]]:
    """Yield the header fields of the captured response, as far as the archive at ``uri`` gives them.

    These are fields marked as original (``X-Archive-Orig-``), and fields that describe the payload; the origin of
    others is unknown. Fields about the transfer of the bytes are left out.
    """
    marked = [(name[len(_ORIGINAL) :], value) for name, value in fields if name.lower().startswith(_ORIGINAL)]
    known = {name.lower() for name, _ in marked}
    own = [(name, value) for name, value in fields if name.lower() in _OF_CONTENT and name.lower() not in known]
    for name, value in (*own, *marked):
        lower = name.lower()
        if not name or lower in _OF_THE_WAY:
            continue
        yield name, original_url(value, uri, url) if lower in ("location", "content-location") else value


def unrewritten(body: bytes, uri: str) -> bytes:
    """Return a page that an archive rewrote with its original links, and without what the archive inserted.

    Links are recognised by the memento's address: its prefix, digits and an optional modifier before a URL. If the
    address does not have this form, the page is returned as it is.
    """
    address = MementoAddress.read(uri)
    if address is None:
        return body
    for inserted in _INSERTED:
        body = inserted.sub(b"", body, count=1)
    place = urlsplit(address.prefix)
    host, path = (
        re.escape(place.netloc.encode("latin-1", "replace")),
        re.escape(place.path.encode("latin-1", "replace")),
    )
    links = re.compile(
        rb"(?<![\w/.:-])(?:(?:https?:)?//" + host + rb")?" + path + rb"\d{1,14}(?:[a-z]{2}_)?/(?=https?:/|//?[\w-])"
    )
    return links.sub(b"", body)


MAX_HOPS: Final = 5
"""Redirects of an archive from one address of a memento to another."""
MAX_TRIES: Final = 5
"""Captures of an archive that are asked for until one of them can be had."""
MAX_REWRITTEN: Final = 10_000_000
"""Bytes of a page whose links can be turned back."""
WRONG: Final = "wrong memento"
"""The reason of a ``SourceError`` for a memento that cannot be what it says."""
_ALIKE: Final = timedelta(days=1)
"""How far the moment that a memento's address names may be from the one that its head names."""
_IN_MEMORY: Final = 1 << 20
_PIECE: Final = 1 << 16
_TEXTS: Final = ("text/", "application/xhtml", "application/xml")
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memento that may be taken: its URI-M, and its time as far as it is known."""

    uri: str
    date: datetime


@dataclass(frozen=True, slots=True)
class RemoteCaptures:
    """Takes mementos from archives for the definition's source ``source``."""

    client: ArchiveClient
    source: str
    clock: Clock

    async def taken(self, url: str, candidate: Candidate, demand: Demand) -> Exchange | None:
        """Return a memento as a capture: raw if the archive delivers it so, else with its original links restored.

        Return None if the archive recorded an error, or no longer has it. Raise ``SourceError`` if the archive cannot
        be asked, or contradicts itself: another URL, another time than in the address, or a time in the future.
        """
        address = MementoAddress.read(candidate.uri)
        for uri, is_raw in ((address.raw, True), (candidate.uri, False)) if address else ((candidate.uri, False),):
            found = await self._followed(uri, demand)
            if found is None:
                continue
            place, response = found
            with closing(response.exchange):
                date = self._checked(url, place, response)
                self.client.trust(place)
                if not _is_shown(response.status):
                    return None
                if response.exchange.truncated in (Truncation.DISCONNECT, Truncation.TIME):
                    raise SourceError(urlsplit(place).netloc, "disconnect", f"{place} was cut off", may_pass=True)
                memento = Memento(place, urlsplit(place).netloc, self.source, self.clock(), is_raw=is_raw)
                return _capture(url, place, response, date, memento)
        return None

    async def _followed(self, uri: str, demand: Demand) -> tuple[str, WireResponse] | None:
        """Follow an archive's redirects; return the memento's address and response, None if there is none.

        Archives redirect to the nearest time that they have.
        """
        met = {uri}
        for _ in range(MAX_HOPS + 1):
            response = await self.client.get(uri, most=demand.most, is_patient=demand.is_patient)
            if is_memento(response):
                return uri, response
            target = Headers(response.headers).get("Location")
            response.exchange.close()
            if not 300 <= response.status < 400 or not target:
                return None
            uri = urljoin(uri, target)
            if uri in met or not uri.startswith(("http://", "https://")):
                break
            met.add(uri)
        raise SourceError(urlsplit(uri).netloc, "redirects", f"{uri} redirects on and on", may_pass=True)

    def _checked(self, url: str, uri: str, response: WireResponse) -> datetime:
        """Return when a memento was captured. Raise ``SourceError`` if what it says of itself is impossible."""
        head = Headers(response.headers)
        date, address = http_date(head.get("Memento-Datetime")), MementoAddress.read(uri)
        problem = ""
        if date is None or not is_credible(date, self.clock()):
            problem = f"says that it is of {head.get('Memento-Datetime')[:100]!r}"
        elif address is not None and address.date is not None and abs(address.date - date) > _ALIKE:
            problem = f"says that it is of {date:%Y-%m-%d}, and its address of {address.date:%Y-%m-%d}"
        else:
            for link in links_in(head.get("Link")):
                if "original" in link.relations and not are_alike(link.target, url):
                    problem = f"is one of {link.target[:200]}"
        if problem or date is None:
            raise SourceError(urlsplit(uri).netloc, WRONG, f"{uri} {problem}", may_pass=True)
        return date


Attempt = Callable[[], Awaitable[Exchange | None]]
"""Takes one of the captures that an archive has of a URL; None where it turns out to be none."""


async def admitted(
    url: str, attempts: AsyncIterator[Attempt], choice: SnapshotChoice, client: ArchiveClient
) -> AsyncIterator[Exchange]:
    """Yield the first capture from ``attempts`` that a choice admits, or every one if it takes all.

    A failed attempt is logged, and ``client`` counts it. If no later attempt gives a capture, its ``SourceError`` is
    raised instead.
    """
    failed: SourceError | None = None
    async for attempt in attempts:
        try:
            exchange = await attempt()
        except LateError:
            raise
        except SourceError as error:
            logger.warning("%s: a capture could not be had: %s", url, error)
            client.note(failed)
            failed = error
            continue
        if exchange is None:
            continue
        if not choice.admits(exchange.started_at):
            exchange.close()
            continue
        client.note(failed)
        failed = None
        yield exchange
        if not choice.takes_all:
            return
    if failed is not None:
        if failed.reason == WRONG:
            client.distrust(f"https://{failed.archive}/")
        raise failed


def are_alike(first: str, second: str) -> bool:
    """Return whether two URLs are equal apart from scheme, ``www.`` and a trailing slash.

    >>> are_alike("http://www.a.test/x/", "https://a.test/x"), are_alike("http://a.test/x", "http://a.test/y")
    (True, False)
    """
    plain = [
        (canonicalize(each) or each).partition("://")[2].removeprefix("www.").removesuffix("/")
        for each in (first, second)
    ]
    return plain[0] == plain[1]


def _is_shown(status: int) -> bool:
    return 200 <= status < 400 and status not in (HTTPStatus.NOT_MODIFIED, HTTPStatus.PARTIAL_CONTENT)


def _capture(url: str, uri: str, response: WireResponse, date: datetime, memento: Memento) -> Exchange:
    """Return the capture of a memento: the head as far as it is known, and the original payload."""
    fields = list(original_fields(response.headers, uri, url))
    coding = ", ".join(Headers(response.headers).all("Content-Encoding"))
    body = _payload(response.exchange)
    if not memento.is_raw and Headers(tuple(fields)).media_type.startswith(_TEXTS):
        body, coding = _turned_back(body, coding, uri)
    fields += [("Content-Encoding", coding)] if coding else []
    size, digest = 0, hashlib.sha1(usedforsecurity=False)
    body.seek(0)
    while piece := body.read(_PIECE):
        size += len(piece)
        digest.update(piece)
    body.seek(0)
    lines = "".join(f"{name}: {value}\r\n" for name, value in (*fields, ("Content-Length", str(size))))
    head = f"HTTP/1.1 {response.status} {response.reason}\r\n{lines}\r\n".encode("latin-1", "replace")
    whole = _stream()
    whole.write(head)
    while piece := body.read(_PIECE):
        whole.write(piece)
    body.close()
    whole.seek(0)
    return Exchange(
        url=url,
        method="GET",
        request=b"",
        response=whole,
        response_size=len(head) + size,
        payload_digest=digest.digest(),
        ip_address="",
        started_at=date,
        truncated=response.exchange.truncated,
        head_size=len(head),
        memento=memento,
    )


def _stream() -> BinaryIO:
    return cast("BinaryIO", SpooledTemporaryFile(max_size=_IN_MEMORY))


def _payload(exchange: Exchange) -> BinaryIO:
    body = _stream()
    for piece in pieces_of(exchange):
        body.write(piece)
    return body


def pieces_of(exchange: Exchange) -> Iterator[bytes]:
    """Yield the payload of an exchange, without transfer coding; reading begins at the response's start."""
    reading = HttpPayload()
    exchange.response.seek(0)
    while piece := exchange.response.read(_PIECE):
        yield reading.feed(piece)


def _turned_back(body: BinaryIO, coding: str, uri: str) -> tuple[BinaryIO, str]:
    """Return a rewritten page with its original links, and its content coding; a large page is left as it is."""
    body.seek(0)
    sent = body.read(MAX_REWRITTEN + 1)
    decoded = decode_content(sent, coding, MAX_REWRITTEN)
    if len(sent) > MAX_REWRITTEN or not decoded.complete:
        return body, coding
    body.close()
    turned = _stream()
    turned.write(unrewritten(decoded.body, uri))
    return turned, ""

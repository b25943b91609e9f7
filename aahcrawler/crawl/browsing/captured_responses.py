"""Responses to a page in a browser: given again where the crawl has them already, and on their way from the network.

Those from the network are held back while they may not be the last. Parts of files, as players ask for them, are cut
out of the whole file, which is what the archive is to have.
"""

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from http import HTTPStatus
from typing import Final

from aahcrawler.archive.history import Former
from aahcrawler.archive.payload import HttpPayload
from aahcrawler.archive.records import warc_date
from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.fetch.download_handler import CapturedResponse
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.hops import Hop, ends_with
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers
from aahcrawler.streams import is_dash, is_hls
from aahcrawler.wire.errors import ProtocolError
from aahcrawler.wire.reception import Head, parse_head
from aahcrawler.wire.relay import Relay
from aahcrawler.wire.replay import replayed

ALIKE: Final = frozenset({"accept-encoding", "accept-language", "origin", "user-agent"})
"""What a response may vary by and still be given: the crawl says the same of itself with each request.

Whether a response suits an ``Origin`` is looked up in it. What varies by anything else, ``Accept`` and cookies above
all, is asked for anew.
"""
_USUAL: Final = frozenset(
    {
        *("accept", "accept-encoding", "accept-language", "cache-control", "cookie", "dnt", "host", "origin", "pragma"),
        *(
            "priority",
            "purpose",
            "range",
            "referer",
            "save-data",
            "upgrade-insecure-requests",
            "user-agent",
            "connection",
        ),
    }
)
"""Fields that browsers write by themselves, ``Sec-`` apart: a request with another one asks for something special."""
_DOCUMENTS: Final = frozenset({"document", "iframe", "frame", "fencedframe"})


class CapturedResponses:
    """Looks up what the crawl ``number``, which was ``begun`` then, has captured itself."""

    def __init__(self, context: CurrentContext, writer: StoreWriter, number: int, begun: datetime) -> None:
        self._context = context
        self._writer = writer
        self._history = writer.stores.history
        self._number = number
        self._begun = warc_date(begun)

    async def to_request(self, request: BrowserRequest, url: str) -> Exchange | None:
        """Return the recorded response to a page's request for a canonical URL; None where the server has to be asked.

        Given are whole responses with status 200 that may be stored, set no cookie and suit whoever asks, also to those
        who ask for one part of a file. The caller closes the exchange.
        """
        if request.method != "GET" or request.body or asks_for_news(request) or not _is_usual(request):
            return None
        asks_for_part = bool(Headers(request.headers).get("Range"))
        if asks_for_part and part_asked(request) is None:
            return None
        former = self._captured(url)
        if former is not None and former.kind == "page" and not _asks_for_document(request):
            return None  # Many a site tells a script that asks for a page's URL something else than a reader.
        exchange = None if former is None else await self._exchange(former)
        if exchange is None:
            return None
        head = head_of(exchange)
        is_given = head is not None and not exchange.redacted and _may_be_given(head.headers, request.headers)
        if head is None or not is_given or (asks_for_part and is_coded(Headers(head.headers))):
            exchange.close()
            return None
        return exchange

    async def to_lease(self, lease: Lease) -> CapturedResponse | None:
        """Return what a visit has captured of a leased requisite or frame; None where it is to be fetched.

        Of a frame, or a file that objects consist of, things are stated: they are of the URL's own capture in this
        crawl, or the URL is asked for as always.
        """
        # The count is the crawl's, so it holds for all workers, and after a restart.
        if not self._writer.stats["browser_requests"] or not _is_part(lease):
            return None
        former = self._captured(lease.url)
        if former is None or (_is_stated(lease) and not self._is_own(former)):
            return None
        exchange = await self._exchange(former)
        page = None if exchange is None else replayed(exchange, self._context.now.icd.limits.page_bytes, as_sent=True)
        if exchange is None:
            return None
        if page is None or exchange.redacted:
            exchange.close()
            return None
        return CapturedResponse.recorded(lease.url, exchange, page)

    def _captured(self, url: str) -> Former | None:
        former = self._history.former(url)
        if former is None or former.crawl != self._number:
            return None
        return former if former.status == HTTPStatus.OK and former.complete else None

    def _is_own(self, former: Former) -> bool:
        return former.original_url == former.url and former.warc_date >= self._begun

    async def _exchange(self, former: Former) -> Exchange | None:
        exchange = await asyncio.to_thread(self._history.exchange, former)
        return None if exchange is None else replace(exchange, kept_in=former.record_id)


def _is_part(lease: Lease) -> bool:
    return not lease.is_page or ends_with(lease.path, Hop.FRAME)


def _is_stated(lease: Lease) -> bool:
    return lease.is_page or ends_with(lease.path, Hop.MEDIA)


def _is_usual(request: BrowserRequest) -> bool:
    names = (name.lower() for name, _ in request.headers)
    return all(name in _USUAL or name.startswith("sec-") for name in names)


def _asks_for_document(request: BrowserRequest) -> bool:
    fields = Headers(request.headers)
    said = request.resource_type or fields.get("Sec-Fetch-Dest")
    return said.lower() in _DOCUMENTS if said else fields.get("Accept").startswith("text/html")


def _may_be_given(response: Sequence[tuple[str, str]], asked: Sequence[tuple[str, str]]) -> bool:
    head = Headers(tuple(response))
    if "no-store" in _words(head, "cache-control") or head.get("Set-Cookie"):
        return False
    return _words(head, "vary") <= ALIKE and _suits_origin(head, Headers(tuple(asked)).get("Origin"))


def _suits_origin(head: Headers, origin: str) -> bool:
    """Return whether a browser lets a page of an origin read a response (Fetch Standard, CORS check)."""
    return not origin or head.get("Access-Control-Allow-Origin") in ("*", origin)


def _words(head: Headers, name: str) -> set[str]:
    return {word.strip().lower() for value in head.all(name) for word in value.split(",") if word.strip()}


_PIECE = 1 << 16

Holds = Callable[[int, Sequence[tuple[str, str]]], bool]
"""Says by status and header fields whether a response is to be held back."""


class ResponseRelay:
    """Hands a response on unless it ``holds`` it back; what follows on one that was held back begins anew.

    Nothing is handed on any more once nobody wants it (``leave``).
    """

    def __init__(self, relay: Relay, holds: Holds = lambda _status, _fields: False) -> None:
        self.has_begun = False
        self.holds = holds
        self._relay: Relay | None = relay
        self._passes = False

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """See ``Relay.begin``."""
        self._passes = not self.has_begun and not self.holds(status, headers)
        if self._passes and self._relay is not None:
            self.has_begun = True
            self._relay.begin(status, reason, headers)

    def take(self, piece: bytes) -> None:
        """See ``Relay.take``."""
        if self._passes and self._relay is not None:
            self._relay.take(piece)

    def catch_up(self, exchange: Exchange) -> None:
        """Hand on a response that came to its end without having been."""
        if not self.has_begun and self._relay is not None:
            self.has_begun = True
            replay(exchange, self._relay)

    def leave(self) -> None:
        """Hand nothing on any more."""
        self._relay = None


def replay(exchange: Exchange, relay: Relay) -> None:
    """Hand a response on as it came over the connection; one without a readable head not at all.

    The response is read from its start, and left there.
    """
    reading, begun = HttpPayload(), False
    exchange.response.seek(0)
    try:
        while piece := exchange.response.read(_PIECE):
            payload = reading.feed(piece)
            if not begun and reading.head is not None:
                head = _parsed(reading.head)
                if head is None:
                    return
                begun = True
                relay.begin(head.line.status, head.line.reason, head.headers)
            if payload and exchange.method != "HEAD":
                relay.take(payload)
    finally:
        exchange.response.seek(0)


def head_of(exchange: Exchange) -> Head | None:
    """Return the head of a response, None where it has no readable one. The response is left at its start."""
    reading = HttpPayload()
    exchange.response.seek(0)
    try:
        while reading.head is None and (piece := exchange.response.read(_PIECE)):
            reading.feed(piece)
            if len(reading.beginning) > _MAX_HEAD_LENGTH:
                break
    finally:
        exchange.response.seek(0)
    return None if reading.head is None else _parsed(reading.head)


def _parsed(head: bytes) -> Head | None:
    try:
        return parse_head(head)
    except ProtocolError:
        return None


_MAX_HEAD_LENGTH = 1 << 19
"""Bytes that are read of a head: more than any that the wire client takes."""


_RANGE: Final = re.compile(r"\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*", re.IGNORECASE)
_PART_PIECE: Final = 1 << 16
_MANIFEST_TYPE: Final = re.compile(r"mpegurl|dash\+xml", re.IGNORECASE)
_MANIFEST_NAME: Final = re.compile(r"\.(?:m3u8?|mpd)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a file: from its ``first`` byte to its ``last``; where ``first`` is None, so many bytes at its end."""

    first: int | None
    last: int | None

    @property
    def is_whole(self) -> bool:
        """Whether it is all of a file, however long that is."""
        return self.first == 0 and self.last is None

    def within(self, size: int) -> tuple[int, int] | None:
        """Return the first and the last byte of a file of this size, None where it has no such part.

        >>> Part(2, None).within(5), Part(None, 2).within(5), Part(7, 9).within(5)
        ((2, 4), (3, 4), None)
        """
        if self.first is None:
            first, last = max(0, size - (self.last or 0)), size - 1
        else:
            first, last = self.first, size - 1 if self.last is None else min(self.last, size - 1)
        return (first, last) if first <= last else None


def part_asked(request: BrowserRequest) -> Part | None:
    """Return the one part that a request asks for, None where it asks for the whole, for several, or unreadably."""
    asked = [value for name, value in request.headers if name.lower() == "range"]
    match = _RANGE.fullmatch(asked[0]) if len(asked) == 1 else None
    if match is None or not (match[1] or match[2]):
        return None
    return Part(int(match[1]) if match[1] else None, int(match[2]) if match[2] else None)


class PartRelay:
    """Makes of a whole file the ``part`` that was asked for (RFC 9110, section 15.3.7), as it comes.

    Where nobody knows how long the file is, and so neither which part it would be, it is handed on as it is; so is all
    that is no file.
    """

    def __init__(self, relay: Relay, part: Part, size: int | None = None) -> None:
        self._relay = relay
        self._part = part
        self._size = size
        self._left: tuple[int, int] | None = None

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        """See ``Relay.begin``."""
        head = Headers(tuple(headers))
        declared = head.get("Content-Length").strip()
        known = int(declared) if declared.isascii() and declared.isdigit() and len(declared) < 16 else None
        size = known if self._size is None else self._size
        bounds = None if size is None or status != 200 or is_coded(head) else self._part.within(size)
        if bounds is None:
            self._relay.begin(status, reason, headers)
            return
        first, last = bounds
        self._left = first, last - first + 1
        self._relay.begin(206, "Partial Content", tuple(_of_part(headers, first, last, f"{size}")))

    def take(self, piece: bytes) -> None:
        """See ``Relay.take``."""
        if self._left is None:
            self._relay.take(piece)
            return
        before, wanted = self._left
        given = piece[before : before + wanted]
        self._left = max(0, before - len(piece)), wanted - len(given)
        if given:
            self._relay.take(given)


def _of_part(headers: Sequence[tuple[str, str]], first: int, last: int, size: str) -> Iterator[tuple[str, str]]:
    for name, value in headers:
        if name.lower() not in ("content-length", "transfer-encoding", "content-range"):
            yield name, value
    yield "Content-Length", f"{last - first + 1}"
    yield "Content-Range", f"bytes {first}-{last}/{size}"


def is_coded(head: Headers) -> bool:
    """Return whether the bytes of a response are not those of its file: a part of them would be another one."""
    return head.get("Content-Encoding").strip().lower() not in ("", "identity")


def size_of(exchange: Exchange) -> int:
    """Return how many bytes the payload of a response has. The response is read from its start, and left there."""
    reading, size = HttpPayload(), 0
    exchange.response.seek(0)
    try:
        while piece := exchange.response.read(_PART_PIECE):
            size += len(reading.feed(piece))
    finally:
        exchange.response.seek(0)
    return size


def is_manifest(beginning: bytes) -> bool:
    """Return whether bytes, their codings off, begin as the manifest of a stream."""
    return is_hls(beginning) or is_dash(beginning)


def has_manifest(exchange: Exchange, fields: Sequence[tuple[str, str]]) -> bool:
    """Return whether an archived response that says so, or whose URL does, is the manifest of a stream."""
    named = _MANIFEST_NAME.search(exchange.url.partition("?")[0])
    if not named and not _MANIFEST_TYPE.search(Headers(tuple(fields)).media_type):
        return False
    page = replayed(exchange, _PART_PIECE, as_sent=True)
    exchange.response.seek(0)
    return page is not None and is_manifest(page.body)


_OF_THE_HOP: Final = frozenset(
    {
        *("host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade"),
        *("expect", "proxy-authorization", "proxy-connection"),
    }
)
"""Fields of one connection, which the wire client writes itself (RFC 9110, section 7.6.1)."""
_DECODED: Final = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd", "identity", "*"})
"""The content codings that the crawl reads, and what says of the others that they are not wanted."""


def sent_headers(
    request: BrowserRequest, user_agent: str, *, keeps_cookies: bool, wants_whole: bool = False
) -> tuple[tuple[str, str], ...]:
    """Return the header fields to send for a browser's request, in the browser's order and case.

    User-Agent is the crawl's. Accept-Encoding names only codings that the crawl decodes. Fields of the connection are
    left out, Cookie unless ``keeps_cookies``, and Range and If-Range if ``wants_whole``.
    """
    left_out = {*(() if keeps_cookies else ("cookie",)), *(("range", "if-range") if wants_whole else ())}
    return tuple(_sent([each for each in request.headers if each[0].lower() not in left_out], user_agent))


def _sent(headers: Sequence[tuple[str, str]], user_agent: str) -> Iterator[tuple[str, str]]:
    named = set()
    own = _OF_THE_HOP | {
        each.strip().lower() for each in ",".join(Headers(tuple(headers)).all("connection")).split(",")
    }
    for name, value in headers:
        lower = name.lower()
        if lower in own:
            continue
        named.add(lower)
        if lower == "user-agent":
            yield name, user_agent
        elif lower == "accept-encoding":
            yield name, _read_codings(value)
        else:
            yield name, value
    if "user-agent" not in named:
        yield "User-Agent", user_agent


def _read_codings(value: str) -> str:
    known = [each for each in value.split(",") if each.partition(";")[0].strip().lower() in _DECODED]
    return ",".join(known).strip() or "identity"


def asks_for_news(request: BrowserRequest) -> bool:
    """Return whether a request asks for what has changed: only the server can answer that."""
    return any(name.lower().startswith("if-") for name, _ in request.headers)

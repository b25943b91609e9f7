"""Scrapy's way to the wire client: a download handler that keeps every byte of request and response."""

import asyncio
import ipaddress
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from scrapy import Request
from scrapy.core.downloader.handlers.base import BaseDownloadHandler
from scrapy.crawler import Crawler
from scrapy.http import Response

from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM, Claim
from aahcrawler.crawl.lease.lease_source import CutError
from aahcrawler.exchange import Exchange
from aahcrawler.page import Page
from aahcrawler.page.decoding import Fault, decode_content
from aahcrawler.wire.client import WireClient, WireRequest, WireResponse, WireSettings

WIRE_SETTINGS = "AAH_WIRE"
"""The Scrapy setting that holds a ``WireSettings``: the settings of the download handler."""
MAX_BYTES = "download_maxsize"
"""The key of ``Request.meta`` that holds how many bytes of a body are taken; what follows is cut off."""
WANTED = "download_wanted"
"""The key of ``Request.meta`` that holds ``WireRequest.wanted``, if anything."""
CAPTURED_AS = "download_captured_as"
"""The key of ``Request.meta`` that holds ``WireRequest.captured_as``, if anything."""
RELAY = "download_relay"
"""The key of ``Request.meta`` that holds ``WireRequest.relay``, if anything."""
UNTIL = "download_until"
"""The key of ``Request.meta`` that holds ``WireRequest.until``, if anything."""
KEPT_BYTES = "download_kept"
"""The key of ``Request.meta`` that holds ``WireRequest.keep``: how many bytes of a body the response has."""
SPELLED = "download_spelled"
"""The key of ``Request.meta`` that holds the names of header fields as they are to be sent, by those in lower case.

Scrapy writes the names of a request's fields in a way of its own.
"""
ENDING = "download_ending"
"""The key of ``Request.meta`` that holds an ``asyncio.Event``; when it is set, the download has ``GRACE`` left."""
GRACE = 5.0
"""Seconds that responses under way are waited for when the crawl ends."""


@dataclass(frozen=True, slots=True)
class Captured:
    """The attributes of a response beyond Scrapy's.

    ``headers`` are in the order and case of the wire. ``complete`` is False when the body is shorter than the server
    meant it to be, or than the crawl's limit allows. ``elapsed`` and ``latency`` are the seconds to the last and to the
    first byte. ``coding_fault`` is what is wrong with the content coding of a body that came whole.
    """

    exchange: Exchange
    reason: str
    headers: tuple[tuple[str, str], ...]
    complete: bool
    elapsed: float
    latency: float
    coding_fault: Fault | None = None


class CapturedResponse(Response):
    """A response with the exchange it came in.

    ``body`` is without transfer and content coding, so ``headers`` has no Content-Encoding; ``wire_headers`` has.
    ``captured`` survives ``replace`` and ``copy``; whoever handles the response closes its exchange, once for all
    copies.
    """

    attributes: tuple[str, ...] = (*Response.attributes, "captured")

    def __init__(self, url: str, *, captured: Captured, **kwargs: Any) -> None:
        super().__init__(url, **kwargs)
        self.captured = captured

    @classmethod
    def recorded(cls, url: str, exchange: Exchange, page: Page) -> Self:
        """Return a response as an archive has it, given the page that its exchange was read as."""
        fields = tuple(each for each in page.headers.fields if each[0].lower() != "content-encoding")
        exchange.response.seek(0)
        return cls(
            url,
            captured=Captured(exchange, "", page.headers.fields, page.complete, 0.0, 0.0),
            status=page.status,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields],
            body=page.body,
        )

    @property
    def exchange(self) -> Exchange:
        """The bytes that passed over the connection."""
        return self.captured.exchange

    @property
    def reason(self) -> str:
        """The reason phrase of the status line, often empty."""
        return self.captured.reason

    @property
    def wire_headers(self) -> tuple[tuple[str, str], ...]:
        """The header fields in the order and case of the wire."""
        return self.captured.headers

    @property
    def complete(self) -> bool:
        """Whether ``body`` is all that the server meant to send."""
        return self.captured.complete


class WireDownloadHandler(BaseDownloadHandler):
    """Downloads http and https requests through a ``WireClient``; its ``WireError`` reaches the errback as it is.

    The setting ``AAH_WIRE`` is a ``WireSettings``; by default large bodies go through the folder ``.spool`` and only
    public IP addresses are connected to. A request's ``download_timeout`` is the seconds for its whole exchange;
    ``MAX_BYTES``, ``WANTED``, ``ENDING`` and ``IP_CLAIM`` say the rest. Its ``download_latency`` is set.

    Redirects, cookies, proxies and retries are none of its business. The URL is sent as the request has it.
    """

    lazy = True

    def __init__(self, crawler: Crawler, client: WireClient, page_bytes: int) -> None:
        super().__init__(crawler)
        self._client = client
        self._page_bytes = page_bytes
        self._open_downloads = OpenDownloads()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the handler that ``AAH_WIRE`` describes."""
        settings: WireSettings = crawler.settings.get(WIRE_SETTINGS) or WireSettings(spool=Path(".spool"))
        return cls(crawler, WireClient(settings), settings.limits.payload_bytes)

    async def download_request(self, request: Request) -> CapturedResponse:
        """Return the response, whatever its status.

        Raise ``WireError`` where there is none, ``IpAddressBusyError`` where the host's IP address is not to be asked
        soon, and ``CutError`` where it did not come before the crawl's end.
        """
        claim: Claim | None = request.meta.get(IP_CLAIM)
        timeout = request.meta.get("download_timeout")
        asked = WireRequest(
            url=request.url,
            headers=tuple(_sent_headers(request)),
            method=request.method,
            body=request.body,
            timeout=None if timeout is None else float(timeout),
            max_bytes=request.meta.get(MAX_BYTES),
            wanted=request.meta.get(WANTED),
            admission=claim,
            captured_as=request.meta.get(CAPTURED_AS, ""),
            keep=request.meta.get(KEPT_BYTES),
            relay=request.meta.get(RELAY),
            until=request.meta.get(UNTIL),
        )
        try:
            response = await self._open_downloads.until(request.meta.get(ENDING), self._client.fetch(asked))
        finally:
            if claim is not None:
                await claim.leave()
        request.meta["download_latency"] = response.latency
        return _response(request, response, self._page_bytes)

    async def close(self) -> None:
        """Close the connections."""
        self._open_downloads.close()
        await self._client.close()


class OpenDownloads:
    """Ends downloads that take longer than ``GRACE`` once their crawl is told to end."""

    def __init__(self) -> None:
        self._limits: dict[asyncio.Event, set[asyncio.Timeout]] = {}
        self._watchers: list[asyncio.Task[None]] = []

    async def until(self, ending: asyncio.Event | None, fetch: Coroutine[Any, Any, WireResponse]) -> WireResponse:
        """Return what is fetched; raise ``CutError`` where that takes longer than ``GRACE`` after the ending."""
        if ending is None:
            return await fetch
        limits = self._limits_of(ending)
        try:
            async with asyncio.timeout(GRACE if ending.is_set() else None) as limit:
                limits.add(limit)
                return await fetch
        except TimeoutError:
            if limit.expired():
                raise CutError from None
            raise
        finally:
            limits.discard(limit)

    def _limits_of(self, ending: asyncio.Event) -> set[asyncio.Timeout]:
        if ending not in self._limits:
            self._limits[ending] = set()
            self._watchers.append(asyncio.ensure_future(self._watch(ending)))
        return self._limits[ending]

    async def _watch(self, ending: asyncio.Event) -> None:
        await ending.wait()
        until = asyncio.get_running_loop().time() + GRACE
        for limit in self._limits[ending]:
            limit.reschedule(until)

    def close(self) -> None:
        """Watch no more."""
        for watcher in self._watchers:
            watcher.cancel()


def _sent_headers(request: Request) -> Iterable[tuple[str, str]]:
    spelled: Mapping[str, str] = request.meta.get(SPELLED, {})
    for raw, values in request.headers.items():
        name = raw.decode("latin-1")
        for value in values:
            yield spelled.get(name.lower(), name), value.decode("latin-1")


def _response(request: Request, response: WireResponse, page_bytes: int) -> CapturedResponse:
    codings = ", ".join(value for name, value in response.headers if name.lower() == "content-encoding")
    decoded = decode_content(response.payload, codings, page_bytes)
    captured = Captured(
        exchange=response.exchange,
        reason=response.reason,
        headers=response.headers,
        complete=response.payload_complete and decoded.complete,
        elapsed=response.elapsed,
        latency=response.latency,
        coding_fault=decoded.fault if response.payload_complete else None,
    )
    return CapturedResponse(
        request.url,
        captured=captured,
        status=response.status,
        headers=[
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in response.headers
            if name.lower() != "content-encoding"
        ],
        body=decoded.body,
        request=request,
        ip_address=ipaddress.ip_address(at.partition("%")[0]) if (at := response.exchange.ip_address) else None,
        protocol="HTTP/{}.{}".format(*response.version),
    )

"""Rebuild a page from an archived response, as it was read when it was fetched."""

from http import HTTPStatus
from pathlib import Path

from aahcrawler.exchange import Exchange
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.reception import Bounds, Reception, Spool

PAGE_BYTES = 10_000_000
"""The default for how many bytes of an archived response are read; the archive may hold more."""
_PIECE = 1 << 16
_HEAD = 1 << 20
"""The most bytes and lines of a head: more than any archived one has."""


def replayed(exchange: Exchange, page_bytes: int = PAGE_BYTES, *, as_sent: bool = False) -> Page | None:
    """Return the page of an archived response as it was read when it came; None if it has no readable head.

    The page is the document rendered by a browser, if the archive holds one and ``as_sent`` is False; otherwise it is
    what the server sent, read from its start as if it came over a connection. ``page_bytes`` limits the body before and
    after content decoding; ``Page.complete`` is False if that cut it. The exchange stays open.
    """
    page = _sent(exchange, page_bytes)
    if exchange.rendered is None or as_sent:
        return page
    if page is None:  # A 304, of which the archive has no head here: it stands for a page that came with 200.
        page = Page(exchange.url, HTTPStatus.OK, Headers(), b"", exchange.started_at)
    return page.as_rendered(exchange.rendered.dom, exchange.rendered.document_url, page_bytes)


def _sent(exchange: Exchange, page_bytes: int) -> Page | None:
    # Chunks of a byte each take six on the wire; what is longer than that was not kept whole before either.
    body_bytes = 6 * page_bytes + _PIECE
    bounds = Bounds(_HEAD, _HEAD, body_bytes, payload_bytes=page_bytes)
    reception = Reception(exchange.method, bounds, Spool(Path(), 2 * body_bytes))
    exchange.response.seek(0)
    try:
        while not reception.done and (piece := exchange.response.read(_PIECE)):
            reception.feed(piece)
        if not reception.done:
            reception.end()
    except WireError:
        return None
    if reception.head is None:
        return None
    headers = Headers(reception.head.headers)
    decoded = decode_content(reception.payload, ", ".join(headers.all("Content-Encoding")), page_bytes)
    whole = exchange.truncated is None and reception.truncated is None and reception.payload_size <= page_bytes
    return Page(
        exchange.url,
        reception.head.line.status,
        headers,
        decoded.body,
        exchange.started_at,
        whole and decoded.complete,
        memento=exchange.memento is not None,
    )

"""Pages as the archive has them, understood as the crawl understood them."""

from pathlib import Path
from typing import BinaryIO

from aahcrawler.exchange import Exchange
from aahcrawler.page import Headers, Page
from aahcrawler.page.decoding import decode_content
from aahcrawler.wire.capture import Capture
from aahcrawler.wire.errors import WireError
from aahcrawler.wire.reception import Bounds, Reception

PAGE_BYTES = 10_000_000
"""The most bytes of an answer that are read; the archive may hold more."""
_PIECE = 1 << 16


def page_of(exchange: Exchange) -> Page | None:
    """Return the page that an archived exchange holds, None where its head cannot be read.

    At most ``PAGE_BYTES`` of its content are read; the exchange stays open.
    """
    bounds = Bounds(head_bytes=PAGE_BYTES, head_lines=PAGE_BYTES, body_bytes=PAGE_BYTES, payload_bytes=PAGE_BYTES)
    reception = Reception(exchange.method, bounds, Capture(Path(), 2 * PAGE_BYTES))
    try:
        _feed(reception, exchange.response)
    except WireError:
        return None
    if reception.head is None:
        return None
    headers = Headers(reception.head.headers)
    decoded = decode_content(reception.payload, ", ".join(headers.all("Content-Encoding")), PAGE_BYTES)
    complete = exchange.truncated is None and decoded.complete
    return Page(exchange.url, reception.head.line.status, headers, decoded.body, exchange.started_at, complete)


def _feed(reception: Reception, response: BinaryIO) -> None:
    while not reception.done and (piece := response.read(_PIECE)):
        reception.feed(piece)
    if not reception.done:
        reception.end()

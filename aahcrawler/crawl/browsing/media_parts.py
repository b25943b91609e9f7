"""Parts of files, as players ask for them: made of the whole file, which is what the archive is to have.

A player asks for a film from its beginning on, and jumps within it later. Were these parts all that is kept, replay
would lack whatever the player did not get to. So the whole is asked for, and the player is given a part of it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from aahcrawler.archive.payload import HttpPayload
from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.exchange import Exchange
from aahcrawler.page import Headers
from aahcrawler.streams.stream_manifest import is_dash, is_hls
from aahcrawler.wire.relay import Relay
from aahcrawler.wire.replay import replayed

_RANGE: Final = re.compile(r"\s*bytes\s*=\s*(\d{0,15})\s*-\s*(\d{0,15})\s*", re.IGNORECASE)
_PIECE: Final = 1 << 16
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
    """Return whether the bytes of an answer are not those of its file: a part of them would be another one."""
    return head.get("Content-Encoding").strip().lower() not in ("", "identity")


def size_of(exchange: Exchange) -> int:
    """Return how many bytes the payload of an answer has. The response is read from its start, and left there."""
    reading, size = HttpPayload(), 0
    exchange.response.seek(0)
    try:
        while piece := exchange.response.read(_PIECE):
            size += len(reading.feed(piece))
    finally:
        exchange.response.seek(0)
    return size


def is_manifest(beginning: bytes) -> bool:
    """Return whether bytes, their codings off, begin as the manifest of a stream."""
    return is_hls(beginning) or is_dash(beginning)


def has_manifest(exchange: Exchange, fields: Sequence[tuple[str, str]]) -> bool:
    """Return whether an archived answer that says so, or whose URL does, is the manifest of a stream."""
    named = _MANIFEST_NAME.search(exchange.url.partition("?")[0])
    if not named and not _MANIFEST_TYPE.search(Headers(tuple(fields)).media_type):
        return False
    page = replayed(exchange, _PIECE, as_sent=True)
    exchange.response.seek(0)
    return page is not None and is_manifest(page.body)

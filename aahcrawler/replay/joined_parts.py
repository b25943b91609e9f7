"""Puts parts of a file together that came in answers of their own (RFC 9110, section 15.3.7.3)."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from aahcrawler.page import Headers
from aahcrawler.replay.byte_ranges import ByteRange
from aahcrawler.replay.capture_lookup import Indexed

_RANGE: Final = re.compile(r"\s*bytes\s+(\d{1,15})-(\d{1,15})/(\d{1,15})\s*", re.IGNORECASE)
_LENGTH: Final = re.compile(r"\d{1,15}")
_SETTLED: Final = timedelta(minutes=1)
"""How long before an answer a file must have been changed last for that date to tell it from others (8.8.2.2)."""


@dataclass(frozen=True, slots=True)
class CapturedPart:
    """A part of a file: ``within`` is where it lies in the file, which has ``size`` bytes.

    Parts with the same ``validator`` and size are of one file.
    """

    holder: Indexed
    within: ByteRange
    size: int
    validator: str


@dataclass(frozen=True, slots=True)
class Piece:
    """What is taken of the payload that a capture holds."""

    holder: Indexed
    taken: ByteRange

    @property
    def size(self) -> int:
        """How many bytes that are."""
        return self.taken.end - self.taken.begin


def part_of(status: int, headers: Headers, holder: Indexed, payload: int) -> CapturedPart | None:
    """Return which part of a file an answer with so many bytes of payload holds, None where it does not say.

    One whose bytes are in a content coding holds none: a part of them is no part of the file.
    """
    validator = _validator(headers)
    if not validator or any(value.strip().lower() not in ("", "identity") for value in headers.all("Content-Encoding")):
        return None
    if status == 200:
        length = headers.get("Content-Length").strip()
        if _LENGTH.fullmatch(length) is None:
            return None
        first, last, size = 0, int(length) - 1, int(length)
    else:
        match = _RANGE.fullmatch(headers.get("Content-Range")) if status == 206 else None
        if match is None:
            return None
        first, last, size = int(match[1]), int(match[2]), int(match[3])
    end = min(first + payload, last + 1)
    if not first < end <= size or payload > last + 1 - first:
        return None
    return CapturedPart(holder, ByteRange(first, end), size, validator)


def joined(parts: Sequence[CapturedPart], like: CapturedPart) -> tuple[Piece, ...]:
    """Return the pieces that make up the whole file that a part is of, in their order; none where one is missing."""
    alike = [each for each in parts if (each.size, each.validator) == (like.size, like.validator)]
    pieces: list[Piece] = []
    at = 0
    while at < like.size:
        fitting = [each for each in alike if each.within.begin <= at < each.within.end]
        if not fitting:
            return ()
        best = max(fitting, key=lambda each: each.within.end)
        begin, end = best.within
        pieces.append(Piece(best.holder, ByteRange(at - begin, end - begin)))
        at = end
    return tuple(pieces)


def in_order(pieces: Sequence[tuple[Piece, Iterator[bytes]]]) -> Iterator[bytes]:
    """Yield the bytes of pieces, each given with the payload it is of. It ends early where a payload does."""
    for piece, payload in pieces:
        left = piece.size
        for found in piece.taken.cut(payload):
            left -= len(found)
            yield found
        if left:
            return


def _validator(headers: Headers) -> str:
    """Return what tells the file from what the URL had before and after; empty where nothing does for certain."""
    tag = headers.get("ETag").strip()
    if tag:
        return f"tag {tag}" if tag.startswith('"') else ""
    changed, sent = _date(headers.get("Last-Modified")), _date(headers.get("Date"))
    is_settled = changed is not None and sent is not None and sent - changed >= _SETTLED
    return f"date {changed}" if is_settled else ""


def _date(field: str) -> datetime | None:
    try:
        date = parsedate_to_datetime(field)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return date if date.tzinfo is not None else None

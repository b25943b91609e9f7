"""Parts of answers, as players ask for them to wind forward (RFC 9110, section 14)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_RANGE = re.compile(r"\s*bytes\s*=\s*(?:(\d{1,15})\s*-\s*(\d{0,15})|-\s*(\d{1,15}))\s*", re.IGNORECASE)


class ByteRange(NamedTuple):
    """The bytes of an answer from ``begin`` on up to, and without, ``end``."""

    begin: int
    end: int

    def told(self, size: int) -> str:
        """Return the value of Content-Range for an answer of so many bytes.

        >>> ByteRange(2, 5).told(10)
        'bytes 2-4/10'
        """
        return f"bytes {self.begin}-{self.end - 1}/{size}"

    def cut(self, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the range of an answer that comes in pieces; no more of them is read than that."""
        at = 0
        for piece in pieces:
            part = piece[max(self.begin - at, 0) : max(self.end - at, 0)]
            at += len(piece)
            if part:
                yield part
            if at >= self.end:
                return


def asked_range(field: str, size: int) -> ByteRange | None:
    """Return the range that a field asks for of so many bytes, an empty one where it has none of them.

    None where all of it is to be given: for several ranges, and for what is no range of bytes.

    >>> asked_range("bytes=2-", 10), asked_range("bytes=-3", 10), asked_range("bytes=2-400", 10)
    (ByteRange(begin=2, end=10), ByteRange(begin=7, end=10), ByteRange(begin=2, end=10))
    >>> asked_range("bytes=10-", 10), asked_range("bytes=5-2", 10), asked_range("bytes=0-1,4-5", 10)
    (ByteRange(begin=10, end=10), None, None)
    """
    match = _RANGE.fullmatch(field)
    if match is None:
        return None
    if match[3] is not None:
        return ByteRange(max(size - int(match[3]), 0), size) if int(match[3]) else ByteRange(size, size)
    begin, last = int(match[1]), int(match[2]) if match[2] else size
    if last < begin and match[2]:
        return None
    return ByteRange(min(begin, size), min(last + 1, size))

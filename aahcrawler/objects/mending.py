"""Mends segments with lines that are too long for parsers of N-Quads."""

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from aahcrawler.layout import NQUADS
from aahcrawler.objects.nquads import LONGEST_LITERAL, mended
from aahcrawler.segments import SegmentError, is_open, no_link, recover, segments

_CHUNK = 1 << 16
_PART = ".part"


def mend(folder: Path) -> Iterator[str]:
    """Bound lines that are too long in each segment of a folder, as they are bounded today; yield what was done.

    What comes before the first such line in a segment keeps its bytes, and so its place. Nobody may write meanwhile.
    Raises ``SegmentError`` where a segment is damaged or cannot be written.
    """
    recover(folder, NQUADS)
    for path in (path for path in segments(folder, NQUADS) if not is_open(path)):
        try:
            with path.open("rb") as file:
                count = sum(_mended(text) != text for _, text in _members(file))
            if count:
                _mend(path)
                yield f"{path}: texts or names too long to be read were shortened in {count} of its captures"
        except (OSError, EOFError, zlib.error) as error:
            raise SegmentError(f"{path}: cannot be mended ({error}). Restore it from a copy.") from error


def _mend(path: Path) -> None:
    part = path.with_name(path.name + _PART)
    with path.open("rb") as file, open(part, "wb", opener=no_link) as beside:
        for member, text in _members(file):
            whole = _mended(text)
            beside.write(member if whole == text else gzip.compress(whole, 1))
        beside.flush()
        os.fsync(beside.fileno())
    part.replace(path)


def _mended(text: bytes) -> bytes:
    return mended(text) if len(text) > LONGEST_LITERAL else text


def _members(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Yield each gzip member of a file, as it is and as its text."""
    pending = file.read(_CHUNK)
    while pending:
        inflate, member, text = zlib.decompressobj(wbits=31), [], []
        while not inflate.eof:
            text.append(inflate.decompress(pending))
            member.append(pending[: len(pending) - len(inflate.unused_data)])
            pending = inflate.unused_data or file.read(_CHUNK)
            if not pending and not inflate.eof:
                raise EOFError("it ends in the middle of a capture")
        yield b"".join(member), b"".join(text)

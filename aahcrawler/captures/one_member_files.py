"""WARC files whose records are no gzip members of their own, as some programs write them: a copy that has them."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO

from isal import isal_zlib

from aahcrawler.archive.gzip_members import Member, MemberError
from aahcrawler.archive.scanning import LONGEST_HEADER, read_header
from aahcrawler.captures.record_scan import Damage

_PIECE = 1 << 20
_FASTEST = 0
_GZIP = 16 + zlib.MAX_WBITS
_RECORD_END = b"\r\n\r\n"


def has_members(path: Path) -> bool:
    """Return whether the first record of a file is a gzip member, and not the beginning of a longer one.

    Of a file that cannot be read so far it is left to others to say what is wrong. Raises ``OSError``.
    """
    with path.open("rb") as file:
        member, head = Member(file, 0), bytearray()
        try:
            while (end := head.find(_RECORD_END)) < 0 and len(head) <= LONGEST_HEADER and (piece := member.read()):
                head += piece
            end += len(_RECORD_END)
            length = int(read_header(bytes(head[:end]))[0].get("Content-Length"))
            left = end + length + len(_RECORD_END) - len(head)
            while left >= 0 and (piece := member.read()):
                left -= len(piece)
        except (MemberError, ValueError):
            return True
    return left >= 0


def with_members(path: Path, damaged: Callable[[Damage], object]) -> IO[bytes]:
    """Return a temporary copy of a file in which each record is a gzip member; it goes when it is closed.

    ``damaged`` is told where the file cannot be read: what comes before is in the copy. Raises ``OSError``.
    """
    copy = NamedTemporaryFile(suffix=".warc.gz")  # noqa: SIM115 - whoever asked for it closes it
    try:
        _copy_records(path, copy, damaged)
        copy.flush()
    except BaseException:
        copy.close()
        raise
    return copy


def _copy_records(path: Path, copy: IO[bytes], damaged: Callable[[Damage], object]) -> None:
    try:
        with gzip.open(path) as text:
            while _copy_record(text, copy):
                pass
    except (EOFError, OSError, ValueError, zlib.error) as error:
        damaged(Damage(path, 0, f"its one gzip member ends early: {error}"))


def _copy_record(text: gzip.GzipFile, copy: IO[bytes]) -> bool:
    """Copy the next record; return False at the end. A record that is cut off is left out."""
    head = bytearray()
    while not head.endswith(_RECORD_END):
        line = text.readline(LONGEST_HEADER)
        if not line:
            return False
        if head or line.strip():
            head += line
        if len(head) > LONGEST_HEADER:
            raise ValueError("there is no header of a record")
    begin = copy.tell()
    try:
        for piece in _packed(bytes(head), text):
            copy.write(piece)
    except BaseException:
        copy.truncate(begin)
        copy.seek(begin)
        raise
    return True


def _packed(head: bytes, text: gzip.GzipFile) -> Iterator[bytes]:
    compressor = isal_zlib.compressobj(_FASTEST, isal_zlib.DEFLATED, _GZIP)
    yield compressor.compress(head)
    left = int(read_header(head)[0].get("Content-Length"))
    while left:
        piece = text.read(min(left, _PIECE))
        if not piece:
            raise EOFError("a record is not whole")
        yield compressor.compress(piece)
        left -= len(piece)
    yield compressor.compress(_RECORD_END) + compressor.flush()

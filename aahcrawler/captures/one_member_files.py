"""WARC files whose records are no gzip members of their own, as some programs write them: a copy that has them."""

import gzip
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, BinaryIO

from isal import isal_zlib

from aahcrawler.archive.gzip_members import Member, MemberError
from aahcrawler.archive.scanning import LONGEST_HEADER, read_header
from aahcrawler.captures.record_scan import Damage

_PIECE = 1 << 20
_MOST = 1 << 26
_FASTEST = 0
_GZIP = 16 + zlib.MAX_WBITS
_HEADER_END = b"\r\n"


def has_members(path: Path) -> bool:
    """Return whether the first record of a file is a gzip member, and not the beginning of a longer one.

    Of a file that cannot be read so far it is left to others to say what is wrong. Raises ``OSError``.
    """
    text, whole = b"", None
    with path.open("rb") as file:
        member = Member(file, 0)
        try:
            while whole is None or len(text) <= whole:
                piece = member.read()
                if not piece or len(text) > _MOST:
                    return True
                text += piece
                if whole is None and (end := text.find(b"\r\n\r\n")) >= 0:
                    length = read_header(text[: end + 4])[0].get("Content-Length")
                    whole = end + 8 + (int(length) if length.isdigit() else _MOST)
        except MemberError:
            return True
    return False


def with_members(path: Path, damaged: Callable[[Damage], object]) -> IO[bytes]:
    """Return a temporary copy of a file in which each record is a gzip member; it goes when it is closed.

    ``damaged`` is told where the file cannot be read: what comes before is in the copy. Raises ``OSError``.
    """
    copy = NamedTemporaryFile(suffix=".warc.gz")  # noqa: SIM115 - whoever asked for it closes it
    try:
        with gzip.open(path) as text:
            while _copy_record(text, copy):
                pass
    except (EOFError, OSError, ValueError, zlib.error) as error:
        damaged(Damage(path, 0, f"its one gzip member ends early: {error}"))
    except BaseException:
        copy.close()
        raise
    copy.flush()
    return copy


def _copy_record(text: BinaryIO | gzip.GzipFile, copy: IO[bytes]) -> bool:
    """Copy the next record; return False at the end. A record that is cut off is left out."""
    head = b""
    while not (line := text.readline(LONGEST_HEADER)).startswith(_HEADER_END) or not head:
        if not line:
            return False
        head += line if head or line.strip() else b""
        if len(head) > LONGEST_HEADER:
            raise ValueError("there is no header of a record")
    head += line
    begin = copy.tell()
    try:
        for piece in _packed(head, text):
            copy.write(piece)
    except BaseException:
        copy.truncate(begin)
        copy.seek(begin)
        raise
    return True


def _packed(head: bytes, text: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    compressor = isal_zlib.compressobj(_FASTEST, isal_zlib.DEFLATED, _GZIP)
    yield compressor.compress(head)
    left = int(read_header(head)[0].get("Content-Length"))
    while left:
        piece = text.read(min(left, _PIECE))
        if not piece:
            raise EOFError("a record is not whole")
        yield compressor.compress(piece)
        left -= len(piece)
    yield compressor.compress(b"\r\n\r\n") + compressor.flush()

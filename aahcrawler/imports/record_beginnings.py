"""Finds where records begin in text that cannot be trusted: after damage, and among bytes of another kind."""

import os
import re
from collections.abc import Iterator
from typing import IO, BinaryIO, Final

from aahcrawler.imports.arc_records import ARC_HEADER
from aahcrawler.imports.source_text import BLANK, SourceText, member_beginnings

LONGEST_LINE: Final = 1 << 13
"""Bytes of the header line of an ARC record beyond which it is none."""
_WARC: Final = re.compile(rb"WARC/[01]\.\d{1,2}\r?\n(?:WARC|Content)-[A-Za-z-]{1,40}[ \t]*:", re.IGNORECASE)
_ARC_TAIL: Final = re.compile(rb" [0-9A-Fa-f.:]{3,45} \d{12,20} [^\n]{0,2048}?-?\w+[ \t]*\r?\n")
_SCHEME: Final = re.compile(rb"(?:https?|ftp|gopher|filedesc|nntp|wais)://|(?:dns|news|mailto|whois):")
_KEPT: Final = f"{ARC_HEADER}: ".encode()
_OVERLAP: Final = LONGEST_LINE + (1 << 12)
_WINDOW: Final = 1 << 17


def begins_warc(text: bytes) -> bool:
    """Return whether a text begins as a WARC record does."""
    return _WARC.match(text) is not None


def first_beginning(window: bytes) -> int | None:
    """Return where in some bytes the first record begins, None where none does."""
    found = [at for at in (_first_warc(window), _first_arc(window)) if at is not None]
    return min(found, default=None)


def beginning_in(file: IO[bytes], begin: int, end: int) -> int | None:
    """Return the first place between two in a file where a record begins, as the bytes stand; None without any."""
    while begin < end:
        file.seek(begin)
        window = file.read(min(_WINDOW, end - begin))
        found = first_beginning(window)
        if found is not None:
            return begin + found
        if len(window) < _WINDOW:
            return None
        begin += _WINDOW - _OVERLAP
    return None


class Beginnings:
    """The places in a file at which records begin, plain or in gzip members, as far as their first bytes tell.

    Each byte of the file is looked at a bounded number of times, in whatever order it is asked.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._packed = (0, -1)
        """Between these two bytes no gzip member begins; at the second one does, or the file ends."""

    def after(self, begin: int) -> int:
        """Return the first such place from a byte on, the size of the file where there is none."""
        packed = self._next_packed(begin)
        plain = beginning_in(self._file, begin, packed)
        return packed if plain is None else plain

    def skip_to_next(self, text: SourceText) -> None:
        """Take at least one byte of a text, and then all up to its next record. Raises ``TextDamageError``."""
        text.take(1)
        if not text.is_packed:
            here = text.place(text.position).offset
            text.take(self.after(here) - here)
            return
        while window := text.peek(_WINDOW):
            found = first_beginning(window)
            if found is not None:
                text.take(found)
                return
            text.take(_WINDOW - _OVERLAP if len(window) == _WINDOW else len(window))

    def _next_packed(self, begin: int) -> int:
        known_from, known = self._packed
        if not known_from <= begin <= known:
            end = self._file.seek(0, os.SEEK_END)
            self._packed = begin, next(_packed_beginnings(self._file, begin), end)
        return self._packed[1]


def _packed_beginnings(file: BinaryIO, begin: int) -> Iterator[int]:
    for place, text in member_beginnings(file, begin):
        stripped = text.lstrip(BLANK)
        if begins_warc(stripped) or _SCHEME.match(stripped):
            yield place


def _first_warc(window: bytes) -> int | None:
    found = _WARC.search(window)
    return None if found is None else found.start()


def _first_arc(window: bytes) -> int | None:
    for tail in _ARC_TAIL.finditer(window):
        line = window.rfind(b"\n", max(0, tail.start() - LONGEST_LINE), tail.start()) + 1
        scheme = _SCHEME.search(window, line, tail.start())
        # A record that an import made of one of ARC tells its header line: it begins nothing there.
        if scheme is not None and not window.startswith(_KEPT, line):
            return scheme.start()
    return None

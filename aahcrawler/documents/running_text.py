"""Divides running text, of formats without pages, into sheets."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice

from aahcrawler.documents.content import (
    MAX_ADDRESS_LENGTH,
    MAX_ANCHOR,
    MAX_CONTEXT,
    MAX_LINKS,
    MAX_PAGES,
    MAX_TEXT,
    folded,
    named_urls,
    utf_8,
)
from aahcrawler.page.transcript import Sheet, TranscriptLink

SHEET = 3_000
"""Characters after which a sheet ends with its paragraph: about a printed page."""


@dataclass(frozen=True, slots=True)
class LinkStart:
    """The beginning of a link's text; its URL is empty where it does not lead to the web."""

    address: str


class TextMark(Enum):
    """A separator between pieces of text."""

    LINK_END = "link end"
    PARAGRAPH_END = "paragraph end"
    SHEET_END = "sheet end"


Piece = str | LinkStart | TextMark
"""A part of running text, in its order."""


def sheets(pieces: Iterable[Piece]) -> Iterator[Sheet]:
    """Yield the first sheets of a text; none is empty."""
    return islice(_sheets(pieces), MAX_PAGES)


def _sheets(pieces: Iterable[Piece]) -> Iterator[Sheet]:
    sheet, paragraph = _Sheet(), _Paragraph()
    for piece in pieces:
        match piece:
            case str():
                paragraph.add(piece)
            case LinkStart(address):
                paragraph.begin_link(address)
            case TextMark.LINK_END:
                paragraph.end_link()
            case TextMark.PARAGRAPH_END | TextMark.SHEET_END:
                paragraph = sheet.add(paragraph)
        if sheet.size >= SHEET or (piece is TextMark.SHEET_END and sheet.size):
            yield sheet.ended()
            sheet = _Sheet()
    sheet.add(paragraph)
    if sheet.size:
        yield sheet.ended()


@dataclass(slots=True)
class _Paragraph:
    """A paragraph being read: its text, its complete links, and the beginnings of open ones."""

    pieces: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    open: list[tuple[str, int]] = field(default_factory=list)
    size: int = 0

    def add(self, text: str) -> None:
        if self.size < MAX_TEXT:
            self.pieces.append(text)
            self.size += len(text)

    def begin_link(self, address: str) -> None:
        if len(self.open) < MAX_LINKS:
            self.open.append((address, len(self.pieces)))

    def end_link(self) -> None:
        address, start = self.open.pop() if self.open else ("", 0)
        if 0 < len(address) <= MAX_ADDRESS_LENGTH and len(self.links) < MAX_LINKS:
            self.links.append((address, "".join(self.pieces[start:])))


@dataclass(slots=True)
class _Sheet:
    lines: list[str] = field(default_factory=list)
    links: dict[str, TranscriptLink] = field(default_factory=dict)
    size: int = 0

    def add(self, paragraph: _Paragraph) -> _Paragraph:
        """Add a paragraph, and return the next one, in which its open links continue."""
        line = folded("".join(paragraph.pieces))[:MAX_TEXT]
        for address, anchor in paragraph.links:
            self._link(TranscriptLink(utf_8(address), folded(anchor)[:MAX_ANCHOR], line[:MAX_CONTEXT]))
        for link in islice(named_urls(line), MAX_LINKS):
            self._link(link)
        if line:
            self.lines.append(line)
        self.size += len(line) + (not line and bool(paragraph.links))
        return _Paragraph(open=[(address, 0) for address, _ in paragraph.open])

    def ended(self) -> Sheet:
        return Sheet("\n".join(self.lines), tuple(self.links.values()))

    def _link(self, link: TranscriptLink) -> None:
        if len(self.links) < MAX_LINKS:
            self.links.setdefault(link.address, link)

"""What the readers of all formats share: bounds, a file's metadata, the URLs in a text, and running text in sheets."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from itertools import islice

from aahcrawler.page.transcript import Sheet, TranscriptLink

MAX_PAGES = 50
"""Pages that are read, the first ones."""
MAX_TEXT = 20_000
"""Characters that are read of one page."""
MAX_LINKS = 500
"""Links that are read of one page."""
MAX_ANCHOR = 300
MAX_CONTEXT = 1_000
MAX_ADDRESS_LENGTH = 4_096

ENCRYPTED = "encrypted"
"""What the child process calls the trouble with a file that is encrypted."""

_ADDRESS = re.compile(r"(?:https?://|www\.(?=[\w-]+\.[a-z]{2}))[^\s<>\"{}|\\^`\[\]«»“”]{3,2000}", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*+:", re.IGNORECASE)
_CONTROLS = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160)))
_TRAILING = ".,;:!?'’*_"


class EncryptedError(Exception):
    """Raised for a file that cannot be read without a password or a key."""


class CutError(Exception):
    """Raised after the last sheet of a file that was not read to its end; the message, if any, says why."""


@dataclass(frozen=True, slots=True)
class SentFile:
    """A file as it came. ``media_type`` is what it is read as, ``content_type`` all of the field that declares it.

    ``url`` is what relative addresses are relative to, ``encoding`` the codec that a format of text is decoded by.
    """

    body: bytes
    media_type: str
    url: str = ""
    content_type: str = ""
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class About:
    """A file's own metadata; ``created`` is ISO 8601 with a zone. What is missing is empty.

    ``entries`` is how many rows, solutions or statements it has, None for a format without such, and where not all of
    them were counted.
    """

    title: str = ""
    author: str = ""
    created: str = ""
    entries: int | None = None


def sheets_of(told: Iterable[tuple[str, Sequence[TranscriptLink]]], cut: str, without: str = "") -> Iterator[Sheet]:
    """Yield lines of data and the links in them as sheets, each URL once, that of the document itself not at all.

    Raise ``CutError`` after the last sheet where there is more than ``MAX_PAGES`` of them, or ``cut`` says why.
    """
    lines: list[str] = []
    links: dict[str, TranscriptLink] = {}
    size = given = 0
    seen = {without}
    for line, named in told:
        new = {each.address: each for each in named if each.address not in seen}
        if (lines and size + len(line) > MAX_TEXT) or (links and len(links) + len(new) > MAX_LINKS):
            yield Sheet("\n".join(lines), tuple(links.values()))
            given += 1
            if given == MAX_PAGES:
                message = f"more than {MAX_PAGES} pages of text"
                raise CutError(message)
            lines, links, size = [], {}, 0
        if line:
            lines.append(line)
            size += len(line) + 1
        seen.update(new)
        links |= new
    if lines or links:
        yield Sheet("\n".join(lines), tuple(links.values()))
    if cut:
        raise CutError(cut)


def about(title: str, author: str, created: datetime | None) -> About:
    """Return metadata cut to their bounds; a time without a zone is taken for UTC."""
    moment = "" if created is None else (created if created.tzinfo else created.replace(tzinfo=UTC)).isoformat()
    return About(folded(title)[:MAX_ANCHOR], folded(author)[:MAX_ANCHOR], moment)


def moment_of(text: str) -> datetime | None:
    """Return the moment, or the day, that ISO 8601 names; None for anything else, such as a year alone."""
    try:
        return datetime.fromisoformat(text.strip())
    except ValueError:
        return None


def is_absolute(address: str) -> bool:
    """Return whether a URL, as written, leads out of the file that contains it."""
    return _SCHEME.match(address.strip()) is not None


def named_urls(text: str) -> Iterator[TranscriptLink]:
    """Yield the URLs written in a text, each as a link whose text is the URL."""
    for found in _ADDRESS.finditer(text):
        address = _trimmed(found[0])
        near = text[max(0, found.start() - MAX_CONTEXT // 2) : found.end() + MAX_CONTEXT // 2]
        yield TranscriptLink(
            address if "://" in address else f"http://{address}",
            found[0][:MAX_ANCHOR],
            folded(near)[:MAX_CONTEXT],
        )


def folded(text: str) -> str:
    """Return a text on one line, without characters that cannot be encoded."""
    return utf_8(" ".join(text.split()))


def utf_8(text: str) -> str:
    """Return a text without characters that cannot be encoded, and without those that control terminals."""
    return text.encode("utf-8", "replace").decode("utf-8").translate(_CONTROLS)


def _trimmed(address: str) -> str:
    """Strip the punctuation that ends the sentence around a URL, and closing brackets that it does not open."""
    trimmed = address.rstrip(_TRAILING)
    while trimmed.endswith(")") and trimmed.count(")") > trimmed.count("("):
        trimmed = trimmed[:-1].rstrip(_TRAILING)
    return trimmed


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

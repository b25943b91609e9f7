"""Extracts text and links of PDF files, page by page, in the reader's child process, which bounds its resources."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC
from io import BytesIO
from itertools import islice
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject

from aahcrawler.page.transcript import Sheet, TranscriptLink

MOST_PAGES = 50
"""Pages that are read, the first ones."""
MOST_TEXT = 20_000
"""Characters that are read of one page."""
MOST_LINKS = 500
"""Links that are read of one page."""
MOST_ANCHOR = 300
MOST_CONTEXT = 1_000
_LONGEST = 4_096
_NEAR = 30.0
"""The reach of a link's context around it, in points: two lines or so."""
_SLACK = 3.0

_ADDRESS = re.compile(r"(?:https?://|www\.(?=[\w-]+\.[a-z]{2}))[^\s<>\"{}|\\^`\[\]«»“”]{3,2000}", re.IGNORECASE)
_TRAILING = ".,;:!?'’*_"


@dataclass(frozen=True, slots=True)
class About:
    """A file's own metadata; ``created`` is ISO 8601 with a zone, empty where it is missing."""

    title: str = ""
    created: str = ""


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of text and its origin, in points from the lower left corner."""

    x: float
    y: float
    text: str


def opened(body: bytes) -> PdfReader:
    """Open a file. Anything may be raised for one that is broken."""
    reader = PdfReader(BytesIO(body), strict=False)
    if reader.is_encrypted:
        reader.decrypt("")
    return reader


def about(reader: PdfReader) -> About:
    """Return title and date of a file, as far as they can be read."""
    try:
        metadata = reader.metadata
        created = metadata.creation_date if metadata is not None else None
        moment = "" if created is None else (created if created.tzinfo else created.replace(tzinfo=UTC)).isoformat()
        return About(_folded(str((metadata and metadata.title) or ""))[:MOST_ANCHOR], moment)
    except Exception:  # Whatever is wrong with it, its pages may be right.
        return About()


def sheets(reader: PdfReader) -> Iterator[Sheet]:
    """Yield text and links of the first pages; one that cannot be read is empty."""
    for page in islice(reader.pages, MOST_PAGES):
        pieces: list[_Piece] = []
        try:
            text = _text(page, pieces)
        except Exception:  # Fonts and contents are broken in more ways than anybody knows.
            text = ""
        yield Sheet(text, tuple(islice(_links(page, text, pieces), MOST_LINKS)))


def _text(page: PageObject, pieces: list[_Piece]) -> str:
    left = MOST_TEXT

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], *_: Any) -> None:
        nonlocal left
        if text.strip() and left > 0:
            left -= len(text)
            x, y = tm[4], tm[5]
            pieces.append(_Piece(x * cm[0] + y * cm[2] + cm[4], x * cm[1] + y * cm[3] + cm[5], text))

    return _utf_8(page.extract_text(visitor_text=visit)[:MOST_TEXT])


def _links(page: PageObject, text: str, pieces: Sequence[_Piece]) -> Iterator[TranscriptLink]:
    """Yield the links that lie on a page, then the URLs that its text names; each URL once."""
    seen: set[str] = set()
    for address, box in _annotated(page):
        if address not in seen:
            seen.add(address)
            yield TranscriptLink(address, _within(box, pieces, _SLACK)[:MOST_ANCHOR], _around(box, pieces))
    for found in _ADDRESS.finditer(text):
        address = _trimmed(found[0])
        address = address if "://" in address else f"http://{address}"
        if address not in seen:
            seen.add(address)
            near = text[max(0, found.start() - MOST_CONTEXT // 2) : found.end() + MOST_CONTEXT // 2]
            yield TranscriptLink(address, found[0][:MOST_ANCHOR], _folded(near)[:MOST_CONTEXT])


def _annotated(page: PageObject) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    try:
        annotations = _resolved(page.get("/Annots"))
    except Exception:
        return
    for each in islice(annotations, 2 * MOST_LINKS) if isinstance(annotations, ArrayObject) else ():
        found = _annotation(each)
        if found is not None:
            yield found


def _annotation(written: Any) -> tuple[str, tuple[float, float, float, float]] | None:
    try:
        return _link(_resolved(written))
    except Exception:  # A broken link is no reason to pass over the next one.
        return None


def _link(annotation: Any) -> tuple[str, tuple[float, float, float, float]] | None:
    if not isinstance(annotation, DictionaryObject) or annotation.get("/Subtype") != "/Link":
        return None
    action = _resolved(annotation.get("/A"))
    if not isinstance(action, DictionaryObject) or action.get("/S") != "/URI":
        return None
    address = _resolved(action.get("/URI"))
    address = address.decode("utf-8", "replace") if isinstance(address, bytes) else str(address)
    x0, y0, x1, y1 = map(float, _resolved(annotation["/Rect"])[:4])
    box = (min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))
    return (_utf_8(address.strip()), box) if 0 < len(address) <= _LONGEST else None


def _resolved(value: Any) -> Any:
    return value.get_object() if isinstance(value, IndirectObject) else value


def _within(box: tuple[float, float, float, float], pieces: Sequence[_Piece], slack: float) -> str:
    x0, y0, x1, y1 = box
    return _folded(
        "".join(
            piece.text
            for piece in pieces
            if x0 - slack <= piece.x <= x1 + slack and y0 - slack <= piece.y <= y1 + slack
        )
    )


def _around(box: tuple[float, float, float, float], pieces: Sequence[_Piece]) -> str:
    _, y0, _, y1 = box
    return _folded("".join(piece.text for piece in pieces if y0 - _NEAR <= piece.y <= y1 + _NEAR))[:MOST_CONTEXT]


def _trimmed(address: str) -> str:
    """Strip the punctuation that ends the sentence around a URL, and closing brackets that it does not open."""
    trimmed = address.rstrip(_TRAILING)
    while trimmed.endswith(")") and trimmed.count(")") > trimmed.count("("):
        trimmed = trimmed[:-1].rstrip(_TRAILING)
    return trimmed


def _folded(text: str) -> str:
    return _utf_8(" ".join(text.split()))


def _utf_8(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")

"""Extracts text and links of PDF files, page by page, in the reader's child process, which bounds its resources."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any

from pypdf import PageObject, PdfReader
from pypdf.generic import ArrayObject, DictionaryObject, IndirectObject

from aahcrawler.documents.content import (
    MAX_ADDRESS_LENGTH,
    MAX_ANCHOR,
    MAX_CONTEXT,
    MAX_LINKS,
    MAX_PAGES,
    MAX_TEXT,
    About,
    EncryptedError,
    about,
    folded,
    named_urls,
    utf_8,
)
from aahcrawler.page.transcript import Sheet, TranscriptLink

_NEAR = 30.0
"""The reach of a link's context around it, in points: two lines or so."""
_SLACK = 3.0


@dataclass(frozen=True, slots=True)
class _Piece:
    """A piece of text and its origin, in points from the lower left corner."""

    x: float
    y: float
    text: str


def contents(body: bytes) -> tuple[About, Iterator[Sheet]]:
    """Return the metadata that a file declares, and its first pages; a page that cannot be read is empty.

    Raises ``EncryptedError`` for a file that needs a password, at once or with the pages; any error for a broken one.
    """
    reader = PdfReader(BytesIO(body), strict=False)
    if reader.is_encrypted and not reader.decrypt(""):
        raise EncryptedError
    return _about(reader), _sheets(reader)


def _about(reader: PdfReader) -> About:
    try:
        metadata = reader.metadata
        if metadata is None:
            return About()
        return about(str(metadata.title or ""), str(metadata.author or ""), metadata.creation_date)
    except Exception:  # Whatever is wrong with it, its pages may be right.
        return About()


def _sheets(reader: PdfReader) -> Iterator[Sheet]:
    for page in islice(reader.pages, MAX_PAGES):
        pieces: list[_Piece] = []
        try:
            text = _text(page, pieces)
        except Exception:  # Fonts and contents are broken in more ways than anybody knows.
            text = ""
        yield Sheet(text, tuple(islice(_links(page, text, pieces), MAX_LINKS)))


def _text(page: PageObject, pieces: list[_Piece]) -> str:
    left = MAX_TEXT

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], *_: Any) -> None:
        nonlocal left
        if text.strip() and left > 0:
            left -= len(text)
            x, y = tm[4], tm[5]
            pieces.append(_Piece(x * cm[0] + y * cm[2] + cm[4], x * cm[1] + y * cm[3] + cm[5], text))

    return utf_8(page.extract_text(visitor_text=visit)[:MAX_TEXT])


def _links(page: PageObject, text: str, pieces: Sequence[_Piece]) -> Iterator[TranscriptLink]:
    """Yield the links that lie on a page, then the URLs that its text names; each URL once."""
    seen: set[str] = set()
    for address, box in _annotated(page):
        if address not in seen:
            seen.add(address)
            yield TranscriptLink(address, _within(box, pieces, _SLACK)[:MAX_ANCHOR], _around(box, pieces))
    for link in named_urls(text):
        if link.address not in seen:
            seen.add(link.address)
            yield link


def _annotated(page: PageObject) -> Iterator[tuple[str, tuple[float, float, float, float]]]:
    try:
        annotations = _resolved(page.get("/Annots"))
    except Exception:
        return
    for each in islice(annotations, 2 * MAX_LINKS) if isinstance(annotations, ArrayObject) else ():
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
    return (utf_8(address.strip()), box) if 0 < len(address) <= MAX_ADDRESS_LENGTH else None


def _resolved(value: Any) -> Any:
    return value.get_object() if isinstance(value, IndirectObject) else value


def _within(box: tuple[float, float, float, float], pieces: Sequence[_Piece], slack: float) -> str:
    x0, y0, x1, y1 = box
    return folded(
        "".join(
            piece.text
            for piece in pieces
            if x0 - slack <= piece.x <= x1 + slack and y0 - slack <= piece.y <= y1 + slack
        )
    )


def _around(box: tuple[float, float, float, float], pieces: Sequence[_Piece]) -> str:
    _, y0, _, y1 = box
    return folded("".join(piece.text for piece in pieces if y0 - _NEAR <= piece.y <= y1 + _NEAR))[:MAX_CONTEXT]

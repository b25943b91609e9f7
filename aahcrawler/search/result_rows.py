"""Hits as rows of tables and as a feed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from aahcrawler.search.search_entry import EPOCH
from aahcrawler.search.searching import Hit


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A hit as a row. Times are ISO 8601; ``captured`` and ``until`` are in UTC, ``published`` is as on the page.

    ``folder`` is the name of the folder with the hit, ``page`` the URL of the page that shows an object. ``record`` is
    the id of the capture's WARC record. ``until`` is when it was found changed or gone, ``alike`` how many near
    duplicates it has.
    """

    folder: str
    kind: str
    type: str
    title: str
    author: str
    published: str
    captured: str
    url: str
    page: str
    record: str
    application: str
    language: str
    media_type: str
    status: int
    relevance: float | None
    score: float
    until: str
    gone: bool
    alike: int
    snippet: str

    @classmethod
    def of(cls, hit: Hit) -> "ResultRow":
        """Return a hit as a row."""
        entry = hit.entry
        return cls(
            folder=folder_name(hit.folder),
            kind=entry.kind,
            type=entry.type,
            title=entry.title,
            author=entry.author,
            published=entry.date,
            captured=utc(entry.captured),
            url=entry.url,
            page=entry.page or entry.url,
            record=entry.record,
            application=entry.application,
            language=entry.language,
            media_type=entry.media_type,
            status=entry.status,
            relevance=entry.score,
            score=round(hit.score, 4),
            until="" if hit.until is None else utc(hit.until),
            gone=hit.is_gone,
            alike=hit.alike,
            snippet="".join(piece.text for piece in hit.snippet),
        )


def folder_name(folder: Path) -> str:
    """Return the name of a folder, even if its path is ``.`` or ``..``."""
    return folder.name if folder.name not in {"", ".."} else folder.resolve().name


def utc(microseconds: int) -> str:
    """Return a moment, in microseconds since 1970, as ISO 8601 in UTC."""
    return (EPOCH + timedelta(microseconds=microseconds)).isoformat(timespec="seconds").replace("+00:00", "Z")


def atom(title: str, name: str, hits: Iterable[Hit], now: datetime) -> Iterator[str]:
    """Yield the lines of a feed (Atom, RFC 4287) of hits.

    ``name`` distinguishes it from other feeds of the same folder.
    """
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield '<feed xmlns="http://www.w3.org/2005/Atom">'
    yield f"<title>{_text(title)}</title>"
    yield f"<id>urn:aah:search:{_text(name)}</id>"
    yield f"<updated>{now.astimezone(UTC).strftime('%Y-%m-%dT%H:%M:%SZ')}</updated>"
    for row in map(ResultRow.of, hits):
        yield "<entry>"
        yield f"<title>{_text(row.title or row.snippet[:80] or row.url)}</title>"
        yield f"<id>{_text(row.record)}#{_text(row.url)}</id>"
        yield f"<link href={quoteattr(_clean(row.url))}/>"
        yield f"<updated>{row.captured}</updated>"
        yield f"<author><name>{_text(row.author or row.folder)}</name></author>"
        yield f"<summary>{_text(row.snippet)}</summary>"
        yield "</entry>"
    yield "</feed>"


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """Return a text without characters that XML cannot contain."""
    return "".join(
        each
        for each in text
        if each in "\t\n\r" or (each >= " " and not "\ud800" <= each <= "\udfff" and each not in "\ufffe\uffff")
    )

"""The pictures, sound and film of a crawl's folder, and what its pages say of them, as annotators are given them."""

import json
import logging
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Final, Self
from urllib.parse import urlsplit

from aahcrawler.archive.payload import HEAD, HttpPayload
from aahcrawler.archive.record_access import Record, read_in
from aahcrawler.archive.scanning import Member
from aahcrawler.captures import BEGINNING, ArchivedCaptures, Damage
from aahcrawler.helper.site_memory import site_of
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.objects.reader import Statements
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize
from aahcrawler.wire.replay import replayed
from offline.enrichment.annotator import Medium
from offline.enrichment.object_texts import Assigned

logger = logging.getLogger(__name__)

MAX_BYTES: Final = 100_000_000
"""Bytes of the largest file that is given to annotators, before and after content decoding."""
MAX_CAPTION: Final = 1_000
"""Characters of a caption."""
_MEDIA_OBJECTS: Final = frozenset({"audio", "image", "photo", "track", "video"})
"""Types of objects that are files: what a page says of the object, it says of its file."""
_FILES: Final = tuple(v.predicate(name) for name in ("media", "image", "video", "url"))
_DESCRIPTION: Final = v.predicate("description")
_TYPE: Final = re.compile(rb"\ncontent-type[ \t]*:[ \t]*([\w.+-]+/[\w.+-]+)", re.IGNORECASE)
_MEDIA: Final = ("audio/", "image/", "video/", "application/ogg")
_UNTOLD: Final = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_EXTENSIONS: Final = frozenset({
    ".aac", ".aif", ".aiff", ".avif", ".bmp", ".flac", ".gif", ".j2k", ".jp2", ".jpeg", ".jpg", ".m4a", ".m4v", ".mkv",
    ".mov", ".mp3", ".mp4", ".oga", ".ogg", ".ogv", ".opus", ".png", ".tif", ".tiff", ".wav", ".webm", ".webp", ".wma",
    ".wmv",
})  # fmt: skip
_TABLES: Final = """
CREATE TABLE said (
  url TEXT PRIMARY KEY, at TEXT NOT NULL, capture TEXT NOT NULL, object TEXT NOT NULL, caption TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE medium (
  url TEXT NOT NULL, payload TEXT NOT NULL, capture TEXT NOT NULL UNIQUE, site TEXT NOT NULL,
  PRIMARY KEY (url, payload)
) WITHOUT ROWID;
"""
_SAY: Final = """
INSERT INTO said VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
  at = excluded.at, capture = excluded.capture, object = excluded.object, caption = excluded.caption
WHERE (excluded.at, excluded.capture, excluded.object) < (at, capture, object)
"""


class MediaSurvey:
    """The media of a crawl's folder, as they were when it was made: each payload of a URL at its first capture.

    What pages say of a file is what the page that was captured first says of it. Memory use does not grow with their
    number; what was taken down is left out.
    """

    def __init__(self, base: sqlite3.Connection) -> None:
        self._base = base

    @classmethod
    def of(cls, crawl: Path) -> Self:
        """Survey a crawl's folder. Raises ``ReadError``, ``SegmentError`` and ``OSError``."""
        base, taken = sqlite3.connect("", isolation_level=None), TakenDown.of(crawl)
        base.executescript(_TABLES)
        base.execute("BEGIN")
        for stated in Statements.of(crawl).each(read_statements):
            if not taken.covers(stated.row.url):
                base.executemany(_SAY, _sayings(stated))
        with ArchivedCaptures(crawl, damaged=_passed_over) as source:
            base.executemany("INSERT OR IGNORE INTO medium VALUES (?, ?, ?, ?)", _captured(source))
        base.execute("COMMIT")
        return cls(base)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def captures(self) -> Iterator[Assigned]:
        """Yield the capture of each medium, site by site; its key says which object it is of, by which page."""
        rows = self._base.execute(
            "SELECT medium.site, medium.capture, said.object, said.caption, said.capture FROM medium "
            "LEFT JOIN said ON said.url = medium.url ORDER BY medium.site, medium.capture"
        )
        for site, capture, *said in rows:
            yield Assigned(site, capture, (json.dumps(said if said[0] else [capture, "", ""]).encode(),))

    def has(self, capture: str) -> bool:
        """Return whether a medium is annotated at a capture."""
        return self._base.execute("SELECT 1 FROM medium WHERE capture = ?", (capture,)).fetchone() is not None


class MediaSources:
    """Reads media where the archive has them."""

    def __init__(self, crawl: Path) -> None:
        self._source = ArchivedCaptures(crawl, damaged=_passed_over)

    def versions(self, capture: str, keys: Iterable[bytes]) -> Iterator[Medium]:
        """Yield the medium of a capture; nothing where it is not kept whole, or has more than ``MAX_BYTES`` bytes."""
        found = self._source.of_record(capture)
        holder = self._source.original(capture) if found is not None and found.is_revisit else found
        exchange = None if holder is None else holder.exchange()
        if found is None or exchange is None:
            return
        with closing(exchange):
            page = replayed(exchange, MAX_BYTES, as_sent=True)
        if page is None or not page.complete:
            return
        for key in keys:
            iri, caption, said_by = json.loads(key)
            yield Medium(iri, capture, found.target_uri, page.body, caption, said_by, found.date.isoformat())

    def close(self) -> None:
        """Let go of the archive."""
        self._source.close()


def _sayings(stated: CaptureStatements) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield the files that a page shows as objects of their own: URL, time, capture, object and caption."""
    for each in stated.objects:
        if each.type in _MEDIA_OBJECTS:
            said = each.title or each.body or stated.first(each.iri, _DESCRIPTION) or ""
            caption = " ".join(said[: 2 * MAX_CAPTION].split())[:MAX_CAPTION]
            for name in _FILES:
                for url in stated.values[each.iri].get(name, ()):
                    yield canonicalize(url) or url, stated.row.fetched_at, stated.capture, each.iri, caption


def _captured(source: ArchivedCaptures) -> Iterator[tuple[str, str, str, str]]:
    """Yield the captures of media in the order of time: URL, digest of the payload, capture and site."""
    for row, _ in source.table.in_time(BEGINNING):
        response = row.response
        if response.method != "GET" or source.hides(row):
            continue
        holder = source.original_row(row) if response.is_revisit else row
        if holder is None or holder.response.status != 200:
            continue
        file = source.table.open(holder.file)
        told = read_in(Member(file, holder.response.begin), _media_type_and_digest, holder.response.id)
        url = canonicalize(response.url) or response.url
        if told is not None and _is_medium(told[0], url):
            yield url, told[1] or holder.response.id, response.id, site_of(url)


def _media_type_and_digest(record: Record) -> tuple[str, str]:
    """Return what the head of a response says of its body; of the block no more is read than that."""
    payload, size = HttpPayload(), 0
    for piece in record.block():
        payload.feed(piece)
        size += len(piece)
        if payload.head is not None or size >= HEAD:
            break
    told = _TYPE.search(payload.beginning)
    return told[1].decode("ascii", "replace").lower() if told else "", record.header.get("WARC-Payload-Digest")


def _is_medium(media_type: str, url: str) -> bool:
    """Return whether a file is a picture, sound or film by its media type, or where that says nothing by its name."""
    if media_type in _UNTOLD:
        return PurePosixPath(urlsplit(url).path).suffix.lower() in _EXTENSIONS
    return media_type.startswith(_MEDIA)


def _passed_over(damage: Damage) -> None:
    """Go on behind a damaged place."""
    logger.warning("%s; what is there is not annotated", damage)

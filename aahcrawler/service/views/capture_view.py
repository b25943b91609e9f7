"""The view of one capture: its data, its objects, its links with scores, its records and statements."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import lru_cache
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Final

import pyoxigraph as ox
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from aahcrawler.archive.index import Place
from aahcrawler.archive.payload import beginning_of
from aahcrawler.archive.record_access import (
    MAX_METADATA_LENGTH,
    Record,
    RecordError,
    exchange_in,
    read_at,
    records_at,
    rendered_in,
)
from aahcrawler.archive.records import DOM, THUMBNAIL, VIEW
from aahcrawler.exchange import Exchange
from aahcrawler.layout import ARCHIVE
from aahcrawler.metadata import MEDIA_TYPE
from aahcrawler.objects import capture_statements as statements_of
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.page_index import member_at, url_key
from aahcrawler.replay.capture_lookup import CaptureLookup, NoIndexError, moment_of
from aahcrawler.scores.entries import ENTRY, Begin, Judged, Links, unpacked
from aahcrawler.segments import DamageError
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.page_list import PageShown, page_shown
from aahcrawler.service.web.problems import Kind, ProblemError, Shown

MAX_RECORD_BYTES: Final = 8 << 20
"""Bytes of a record that are read at most."""
_HEAD: Final = 16 << 10
_CRAWLS: Final = 64
_UNSEEN: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160)), "�")


class RecordView(Shown):
    """A WARC record: its type, where its gzip member begins in which file, and how many bytes of it there are.

    ``size`` is None where that is not known. ``fields`` are names and values of its header, ``http``
    the head of the HTTP message in it; both may hold anything that a server sent, control characters apart.
    """

    type: str
    file: str
    offset: int
    size: int | None
    fields: tuple[tuple[str, str], ...]
    http: str


@dataclass(frozen=True, slots=True)
class CapturePlace:
    """Which capture is looked for: the id of its record, its URL, and when it was made (ISO 8601)."""

    record: str
    url: str
    fetched_at: str


def records_found(crawl: Path, wanted: CapturePlace) -> Iterator[tuple[Place, Record]]:
    """Yield the response record of a capture and the records that belong to it, each with the response's place.

    A record is read before the next one is looked up. Records missing in the archive are left out.
    """
    moment, archive = moment_of(datetime.fromisoformat(wanted.fetched_at)), crawl / ARCHIVE
    with suppress(NoIndexError, OSError):
        for place in (each.place for each in _lookup(crawl).nearest(wanted.url, moment) if each.moment == moment):
            if read_at(archive, place.file, place.offset, lambda record: record.header.record_id) == wanted.record:
                yield from ((place, record) for record in records_at(archive, place, wanted.record))
                return


def records_of(crawl: Path, wanted: CapturePlace) -> tuple[RecordView, ...]:
    """Return the response record of a capture and the records that belong to it, as far as the archive has them."""
    return tuple(_shown(place, record) for place, record in records_found(crawl, wanted))


def exchange_of(crawl: Path, wanted: CapturePlace) -> Exchange | None:
    """Return the response of a capture, which the caller closes.

    Return None if the archive does not have it, or it has more than 8 MiB.
    """
    records = (record for _, record in records_found(crawl, wanted))
    with suppress(RecordError):
        response = next(records, None)
        if response is not None:
            found = exchange_in(response, MAX_RECORD_BYTES)
            rendered = next((each for record in records if (each := rendered_in(record)) is not None), None)
            return replace(found, url=wanted.url, rendered=rendered)
    return None


def _shown(place: Place, record: Record) -> RecordView:
    beginning, size = bytearray(), place.end - place.offset if record.offset == place.offset else None
    with suppress(RecordError):
        for piece in record.block():
            beginning += piece[: _HEAD - len(beginning)]
            if size is not None and len(beginning) >= _HEAD:
                break
        size = record.end - record.offset if size is None else size
    is_http = "http" in record.header.get("Content-Type")
    return RecordView(
        type=record.kind,
        file=place.file,
        offset=record.offset,
        size=size,
        fields=tuple((plain(name), plain(value)) for name, value in record.header.fields),
        http=plain(beginning_of(bytes(beginning)).decode("latin-1")) if is_http else "",
    )


def plain(text: str) -> str:
    """Return a text without control characters, which terminals and browsers would interpret."""
    return text.translate(_UNSEEN)


@lru_cache(_CRAWLS)
def _lookup(crawl: Path) -> CaptureLookup:
    """Return the cached lookup of a crawl, which keeps in memory what it read of files that are being written."""
    return CaptureLookup(crawl)


MAX_PICTURE_SIZE: Final = 16 << 20
"""Bytes of a picture that are shown."""
_MAX_LINES: Final = 100
_MAX_LINE_LENGTH: Final = 500
_SIGNATURES: Final = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


class Picture(StrEnum):
    """The kinds of pictures of a page, by the prefix of the record's target URI."""

    SCREENSHOT = VIEW
    THUMBNAIL = THUMBNAIL


def _lines(given: object) -> object:
    return [plain(str(line))[:_MAX_LINE_LENGTH] for line in given[:_MAX_LINES]] if isinstance(given, list) else given


_Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]


class BrowserLookView(BaseModel):
    """A look at a page in a browser, as the metadata of the page tell it (``browser``).

    ``ended`` says why no more was waited for, ``failed`` why there is no document of it. ``refused`` counts what the
    page asked for and was not given, by reason. Of ``console`` and ``behaviours`` at most 100 lines are told.
    ``made_of`` are the URLs of the data that the page was made of, where no browser looked at it. ``pictures`` are
    those that the archive holds; ``has_document`` says that it holds the page as it was read.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    ended: str = ""
    failed: str = ""
    seconds: float = 0.0
    requests: int = 0
    refused: dict[str, int] = Field(default_factory=dict)
    behaviours: _Lines = ()
    console: _Lines = ()
    made_of: _Lines = ()
    pictures: frozenset[Picture] = frozenset()
    has_document: bool = False


def browser_look(crawl: Path, wanted: CapturePlace) -> BrowserLookView | None:
    """Return what the archive tells of the look at a capture in a browser; None where there was none."""
    told, pictures, has_document = None, set[Picture](), False
    for _, record in records_found(crawl, wanted):
        target = record.header.get("WARC-Target-URI").strip("<>")
        pictures |= {each for each in Picture if record.kind == "resource" and target.startswith(each)}
        has_document = has_document or (record.kind == "resource" and target.startswith(DOM))
        if record.kind == "metadata" and record.header.get("Content-Type") == MEDIA_TYPE:
            told = _told(record)
    if told is None and not pictures and not has_document:
        return None
    return (told or BrowserLookView()).model_copy(
        update={"pictures": frozenset(pictures), "has_document": has_document}
    )


def picture(crawl: Path, wanted: CapturePlace, which: Picture) -> tuple[bytes, str] | None:
    """Return a picture of a capture, and its media type; None where the archive has none that can be shown."""
    for _, record in records_found(crawl, wanted):
        if record.kind == "resource" and record.header.get("WARC-Target-URI").strip("<>").startswith(which):
            with suppress(RecordError):
                found = record.whole_block(MAX_PICTURE_SIZE)
                return next(((found, kind) for kind, begin in _SIGNATURES.items() if found.startswith(begin)), None)
    return None


def _told(record: Record) -> BrowserLookView | None:
    try:
        said = json.loads(record.whole_block(MAX_METADATA_LENGTH)).get("browser")
        return None if said is None else BrowserLookView.model_validate(said)
    except (RecordError, ValueError, AttributeError, RecursionError, ValidationError):
        return None


NO_CAPTURE: Final = Kind("unknown-capture", HTTPStatus.NOT_FOUND, "Unknown capture")
NO_PICTURE: Final = Kind("no-picture", HTTPStatus.NOT_FOUND, "No picture")
MAX_SHOWN: Final = 1_000
"""Links, objects or statements of a capture that are shown."""
_BODY: Final = 4_000
_TERM: Final = 2_000
_RECORD: Final = "urn:uuid:"
_JUDGED: Final = """
SELECT name, place FROM judged JOIN segment ON segment.id = segment
WHERE url = ? AND at >= ? AND at < coalesce((SELECT min(at) / 1000 FROM capture WHERE url = ? AND at > ?), at + 1)
ORDER BY at LIMIT 5
"""


class ObjectFound(Shown):
    """An object as one capture has it, as in ``ObjectRow``; a body is cut at 4,000 characters."""

    iri: str
    type: str
    url: str
    title: str | None
    author: str | None
    date: str | None
    body: str | None
    part_of: str | None
    inferred: str | None


class LinkView(Shown):
    """A link of a page: the score that it was offered with, each analyser's part of it, and why it was refused."""

    url: str
    score: float
    parts: dict[str, float]
    refused: str | None


class Judgement(Shown):
    """What the score log says of a page: its score, each analyser's part, and the weights that held.

    ``links`` are its links, the best first, at most 1,000 of ``all_links``; ``unscored`` says that they waited for
    other pages of a batch. ``redirect`` is where it led to.
    """

    score: float | None
    priority: float
    depth: int
    parts: dict[str, float]
    weights: dict[str, float]
    redirect: str | None
    links: tuple[LinkView, ...]
    all_links: int
    unscored: bool


class StatementView(Shown):
    """A statement in the graph of a capture, its terms as N-Triples writes them; long ones are cut."""

    subject: str
    predicate: str
    object: str


class CaptureView(Shown):
    """One capture. ``judgement`` is None where the score log has none; ``notes`` say what is missing, and why.

    ``holder`` is the capture that states the objects of a page that had not changed, else None. ``look`` is what a
    browser made of the page, None where none looked at it.
    """

    page: PageShown
    is_requisite: bool
    former: str | None
    holder: str | None
    reader: str | None
    objects: tuple[ObjectFound, ...]
    all_objects: int
    judgement: Judgement | None
    records: tuple[RecordView, ...]
    look: BrowserLookView | None
    statements: tuple[StatementView, ...]
    all_statements: int
    notes: tuple[str, ...]
    progress: Progress


def capture_view(asked: Asked, record: str) -> CaptureView:
    """Return a capture by the id of its record, with or without ``urn:uuid:``. Raise ``ProblemError``."""
    row = capture_row(asked, record)
    notes: list[str] = []
    text = _text(asked, row, notes)
    stated = statements_of.read_statements(text) if text else None
    objects = stated.objects if stated is not None else ()
    found = [] if not text else list(ox.parse(text, ox.RdfFormat.N_QUADS, lenient=True))
    place = CapturePlace(row["record"], row["url"], row["fetched_at"])
    records = records_of(asked.folder, place)
    if not records:
        notes.append("The archive does not have its records, or they are not indexed yet.")
    judgement = _judgement(asked, row, notes)
    return CaptureView(
        page=page_shown(row),
        is_requisite=bool(row["is_requisite"]),
        former=row["former"],
        holder=row["unchanged"],
        reader=stated.row.reader if stated is not None else None,
        objects=tuple(map(object_found, objects[:MAX_SHOWN])),
        all_objects=len(objects),
        judgement=judgement,
        records=records,
        look=browser_look(asked.folder, place),
        statements=tuple(_statement(quad) for quad in found[:MAX_SHOWN]),
        all_statements=len(found),
        notes=tuple(notes),
        progress=asked.progress,
    )


def capture_picture(asked: Asked, record: str, which: Picture) -> tuple[bytes, str]:
    """Return a picture of a capture, and its media type. Raise ``ProblemError`` where there is none."""
    row = capture_row(asked, record)
    found = picture(asked.folder, CapturePlace(row["record"], row["url"], row["fetched_at"]), which)
    if found is None:
        raise ProblemError(NO_PICTURE, "the archive holds no such picture of the page, or it is damaged")
    return found


def capture_row(asked: Asked, record: str) -> sqlite3.Row:
    """Return the row of a capture in the index. Raise ``ProblemError`` where there is none."""
    name = record if ":" in record else _RECORD + record
    row: sqlite3.Row | None = asked.base.execute("SELECT * FROM capture WHERE record = ?", (name,)).fetchone()
    if row is None:
        wait = "" if asked.progress.complete else " Not all captures are indexed yet: ask again later."
        raise ProblemError(NO_CAPTURE, f"the crawl has no capture of this id; look for its URL.{wait}")
    return row


def capture_text(asked: Asked, row: sqlite3.Row) -> bytes:
    """Return the statements of a capture's latest reading. Raise ``OSError`` and ``DamageError``."""
    (name,) = asked.base.execute("SELECT name FROM segment WHERE id = ?", (row["segment"],)).fetchone()
    return member_at(asked.folder, name, row["place"])


def object_found(each: ObjectRow) -> ObjectFound:
    """Return an object of a capture as it is shown."""
    told = {name: getattr(each, name) for name in ObjectFound.model_fields}
    return ObjectFound(**told | {"body": None if each.body is None else each.body[:_BODY]})


def _text(asked: Asked, row: sqlite3.Row, notes: list[str]) -> bytes:
    try:
        return capture_text(asked, row)
    except (OSError, DamageError) as error:
        notes.append(f"Its statements cannot be read ({error}). Restore the segment from a copy.")
        return b""


def judgement_of(asked: Asked, row: sqlite3.Row) -> Judgement | None:
    """Return what the score log says of a capture's page, None where it has nothing or cannot be read."""
    return _judgement(asked, row, [])


def _judgement(asked: Asked, row: sqlite3.Row, notes: list[str]) -> Judgement | None:
    """Return the score log's first entry of a page between this capture and the next."""
    url, since = row["url"], row["at"] // 1000
    for name, place in asked.base.execute(_JUDGED, (url_key(url), since, url, row["at"])):
        try:
            entry = ENTRY.validate_json(member_at(asked.folder, name, place))
            begin = ENTRY.validate_json(member_at(asked.folder, name, 0))
        except (OSError, DamageError, ValidationError) as error:
            notes.append(f"The score log cannot be read ({type(error).__name__}). Restore {name} from a copy.")
            continue
        if isinstance(entry, Judged) and isinstance(begin, Begin) and entry.url == url:
            return _judged(entry, begin)
    return None


def _judged(entry: Judged, begin: Begin) -> Judgement:
    links = _links(entry.links) if entry.links is not None else []
    return Judgement(
        score=entry.score,
        priority=entry.priority,
        depth=entry.depth,
        parts=dict(entry.parts or {}),
        weights=dict(begin.weights),
        redirect=entry.redirect,
        links=tuple(sorted(links, key=lambda link: -link.score)[:MAX_SHOWN]),
        all_links=len(links),
        unscored=bool(entry.links is not None and entry.links.unscored),
    )


def _links(links: Links) -> list[LinkView]:
    refused: Mapping[int, str] = {at: reason for reason, places in links.refused.items() for at in places}
    columns = {name: unpacked(column, len(links.url)) for name, column in links.parts.items()}
    return [
        LinkView(
            url=url,
            score=score,
            parts={name: value for name, column in columns.items() if (value := column[at]) is not None},
            refused=refused.get(at),
        )
        for at, (url, score) in enumerate(zip(links.url, links.score, strict=True))
    ]


def _statement(quad: ox.Quad) -> StatementView:
    subject, predicate, value = (plain(str(term))[:_TERM] for term in (quad.subject, quad.predicate, quad.object))
    return StatementView(subject=subject, predicate=predicate, object=value)

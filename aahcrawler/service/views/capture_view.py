"""Shows one capture: what is known of it, its objects, its links with their scores, its records and statements."""

import sqlite3
from collections.abc import Mapping
from http import HTTPStatus
from typing import Final

import pyoxigraph as ox
from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.objects import capture_statements as statements_of
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.page_index import member_at, url_key
from aahcrawler.scores.columns import unpacked
from aahcrawler.scores.entries import ENTRY, Begin, Judged, Links
from aahcrawler.segments import DamageError
from aahcrawler.service.views.browser_looks import BrowserLookShown, Picture, browser_look, picture
from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.page_list import PageShown, page_shown
from aahcrawler.service.views.warc_records import CapturePlace, RecordShown, plain, records_of
from aahcrawler.service.web.problems import Kind, ProblemError

NO_CAPTURE: Final = Kind("unknown-capture", HTTPStatus.NOT_FOUND, "Unknown capture")
NO_PICTURE: Final = Kind("no-picture", HTTPStatus.NOT_FOUND, "No picture")
MOST: Final = 1_000
"""Links, objects or statements of a capture that are shown."""
_BODY: Final = 4_000
_TERM: Final = 2_000
_RECORD: Final = "urn:uuid:"
_JUDGED: Final = """
SELECT name, place FROM judged JOIN segment ON segment.id = segment
WHERE url = ? AND at >= ? AND at < coalesce((SELECT min(at) / 1000 FROM capture WHERE url = ? AND at > ?), at + 1)
ORDER BY at LIMIT 5
"""


class ObjectFound(BaseModel):
    """An object as one capture has it, as in ``ObjectRow``; a body is cut at 4,000 characters."""

    model_config = ConfigDict(frozen=True)

    iri: str
    type: str
    url: str
    title: str | None
    author: str | None
    date: str | None
    body: str | None
    part_of: str | None
    inferred: str | None


class LinkShown(BaseModel):
    """A link of a page: the score that it was offered with, each analyser's part of it, and why it was refused."""

    model_config = ConfigDict(frozen=True)

    url: str
    score: float
    parts: dict[str, float]
    refused: str | None


class Judgement(BaseModel):
    """What the score log says of a page: its score, each analyser's part, and the weights that held.

    ``links`` are its links, the best first, at most 1,000 of ``all_links``; ``unscored`` says that they waited for
    other pages of a batch. ``redirect`` is where it led to.
    """

    model_config = ConfigDict(frozen=True)

    score: float | None
    priority: float
    depth: int
    parts: dict[str, float]
    weights: dict[str, float]
    redirect: str | None
    links: tuple[LinkShown, ...]
    all_links: int
    unscored: bool


class StatementShown(BaseModel):
    """A statement in the graph of a capture, its terms as N-Triples writes them; long ones are cut."""

    model_config = ConfigDict(frozen=True)

    subject: str
    predicate: str
    object: str


class CaptureShown(BaseModel):
    """One capture. ``judgement`` is None where the score log has none; ``notes`` say what is missing, and why.

    ``holder`` is the capture that states the objects of a page that had not changed, else None. ``look`` is what a
    browser made of the page, None where none looked at it.
    """

    model_config = ConfigDict(frozen=True)

    page: PageShown
    is_requisite: bool
    former: str | None
    holder: str | None
    reader: str | None
    objects: tuple[ObjectFound, ...]
    all_objects: int
    judgement: Judgement | None
    records: tuple[RecordShown, ...]
    look: BrowserLookShown | None
    statements: tuple[StatementShown, ...]
    all_statements: int
    notes: tuple[str, ...]
    progress: Progress


def capture_view(asked: Asked, record: str) -> CaptureShown:
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
    return CaptureShown(
        page=page_shown(row),
        is_requisite=bool(row["is_requisite"]),
        former=row["former"],
        holder=row["unchanged"],
        reader=stated.row.reader if stated is not None else None,
        objects=tuple(map(object_found, objects[:MOST])),
        all_objects=len(objects),
        judgement=judgement,
        records=records,
        look=browser_look(asked.folder, place),
        statements=tuple(_statement(quad) for quad in found[:MOST]),
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
    """Return what the score log says of a page: its first entry since it was fetched, and before it was so again."""
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
        links=tuple(sorted(links, key=lambda link: -link.score)[:MOST]),
        all_links=len(links),
        unscored=bool(entry.links is not None and entry.links.unscored),
    )


def _links(links: Links) -> list[LinkShown]:
    refused: Mapping[int, str] = {at: reason for reason, places in links.refused.items() for at in places}
    columns = {name: unpacked(column, len(links.url)) for name, column in links.parts.items()}
    return [
        LinkShown(
            url=url,
            score=score,
            parts={name: value for name, column in columns.items() if (value := column[at]) is not None},
            refused=refused.get(at),
        )
        for at, (url, score) in enumerate(zip(links.url, links.score, strict=True))
    ]


def _statement(quad: ox.Quad) -> StatementShown:
    subject, predicate, value = (plain(str(term))[:_TERM] for term in (quad.subject, quad.predicate, quad.object))
    return StatementShown(subject=subject, predicate=predicate, object=value)

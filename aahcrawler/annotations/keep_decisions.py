"""What people decided to keep of a crawl, or not to keep: annotations of pages, a line each, beside the archive.

Each line of ``keep-decisions.jsonl`` is an annotation of the Web Annotation Data Model as JSON-LD: who decided
(``creator``, which is ``dcterms:creator``), when (``created``), with the motivation ``assessing``, and the URLs of the
pages as its target.
Lines are only ever added. Of a page the last decision counts, so that nothing a program proposes takes one back.
``decision_statements`` tells those that count as RDF, for a store.
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import quote
from uuid import uuid4

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from aahcrawler.layout import DECISIONS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import iri, moment, quads, text
from aahcrawler.segments import no_link, private
from aahcrawler.tombstones import TakenDown

_CONTEXT: Final = "http://www.w3.org/ns/anno.jsonld"
_TAIL: Final = 1 << 16


class KeepAnswer(StrEnum):
    """What is decided of a page; ``undecided`` takes an earlier decision back."""

    KEEP = "keep"
    REJECT = "reject"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class KeepDecision:
    """The decision on a page that counts: by whom it is, and when it was made (ISO 8601, UTC)."""

    answer: KeepAnswer
    by: str
    at: str


class DecisionsError(Exception):
    """Raised where decisions cannot be read or written; the message says where, and what to do."""


class _Person(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["Person"] = "Person"
    name: str


class _Body(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["TextualBody"] = "TextualBody"
    purpose: Literal["assessing"] = "assessing"
    value: KeepAnswer


def _dated(value: str) -> str:
    """Return a moment of ISO 8601 as it is. Raise ``ValueError`` for anything else, and where it names no zone."""
    if datetime.fromisoformat(value).tzinfo is None:
        raise ValueError("has no time zone")
    return value


class _Annotation(BaseModel):
    model_config = ConfigDict(frozen=True)

    context: Annotated[str, Field(alias="@context")] = _CONTEXT
    id: str = Field(default_factory=lambda: f"urn:uuid:{uuid4()}")
    type: Literal["Annotation"] = "Annotation"
    motivation: Literal["assessing"] = "assessing"
    creator: _Person
    created: Annotated[str, AfterValidator(_dated)]
    body: _Body
    target: tuple[str, ...]


def decide(crawl: Path, urls: Iterable[str], answer: KeepAnswer, by: str) -> int:
    """Note what somebody decides of pages, on disk when this returns; return how many pages that are.

    Raise ``DecisionsError``.
    """
    pages = tuple(dict.fromkeys(urls))
    if not pages:
        return 0
    made = _Annotation(
        creator=_Person(name=by),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        body=_Body(value=answer),
        target=pages,
    )
    path = crawl / DECISIONS
    try:
        with open(path, "a+b", buffering=0, opener=private) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_torn_line(file.fileno())
            line = made.model_dump_json(by_alias=True).encode() + b"\n"
            if file.write(line) != len(line):
                raise DecisionsError(
                    f"{path}: the disk is full, and the decision is not noted; make room, and decide again"
                )
            os.fsync(file.fileno())
    except OSError as error:
        raise DecisionsError(f"{path}: cannot be written ({error.strerror or error}); make room") from error
    return len(pages)


def decisions_of(crawl: Path) -> Mapping[str, KeepDecision]:
    """Return the decision that counts of each page that one was made on, by its URL. Raise ``DecisionsError``."""
    return read_decisions(crawl / DECISIONS)


def read_decisions(path: Path) -> Mapping[str, KeepDecision]:
    """Return the decisions of a file; none where it is not there. Raise ``DecisionsError``."""
    found: dict[str, KeepDecision] = {}
    for made in _made(path):
        decision = KeepDecision(made.body.value, made.creator.name, made.created)
        found.update(dict.fromkeys(made.target, decision))
    return {url: each for url, each in found.items() if each.answer is not KeepAnswer.UNDECIDED}


def decision_statements(crawl: Path) -> bytes:
    """Return the decisions that count as N-Quads, one graph, in the order in which they were made.

    Pages that were taken down are left out. The graph is named after the first decision of the folder, and empty but
    for its type where none counts any more; without any decision there is none. Raise ``DecisionsError``, and
    ``DamageError`` where nobody can tell what was taken down.
    """
    made = [*_made(crawl / DECISIONS)]
    if not made:
        return b""
    taken, last = TakenDown.of(crawl), {url: each for each in made for url in each.target}
    graph = iri(v.DECISIONS + made[0].id.removeprefix("urn:uuid:"))
    statements = [f"{graph} <{v.RDF_TYPE}> <{v.DECISIONS_TYPE}>"]
    for each in made:
        pages = [url for url in dict.fromkeys(each.target) if last[url] is each and not taken.covers(url)]
        if pages and each.body.value is not KeepAnswer.UNDECIDED:
            statements += _statements(each, pages)
    return quads(statements, graph)


def _statements(made: _Annotation, pages: Iterable[str]) -> Iterator[str]:
    """Yield a decision about some pages in the terms of its JSON-LD, without blank nodes."""
    subject, body = iri(made.id), iri(f"{made.id}#body")
    person = iri(v.ACCOUNT + quote(made.creator.name, safe=""))
    yield f"{subject} <{v.RDF_TYPE}> <{v.OA}Annotation>"
    yield f"{subject} <{v.OA}motivatedBy> <{v.OA}assessing>"
    yield f"{subject} <{v.DCTERMS}creator> {person}"
    yield f"{subject} <{v.DCTERMS}created> {moment(datetime.fromisoformat(made.created).astimezone(UTC))}"
    yield f"{subject} <{v.OA}hasBody> {body}"
    yield from (f"{subject} <{v.OA}hasTarget> {iri(url)}" for url in pages)
    yield f"{body} <{v.RDF_TYPE}> <{v.OA}TextualBody>"
    yield f"{body} <{v.OA}hasPurpose> <{v.OA}assessing>"
    yield f"{body} <{v.RDF}value> {text(made.body.value)}"
    yield f"{person} <{v.RDF_TYPE}> <{v.SCHEMA}Person>"
    yield f"{person} <{v.NAME}> {text(' '.join(made.creator.name.split()))}"


def _made(path: Path) -> Iterator[_Annotation]:
    """Yield all decisions of a file, the first one first."""
    for number, line in _lines(path):
        try:
            yield _Annotation.model_validate_json(line)
        except ValidationError as error:
            advice = "restore the file from a copy, or delete this line"
            raise DecisionsError(f"{path}:{number}: is no decision of this program; {advice}") from error


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the whole lines; the last one without its end was never noted: a crash cut it."""
    try:
        with open(path, "rb", opener=no_link) as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n") and line.strip():
                    yield number, line
    except FileNotFoundError:
        return
    except OSError as error:
        raise DecisionsError(f"{path}: cannot be read ({error.strerror or error}); restore it from a copy") from error


def _cut_torn_line(file: int) -> None:
    """Take out what a crash left of a line at the end of a file."""
    size = end = os.fstat(file).st_size
    while end:
        begin = max(0, end - _TAIL)
        found = os.pread(file, end - begin, begin).rfind(b"\n")
        if found >= 0:
            end = begin + found + 1
            break
        end = begin
    if end < size:
        os.ftruncate(file, end)

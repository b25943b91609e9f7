"""People's decisions to keep pages of a crawl or not: annotations of pages, one a line, beside the archive.

The last decision on a page counts, whoever made it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from urllib.parse import quote

from aahcrawler.annotations.web_annotations import Person, TextualBody, WebAnnotation, annotations_in, append
from aahcrawler.layout import DECISIONS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.nquads import iri, moment, quads, text
from aahcrawler.tombstones import TakenDown


class KeepAnswer(StrEnum):
    """The answer for a page; ``undecided`` withdraws an earlier decision."""

    KEEP = "keep"
    REJECT = "reject"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class KeepDecision:
    """The current decision on a page: who made it, and when (ISO 8601, UTC)."""

    answer: KeepAnswer
    by: str
    at: str


class _Annotation(WebAnnotation[TextualBody[KeepAnswer], tuple[str, ...]]):
    pass


def decide(crawl: Path, urls: Iterable[str], answer: KeepAnswer, by: str) -> int:
    """Append a decision on pages; return how many pages it is about. It is on disk on return.

    Raise ``AnnotationFileError``.
    """
    pages = tuple(dict.fromkeys(urls))
    if pages:
        said = TextualBody[KeepAnswer](purpose="assessing", value=answer)
        append(crawl / DECISIONS, _Annotation(creator=Person(name=by), body=said, target=pages))
    return len(pages)


def decisions_of(crawl: Path) -> Mapping[str, KeepDecision]:
    """Return the current decisions, by URL. Raise ``AnnotationFileError``."""
    return read_decisions(crawl / DECISIONS)


def read_decisions(path: Path) -> Mapping[str, KeepDecision]:
    """Return the current decisions in a file, by URL; none if the file does not exist.

    Raise ``AnnotationFileError``.
    """
    found: dict[str, KeepDecision] = {}
    for made in annotations_in(path, _Annotation):
        decision = KeepDecision(made.body.value, made.creator.name, made.created)
        found.update(dict.fromkeys(made.target, decision))
    return {url: each for url, each in found.items() if each.answer is not KeepAnswer.UNDECIDED}


def decision_statements(crawl: Path) -> bytes:
    """Return the current decisions as one graph of N-Quads, in the order in which they were made.

    Pages that were taken down are left out. The graph is named after the first decision in the folder. If no decision
    counts any more, it only has its type; if there never was one, nothing is returned. Raise ``AnnotationFileError``,
    and ``DamageError`` if it cannot be read what was taken down.
    """
    made = [*annotations_in(crawl / DECISIONS, _Annotation)]
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
    """Yield the statements of a decision about some pages, those of its JSON-LD without blank nodes."""
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

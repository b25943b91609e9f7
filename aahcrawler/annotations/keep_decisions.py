"""What people decided to keep of a crawl, or not to keep: annotations of pages, a line each, beside the archive.

Of a page the last decision counts, whoever made it.
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


class _Annotation(WebAnnotation[TextualBody[KeepAnswer], tuple[str, ...]]):
    pass


def decide(crawl: Path, urls: Iterable[str], answer: KeepAnswer, by: str) -> int:
    """Note what somebody decides of pages, on disk when this returns; return how many pages that are.

    Raise ``AnnotationFileError``.
    """
    pages = tuple(dict.fromkeys(urls))
    if pages:
        said = TextualBody[KeepAnswer](purpose="assessing", value=answer)
        append(crawl / DECISIONS, _Annotation(creator=Person(name=by), body=said, target=pages))
    return len(pages)


def decisions_of(crawl: Path) -> Mapping[str, KeepDecision]:
    """Return the decision that counts of each page that one was made on, by its URL. Raise ``AnnotationFileError``."""
    return read_decisions(crawl / DECISIONS)


def read_decisions(path: Path) -> Mapping[str, KeepDecision]:
    """Return the decisions of a file; none where it is not there. Raise ``AnnotationFileError``."""
    found: dict[str, KeepDecision] = {}
    for made in annotations_in(path, _Annotation):
        decision = KeepDecision(made.body.value, made.creator.name, made.created)
        found.update(dict.fromkeys(made.target, decision))
    return {url: each for url, each in found.items() if each.answer is not KeepAnswer.UNDECIDED}


def decision_statements(crawl: Path) -> bytes:
    """Return the decisions that count as N-Quads, one graph, in the order in which they were made.

    Pages that were taken down are left out. The graph is named after the first decision of the folder, and empty but
    for its type where none counts any more; without any decision there is none. Raise ``AnnotationFileError``, and
    ``DamageError`` where nobody can tell what was taken down.
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

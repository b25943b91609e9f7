"""What people decided to keep of a crawl, or not to keep: annotations of pages, a line each, beside the archive.

Of a page the last decision counts, whoever made it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from aahcrawler.annotations.web_annotations import Person, TextualBody, WebAnnotation, annotations_in, append
from aahcrawler.layout import DECISIONS


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

"""How relevant people judge captured pages to be: annotations, a line each of ``judgements.jsonl`` beside the archive.

The grades are those of Gossen, Risse and Demidova, "Towards Extracting Event-centric Collections from Web Archives"
(IJDL 2020), table 2. Each judge has one judgement of a page, the last one. Its target is the page at a URL
(``source``) in the capture that was seen (``TimeState``); its scope is the sample that the page was judged in.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations.web_annotations import (
    Person,
    TextualBody,
    WebAnnotation,
    annotations_in,
    append,
    moment_now,
)
from aahcrawler.layout import JUDGEMENTS

MAX_COMMENT: Final = 2_000
"""Characters of a comment."""


class Grade(StrEnum):
    """How relevant a page is to the subject of a crawl."""

    HIGHLY_RELEVANT = "highly-relevant"
    RELEVANT = "relevant"
    NOT_RELEVANT = "not-relevant"
    SPAM = "spam"
    UNKNOWN = "dont-know"

    @property
    def words(self) -> str:
        """The grade as people read it."""
        return _WORDS[self]

    @property
    def meaning(self) -> str:
        """What judges are told that it means."""
        return _MEANINGS[self]


_WORDS: Final = {
    Grade.HIGHLY_RELEVANT: "Highly relevant",
    Grade.RELEVANT: "Relevant",
    Grade.NOT_RELEVANT: "Not relevant",
    Grade.SPAM: "Junk or spam",
    Grade.UNKNOWN: "Don't know",
}
_MEANINGS: Final = {
    Grade.HIGHLY_RELEVANT: "the page is mainly about the subject",
    Grade.RELEVANT: "a part of it is about the subject",
    Grade.NOT_RELEVANT: "it is about something else",
    Grade.SPAM: "it is plainly spam, text that was generated for instance",
    Grade.UNKNOWN: "it cannot be told, since the page is not shown for instance",
}


@dataclass(frozen=True, slots=True)
class Seen:
    """The page that is judged: its URL, the record of the capture that was seen, and when that was made (ISO 8601).

    Record and moment are empty where nobody knows them.
    """

    url: str
    record: str = ""
    captured: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge says of a page; ``at`` is ISO 8601 in UTC, ``samples`` are the ids of those it was judged in."""

    page: Seen
    grade: Grade
    by: str
    at: str
    comment: str = ""
    samples: frozenset[str] = frozenset()
    id: str = ""


class _State(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["TimeState"] = "TimeState"
    sourceDate: str | None = None  # noqa: N815 (it is called so there)
    cached: str | None = None


class _Target(BaseModel):
    model_config = ConfigDict(frozen=True)

    type: Literal["SpecificResource"] = "SpecificResource"
    source: str
    state: _State | None = None
    scope: str | None = None


class _Annotation(WebAnnotation[tuple[TextualBody[str], ...], _Target]):
    pass


_WITHDRAWN: Final = "withdrawn"


@dataclass(frozen=True, slots=True)
class Said:
    """What a judge says of a page: a grade, None where an earlier judgement is withdrawn, and a comment.

    ``at`` is empty for now, ``sample`` where the page was not drawn.
    """

    page: Seen
    grade: Grade | None
    comment: str = ""
    sample: str = ""
    at: str = ""


def judge(crawl: Path, by: str, *said: Said) -> None:
    """Note what a judge says of pages, all of it on disk when this returns. Raise ``AnnotationFileError``."""
    note_judgements(crawl, {by: said})


def note_judgements(crawl: Path, said: Mapping[str, Iterable[Said]]) -> None:
    """Note what judges say of pages, all of it or nothing. Raise ``AnnotationFileError``."""
    append(crawl / JUDGEMENTS, *(_annotation(each, by) for by, of_one in said.items() for each in of_one))


def _annotation(said: Said, by: str) -> _Annotation:
    page, grade = said.page, said.grade or _WITHDRAWN
    body = [TextualBody[str](purpose="assessing", value=grade)]
    body += [TextualBody[str](purpose="commenting", value=said.comment)] if said.comment else []
    state = _State(sourceDate=page.captured or None, cached=page.record or None)
    is_known = bool(page.captured or page.record)
    target = _Target(source=page.url, state=state if is_known else None, scope=said.sample or None)
    return _Annotation(creator=Person(name=by), created=said.at or moment_now(), body=tuple(body), target=target)


def judgements_of(crawl: Path) -> Sequence[Judgement]:
    """Return the judgement that counts of each judge and page, in the order in which they were made first.

    Raise ``AnnotationFileError``.
    """
    found: dict[tuple[str, str], Judgement] = {}
    for made in annotations_in(crawl / JUDGEMENTS, _Annotation):
        said = {each.purpose: each.value for each in made.body}
        key, grade = (made.creator.name, made.target.source), said.get("assessing")
        before = found.get(key)
        if grade not in list(Grade):
            found.pop(key, None)
            continue
        scope = frozenset(filter(None, (made.target.scope,)))
        state = made.target.state or _State()
        found[key] = Judgement(
            Seen(made.target.source, state.cached or "", state.sourceDate or ""),
            Grade(grade),
            made.creator.name,
            made.created,
            said.get("commenting", ""),
            scope if before is None else before.samples | scope,
            made.id,
        )
    return list(found.values())


def by_page(judgements: Iterable[Judgement]) -> Mapping[str, Sequence[Judgement]]:
    """Return judgements by the URL of their page."""
    found: dict[str, list[Judgement]] = {}
    for each in judgements:
        found.setdefault(each.page.url, []).append(each)
    return found

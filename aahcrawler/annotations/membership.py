"""Which pages belong to a collection by the word of people, in place of what their relevance says.

Each decision is an annotation of pages, a line of ``membership.jsonl``, with its reason. Of a page the last one counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from aahcrawler.annotations.web_annotations import (
    Person,
    TextualBody,
    WebAnnotation,
    annotations_in,
    append,
)
from aahcrawler.layout import MEMBERSHIP
from aahcrawler.objects.capture_statements import PageRow


class MemberAnswer(StrEnum):
    """Whether a page is a member; ``undecided`` takes an earlier decision back, and relevance decides again."""

    MEMBER = "member"
    NOT_MEMBER = "not-member"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class MemberDecision:
    """The decision on a page that counts: whose it is, when it was made (ISO 8601, UTC), and why."""

    is_member: bool
    by: str
    at: str
    reason: str = ""


class _Annotation(WebAnnotation[tuple[TextualBody[str], ...], tuple[str, ...]]):
    pass


def decide_membership(crawl: Path, urls: Iterable[str], answer: MemberAnswer, by: str, reason: str = "") -> int:
    """Note whether pages are members, on disk when this returns; return how many pages that are.

    Raise ``AnnotationFileError``.
    """
    pages = tuple(dict.fromkeys(urls))
    if pages:
        said = [TextualBody[str](purpose="classifying", value=answer)]
        said += [TextualBody[str](purpose="commenting", value=reason)] if reason else []
        made = _Annotation(motivation="classifying", creator=Person(name=by), body=tuple(said), target=pages)
        append(crawl / MEMBERSHIP, made)
    return len(pages)


@dataclass(frozen=True, slots=True)
class Decided:
    """What somebody says of a page: an answer, and why."""

    answer: MemberAnswer
    reason: str = ""


def decide_together(crawl: Path, decided: Mapping[str, Decided], by: str) -> None:
    """Note decisions on pages, by URL, as one act: all of them or none. Raise ``AnnotationFileError``."""
    alike: dict[Decided, list[str]] = {}
    for url, each in decided.items():
        alike.setdefault(each, []).append(url)
    # To the microsecond: by it acts are told apart.
    created = datetime.now(UTC).isoformat()
    made = []
    for each, pages in alike.items():
        said = [TextualBody[str](purpose="classifying", value=each.answer)]
        said += [TextualBody[str](purpose="commenting", value=each.reason)] if each.reason else []
        creator = Person(name=by)
        made.append(
            _Annotation(
                motivation="classifying", creator=creator, created=created, body=tuple(said), target=tuple(pages)
            )
        )
    if made:
        append(crawl / MEMBERSHIP, *made)


def before_last_act(crawl: Path) -> tuple[Mapping[str, Decided], str]:
    """Return what was said of the pages of the last act before it, and who did that; nothing where there is none.

    Decisions of one person at one moment are one act. Raise ``AnnotationFileError``.
    """
    known: dict[str, Decided] = {}
    before: dict[str, Decided] = {}
    act: tuple[str, str] | None = None
    for made in annotations_in(crawl / MEMBERSHIP, _Annotation):
        if act != (made.creator.name, made.created):
            act, before = (made.creator.name, made.created), {}
        said = {each.purpose: each.value for each in made.body}
        now = Decided(MemberAnswer(said["classifying"]), said.get("commenting", ""))
        for url in made.target:
            before.setdefault(url, known.get(url, Decided(MemberAnswer.UNDECIDED)))
            known[url] = now
    return before, "" if act is None else act[0]


def membership_of(crawl: Path) -> Mapping[str, MemberDecision]:
    """Return the decision that counts of each page that one was made on, by its URL. Raise ``AnnotationFileError``."""
    found: dict[str, MemberDecision | None] = {}
    for made in annotations_in(crawl / MEMBERSHIP, _Annotation):
        said = {each.purpose: each.value for each in made.body}
        answer, reason = said.get("classifying", MemberAnswer.UNDECIDED), said.get("commenting", "")
        decision = MemberDecision(answer == MemberAnswer.MEMBER, made.creator.name, made.created, reason)
        found.update(dict.fromkeys(made.target, None if answer == MemberAnswer.UNDECIDED else decision))
    return {url: each for url, each in found.items() if each is not None}


def with_membership(rows: Iterable[PageRow], decided: Mapping[str, MemberDecision]) -> Iterator[PageRow]:
    """Yield captures, pages among them ``relevant`` as people decided."""
    for row in rows:
        decision = decided.get(row.url) if row.is_page else None
        yield row if decision is None else replace(row, relevant=decision.is_member)

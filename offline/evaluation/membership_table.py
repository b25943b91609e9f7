"""People's decisions on the members of a collection as tables: written, read from lists and tables, and undone."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Final

from aahcrawler import urls
from aahcrawler.annotations.judgements import (
    Decided,
    MemberAnswer,
    before_last_act,
    decide_as,
    decide_together,
    membership_of,
)
from aahcrawler.objects.reader import page_rows
from aahcrawler.tallies import mistakes_told, plural
from offline.collections.distinct_members import NearDuplicate
from offline.evaluation.given_table import GivenTable, Row
from offline.evaluation.relevance_metrics import EvaluationError

MAX_REASON: Final = 500
_MAX_NAME_LENGTH: Final = 100
_ANSWERS: Final[Mapping[str, MemberAnswer]] = {
    **dict.fromkeys(("member", "yes", "true", "1", "in"), MemberAnswer.MEMBER),
    **dict.fromkeys(("notmember", "no", "false", "0", "out"), MemberAnswer.NOT_MEMBER),
    **dict.fromkeys(("undecided", "relevance"), MemberAnswer.UNDECIDED),
}
_COLUMNS: Final = {
    "url": ("url", "uri"),
    "member": ("member", "membership"),
    "reason": ("reason", "comment"),
    "by": ("by",),
    "at": ("at",),
}
_MAX_TOLD: Final = 10
"""How many URLs are named in a message."""


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A decision as a row of a table."""

    url: str
    member: str
    by: str
    at: str
    reason: str


def member_rows(crawl: Path) -> Iterator[MemberRow]:
    """Yield the decisions in force, by URL. Raises ``AnnotationFileError``."""
    for url, each in sorted(membership_of(crawl).items()):
        answer = MemberAnswer.MEMBER if each.is_member else MemberAnswer.NOT_MEMBER
        yield MemberRow(url, answer, each.by, each.at, each.reason)


def take_in(crawl: Path, file: Path, by: str, answer: MemberAnswer | None, reason: str = "") -> str:
    """Add the decisions in a list or table, all or none, and return a text that says how many they are.

    A list has one URL per line, all with the same ``answer``; a table has columns ``url`` and ``member``, and perhaps
    ``reason``. If ``by`` is empty, its columns ``by`` and ``at`` say who decided and when, as in ``MemberRow``. Pages
    that the crawl does not have are left out and reported. Raises ``EvaluationError`` if the crawl has none of them,
    ``AnnotationFileError`` and ``ReadError``.
    """
    if by:
        checked_name(by)
    decided = read_decisions(file, answer, reason)
    captured = {row.url for row in page_rows(crawl) if row.is_page}
    known = {url: each for url, each in decided.items() if url in captured}
    strange = [url for url in decided if url not in captured]
    left = f"; {plural(len(strange), 'URL')} left out of pages that this crawl does not have: {_named(strange)}"
    if not known:
        raise EvaluationError(f"{crawl}: decided on no page{left}")
    acts: dict[tuple[str, str], dict[str, Decided]] = {}
    for url, each in known.items():
        whose = (by, "") if by else (checked_name(each.by), each.at)
        acts.setdefault(whose, {})[url] = Decided(each.answer, each.reason)
    decide_as(crawl, acts)
    return f"{crawl}: decided on {plural(len(known), 'page')}{left if strange else ''}"


def _named(pages: Collection[str]) -> str:
    more = f" and {len(pages) - _MAX_TOLD:,} more" if len(pages) > _MAX_TOLD else ""
    return f"{', '.join(islice(pages, _MAX_TOLD))}{more}"


def undo(crawl: Path, by: str) -> str:
    """Undo the last act of decisions, so that earlier decisions on its pages apply again. Raises as ``take_in``.

    This is an act of its own: a second call undoes the first one.
    """
    name = checked_name(by)
    before, whose = before_last_act(crawl)
    if not before:
        raise EvaluationError(f"{crawl}: nobody has decided anything yet")
    decide_together(crawl, before, name)
    told = f"what {whose} decided last on {plural(len(before), 'page')} is taken back: {_named(before)}"
    return f"{crawl}: {told}. Only the last act can be taken back; to do it again takes this back"


def keep_one(crawl: Path, duplicates: Iterable[NearDuplicate], by: str) -> str:
    """Remove near duplicates from a collection, keeping what they repeat; return a text that says how many.

    Raises as above.
    """
    name = checked_name(by)
    decided = {
        each.row.url: Decided(MemberAnswer.NOT_MEMBER, f"near duplicate of {each.like}"[:MAX_REASON])
        for each in duplicates
    }
    decide_together(crawl, decided, name)
    return f"{crawl}: {plural(len(decided), 'near duplicate')} taken out"


def checked_name(by: str) -> str:
    """Return the name of the person who decides. Raises ``EvaluationError`` if it is invalid."""
    if not by:
        raise EvaluationError("say who decides: --by NAME")
    if not by.isprintable() or len(by) > _MAX_NAME_LENGTH:
        raise EvaluationError(f"{by[:80]!r} is no name of a person")
    return by


@dataclass(frozen=True, slots=True)
class TableDecision:
    """A decision in a list or table; ``by`` and ``at`` (ISO 8601) are empty if it does not give them."""

    answer: MemberAnswer
    reason: str = ""
    by: str = ""
    at: str = ""


def read_decisions(file: Path, answer: MemberAnswer | None, reason: str) -> Mapping[str, TableDecision]:
    """Return the decision on each URL in a list or table. Raises ``EvaluationError`` naming all lines with mistakes."""
    found: dict[str, TableDecision] = {}
    first: dict[str, str] = {}
    mistakes: list[str] = []
    for place, row in _rows(file, answer):
        url, said = (
            urls.canonicalize(row["url"]),
            answer or _ANSWERS.get(re.sub("[^a-z01]", "", row["member"].casefold())),
        )
        if url is None:
            mistakes.append(f"{place}: {row['url'][:200]!r} is no http(s) URL")
        elif said is None:
            told = "write yes, no, or undecided where relevance is to decide"
            mistakes.append(f"{place}: {row['member'][:80]!r} does not say whether it is a member; {told}")
        elif (at := _moment(row["at"])) is None:
            mistakes.append(f"{place}: {row['at'][:80]!r} is no moment; write it as 2026-01-31T18:00:00+00:00")
        elif url in found and found[url].answer != said:
            mistakes.append(f"{place}: says of {url[:200]} something else than {first[url]}; keep one")
        else:
            first.setdefault(url, place)
            found[url] = TableDecision(said, (row["reason"] or reason)[:MAX_REASON], row["by"], at)
    if mistakes:
        raise EvaluationError(mistakes_told(mistakes))
    if not found:
        raise EvaluationError(f"{file}: holds no URL")
    return found


def _moment(written: str) -> str | None:
    """Return a moment (ISO 8601) as written; None if it is invalid, has no zone, or is in the future."""
    if not written:
        return ""
    try:
        moment = datetime.fromisoformat(written)
        return written if moment.tzinfo is not None and moment <= datetime.now(UTC) else None
    except ValueError:
        return None


def _rows(file: Path, answer: MemberAnswer | None) -> Iterator[Row]:
    table = GivenTable.read(file, _COLUMNS, "list of pages")
    if "url" not in table.columns and answer is not None:
        return table.listed()
    if "url" not in table.columns or ("member" not in table.columns and answer is None):
        told = "give a table with columns url and member, or a list with --members or --not-members"
        raise EvaluationError(f"{file}: does not say which pages are members; {told}")
    return table.rows()

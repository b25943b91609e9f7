"""The pages of a crawl proposed to be kept, in groups, with reasons and people's decisions."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from aahcrawler.annotations.keep_decisions import KeepAnswer, KeepDecision, decisions_of
from aahcrawler.annotations.web_annotations import AnnotationFileError
from aahcrawler.layout import DECISIONS, EXPORTS, REMOVING
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.page_indexes import NO_FOLDER, Asked
from aahcrawler.service.web.problems import CONFLICT, ProblemError
from aahcrawler.tombstones import TakenDown
from offline.selection.keep_proposals import KeepProposal

MAX_PROPOSED: Final = 1_000
"""Pages that are proposed at once, beside those decided on."""
_PROPOSAL: Final = TypeAdapter(KeepProposal)
_DECIDED: Final = "decided on before"


class PageToKeep(BaseModel):
    """A page that is proposed, or was decided on: ``answer`` is empty, ``keep`` or ``reject``.

    ``record`` is its last capture, ``title`` that of the page there.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    group: str
    reasons: tuple[str, ...]
    month: str
    relevance: float | None
    answer: str = ""
    by: str = ""
    at: str = ""
    record: str = ""
    title: str = ""


@dataclass(frozen=True, slots=True)
class GroupToKeep:
    """The pages of one group, the best first; ``number`` counts groups from 1."""

    number: int
    name: str
    pages: Sequence[PageToKeep]

    def count(self, answer: str) -> int:
        """Return how many pages have an answer, empty for those on which nobody has decided."""
        return sum(each.answer == answer for each in self.pages)

    def months(self, answer: str | None = None) -> Mapping[str, int]:
        """Return how many pages are of each month, all of them or those with an answer."""
        return Counter(each.month for each in self.pages if each.month and answer in (None, each.answer))


@dataclass(frozen=True)
class ProposedPages:
    """All that is proposed of a crawl, in groups. ``state`` names the proposals, ``made`` says when they were made.

    Pages that were taken down are not among them. ``state`` is empty where nothing was proposed so far.
    """

    pages: Sequence[PageToKeep]
    state: str
    made: datetime | None
    decided: datetime | None

    @cached_property
    def groups(self) -> Sequence[GroupToKeep]:
        """The groups, in the order of their best pages."""
        found: dict[str, list[PageToKeep]] = {}
        for each in self.pages:
            found.setdefault(each.group, []).append(each)
        return [GroupToKeep(number, name, pages) for number, (name, pages) in enumerate(found.items(), 1)]

    def count(self, answer: str) -> int:
        """Return how many pages have an answer."""
        return sum(each.answer == answer for each in self.pages)


def proposals_file(folder: Path) -> Path:
    """Return the file with what is proposed of a crawl; a takedown removes it, since it tells what pages are about."""
    return folder / EXPORTS / "keep-proposals.jsonl"


def proposed_pages(crawl: Crawl) -> ProposedPages:
    """Return what is proposed to be kept of a crawl. Raise ``ProblemError`` where it cannot be told."""
    folder = crawl.folder
    if folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has")
    if (folder / REMOVING).exists():
        raise ProblemError(CONFLICT, "pages are being taken out of this archive; ask again when that is done")
    file, content = proposals_file(folder), b""
    with suppress(FileNotFoundError):
        content = file.read_bytes()
    taken = TakenDown.of(folder)
    try:
        decided = decisions_of(folder)
        found = [_PROPOSAL.validate_python(json.loads(line)) for line in content.splitlines()]
    except (ValidationError, ValueError) as error:
        raise ProblemError(CONFLICT, f"{file}: is damaged; have the pages proposed again") from error
    except AnnotationFileError as error:
        raise ProblemError(CONFLICT, str(error)) from error
    state = blake2b(content, digest_size=8).hexdigest() if content else ""
    shown = [_page(each, decided.get(each.url)) for each in found]
    known = {each.url for each in shown}
    others = (KeepProposal(url, _DECIDED, ()) for url in sorted(decided) if url not in known)
    shown += [_page(each, decided[each.url]) for each in others]
    pages = [each for each in shown if not taken.covers(each.url)]
    return ProposedPages(pages, state, _changed(file), _changed(folder / DECISIONS))


def with_captures(pages: Sequence[PageToKeep], asked: Asked) -> list[PageToKeep]:
    """Return pages with the last capture of each, where there is one."""
    found = []
    for each in pages:
        row = asked.base.execute(
            "SELECT record, title FROM capture WHERE url = ? AND is_page AND NOT is_requisite ORDER BY at DESC LIMIT 1",
            (each.url,),
        ).fetchone()
        told = {} if row is None else {"record": row["record"], "title": row["title"] or ""}
        found.append(each.model_copy(update=told))
    return found


def table_of_proposals(proposed: ProposedPages) -> Iterator[tuple[object, ...]]:
    """Yield all pages as rows of a table, its head first."""
    yield "group", "url", "reasons", "month", "relevance", "answer", "by", "at"
    for each in proposed.pages:
        reasons = "; ".join(each.reasons)
        relevance = "" if each.relevance is None else each.relevance
        yield each.group, each.url, reasons, each.month, relevance, each.answer, each.by, each.at


def decisions_told(folder: Path) -> Iterator[bytes]:
    """Yield the lines of decisions as they are handed out: without pages that were taken down."""
    taken = TakenDown.of(folder)
    try:
        lines = (folder / DECISIONS).read_bytes().splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        told = json.loads(line)
        shown = [url for url in told["target"] if not taken.covers(url)]
        if shown:
            yield json.dumps({**told, "target": shown}, ensure_ascii=False).encode() + b"\n"


def answered(proposed: ProposedPages, url: str, group: str, answer: KeepAnswer) -> list[str]:
    """Return the pages to which an answer applies: a single page, or the pages of a group.

    An answer to a group does not change decisions on single pages, unless it withdraws all decisions.
    """
    if url:
        return [each.url for each in proposed.pages if each.url == url]
    is_back = answer is KeepAnswer.UNDECIDED
    return [each.url for each in proposed.pages if each.group == group and bool(each.answer) is is_back]


def _page(proposal: KeepProposal, decided: KeepDecision | None) -> PageToKeep:
    told = {} if decided is None else {"answer": decided.answer, "by": decided.by, "at": decided.at}
    return PageToKeep(
        url=proposal.url,
        group=proposal.group,
        reasons=proposal.reasons,
        month=proposal.month,
        relevance=proposal.relevance,
        **told,
    )


def _changed(path: Path) -> datetime | None:
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except OSError:
        return None

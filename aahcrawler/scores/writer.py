"""Writes a score log, entry by entry, to one or more files for each worker."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Literal

from aahcrawler.layout import SCORE_LOG
from aahcrawler.scores.entries import (
    DECIMALS,
    Asked,
    Batched,
    Begin,
    Column,
    Ended,
    Entry,
    Judged,
    Lesson,
    Links,
    Offered,
    Rescored,
    Source,
    packed,
    rounded,
)
from aahcrawler.segments import SegmentedOutput, SegmentWriter, Series
from online_analysis.aggregation import Revision, Scores
from online_analysis.batching import BatchScore
from online_analysis.icd.scoring import Scoring


@dataclass(frozen=True, slots=True)
class Terms:
    """What a crawl's scores depend on: the crawl's number among those of its definition, and the scoring settings."""

    crawl: int
    scoring: Scoring


@dataclass(frozen=True, slots=True)
class Leads:
    """The links of a page: canonical URLs, the score of each, and those that were not offered, by reason.

    ``unscored`` means that the offered links got no score yet: they wait for the other pages of a batch.
    """

    urls: Sequence[str] = ()
    scores: Sequence[float] = ()
    refused: Mapping[str, Sequence[int]] = field(default_factory=dict)
    redirect: str | None = None
    unscored: bool = False


@dataclass(frozen=True, slots=True)
class Findings:
    """The scores of a fetched page. ``scores`` run parallel to the URLs it links to, and include the ranker's.

    ``priority`` is the score that it was leased with, ``depth`` the number of links from a seed. ``scores`` is empty
    and ``lesson`` None where the page was not analysed again.
    """

    url: str
    depth: int
    priority: float
    score: float | None = None
    scores: Sequence[Scores] = ()
    leads: Leads = Leads()
    lesson: Lesson | None = None
    status: int = 200


class ScoreLog(SegmentedOutput):
    """Appends entries to segments of a crawl's folder; each is a gzip member of its own.

    When a method returns, its entry has reached the operating system: see ``aahcrawler.segments`` for what survives.
    All methods that append raise ``DiskFullError`` when there is no room, and ``SegmentError`` for other faults of the
    disk; nothing was changed then, and the call may be repeated. Not thread-safe.
    """

    def __init__(
        self, folder: Path, crawl: str, terms: Terms, clock: Callable[[], datetime], *, size: int = 1 << 30
    ) -> None:
        self._terms = terms
        self._clock = clock
        series = Series(folder, crawl, SCORE_LOG, limit=size)
        super().__init__(SegmentWriter(series, clock, lambda _: (_line(self._begin()),)))

    @property
    def weights(self) -> Mapping[str, float]:
        """The weight of each analyser in the scores that are being logged."""
        return self._terms.scoring.weights

    def go_by(self, scoring: Scoring) -> None:
        """Use another definition's scoring from the next entry on, which begins another file."""
        self._segments.close()
        self._terms = replace(self._terms, scoring=scoring)

    def offered(self, source: Source, scored: Sequence[tuple[str, float]]) -> None:
        """Log URLs that were offered with their scores and that no page linked to."""
        if scored:
            urls, scores = [url for url, _ in scored], rounded([score for _, score in scored], DECIMALS)
            self._append(Offered.model_construct(at=self._now(), source=source, url=urls, score=scores))

    def judged(self, found: Findings) -> None:
        """Log the scores of a page and its links."""
        self._append(judged(found, self._now()))

    def batched(self, pages: int, scores: Mapping[str, BatchScore]) -> None:
        """Log URLs that were scored together from that many pages, and offered with these scores."""
        found = list(scores.values())
        analysers = dict.fromkeys(name for each in found for name in each.parts)
        parts = {name: packed(rounded([each.parts.get(name) for each in found], DECIMALS)) for name in analysers}
        self._append(
            Batched.model_construct(
                at=self._now(),
                pages=pages,
                url=list(scores),
                score=rounded([each.score for each in found], DECIMALS),
                linked=packed([each.pages for each in found]) or 0,
                parts=parts,
            )
        )

    def asked(self, n: int) -> None:
        """Log that the ranker was asked for up to ``n`` URLs whose score has changed."""
        self._append(Asked.model_construct(at=self._now(), n=n))

    def rescored(self, revisions: Sequence[Revision], by: Literal["weights"] | None = None) -> None:
        """Log URLs whose score was replaced, by the ranker or because of other weights."""
        self._append(
            Rescored.model_construct(
                at=self._now(),
                url=[each.url for each in revisions],
                score=rounded([each.score for each in revisions], DECIMALS),
                by=by,
            )
        )

    def ended(self, url: str, state: str, reason: str = "") -> None:
        """Log that a URL will not be fetched any more."""
        self._append(Ended.model_construct(at=self._now(), url=url, state=state, reason=reason))

    def _begin(self) -> Begin:
        scoring = self._terms.scoring
        return Begin(
            at=self._now(),
            crawl=self._terms.crawl,
            update=scoring.update,
            weights=scoring.weights,
            explore=scoring.explore,
            seed=scoring.seed,
        )

    def _append(self, entry: Entry) -> None:
        self._segments.append((_line(entry),))

    def _now(self) -> int:
        return round(self._clock().timestamp() * 1000)


def judged(found: Findings, at: int) -> Judged:
    """Return the entry of a page."""
    leads = found.leads
    parts = {each.analyser: round(each.document, DECIMALS) for each in found.scores if each.document is not None}
    links = Links.model_construct(
        url=list(leads.urls),
        score=rounded(leads.scores, DECIMALS),
        parts={each.analyser: part for each in found.scores if (part := _part(each)) is not None},
        refused={reason: list(positions) for reason, positions in leads.refused.items()},
        unscored=leads.unscored or None,
    )
    return Judged.model_construct(
        at=at,
        url=found.url,
        depth=found.depth,
        priority=round(found.priority, DECIMALS),
        status=None if found.status == 200 else found.status,
        score=None if found.score is None else round(found.score, DECIMALS),
        parts=parts or None,
        links=links if leads.urls else None,
        redirect=leads.redirect,
        lesson=found.lesson,
    )


def _part(scores: Scores) -> Column:
    """Return an analyser's scores of the links, or its score of the document where it has none of links."""
    if not scores.links:
        return None if scores.document is None else round(scores.document, DECIMALS)
    one = packed(scores.links)
    if isinstance(one, list):
        return rounded(one, DECIMALS)
    return None if one is None else round(one, DECIMALS)


def _line(entry: Begin | Entry) -> bytes:
    return entry.__pydantic_serializer__.to_json(entry, exclude_none=True) + b"\n"

"""Which known pages a crawl leaves alone, as they are not due: a front page hourly, an old thread yearly.

Each page is due by its interval (``page_intervals``). The pages of one thread are due by its last one, as that is where
replies come. Which are left alone is decided when a crawl begins, and kept in its folder for as long as it takes; pages
that nobody knows are always visited, and so are seeds.
"""

import json
import logging
import re
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from statistics import median_low
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from aahcrawler.layout import RESTING
from aahcrawler.revisits.change_log import ChangeState
from aahcrawler.revisits.crawl_time import SiteLoad, site_loads
from aahcrawler.revisits.visit_budget import Objective
from aahcrawler.revisits.visit_record import ChangeKind
from aahcrawler.schedule.page_intervals import DAY, Demand, Interval, PageIntervals, VisitedPage, visited_pages
from aahcrawler.schedule.rhythms import POLICIES, Adaptive
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of
from knowledge_base.model import KnowledgeBase
from knowledge_base.url_rules import ParsedUrl
from online_analysis.icd.section import refuse
from online_analysis.icd.sections import Duration

logger = logging.getLogger(__name__)
_DIGEST: Final = 8
_RATE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?(?:/|a |an |per ) ?(hour|day|week)")
_DAYS: Final = {"hour": 1 / 24, "day": 1.0, "week": 7.0}


def _downloads_a_day(value: Any) -> Any:
    """Read ``2000 a day``, ``100/hour``; a number is one of downloads a day already."""
    if isinstance(value, float):
        return value
    match = _RATE.fullmatch(str(value).strip().lower())
    if match is None:
        raise refuse("is no number of downloads in a time", "write `2000 a day`, or `100 an hour`")
    return float(match[1]) / _DAYS[match[2]]


DownloadsADay = Annotated[
    float,
    BeforeValidator(_downloads_a_day),
    Field(gt=0),
    PlainSerializer(lambda downloads: f"{max(downloads, 1e-6):.6f} a day", when_used="json"),
]


class PageRhythm(Adaptive):
    """The rhythm of each page. Only so many are visited as fit into ``within``, those that are longest due; 0: all.

    With ``budget`` downloads are divided over pages by ``objective``, and ``policy`` counts for nothing. With
    ``sections`` the pages that one sitemap names are due together, or none.
    """

    within: Duration = Field(default=timedelta(), examples=["1 h"])
    objective: Objective = Field(default=Objective.CHANGES, examples=["freshness"])
    budget: DownloadsADay | None = Field(default=None, examples=["2000 a day"])
    sections: bool = Field(default=False, examples=["yes"])


class RestingPages(BaseModel):
    """The pages that a crawl leaves alone, by the first eight bytes of digests, so that no URL stands there.

    ``crawl`` is its number among those of its folder.
    """

    model_config = ConfigDict(frozen=True)

    crawl: int = 0
    pages: frozenset[str] = frozenset()

    def __contains__(self, url: object) -> bool:
        """Return whether a canonical URL is left alone."""
        return bool(self.pages) and isinstance(url, str) and _digest(url) in self.pages

    @classmethod
    def of(cls, folder: Path, crawl: int) -> "RestingPages":
        """Return what the crawl of this number in a folder leaves alone: nothing where that was never decided."""
        try:
            kept = cls.model_validate_json((folder / RESTING).read_bytes())
        except (OSError, ValidationError):
            return cls(crawl=crawl)
        return kept if kept.crawl == crawl else cls(crawl=crawl)

    def content(self) -> str:
        """Return what ``of`` reads back."""
        return json.dumps({"crawl": self.crawl, "pages": sorted(self.pages)}) + "\n"


def _digest(url: str) -> str:
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


@dataclass(frozen=True, slots=True)
class DuePages:
    """Known pages: how many are due and are visited, how many are due and do not fit, and which are left alone.

    ``demand`` is what all of them are worth, None without a log of changes.
    """

    due: int
    left_over: int
    resting: RestingPages
    demand: Demand | None = None

    def __str__(self) -> str:
        """Return it in words."""
        over = f", {self.left_over:,} more do not fit before the next run" if self.left_over else ""
        told = f"; rhythms are told by {self.demand}" if self.demand else ""
        return f"known pages that are due: {self.due:,}{over}; left alone: {len(self.resting.pages):,}{told}"


SeriesOf = Callable[[str, str], tuple[str, int] | None]
"""Tells of a canonical URL and its template the first page of the thread it belongs to, and its place among all."""


def series_by(knowledge_base: KnowledgeBase) -> SeriesOf:
    """Return what tells of the pages of one thread: those of a terminal level that differ in their page numbers."""
    levels = {
        f"{application.name}/{level.name}": level
        for application in knowledge_base.applications
        for level in application.levels
        if level.role == "terminal" and level.paging
    }

    def series_of(url: str, template: str) -> tuple[str, int] | None:
        level = levels.get(template.partition(" ")[2])
        if level is None:
            return None
        parsed = ParsedUrl.parse(url)
        return level.first_page(parsed).url, max(rule.number(parsed) for rule in level.paging)

    return series_of


def due_pages(
    folder: Path,
    crawl: int,
    rhythm: PageRhythm,
    now: datetime,
    seeds: Iterable[str] = (),
    series_of: SeriesOf = lambda url, template: None,  # noqa: ARG005
) -> DuePages:
    """Decide which known pages the crawl of this number visits. Without a log of changes all pages are visited."""
    try:
        pages = visited_pages(folder)
    except (DamageError, OSError, sqlite3.Error) as error:
        logger.warning("all known pages are visited, as the log of changes cannot be read: %s", error)
        pages = []
    timed = PageIntervals(pages, rhythm.bounds)
    if rhythm.budget is None:
        intervals = timed.by_policy(POLICIES[rhythm.policy])
    else:
        intervals = timed.by_budget(rhythm.objective, rhythm.budget)
    moments = _moments(pages, intervals, rhythm, series_of)
    kept = frozenset(seeds)
    waiting = [(now - moments[page.url], page.url) for page in pages if page.url not in kept]
    due = [each for each in waiting if each[0] >= timedelta()]
    fitting = _affordable(_fitting(due, pages, rhythm.within.total_seconds()), pages, rhythm, now)
    resting = [url for _, url in waiting if url not in fitting]
    left = sum(url not in fitting for _, url in due)
    digests = RestingPages(crawl=crawl, pages=frozenset(map(_digest, resting)))
    return DuePages(len(fitting), left, digests, timed.demand(rhythm.objective, intervals) if pages else None)


def _moments(
    pages: Sequence[VisitedPage], intervals: Sequence[Interval], rhythm: PageRhythm, series_of: SeriesOf
) -> Mapping[str, datetime]:
    """Return when each page is due."""
    moments = {page.url: page.answered[-1].at + each.length for page, each in zip(pages, intervals, strict=True)}
    threads: dict[str, list[tuple[int, VisitedPage]]] = defaultdict(list)
    sections: dict[str, list[str]] = defaultdict(list)
    for page in pages:
        if (found := series_of(page.url, page.template)) is not None:
            threads[found[0]].append((found[1], page))
        if page.section:
            sections[page.section].append(page.url)
    for thread in threads.values():
        *others, (_, last) = sorted(thread, key=lambda each: (each[0], each[1].url))
        moments |= _before_last([page for _, page in others], last, rhythm.greatest)
    if rhythm.sections:
        for urls in sections.values():
            together = median_low(moments[url] for url in urls)
            moments |= dict.fromkeys(urls, together)
    return moments


def _before_last(others: Iterable[VisitedPage], last: VisitedPage, greatest: timedelta) -> Mapping[str, datetime]:
    """Return when pages of a thread are due that stand before its last one: when that says that they changed.

    It does where it is gone or leads elsewhere, or posts on it are gone, as then others move up. A page that
    itself was seen to change keeps its own rhythm: there the newest posts come first.
    """
    moved = [
        visit.at
        for visit in last.answered
        if visit.state is ChangeState.GONE or visit.kind is ChangeKind.MOVED or visit.deleted
    ]
    found = {}
    for page in others:
        seen = page.answered
        if not any(visit.matters and not visit.volatile for visit in seen[1:]):
            at = seen[-1].at
            found[page.url] = at if any(moment > at for moment in moved) else at + greatest
    return found


def _fitting(due: Sequence[tuple[timedelta, str]], pages: Sequence[VisitedPage], seconds: float) -> list[str]:
    """Return the pages that fit into so many seconds at the paces of their sites, those that are longest due first."""
    ordered = [url for _, url in sorted(due, reverse=True)]
    if not seconds:
        return ordered
    visits = sorted((visit for page in pages for visit in page.visits), key=lambda visit: visit.at)
    loads = site_loads(visits, queue_of)
    spent: dict[str, float] = defaultdict(float)
    fitting = []
    for url in ordered:
        site = queue_of(url)
        spent[site] += loads.get(site, SiteLoad(1)).pace
        if spent[site] <= seconds:
            fitting.append(url)
    return fitting


def _affordable(
    ordered: Sequence[str], pages: Sequence[VisitedPage], rhythm: PageRhythm, now: datetime
) -> frozenset[str]:
    """Return as many pages, from the first on, as the budget has brought downloads since the crawl before began."""
    visits = [visit for page in pages for visit in page.visits]
    if rhythm.budget is None or not visits:
        return frozenset(ordered)
    newest = max(visit.crawl for visit in visits)
    begun = min(visit.at for visit in visits if visit.crawl == newest)
    return frozenset(ordered[: max(1, round(rhythm.budget * ((now - begun) / DAY)))])

"""Decide which known pages a crawl leaves out because they are not due: a front page hourly, an old thread yearly.

Each page is due after its own interval. All pages of a thread are due with its last page, where
replies appear. The decision is made when a crawl begins, and kept in its folder until it ends. Seeds and unknown pages
are always visited.

The log of changes says what is known of pages. Without a budget, a page's revisit policy gives its interval, starting
from what similar pages have shown (``rate_priors``). With a budget, the downloads a day are divided over all pages
(``visit_budget``).
"""

import json
import logging
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from statistics import median_low
from typing import Annotated, Any, Final

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError

from aahcrawler.layout import DEMAND, RESTING
from aahcrawler.revisits.change_log import ChangeState, Visit, opened_changes
from aahcrawler.revisits.crawl_time import SiteLoad, site_loads
from aahcrawler.revisits.page_comparison import server_of
from aahcrawler.revisits.rate_priors import Ground, KnownPage, address_features, learned_priors
from aahcrawler.revisits.revisit_policies import (
    Bounds,
    Floats,
    JumpingRate,
    PageVisit,
    RateBeliefs,
    RevisitPolicy,
    batched_places,
    best_days,
    interval_levels,
)
from aahcrawler.revisits.visit_budget import PRICES, Objective, demand, divided, values
from aahcrawler.revisits.visit_record import ChangeKind, DateSource, WantedVisits
from aahcrawler.schedule.rhythms import POLICIES, Adaptive
from aahcrawler.segments import DamageError
from aahcrawler.urls import queue_of
from knowledge_base.model import KnowledgeBase
from knowledge_base.url_rules import ParsedUrl
from online_analysis.icd.mistakes import refuse
from online_analysis.icd.sections import Duration

DAY: Final = timedelta(days=1)
_LAST: Final = 60
"""The latest visits of a page that are evidence of its rate of change; older ones are ignored."""
MakePolicy = Callable[[Bounds], RevisitPolicy]


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A page in the log of changes: its latest visits, the oldest first, and what lists and templates say about it.

    ``section`` is the sitemap or feed that lists the page, empty if none does.
    """

    url: str
    visits: Sequence[Visit]
    template: str = ""
    stated: str = ""
    section: str = ""
    listed: tuple[int, float] = (0, 0.0)

    @property
    def answered(self) -> Sequence[Visit]:
        """The visits that did not fail; all visits if all failed."""
        return [each for each in self.visits if each.state is not ChangeState.FAILED] or self.visits

    def known(self, bounds: Bounds) -> KnownPage:
        """Return the evidence of the page's rate of change, with times rounded to a quarter of the least interval.

        The rounding makes many pages equal, so that they are computed once.
        """
        answered, quarter = self.answered, bounds.least / 4
        history = tuple(
            PageVisit(
                max(1, round((after.at - before.at) / DAY / quarter)) * quarter, after.matters and not after.volatile
            )
            for before, after in pairwise(answered)
        )
        first = answered[0]
        age = None
        if first.state is ChangeState.NEW and first.dated is not None and first.dated.by is not DateSource.COMPARISON:
            age = max(0, round((first.at - first.dated.before) / DAY / quarter)) * quarter
        features = address_features(self.url)
        return KnownPage(server_of(self.url), self.template, features, history, age, self.stated, self.listed)


def visited_pages(folder: Path) -> list[VisitedPage]:
    """Return the pages in a folder's log of changes, in the order of their first visits.

    Raise ``DamageError`` if the log cannot be read, ``sqlite3.Error`` and ``OSError`` if its index cannot be built.
    """
    by_url: dict[str, list[Visit]] = defaultdict(list)
    with opened_changes(folder) as index:
        for visit in index.visits(WantedVisits()):
            by_url[visit.url].append(visit)
        templates, stated, listed = index.templates(), index.frequencies(), index.listed_changes()
        sections = index.sections()
    return [
        VisitedPage(
            url,
            found[-_LAST:],
            templates.get(url, ""),
            stated.get(url, ""),
            sections.get(url, ""),
            listed.get(url, (0, 0.0)),
        )
        for url, found in by_url.items()
    ]


@dataclass(frozen=True, slots=True)
class Interval:
    """The time from one visit of a page to the next, and the kind of evidence for the page's rate of change.

    ``visits`` is how many of its own visits are part of the evidence, 0 if only others' are.
    """

    length: timedelta
    ground: Ground
    visits: int = 0

    def __str__(self) -> str:
        """Return the evidence in words."""
        return "its own visits" if self.visits else str(self.ground)


class Demand(BaseModel):
    """How many downloads a day the known pages of a crawl are worth for an objective, at each price of ``PRICES``.

    ``grounds`` counts pages by the kind of evidence for their rates of change.
    """

    model_config = ConfigDict(frozen=True)

    objective: Objective
    downloads: Annotated[tuple[float, ...], Field(min_length=len(PRICES), max_length=len(PRICES))]
    grounds: Mapping[str, int]

    def __str__(self) -> str:
        """Return the kinds of evidence in words; empty if there is none."""
        return ", ".join(f"{ground} ({number:,})" for ground, number in self.grounds.items())

    @classmethod
    def of(cls, folder: Path) -> "Demand | None":
        """Read the demand from a crawl's folder; None if it has none."""
        try:
            return cls.model_validate_json((folder / DEMAND).read_bytes())
        except (OSError, ValidationError):
            return None


class PageIntervals:
    """Computes the intervals of pages, by a policy or by dividing a budget."""

    def __init__(self, pages: Sequence[VisitedPage], bounds: Bounds) -> None:
        self._bounds = bounds
        self._known = [page.known(bounds) for page in pages]
        priors = learned_priors(self._known, bounds)
        self._priors = dict(zip(self._known, priors, strict=True))

    def by_policy(self, make: MakePolicy) -> list[Interval]:
        """Return the interval of each page by a policy that starts with the page's prior, as far as there is one.

        Without a prior it starts with the interval ``first``.
        """
        untold = np.array([prior.ground is Ground.NOTHING for prior in self._priors.values()], np.bool_)
        before = self._unchanged_after([() for _ in self._priors])
        firsts = np.where(untold, self._bounds.within(self._bounds.first), best_days(before, self._bounds))
        if isinstance(make(self._bounds), JumpingRate):
            visited = np.array([bool(page.visits) for page in self._priors], np.bool_)
            found = np.where(visited, best_days(self._unchanged, self._bounds), firsts)
        else:
            found = np.array(
                [self._days(page, make, float(first)) for page, first in zip(self._priors, firsts, strict=True)]
            )
        days = dict(zip(self._priors, found.tolist(), strict=True))
        return self._intervals([days[page] for page in self._known])

    def by_budget(self, objective: Objective, downloads: float) -> list[Interval]:
        """Return each page's interval when so many downloads a day are divided over all pages."""
        if not self._known:
            return []
        levels = interval_levels(self._bounds)
        chosen = divided(self._given(objective), levels, downloads).intervals
        return self._intervals([float(each) for each in levels[chosen]])

    def demand(self, objective: Objective, intervals: Sequence[Interval]) -> Demand:
        """Return the demand of the pages with these intervals."""
        grounds = Counter(str(each) for each in intervals)
        curve = demand(self._given(objective), interval_levels(self._bounds))
        return Demand(objective=objective, downloads=curve, grounds=dict(sorted(grounds.items())))

    def _intervals(self, days: Sequence[float]) -> list[Interval]:
        return [
            Interval(timedelta(days=length), self._priors[page].ground, len(page.visits))
            for length, page in zip(days, self._known, strict=True)
        ]

    def _days(self, page: KnownPage, make: MakePolicy, first: float) -> float:
        policy = make(replace(self._bounds, first=first))
        policy.observe_all(page.visits)
        return policy.days

    @cached_property
    def _unchanged(self) -> Floats:
        return self._unchanged_after([page.visits for page in self._priors])

    def _unchanged_after(self, visits: Sequence[Sequence[PageVisit]]) -> Floats:
        """Return how likely each different page does not change within each interval, after such visits (N x G)."""
        priors = list(self._priors.values())
        unchanged = np.empty((len(priors), len(interval_levels(self._bounds))))
        for part in batched_places(len(priors)):
            beliefs = RateBeliefs(self._bounds, np.array([prior.chances for prior in priors[part]]))
            beliefs.observe_all(visits[part])
            unchanged[part] = beliefs.unchanged()
        return unchanged

    def _given(self, objective: Objective) -> Floats:
        """Return how much of the objective each page yields at each interval, as an array (pages × intervals)."""
        places = {page: place for place, page in enumerate(self._priors)}
        falling = np.minimum.accumulate(self._unchanged, axis=1)
        given: Floats = values(falling, interval_levels(self._bounds), objective)
        return given[[places[page] for page in self._known]]


logger = logging.getLogger(__name__)
_DIGEST: Final = 8
_RATE: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,9})?) ?(?:/|a |an |per ) ?(hour|day|week)")
_DAYS: Final = {"hour": 1 / 24, "day": 1.0, "week": 7.0}


def _downloads_a_day(value: Any) -> Any:
    """Parse ``2000 a day`` or ``100/hour``; a number is returned as it is, in downloads a day."""
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
    """The settings for visiting known pages.

    Only as many are visited as fit into ``within``, the longest due first; 0: all. With ``budget``, downloads are
    divided over pages by ``objective``, and ``policy`` is ignored. With ``sections``, all pages that one sitemap lists
    are due together.
    """

    within: Duration = Field(default=timedelta(), examples=["1 h"])
    objective: Objective = Field(default=Objective.CHANGES, examples=["freshness"])
    budget: DownloadsADay | None = Field(default=None, examples=["2000 a day"])
    sections: bool = Field(default=False, examples=["yes"])


class RestingPages(BaseModel):
    """The pages that a crawl leaves out, as the first eight bytes of the digests of their URLs.

    ``crawl`` is the number of the crawl in its folder. No URL is stored.
    """

    model_config = ConfigDict(frozen=True)

    crawl: int = 0
    pages: frozenset[str] = frozenset()

    def __contains__(self, url: object) -> bool:
        """Return whether the crawl leaves a canonical URL out."""
        return bool(self.pages) and isinstance(url, str) and _digest(url) in self.pages

    @classmethod
    def of(cls, folder: Path, crawl: int) -> "RestingPages":
        """Read which pages a crawl leaves out; none if that was not decided for a crawl of this number."""
        try:
            kept = cls.model_validate_json((folder / RESTING).read_bytes())
        except (OSError, ValidationError):
            return cls(crawl=crawl)
        return kept if kept.crawl == crawl else cls(crawl=crawl)

    def content(self) -> str:
        """Return the content of the file that ``of`` reads."""
        return json.dumps({"crawl": self.crawl, "pages": sorted(self.pages)}) + "\n"


def _digest(url: str) -> str:
    return blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).hexdigest()


@dataclass(frozen=True, slots=True)
class DuePages:
    """The decision on known pages: how many are visited, how many are due but do not fit, and which are left out.

    ``demand`` is the demand of all known pages, None without a log of changes. ``beyond_budget`` is the number of pages
    that are due and fit into the time, but exceed the downloads that the budget allows.
    """

    due: int
    left_over: int
    resting: RestingPages
    demand: Demand | None = None
    beyond_budget: int = 0

    def __str__(self) -> str:
        """Return the decision in words."""
        over = f", {self.left_over:,} more do not fit before the next run" if self.left_over else ""
        over += f", {self.beyond_budget:,} more wait for the budget" if self.beyond_budget else ""
        told = f"; rhythms are told by {self.demand}" if self.demand else ""
        return f"known pages that are due: {self.due:,}{over}; left alone: {len(self.resting.pages):,}{told}"


SeriesOf = Callable[[str, str], tuple[str, int] | None]
"""Returns, for a canonical URL and its template, the first page of the thread it belongs to, and its page number."""


def series_by(knowledge_base: KnowledgeBase) -> SeriesOf:
    """Return a function that finds the thread of a page by the knowledge base.

    Pages of one thread are those of a terminal level whose URLs differ only in the page number.
    """
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
    """Decide which known pages crawl number ``crawl`` visits; without a log of changes, all of them."""
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
    in_time = _fitting(due, pages, rhythm.within.total_seconds())
    fitting = _affordable(in_time, pages, rhythm, now)
    resting = [url for _, url in waiting if url not in fitting]
    digests = RestingPages(crawl=crawl, pages=frozenset(map(_digest, resting)))
    told = timed.demand(rhythm.objective, intervals) if pages else None
    return DuePages(len(fitting), len(due) - len(in_time), digests, told, len(in_time) - len(fitting))


def _moments(
    pages: Sequence[VisitedPage], intervals: Sequence[Interval], rhythm: PageRhythm, series_of: SeriesOf
) -> Mapping[str, datetime]:
    """Return when each page is due, by URL."""
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
    """Return when the pages of a thread before its last one are due, which follows from changes of the last page.

    They are due once the last page is gone or redirects, or posts on it have disappeared, since posts then move to
    other pages. A page on which changes were seen keeps its own interval: its newest posts come first.
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
    """Return the pages that can be fetched in so many seconds at the paces of their sites, the longest due first."""
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
    """Return the first pages of ``ordered``, as many as the budget has allowed since the former crawl began."""
    visits = [visit for page in pages for visit in page.visits]
    if rhythm.budget is None or not visits:
        return frozenset(ordered)
    newest = max(visit.crawl for visit in visits)
    begun = min(visit.at for visit in visits if visit.crawl == newest)
    return frozenset(ordered[: max(1, round(rhythm.budget * ((now - begun) / DAY)))])

"""How long each known page of a crawl waits for its next visit, by its own visits and what else tells of it.

What is known of pages is read from the log of changes. Without a budget each page's revisit policy says how long, begun
with what pages like it have shown (``rate_priors``). With one the downloads a day are divided over all pages
(``visit_budget``).
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aahcrawler.layout import DEMAND
from aahcrawler.revisits.change_evidence import server_of
from aahcrawler.revisits.change_log import ChangeState, Visit, opened_changes
from aahcrawler.revisits.rate_priors import Ground, KnownPage, address_features, learned_priors
from aahcrawler.revisits.revisit_policies import (
    Bounds,
    Floats,
    JumpingRate,
    PageVisit,
    RevisitPolicy,
    interval_levels,
)
from aahcrawler.revisits.visit_budget import PRICES, Objective, demand, divided, values
from aahcrawler.revisits.visit_record import DateSource, WantedVisits

DAY: Final = timedelta(days=1)
_LAST: Final = 60
"""Visits of a page that tell of it; older ones are left out of account."""
MakePolicy = Callable[[Bounds], RevisitPolicy]


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A page of the log of changes: its last visits, the oldest first, and what lists and templates tell of it.

    ``section`` is the sitemap or feed that names it, empty where none does.
    """

    url: str
    visits: Sequence[Visit]
    template: str = ""
    stated: str = ""
    section: str = ""
    listed: tuple[int, float] = (0, 0.0)

    @property
    def answered(self) -> Sequence[Visit]:
        """Its visits that tell something: those that failed do not, unless all did."""
        return [each for each in self.visits if each.state is not ChangeState.FAILED] or self.visits

    def known(self, bounds: Bounds) -> KnownPage:
        """Return what tells of its rate, in quarters of the least interval, so that many pages are alike."""
        answered, quarter = self.answered, bounds.least / 4
        history = tuple(
            PageVisit(max(1, round((after.at - before.at) / DAY / quarter)) * quarter, _is_change(after))
            for before, after in pairwise(answered)
        )
        first = answered[0]
        age = None
        if first.state is ChangeState.NEW and first.dated is not None and first.dated.by is not DateSource.COMPARISON:
            age = max(0, round((first.at - first.dated.before) / DAY / quarter)) * quarter
        features = address_features(self.url)
        return KnownPage(server_of(self.url), self.template, features, history, age, self.stated, self.listed)


def _is_change(visit: Visit) -> bool:
    return visit.matters and not visit.volatile


def visited_pages(folder: Path) -> list[VisitedPage]:
    """Return the pages of a crawl's folder, in the order in which they were visited first.

    Raise ``DamageError`` for a log that cannot be read, ``sqlite3.Error`` and ``OSError`` for an index that cannot be
    made.
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
    """How long a page waits from one visit to the next, and what tells how often it changes.

    ``visits`` are those of its own that tell that, 0 where others alone do.
    """

    length: timedelta
    ground: Ground
    visits: int = 0

    def __str__(self) -> str:
        """Return what tells it, in words."""
        return "its own visits" if self.visits else str(self.ground)


class Demand(BaseModel):
    """What a crawl's known pages are worth of an objective: ``downloads`` a day at each price, and how many they are.

    ``grounds`` counts pages by what tells how often they change.
    """

    model_config = ConfigDict(frozen=True)

    objective: Objective
    downloads: Annotated[tuple[float, ...], Field(min_length=len(PRICES), max_length=len(PRICES))]
    grounds: Mapping[str, int]

    def __str__(self) -> str:
        """Return what tells how often pages change, in words; empty where there are none."""
        return ", ".join(f"{ground} ({number:,})" for ground, number in self.grounds.items())

    @classmethod
    def of(cls, folder: Path) -> "Demand | None":
        """Return what a crawl's folder tells; None where it tells nothing."""
        try:
            return cls.model_validate_json((folder / DEMAND).read_bytes())
        except (OSError, ValidationError):
            return None


class PageIntervals:
    """Says how long pages wait, by a policy or by their parts of a budget."""

    def __init__(self, pages: Sequence[VisitedPage], bounds: Bounds) -> None:
        self._bounds = bounds
        self._known = [page.known(bounds) for page in pages]
        priors = learned_priors(self._known, bounds)
        self._priors = dict(zip(self._known, priors, strict=True))
        self._beliefs: dict[KnownPage, JumpingRate] = {}

    def by_policy(self, make: MakePolicy) -> list[Interval]:
        """Return the interval of each page by a policy, which begins with what tells of the page before its visits."""
        days = {page: self._days(page, make) for page in self._priors}
        return self._intervals([days[page] for page in self._known])

    def by_budget(self, objective: Objective, downloads: float) -> list[Interval]:
        """Return the interval of each page where so many downloads a day are divided over all of them."""
        if not self._known:
            return []
        levels = interval_levels(self._bounds)
        chosen = divided(self._given(objective), levels, downloads).intervals
        return self._intervals([float(each) for each in levels[chosen]])

    def demand(self, objective: Objective, intervals: Sequence[Interval]) -> Demand:
        """Return what pages with these intervals are worth."""
        grounds = Counter(str(each) for each in intervals)
        curve = demand(self._given(objective), interval_levels(self._bounds))
        return Demand(objective=objective, downloads=curve, grounds=dict(sorted(grounds.items())))

    def _intervals(self, days: Sequence[float]) -> list[Interval]:
        return [
            Interval(timedelta(days=length), self._priors[page].ground, len(page.visits))
            for length, page in zip(days, self._known, strict=True)
        ]

    def _days(self, page: KnownPage, make: MakePolicy) -> float:
        """Return the interval by a policy; it begins with ``first`` where nothing tells of a page before its visits."""
        policy = make(self._bounds)
        if self._priors[page].ground is not Ground.NOTHING:
            if isinstance(policy, JumpingRate):
                return self._belief(page).days
            policy = make(replace(self._bounds, first=JumpingRate(self._bounds, prior=self._priors[page].shares).days))
        policy.observe_all(page.visits)
        return policy.days

    def _belief(self, page: KnownPage) -> JumpingRate:
        if page not in self._beliefs:
            belief = self._beliefs[page] = JumpingRate(self._bounds, prior=self._priors[page].shares)
            belief.observe_all(page.visits)
        return self._beliefs[page]

    def _given(self, objective: Objective) -> Floats:
        """Return what each page gives of an objective at each interval (N x G)."""
        places = {page: place for place, page in enumerate(self._priors)}
        chances = np.array([self._belief(page).unchanged() for page in self._priors])
        falling = np.minimum.accumulate(chances, axis=1)
        given: Floats = values(falling, interval_levels(self._bounds), objective)
        return given[[places[page] for page in self._known]]

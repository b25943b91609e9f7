"""The protocol of a crawling strategy in a simulation, and the crawl itself."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from aahcrawler.frontier.protocol import FrontierSettings
from offline.simulation.page_data import Understood
from offline.simulation.visits import Visit, Visits
from offline.simulation.world import World
from online_analysis.aggregation import Scores
from online_analysis.icd.scoring import Scoring
from online_analysis.topic import Topic


class Strategy(Protocol):
    """Decides the order of one crawl; each crawl needs an instance of its own. Pages are identified by number.

    The same seeds and the same visits lead to the same order: chance comes only from the briefing's generator.
    """

    def begin(self, seeds: Sequence[int]) -> None:
        """Store the seeds. Called before any other method."""
        ...

    def following(self) -> Sequence[int]:
        """Return the pages to fetch next, in order: only new pages, and none if there are no more.

        All of them are fetched before the next call.
        """
        ...

    def fetched(self, visit: Visit) -> None:
        """Learn from the worth and the links of a fetched page."""
        ...


class Analysis(Protocol):
    """The crawler's analysers."""

    @property
    def topic(self) -> Topic:
        """The topic that the analysers compare with."""
        ...

    def analysed(self, understood: Understood) -> tuple[Scores, ...]:
        """Return each analyser's scores of a page and of its outlinks."""
        ...


@dataclass(frozen=True, slots=True)
class Briefing:
    """The inputs that a strategy may use.

    ``settings`` are the definition's settings of the frontier, ``scoring`` those of scores. ``visits`` gives the pages
    that have been fetched, ``analysis`` each analyser's scores of them. ``relevance`` is the judge's, by number, and
    only for the oracle; None without a judge. ``pages`` is the budget of the crawl.
    """

    world: World
    visits: Visits
    analysis: Analysis
    settings: FrontierSettings
    scoring: Scoring
    random: Random
    pages: int
    relevance: Sequence[float] | None = None


MakeStrategy = Callable[[Briefing], Strategy]


def crawl(strategy: Strategy, visits: Visits, seeds: Sequence[int], pages: int) -> tuple[int, ...]:
    """Return the pages that a strategy fetches, in order: ``pages`` of them, or all that it finds."""
    strategy.begin(seeds)
    order: list[int] = []
    while len(order) < pages and (chosen := strategy.following()):
        for number in chosen[: pages - len(order)]:
            order.append(number)
            strategy.fetched(visits.visit(number))
    return tuple(order)


class SeedsFirst(ABC):
    """Base of strategies that remember the pages they have met, and fetch the seeds before all others."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._seeds: Sequence[int] = ()

    def begin(self, seeds: Sequence[int]) -> None:
        """Store the seeds."""
        self._seeds = seeds
        self._known.update(seeds)

    def following(self) -> Sequence[int]:
        """Return all seeds, then one page at a time."""
        seeds, self._seeds = self._seeds, ()
        return seeds or self._next()

    @abstractmethod
    def _next(self) -> Sequence[int]:
        """Return one more page; none if none is queued."""


class RandomOrder(SeedsFirst):
    """Fetches the seeds, then any known page that was not fetched yet, each with the same probability."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random
        self._waiting: list[int] = []

    def _next(self) -> Sequence[int]:
        if not self._waiting:
            return ()
        position = self._random.randrange(len(self._waiting))
        self._waiting[position], self._waiting[-1] = self._waiting[-1], self._waiting[position]
        return (self._waiting.pop(),)

    def fetched(self, visit: Visit) -> None:
        """Add the new links."""
        for target in visit.targets:
            if target not in self._known:
                self._known.add(target)
                self._waiting.append(target)

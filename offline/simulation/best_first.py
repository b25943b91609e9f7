"""Crawls that the frontier orders: links get a score when they are found, and a new one when they are found again."""

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Protocol

from aahcrawler.frontier.memory.frontier import MemoryFrontier
from aahcrawler.frontier.memory.queue_slots import QueueSlots
from aahcrawler.frontier.protocol import FrontierSettings, Lease, Offer, Rescore, State
from offline.simulation.crawl_strategy import Briefing
from offline.simulation.visits import Visit
from offline.simulation.world import World

SEED_SCORE = 1.0
"""The score of seeds in a real crawl."""


class Scoring(Protocol):
    """Gives the links of a fetched page their scores."""

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return a score for each link of the page, in their order."""
        ...


class AnalyserScoring:
    """The scores of the crawler's analysers."""

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return the analysers' scores."""
        return visit.scores


class MeanCosineScoring:
    """The mean of the similarities of page and anchor to the topic (ARCOMEM, section 5.1)."""

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return a score in [0, 1] for each link."""
        return [(visit.cosine + anchor) / 2 for anchor in visit.anchor_cosines]


class EqualScoring:
    """Scores all links the same, so that URLs are fetched in the order of discovery."""

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return as many equal scores as there are links; seeds are not overtaken."""
        return repeat(0.5, len(visit.targets))


class KnownScoring:
    """Scores links by the judge's score of the page behind them, which no crawler can know before the fetch."""

    def __init__(self, relevance: Sequence[float]) -> None:
        self._relevance = relevance

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return the relevance of each target."""
        return [self._relevance[target] for target in visit.targets]


class FrontierQueue:
    """A frontier with one worker, who fetches everything that it leases before it leases again."""

    def __init__(self, world: World, settings: FrontierSettings) -> None:
        self._world = world
        self._balance = settings.balance
        self._frontier = MemoryFrontier(QueueSlots(lambda: 0.0), "simulation", settings)
        self._leases: dict[int, Lease] = {}

    def offer(self, targets: Iterable[int], scores: Iterable[float], depth: int = 0) -> None:
        """Queue pages, or re-score those that are queued."""
        self._frontier.offer(self._offers(targets, scores, depth))

    def lease(self, most: int | None = None) -> Sequence[int]:
        """Return the best pages: at most ``balance`` of the best queue, filled up from the queues after it."""
        numbers = []
        for lease in self._frontier.lease("simulation", self._balance if most is None else most):
            number = self._world.number(lease.url)
            assert number is not None  # noqa: S101 - only pages of the world are offered
            self._leases[number] = lease
            numbers.append(number)
        return numbers

    def are_scored(self, numbers: Iterable[int]) -> bool:
        """Return whether all of some leased pages have a score."""
        return all(self._leases[number].is_scored for number in numbers)

    def give_back_unscored(self, numbers: Iterable[int]) -> Sequence[int]:
        """Put those of some leased pages back that have no score; return the others."""
        leases = {number: self._leases[number] for number in numbers}
        unscored = [number for number, lease in leases.items() if not lease.is_scored]
        self._frontier.release([self._leases.pop(number) for number in unscored])
        return [number for number in leases if number not in unscored]

    def depth(self, number: int) -> int:
        """Return the number of links between a leased page and a seed."""
        return self._leases[number].depth

    def rescore(self, targets: Iterable[int], scores: Iterable[float]) -> None:
        """Set the scores of pages that are queued."""
        urls = self._world.urls
        self._frontier.rescore([Rescore(urls[n], score) for n, score in zip(targets, scores, strict=True)])

    def finish(self, number: int, targets: Iterable[int] = (), scores: Iterable[float] = ()) -> Sequence[Offer]:
        """End a lease and offer the page's links; return them as they were offered."""
        lease = self._leases.pop(number)
        links = self._offers(targets, scores, lease.depth + 1)
        self._frontier.finish(lease, State.DONE, links=links)
        return links

    def queued(self) -> Sequence[int]:
        """Return the pages that wait, the best first."""
        waiting = self._frontier.iterate(len(self._world))
        return [number for each in waiting if (number := self._world.number(each.url)) is not None]

    def offer_all(self, offers: Sequence[Offer]) -> None:
        """Offer links again."""
        self._frontier.offer(offers)

    def _offers(self, targets: Iterable[int], scores: Iterable[float], depth: int) -> list[Offer]:
        urls, queues = self._world.urls, self._world.queues
        return [Offer(urls[n], queues[n], score, depth) for n, score in zip(targets, scores, strict=True)]


class BestFirst:
    """Always fetches the page with the highest score; which that is, the settings' update function says."""

    def __init__(self, briefing: Briefing, scoring: Scoring, settings: FrontierSettings) -> None:
        self._scoring = scoring
        self._queue = FrontierQueue(briefing.world, settings)

    def begin(self, seeds: Sequence[int]) -> None:
        """Queue the seeds."""
        self._queue.offer(seeds, repeat(SEED_SCORE, len(seeds)))

    def following(self) -> Sequence[int]:
        """Lease the best."""
        return self._queue.lease()

    def fetched(self, visit: Visit) -> None:
        """Offer the links of a page."""
        self._queue.finish(visit.number, visit.targets, self._scoring.scores(visit))

    def queued(self) -> Sequence[int]:
        """Return the pages that wait, the best first."""
        return self._queue.queued()

"""Simulated crawls ordered by the frontier: links get a score when found, and another one when found again."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import repeat
from typing import Protocol

from aahcrawler.frontier.memory.frontier import MemoryFrontier, QueueSlots
from aahcrawler.frontier.protocol import UNSCORED, FrontierSettings, Lease, Offer, Rescore, State
from aahcrawler.helper import Assistance
from aahcrawler.pipeline.analysis import AT_ONCE, OpenBatch, ScoredPage, contribution_of, finish, rank
from offline.simulation.crawl_strategy import Briefing
from offline.simulation.visits import Direction, Visit
from offline.simulation.world import World
from online_analysis.aggregation import BudgetLeft, LinkRanker, ScoredLink
from online_analysis.document import Document, Outlink

SEED_SCORE = 1.0
"""The score of seeds in a real crawl."""


class Scoring(Protocol):
    """Scores the links of a fetched page."""

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return a score for each link of the page, in order."""
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
        """Return equal scores, one per link and lower than those of seeds."""
        return repeat(0.5, len(visit.targets))


class KnownScoring:
    """Scores links by the judge's score of their target, which no crawler can know before the fetch."""

    def __init__(self, relevance: Sequence[float]) -> None:
        self._relevance = relevance

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return the relevance of each target."""
        return [self._relevance[target] for target in visit.targets]


class FrontierQueue:
    """A frontier with one worker, which fetches everything that it leases before it leases again."""

    def __init__(self, world: World, settings: FrontierSettings) -> None:
        self._world = world
        self._balance = settings.balance
        self._frontier = MemoryFrontier(QueueSlots(lambda: 0.0), "simulation", settings)
        self._leases: dict[int, Lease] = {}

    def offer(self, targets: Iterable[int], scores: Iterable[float], depth: int = 0) -> None:
        """Queue pages, or re-score those that are queued."""
        self._frontier.offer(self._offers(targets, scores, depth))

    def lease(self, most: int | None = None) -> Sequence[int]:
        """Return the best pages: at most ``balance`` of the best queue, then of the following queues."""
        numbers = []
        for lease in self._frontier.lease("simulation", self._balance if most is None else most):
            number = self._world.number(lease.url)
            assert number is not None  # noqa: S101 - only pages of the world are offered
            self._leases[number] = lease
            numbers.append(number)
        return numbers

    def are_scored(self, numbers: Iterable[int]) -> bool:
        """Return whether all of the leased pages ``numbers`` have a score."""
        return all(self._leases[number].is_scored for number in numbers)

    def give_back_unscored(self, numbers: Iterable[int]) -> Sequence[int]:
        """Put those of the leased pages ``numbers`` back that have no score; return the others."""
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
        """End a lease and offer the page's links; return the offers."""
        lease = self._leases.pop(number)
        links = self._offers(targets, scores, lease.depth + 1)
        self._frontier.finish(lease, State.DONE, links=links)
        return links

    def queued(self) -> Sequence[int]:
        """Return the queued pages, the best first."""
        waiting = self._frontier.iterate(len(self._world))
        return [number for each in waiting if (number := self._world.number(each.url)) is not None]

    def offer_all(self, offers: Sequence[Offer]) -> None:
        """Offer links again."""
        self._frontier.offer(offers)

    def _offers(self, targets: Iterable[int], scores: Iterable[float], depth: int) -> list[Offer]:
        urls, queues = self._world.urls, self._world.queues
        return [Offer(urls[n], queues[n], score, depth) for n, score in zip(targets, scores, strict=True)]


class BestFirst:
    """Always fetches the page with the highest score, according to the settings' update function."""

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
        """Return the queued pages, the best first."""
        return self._queue.queued()


BATCH = 20
"""Pages in a batch, as many as a sample has seeds; the paper does not give a number."""


class BatchBestFirst:
    """Best-first by the frontier's order, to which links are added a batch at a time."""

    def __init__(self, briefing: Briefing, settings: FrontierSettings, size: int = BATCH) -> None:
        self._world = briefing.world
        self._topic = briefing.visits.topic
        self._queue = FrontierQueue(briefing.world, settings)
        self._size = size
        self._batch: list[Visit] = []

    def begin(self, seeds: Sequence[int]) -> None:
        """Queue the seeds."""
        self._queue.offer(seeds, repeat(SEED_SCORE, len(seeds)))

    def following(self) -> Sequence[int]:
        """Lease the best; if nothing is queued, the batch ends early."""
        if len(self._batch) >= self._size:
            self._schedule()
        chosen = self._queue.lease()
        if not chosen and self._batch:
            self._schedule()
            chosen = self._queue.lease()
        return chosen

    def fetched(self, visit: Visit) -> None:
        """Store the links of a page until the batch ends."""
        self._queue.finish(visit.number)
        self._batch.append(visit)

    def _schedule(self) -> None:
        scores = batch_scores(self._batch, self._topic, self._world)
        self._queue.offer(scores.keys(), scores.values())
        self._batch = []


def batch_scores(batch: Sequence[Visit], topic: Direction, world: World) -> Mapping[int, float]:
    """Return a score in [0, 1] for each target of a batch, in the order of discovery."""
    pages = [world.understood(visit.number) for visit in batch]
    products = _Products([page.terms for page in pages], topic)
    sources: dict[int, list[int]] = {}
    anchors: dict[int, Counter[str]] = {}
    for position, (visit, page) in enumerate(zip(batch, pages, strict=True)):
        for target, link in zip(visit.targets, visit.links, strict=True):
            found = sources.setdefault(target, [])
            if not found or found[-1] != position:
                found.append(position)
            anchors.setdefault(target, Counter()).update(page.anchors[link])
    return {
        target: (products.cosine_of_sum(found) + topic.cosine(anchors[target])) / 2 for target, found in sources.items()
    }


class _Products:
    """Dot products of the pages of a batch with the topic and with one another, which give the cosine of any sum."""

    def __init__(self, vectors: Sequence[Mapping[str, int]], topic: Direction) -> None:
        self._length = topic.length
        self._with_topic = [topic.dot(vector) for vector in vectors]
        self._mutual = [[0] * len(vectors) for _ in vectors]
        for i, vector in enumerate(vectors):
            direction = Direction(vector)
            for j in range(i + 1):
                self._mutual[i][j] = self._mutual[j][i] = direction.dot(vectors[j])

    def cosine_of_sum(self, positions: Sequence[int]) -> float:
        dot = sum(self._with_topic[i] for i in positions)
        squared = sum(self._mutual[i][j] for i in positions for j in positions)
        lengths = self._length * math.sqrt(squared)
        return dot / lengths if lengths else 0.0


class BatchedCrawl:
    """Best-first by the frontier's order; links are queued without a score until their batch ends.

    The ranker is optional.
    """

    def __init__(
        self, briefing: Briefing, settings: FrontierSettings, pages: int, ranker: LinkRanker | None = None
    ) -> None:
        self._briefing = briefing
        self._world = briefing.world
        self._balance = settings.balance
        self._scoring = briefing.scoring.model_copy(update={"batch": pages})
        self._batch = self._new_batch()
        self._queue = FrontierQueue(briefing.world, settings)
        self._ranking = None if ranker is None else Ranking(briefing, ranker)

    def begin(self, seeds: Sequence[int]) -> None:
        """Queue the seeds."""
        self._queue.offer(seeds, repeat(SEED_SCORE, len(seeds)))

    def following(self) -> Sequence[int]:
        """Lease the best; a batch ends early if no scored URL is better than an unscored one."""
        chosen = self._queue.lease()
        if not len(self._batch) or self._queue.are_scored(chosen):
            return chosen
        scored = self._queue.give_back_unscored(chosen)
        self._end()
        return [*scored, *self._queue.lease(self._balance - len(scored))]

    def fetched(self, visit: Visit) -> None:
        """Offer the links of a page, and store its contribution until the batch ends."""
        page = replace(
            scored_page(visit, self._world),
            scores=self._briefing.analysis.analysed(self._world.understood(visit.number)),
        )
        if self._ranking is not None:
            page = self._ranking.learned(page, self._queue.depth(visit.number))
        unscored = repeat(UNSCORED, len(visit.targets))
        links = self._queue.finish(visit.number, visit.targets, unscored)
        # The analysers have just counted the document, with its own URLs: its texts are the same.
        counted = self._world.understood(visit.number).document
        self._batch.add(contribution_of(page, self._briefing.analysis.topic, counted), links)
        if self._batch.is_full:
            self._end()
        if self._ranking is not None:
            self._ranking.rescore(self._queue)

    def queued(self) -> Sequence[int]:
        """Return the queued pages, the best first."""
        return self._queue.queued()

    def _end(self) -> None:
        self._queue.offer_all(self._batch.end().offers)
        self._batch = self._new_batch()

    def _new_batch(self) -> OpenBatch:
        return OpenBatch(self._briefing.analysis.topic, self._scoring)


class RankedCrawl:
    """Fetches best-first in the frontier's order, with the ranker's part in the scores.

    The analysers score pages once for all strategies; from there on the pipeline of a real crawl is used.
    """

    def __init__(self, briefing: Briefing, ranker: LinkRanker) -> None:
        self._world = briefing.world
        self._ranking = Ranking(briefing, ranker)
        self._queue = FrontierQueue(briefing.world, briefing.settings)

    def begin(self, seeds: Sequence[int]) -> None:
        """Queue the seeds."""
        self._queue.offer(seeds, repeat(SEED_SCORE, len(seeds)))

    def following(self) -> Sequence[int]:
        """Lease the best."""
        return self._queue.lease()

    def fetched(self, visit: Visit) -> None:
        """Learn from a page, offer its links, and re-score queued pages whose predicted worth has changed."""
        found = self._ranking.learned(scored_page(visit, self._world), self._queue.depth(visit.number))
        self._queue.finish(visit.number, visit.targets, [found.links[position].score for position in visit.links])
        self._ranking.rescore(self._queue)

    def queued(self) -> Sequence[int]:
        """Return the queued pages, the best first."""
        return self._queue.queued()


class Ranking:
    """Trains and queries a ranker as a real crawl does; links that leave the world count as out of scope."""

    def __init__(self, briefing: Briefing, ranker: LinkRanker) -> None:
        self._world = briefing.world
        self._weights = briefing.scoring.weights
        self._ranker = ranker
        self._pages = briefing.pages
        self._fetched = 0

    def learned(self, page: ScoredPage, depth: int) -> ScoredPage:
        """Learn from a page, and return it with the ranker's part in the scores of its links."""
        self._fetched += 1
        left = BudgetLeft(max(0.0, 1.0 - self._fetched / self._pages))
        found = rank(page, self._weights, self._ranker, depth, left)
        beyond = (link.url for link in found.links if self._world.number(link.url) is None)
        finish(self._ranker, page.assistance.document.url, beyond)
        return found

    def rescore(self, queue: FrontierQueue) -> None:
        """Set the scores of queued pages whose predicted worth has changed."""
        revised = [(self._world.number(each.url), each.score) for each in self._ranker.revised(AT_ONCE)]
        known = [(number, score) for number, score in revised if number is not None]
        queue.rescore([number for number, _ in known], [score for _, score in known])


def scored_page(visit: Visit, world: World) -> ScoredPage:
    """Return a visited page with the analysers' scores, before any ranker's part.

    Links have the URLs of the world's pages, because different URLs may lead to one page.
    """
    document = _addressed(world.understood(visit.number).document, visit, world)
    judged = visit.judged
    links = tuple(
        ScoredLink(link.url, score, link.anchor, link.action, weight)
        for link, score, weight in zip(document.outlinks, judged.links, judged.weights, strict=True)
    )
    return ScoredPage(Assistance(None, document), judged.score, links)


def _addressed(document: Document, visit: Visit, world: World) -> Document:
    urls = world.urls
    outlinks: list[Outlink] = list(document.outlinks)
    for position, target in zip(visit.links, visit.targets, strict=True):
        if outlinks[position].url != urls[target]:
            outlinks[position] = replace(outlinks[position], url=urls[target])
    return replace(document, url=urls[visit.number], outlinks=tuple(outlinks))


FADING = 0.5
"""delta: the share of its parent's relevance that a child inherits."""
ANCHOR = 0.8
"""beta: the weight of the anchor in a link's neighbourhood score; the rest is that of the surrounding text."""
INHERITED = 0.5
"""gamma: the weight of the inherited score in a link's score; the rest is that of its neighbourhood."""


class SharkScoring:
    """Scores links by the worth of their page, or the inherited worth if it has none, and by the words around them."""

    def __init__(self) -> None:
        self._inherited: dict[int, float] = {}

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return the potential score of each link, in [0, 1]; each target inherits the best score passed on to it."""
        left = FADING * (visit.cosine if visit.cosine > 0 else self._inherited.get(visit.number, 0.0))
        for target in visit.targets:
            self._inherited[target] = max(left, self._inherited.get(target, 0.0))
        return [
            INHERITED * left + (1 - INHERITED) * self._neighbourhood(anchor, context)
            for anchor, context in zip(visit.anchor_cosines, visit.context_cosines, strict=True)
        ]

    def _neighbourhood(self, anchor: float, context: float) -> float:
        return ANCHOR * anchor + (1 - ANCHOR) * (1.0 if anchor > 0 else context)

"""Batch prioritisation (ARCOMEM, section 5.1): links are scored when a batch of pages has been fetched.

A URL's score is the mean of two similarities to the topic: that of the sum of the vectors of all pages of the batch
that link to it, and that of the sum of the vectors of all anchors of these links. URLs that the frontier knows already
are re-scored by the update function.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import repeat

from aahcrawler.frontier.protocol import FrontierSettings
from offline.simulation.best_first import SEED_SCORE, FrontierQueue
from offline.simulation.crawl_strategy import Briefing
from offline.simulation.page_data import Understood
from offline.simulation.visits import Direction, Visit
from offline.simulation.world import World

BATCH = 20
"""Pages in a batch, as many as a sample has seeds; the paper does not say how many it takes."""


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
        """Lease the best; a batch ends before its time when nothing is queued."""
        if len(self._batch) >= self._size:
            self._schedule()
        chosen = self._queue.lease()
        if not chosen and self._batch:
            self._schedule()
            chosen = self._queue.lease()
        return chosen

    def fetched(self, visit: Visit) -> None:
        """Keep the links of a page for when the batch ends."""
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
        for target, terms in _anchors(visit, page):
            found = sources.setdefault(target, [])
            if not found or found[-1] != position:
                found.append(position)
            anchors.setdefault(target, Counter()).update(terms)
    return {
        target: (products.cosine_of_sum(found) + topic.cosine(anchors[target])) / 2 for target, found in sources.items()
    }


def _anchors(visit: Visit, page: Understood) -> Sequence[tuple[int, Sequence[str]]]:
    return [(target, page.anchors[link]) for target, link in zip(visit.targets, visit.links, strict=True)]


class _Products:
    """Dot products of the pages of a batch with the topic and with one another: enough for the cosine of any sum."""

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

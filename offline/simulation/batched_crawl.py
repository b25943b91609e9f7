"""The crawl with ``scoring.batch``: the pipeline of a real crawl, with pages of a world."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

from aahcrawler.frontier.protocol import UNSCORED, FrontierSettings
from aahcrawler.pipeline.batch import OpenBatch, contribution_of
from offline.simulation.best_first import SEED_SCORE, FrontierQueue
from offline.simulation.crawl_strategy import Briefing
from offline.simulation.ranked_crawl import Ranking, scored_page
from offline.simulation.visits import Visit
from online_analysis.aggregation import LinkRanker


class BatchedCrawl:
    """Best-first by the frontier's order, with links that wait unscored for their batch; with a ranker or without."""

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
        """Lease the best; a batch ends early when no scored URL is better than an unscored one."""
        chosen = self._queue.lease()
        if not len(self._batch) or self._queue.are_scored(chosen):
            return chosen
        scored = self._queue.give_back_unscored(chosen)
        self._end()
        return [*scored, *self._queue.lease(self._balance - len(scored))]

    def fetched(self, visit: Visit) -> None:
        """Offer the links of a page, and keep its contribution until the batch ends."""
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
        """Return the pages that wait, the best first."""
        return self._queue.queued()

    def _end(self) -> None:
        self._queue.offer_all(self._batch.end().offers)
        self._batch = self._new_batch()

    def _new_batch(self) -> OpenBatch:
        return OpenBatch(self._briefing.analysis.topic, self._scoring)

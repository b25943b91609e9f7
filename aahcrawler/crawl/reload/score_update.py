"""Score queued URLs by other weights, from the components of each score in the score log."""

import asyncio
import logging
from collections.abc import Mapping
from itertools import islice

from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.frontier.protocol import Rescore, State
from aahcrawler.scores import Share, weighed
from aahcrawler.segments import DamageError
from online_analysis.aggregation import Revision, Weighed

logger = logging.getLogger(__name__)

MOST_IN_MEMORY = 200_000
"""URLs that are re-scored with one reading of the score log: some 100 MB."""
AT_ONCE = 200
"""How many URLs are re-scored in one call of the frontier."""


class ScoreUpdate:
    """Brings a frontier, and the ranker, into line with a crawl's weights.

    Every queued URL gets the score that it would have, had the weights been what they are from the beginning; what the
    ranker has said stays. What was posted from outside is left alone. It may be done again without harm.
    """

    def __init__(self, context: CurrentContext, writer: StoreWriter) -> None:
        self._context = context
        self._writer = writer

    async def run(self) -> None:
        """Score everything again that the score log has the parts of."""
        queued = (await self._writer.call(self._writer.stores.frontier.counts)).pages.get(State.QUEUED, 0)
        shares = 1 + queued // MOST_IN_MEMORY
        changed = 0
        try:
            for number in range(shares):
                changed += await self._score(await self._weighed(Share(number, shares)))
        except DamageError as error:
            logger.error("%s; what waits is scored by the former weights", error)
        logger.info("by the changed weights %d of the pages that wait have been scored", changed)

    async def _weighed(self, share: Share) -> Mapping[str, Weighed]:
        folder, weights = self._writer.stores.folder, self._context.now.icd.scoring.weights
        return await asyncio.to_thread(weighed, folder.scores, folder.run.number, weights, share)

    async def _score(self, waiting: Mapping[str, Weighed]) -> int:
        context, frontier = self._context.now, self._writer.stores.frontier
        changed, left = 0, iter(waiting.items())
        while part := list(islice(left, AT_ONCE)):
            rescores = [Rescore(url, now.score) for url, now in part]
            answers = await self._writer.call(frontier.rescore, rescores)
            taken = [Revision(each.url, each.score) for each, was in zip(rescores, answers, strict=True) if was]
            await self._log(taken)
            changed += len(taken)
        if (ranker := context.ranker) is not None:
            ranker.reweigh(context.icd.scoring.weights[ranker.name], waiting)
        return changed

    async def _log(self, taken: list[Revision]) -> None:
        if taken:
            await self._writer.write(self._writer.stores.scores.rescored, taken, "weights")

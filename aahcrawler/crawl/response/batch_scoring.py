"""Batch prioritisation in a crawl (ARCOMEM, section 5.1).

Links of a page are queued when the page is finished, as ever, but unscored, so that they wait behind all others:
nothing is lost with a batch whose worker was killed. A batch ends after ``scoring.batch`` pages, or sooner when nothing
that is scored is ready. Its URLs are then offered again, with their scores.
"""

import logging
from collections.abc import Sequence

from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.peers.peer_export import PeerExport
from aahcrawler.frontier.protocol import Offer, Offered
from aahcrawler.pipeline.analysis import PageAnalysis
from aahcrawler.pipeline.batch import EndedBatch, OpenBatch, unscored
from aahcrawler.pipeline.links import DiscoveredLinks

logger = logging.getLogger(__name__)


class BatchScoring:
    """Gathers pages into batches and scores their links together; without batches in the definition it does nothing."""

    def __init__(self, context: CurrentContext, writer: StoreWriter, peer_export: PeerExport | None) -> None:
        self._context = context
        self._writer = writer
        self._peer_export = peer_export
        self._batch: OpenBatch | None = None

    def __len__(self) -> int:
        return 0 if self._batch is None else len(self._batch)

    def offers(self, found: PageAnalysis | None, discovered: DiscoveredLinks) -> Sequence[Offer]:
        """Return what a page leads to as it is to be offered: its links unscored where they are for a batch."""
        if found is None or found.contribution is None:
            return discovered.offers
        return unscored(discovered.offers)

    async def add(self, found: PageAnalysis | None, discovered: DiscoveredLinks) -> None:
        """Take in a page whose links have been offered."""
        context = self._context.now
        if found is None or found.contribution is None or context.topic is None:
            return
        if self._batch is None:
            self._batch = OpenBatch(context.topic, context.icd.scoring)
        self._batch.add(found.contribution, discovered.offers)
        if self._batch.is_full:
            await self.end()

    async def end(self) -> None:
        """Score what the batch links to, and begin the next one. Nothing happens where there is none."""
        batch, self._batch = self._batch, None
        if batch is None:
            return
        try:
            ended = batch.end()
        except Exception:  # Whatever pages may provoke, the crawl goes on.
            logger.exception("the links of %d pages stay unscored", len(batch))
            return
        answers = await self._writer.call(self._writer.stores.frontier.offer, ended.offers)
        await self._keep(ended, answers)
        await self._writer.count({"batches": 1})

    async def _keep(self, ended: EndedBatch, answers: Sequence[Offered]) -> None:
        waiting = zip(ended.scores.items(), answers, strict=True)
        taken = {url: scored for (url, scored), answer in waiting if answer is not Offered.KNOWN}
        if taken:
            await self._writer.write(self._writer.stores.scores.batched, ended.pages, taken)
        if self._peer_export is not None:
            self._peer_export.scored((url, scored.score) for url, scored in taken.items())

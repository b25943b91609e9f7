"""The crawl's link ranker: what it is told, what it says of queued URLs, and the log of both (ARCOMEM, section 4.2).

The ranker learns in the order in which its lessons are logged, so that a crawl that goes on can teach it the same:
between a lesson and its entry nothing else is understood, unless the disk is full.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.health.outages import is_local
from aahcrawler.crawl.peers import PeerExport
from aahcrawler.frontier.protocol import Lease, Offer, Offered, Rescore, State
from aahcrawler.pipeline.analysis import AT_ONCE, EndedBatch, OpenBatch, PageAnalysis, finish, unscored
from aahcrawler.pipeline.links import DiscoveredLinks
from aahcrawler.scores import Findings, Leads, never_wanted

logger = logging.getLogger(__name__)

PAUSE = 0.2
"""Seconds between two of those: re-scoring takes at most some percent of a core, however fast pages come."""


class LinkRanking:
    """Teaches and asks the ranker of a crawl, and keeps its score log; without a ranker it only keeps the log."""

    def __init__(
        self,
        context: CurrentContext,
        writer: StoreWriter,
        peer_export: PeerExport | None,
        fail: Callable[[Exception], None],
    ) -> None:
        self._context = context
        self._writer = writer
        self._peer_export = peer_export
        self._fail = fail
        self._frontier = writer.stores.frontier
        self._log = writer.stores.scores
        self._learned = asyncio.Event()

    async def answered(
        self, lease: Lease, status: int, found: PageAnalysis | None, discovered: DiscoveredLinks
    ) -> None:
        """Log a page, the status that it was answered with, and where it leads, right after it was understood."""
        ranker = self._context.now.ranker
        if ranker is not None:
            finish(ranker, lease.url, (discovered.pages[each].url for each in never_wanted(discovered.refused)))
            self._learned.set()
        await self._writer.write(self._log.judged, findings(lease, status, found, discovered))

    async def ended(self, lease: Lease, state: State, reason: str) -> None:
        """Take note that a page will not be fetched."""
        if not lease.is_page:
            return
        ranker = self._context.now.ranker
        if ranker is not None:
            finish(ranker, lease.url)
        await self._writer.write(self._log.ended, lease.url, state, reason)

    async def run(self) -> None:
        """Re-score beside the crawl what the ranker has changed its mind about, until cancelled."""
        try:
            while True:
                await self._learned.wait()
                self._learned.clear()
                if await self._revise() == AT_ONCE:
                    self._learned.set()
                await asyncio.sleep(PAUSE)
        except Exception as error:
            if is_local(error):
                self._fail(error)
            else:
                logger.exception("nothing is re-scored any more in this crawl, which goes on")

    async def _revise(self) -> int:
        """Set the scores that have changed; return how many the ranker gave."""
        ranker = self._context.now.ranker
        if ranker is None:
            return 0
        revisions = ranker.revised(AT_ONCE)
        await self._writer.write(self._log.asked, AT_ONCE)
        if not revisions:
            return 0
        answers = await self._writer.call(self._frontier.rescore, [Rescore(each.url, each.score) for each in revisions])
        taken = [revision for revision, was_set in zip(revisions, answers, strict=True) if was_set]
        await self._writer.write(self._log.rescored, taken)
        if self._peer_export is not None:
            self._peer_export.scored((each.url, each.score) for each in taken)
        if taken:
            await self._writer.count({"rescored": len(taken)})
        return len(revisions)


def findings(lease: Lease, status: int, found: PageAnalysis | None, discovered: DiscoveredLinks) -> Findings:
    """Return what the log keeps of an answered page."""
    found_urls, scores = [to.url for to in discovered.pages], [to.score or 0.0 for to in discovered.pages]
    unscored = found is not None and found.contribution is not None
    leads = Leads(found_urls, scores, discovered.refused, discovered.redirect, unscored)
    if found is None:
        return Findings(lease.url, lease.depth, lease.score, leads=leads, status=status)
    return Findings(
        lease.url, lease.depth, lease.score, found.metadata.score, found.scores, leads, found.lesson, status
    )


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

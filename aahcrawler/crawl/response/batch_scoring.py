"""Batch prioritisation in a crawl (ARCOMEM, section 5.1).

Links of a page are queued when the page is finished, as ever, but unscored, so that they wait behind all others:
nothing is lost with a batch whose worker was killed. A batch ends after ``scoring.batch`` pages, or sooner when nothing
that is scored is ready. Its URLs are then offered again, with their scores.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from aahcrawler.crawl.capture.page_analysis import PageAnalysis
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.core.stores import StoreWriter
from aahcrawler.crawl.peers.peer_export import PeerExport
from aahcrawler.crawl.response.discovered_links import DiscoveredLinks
from aahcrawler.frontier.protocol import UNSCORED, Offer, Offered
from online_analysis.batching import Batch, BatchScore

logger = logging.getLogger(__name__)


class BatchScoring:
    """The batch that a crawl's pages go into at present. Where the definition asks for none, it stays empty."""

    def __init__(self, context: CurrentContext, writer: StoreWriter, peer_export: PeerExport | None) -> None:
        self._context = context
        self._writer = writer
        self._peer_export = peer_export
        self._batch: Batch | None = None
        self._offers: dict[str, Offer] = {}

    def __len__(self) -> int:
        return 0 if self._batch is None else len(self._batch)

    def offers(self, found: PageAnalysis | None, discovered: DiscoveredLinks) -> Sequence[Offer]:
        """Return what a page leads to as it is to be offered: its links unscored where they are for a batch."""
        if found is None or found.contribution is None:
            return discovered.offers
        return [replace(offer, score=UNSCORED) if offer.kind == "page" else offer for offer in discovered.offers]

    async def add(self, found: PageAnalysis | None, discovered: DiscoveredLinks) -> None:
        """Take in a page whose links have been offered."""
        topic = self._context.now.topic
        if found is None or found.contribution is None or topic is None:
            return
        offers = {offer.url: offer for offer in discovered.offers if offer.kind == "page"}
        if self._batch is None:
            scoring = self._context.now.icd.scoring
            self._batch = Batch(topic, scoring.weights, scoring.batch)
        self._batch.add(found.contribution, offers)
        for url, offer in offers.items():
            known = self._offers.setdefault(url, offer)
            if offer.depth < known.depth:
                self._offers[url] = offer
        if self._batch.is_full:
            await self.end()

    async def end(self) -> None:
        """Score what the batch links to, and begin the next one. Nothing happens where there is none."""
        batch, offers = self._batch, self._offers
        if batch is None:
            return
        self._batch, self._offers = None, {}
        try:
            scores = batch.scores()
        except Exception:  # Whatever pages may provoke, the crawl goes on.
            logger.exception("the links of %d pages stay unscored", len(batch))
            return
        scored = [replace(offers[url], score=said.score) for url, said in scores.items()]
        answers = await self._writer.call(self._writer.stores.frontier.offer, scored)
        await self._keep(len(batch), scores, answers)
        await self._writer.count({"batches": 1})

    async def _keep(self, pages: int, scores: Mapping[str, BatchScore], answers: Sequence[Offered]) -> None:
        waiting = zip(scores.items(), answers, strict=True)
        taken = {url: said for (url, said), answer in waiting if answer is not Offered.KNOWN}
        if taken:
            await self._writer.write(self._writer.stores.scores.batched, pages, taken)
        if self._peer_export is not None:
            self._peer_export.scored((url, said.score) for url, said in taken.items())

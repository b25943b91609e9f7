"""Documents such as PDF in a crawl: read beside the event loop, before a page is understood."""

import asyncio
import logging
from dataclasses import replace

from aahcrawler.crawl.capture.recrawl import RecrawlComparison
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.frontier.protocol import Lease

logger = logging.getLogger(__name__)


class Transcripts:
    """Has documents read, as far as the definition wants it."""

    def __init__(self, context: CurrentContext) -> None:
        self._context = context
        self._reader = DocumentReader()

    async def read(self, lease: Lease, comparison: RecrawlComparison, stats: Stats) -> RecrawlComparison:
        """Return a visit whose page has its transcript, where it is a document that is to be understood."""
        page = comparison.page
        is_wanted = lease.kind == "page" and not comparison.remembered and self._context.now.icd.sources.documents
        if not is_wanted or not 200 <= page.status < 300 or not is_document(page):
            return comparison
        transcript = await asyncio.to_thread(self._reader.read, page.body)
        if transcript.encrypted:
            logger.warning("%s: encrypted, so that its text is not read", page.url)
        elif not transcript.complete:
            logger.warning("%s: not read to its end", page.url)
        cut = {"documents_cut": int(not transcript.complete), "documents_encrypted": int(transcript.encrypted)}
        stats.merge({"documents": 1, **cut})
        return replace(comparison, page=replace(page, transcript=transcript))

    async def close(self) -> None:
        """End the process that reads."""
        await asyncio.to_thread(self._reader.close)

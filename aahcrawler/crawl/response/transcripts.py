"""Documents such as PDF in a crawl: read beside the event loop, before a page is understood."""

import asyncio
from dataclasses import replace

from aahcrawler.crawl.capture.recrawl import RecrawlComparison
from aahcrawler.crawl.core.context import CurrentContext
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.documents import PDF, DocumentReader
from aahcrawler.frontier.protocol import Lease


class Transcripts:
    """Has documents read, as far as the definition wants it."""

    def __init__(self, context: CurrentContext) -> None:
        self._context = context
        self._reader = DocumentReader()

    async def read(self, lease: Lease, comparison: RecrawlComparison, stats: Stats) -> RecrawlComparison:
        """Return a visit whose page has its transcript, where it is a document that is to be understood."""
        page = comparison.page
        is_wanted = lease.kind == "page" and not comparison.remembered and self._context.now.icd.sources.documents
        if not is_wanted or page.media_type != PDF or not 200 <= page.status < 300:
            return comparison
        transcript = await asyncio.to_thread(self._reader.read, page.body)
        stats.merge({"documents": 1, "documents_cut": int(not transcript.complete)})
        return replace(comparison, page=replace(page, transcript=transcript))

    async def close(self) -> None:
        """End the process that reads."""
        await asyncio.to_thread(self._reader.close)

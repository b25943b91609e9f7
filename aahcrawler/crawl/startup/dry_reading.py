"""Reads pages as a crawl would before there is one: nothing of it is kept."""

import asyncio
from dataclasses import replace

from aahcrawler.crawl.core.context import CrawlContext
from aahcrawler.crawl.core.page_reading import PageReading
from aahcrawler.crawl.response.page_analyser import embedded_links, scored_page
from aahcrawler.documents import DocumentReader, is_document
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Page
from aahcrawler.pipeline import analysis
from aahcrawler.pipeline.analysis import Beside, PageAnalysis


class DryReading:
    """Reads pages by the context that a crawl would begin with."""

    def __init__(self, context: CrawlContext) -> None:
        self._context = context
        self._documents = DocumentReader()
        self.pages = PageReading(asyncio.Event())

    def close(self) -> None:
        """End what reads documents."""
        self._documents.close()

    async def analysed(self, lease: Lease, page: Page) -> PageAnalysis:
        """Return what is understood of an answer; whatever a page may provoke, it is told and others are read."""
        if 300 <= page.status < 400 and not page.is_content:
            return PageAnalysis(analysis.of_redirect(lease, page))
        try:
            if self._context.icd.sources.documents and page.status < 300 and is_document(page):
                transcript = await asyncio.to_thread(self._documents.read, page)
                page = replace(page, transcript=transcript)
            return await self._understood(lease, page)
        except Exception as error:  # Of any kind: pages are hostile.
            return PageAnalysis(analysis.not_understood(lease, page, error), error=type(error).__name__)

    async def _understood(self, lease: Lease, page: Page) -> PageAnalysis:
        scored = await scored_page(page, self.pages, self._context)
        assistance = scored.assistance
        beside = Beside(embedded_links(page), assistance.failed_actions)
        metadata = analysis.of_page(lease, page, scored, self._context.icd.relevant_at, beside)
        return PageAnalysis(
            metadata, assistance.refused, failed=assistance.failed_actions, document=assistance.document
        )

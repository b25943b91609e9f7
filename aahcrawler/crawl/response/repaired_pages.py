"""Pages that were read before a repair was in force are read again from the archive; nothing is fetched for that."""

import asyncio
import logging
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from aahcrawler.archive.history import Former, History
from aahcrawler.crawl.capture.archiver import page_counts
from aahcrawler.crawl.capture.recrawl import Change, Recrawl, RecrawlComparison, UnreadableCaptureError
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.response.page_analyser import PageAnalyser
from aahcrawler.frontier.protocol import Lease
from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.site_memory import site_of
from aahcrawler.metadata import Metadata
from aahcrawler.objects.writer import CaptureDescription, Method, Reading
from aahcrawler.pipeline.analysis import PageAnalysis

MAX_PAGES = 2_000
"""Pages with failed actions that are remembered, the last ones, and as many that wait to be read again."""
PAUSE = 0.2
"""Seconds between two pages, while the crawl has others to handle."""

logger = logging.getLogger(__name__)

_UNREPAIRED = (Failure.NOT_SENT, Failure.TOO_MUCH, Failure.RAISED)
"""Failures that no repair of an action ends."""

_Level = tuple[str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page as it was read when it was captured: its lease, what was stated of it, and what it was compared with."""

    lease: Lease
    stated: CaptureDescription
    former: Former | None = None
    change: Change | None = None


class Rereading:
    """Remembers pages on which an action failed, and reads them again once it is repaired on their site.

    As a repair counts that a learned action finds objects on a later page of the same level of the site. A later
    reading is written where it finds something else and nothing fails any more. Bounded in pages, not in time: a slow
    machine mends the same pages. What is left when the disk takes no more is said in the log. A kill forgets what
    waits: ``aah reread`` reads it as well.
    """

    def __init__(self, context: CurrentContext, writer: StoreWriter, recrawl: Recrawl, analyser: PageAnalyser) -> None:
        self._context = context
        self._writer = writer
        self._recrawl = recrawl
        self._analyser = analyser
        self._failed: OrderedDict[str, tuple[_Level, ReadPage]] = OrderedDict()
        self._repaired: OrderedDict[_Level, None] = OrderedDict()
        self._waiting: deque[ReadPage] = deque(maxlen=MAX_PAGES)
        self._reader: Callable[[], str] = lambda: context.now.fingerprint

    def noted(self, page: ReadPage, found: PageAnalysis, *, is_apart: bool = False) -> None:
        """Take note of a page that was read, and of the repair that it shows to be in force.

        A page that was read apart from the others (``is_apart``) may be from before a repair that others showed.
        """
        said = found.metadata
        level = site_of(page.lease.url), said.application, said.level
        if found.learned:
            self.repaired(level)
        if found.failed and not (found.error or said.trap) and page.stated.status < 300:
            if is_apart and level in self._repaired:
                self.read_again(page)
                return
            self._failed[page.lease.url] = level, page
            if len(self._failed) > MAX_PAGES:
                self._failed.popitem(last=False)

    def repaired(self, level: _Level) -> None:
        """Have all remembered pages of a level of a site read again: by site, application and level."""
        self._repaired[level] = None
        if len(self._repaired) > MAX_PAGES:
            self._repaired.popitem(last=False)
        for url in [url for url, (place, _) in self._failed.items() if place == level]:
            self.read_again(self._failed.pop(url)[1])

    def read_again(self, page: ReadPage) -> None:
        """Have a page read again when the crawl has time; of too many the oldest are left."""
        self._waiting.append(page)

    async def run(self, reader: Callable[[], str]) -> None:
        """Read what waits, a page now and then; ``reader`` returns what identifies the reader by now."""
        self._reader = reader
        while True:
            await asyncio.sleep(PAUSE)
            if self._waiting and not self._writer.hindrance:
                await self._read_first()

    async def close(self) -> None:
        """Read what still waits, unless the archive takes no more."""
        while self._waiting and not self._writer.hindrance:
            await self._read_first()
            await asyncio.sleep(0)
        if self._waiting:
            logger.warning(
                "%d pages from before a repair are not read again; aah reread %s does it",
                len(self._waiting),
                self._writer.stores.folder.root,
            )

    async def _read_first(self) -> None:
        """Read the page that waits longest; it waits on where this is cut short."""
        page = self._waiting[0]
        await self._read(page)
        with suppress(ValueError):  # It is gone where too many came meanwhile.
            self._waiting.remove(page)

    async def _read(self, page: ReadPage) -> None:
        """Read a page again, and write what it holds where that is something else than before."""
        history = self._writer.stores.history
        kept = history.former(page.lease.url)
        first = history.metadata(kept) if kept is not None and kept.metadata_of == page.stated.iri else None
        if kept is None or first is None:
            return
        try:
            comparison = self._comparison(page, kept, history)
        except UnreadableCaptureError:
            logger.warning("%s: cannot be read again, for the archive has it no more", page.lease.url)
            return
        found = await self._analyser.again(page.lease, comparison)
        if found is not None and not _fails_still(found) and _is_another(first, found.metadata):
            await self._supersede(page, comparison, first, found)

    def _comparison(self, page: ReadPage, kept: Former, history: History) -> RecrawlComparison:
        before = None if page.former is None else history.metadata(page.former)
        return RecrawlComparison(self._recrawl.page_of(kept), page.former, page.change, before)

    async def _supersede(
        self, page: ReadPage, comparison: RecrawlComparison, first: Metadata, found: PageAnalysis
    ) -> None:
        said = found.metadata
        described = replace(
            page.stated,
            application=said.application,
            level=said.level,
            role=said.role,
            changes=await self._analyser.changes(page.lease, comparison, found),
            reader=self._reader(),
            reading=Reading(Method.REPAIR, datetime.now(UTC), page.stated.graph),
        )
        await self._writer.describe(described, said.objects, found.containers)
        difference = Counter(page_counts(said))
        difference.subtract(page_counts(first))
        changed = {name: float(number) for name, number in difference.items() if number}
        handed_on = await self._writer.hand_on(described, said.objects)
        await self._writer.count({**changed, **handed_on, "reread": 1})
        logger.info("%s read again: %d objects, %d before", page.lease.url, len(said.objects), len(first.objects))


def _is_another(first: Metadata, said: Metadata) -> bool:
    return (first.application, first.level, first.objects) != (said.application, said.level, said.objects)


def _fails_still(found: PageAnalysis) -> bool:
    """Return whether an action fails on a page; that only its beginning was read is no reason to keep less of it."""
    return bool(found.error) or any(each.failure not in _UNREPAIRED for each in found.failed)

"""Read pages without holding up the event loop: large ones in a process of their own, which the clock ends.

The result is the same wherever a page is read, unless the clock ended it, which whoever asked is told.
"""

import asyncio
import logging
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, TypeVar

from aahcrawler.crawl.fetch.politeness import StoppedError
from aahcrawler.crawl.health.forked_work import Bounds, ForkedWork, WorkEndedError
from aahcrawler.crawl.health.loop_guard import LoopGuard, LoopHeldError
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.links.reading_budget import is_long
from aahcrawler.page import Headers, Page
from knowledge_base.model import KnowledgeBase

T = TypeVar("T")

GRACE: Final = 10.0
"""Seconds that a page which is read apart has left once the crawl is told to end."""
AT_ONCE: Final = min(2, os.cpu_count() or 1)
"""Pages that are read apart at a time: each may take as much memory as one page may."""

logger = logging.getLogger(__name__)

__all__ = ["GRACE", "PageReading", "WorkEndedError"]


_FIRST: Final = Page(
    "http://localhost/",
    200,
    Headers((("Content-Type", "text/html; charset=utf-8"),)),
    b"<html><title>First page</title><article><h1>First page</h1>"
    + b"<p>Nothing is said here, at some length.</p>" * 9,
    datetime(2000, 1, 1, tzinfo=UTC),
)
"""A page that is read before all others, so that what reading needs is imported by then."""


class PageReading:
    """Does work on pages, in the loop where that is short, else beside it. ``ending`` is set when the crawl ends."""

    def __init__(self, ending: asyncio.Event, bounds: Bounds | None = None, guard: LoopGuard | None = None) -> None:
        self._ending = ending
        self._bounds = bounds or Bounds()
        self._guard = guard or LoopGuard()
        self._places = asyncio.Semaphore(AT_ONCE)
        self._prepared: asyncio.Future[None] | None = None

    async def of(
        self,
        page: Page,
        work: Callable[[Page], T],
        shared: Iterable[object] = (),
        learn: Callable[[T], None] = lambda _: None,
    ) -> T:
        """Return the result of work on a page, or raise what it raises.

        ``shared`` are values of this process that the result may refer to. ``learn`` is called with a result that comes
        from another process, which has taught this one nothing. Raise ``WorkEndedError`` where the clock ended it, and
        ``StoppedError`` where the crawl ended before it did.
        """
        prepared = self._prepared = self._prepared or asyncio.ensure_future(asyncio.to_thread(_prepare))
        if not prepared.done():
            await asyncio.wait((prepared,))
        if not page.once(is_long):
            with suppress(LoopHeldError):
                return self._guard.within(lambda: work(page))
            logger.info("%s: it takes long to be read, and is read apart", page.url)
        fresh = replace(page)  # Without what work that was given up has left of it.
        async with self._places:
            found = await self._apart(lambda: work(fresh), shared)
        learn(found)
        return found

    async def _apart(self, work: Callable[[], T], shared: Iterable[object]) -> T:
        if self._ending.is_set():
            raise StoppedError
        forked = ForkedWork(work, shared, self._bounds)
        reading = asyncio.ensure_future(asyncio.to_thread(forked.result))
        ending = asyncio.ensure_future(self._ending.wait())
        try:
            await asyncio.wait((reading, ending), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                await asyncio.wait((reading,), timeout=GRACE)
            if not reading.done():
                raise StoppedError
            return reading.result()
        finally:
            ending.cancel()
            if not reading.done():
                forked.end()
                await asyncio.wait((reading,))
                reading.exception()  # What it ended with after that is nobody's concern.


def _prepare() -> None:
    """Import what reading needs: in the loop that would take long, and in each process of a page anew."""
    ApplicationAwareHelper(KnowledgeBase(())).assist(_FIRST)

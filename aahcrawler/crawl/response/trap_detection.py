"""Learn traps from a crawl's pages, refuse what leads into them, and keep what was learned."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from http import HTTPStatus
from pathlib import Path
from uuid import uuid4

from filelock import FileLock, Timeout

from aahcrawler.crawl.capture.recrawl import GONE, RecrawlComparison
from aahcrawler.crawl.core.page_reading import PageReading
from aahcrawler.crawl.core.stores import CurrentContext
from aahcrawler.crawl.directory.crawl_runs import write_whole
from aahcrawler.crawl.response.listings import ListingStep
from aahcrawler.documents.formats import JSON_LINES, TABLES, format_of
from aahcrawler.frontier.hops import Hop
from aahcrawler.frontier.protocol import Lease, Offer
from aahcrawler.layout import TRAPS
from aahcrawler.page import Page
from aahcrawler.pipeline.analysis import PageAnalysis, ScoredPage
from aahcrawler.pipeline.links import DiscoveredLinks, is_chosen
from aahcrawler.pipeline.trap_evidence import content, prose, shown_to_traps
from aahcrawler.traps.bloom_filters import Arrays, packed, unpacked
from aahcrawler.traps.patterns import Trap
from aahcrawler.traps.traps import NO_PAGE, NO_SUCH_PAGE, Traps, TrapVerdict

logger = logging.getLogger(__name__)

KEEP_EVERY = 300.0
"""Seconds between two writings of what was learned."""
CLOSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
"""Responses for people who have logged in."""
PROBE_SCORE = 1.0
"""A suspicion is to be cleared up before more pages are fetched for it."""


class TrapError(Exception):
    """A page was leased, and what was learned since it was offered speaks against fetching it."""

    def __init__(self, trap: Trap) -> None:
        super().__init__(trap.value)
        self.trap = trap


class GivesWayError(Exception):
    """A page was leased, and pages like it have turned out since to be worth only this part of its score."""

    def __init__(self, worth: float) -> None:
        super().__init__(f"worth {worth:.2f} of its score")
        self.worth = worth


class TrapDetection:
    """Has the traps of a crawl learn from its pages. ``name`` returns what no page is called by."""

    def __init__(
        self, context: CurrentContext, reading: PageReading, name: Callable[[], str] = lambda: uuid4().hex
    ) -> None:
        self._context = context
        self._reading = reading
        self._name = name

    @property
    def _traps(self) -> Traps:
        return self._context.now.traps

    def refused(self, lease: Lease) -> Trap | None:
        """Return why a leased page is not to be fetched any more, None where it is.

        What nobody linked to was asked for: seeds, what was posted, what a former crawl knew, listings.
        """
        if not _is_linked(lease):
            return None
        rules = self._context.now.link_rules
        return rules.admit(lease.url, trusted=is_chosen(lease.path), via=lease.via)

    def worth(self, page: Lease | Offer) -> float:
        """Return what part of its score a page is worth by now, less than 1 where it is to give way to others."""
        return self._traps.gives_way(page.url) if _is_linked(page) and not is_chosen(page.path) else 1.0

    def judge(self, lease: Lease, page: Page, processed: ScoredPage, *, relevant: bool) -> TrapVerdict | None:
        """Compare a page, or a file that can be read as text, with those before it; None for an error and the like."""
        assistance = processed.assistance
        if not page.is_content:
            return None
        if assistance.document.source == "document":
            # A table says in another form what pages say, often enough; one of figures alone repeats nobody.
            text = prose(page) if format_of(page) in TABLES | JSON_LINES else None
            return self._traps.judge_file(text) if text else None
        if assistance.document.source or not (page.is_html or assistance.objects):
            text = prose(page)
            return None if text is None else self._traps.judge_file(text)
        return self._traps.judge(shown_to_traps(lease.url, lease.queue, assistance, relevant=relevant), self._name())

    async def probed(self, page: Page) -> None:
        """Take the response to a request for a page that cannot exist."""
        text = None
        if 200 <= page.status < 300:
            helper = self._context.now.helper
            text = await self._reading.of(page, lambda page: content(helper.assist(page).document))
        logger.info("%s: %s", page.url, "a soft 404" if text is not None else f"answered {page.status}, as it should")
        self._traps.probed(page.url, text)

    def learn(
        self, lease: Lease, comparison: RecrawlComparison, found: PageAnalysis, discovered: DiscoveredLinks
    ) -> DiscoveredLinks:
        """Note what a page brought; return where it leads, a probe of its host included where there is to be one.

        What a former crawl knew, and the trouble of a server, say nothing of traps.
        """
        status = comparison.page.status
        if comparison.remembered:
            self._traps.unchanged(lease.url)
        if comparison.former is not None or not (status < 400 or status in GONE | CLOSED):
            return discovered
        verdict = found.verdict or (NO_SUCH_PAGE if status in GONE else NO_PAGE)
        pages = [offer.url for offer in discovered.offers if offer.kind == "page"]
        is_page = not comparison.page.is_content or comparison.page.is_html
        if barren := self._traps.fetched(lease.url, verdict, pages, is_page=is_page):
            logger.info("%s: its pages lead to no content and are avoided from now on (traps.barren)", barren)
        # What an archive shows is nobody's response of today, and it has no page that cannot exist.
        is_asked = bool(verdict.probe) and self._context.now.icd.captures.is_live
        probe = self._probe(lease, verdict.probe) if is_asked else None
        return discovered if probe is None else replace(discovered, offers=(*discovered.offers, probe))

    def _probe(self, lease: Lease, url: str) -> Offer | None:
        """Return a probe as an offer. It is no page: it is not scored, and what it says leads nowhere."""
        page = self._context.now.link_rules.offer(url, lease, PROBE_SCORE)
        if self._context.now.scope.admit(page) is not None:
            return None
        return self._context.now.link_rules.offer(url, lease, PROBE_SCORE, kind="requisite", hop=Hop.REQUISITE)


def _is_linked(page: Lease | Offer) -> bool:
    """Return whether a page leads to what is leased or queued, and it is a page itself."""
    return page.kind == "page" and page.via != "" and ListingStep.of(page) is None


class TrapsFile:
    """The file for what one worker's traps have learned: the first one that no other worker holds.

    It belongs to the crawl with this ``number``.
    """

    def __init__(self, root: Path, number: int) -> None:
        """Take a file. Raise ``OSError`` where the folder cannot be written."""
        folder = root / TRAPS
        folder.mkdir(exist_ok=True)
        self._lock, slot = _first_free(folder)
        self._path = folder / f"{slot}.npz"
        self._number = number

    def recall(self, traps: Traps) -> None:
        """Have traps go on from what this worker kept; without that, begin with what all workers knew before.

        A host may be another worker's in this crawl than in the one before. Damaged files are reported and not used.
        """
        own = self._read(self._path)
        if own is not None and own[0] == self._number and self._taken(self._path, traps.restore, own[1]):
            return
        for path in sorted(self._path.parent.glob("*.npz"), key=lambda path: path != self._path):
            kept = self._read(path) if path != self._path else own
            if kept is not None and (path, kept[0]) != (self._path, self._number):
                self._taken(path, traps.inherit, kept[1])

    def _read(self, path: Path) -> tuple[int, Arrays] | None:
        try:
            return unpacked(path.read_bytes())
        except FileNotFoundError:
            return None
        except ValueError as error:
            logger.error("%s: %s; what is a trap is learned anew", path, error)
            return None

    def _taken(self, path: Path, take: Callable[[Arrays], None], state: Arrays) -> bool:
        try:
            take(state)
        except ValueError as error:
            logger.error("%s: %s; what is a trap is learned anew", path, error)
            return False
        return True

    async def keep(self, traps: Callable[[], Traps]) -> None:
        """Write the traps again and again until cancelled, and then once more; the crawl goes on without."""
        try:
            while True:
                await asyncio.sleep(KEEP_EVERY)
                state = traps().state()
                await asyncio.to_thread(self._write, state)
        finally:
            self._write(traps().state())

    def _write(self, state: Arrays) -> None:
        try:
            write_whole(self._path, packed(self._number, state))
        except OSError as error:
            logger.warning("%s: what was learned of traps is not kept (%s)", self._path, error)

    def close(self) -> None:
        """Let another worker have the file."""
        self._lock.release()


def _first_free(folder: Path) -> tuple[FileLock, int]:
    slot = 0
    while True:
        lock = FileLock(folder / f"{slot}.lock", timeout=0)
        try:
            lock.acquire()
        except Timeout:
            slot += 1
        else:
            return lock, slot

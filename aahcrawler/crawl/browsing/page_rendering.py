"""Have pages looked at in a browser where their routes say so, within the limits of the crawl.

A page is what the server sent until a browser has shown it: where a look fails, for whatever reason, the page goes on
as it came, and that is counted and kept with it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from hashlib import sha1
from typing import Final, Protocol

from aahcrawler.archive.history import Former
from aahcrawler.archive.records import Resource
from aahcrawler.browser.network.upstream import Upstream
from aahcrawler.browser.process.chromium_executable import BrowserUnavailableError
from aahcrawler.browser.process.devtools_connection import DevToolsError
from aahcrawler.browser.visits.rendered_page import (
    RenderedPage,
    VisitBounds,
    VisitFailedError,
    VisitOrder,
)
from aahcrawler.crawl.browsing.crawl_visits import BrowserDeaths, LookPlace, OwnPage, RenderSlots, Visits, ends_browser
from aahcrawler.crawl.browsing.routes import DataPages, Reason, Routes, Shown, is_demanded, may_look
from aahcrawler.crawl.browsing.visit_requests import VisitRequests
from aahcrawler.crawl.capture.recrawl import Recrawl, RecrawlComparison, UnreadableCaptureError
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.page_reading import PageReading, WorkEndedError
from aahcrawler.crawl.core.stores import CurrentContext
from aahcrawler.crawl.fetch.download_handler import GRACE, CapturedResponse
from aahcrawler.crawl.lease.lease_source import StoppedError
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.hops import Hop, ends_with
from aahcrawler.frontier.protocol import Lease
from aahcrawler.metadata import RenderInfo
from aahcrawler.page import Page, text
from aahcrawler.wire.replay import replayed
from knowledge_base.behaviours import Behaviour

logger = logging.getLogger(__name__)

BESIDE: Final = 30.0
"""Seconds that a look may take beyond the time of its page: a browser has to begin, and to say what it shows."""
_CUT_OFF: Final = frozenset({"given up", "stopped", "ended", "time"})
"""Reasons for which requests have no response when a crawl ends."""
UNAVAILABLE, LIMIT, FAILED, BARRED = "unavailable", "limit", "failed", "barred"
LOST, REPEATED = "lost to another page", "repeated"
"""Looks that ended with the browser, and are made again: another page may have ended it, or nobody but this one."""
OWN_PAUSES: Final = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before each try to show a page of our own, after which the browser is given up."""


class Browser(Protocol):
    """Shows pages, one or several at once."""

    async def visit(self, order: VisitOrder, upstream: Upstream) -> RenderedPage:
        """Show a page; raise ``BrowserUnavailableError``, ``DevToolsError`` or ``VisitFailedError``."""
        ...

    async def close(self) -> None:
        """End it."""
        ...

    @property
    def isolation(self) -> str | None:
        """How its processes are kept off the network, None before there were any."""
        ...

    @property
    def version(self) -> str:
        """Its name and version, empty while that is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Rendering:
    """What became of a page beside its response.

    ``page`` is the page as a browser showed it, None where none did; ``note`` is kept in its metadata, ``resources``
    beside its response. ``leads_to`` are where its scripts wanted to go, ``streams`` the manifests that its players
    requested. For ``rest`` seconds its site asked to be left in peace. ``counts`` belong to the crawl's statistics.
    """

    page: Page | None = None
    note: RenderInfo | None = None
    resources: tuple[Resource, ...] = ()
    leads_to: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()
    rest: float = 0.0
    counts: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The digest of the text of the page as it was shown, empty where it was not."""
        return self.note.text if self.note is not None else ""

    @property
    def is_made(self) -> bool:
        """Whether the page was made of its data, without a browser."""
        return self.note is not None and bool(self.note.made_of)


NO_LOOK: Final = Rendering()


class PageRendering:
    """Decides for each page, and has it shown. ``opened`` makes the browser when one is needed for the first time.

    At most ``browser.at_once`` pages are shown at a time by this worker, as the definition was when the crawl began;
    their leases stay out meanwhile. When the crawl ends, those under way have ``GRACE``. A look during which the
    browser ended is repeated alone, and some pause later where nobody else was looked at (``BrowserDeaths``).
    """

    def __init__(
        self,
        context: CurrentContext,
        fetching: FetchControl,
        visits: Visits,
        recrawl: Recrawl,
        opened: Callable[[], Browser],
        reading: PageReading,
    ) -> None:
        self._reading = reading
        self._context = context
        self._fetching = fetching
        self._visits = visits
        self._recrawl = recrawl
        self._opened = opened
        self._routes = Routes()
        self._data_pages = DataPages(context)
        self._places = RenderSlots(context.now.icd.browser.at_once)
        self._deaths = BrowserDeaths()
        self._testing = asyncio.Lock()
        self._browser: Browser | None = None
        self._missing = ""
        self._under_way = 0

    async def of(self, lease: Lease, response: CapturedResponse, comparison: RecrawlComparison) -> Rendering:
        """Return what a browser makes of a page that was answered, or of the former one that the response stands for.

        Raise ``StoppedError`` where the crawl ends meanwhile, ``UnreadableCaptureError`` where the former page cannot
        be read, and errors of this machine.
        """
        former = self._former(lease, comparison)
        if former is not None:
            exchange = self._recrawl.response_of(former)
            if exchange is None:
                raise UnreadableCaptureError(former.url)
            with closing(exchange):
                page = replayed(exchange, self._context.now.icd.limits.page_bytes, as_sent=True)
                return await self._of(lease, page, exchange, 0.0)
        is_page = lease.is_page and not comparison.unmodified and response.exchange.truncated is None
        page = comparison.page if is_page else None
        return await self._of(lease, page, response.exchange, response.captured.elapsed)

    def _former(self, lease: Lease, comparison: RecrawlComparison) -> Former | None:
        """Return the former capture that a response without a page stands for, where it may have to be shown again."""
        former, section = comparison.former, self._context.now.icd.browser
        if former is None or not lease.is_page or not comparison.unmodified or not may_look(section):
            return None
        is_open = former.rendered or is_demanded(section) or not comparison.remembered
        return former if is_open else None

    async def _of(self, lease: Lease, page: Page | None, exchange: Exchange, seconds: float) -> Rendering:
        section = self._context.now.icd.browser
        if page is None or page.status != 200 or not page.is_html or not may_look(section):
            return NO_LOOK
        if ends_with(lease.path, Hop.FORM):
            return NO_LOOK
        came = {"http:pages": 1.0, "http:bytes": float(exchange.response_size), "http:seconds": seconds}
        reason = await self._reason(lease, page)
        if not reason.is_look:
            return Rendering(counts=came | ({f"browser:{reason}": 1.0} if reason is Reason.VAIN else {}))
        if reason is not Reason.ASKED and self._data_pages.can_make(lease.queue, lease.url):
            made = await self._made(lease, page, exchange)
            if made.page is not None:
                return replace(made, counts=came)
        async with self._place(lease.queue) as place:
            look = await self._looked(lease, page, exchange, place, reason)
        while look is None:
            await self._fetching.wait_for_slot(lease.url)
            async with self._place(lease.queue, alone=True) as place:
                look = await self._looked(lease, page, exchange, place, reason)
        return replace(look, counts={**came, **look.counts})

    @asynccontextmanager
    async def _place(self, site: str, *, alone: bool = False) -> AsyncIterator[LookPlace]:
        """Lend a place for a look once its site may be looked at. Raise ``StoppedError`` at the crawl's end."""
        while not self._deaths.is_barred(site) and (pause := self._deaths.pause(site)):
            await self._fetching.wait_within_visit(pause)
        lent = self._places.alone() if alone or self._deaths.is_suspect(site) else self._places.beside_others()
        async with lent as place:
            yield place

    async def _reason(self, lease: Lease, page: Page) -> Reason:
        """Return why a page is to be looked at, or why not; one that takes too long to be read is not."""
        section, tell = self._context.now.icd.browser, self._context.now.helper.scripted
        try:
            return await self._reading.of(page, lambda page: self._routes.choose(lease.queue, page, section, tell))
        except WorkEndedError as error:
            logger.warning("%s: not looked at in the browser: %s", lease.url, error)
            return Reason.PLAIN

    async def _looked(
        self, lease: Lease, page: Page, exchange: Exchange, place: LookPlace, reason: Reason
    ) -> Rendering | None:
        """Return what came of a look, as far as one may be; None where it is to be repeated alone."""
        hindrance = self._hindrance(lease.queue)
        if hindrance:
            return Rendering(note=RenderInfo(failed=hindrance), counts=self._missed(reason, hindrance))
        self._under_way += 1
        try:
            look = await self._shown(lease, page, exchange, place)
        finally:
            self._under_way -= 1
        return replace(look, counts=self._lost(reason, look)) if look is not None else None

    async def _made(self, lease: Lease, page: Page, exchange: Exchange) -> Rendering:
        """Return a page made of its data, as looks at others like it have shown; an empty look where that fails."""
        requests = self._visits.requests_of(lease, exchange)
        began = asyncio.get_running_loop().time()
        try:
            dom = await self._data_pages.made(lease.queue, lease.url, requests)
        finally:
            await requests.close()
        seconds = asyncio.get_running_loop().time() - began
        counts = {
            "data:seconds": seconds,
            "data:requests": float(requests.requests),
            "data:bytes": float(requests.bytes),
        }
        await self._fetching.stores.count({**counts, "data:pages" if dom is not None else "data:unlike": 1.0})
        if dom is None:
            return NO_LOOK
        made = page.as_rendered(dom, "", self._context.now.icd.limits.page_bytes)
        document = Resource.data_dom(lease.url, dom, tuple(requests.data))
        note = RenderInfo(
            dom=document.record_id,
            text=digest_of(made),
            seconds=round(seconds, 3),
            requests=requests.requests,
            made_of=tuple(requests.data),
        )
        return Rendering(made, note, (document,), rest=requests.rest_asked)

    # Whether it may be

    def _hindrance(self, site: str) -> str:
        """Return why no page of a site can be shown, empty where one can. Raise ``StoppedError`` at the crawl's end."""
        if self._fetching.ending.is_set():
            raise StoppedError
        if self._missing:
            return UNAVAILABLE
        if self._deaths.is_barred(site):
            return BARRED
        limits, stats = self._context.now.icd.limits, self._fetching.stores.stats
        if limits.browser_pages and stats["browser:pages"] + self._under_way >= limits.browser_pages:
            return LIMIT
        most = limits.browser_time.total_seconds()
        return LIMIT if most and stats["browser:seconds"] >= most else ""

    def _missed(self, reason: Reason, hindrance: str) -> dict[str, float]:
        """Return the counts of a page that was to be shown and was not; where it only might, nothing is missed."""
        if hindrance == UNAVAILABLE and reason is Reason.FRAME:
            return {}
        counts = {f"browser:{hindrance}": 1.0}
        return counts | {f"browser_missing:{self._missing}": 1.0} if hindrance == UNAVAILABLE else counts

    def _lost(self, reason: Reason, look: Rendering) -> dict[str, float]:
        """Return the counts of a page that was begun to be shown, where no browser could be had for it."""
        is_missing = look.note is not None and look.note.failed == UNAVAILABLE
        return self._missed(reason, UNAVAILABLE) if is_missing else {}

    def _is_missing(self, why: str) -> None:
        if not self._missing:
            self._missing = " ".join(why.split())[:500]
            logger.warning("no page is looked at in a browser: %s", self._missing)

    # One look

    async def _shown(self, lease: Lease, page: Page, exchange: Exchange, place: LookPlace) -> Rendering | None:
        order = await self._order(lease, page)
        allows = frozenset(method for each in order.behaviours for method in each.allows)
        requests = self._visits.requests_of(lease, exchange, frozenset() if order.reading_only else allows)
        began, failed = asyncio.get_running_loop().time(), ""
        rendered: RenderedPage | None = None
        try:
            rendered = await self._until_ending(self._visit(order, requests), order.bounds.seconds + BESIDE)
            self._deaths.lived(lease.queue)
        except BrowserUnavailableError as error:
            self._is_missing(str(error))
            failed = UNAVAILABLE
        except (VisitFailedError, DevToolsError, TimeoutError) as error:
            failed = _words_for(lease, error)
            if place.is_shared and ends_browser(error):
                failed = LOST
            elif isinstance(error, DevToolsError):
                await self._died(lease.queue, error)
                failed = REPEATED if self._deaths.may_repeat(lease.queue) and not self._missing else failed
        finally:
            await requests.close()
        seconds = asyncio.get_running_loop().time() - began
        if self._fetching.ending.is_set() and _is_cut(rendered, requests):
            raise StoppedError
        if failed != UNAVAILABLE:
            await self._count(requests, seconds, rendered, failed)
        if failed in {LOST, REPEATED}:
            return None
        if rendered is None:
            note = RenderInfo(failed=failed, seconds=round(seconds, 3), requests=requests.requests)
            return Rendering(note=note, rest=requests.rest_asked)
        return await self._kept(lease, page, order, rendered, requests)

    async def _visit(self, order: VisitOrder, upstream: Upstream) -> RenderedPage:
        if self._browser is None:
            self._browser = self._opened()
        return await self._browser.visit(order, upstream)

    async def _order(self, lease: Lease, page: Page) -> VisitOrder:
        icd, section = self._context.now.icd, self._context.now.icd.browser
        reading_only = self._visits.is_known_at(lease.url) and not section.under_login
        behaviours = await self._behaviours(page)
        return VisitOrder(
            lease.url,
            icd.user_agent(),
            languages=icd.scope.languages,
            cookies=await self._visits.cookies_for(lease.url),
            behaviours=tuple(each for each in behaviours if not (reading_only and each.allows)),
            reading_only=reading_only,
            pictures=section.screenshots,
            bounds=VisitBounds(seconds=section.page_time.total_seconds()),
        )

    async def _behaviours(self, page: Page) -> Sequence[Behaviour]:
        """Return what is to be done on a page, nothing on one that takes too long to be read."""
        helper = self._context.now.helper
        known = helper.knowledge_base
        shared = (*known.behaviours, *(each for of in known.applications for each in of.behaviours))
        try:
            return await self._reading.of(page, helper.behaviours, shared)
        except WorkEndedError as error:
            logger.warning("%s: shown without behaviours: %s", page.url, error)
            return ()

    async def _until_ending(self, visit: Coroutine[None, None, RenderedPage], most: float) -> RenderedPage:
        """Return what a visit shows. Raise ``StoppedError`` where it takes longer than ``GRACE`` after the end."""
        ending = asyncio.ensure_future(self._fetching.ending.wait())
        showing = asyncio.ensure_future(visit)
        try:
            await asyncio.wait((showing, ending), timeout=most, return_when=asyncio.FIRST_COMPLETED)
            if ending.done() and not showing.done():
                await asyncio.wait((showing,), timeout=GRACE)
            if showing.done():
                return showing.result()
            raise StoppedError if ending.done() else TimeoutError("it did not end in its time")
        finally:
            ending.cancel()
            showing.cancel()
            await asyncio.wait((showing,))
            if not showing.cancelled():
                showing.exception()  # What it ended with after that is nobody's concern.

    async def _died(self, site: str, error: DevToolsError) -> None:
        """Count a death against the site; where the browser may be to blame, have it show a page of our own."""
        self._deaths.died(site, error)
        async with self._testing:
            for pause in OWN_PAUSES:
                if self._deaths.is_doubtful() and not self._missing:
                    await self._fetching.wait_within_visit(pause)
                    await self._show_own_page()
            if self._deaths.is_doubtful():
                self._is_missing(f"it ends again and again, with a page of the crawler's own as well: {error}")

    async def _show_own_page(self) -> None:
        order = VisitOrder(OwnPage.URL, self._context.now.icd.user_agent(), pictures=False)
        with suppress(VisitFailedError, DevToolsError, TimeoutError):
            try:
                await self._until_ending(self._visit(order, OwnPage()), order.bounds.seconds + BESIDE)
            except BrowserUnavailableError as error:
                self._is_missing(str(error))
            else:
                self._deaths.forgive()

    async def _count(self, requests: VisitRequests, seconds: float, rendered: RenderedPage | None, failed: str) -> None:
        """Count a visit at once: other workers go by the limits as well."""
        counts = {
            "browser:pages": 1.0,
            "browser:seconds": seconds,
            "browser:requests": float(requests.requests),
            "browser:bytes": float(requests.bytes),
        }
        if rendered is None:
            counts[f"browser:{failed if failed in {LOST, REPEATED} else FAILED}"] = 1.0
        else:
            for reason, number in rendered.refused.items():
                if (more := number - requests.refused.get(reason, 0)) > 0:
                    counts[f"browser_refused:{reason}"] = float(more)
        if self._browser is not None and self._browser.version:
            counts[f"browser_isolation:{self._browser.isolation}"] = 1.0
            counts[f"browser_version:{self._browser.version}"] = 1.0
        await self._fetching.stores.count(counts)

    async def _kept(
        self, lease: Lease, page: Page, order: VisitOrder, rendered: RenderedPage, requests: VisitRequests
    ) -> Rendering:
        """Return what is kept of a page that was shown, unless it shows less than what was sent."""
        await self._visits.took(lease.url, rendered.cookies, order.cookies)
        dom = await self._visits.concealed(lease.url, rendered.dom)
        at = "" if rendered.url == lease.url else rendered.url
        shown = page.as_rendered(dom, at, self._context.now.icd.limits.page_bytes)
        pictures = tuple(pictures_of(lease.url, rendered))
        note = note_of(rendered, dict(requests.refused), requests.requests)
        try:
            came = await self._reading.of(page, Shown.of)
            looked, text = await self._reading.of(shown, lambda page: (Shown.of(page), digest_of(page)))
        except WorkEndedError as error:
            logger.warning("%s: as it was shown it cannot be read: %s", lease.url, error)
            return Rendering(note=replace(note, failed="it takes too long to be read"), resources=pictures)
        gained = self._routes.learn(lease.queue, lease.url, came, looked)
        if gained and not at and not self._visits.is_known_at(lease.url):
            await self._data_pages.learn(lease.queue, page, dom, requests.data)
        counts = {"browser:gained" if gained else "browser:gained nothing": 1.0}
        if 2 * looked.letters < came.letters:
            await self._fetching.stores.count({**counts, "browser:showed less": 1.0})
            return Rendering(note=replace(note, failed="it showed less than was sent"), resources=pictures)
        await self._fetching.stores.count(counts)
        document = Resource.rendered_dom(lease.url, dom, at)
        return Rendering(
            shown,
            replace(note, dom=document.record_id, text=text),
            (document, *pictures),
            rendered.leads_to,
            requests.manifests,
            requests.rest_asked,
        )

    async def close(self) -> None:
        """End the browser."""
        if self._browser is not None:
            await self._browser.close()


def _is_cut(rendered: RenderedPage | None, requests: VisitRequests) -> bool:
    """Return whether a page lacks what the end of the crawl left it no time for."""
    return rendered is None or not _CUT_OFF.isdisjoint({*rendered.refused, *requests.refused})


def _words_for(lease: Lease, error: Exception) -> str:
    """Log that a page could not be shown; return the reason, in words."""
    logger.warning("%s: not shown in the browser: %s", lease.url, error or type(error).__name__)
    return in_a_line(f"{type(error).__name__}: {error}")


MAX_LINES: Final = 20
MAX_OF_LINE: Final = 300
"""Lines of the console that are kept of a page, and characters of each."""
MAX_REASONS: Final = 50


def note_of(rendered: RenderedPage, refused: dict[str, int], requests: int) -> RenderInfo:
    """Return the note of a look: ``refused`` counts what the crawl did not give, ``requests`` what it sent."""
    reasons = {**rendered.refused, **refused}
    return RenderInfo(
        ended=rendered.ended,
        seconds=round(rendered.seconds, 3),
        requests=requests,
        refused=dict(list(reasons.items())[:MAX_REASONS]),
        behaviours=tuple(
            in_a_line(f"{each.name}: {each.steps} steps, {each.ended}") for each in rendered.behaviours[:MAX_LINES]
        ),
        console=tuple(in_a_line(f"{line.level}: {line.text}") for line in rendered.console[:MAX_LINES]),
    )


def digest_of(page: Page) -> str:
    """Return the SHA-1 of what a page shows, in hexadecimal digits."""
    return sha1(text.plain_text(page.tree).encode("utf-8", "replace"), usedforsecurity=False).hexdigest()


def pictures_of(url: str, rendered: RenderedPage) -> Iterator[Resource]:
    """Yield the pictures of a page, as far as some were taken."""
    if rendered.screenshot:
        yield Resource.screenshot(url, rendered.screenshot)
    if rendered.thumbnail:
        yield Resource.thumbnail(url, rendered.thumbnail)


def in_a_line(text: str) -> str:
    """Return a text on one line, its beginning where it is long."""
    return " ".join(text[: 4 * MAX_OF_LINE].split())[:MAX_OF_LINE]

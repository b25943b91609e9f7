"""An open crawl, put together from its context, its stores and its lifecycle."""

import asyncio
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from aahcrawler.browser.process.chromium_executable import BrowserUnavailableError
from aahcrawler.crawl.browsing.captured_responses import CapturedResponses
from aahcrawler.crawl.browsing.crawl_visits import Visits
from aahcrawler.crawl.browsing.page_rendering import Browser, PageRendering
from aahcrawler.crawl.browsing.visited_crawl import RequestRules
from aahcrawler.crawl.capture.archiver import Redaction
from aahcrawler.crawl.capture.recrawl import Recrawl
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.lifecycle import Background, Budget, DomainBudgets, Lifecycle, Reporting, WorkerRole
from aahcrawler.crawl.core.page_reading import PageReading
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext, Stores, StoreWriter
from aahcrawler.crawl.fetch.client_settings import wire_settings
from aahcrawler.crawl.fetch.sourced_captures import SourcedCaptures
from aahcrawler.crawl.health.disk_space import DiskSpace, Measure
from aahcrawler.crawl.lease.lease_source import Slots
from aahcrawler.crawl.response.handler import ResponseHandler
from aahcrawler.crawl.response.link_ranking import BatchScoring, LinkRanking
from aahcrawler.crawl.response.listings import AnnouncedFeeds, Listings, UrlLists
from aahcrawler.crawl.response.page_analyser import PageAnalyser, Transcripts
from aahcrawler.crawl.response.repaired_pages import Rereading
from aahcrawler.crawl.response.response_steps import ResponseSteps, RunningCrawl
from aahcrawler.crawl.response.seed_trail import SeedTrail
from aahcrawler.crawl.response.session_probing import SessionProbing
from aahcrawler.crawl.response.sparql_paging import SparqlPaging
from aahcrawler.crawl.response.trap_detection import TrapDetection
from aahcrawler.crawl.response.visit_noting import VisitNoting
from aahcrawler.credentials.given import NONE as NO_CREDENTIALS
from aahcrawler.credentials.given import Credentials
from aahcrawler.wire.settings import WireSettings


@dataclass(frozen=True, slots=True)
class Job:
    """A crawl that is open in this process. ``background`` runs beside it from its start to its end."""

    context: CurrentContext
    writer: StoreWriter
    fetching: FetchControl
    lifecycle: Lifecycle
    recrawl: Recrawl
    handler: ResponseHandler
    rereading: Rereading
    sessions: SiteSessions
    budgets: DomainBudgets
    visits: Visits
    sources: SourcedCaptures = field(default_factory=SourcedCaptures)
    background: Sequence[Background] = ()

    @property
    def wire_settings(self) -> WireSettings:
        """The settings by which the download handler connects."""
        return wire_settings(self.context.now.icd, self.writer.stores.folder.spool)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The options of a job: its role among the workers, the slots it shares, how the disk is measured, credentials.

    ``sources`` are where captures come from beside the live web.
    """

    role: WorkerRole | None = None
    slots: Slots | None = None
    measure: Measure = shutil.disk_usage
    credentials: Credentials = NO_CREDENTIALS
    sources: SourcedCaptures = field(default_factory=SourcedCaptures)


def assemble(
    context: CrawlContext, stores: Stores, reporting: Reporting | None = None, options: JobOptions | None = None
) -> Job:
    """Return the job of a context and its stores."""
    icd, ending, current = context.icd, asyncio.Event(), CurrentContext(context)
    reporting, options = reporting or Reporting(), options or JobOptions()
    redaction = Redaction(options.credentials, masks=icd.archive.redact)
    disk_space = DiskSpace(stores.folders, icd.archive.reserve, ending, options.measure)
    writer = StoreWriter(stores, disk_space, redaction)
    sessions = SiteSessions(
        options.credentials,
        lambda site: writer.call(stores.sessions.session, site),
        lambda site, text: writer.call(stores.sessions.keep_session, site, text),
        is_shared=options.role is not None,
    )
    batch_scoring = BatchScoring(current, writer, reporting.peer_export)
    fetching = FetchControl.of(icd, writer, ending, batch_scoring, options.slots)
    lifecycle = Lifecycle(current, writer, fetching, options.role, reporting)
    recrawl = Recrawl(stores.history, lifecycle.number, lifecycle.begun_at, icd.limits.page_bytes)
    reading = PageReading(ending)
    trap_detection = TrapDetection(current, reading)
    ranking = LinkRanking(current, writer, reporting.peer_export, lifecycle.fail)
    analyser = PageAnalyser(current, Budget(current, writer.stats), recrawl, trap_detection, reading)
    recorded = CapturedResponses(current, writer, lifecycle.number, lifecycle.begun_at)
    budgets = DomainBudgets(current, writer.stats)
    visits = Visits(writer, fetching, RequestRules(current, lifecycle, sessions, budgets), recorded)
    opened = partial(open_browser, stores.folder.spool, icd.browser.at_once)
    rereading = Rereading(current, writer, recrawl, analyser)
    transcripts = Transcripts(current)
    steps = ResponseSteps(
        recrawl,
        trap_detection,
        analyser,
        AnnouncedFeeds(current),
        UrlLists(current, writer, reading),
        Listings(current, writer),
        transcripts,
        ranking,
        batch_scoring,
        SeedTrail(current, writer.stats, reading),
        sessions,
        budgets,
        SessionProbing(current, writer, fetching, sessions, reading),
        VisitNoting(writer, recrawl, reading),
        SparqlPaging(current, transcripts.statements),
        PageRendering(current, fetching, visits, recrawl, opened, reading),
        reporting.peer_export,
        rereading,
    )
    handler = ResponseHandler(RunningCrawl(current, writer, fetching, lifecycle), steps)
    parts = recrawl, handler, rereading, sessions, budgets, visits, options.sources
    return Job(current, writer, fetching, lifecycle, *parts, (ranking.run,))


EXTRA = "its modules are missing; install them: pip install 'aahcrawler[browser]'"


def open_browser(folder: Path, slots: int) -> Browser:
    """Return a browser that shows ``slots`` pages at once; what it writes meanwhile is in ``folder``.

    Raise ``BrowserUnavailableError`` where its modules are not installed.
    """
    try:
        from aahcrawler.browser.browser import Browser as Chromium  # noqa: PLC0415 - no crawl's start waits for it
        from aahcrawler.browser.process.chromium_executable import BrowserSettings  # noqa: PLC0415 - as above
    except ImportError as error:
        raise BrowserUnavailableError(EXTRA) from error
    return Chromium(BrowserSettings(profile_folder=folder, slots=slots))

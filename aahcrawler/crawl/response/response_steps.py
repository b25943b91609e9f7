"""The parts that responses are handled with: those of a crawl that runs, and the steps that a response goes through."""

from dataclasses import dataclass

from aahcrawler.crawl.browsing.page_rendering import PageRendering
from aahcrawler.crawl.capture.recrawl import Recrawl
from aahcrawler.crawl.core.fetch_control import FetchControl
from aahcrawler.crawl.core.lifecycle import DomainBudgets, Lifecycle
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.crawl.core.stores import CurrentContext, StoreWriter
from aahcrawler.crawl.peers import PeerExport
from aahcrawler.crawl.response.link_ranking import BatchScoring, LinkRanking
from aahcrawler.crawl.response.listings import AnnouncedFeeds, Listings, UrlLists
from aahcrawler.crawl.response.page_analyser import PageAnalyser, Transcripts
from aahcrawler.crawl.response.repaired_pages import Rereading
from aahcrawler.crawl.response.seed_trail import SeedTrail
from aahcrawler.crawl.response.session_probing import SessionProbing
from aahcrawler.crawl.response.sparql_paging import SparqlPaging
from aahcrawler.crawl.response.trap_detection import TrapDetection
from aahcrawler.crawl.response.visit_noting import VisitNoting


@dataclass(frozen=True, slots=True)
class RunningCrawl:
    """What a crawl goes by, writes to, asks for pages with, and when it ends."""

    context: CurrentContext
    writer: StoreWriter
    fetching: FetchControl
    lifecycle: Lifecycle


@dataclass(frozen=True, slots=True)
class ResponseSteps:
    """The steps that a response goes through, and what they learn from and tell."""

    recrawl: Recrawl
    trap_detection: TrapDetection
    analyser: PageAnalyser
    announced_feeds: AnnouncedFeeds
    url_lists: UrlLists
    listings: Listings
    transcripts: Transcripts
    link_ranking: LinkRanking
    batch_scoring: BatchScoring
    seed_trail: SeedTrail
    sessions: SiteSessions
    budgets: DomainBudgets
    session_probing: SessionProbing
    visit_noting: VisitNoting
    sparql_paging: SparqlPaging
    rendering: PageRendering | None = None
    peer_export: PeerExport | None = None
    rereading: Rereading | None = None


class LeaseHandling:
    """Base of what handles leases of a running crawl: each part that it uses on every page is one attribute away."""

    def __init__(self, crawl: RunningCrawl, steps: ResponseSteps) -> None:
        self._context = crawl.context
        self._writer = crawl.writer
        self._fetching = crawl.fetching
        self._lifecycle = crawl.lifecycle
        self._steps = steps
        self._frontier = crawl.writer.stores.frontier

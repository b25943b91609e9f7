"""Opening a crawl: a definition and a folder become a job, or a clear refusal."""

import json
import logging
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from aahcrawler import __version__
from aahcrawler.adaptation.overlay import LEARNED
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History, Kept
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.target import target_mistakes
from aahcrawler.archive.writer import WarcWriter, recover_archive
from aahcrawler.crawl.beginning import clear, offer_former, offer_seeds
from aahcrawler.crawl.events import keep_events
from aahcrawler.crawl.fingerprint import files_digest, fingerprint
from aahcrawler.crawl.folder import CrawlFolder
from aahcrawler.crawl.job import BEGUN, Job, Stores, Understanding
from aahcrawler.crawl.knowledge import Knowledge
from aahcrawler.crawl.reference import fetch_documents
from aahcrawler.crawl.succession import Start
from aahcrawler.crawl.writing import write_whole
from aahcrawler.crawls import REDIS_URL, frontier_name, frontier_settings
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.connection import connect
from aahcrawler.frontier.embedded import EmbeddedServer
from aahcrawler.frontier.protocol import Frontier
from aahcrawler.frontier.redis_frontier import RedisFrontier
from aahcrawler.objects.writer import ObjectWriter, recover_objects
from aahcrawler.scope import Scope
from online_analysis.analysers import analysers
from online_analysis.icd import Icd, IcdError
from online_analysis.topic import build_topic

logger = logging.getLogger(__name__)


def open_job(path: Path, folders: tuple[Path, ...], *, accept_changes: bool = False, adapt: bool = True) -> Job:
    """Open the crawl of the definition at ``path``: a first one, one that stopped, or the next one after one is over.

    ``folders`` hold the knowledge base, which is looked at again while the crawl runs. Torn files of a crawl that was
    killed are mended first, and what was being fetched then is queued again. Without ``adapt`` actions that fail on a
    site are reported and not mended. Raise ``IcdError`` for mistakes in the definition, ``LoadError`` for those in the
    knowledge base, ``CrawlRefusedError`` for a folder that cannot be used, and ``FrontierUnavailableError`` where there
    is no server for the frontier.
    """
    now, icd = datetime.now(UTC), Icd.load(path)
    if mistakes := target_mistakes(icd):
        raise IcdError(mistakes)
    values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
    knowledge = Knowledge(folders, values, adapt=adapt)
    with ExitStack() as opening:
        folder = CrawlFolder.open(icd, accept_changes=accept_changes)
        opening.callback(folder.close)
        opening.enter_context(keep_events(folder.log))
        knowledge.share(folder.root)
        _recover(folder)
        delivery = _delivery(icd, folder, opening)
        size, number = icd.archive.size, folder.standing.number
        history = opening.enter_context(History(folder.archive, folder.indexes))
        index = opening.enter_context(closing(IndexWriter(folder.archive, folder.indexes)))
        archive = opening.enter_context(WarcWriter(folder.archive, _crawl_info(icd, number), size=size, index=index))
        objects = opening.enter_context(ObjectWriter(folder.objects, icd.id, lambda: datetime.now(UTC), size=size))
        texts = _reference_texts(icd, folder, partial(_keep, archive, history, number))
        analysed_by = analysers(icd, build_topic(icd, texts))
        frontier, scope = _frontier(icd, folder, opening), Scope(icd)
        known = _begin(icd, folder, (frontier, history, scope), now)
        stores = Stores(folder, frontier, archive, history, objects, opening.pop_all(), delivery)

    def understood_by() -> str:
        return fingerprint(icd, texts, files_digest(folders, folder.root / LEARNED))

    job = Job(icd, stores, Understanding(knowledge.helper, analysed_by, scope, understood_by()))
    job.beginning = _said(folder, known)
    logger.info("%s, in %s by AAHCrawler %s", job.beginning, folder.root, __version__)
    job.alongside.append(partial(knowledge.watch, lambda helper: job.use_helper(helper, understood_by())))
    return job


def _begin(icd: Icd, folder: CrawlFolder, parts: tuple[Frontier, History, Scope], now: datetime) -> int:
    """Offer what a crawl begins with, and keep its definition: from then on it goes on where it stops.

    Return how many pages of former crawls it knows, 0 for one that goes on.
    """
    frontier, history, scope = parts
    known = 0
    offer_seeds(icd.seeds, frontier, scope)
    if folder.standing.start is not Start.GOES_ON:
        if folder.standing.start is Start.ANEW:
            known = offer_former(history, icd.seeds, frontier, scope)
        if BEGUN not in frontier.tallies():
            frontier.count({BEGUN: now.timestamp()})
    folder.keep_definition(icd)
    return known


def _said(folder: CrawlFolder, known: int) -> str:
    number, start = folder.standing.number, folder.standing.start
    knowing = f", knowing {known:,} pages of the crawls before" if start is Start.ANEW else ""
    return f"crawl {number} {start}{knowing}"


def _recover(folder: CrawlFolder) -> None:
    for recovered in (*recover_archive(folder.archive), *recover_objects(folder.objects)):
        logger.warning("mended after a crash: %s", recovered)


def _delivery(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Delivery | None:
    """Begin to copy closed files to the ICD's target; ends after the writers, whose last files it still takes."""
    address = icd.archive.target
    return opening.enter_context(Delivery(folder.root, icd.id, address)) if address else None


def _crawl_info(icd: Icd, number: int) -> CrawlInfo:
    return CrawlInfo(
        crawl=icd.id,
        software=f"AAHCrawler/{__version__}",
        operator=icd.operator,
        contact=icd.contact,
        user_agent=icd.user_agent(),
        robots=icd.politeness.robots,
        description=icd.title,
        # Where this machine keeps things is nobody's business but its own.
        definition=json.dumps(icd.model_dump(mode="json", exclude={"archive", "output"}, exclude_none=True)),
        crawl_number=number,
    )


def _keep(archive: WarcWriter, history: History, number: int, exchange: Exchange) -> None:
    history.add(Kept.of(archive.write(exchange), exchange, number))


def _reference_texts(icd: Icd, folder: CrawlFolder, keep: Callable[[Exchange], None]) -> Mapping[str, str]:
    """Return the texts of reference documents on the web: those kept at the first start, or fetched now and kept.

    The next crawl goes by the same texts, so that its scores can be compared.
    """
    kept = folder.known_topic
    known: dict[str, str] = json.loads(kept.read_text("utf-8")) if kept is not None else {}
    wanted = [document for document in icd.document_urls() if document.url not in known]
    if wanted:
        fetched = fetch_documents(icd, folder.spool, keep)
        if fetched.mistakes:
            raise IcdError(fetched.mistakes)
        known |= fetched.texts
    if wanted or (known and kept != folder.topic):
        write_whole(folder.topic, json.dumps(known, ensure_ascii=False))
    return known


def _frontier(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Frontier:
    shared = os.environ.get(REDIS_URL)
    number, settings = folder.standing.number, frontier_settings(icd)
    if not shared and folder.standing.start is Start.ANEW:
        clear(folder.frontier)
    url = shared or opening.enter_context(EmbeddedServer(folder.frontier)).url
    if shared and folder.standing.start is Start.ANEW:
        # What the crawl before has left behind, and what a beginning of this one has that was cut off.
        for crawl in (number - 1, number):
            with closing(RedisFrontier(connect(url), frontier_name(icd.id, crawl), settings)) as left:
                left.remove()
    frontier = RedisFrontier(connect(url), frontier_name(icd.id, number), settings)
    opening.callback(frontier.close)
    if not shared:
        returned = frontier.recover()
        if returned:
            logger.warning("%d URLs were being fetched when the crawl ended; they are queued again", returned)
    return frontier

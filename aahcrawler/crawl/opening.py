"""Opening a crawl: a definition and a folder become a job, or a clear refusal."""

import json
import logging
import os
from collections.abc import Mapping
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from aahcrawler import __version__, urls
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.target import target_mistakes
from aahcrawler.archive.writer import WarcWriter, recover_archive
from aahcrawler.crawl.events import keep_events
from aahcrawler.crawl.folder import CrawlFolder, write_whole
from aahcrawler.crawl.job import Job, Stores, Understanding
from aahcrawler.crawl.knowledge import Knowledge
from aahcrawler.crawl.reference import fetch_documents
from aahcrawler.frontier.connection import connect
from aahcrawler.frontier.embedded import EmbeddedServer
from aahcrawler.frontier.protocol import Frontier, FrontierSettings, Offer, Update
from aahcrawler.frontier.redis_frontier import RedisFrontier
from aahcrawler.objects.writer import ObjectWriter, recover_objects
from aahcrawler.scope import Scope
from online_analysis.analysers import analysers
from online_analysis.icd import Icd, IcdError
from online_analysis.topic import build_topic

logger = logging.getLogger(__name__)

REDIS_URL = "AAH_REDIS_URL"
"""The environment variable that names a shared Redis-protocol server; without it each crawl has its own."""
SEED_SCORE = 1.0


def open_job(path: Path, folders: tuple[Path, ...], *, accept_changes: bool = False) -> Job:
    """Open the crawl of the definition at ``path``, a new one or one that stopped.

    ``folders`` hold the knowledge base, which is looked at again while the crawl runs. Torn files of a crawl that was
    killed are mended first, and what was being fetched then is queued again. Raise ``IcdError`` for mistakes in the
    definition, ``LoadError`` for those in the knowledge base, ``CrawlRefusedError`` for a folder that cannot be used,
    and ``FrontierUnavailableError`` where there is no server for the frontier.
    """
    icd = Icd.load(path)
    if mistakes := target_mistakes(icd):
        raise IcdError(mistakes)
    knowledge = Knowledge(folders, {"keywords": icd.topic.keywords, "entities": icd.topic.entities})
    with ExitStack() as opening:
        folder = CrawlFolder.open(icd, accept_changes=accept_changes)
        opening.callback(folder.close)
        opening.enter_context(keep_events(folder.log))
        knowledge.share(folder.root)
        _recover(folder)
        delivery = _delivery(icd, folder, opening)
        size = icd.archive.size
        index = opening.enter_context(closing(IndexWriter(folder.archive, folder.indexes)))
        archive = opening.enter_context(WarcWriter(folder.archive, _crawl_info(icd), size=size, index=index))
        objects = opening.enter_context(ObjectWriter(folder.objects, icd.id, lambda: datetime.now(UTC), size=size))
        topic = build_topic(icd, _reference_texts(icd, folder, archive))
        frontier = _frontier(icd, folder, opening)
        understanding = Understanding(knowledge.helper, analysers(icd, topic), Scope(icd))
        folder.keep_definition(icd)
        _offer_seeds(icd, frontier, understanding.scope)
        stores = Stores(folder, frontier, archive, objects, opening.pop_all(), delivery)
    logger.info("crawl %s opened in %s by AAHCrawler %s", icd.id, folder.root, __version__)
    job = Job(icd, stores, understanding)
    job.alongside.append(partial(knowledge.watch, job.use_helper))
    return job


def _recover(folder: CrawlFolder) -> None:
    for recovered in (*recover_archive(folder.archive), *recover_objects(folder.objects)):
        logger.warning("mended after a crash: %s", recovered)


def _delivery(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Delivery | None:
    """Begin to copy closed files to the ICD's target; ends after the writers, whose last files it still takes."""
    address = icd.archive.target
    return opening.enter_context(Delivery(folder.root, icd.id, address)) if address else None


def _crawl_info(icd: Icd) -> CrawlInfo:
    return CrawlInfo(
        crawl=icd.id,
        software=f"AAHCrawler/{__version__}",
        operator=icd.operator,
        contact=icd.contact,
        user_agent=icd.user_agent(),
        robots=icd.politeness.robots,
        description=icd.title,
    )


def _reference_texts(icd: Icd, folder: CrawlFolder, archive: WarcWriter) -> Mapping[str, str]:
    """Return the texts of reference documents on the web: those kept at the first start, or fetched now and kept."""
    kept = folder.root / "topic.json"
    known: dict[str, str] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    wanted = [document for document in icd.document_urls() if document.url not in known]
    if wanted:
        fetched = fetch_documents(icd, folder.spool, archive.write)
        if fetched.mistakes:
            raise IcdError(fetched.mistakes)
        known |= fetched.texts
        write_whole(kept, json.dumps(known, ensure_ascii=False))
    return known


def _frontier(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Frontier:
    shared = os.environ.get(REDIS_URL)
    url = shared or opening.enter_context(EmbeddedServer(folder.frontier)).url
    frontier = RedisFrontier(connect(url), icd.id, _frontier_settings(icd))
    opening.callback(frontier.close)
    if not shared:
        returned = frontier.recover()
        if returned:
            logger.warning("%d URLs were being fetched when the crawl ended; they are queued again", returned)
    return frontier


def _frontier_settings(icd: Icd) -> FrontierSettings:
    politeness, limits = icd.politeness, icd.limits
    return FrontierSettings(
        update=Update(icd.scoring.update),
        balance=icd.scoring.balance,
        pages=limits.pages,
        pages_per_queue=limits.pages_per_domain,
        lease_seconds=lease_seconds(icd),
        attempts=politeness.retries + 1,
        connections=politeness.connections,
    )


def lease_seconds(icd: Icd) -> float:
    """Return how long a worker may hold a lease: robots.txt and page, each with its longest wait, for a whole batch."""
    politeness = icd.politeness
    longest = 2 * (politeness.timeout.total_seconds() + politeness.max_delay.total_seconds())
    return max(300.0, longest) * icd.scoring.balance


def _offer_seeds(icd: Icd, frontier: Frontier, scope: Scope) -> None:
    seeds = filter(None, map(urls.canonicalize, icd.seeds))
    offers = [Offer(url, urls.queue_of(url), SEED_SCORE) for url in seeds]
    frontier.offer([offer for offer in offers if scope.admit(offer.url, offer.queue) is None])

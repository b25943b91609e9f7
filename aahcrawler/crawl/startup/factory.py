"""Opening a crawl: a definition and a folder become a job, or a clear refusal."""

import json
import logging
import os
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Protocol

from aahcrawler import __version__
from aahcrawler.adaptation.overlay import LEARNED
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History, Kept, Writers
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.target import target_mistakes
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.crawl.core.job import Job
from aahcrawler.crawl.core.stores import Stores
from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.core.understanding import Understanding
from aahcrawler.crawl.directory import crawl_runs
from aahcrawler.crawl.directory.crawl_runs import Start
from aahcrawler.crawl.directory.definition_source import DefinitionFile, DefinitionSource
from aahcrawler.crawl.directory.files import write_whole
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawl.health.disk_sync import synced
from aahcrawler.crawl.peers.peer_export import TOKEN, PeerExport
from aahcrawler.crawl.peers.score_push import PushPolicy, ScorePusher
from aahcrawler.crawl.reload.config_reload import ConfigReload, actions, clear_pending, mark_pending
from aahcrawler.crawl.reload.knowledge_reload import LiveKnowledgeBase
from aahcrawler.crawl.reporting.summary import summary
from aahcrawler.crawl.response.trap_detection import TrapsFile
from aahcrawler.crawl.startup.fingerprint import files_digest, fingerprint
from aahcrawler.crawl.startup.frontier_connection import FrontierConnection, join_frontier, open_frontier
from aahcrawler.crawl.startup.recovery import repair_folder, replayed_ranker, score_unscored
from aahcrawler.crawl.startup.reference_documents import fetch_documents, reader
from aahcrawler.crawl.startup.seeding import Seeder
from aahcrawler.crawl.stats.collector import BEGUN
from aahcrawler.crawl.stats.crawl_log import keep_events
from aahcrawler.exchange import Exchange
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.refusals import RefusalLog
from aahcrawler.scope import Scope, Spelling
from aahcrawler.scores import ScoreLog, Terms
from aahcrawler.wire.ip_policy import IpPolicy
from knowledge_base.model import KnowledgeBase
from online_analysis.analysers import analysers, seeds_of_posts
from online_analysis.icd import Icd, IcdError, changes, parts
from online_analysis.kept_topic import KeptTopic
from online_analysis.learning import TopicLearning, topic_learning
from online_analysis.ranking import link_ranker
from online_analysis.topic import Topic

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """The folders of the knowledge base, which are looked at again while a crawl runs, and whether it mends itself.

    Without ``adapt`` actions that fail on a site are reported and not mended.
    """

    folders: tuple[Path, ...]
    adapt: bool = True

    def load(self, icd: Icd) -> LiveKnowledgeBase:
        """Load it for a crawl. Raise ``LoadError`` with every mistake of every file."""
        values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
        return LiveKnowledgeBase(self.folders, values, adapt=self.adapt)


class SharedTopic(Protocol):
    """What all workers of a crawl share of its topic beyond its definition (``KeptTopic.text``)."""

    def read(self) -> str | None:
        """Return it, None where nobody has shared it yet."""

    def keep(self, text: str) -> None:
        """Share it with the others."""


@dataclass(frozen=True, slots=True)
class SharedCrawl:
    """A crawl that other processes may work on as well.

    ``number`` counts the crawls of its definition, ``begun_at`` is when this one began, and ``server`` the address of
    the server that has its frontier.
    """

    number: int
    begun_at: datetime
    server: str
    topic: SharedTopic


def open_job(path: Path, folders: tuple[Path, ...], *, accept_changes: bool = False, adapt: bool = True) -> Job:
    """Open the crawl of the definition at ``path``: a first one, one that stopped, or the next one after one is over.

    ``folders`` hold the knowledge base; it and the definition are looked at again while the crawl runs. Torn files of a
    crawl that was killed are mended first, and what was being fetched then is queued again. Without ``adapt`` actions
    that fail on a site are reported and not mended. Raise ``IcdError`` for mistakes in the definition, ``LoadError``
    for those in the knowledge base, ``CrawlRefusedError`` for a folder that cannot be used, and
    ``FrontierUnavailableError`` where there is no server for the frontier.
    """
    source = DefinitionFile(path)
    icd = checked(source.load())
    choice = KnowledgeSource(folders, adapt)
    knowledge = choice.load(icd)
    with ExitStack() as opening:
        folder = CrawlFolder.open(icd, accept_changes=accept_changes)
        opening.callback(folder.close)
        return _open(icd, folder, Sources(choice, knowledge, source), opening, None)


def join_job(icd: Icd, shared_crawl: SharedCrawl, choice: KnowledgeSource, source: DefinitionSource) -> Job:
    """Open this process's part of a crawl; others may open theirs, in the same folder or in folders of their own.

    What a killed process left in the folder is mended by the first one that opens it. Errors are those of ``open_job``.
    """
    knowledge = choice.load(checked(icd))
    with ExitStack() as opening:
        folder = CrawlFolder.join(icd, shared_crawl.number, shared_crawl.begun_at)
        opening.callback(folder.close)
        job = _open(icd, folder, Sources(choice, knowledge, source), opening, shared_crawl)
        if folder.is_first:
            folder.write_summary(summary(job, "running"))
            folder.share()
        return job


@dataclass(frozen=True, slots=True)
class Sources:
    """What a crawl looks at again while it runs: its knowledge base and its definition."""

    choice: KnowledgeSource
    knowledge: LiveKnowledgeBase
    definition: DefinitionSource


def checked(icd: Icd) -> Icd:
    """Return a definition that this machine can act on; raise ``IcdError`` otherwise."""
    if mistakes := target_mistakes(icd):
        raise IcdError(mistakes)
    return icd


def _open(
    icd: Icd,
    folder: CrawlFolder,
    sources: Sources,
    opening: ExitStack,
    shared_crawl: SharedCrawl | None,
) -> Job:
    """Open all that a job needs, and hand what closes it to the job; on errors it is left in ``opening``."""
    now, knowledge = datetime.now(UTC), sources.knowledge
    opening.enter_context(keep_events(folder.log, icd.id))
    knowledge.share(folder.root)
    repair_folder(folder)
    delivery = begun_delivery(icd, folder, opening) if folder.lock.keeps else None
    size, number = icd.archive.size, folder.run.number
    named = icd.id if shared_crawl is None else f"{icd.id}-{folder.label}"
    history = opening.enter_context(_history(folder, shared_crawl))
    index = opening.enter_context(closing(IndexWriter(folder.archive, folder.indexes)))
    archive = opening.enter_context(
        WarcWriter(folder.archive, _crawl_info(icd, number), size=size, name=named, index=index)
    )
    objects = opening.enter_context(ObjectWriter(folder.objects, named, lambda: datetime.now(UTC), size=size))
    shared_topic = shared_crawl.topic if shared_crawl is not None else None
    keeping = partial(_keep, archive, history, number)
    topic_learner = _topic_learner(icd, folder, keeping, shared_topic, knowledge.helper.knowledge_base)
    topic = topic_learner.topic
    analysed_by = analysers(icd, topic)
    connection, scope = _connection(icd, folder, opening, shared_crawl), Scope(icd)
    frontier = connection.frontier
    scores = opening.enter_context(_score_log(icd, folder, named))
    opening.enter_context(synced(archive, objects, scores))
    ranker = link_ranker(icd.scoring)
    lessons = None if ranker is None else replayed_ranker(ranker, folder, frontier, scores)
    if icd.scoring.batch > 1 and folder.is_first:
        score_unscored(folder, frontier, scores)
    known = _seed(icd, folder, Seeder(frontier, scope, scores), history, now)
    traps_file = opening.enter_context(closing(TrapsFile(folder.root, number)))
    refusals = opening.enter_context(_refusal_log(icd, folder, named))
    beside = delivery, connection.addresses(opening), connection.revive, refusals, frontier
    stores = Stores(folder, frontier, archive, history, objects, scores, opening.pop_all(), *beside)

    def understood_by(icd: Icd) -> str:
        digest = files_digest(sources.choice.folders, folder.root / LEARNED)
        return fingerprint(icd, topic_learner.kept.meaning, digest)

    learns = topic_learner if folder.is_first else None
    known_by = Understanding(knowledge.helper, analysed_by, scope, understood_by(icd), lessons, topic, learns)
    known_by.traps.use(icd.traps)
    traps_file.recall(known_by.traps)
    job = Job(icd, stores, known_by)
    job.started_as = _description(folder, known)
    job.peer_export = _peer_export(icd, job.wire_settings.addresses)
    logger.info("%s, in %s by AAHCrawler %s", job.started_as, folder.root, __version__)

    def use(topic: Topic) -> None:
        try:
            job.use_topic(topic, analysers(job.icd, topic), understood_by(job.icd))
        except IcdError as error:  # A plug-in or model that was there when the crawl was opened.
            logger.error("pages are scored by the topic as it was before until the crawl is started again: %s", error)

    topic_learner.changed.append(use)
    job.background.append(partial(traps_file.keep, lambda: job.understanding.traps))
    job.background.append(partial(knowledge.watch, lambda helper: job.use_helper(helper, understood_by(job.icd))))
    job.background.append(ConfigReload(job, sources.definition, understood_by, actions(job, frontier)).watch)
    if not folder.is_first:
        job.background.append(topic_learner.follow)
    return job


def _seed(icd: Icd, folder: CrawlFolder, seeder: Seeder, history: History, now: datetime) -> int:
    """Offer what a crawl begins with, and keep its definition: from then on it goes on where it stops.

    Return how many pages of former crawls it knows, 0 for one that goes on.
    """
    known = 0
    seeder.seeds(icd.seeds)
    seeder.postings(seeds_of_posts(icd))
    if folder.run.start is not Start.RESUMED:
        if folder.run.start is Start.NEXT:
            known = seeder.former(history, icd.seeds)
        if folder.run.begun_at is None and BEGUN not in seeder.frontier.stats():
            seeder.frontier.count({BEGUN: now.timestamp()})
    if folder.is_first:
        _keep_definition(icd, folder)
    return known


def _keep_definition(icd: Icd, folder: CrawlFolder) -> None:
    """Keep what a crawl goes by, and note in what that is otherwise for one that goes on."""
    if folder.run.start is Start.RESUMED:
        mark_pending(folder.root, parts(changes(crawl_runs.definition(folder.root), icd)))
    else:
        clear_pending(folder.root)
    folder.keep_definition(icd)


def _description(folder: CrawlFolder, known: int) -> str:
    number, start = folder.run.number, folder.run.start
    knowing = f", knowing {known:,} pages of the crawls before" if start is Start.NEXT else ""
    return f"crawl {number} {start}{knowing}"


def _history(folder: CrawlFolder, shared_crawl: SharedCrawl | None) -> History:
    if shared_crawl is None:
        return History(folder.archive, folder.indexes)
    return History(folder.archive, folder.indexes, writers=Writers.FIRST if folder.is_first else Writers.JOINED)


def _score_log(icd: Icd, folder: CrawlFolder, named: str) -> ScoreLog:
    terms = Terms(folder.run.number, icd.scoring)
    return ScoreLog(folder.scores, named, terms, lambda: datetime.now(UTC), size=icd.archive.size)


def _refusal_log(icd: Icd, folder: CrawlFolder, named: str) -> RefusalLog:
    number = folder.run.number
    return RefusalLog(folder.refused, named, number, lambda: datetime.now(UTC), size=icd.archive.size)


def begun_delivery(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Delivery | None:
    """Begin to copy closed files to the ICD's target; ends after the writers, whose last files it still takes."""
    address = icd.archive.target
    return opening.enter_context(Delivery(folder.root, icd.id, address)) if address else None


def _peer_export(icd: Icd, policy: IpPolicy) -> PeerExport | None:
    wanted = icd.scoring.post_to
    if wanted is None:
        return None
    target = f"{wanted.url.rstrip('/')}/v1/crawls/{wanted.crawl}/urls"
    poster = ScorePusher(target, os.environ.get(TOKEN, ""), PushPolicy(timeout=10.0))
    return PeerExport(poster, wanted.at_least, policy)


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


def _topic_learner(
    icd: Icd,
    folder: CrawlFolder,
    keep: Callable[[Exchange], None],
    shared: SharedTopic | None,
    knowledge_base: KnowledgeBase,
) -> TopicLearner:
    """Return the topic as it is known by now: what was kept at the first start, and what was learned since.

    Texts of reference documents on the web that are not kept, nor known to others, are fetched and kept. The next
    crawl goes by the same texts and has learned the same, so that its scores can be compared.
    """
    known = folder.known_topic
    kept = _kept_topic(known)
    if known is None and shared is not None and (known_text := shared.read()) is not None:
        kept = KeptTopic.parse(known_text.encode())
    texts = dict(kept.texts)
    wanted = [document for document in icd.document_urls() if document.url not in texts]
    if wanted:
        fetched = fetch_documents(icd, folder.spool, keep, reader(knowledge_base))
        if fetched.mistakes:
            raise IcdError(fetched.mistakes)
        texts |= fetched.texts
    learning = partial(_learning, icd)
    now = KeptTopic(texts, kept.learned)
    if not folder.is_first:
        return TopicLearner(folder, now, learning)
    if wanted or (not now.is_empty and known != folder.topic):
        write_whole(folder.topic, now.text)
        if shared is not None:
            shared.keep(now.text)
    topic_learner = TopicLearner(folder, now, learning)
    topic_learner.replay()
    return topic_learner


def _learning(icd: Icd, known: KeptTopic) -> TopicLearning:
    seeds = filter(None, map(Spelling(icd.scope.canonical).url, icd.seeds))
    return topic_learning(icd, known.texts, seeds, known.learned)


def _kept_topic(path: Path | None) -> KeptTopic:
    try:
        return KeptTopic.parse(path.read_bytes()) if path is not None else KeptTopic()
    except ValueError as error:
        raise CrawlRefusedError(f"{path}: is damaged ({error}); remove it, and the topic is learned anew") from error


def _connection(
    icd: Icd, folder: CrawlFolder, opening: ExitStack, shared_crawl: SharedCrawl | None
) -> FrontierConnection:
    if shared_crawl is None:
        return open_frontier(icd, folder, opening)
    return join_frontier(icd, shared_crawl.number, shared_crawl.server, opening)

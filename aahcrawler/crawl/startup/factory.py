"""Open a crawl: a definition and a folder become a job, or a clear refusal."""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path

from aahcrawler import __version__
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import History
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.target import target_mistakes
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.crawl.core.lifecycle import Background, Reporting, WorkerRole
from aahcrawler.crawl.core.stores import CrawlContext, CurrentContext, Stores
from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.directory import crawl_runs
from aahcrawler.crawl.directory.crawl_runs import Start, write_whole
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawl.fetch.client_settings import connection_mistakes, notes, wire_settings
from aahcrawler.crawl.fetch.sourced_captures import SourcedCaptures, open_sources
from aahcrawler.crawl.health.disk_space import synced
from aahcrawler.crawl.lease.lease_source import Slots
from aahcrawler.crawl.reload.config_reload import (
    BlockControl,
    ConfigReload,
    DefinitionFile,
    DefinitionSource,
    ReloadedCrawl,
    ScopeUpdate,
    actions,
    clear_pending,
    mark_pending,
)
from aahcrawler.crawl.reload.knowledge_reload import LiveKnowledgeBase
from aahcrawler.crawl.reporting.summary import summary
from aahcrawler.crawl.response.trap_detection import TrapsFile
from aahcrawler.crawl.startup.job import Job, JobOptions, assemble
from aahcrawler.crawl.startup.store_opening import (
    FrontierConnection,
    Seeder,
    SharedTopic,
    archive_exchange,
    begin_delivery,
    browser_notes,
    crawl_info,
    described,
    join_frontier,
    open_change_log,
    open_frontier,
    open_history,
    open_refusal_log,
    open_score_log,
    open_topic,
    peer_export,
    repair_folder,
    replayed_ranker,
    score_unscored,
)
from aahcrawler.crawl.stats.collector import BEGUN
from aahcrawler.crawl.stats.crawl_log import conceal, keep_events
from aahcrawler.credentials.given import Credentials, read_credentials
from aahcrawler.exclusions import Exclusions
from aahcrawler.fingerprint import files_digest, fingerprint
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.layout import DEMAND, LEARNED, REMOVING, RESTING
from aahcrawler.objects.writer import ObjectWriter
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.schedule.child_crawls import CrawlTold
from aahcrawler.schedule.page_rhythms import PageRhythm, RestingPages, due_pages, series_by
from aahcrawler.scope import Scope, Spelling
from aahcrawler.scores import Lessons, ScoreLog
from aahcrawler.segments import DamageError
from aahcrawler.sources.source import ArchiveFolderError, SnapshotChoice
from aahcrawler.tombstones import TakenDown
from knowledge_base.file_selection import folders_for
from online_analysis.analysers import analysers, seeds_of_posts
from online_analysis.icd import Icd, IcdError, changes, parts
from online_analysis.ranking import link_ranker
from online_analysis.topic import Topic

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnowledgeSource:
    """The named folders of the knowledge base, and whether it mends itself.

    They are looked at again while a crawl runs, and so are the own entries beside the crawl. Without ``adapt`` actions
    that fail on a site are reported and not mended.
    """

    named: tuple[Path, ...]
    adapt: bool = True

    def folders(self, icd: Icd) -> tuple[Path, ...]:
        """Return the folders that count for the crawl of a definition, the weakest first."""
        return folders_for(icd.output, self.named)

    def load(self, icd: Icd) -> LiveKnowledgeBase:
        """Load it for a crawl. Raise ``LoadError`` with every mistake of every file."""
        values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
        return LiveKnowledgeBase(self.folders(icd), values, adapt=self.adapt)


@dataclass(frozen=True, slots=True)
class SharedCrawl:
    """A crawl that other processes may work on as well.

    ``number`` counts the crawls of its definition, ``begun_at`` is when this one began, and ``server`` the URL of
    the server that has its frontier.
    """

    number: int
    begun_at: datetime
    server: str
    topic: SharedTopic


def open_job(
    path: Path,
    folders: tuple[Path, ...],
    *,
    accept_changes: bool = False,
    adapt: bool = True,
    revisits: PageRhythm | None = None,
) -> Job:
    """Open the crawl of the definition at ``path``: a first one, one that stopped, or the next one after one is over.

    ``folders`` name the knowledge base; it and the definition are looked at again while the crawl runs. Torn files of a
    crawl that was killed are mended first, and what was being fetched then is queued again. Without ``adapt`` actions
    that fail on a site are reported and not mended. ``revisits`` says which known pages are visited again; None: all.
    Raise ``IcdError`` for mistakes in the definition, ``LoadError``
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
        job = _open(icd, folder, Sources(choice, knowledge, source, revisits), opening, Others())
        folder.note_start(path)
        return job


def join_job(
    icd: Icd, shared_crawl: SharedCrawl, choice: KnowledgeSource, source: DefinitionSource, slots: Slots | None = None
) -> Job:
    """Open this process's part of a crawl; others may open theirs, in the same folder or in folders of their own.

    What a killed process left in the folder is mended by the first one that opens it. Errors are those of ``open_job``.
    """
    knowledge = choice.load(checked(icd))
    with ExitStack() as opening:
        folder = CrawlFolder.join(icd, shared_crawl.number, shared_crawl.begun_at)
        opening.callback(folder.close)
        job = _open(icd, folder, Sources(choice, knowledge, source), opening, Others(shared_crawl, slots))
        if folder.is_first:
            folder.write_summary(summary(job.lifecycle, "running"))
            folder.share()
        return job


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources that a crawl reads again while it runs: its knowledge base and its definition.

    ``revisits`` says which known pages are visited again, None where all are.
    """

    choice: KnowledgeSource
    knowledge: LiveKnowledgeBase
    definition: DefinitionSource
    revisits: PageRhythm | None = None


@dataclass(frozen=True, slots=True)
class Others:
    """The crawl as others work on it, None where this process is alone, and the slots that it shares with others."""

    crawl: SharedCrawl | None = None
    slots: Slots | None = None

    @property
    def topic(self) -> SharedTopic | None:
        """The topic as all workers share it, None if there are no others."""
        return None if self.crawl is None else self.crawl.topic

    @property
    def options(self) -> JobOptions:
        """The options of the job; which worker leads and keeps is found out later."""
        if self.crawl is None:
            return JobOptions(slots=self.slots)
        return JobOptions(WorkerRole(is_alone=False, leads=False, keeps=False), self.slots)


def checked(icd: Icd) -> Icd:
    """Return a definition that this machine can act on; raise ``IcdError`` otherwise."""
    if mistakes := (*target_mistakes(icd), *connection_mistakes(icd)):
        raise IcdError(mistakes)
    return icd


@dataclass(frozen=True, slots=True)
class ArchiveStores:
    """The stores of what was fetched. The files of this process begin with ``named``."""

    named: str
    delivery: Delivery | None
    history: History
    archive: WarcWriter
    objects: ObjectWriter
    changes: ChangeLog


def _open(icd: Icd, folder: CrawlFolder, sources: Sources, opening: ExitStack, others: Others) -> Job:
    """Open all that a job needs, and hand what closes it to the job; on errors it is left in ``opening``.

    What may be missing on this machine is found out before anything is queued.
    """
    begun, knowledge, credentials = datetime.now(UTC), sources.knowledge, read_credentials(icd)
    former = CrawlTold.of(folder.root)
    _prepare(icd, folder, knowledge, credentials, opening)
    kept = _open_archive(icd, folder, opening, others)
    keep = partial(archive_exchange, kept.archive, kept.history, folder.run.number)
    topic_learner = open_topic(icd, folder, keep, others.topic, lambda: knowledge.helper.knowledge_base)
    scored_by = analysers(icd, topic_learner.topic)
    connection, scope = _connection(icd, folder, opening, others.crawl), _scope(icd, folder, sources)
    captures = _open_sources(icd, folder, scope)
    scores = opening.enter_context(open_score_log(icd, folder, kept.named))
    opening.enter_context(synced(kept.archive, kept.objects, kept.changes, scores))
    lessons = _recall_scores(icd, folder, connection.frontier, scores)
    known = _seed(icd, folder, Seeder(connection.frontier, scope, scores), kept.history, begun)
    traps_file = opening.enter_context(closing(TrapsFile(folder.root, folder.run.number)))
    stores = _stores(icd, folder, kept, connection, scores, opening)
    fingerprints = Fingerprints(sources.choice.folders(icd), folder.root / LEARNED, topic_learner)
    context = CrawlContext(
        icd,
        cache(lambda: knowledge.helper),  # The first one: a page goes by one helper from start to end.
        scored_by,
        scope,
        fingerprints.of(icd),
        lessons,
        topic_learner.topic,
        topic_learner if folder.is_first else None,
    )
    context.traps.use(icd.traps)
    traps_file.recall(context.traps)
    policy = wire_settings(icd, folder.spool).addresses
    last = former.crawl, former.seconds
    reporting = Reporting(_description(folder, known), peer_export(icd, policy), lambda: knowledge.used, last)
    job = assemble(context, stores, reporting, replace(others.options, credentials=credentials, sources=captures))
    captures.wait_by(job.fetching.wait_within_visit, job.fetching.ending)
    _log_start(icd, folder, reporting.started_as)
    topic_learner.changed.append(partial(_use_topic, job.context, fingerprints))
    beside = _background(job, sources, connection.frontier, traps_file, fingerprints)
    return replace(job, background=(*job.background, *beside))


def _prepare(
    icd: Icd, folder: CrawlFolder, knowledge: LiveKnowledgeBase, credentials: Credentials, opening: ExitStack
) -> None:
    """Begin the crawl's log without secrets, and mend what killed processes have left in the folder."""
    conceal(credentials.secrets)
    opening.enter_context(keep_events(folder.log, icd.id))
    knowledge.share(folder.root)
    _finish_takedown(folder)
    repair_folder(folder)


def _open_sources(icd: Icd, folder: CrawlFolder, scope: Scope) -> SourcedCaptures:
    """Open the archives that captures come from; what is newest in them is told by when the crawl began."""
    begun = folder.run.begun_at or datetime.now(UTC)
    try:
        return open_sources(icd, folder.root, SnapshotChoice.of(icd, begun), scope.exclusions.covers)
    except ArchiveFolderError as error:
        raise CrawlRefusedError(str(error)) from error


def _open_archive(icd: Icd, folder: CrawlFolder, opening: ExitStack, others: Others) -> ArchiveStores:
    """Open what is written of responses; files are delivered by the process that keeps the folder."""
    size, number, is_shared = icd.archive.size, folder.run.number, others.crawl is not None
    named = f"{icd.id}-{folder.label}" if is_shared else icd.id
    delivery = begin_delivery(icd, folder, opening) if folder.lock.keeps else None
    history = opening.enter_context(open_history(folder, is_shared=is_shared))
    index = opening.enter_context(closing(IndexWriter(folder.archive, folder.indexes)))
    archive = WarcWriter(folder.archive, crawl_info(icd, number), size=size, name=named, index=index)
    opening.enter_context(archive)
    objects = ObjectWriter(folder.objects, named, lambda: datetime.now(UTC), size=size, described=described(icd))
    opening.enter_context(objects)
    changes = opening.enter_context(open_change_log(icd, folder, named))
    return ArchiveStores(named, delivery, history, archive, objects, changes)


def _recall_scores(icd: Icd, folder: CrawlFolder, frontier: RedisControl, scores: ScoreLog) -> Lessons | None:
    """Return the ranker with what it had learned, None where none is wanted.

    What was waiting for the batch of a worker that was killed is scored.
    """
    ranker = None if icd.relevant_at is None else link_ranker(icd.scoring)
    lessons = None if ranker is None else replayed_ranker(ranker, folder, frontier, scores)
    if icd.scoring.batch > 1 and folder.is_first:
        score_unscored(folder, frontier, scores)
    return lessons


def _stores(
    icd: Icd,
    folder: CrawlFolder,
    kept: ArchiveStores,
    connection: FrontierConnection,
    scores: ScoreLog,
    opening: ExitStack,
) -> Stores:
    """Return all stores of a crawl, which close all that was opened for it."""
    frontier = connection.frontier
    return Stores(
        folder,
        frontier,
        kept.archive,
        kept.history,
        kept.objects,
        scores,
        delivery=kept.delivery,
        ip_locks=connection.ip_locks(opening),
        revive=connection.revive,
        refusals=opening.enter_context(open_refusal_log(icd, folder, kept.named)),
        changes=kept.changes,
        blocking=frontier,
        revisiting=frontier,
        sessions=frontier,
        closing=opening.pop_all(),
    )


def _log_start(icd: Icd, folder: CrawlFolder, started_as: str) -> None:
    logger.info("%s, in %s by AAHCrawler %s", started_as, folder.root, __version__)
    for note in (*notes(icd), *browser_notes(icd)):
        logger.warning("%s", note)


def _finish_takedown(folder: CrawlFolder) -> None:
    """Finish a takedown that a kill cut short, before anything of the folder is used."""
    if not (folder.is_first and (folder.root / REMOVING).exists()):
        return
    from aahcrawler.takedown.removal import TakedownError, finish  # noqa: PLC0415 - it imports the report

    try:
        if finish(folder.root):
            logger.warning("a takedown that was cut short has been finished")
    except (TakedownError, DamageError) as error:
        raise CrawlRefusedError(str(error)) from error


def _scope(icd: Icd, folder: CrawlFolder, sources: Sources) -> Scope:
    """Return the scope without what was taken down, what the institution excludes, and known pages that rest."""
    try:
        left_out = partial(Scope, icd, taken_down=TakenDown.of(folder.root), exclusions=Exclusions.of(folder.root))
    except DamageError as error:
        raise CrawlRefusedError(str(error)) from error
    number, spelling = folder.run.number, Spelling(icd.scope.canonical)
    if folder.run.start is Start.RESUMED:
        return left_out(resting=RestingPages.of(folder.root, number))
    if sources.revisits is None:
        return left_out()
    seeds = filter(None, map(spelling.url, icd.starts))
    series_of = series_by(sources.knowledge.helper.knowledge_base)
    found = due_pages(folder.root, number, sources.revisits, datetime.now(UTC), seeds, series_of)
    write_whole(folder.root / RESTING, found.resting.content())
    if found.demand is not None:
        write_whole(folder.root / DEMAND, found.demand.model_dump_json() + "\n")
    logger.info("%s", found)
    return left_out(resting=found.resting)


@dataclass(frozen=True, slots=True)
class Fingerprints:
    """Fingerprints of all that pages are analysed by under a definition."""

    folders: tuple[Path, ...]
    learned: Path
    topic_learner: TopicLearner

    def of(self, icd: Icd) -> str:
        """Return the fingerprint under a definition, as files and topic are now."""
        return fingerprint(icd, self.topic_learner.kept.meaning, files_digest(self.folders, self.learned))


def _background(
    job: Job, sources: Sources, control: BlockControl, traps_file: TrapsFile, fingerprints: Fingerprints
) -> Iterator[Background]:
    """Yield what runs beside a crawl from its start to its end."""
    crawl = ReloadedCrawl(job.context, job.writer, job.fetching, job.lifecycle.fail)
    job.fetching.leases.last_resort = ScopeUpdate(job.context, job.writer, job.fetching.leases, control).readmit
    yield partial(traps_file.keep, lambda: job.context.now.traps)
    yield partial(sources.knowledge.watch, partial(_use_helper, job.context, fingerprints), job.lifecycle.fail)
    yield partial(job.rereading.run, lambda: fingerprints.of(job.context.now.icd))
    yield ConfigReload(crawl, sources.definition, fingerprints.of, actions(crawl, control)).watch
    if not job.writer.stores.folder.is_first:
        yield fingerprints.topic_learner.follow


def _use_helper(current: CurrentContext, fingerprints: Fingerprints, helper: ApplicationAwareHelper) -> None:
    """Analyse all pages from the next one on with another helper."""
    current.use(replace(current.now, helped_by=lambda: helper, fingerprint=fingerprints.of(current.now.icd)))


def _use_topic(current: CurrentContext, fingerprints: Fingerprints, topic: Topic) -> None:
    """Score all pages from the next one on by another topic, with the analysers that compare with it."""
    icd = current.now.icd
    try:
        scored_by = analysers(icd, topic)
    except IcdError as error:  # A plug-in or model that was there when the crawl was opened.
        logger.error("pages are scored by the topic as it was before until the crawl is started again: %s", error)
        return
    current.use(replace(current.now, topic=topic, analysers=scored_by, fingerprint=fingerprints.of(icd)))


def _seed(icd: Icd, folder: CrawlFolder, seeder: Seeder, history: History, now: datetime) -> int:
    """Offer what a crawl begins with, and keep its definition: from then on it goes on where it stops.

    Return how many pages of former crawls it knows, 0 for one that goes on.
    """
    known = 0
    seeder.seeds(icd.starts)
    seeder.postings(seeds_of_posts(icd))
    if folder.run.start is not Start.RESUMED:
        if folder.run.number > 1:
            known = seeder.former(history, icd.starts)
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
    knowing = f", knowing {known:,} pages of the crawls before" if known else ""
    return f"crawl {number} {start}{knowing}"


def _connection(
    icd: Icd, folder: CrawlFolder, opening: ExitStack, shared_crawl: SharedCrawl | None
) -> FrontierConnection:
    if shared_crawl is None:
        return open_frontier(icd, folder, opening)
    return join_frontier(icd, shared_crawl.number, shared_crawl.server, opening)

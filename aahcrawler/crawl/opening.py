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
from aahcrawler.archive.history import History, HistoryRecord, Writers
from aahcrawler.archive.index import IndexWriter
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.target import target_mistakes
from aahcrawler.archive.writer import WarcWriter, recover_archive
from aahcrawler.crawl import succession
from aahcrawler.crawl.aligning import actions
from aahcrawler.crawl.attaching import AtServer, others_frontier, own_frontier
from aahcrawler.crawl.batches import score_leftovers
from aahcrawler.crawl.beginning import Beginning
from aahcrawler.crawl.definitions import DefinitionFile, DefinitionSource
from aahcrawler.crawl.events import keep_events
from aahcrawler.crawl.fingerprint import files_digest, fingerprint
from aahcrawler.crawl.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawl.job import BEGUN, Job
from aahcrawler.crawl.knowledge import Knowledge
from aahcrawler.crawl.posting import Pace, ScorePoster
from aahcrawler.crawl.recalling import recalled
from aahcrawler.crawl.redefining import Redefining, forget, note
from aahcrawler.crawl.reference import fetch_documents, reader
from aahcrawler.crawl.refining import Refining
from aahcrawler.crawl.sharing import TOKEN, Sharing
from aahcrawler.crawl.stores import Stores
from aahcrawler.crawl.succession import Start
from aahcrawler.crawl.summary import summary
from aahcrawler.crawl.syncing import synced
from aahcrawler.crawl.trapping import TrapsFile
from aahcrawler.crawl.understanding import Understanding
from aahcrawler.crawl.writing import write_whole
from aahcrawler.exchange import Exchange
from aahcrawler.objects.writer import ObjectWriter, recover_objects
from aahcrawler.refusals import RefusalLog, recover_refusals
from aahcrawler.scope import Scope, Spelling
from aahcrawler.scores import ScoreLog, Terms, recover_scores
from aahcrawler.wire.addresses import AddressPolicy
from knowledge_base.model import KnowledgeBase
from online_analysis.analysers import analysers, seeds_of_posts
from online_analysis.icd import Icd, IcdError, changes, parts
from online_analysis.ranking import link_ranker
from online_analysis.topic import Topic
from online_analysis.topic_learning import TopicLearning, topic_learning
from online_analysis.topic_state import TopicState

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class KnowledgeChoice:
    """The folders of the knowledge base, which are looked at again while a crawl runs, and whether it mends itself.

    Without ``adapt`` actions that fail on a site are reported and not mended.
    """

    folders: tuple[Path, ...]
    adapt: bool = True

    def load(self, icd: Icd) -> Knowledge:
        """Load it for a crawl. Raise ``LoadError`` with every mistake of every file."""
        values = {"keywords": icd.topic.keywords, "entities": icd.topic.entities}
        return Knowledge(self.folders, values, adapt=self.adapt)


class SharedTopic(Protocol):
    """What all workers of a crawl know of its topic beyond its definition (``TopicState.text``)."""

    def read(self) -> str | None:
        """Return it, None where nobody has told yet."""

    def keep(self, text: str) -> None:
        """Tell it to the others."""


@dataclass(frozen=True, slots=True)
class Membership:
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
    choice = KnowledgeChoice(folders, adapt)
    knowledge = choice.load(icd)
    with ExitStack() as opening:
        folder = CrawlFolder.open(icd, accept_changes=accept_changes)
        opening.callback(folder.close)
        return _open(icd, folder, Sources(choice, knowledge, source), opening, None)


def join_job(icd: Icd, membership: Membership, choice: KnowledgeChoice, source: DefinitionSource) -> Job:
    """Open this process's part of a crawl; others may open theirs, in the same folder or in folders of their own.

    What a killed process left in the folder is mended by the first one that opens it. Errors are those of ``open_job``.
    """
    knowledge = choice.load(checked(icd))
    with ExitStack() as opening:
        folder = CrawlFolder.join(icd, membership.number, membership.begun_at)
        opening.callback(folder.close)
        job = _open(icd, folder, Sources(choice, knowledge, source), opening, membership)
        if folder.is_first:
            folder.write_summary(summary(job, "running"))
            folder.share()
        return job


@dataclass(frozen=True, slots=True)
class Sources:
    """What a crawl looks at again while it runs: its knowledge base and its definition."""

    choice: KnowledgeChoice
    knowledge: Knowledge
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
    membership: Membership | None,
) -> Job:
    """Open all that a job needs, and hand what closes it to the job; on errors it is left in ``opening``."""
    now, knowledge = datetime.now(UTC), sources.knowledge
    opening.enter_context(keep_events(folder.log, icd.id))
    knowledge.share(folder.root)
    recover(folder)
    delivery = begun_delivery(icd, folder, opening) if folder.occupancy.keeps else None
    size, number = icd.archive.size, folder.standing.number
    named = icd.id if membership is None else f"{icd.id}-{folder.label}"
    history = opening.enter_context(_history(folder, membership))
    index = opening.enter_context(closing(IndexWriter(folder.archive, folder.indexes)))
    archive = opening.enter_context(
        WarcWriter(folder.archive, _crawl_info(icd, number), size=size, name=named, index=index)
    )
    objects = opening.enter_context(ObjectWriter(folder.objects, named, lambda: datetime.now(UTC), size=size))
    shared_topic = membership.topic if membership is not None else None
    keeping = partial(_keep, archive, history, number)
    refining = _refining(icd, folder, keeping, shared_topic, knowledge.helper.knowledge_base)
    topic = refining.topic
    analysed_by = analysers(icd, topic)
    at_server, scope = _at_server(icd, folder, opening, membership), Scope(icd)
    frontier = at_server.frontier
    scores = opening.enter_context(_score_log(icd, folder, named))
    opening.enter_context(synced(archive, objects, scores))
    ranker = link_ranker(icd.scoring)
    lessons = None if ranker is None else recalled(ranker, folder, frontier, scores)
    if icd.scoring.batch > 1 and folder.is_first:
        score_leftovers(folder, frontier, scores)
    known = _begin(icd, folder, Beginning(frontier, scope, scores), history, now)
    trapped = opening.enter_context(closing(TrapsFile(folder.root, number)))
    refusals = opening.enter_context(_refusal_log(icd, folder, named))
    beside = delivery, at_server.addresses(opening), at_server.revive, refusals, frontier
    stores = Stores(folder, frontier, archive, history, objects, scores, opening.pop_all(), *beside)

    def understood_by(icd: Icd) -> str:
        digest = files_digest(sources.choice.folders, folder.root / LEARNED)
        return fingerprint(icd, refining.kept.meaning, digest)

    learns = refining if folder.is_first else None
    known_by = Understanding(knowledge.helper, analysed_by, scope, understood_by(icd), lessons, topic, learns)
    known_by.traps.use(icd.traps)
    trapped.recall(known_by.traps)
    job = Job(icd, stores, known_by)
    job.beginning = _said(folder, known)
    job.sharing = _sharing(icd, job.wire_settings.addresses)
    logger.info("%s, in %s by AAHCrawler %s", job.beginning, folder.root, __version__)

    def use(topic: Topic) -> None:
        try:
            job.use_topic(topic, analysers(job.icd, topic), understood_by(job.icd))
        except IcdError as error:  # A plug-in or model that was there when the crawl was opened.
            logger.error("pages are scored by the topic as it was before until the crawl is started again: %s", error)

    refining.changed.append(use)
    job.alongside.append(partial(trapped.keep, lambda: job.understanding.traps))
    job.alongside.append(partial(knowledge.watch, lambda helper: job.use_helper(helper, understood_by(job.icd))))
    job.alongside.append(Redefining(job, sources.definition, understood_by, actions(job, frontier)).watch)
    if not folder.is_first:
        job.alongside.append(refining.follow)
    return job


def _begin(icd: Icd, folder: CrawlFolder, beginning: Beginning, history: History, now: datetime) -> int:
    """Offer what a crawl begins with, and keep its definition: from then on it goes on where it stops.

    Return how many pages of former crawls it knows, 0 for one that goes on.
    """
    known = 0
    beginning.seeds(icd.seeds)
    beginning.postings(seeds_of_posts(icd))
    if folder.standing.start is not Start.GOES_ON:
        if folder.standing.start is Start.ANEW:
            known = beginning.former(history, icd.seeds)
        if folder.standing.begun_at is None and BEGUN not in beginning.frontier.tallies():
            beginning.frontier.count({BEGUN: now.timestamp()})
    if folder.is_first:
        _keep_definition(icd, folder)
    return known


def _keep_definition(icd: Icd, folder: CrawlFolder) -> None:
    """Keep what a crawl goes by, and note in what that is otherwise for one that goes on."""
    if folder.standing.start is Start.GOES_ON:
        note(folder.root, parts(changes(succession.definition(folder.root), icd)))
    else:
        forget(folder.root)
    folder.keep_definition(icd)


def _said(folder: CrawlFolder, known: int) -> str:
    number, start = folder.standing.number, folder.standing.start
    knowing = f", knowing {known:,} pages of the crawls before" if start is Start.ANEW else ""
    return f"crawl {number} {start}{knowing}"


def recover(folder: CrawlFolder) -> None:
    """Mend what killed processes left in a folder; what others are writing is left alone."""
    torn = (
        *recover_archive(folder.archive),
        *recover_objects(folder.objects),
        *recover_scores(folder.scores),
        *recover_refusals(folder.refused),
    )
    for recovered in torn:
        logger.warning("mended after a crash: %s", recovered)


def _history(folder: CrawlFolder, membership: Membership | None) -> History:
    if membership is None:
        return History(folder.archive, folder.indexes)
    return History(folder.archive, folder.indexes, writers=Writers.FIRST if folder.is_first else Writers.JOINED)


def _score_log(icd: Icd, folder: CrawlFolder, named: str) -> ScoreLog:
    terms = Terms(folder.standing.number, icd.scoring)
    return ScoreLog(folder.scores, named, terms, lambda: datetime.now(UTC), size=icd.archive.size)


def _refusal_log(icd: Icd, folder: CrawlFolder, named: str) -> RefusalLog:
    number = folder.standing.number
    return RefusalLog(folder.refused, named, number, lambda: datetime.now(UTC), size=icd.archive.size)


def begun_delivery(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Delivery | None:
    """Begin to copy closed files to the ICD's target; ends after the writers, whose last files it still takes."""
    address = icd.archive.target
    return opening.enter_context(Delivery(folder.root, icd.id, address)) if address else None


def _sharing(icd: Icd, policy: AddressPolicy) -> Sharing | None:
    wanted = icd.scoring.post_to
    if wanted is None:
        return None
    target = f"{wanted.url.rstrip('/')}/v1/crawls/{wanted.crawl}/urls"
    poster = ScorePoster(target, os.environ.get(TOKEN, ""), Pace(timeout=10.0))
    return Sharing(poster, wanted.at_least, policy)


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
    history.add(HistoryRecord.of(archive.write(exchange), exchange, number))


def _refining(
    icd: Icd,
    folder: CrawlFolder,
    keep: Callable[[Exchange], None],
    shared: SharedTopic | None,
    knowledge_base: KnowledgeBase,
) -> Refining:
    """Return the topic as it is known by now: what was kept at the first start, and what was learned since.

    Texts of reference documents on the web that are not kept, nor known to others, are fetched and kept. The next
    crawl goes by the same texts and has learned the same, so that its scores can be compared.
    """
    known = folder.known_topic
    kept = _kept_topic(known)
    if known is None and shared is not None and (told := shared.read()) is not None:
        kept = TopicState.parse(told.encode())
    texts = dict(kept.texts)
    wanted = [document for document in icd.document_urls() if document.url not in texts]
    if wanted:
        fetched = fetch_documents(icd, folder.spool, keep, reader(knowledge_base))
        if fetched.mistakes:
            raise IcdError(fetched.mistakes)
        texts |= fetched.texts
    learning = partial(_learning, icd)
    now = TopicState(texts, kept.learned)
    if not folder.is_first:
        return Refining(folder, now, learning)
    if wanted or (not now.is_empty and known != folder.topic):
        write_whole(folder.topic, now.text)
        if shared is not None:
            shared.keep(now.text)
    refining = Refining(folder, now, learning)
    refining.recall()
    return refining


def _learning(icd: Icd, known: TopicState) -> TopicLearning:
    seeds = filter(None, map(Spelling(icd.scope.canonical).url, icd.seeds))
    return topic_learning(icd, known.texts, seeds, known.learned)


def _kept_topic(path: Path | None) -> TopicState:
    try:
        return TopicState.parse(path.read_bytes()) if path is not None else TopicState()
    except ValueError as error:
        raise CrawlRefusedError(f"{path}: is damaged ({error}); remove it, and the topic is learned anew") from error


def _at_server(icd: Icd, folder: CrawlFolder, opening: ExitStack, membership: Membership | None) -> AtServer:
    if membership is None:
        return own_frontier(icd, folder, opening)
    return others_frontier(icd, membership.number, membership.server, opening)

"""What a crawl is opened with: its stores, its frontier and seeds, its topic, its ranker, its browser."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from time import monotonic
from typing import Protocol

from aahcrawler import __version__, urls
from aahcrawler.archive.delivery import Delivery
from aahcrawler.archive.history import Former, History, HistoryRecord, Writers
from aahcrawler.archive.records import CrawlInfo
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.browser.process.chromium_executable import BrowserUnavailableError, find_chromium, require_extra
from aahcrawler.crawl.browsing.routes import is_demanded
from aahcrawler.crawl.core.stores import not_revived
from aahcrawler.crawl.core.topic_learner import TopicLearner
from aahcrawler.crawl.directory.crawl_runs import Start, write_whole
from aahcrawler.crawl.directory.folder import CrawlFolder, CrawlRefusedError
from aahcrawler.crawl.peers import TOKEN, PeerExport, PushPolicy, ScorePusher
from aahcrawler.crawl.startup.reference_documents import fetch_documents, reader
from aahcrawler.crawls import frontier_name, frontier_settings
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Frontier, Offer, Offered, Rescore, Scheduling, State
from aahcrawler.frontier.redis.control import RedisControl
from aahcrawler.frontier.redis.ip_locks import RedisIpLocks
from aahcrawler.frontier.redis.redis_client import connect
from aahcrawler.frontier.server.binary import REDIS_URL
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.frontier.server.server_process import end_orphan
from aahcrawler.layout import CHANGE_LOG, NQUADS, REFUSAL_LOG, SCORE_LOG, WARC
from aahcrawler.refusals import RefusalLog
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.scope import Scope, Spelling
from aahcrawler.scores import (
    MAX_PAGES,
    Lessons,
    Remembered,
    ScoreLog,
    Source,
    Terms,
    count_lessons,
    left_over,
    remember,
)
from aahcrawler.segments import DamageError, recover
from aahcrawler.urls import queue_of
from aahcrawler.wire.ip_policy import IpPolicy
from knowledge_base.model import KnowledgeBase
from online_analysis.aggregation import LinkRanker
from online_analysis.analysers import ScoredSeed
from online_analysis.icd import Icd, IcdError
from online_analysis.topic_learning import TopicLearning, TopicState, topic_learning

logger = logging.getLogger(__name__)


def open_history(folder: CrawlFolder, *, is_shared: bool) -> History:
    """Open what was captured by the crawls of a folder; with ``is_shared`` others may have it open as well."""
    if not is_shared:
        return History(folder.archive, folder.indexes)
    return History(folder.archive, folder.indexes, writers=Writers.FIRST if folder.is_first else Writers.JOINED)


def open_score_log(icd: Icd, folder: CrawlFolder, named: str) -> ScoreLog:
    """Open the log of scores; its files are ``named`` so."""
    terms = Terms(folder.run.number, icd.scoring)
    return ScoreLog(folder.scores, named, terms, lambda: datetime.now(UTC), size=icd.archive.size)


def open_refusal_log(icd: Icd, folder: CrawlFolder, named: str) -> RefusalLog:
    """Open the log of refused links; its files are ``named`` so."""
    number = folder.run.number
    return RefusalLog(folder.refused, named, number, lambda: datetime.now(UTC), size=icd.archive.size)


def open_change_log(icd: Icd, folder: CrawlFolder, named: str) -> ChangeLog:
    """Open the log of changes; its files are ``named`` so."""
    number = folder.run.number
    return ChangeLog(folder.changes, named, number, lambda: datetime.now(UTC), size=icd.archive.size)


def begin_delivery(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> Delivery | None:
    """Begin to copy closed files to the ICD's target; ends after the writers, whose last files it still takes."""
    address = icd.archive.target
    return opening.enter_context(Delivery(folder.root, icd.id, address)) if address else None


def peer_export(icd: Icd, policy: IpPolicy) -> PeerExport | None:
    """Return what pushes links to another instance, None where the definition does not ask for that."""
    wanted = icd.scoring.post_to
    if wanted is None:
        return None
    target = f"{wanted.url.rstrip('/')}/v1/crawls/{wanted.crawl}/urls"
    poster = ScorePusher(target, os.environ.get(TOKEN, ""), PushPolicy(timeout=10.0))
    return PeerExport(poster, wanted.at_least, policy)


_NOBODYS_BUSINESS: Mapping[str, bool | set[str]] = {
    "archive": True,
    "output": True,
    "network": {"cookies_file", "accounts", "headers", "logins", "proxy", "hosts"},
}
"""What of a definition an archive does not tell: where this machine keeps things, as whom sites know it,
and through what it reaches them."""


def crawl_info(icd: Icd, number: int) -> CrawlInfo:
    """Return what the first record of each WARC file says of a crawl."""
    return CrawlInfo(
        crawl=icd.id,
        software=f"AAHCrawler/{__version__}",
        operator=icd.operator,
        contact=icd.contact,
        user_agent=icd.user_agent(),
        robots=icd.politeness.robots,
        description=icd.metadata.description or icd.title,
        described=tuple(each for each in described(icd) if each[0] != "description"),
        definition=json.dumps(icd.model_dump(mode="json", exclude=_NOBODYS_BUSINESS, exclude_none=True)),
        crawl_number=number,
    )


def described(icd: Icd) -> tuple[tuple[str, str], ...]:
    """Return what a crawl is described by, its title first; nothing where its definition has a title at most."""
    terms = tuple(icd.metadata.terms())
    return (("title", icd.title), *terms) if terms else ()


def archive_exchange(archive: WarcWriter, history: History, number: int, exchange: Exchange) -> None:
    """Archive an exchange, and add it to the history."""
    history.add(HistoryRecord.of(archive.write(exchange), exchange, number))


@dataclass(frozen=True, slots=True)
class FrontierConnection:
    """A frontier and the URL of its server, which others may use as well where it ``is_shared``.

    ``revive`` starts the server again where it is this process's own and has died.
    """

    frontier: RedisControl
    address: str
    is_shared: bool
    revive: Callable[[], None] = not_revived

    def ip_locks(self, opening: ExitStack) -> RedisIpLocks:
        """Return the locks of IP addresses, for all workers of the server; those of dead ones, where all are dead."""
        locks = opening.enter_context(closing(RedisIpLocks(self.address)))
        if not self.is_shared:
            locks.recover()
        return locks


def join_frontier(icd: Icd, number: int, server: str, opening: ExitStack) -> FrontierConnection:
    """Return the frontier of a crawl that others work on as well; nothing of theirs is taken back."""
    frontier = RedisControl(connect(server), frontier_name(icd.id, number), frontier_settings(icd))
    opening.callback(frontier.close)
    return FrontierConnection(frontier, server, is_shared=True)


def open_frontier(icd: Icd, folder: CrawlFolder, opening: ExitStack) -> FrontierConnection:
    """Return the frontier of a crawl that this process begins or goes on with.

    Without a shared server it has one that runs until ``opening`` is closed.
    """
    shared = os.environ.get(REDIS_URL)
    number, settings = folder.run.number, frontier_settings(icd)
    begins_empty = folder.run.start in (Start.NEXT, Start.RETRIED)
    if not shared and begins_empty:
        clear(folder.frontier)
    url, revive = (shared, not_revived) if shared else _own_server(folder, opening)
    if shared and begins_empty:
        # What the crawl before has left behind, and what an interrupted start of this one has.
        for crawl in (number - 1, number):
            with closing(RedisControl(connect(url), frontier_name(icd.id, crawl), settings)) as left:
                left.remove()
    frontier = RedisControl(connect(url), frontier_name(icd.id, number), settings)
    opening.callback(frontier.close)
    if not shared:
        returned = frontier.recover()
        if returned:
            logger.warning("%d URLs were being fetched when the crawl ended; they are queued again", returned)
    return FrontierConnection(frontier, url, bool(shared), revive)


def _own_server(folder: CrawlFolder, opening: ExitStack) -> tuple[str, Callable[[], None]]:
    server = opening.enter_context(EmbeddedServer(folder.frontier))
    return server.url, server.revive


def replayed_ranker(ranker: LinkRanker, folder: CrawlFolder, frontier: Scheduling, log: ScoreLog) -> Lessons:
    """Return the ranker, which has learned again what the score log of the crawl at hand says, if it says anything.

    Of a long one it learns from the last pages, ``MAX_PAGES`` of them. Scores that it gave last, which the frontier
    may not have, are set in the frontier. A damaged log costs what it held, and is reported. Call it before anything is
    written to the ``log``.
    """
    began, remembered, crawl = monotonic(), Remembered(weights=log.weights), folder.run.number
    try:
        known = count_lessons(folder.scores, crawl)
        if known:
            logger.info("the ranker learns again from %d pages", min(known, MAX_PAGES))
        remembered.passed = max(0, known - MAX_PAGES)
        remember(ranker, folder.scores, crawl, remembered)
    except DamageError as error:
        logger.error("%s; the ranker goes on with what it learned before that", error)
    if remembered.pages:
        logger.info("the ranker has learned again from %d pages in %.1f s", remembered.pages, monotonic() - began)
    if remembered.pending:
        answers = frontier.rescore([Rescore(each.url, each.score) for each in remembered.pending])
        log.rescored([each for each, was_set in zip(remembered.pending, answers, strict=True) if was_set])
    return Lessons(ranker)


def repair_folder(folder: CrawlFolder) -> None:
    """Mend what killed processes left in a folder; what others are writing is left alone."""
    written = (
        (folder.archive, WARC),
        (folder.objects, NQUADS),
        (folder.scores, SCORE_LOG),
        (folder.refused, REFUSAL_LOG),
        (folder.changes, CHANGE_LOG),
    )
    for at, extension in written:
        for recovered in recover(at, extension):
            logger.warning("mended after a crash: %s", recovered)


def score_unscored(folder: CrawlFolder, frontier: Frontier, log: ScoreLog) -> None:
    """Score what waits for the batch of a worker that was killed, by the means of what the score log says of it.

    A damaged log leaves it unscored, and is reported.
    """
    try:
        left = left_over(folder.scores, folder.run.number)
    except DamageError as error:
        logger.error("%s; links that were waiting for their batch stay unscored", error)
        return
    queued = {url: each for url, each in left.items() if frontier.state(url) is State.QUEUED}
    if queued:
        frontier.offer([Offer(url, queue_of(url), each.score.score, each.depth) for url, each in queued.items()])
        pages = set().union(*(each.pages for each in queued.values()))
        log.batched(len(pages), {url: each.score for url, each in queued.items()})
        logger.info("%d links that were waiting for their batch when the crawl ended are scored", len(queued))


class SharedTopic(Protocol):
    """The topic that all workers of a crawl share beyond its definition (``TopicState.text``)."""

    def read(self) -> str | None:
        """Return it, None where nobody has shared it yet."""

    def keep(self, text: str) -> None:
        """Share it with the others."""


def open_topic(
    icd: Icd,
    folder: CrawlFolder,
    keep: Callable[[Exchange], None],
    shared: SharedTopic | None,
    knowledge_base: Callable[[], KnowledgeBase],
) -> TopicLearner:
    """Return the topic as it is known by now: what was kept at the first start, and what was learned since.

    Texts of reference documents on the web that are not kept, nor known to others, are fetched and kept. The next
    crawl goes by the same texts and has learned the same, so that its scores can be compared.
    """
    known = folder.known_topic
    kept = _kept_topic(known)
    if known is None and shared is not None and (known_text := shared.read()) is not None:
        kept = TopicState.parse(known_text.encode())
    texts = dict(kept.texts)
    wanted = [document for document in icd.document_urls() if document.url not in texts]
    if wanted:
        fetched = fetch_documents(icd, folder.spool, keep, reader(knowledge_base()), folder.root)
        if fetched.mistakes:
            raise IcdError(fetched.mistakes)
        texts |= fetched.texts
    learning = partial(_learning, icd)
    now = TopicState(texts, kept.learned)
    if not folder.is_first:
        return TopicLearner(folder, now, learning)
    if wanted or (not now.is_empty and known != folder.topic):
        write_whole(folder.topic, now.text)
        if shared is not None:
            shared.keep(now.text)
    topic_learner = TopicLearner(folder, now, learning)
    topic_learner.replay()
    return topic_learner


def _learning(icd: Icd, known: TopicState) -> TopicLearning:
    seeds = filter(None, map(Spelling(icd.scope.canonical).url, icd.seeds))
    return topic_learning(icd, known.texts, seeds, known.learned)


def _kept_topic(path: Path | None) -> TopicState:
    try:
        return TopicState.read(path) if path is not None else TopicState()
    except ValueError as error:
        raise CrawlRefusedError(f"{path}: is damaged ({error}); remove it, and the topic is learned anew") from error


def browser_notes(icd: Icd) -> Iterator[str]:
    """Yield why pages that are to be looked at in a browser will not be, as far as that shows before one is begun."""
    if not is_demanded(icd.browser):
        return
    try:
        require_extra()
        find_chromium()
    except BrowserUnavailableError as error:
        yield f"pages are kept as they come, although the definition wants a browser to look at some: {error}"


SEED_SCORE = 1.0
_AT_ONCE = 1000


def clear(folder: Path) -> None:
    """Delete the content of an embedded server's folder, after ending a server that a killed crawl left running.

    After a crash in between, call it again. Raise ``FrontierUnavailableError`` if a running crawl uses the server.
    """
    end_orphan(folder)
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


@dataclass(frozen=True, slots=True)
class Seeder:
    """Offers what a crawl begins with, as far as its scope admits it, and logs what was new.

    What is known already stays where it is.
    """

    frontier: Frontier
    scope: Scope
    log: ScoreLog

    def seeds(self, seeds: Sequence[str]) -> None:
        """Offer the seeds."""
        self._offer_new(Source.SEED, dict.fromkeys(self._spelled(seeds), SEED_SCORE))

    def postings(self, scored: Iterable[ScoredSeed]) -> None:
        """Offer what social postings link to, each with its score."""
        canonical = ((self.scope.spelling.url(each.url), each.score) for each in scored)
        self._offer_new(Source.POSTING, {url: score for url, score in canonical if url})

    def former(self, history: History, seeds: Sequence[str]) -> int:
        """Offer every page that was captured before; return how many were captured.

        Seeds are left out: they have a score of their own.
        """
        known, seeded = 0, frozenset(self._spelled(seeds))
        for formers in _parts(history.pages()):
            known += len(formers)
            offers = map(self._former, formers)
            self._offer(Source.FORMER, [offer for offer in offers if offer.url not in seeded])
        return known

    def _offer_new(self, source: Source, scores: Mapping[str, float]) -> None:
        """Offer what is not known: a crawl that goes on adds nothing to the scores of what waits in its queues."""
        unknown = ((url, score) for url, score in scores.items() if self.frontier.state(url) is None)
        self._offer(source, [Offer(url, urls.queue_of(url), score) for url, score in unknown])

    def _offer(self, source: Source, offers: Sequence[Offer]) -> None:
        wanted = [offer for offer in offers if self.scope.admit(offer) is None]
        answers = self.frontier.offer(wanted)
        new = [(o.url, o.score) for o, answer in zip(wanted, answers, strict=True) if answer is Offered.ADDED]
        self.log.offered(source, new)

    def _spelled(self, seeds: Sequence[str]) -> tuple[str, ...]:
        return tuple(filter(None, map(self.scope.spelling.url, seeds)))

    def _former(self, former: Former) -> Offer:
        """Return a page with the priority it had; less where it holds less than what led to it promised.

        Pages whose worth is in where they lead (intermediate ones) are not judged by what they hold.
        """
        priority = former.priority or 0.0
        if former.terminal and former.relevant is False and former.score is not None:
            priority = min(priority, former.score)
        url = self.scope.spelling(former.url)
        return Offer(url, urls.queue_of(url), priority, former.depth)


def _parts(formers: Iterator[Former]) -> Iterator[list[Former]]:
    while part := list(islice(formers, _AT_ONCE)):
        yield part

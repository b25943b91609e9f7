"""Retrain the ranker of a crawl that goes on."""

import logging
from time import monotonic

from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.frontier.protocol import Frontier, Offer, Rescore, Scheduling, State
from aahcrawler.layout import NQUADS, REFUSAL_LOG, SCORE_LOG, WARC
from aahcrawler.scores import (
    MOST_PAGES,
    Lessons,
    Remembered,
    ScoreLog,
    count_lessons,
    left_over,
    remember,
)
from aahcrawler.segments import DamageError, recover
from aahcrawler.urls import queue_of
from online_analysis.aggregation import LinkRanker

logger = logging.getLogger(__name__)


def replayed_ranker(ranker: LinkRanker, folder: CrawlFolder, frontier: Scheduling, log: ScoreLog) -> Lessons:
    """Return the ranker, which has learned again what the score log of the crawl at hand says, if it says anything.

    Of a long one it learns from the last pages, ``MOST_PAGES`` of them. Scores that it gave last, which the frontier
    may not have, are set in the frontier. A damaged log costs what it held, and is reported. Call it before anything is
    written to the ``log``.
    """
    began, remembered, crawl = monotonic(), Remembered(weights=log.weights), folder.run.number
    try:
        known = count_lessons(folder.scores, crawl)
        if known:
            logger.info("the ranker learns again from %d pages", min(known, MOST_PAGES))
        remembered.passed = max(0, known - MOST_PAGES)
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

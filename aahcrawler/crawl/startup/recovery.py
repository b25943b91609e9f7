"""How the ranker of a crawl that goes on comes by what it knew."""

import logging
from time import monotonic

from aahcrawler.crawl.directory.folder import CrawlFolder
from aahcrawler.frontier.protocol import Rescore, Scheduling
from aahcrawler.scores import MOST_PAGES, Lessons, Remembered, ScoreLog, ScoreLogError, count_lessons, remember
from online_analysis.aggregation import LinkRanker

logger = logging.getLogger(__name__)


def recalled(ranker: LinkRanker, folder: CrawlFolder, frontier: Scheduling, log: ScoreLog) -> Lessons:
    """Return the ranker, which has learned again what the score log of the crawl at hand says, if it says anything.

    Of a long one it learns from the last pages, ``MOST_PAGES`` of them.
    What it said last and the frontier may not have heard is told to the frontier. A damaged log costs what it held,
    and is reported. Call it before anything is written to the ``log``.
    """
    began, remembered, crawl = monotonic(), Remembered(weights=log.weights), folder.standing.number
    try:
        known = count_lessons(folder.scores, crawl)
        if known:
            logger.info("the ranker learns again from %d pages", min(known, MOST_PAGES))
        remembered.passed = max(0, known - MOST_PAGES)
        remember(ranker, folder.scores, crawl, remembered)
    except ScoreLogError as error:
        logger.error("%s; the ranker goes on with what it learned before that", error)
    if remembered.pages:
        logger.info("the ranker has learned again from %d pages in %.1f s", remembered.pages, monotonic() - began)
    if remembered.pending:
        answers = frontier.rescore([Rescore(each.url, each.score) for each in remembered.pending])
        log.rescored([each for each, was_set in zip(remembered.pending, answers, strict=True) if was_set])
    return Lessons(ranker)

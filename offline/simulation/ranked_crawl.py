"""The crawl as it ships: a ranker learns from each page, and re-scores queued URLs as it learns."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import repeat

from aahcrawler.helper import Assistance
from aahcrawler.pipeline.rank import AT_ONCE, finish, rank
from aahcrawler.pipeline.score import ScoredPage
from offline.simulation.best_first import SEED_SCORE, FrontierQueue
from offline.simulation.crawl_strategy import Briefing
from offline.simulation.visits import Visit
from offline.simulation.world import World
from online_analysis.aggregation import BudgetLeft, LinkRanker, ScoredLink
from online_analysis.document import Document, Outlink


class RankedCrawl:
    """Fetches best-first in the frontier's order, with the ranker's part in the scores.

    Pages are scored by the analysers once for all strategies; from there on the pipeline of a real crawl is used.
    """

    def __init__(self, briefing: Briefing, ranker: LinkRanker) -> None:
        self._world = briefing.world
        self._ranking = Ranking(briefing, ranker)
        self._queue = FrontierQueue(briefing.world, briefing.settings)

    def begin(self, seeds: Sequence[int]) -> None:
        """Queue the seeds."""
        self._queue.offer(seeds, repeat(SEED_SCORE, len(seeds)))

    def following(self) -> Sequence[int]:
        """Lease the best."""
        return self._queue.lease()

    def fetched(self, visit: Visit) -> None:
        """Learn from a page, offer its links, and re-score what is worth something else than it seemed."""
        found = self._ranking.learned(scored_page(visit, self._world), self._queue.depth(visit.number))
        self._queue.finish(visit.number, visit.targets, [found.links[position].score for position in visit.links])
        self._ranking.rescore(self._queue)

    def queued(self) -> Sequence[int]:
        """Return the pages that wait, the best first."""
        return self._queue.queued()


class Ranking:
    """Teaches and asks a ranker as a real crawl does; links out of the world are refused as those out of scope are."""

    def __init__(self, briefing: Briefing, ranker: LinkRanker) -> None:
        self._world = briefing.world
        self._weights = briefing.scoring.weights
        self._ranker = ranker
        self._pages = briefing.pages
        self._fetched = 0

    def learned(self, page: ScoredPage, depth: int) -> ScoredPage:
        """Learn from a page, and let the ranker join the scores of its links."""
        self._fetched += 1
        left = BudgetLeft(max(0.0, 1.0 - self._fetched / self._pages))
        found = rank(page, self._weights, self._ranker, depth, left)
        beyond = (link.url for link in found.links if self._world.number(link.url) is None)
        finish(self._ranker, page.assistance.document.url, beyond)
        return found

    def rescore(self, queue: FrontierQueue) -> None:
        """Set the scores of queued pages that are worth something else than they seemed."""
        revised = [(self._world.number(each.url), each.score) for each in self._ranker.revised(AT_ONCE)]
        known = [(number, score) for number, score in revised if number is not None]
        queue.rescore([number for number, _ in known], [score for _, score in known])


def scored_page(visit: Visit, world: World) -> ScoredPage:
    """Return what was made of a visited page before any ranker looked at it.

    Links have the URLs that the pages of the world have, as different ones may lead to one page.
    """
    document = _addressed(world.understood(visit.number).document, visit, world)
    judged = visit.judged
    links = tuple(
        ScoredLink(link.url, score, link.anchor, link.action, weight)
        for link, score, weight in zip(document.outlinks, judged.links, judged.weights, strict=True)
    )
    return ScoredPage(Assistance(None, document), judged.score, links)


def _addressed(document: Document, visit: Visit, world: World) -> Document:
    urls = world.urls
    outlinks: list[Outlink] = list(document.outlinks)
    for position, target in zip(visit.links, visit.targets, strict=True):
        if outlinks[position].url != urls[target]:
            outlinks[position] = replace(outlinks[position], url=urls[target])
    return replace(document, url=urls[visit.number], outlinks=tuple(outlinks))

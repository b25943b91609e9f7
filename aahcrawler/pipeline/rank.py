"""Rank links by what pages behind links like them turned out to be worth."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from aahcrawler.pipeline.score import ScoredPage
from online_analysis.aggregation import UNSPENT, BudgetLeft, LinkRanker, joined
from online_analysis.document import Document

AT_ONCE = 200
"""How many queued URLs are re-scored at once."""


def rank(
    page: ScoredPage, weights: Mapping[str, float], ranker: LinkRanker, depth: int, left: BudgetLeft = UNSPENT
) -> ScoredPage:
    """Have a ranker learn from a page, and return it with its links' scores as the ranker joins them.

    The ranker is one more analyser, and the only one that learns: each page of a crawl is to be ranked once. ``depth``
    counts the links from a seed to the page, ``left`` is what is left of the budget.
    """
    scores = ranker.follow(page.assistance.document, page.score, page.links, depth, left)
    return replace(page, links=joined(page.links, scores, weights), scores=(*page.scores, scores))


def rank_error(url: str, ranker: LinkRanker, depth: int, left: BudgetLeft = UNSPENT) -> None:
    """Have a ranker learn that what was behind the links to a URL is worth nothing."""
    ranker.follow(Document(url, None, "", (), ()), 0.0, (), depth, left)


def finish(ranker: LinkRanker, url: str, unwanted: Iterable[str] = ()) -> None:
    """Have a ranker re-score a URL no more that was fetched or will not be, nor links of it that nobody wants."""
    for link in unwanted:
        ranker.settled(link)
    ranker.settled(url)

"""The built-in judge: a page is relevant if its cosine with the seeds is above a threshold (ARCOMEM, section 5.1).

It reads all visible text of the pages by itself, and uses neither applications nor analysers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from aahcrawler.captures import ArchivedCaptures, shown_pages
from aahcrawler.page import Page
from aahcrawler.page.onward import location
from aahcrawler.page.text import plain_text
from aahcrawler.urls import canonicalize
from offline.simulation.page_data import summed
from offline.simulation.visits import Direction
from offline.simulation.world import Catalogue
from offline.simulation.world import key as key_of
from online_analysis.terms import Lexicon

NAME: Final = "cosine"
"""The name that stands for this judge's file."""
FILE: Final = Path(__file__)
THRESHOLD: Final = 0.333
"""The cosine above which a page is relevant."""


def read_world(folder: str) -> tuple[Mapping[str, int], Sequence[Mapping[str, int]], None]:
    """Return the number of each HTML page by its key, and its term counts by its number."""
    catalogue, lexicon = Catalogue(), Lexicon()
    counts: list[Mapping[str, int]] = []
    redirects: dict[str, str] = {}
    with ArchivedCaptures(Path(folder)) as source:
        for page in shown_pages(source):
            if target := location(page.url, page.status, page.headers):
                redirects[canonicalize(page.url) or page.url] = target
            elif 200 <= page.status < 300 and page.is_html and catalogue.add(page.url) is not None:
                counts.append(_terms(page, lexicon))
    catalogue.redirect(redirects)
    return catalogue.numbers, counts, None


def _terms(page: Page, lexicon: Lexicon) -> Mapping[str, int]:
    text = plain_text(page.tree)
    return dict(Counter(lexicon.language(page.language).terms(text)))


def relevance(counts: Sequence[Mapping[str, int]], seeds: Sequence[int]) -> tuple[object, float, Sequence[float]]:
    """Return the sum of the seeds' term counts, its length, and the cosine of each page with it."""
    topic = Direction(summed([counts[seed] for seed in seeds]))
    return topic.counts, topic.length, [topic.cosine(terms) for terms in counts]


def key(url: str) -> str:
    """Return the key that all URLs of a page share."""
    return key_of(canonicalize(url) or url)


def harvest(order: Sequence[int], relevance: Sequence[float], budget: int) -> float:
    """Return the share of relevant pages among the first ``budget`` pages of an order.

    >>> harvest([0, 1, 2], [0.9, 0.333, 0.4], 2)
    0.5
    """
    return sum(relevance[page] > THRESHOLD for page in order[:budget]) / budget if budget else 0.0

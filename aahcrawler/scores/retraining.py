"""Retrains the ranker of a continued crawl from the score log."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aahcrawler.scope import RULE, Refusal, SourceRefusal
from aahcrawler.scores.entries import Asked, Ended, Entry, Judged, Rescored
from aahcrawler.scores.ranker_lessons import taught
from aahcrawler.scores.reader import Read, read_scores
from aahcrawler.scores.reweighting import lesson
from aahcrawler.traps.path_shape import Trap
from online_analysis.aggregation import UNSPENT, BudgetLeft, LinkRanker, Revision

_OF_THE_WAY = frozenset(
    {
        Refusal.TOO_DEEP,
        Refusal.LANGUAGE,
        SourceRefusal.NOFOLLOW,
        SourceRefusal.OFF_TOPIC,
        Trap.NEAR_DUPLICATE,
        Trap.SOFT_404,
    }
)
"""Refusals for where a link stands: its URL may be queued all the same. Those by rules may be such."""


MAX_PAGES = 20_000
"""Pages that a crawl which goes on learns from again, the last ones: a minute or so."""


@dataclass(slots=True)
class Remembered:
    """The number of pages that a ranker has learned again, and its last revisions that were not applied.

    The first ``passed`` pages are not learned. ``weights`` replace those with which the pages were judged; None keeps
    them.
    """

    passed: int = 0
    pages: int = 0
    pending: tuple[Revision, ...] = ()
    weights: Mapping[str, float] | None = None


def remember(
    ranker: LinkRanker,
    folder: Path,
    crawl: int,
    remembered: Remembered,
    until: Callable[[Entry], bool] = lambda _: False,
) -> None:
    """Repeat, on a new ranker, the calls that a crawl's workers made to theirs, in their order.

    The log of one worker restores its ranker, except for entries lost in a power failure. Reading stops before the
    first entry for which ``until`` is true. Raises ``DamageError`` for damage; the entries before it have been learned
    then, and ``remembered`` counts them.
    """
    for found in read_scores(folder, crawl=crawl):
        if until(found.entry):
            return
        if remembered.passed:
            remembered.passed -= isinstance(found.entry, Judged) and found.entry.lesson is not None
        else:
            _again(ranker, found, remembered)


def never_wanted(refused: Mapping[str, Sequence[int]]) -> Sequence[int]:
    """Return, in order, the positions of links whose URLs are refused whatever page links to them.

    >>> never_wanted({"too_deep": [0], "denied": [3], "spam": [1]})
    [1, 3]
    """
    final = (at for reason, at in refused.items() if reason not in _OF_THE_WAY and not reason.startswith(RULE))
    return sorted(position for positions in final for position in positions)


def _again(ranker: LinkRanker, found: Read, remembered: Remembered) -> None:
    entry = found.entry
    match entry:
        case Judged():
            are_those = remembered.weights is None or found.begin.weights == remembered.weights
            remembered.pages += _taught(ranker, entry, None if are_those else remembered.weights)
            ranker.settled(entry.url)
        case Asked(n=n):
            remembered.pending = tuple(ranker.revised(n))
        case Rescored(by=None):
            remembered.pending = ()
        case Ended(url=url):
            ranker.settled(url)


def _taught(ranker: LinkRanker, page: Judged, weights: Mapping[str, float] | None) -> bool:
    """Teach the lesson of a page, and return whether it had one; URLs that were not offered are settled at once."""
    if page.lesson is None:
        return False
    kept = page.lesson if weights is None else lesson(page, page.lesson, weights)
    urls = page.links.url if page.links is not None else []
    document, links = taught(kept, page.url, urls)
    ranker.follow(document, kept.worth, links, page.depth, BudgetLeft(*kept.left) if kept.left is not None else UNSPENT)
    if page.links is not None:
        for position in never_wanted(page.links.refused):
            ranker.settled(urls[position])
    return True

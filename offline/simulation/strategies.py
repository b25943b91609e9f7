"""The strategies that can be simulated, by name."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from aahcrawler.frontier.protocol import FrontierSettings, Update
from offline.simulation.bandits import ClassifierBandit, TagPathBandit, TreeBandit
from offline.simulation.best_first import (
    BATCH,
    AnalyserScoring,
    BatchBestFirst,
    BatchedCrawl,
    BestFirst,
    EqualScoring,
    KnownScoring,
    MeanCosineScoring,
    RankedCrawl,
    Scoring,
    SharkScoring,
)
from offline.simulation.crawl_strategy import Briefing, MakeStrategy, RandomOrder, Strategy
from online_analysis.ranking import link_ranker

SHIPPED = "aahcrawler"
"""The crawler with its default analysers, weights, update function and balance, unless the definition changes them."""
UNLEARNED = "aahcrawler-unlearned"
"""The same without the learning ranker."""
BATCHED = "aahcrawler-batch"
"""The default crawler with batches: of the definition's number of pages, or of ``BATCH`` if it gives none."""
FIRST = "paper-first"
"""The paper's plain strategy, from which gaps are measured."""
ORACLE = "oracle"
"""Best-first by the judge's scores."""
WIDE = 5
"""The other balance used in the paper (section 5.1)."""


class StrategyError(Exception):
    """Raised for an unknown strategy, or one that cannot be simulated; the message gives the remedy."""


@dataclass(frozen=True, slots=True)
class Named:
    """A strategy by its name. ``needs_judge``: it cannot be simulated without the judge's judgements."""

    name: str
    about: str
    make: MakeStrategy
    needs_judge: bool = False


def strategies() -> Mapping[str, Named]:
    """Return every strategy, in the order of tables."""
    named = (
        Named(SHIPPED, "as shipped", _shipped),
        Named(UNLEARNED, "as shipped, without the ranker", _unlearned),
        Named(BATCHED, "as shipped, with batches", _batched),
        *_by_update("", "the crawler's scores", AnalyserScoring),
        *_batches("", "the crawler's scores of batches", _batch),
        *_by_update("paper-", "the mean of page and anchor cosine", MeanCosineScoring),
        *_batches("paper-", "cosines of summed pages and anchors", _paper_batch),
        Named("shark-search", "Hersovici et al. 1998", partial(_with_update, SharkScoring, Update.MAX, 1)),
        Named("tag-path-bandit", "UCB1 over the places of links", lambda _: TagPathBandit()),
        Named("sb-classifier", "UCB1 over groups of alike places, and a classifier of URLs", ClassifierBandit),
        Named("tree-bandit", "an upper confidence bound for each leaf of a regression tree", TreeBandit),
        Named("breadth-first", "in the order of discovery", partial(_with_update, EqualScoring, Update.FIRST, 1)),
        Named("random", "by lot", lambda briefing: RandomOrder(briefing.random)),
        Named(ORACLE, "knows the judgements in advance", _oracle, needs_judge=True),
    )
    return {each.name: each for each in named}


def chosen(names: Sequence[str]) -> tuple[Named, ...]:
    """Return strategies by their names, all of them if none is named. Raises ``StrategyError`` for an unknown one."""
    known = strategies()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise StrategyError(f"there is no strategy {unknown[0]!r}; there are {', '.join(known)}")
    return tuple(known[name] for name in dict.fromkeys(names)) if names else tuple(known.values())


def update_name(update: Update, balance: int, *, batch: bool = False) -> str:
    """Return the name of a combination, without the prefix of its scores."""
    return "-".join((update.value, *((f"balance{balance}",) if balance > 1 else ()), *(("batch",) if batch else ())))


def _by_update(prefix: str, about: str, scoring: Callable[[], Scoring]) -> Sequence[Named]:
    """Return strategies for all update functions, and for two of them also with a larger balance, as in the paper."""
    combinations = [
        *((update, 1) for update in (Update.FIRST, Update.AVG, Update.MAX, Update.SUM, Update.LAST)),
        (Update.FIRST, WIDE),
        (Update.AVG, WIDE),
    ]
    return [
        Named(prefix + update_name(update, balance), about, partial(_with_update, scoring, update, balance))
        for update, balance in combinations
    ]


def _batches(prefix: str, about: str, make: Callable[[int, Briefing], Strategy]) -> Sequence[Named]:
    return [
        Named(prefix + update_name(Update.AVG, balance, batch=True), about, partial(make, balance))
        for balance in (1, WIDE)
    ]


def _shipped(briefing: Briefing) -> Strategy:
    ranker = link_ranker(briefing.scoring)
    if briefing.scoring.batch > 1:
        return BatchedCrawl(briefing, briefing.settings, briefing.scoring.batch, ranker)
    return _unlearned(briefing) if ranker is None else RankedCrawl(briefing, ranker)


def _unlearned(briefing: Briefing) -> Strategy:
    if briefing.scoring.batch > 1:
        return BatchedCrawl(briefing, briefing.settings, briefing.scoring.batch)
    return BestFirst(briefing, AnalyserScoring(), briefing.settings)


def _batched(briefing: Briefing) -> Strategy:
    return BatchedCrawl(briefing, briefing.settings, _pages(briefing), link_ranker(briefing.scoring))


def _pages(briefing: Briefing) -> int:
    """Return the number of pages of a batch."""
    return briefing.scoring.batch if briefing.scoring.batch > 1 else BATCH


def _with_update(scoring: Callable[[], Scoring], update: Update, balance: int, briefing: Briefing) -> Strategy:
    return BestFirst(briefing, scoring(), _settings(briefing.settings, update, balance))


def _batch(balance: int, briefing: Briefing) -> Strategy:
    return BatchedCrawl(briefing, _settings(briefing.settings, Update.AVG, balance), _pages(briefing))


def _paper_batch(balance: int, briefing: Briefing) -> Strategy:
    return BatchBestFirst(briefing, _settings(briefing.settings, Update.AVG, balance))


def _oracle(briefing: Briefing) -> Strategy:
    if briefing.relevance is None:
        raise StrategyError("the oracle needs a judge")
    return BestFirst(briefing, KnownScoring(briefing.relevance), _settings(briefing.settings, Update.FIRST, 1))


def _settings(settings: FrontierSettings, update: Update, balance: int) -> FrontierSettings:
    return replace(settings, update=update, balance=balance)

"""The ranker's part of a URL's score: a new ranker is trained from the score log, up to the fetch of the URL."""

from dataclasses import dataclass

from aahcrawler.frontiers import Crawl
from aahcrawler.layout import SCORES
from aahcrawler.scores import Remembered, remember
from aahcrawler.scores.entries import Begin, Ended, Entry, Judged
from aahcrawler.scores.reader import begins
from online_analysis.aggregation import Reason
from online_analysis.icd.scoring import Scoring
from online_analysis.ranking import LearningRanker, link_ranker


@dataclass(frozen=True, slots=True)
class Ranked:
    """The parts and the weight of the ranker's prediction; no reasons where it knows nothing of a URL."""

    weight: float = 0.0
    reasons: tuple[Reason, ...] = ()

    @property
    def prediction(self) -> float:
        """The ranker's prediction for the URL: its reasons add up to it."""
        return sum(reason.effect for reason in self.reasons)


def ranked(crawl: Crawl, url: str) -> Ranked:
    """Return the ranker's part for a queued URL, or for a fetched one as it was when it was fetched.

    Takes a millisecond or two for each page of the crawl. Raise ``DamageError`` where the log is damaged.
    """
    log = crawl.folder / SCORES
    begin = max(begins(log, crawl.number), key=lambda begin: begin.at, default=None)
    ranker = link_ranker(_scoring(begin)) if begin is not None else None
    if begin is None or ranker is None:
        return Ranked()

    def ends(entry: Entry) -> bool:
        return isinstance(entry, Judged | Ended) and entry.url == url

    remember(ranker, log, crawl.number, Remembered(weights=begin.weights), ends)
    return Ranked(begin.weights.get(LearningRanker.name, 1.0), ranker.explain(url))


def _scoring(begin: Begin) -> Scoring:
    fields = begin.model_dump(include={"update", "weights", "explore", "seed"})
    return Scoring.model_validate(fields, context={"analysers": tuple(begin.weights)})

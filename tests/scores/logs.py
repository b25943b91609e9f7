"""Score logs and rankers to test with."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aahcrawler.scores import ScoreLog, Terms
from online_analysis.aggregation import UNSPENT, BudgetLeft, Reason, Revision, ScoredLink, Scores, Weighed
from online_analysis.document import Document
from online_analysis.icd.scoring import Scoring

BEGUN = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Ticking:
    """A clock that goes on by a second whenever somebody looks."""

    def __init__(self, now: datetime = BEGUN) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


def score_log(folder: Path, crawl: int = 1, clock: Ticking | None = None, update: str = "max") -> ScoreLog:
    return ScoreLog(folder, "test", Terms(crawl, scoring_of(update)), clock or Ticking())


def scoring_of(update: str) -> Scoring:
    return Scoring.model_validate({"update": update, "weights": {"text": 1.0, "ranker": 3.0}, "seed": 7})


class HostRanker:
    """Takes a link for worth what the pages of its site were worth on average, and remembers every call."""

    name = "ranker"

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []
        self.worth: dict[str, list[float]] = {}
        self.queued: dict[str, float] = {}
        self.told: dict[str, float] = {}

    def follow(
        self,
        document: Document,
        relevance: float,
        links: Sequence[ScoredLink],
        depth: int,
        left: BudgetLeft = UNSPENT,
    ) -> Scores:
        seen = tuple(
            (
                link.url,
                link.anchor,
                link.place,
                link.action,
                link.part and document.parts[link.part].role,
                given.score,
                given.weight,
            )
            for link, given in zip(document.outlinks, links, strict=True)
        )
        named = (document.url, document.application, document.kind, document.level)
        self.calls.append(("follow", *named, relevance, depth, left, seen))
        self.worth.setdefault(_site(document.url), []).append(relevance)
        for given in links:
            if self.queued.setdefault(given.url, given.score) >= 0:
                self.told.setdefault(given.url, self._prediction(given.url))
        return Scores(self.name, None, tuple(self._known(given.url) for given in links))

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        self.calls.append(("reweigh", weight, tuple(waiting)))

    def revised(self, n: int) -> Sequence[Revision]:
        changed = {url: new for url, old in self.told.items() if (new := self._prediction(url)) != old}
        first = sorted(changed, key=lambda url: (-abs(changed[url] - self.told[url]), url))[:n]
        self.told.update((url, changed[url]) for url in first)
        self.calls.append(("revised", n, tuple(first)))
        return [Revision(url, changed[url]) for url in first]

    def settled(self, url: str) -> None:
        self.calls.append(("settled", url))
        self.queued[url] = -1.0
        self.told.pop(url, None)

    def explain(self, url: str) -> tuple[Reason, ...]:
        known = self._known(url)
        return () if known is None else (Reason("base", 1.0, 0.0), Reason(f"site {_site(url)}", known, known))

    def _known(self, url: str) -> float | None:
        worth = self.worth.get(_site(url))
        return sum(worth) / len(worth) if worth else None

    def _prediction(self, url: str) -> float:
        known = self._known(url)
        return self.queued[url] if known is None else (self.queued[url] + 3 * known) / 4


def _site(url: str) -> str:
    return url.split("/")[2]

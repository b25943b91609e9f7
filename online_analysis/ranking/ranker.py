"""The ranker: remembers pages and links, retrains itself when worthwhile, and reports changed scores.

It gives no scores until it knows five pages. It retrains from all of them whenever their number has grown by five per
cent, with all links known by then: a page that links to five good pages and an unknown one is evidence for the unknown
one. In between it predicts the worth of new links. It keeps the last 5,000 pages and the best 20,000 queued URLs.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from random import Random
from struct import Struct
from typing import Literal

import numpy as np

from online_analysis.aggregation import UNSPENT, BudgetLeft, Reason, Revision, ScoredLink, Scores, Weighed
from online_analysis.document import Document
from online_analysis.ranking.link_statistics import Floats, LinkStatistics, View
from online_analysis.ranking.url_model import Lesson, Model, RemainingBudget

Update = Literal["first", "last", "max", "sum", "avg"]

_FORGOTTEN_AT_ONCE = 0.1
_SLIGHT = 0.02
"""A change by less than this share of a score is not worth telling."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How the ranker is weighed among the analysers: its weight, above 0, and the update function of the frontier."""

    weight: float = 1.0
    update: Update = "max"

    def joined(self, analyser_mean: float, weight: float, prediction: float) -> float:
        """Return the average of the analysers' mean, with their weight, and a prediction."""
        return (analyser_mean * weight + prediction * self.weight) / (weight + self.weight)

    def joined_all(self, analyser_mean: Floats, weights: Floats, predictions: Floats) -> Floats:
        """Return the averages of many at once."""
        return (analyser_mean * weights + predictions * self.weight) / (weights + self.weight)

    def updated(self, sighting: LinkStatistics, score: float) -> None:
        """Record that a URL was offered with a score, as the frontier's update function applies it."""
        if sighting.told is None or self.update == "last":
            sighting.told = score
        elif self.update == "max":
            sighting.told = max(sighting.told, score)
        elif self.update == "sum":
            sighting.told += score
        elif self.update == "avg":
            sighting.offers += 1
            sighting.told += (score - sighting.told) / sighting.offers


class Waiting:
    """At most ``most`` queued URLs; beyond that, those of least predicted worth are dropped, the oldest first."""

    def __init__(self, standing: Standing, most: int) -> None:
        self._standing = standing
        self._most = most
        self._urls: dict[str, LinkStatistics] = {}
        self._changed: deque[LinkStatistics] = deque()
        self._touched: dict[str, LinkStatistics] = {}

    def __len__(self) -> int:
        return len(self._urls)

    def __iter__(self) -> Iterator[LinkStatistics]:
        return iter(self._urls.values())

    def get(self, url: str) -> LinkStatistics | None:
        """Return the statistics of a queued URL, None if it is not queued or was dropped."""
        return self._urls.get(url)

    def add(self, url: str) -> LinkStatistics:
        """Add a URL that is not queued yet, and return its statistics, which are empty."""
        sighting = self._urls[url] = LinkStatistics(url)
        return sighting

    def take(self, url: str) -> LinkStatistics | None:
        """Remove a URL that was fetched, and return its statistics, None if it is not queued."""
        self._touched.pop(url, None)
        return self._urls.pop(url, None)

    def forget(self, url: str) -> None:
        """Remove a URL from which nothing is to be learned, with its statistics; do nothing if it is not queued."""
        sighting = self.take(url)
        if sighting is not None:
            sighting.forget()

    def make_room(self) -> None:
        """Drop the URLs of least predicted worth when there are more than ``most``, some more than needed at once."""
        if len(self._urls) > self._most:
            ranked = sorted(self._urls.values(), key=lambda sighting: sighting.score or 0.0)
            for sighting in ranked[: len(ranked) - self._most + int(self._most * _FORGOTTEN_AT_ONCE)]:
                self.forget(sighting.url)

    def offered(self, links: Iterable[ScoredLink]) -> None:
        """Record that the links of a page are being offered, each with its prediction if there is one."""
        for link in links:
            sighting = self._urls.get(link.url)
            if sighting is not None:
                prediction = sighting.score
                score = link.score
                if prediction is not None:
                    score = self._standing.joined(link.score, link.weight, prediction)
                    self._touched[link.url] = sighting
                self._standing.updated(sighting, score)

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        """Average with another weight from now on; the frontier already has the scores in ``waiting``."""
        self._standing = replace(self._standing, weight=weight)
        for url, now in waiting.items():
            sighting = self._urls.get(url)
            if sighting is not None:
                sighting.reweigh(now)
        self.rank()

    def explore(self, sighting: LinkStatistics) -> None:
        """Put a queued URL first."""
        sighting.is_explored = True
        self._touched[sighting.url] = sighting

    def rank(self) -> None:
        """Sort after predictions have changed: URLs with the highest present or former predictions come first."""
        urls = [sighting for sighting in self._urls.values() if sighting.score is not None]
        told = np.array([-1.0 if each.told is None else each.told for each in urls])
        weights = np.array([each.weight for each in urls])
        analyser_mean, predicted = (
            np.array([each.analyser_mean for each in urls]),
            np.array([each.score for each in urls], np.float64),
        )
        scores = self._standing.joined_all(analyser_mean, weights, predicted)
        changed = np.flatnonzero(np.abs(scores - told) > _SLIGHT * scores)
        order = changed[np.argsort(-np.maximum(scores, told)[changed], kind="stable")]
        self._changed = deque([urls[index] for index in order.tolist()])

    def revised(self, n: int) -> Sequence[Revision]:
        """Return at most ``n`` complete scores that differ from those last reported, and record them as reported."""
        found: list[Revision] = []
        while len(found) < n and (self._touched or self._changed):
            sighting = self._touched.pop(next(iter(self._touched))) if self._touched else self._changed.popleft()
            if self._urls.get(sighting.url) is sighting and (revision := self._revision(sighting)) is not None:
                sighting.told, sighting.offers = revision.score, 1
                found.append(revision)
        return found

    def _revision(self, sighting: LinkStatistics) -> Revision | None:
        if sighting.score is None:
            return None
        score = self._score(sighting)
        if sighting.told is not None and abs(score - sighting.told) <= _SLIGHT * score:
            return None
        return Revision(sighting.url, score)

    def _score(self, sighting: LinkStatistics) -> float:
        if sighting.is_explored:
            return 1.0
        return self._standing.joined(sighting.analyser_mean, sighting.weight, sighting.score or 0.0)


_BITS = 1 << 24
_NUMBERS = Struct(">4I")


class Gone:
    """A set of URLs to which URLs can only be added (Bloom 1970), in 2 MB.

    It contains every URL that was added; other URLs are taken for members with a probability of one in 400 after a
    million additions, and one in 15 after three million.
    """

    def __init__(self) -> None:
        self._bits = bytearray(_BITS // 8)

    def add(self, url: str) -> None:
        """Take in a URL."""
        for place in _places(url):
            self._bits[place >> 3] |= 1 << (place & 7)

    def __contains__(self, url: str) -> bool:
        bits = self._bits
        return all(bits[place >> 3] >> (place & 7) & 1 for place in _places(url))


def _places(url: str) -> list[int]:
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=_NUMBERS.size).digest()
    return [number % _BITS for number in _NUMBERS.unpack(digest)]


_MIN_PAGES = 5
_GROWTH = 0.05
_MIN_MORE = 2
_MAX_LESSONS = 5_000
MAX_WAITING = 20_000
"""URLs that wait of which anything is kept."""
_MAX_SHOWN = 1_000
_LOTS = 16


class LearningRanker:
    """Learns the worth of pages during the crawl; see ``online_analysis.aggregation.LinkRanker``.

    ``explore`` is the share of fetches that it gives to the URLs it knows least about, whatever their predicted worth.
    """

    name = "ranker"

    def __init__(
        self,
        standing: Standing | None = None,
        *,
        explore: float = 0.0,
        seed: int = 0,
        most_waiting: int = MAX_WAITING,
    ) -> None:
        self._budget = RemainingBudget()
        self._model = Model(self._budget)
        self._waiting = Waiting(standing or Standing(), most_waiting)
        self._lessons: dict[str, Lesson] = {}
        self._gone = Gone()
        self._learned_from = 0
        self._since = 0
        self._explore = explore
        self._owed = 0.0
        self._random = Random(seed)

    def follow(
        self,
        document: Document,
        relevance: float,
        links: Sequence[ScoredLink],
        depth: int,
        left: BudgetLeft = UNSPENT,
    ) -> Scores:
        """Learn from a page, and predict the worth of its links."""
        self._budget.note(document.url, left)
        found = self._see(document, relevance, links, depth)
        self._since += 1
        if self._is_time():
            self._learn()
        elif self._learned_from:
            self._model.predict([sighting for sighting in found if sighting.score is None or sighting.made is None])
        self._waiting.offered({link.url: link for link in reversed(links)}.values())
        self._give_to_exploration()
        scores = {sighting.url: sighting.score for sighting in found}
        self._waiting.make_room()
        return Scores(self.name, None, tuple([scores.get(link.url) for link in links]))

    def revised(self, n: int) -> Sequence[Revision]:
        """Return complete scores of queued URLs that differ from those last reported."""
        return self._waiting.revised(n)

    def reweigh(self, weight: float, waiting: Mapping[str, Weighed]) -> None:
        """Change the ranker's weight, and take over the scores of queued URLs under the others' new weights."""
        self._waiting.reweigh(weight, waiting)

    def settled(self, url: str) -> None:
        """Forget a URL that is no longer queued; an unfetched one is worth nothing to the pages that led to it."""
        self._gone.add(url)
        self._waiting.forget(url)

    def explain(self, url: str) -> tuple[Reason, ...]:
        """Return the reasons of the prediction for a queued URL."""
        sighting = self._waiting.get(url)
        return self._model.explain(sighting) if sighting is not None and sighting.score is not None else ()

    def _see(
        self, document: Document, relevance: float, links: Sequence[ScoredLink], depth: int
    ) -> list[LinkStatistics]:
        """Record what a page shows, and return the queued URLs among its links."""
        former = self._lessons.pop(document.url, None)
        page = self._waiting.take(document.url) or (former.sighting if former else LinkStatistics(document.url))
        lesson = self._lessons[document.url] = Lesson(page, relevance)
        if len(self._lessons) > _MAX_LESSONS:
            del self._lessons[next(iter(self._lessons))]
        view = View(document, relevance, depth)
        found: list[LinkStatistics] = []
        met = {document.url}
        for link, scored in zip(document.outlinks, links, strict=True):
            url = link.url
            if url in met:
                continue
            met.add(url)
            known = self._lessons.get(url)
            sighting = known.sighting if known is not None else self._waiting.get(url)
            if sighting is None:
                if url in self._gone:
                    continue
                sighting = self._waiting.add(url)
                if len(lesson.shown) < _MAX_SHOWN:
                    lesson.shown.append(sighting)
            if not sighting.is_full:
                sighting.add(view.of(link), scored)
            if known is None:
                found.append(sighting)
        return found

    def _is_time(self) -> bool:
        n = len(self._lessons)
        return n >= _MIN_PAGES and self._since >= max(_MIN_MORE, _GROWTH * n)

    def _learn(self) -> None:
        lessons = list(self._lessons.values())
        self._model.learn(lessons, list(self._waiting))
        self._learned_from, self._since = len(lessons), 0
        self._waiting.rank()

    def _give_to_exploration(self) -> None:
        """If exploration is due, choose a URL to fetch for learning: the least known of some random ones."""
        self._owed += self._explore if self._learned_from else 0.0
        if self._owed < 1.0:
            return
        self._owed -= 1.0
        known = [sighting for sighting in self._waiting if sighting.score is not None and not sighting.is_explored]
        if known:
            lots = self._random.sample(known, min(_LOTS, len(known)))
            self._waiting.explore(max(lots, key=self._model.novelty))

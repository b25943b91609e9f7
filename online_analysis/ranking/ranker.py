"""The ranker: remembers pages and links, retrains itself when worthwhile, and reports changed scores.

It gives no scores until it knows five pages. It retrains from all of them whenever their number has grown by five per
cent, with all links known by then: a page that links to five good pages and an unknown one is evidence for the unknown
one. In between it predicts the worth of new links. It keeps the last 5,000 pages and the best 20,000 queued URLs.
"""

from collections.abc import Mapping, Sequence
from random import Random

from online_analysis.aggregation import UNSPENT, BudgetLeft, Reason, Revision, ScoredLink, Scores, Weighed
from online_analysis.document import Document
from online_analysis.ranking.link_statistics import LinkStatistics, View
from online_analysis.ranking.queued_urls import Gone, Standing, Waiting
from online_analysis.ranking.url_model import Lesson, Model, RemainingBudget

_FEWEST = 5
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
        return Scores(self.name, None, tuple(scores.get(link.url) for link in links))

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
        return n >= _FEWEST and self._since >= max(_MIN_MORE, _GROWTH * n)

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

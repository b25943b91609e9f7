"""Features of the links to a page, by which a crawl guesses what the page is worth."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offline.simulation.crawl_strategy import Briefing
from offline.simulation.visits import Visit
from online_analysis.term_counts import words_of

COLUMNS = (
    "analysers' score of the link",
    "cosine of the anchor",
    "cosine of the text around it",
    "document score of the page",
    "cosine of the page",
    "share of relevant pages on the path to the link",
    "nearness of the last relevant page on the path",
    "length of the path, negative",
    "cosine of the words of the URL",
    "number of links to the URL",
)
SCORE = 0
"""The column of the analysers' scores."""
_SHARE, _URL, _LINKS = 5, 8, 9

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Path:
    """The pages from a seed on: their number, how many of them are relevant, and how many follow the last of these."""

    pages: int = 0
    relevant: int = 0
    since: int = 0

    @property
    def share(self) -> float:
        return self.relevant / self.pages

    def with_page(self, *, is_relevant: bool) -> "_Path":
        return _Path(self.pages + 1, self.relevant + is_relevant, 0 if is_relevant else self.since + 1)


class LinkFeatures:
    """A row of features for each page of a world, by its number. Of several links, the best value of a column counts.

    The path to a page is the one with the largest share of relevant pages. Rows of pages without links, ``linked`` has
    them, are without meaning.
    """

    def __init__(self, briefing: Briefing) -> None:
        self._world = briefing.world
        self._topic = briefing.visits.topic
        self._subject = briefing.analysis.topic
        self._language = self._subject.vector(None).language
        self._paths: dict[int, _Path] = {}
        self.rows = np.full((len(briefing.world), len(COLUMNS)), -np.inf)
        self.rows[:, _LINKS] = 0.0

    def begin(self, seeds: Sequence[int]) -> None:
        """Take the seeds; the words of URLs are stemmed in the language of the first."""
        language = self._world.understood(seeds[0]).document.language
        self._language = self._subject.vector(language).language

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Return, for each page, whether there are links to it."""
        return self.rows[:, _LINKS] > 0

    def add(self, visit: Visit, *, is_relevant: bool) -> None:
        """Take in the links of a fetched page."""
        path = self._paths.get(visit.number, _Path()).with_page(is_relevant=is_relevant)
        of_page = (visit.score, visit.cosine, path.share, 1 / (1 + path.since), -path.pages)
        of_links = zip(visit.scores, visit.anchor_cosines, visit.context_cosines, strict=True)
        for target, of_link in zip(visit.targets, of_links, strict=True):
            row = self.rows[target]
            if not row[_LINKS]:
                row[_URL] = self._topic.cosine(Counter(self._language.terms(words_of(self._world.urls[target]))))
            if row[_SHARE] < path.share:
                self._paths[target] = path
            np.maximum(row[:_URL], (*of_link, *of_page), out=row[:_URL])
            row[_LINKS] += 1

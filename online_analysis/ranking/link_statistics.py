"""The links seen to one URL, and the row of features that they make."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from online_analysis.aggregation import ScoredLink, Weighed
from online_analysis.document import Document, Outlink
from online_analysis.hubs import leads_to_hub
from online_analysis.ranking.features import Columns, column, text_words, title_words, url_steps, url_words
from online_analysis.ranking.regression import Row, Rows

_MOST_LINKS = 24
"""The most links to one URL of which anything is kept, the first ones: every page links to the targets of a menu."""
_MOST_WORDS = 60
_GROWTH = 1.5
_DEEPEST = 8

SCALES: Mapping[str, float] = {
    "URL words": 1.0,
    "URL steps": 1.0,
    "texts": 1.0,
    "titles": 1.0,
    "pages": 1.0,
    "lists": 1.0,
    "places": 1.0,
    "figures": 2.0,
}
"""The prior spread of the effect of each group of features: figures hold of all links, so they tell sooner."""
_FIGURES = ("worth of pages", "best page", "links", "score of links", "best link", "named as a hub")
_FIGURE_COLUMNS = np.array([column("figure", name) for name in _FIGURES], np.int32)


class Seen(NamedTuple):
    """A link to a URL, as features."""

    page: int
    list: int
    places: Columns
    text: Columns
    title: Columns
    relevance: float


class Group(NamedTuple):
    """Features of one kind: columns, and the value in each."""

    columns: Sequence[int]
    values: Sequence[float]


@dataclass(slots=True, eq=False)
class LinkStatistics:
    """A URL and the links to it; ``value`` is what it is or seems to be worth, in the units of the ranker.

    ``analyser_mean`` is the mean of the analysers' scores of the links, and ``weight`` their weight. ``score`` is the
    prediction, None as long as there is none; ``told`` is the score in the frontier, after the last ``offers`` offers.
    ``is_explored``: it is to be fetched whatever its predicted worth. ``made`` is its row, None where that lacks so
    many links that it is to be made anew: the more links it has, the less one more changes.
    """

    url: str
    value: float = 0.0
    analyser_mean: float = 0.0
    weight: float = 0.0
    is_hub: bool = False
    score: float | None = None
    told: float | None = None
    offers: int = 1
    is_explored: bool = False
    _pages: list[int] = field(default_factory=list)
    _lists: list[int] = field(default_factory=list)
    _texts: dict[int, None] = field(default_factory=dict)
    _titles: dict[int, None] = field(default_factory=dict)
    _places: dict[int, None] = field(default_factory=dict)
    _relevance: float = 0.0
    _best_page: float = 0.0
    _best_link: float = 0.0
    _url_columns: tuple[Columns, Columns] | None = None
    made: Row | None = None
    _rowed: int = 0

    @property
    def is_linked(self) -> bool:
        """Return whether any link to the URL has been seen: seeds may have none."""
        return bool(self._pages)

    @property
    def is_full(self) -> bool:
        """Return whether no more links to the URL are kept."""
        return len(self._pages) >= _MOST_LINKS

    def add(self, seen: Seen, link: ScoredLink) -> None:
        """Take note of another link to the URL; the first one tells whether it is named as hubs are."""
        n = len(self._pages) + 1
        if n == 1:
            self.is_hub = leads_to_hub(link.url, link.anchor)
        if n > _MOST_LINKS:
            return
        self._pages.append(seen.page)
        self._lists.append(seen.list)
        self._texts.update(dict.fromkeys(seen.text))
        self._titles.update(dict.fromkeys(seen.title))
        self._places.update(dict.fromkeys(seen.places))
        self._relevance += (seen.relevance - self._relevance) / n
        self.analyser_mean += (link.score - self.analyser_mean) / n
        self._best_page = max(self._best_page, seen.relevance)
        self._best_link = max(self._best_link, link.score)
        self.weight = max(self.weight, link.weight)
        if n > self._rowed * _GROWTH:
            self.made = None

    def reweigh(self, now: Weighed) -> None:
        """Take over the scores of the links under other weights, and the score in the frontier."""
        self.analyser_mean, self.weight, self.told, self.offers = now.analyser_mean, now.weight, now.score, 1
        self.made = None

    def forget(self) -> None:
        """Drop the features of a URL that will not be fetched: it is worth nothing to the pages that led to it."""
        for each in (self._pages, self._lists, self._texts, self._titles, self._places):
            each.clear()
        self.value, self.score, self.made, self._url_columns = 0.0, None, None, None

    def row(self, unit: float) -> Row:
        """Return its features; worths are counted in units."""
        row = self.made
        if row is None:
            groups = list(self._columns())
            columns = np.array([*chain.from_iterable(found for _, found in groups)], np.int32)
            values = [_shares(name, len(found)) for name, found in groups]
            if self._pages:
                columns = np.concatenate([columns, _FIGURE_COLUMNS])
                values.append(np.array(self._figures(unit), np.float32))
            row = self.made = Row(columns, np.concatenate(values))
            self._rowed = len(self._pages)
        return row

    def groups(self, unit: float) -> Mapping[str, Group]:
        """Return its features by groups."""
        groups = {name: Group(found, _shares(name, len(found)).tolist()) for name, found in self._columns()}
        if not self._pages:
            return groups
        return {**groups, "figures": Group(_FIGURE_COLUMNS.tolist(), self._figures(unit))}

    def _columns(self) -> Iterator[tuple[str, Sequence[int]]]:
        if self._url_columns is None:
            self._url_columns = url_words(self.url), url_steps(self.url)
        yield from zip(("URL words", "URL steps"), self._url_columns, strict=True)
        if self._pages:
            yield "texts", list(self._texts)[:_MOST_WORDS]
            yield "titles", list(self._titles)[:_MOST_WORDS]
            yield "pages", self._pages
            yield "lists", self._lists
            yield "places", list(self._places)[:_MOST_WORDS]

    def _figures(self, unit: float) -> Sequence[float]:
        figures = (
            self._relevance / unit,
            self._best_page / unit,
            0.2 * math.log1p(len(self._pages)),
            self.analyser_mean / unit,
            self._best_link / unit,
            float(self.is_hub),
        )
        return [SCALES["figures"] * figure for figure in figures]


def rows_of(sightings: Iterable[LinkStatistics], unit: float) -> Rows:
    """Return the features of URLs, at least one; worths are counted in units."""
    return Rows.of([each.made or each.row(unit) for each in sightings])


class View:
    """The features that a page gives to each of its links."""

    def __init__(self, document: Document, relevance: float, depth: int) -> None:
        self._document = document
        self._relevance = relevance
        self._page = column("page", document.url)
        self._depth = column("depth", str(min(depth, _DEEPEST)))
        self._title = title_words(document.title)
        self._places: dict[tuple[str, str, str], tuple[int, Columns]] = {}

    def of(self, link: Outlink) -> Seen:
        """Return the sighting of a link."""
        role = self._document.parts[link.part].role if link.part is not None else ""
        place = (link.place, link.action or "", role)
        known = self._places.get(place)
        if known is None:
            known = self._places[place] = self._stands(*place)
        text = text_words(link.context or link.anchor)
        return Seen(self._page, known[0], known[1], text, self._title, self._relevance)

    def _stands(self, place: str, action: str, role: str) -> tuple[int, Columns]:
        document = self._document
        chosen = column("action", f"{document.application}/{document.level} {action} {role}")
        return column("list", f"{document.url} {place}"), (column("place", place), chosen, self._depth)


@lru_cache(1_000)
def _shares(name: str, n: int) -> NDArray[np.float32]:
    """Let the ``n`` features of a group share its scale, so that the size of a group does not change its weight."""
    return np.full(n, SCALES[name] / math.sqrt(max(1, n)), np.float32)

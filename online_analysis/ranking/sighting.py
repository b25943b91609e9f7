"""What has been seen of one URL: the links to it, and the row of features that they make."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from online_analysis.aggregation import ScoredLink, Weighed
from online_analysis.document import Document
from online_analysis.hubs import leads_to_hub
from online_analysis.ranking.features import Columns, address_steps, address_words, anchor_words, column
from online_analysis.ranking.regression import Row

_MOST_LINKS = 24
"""Links to one URL of which anything is kept, the first ones: what a menu links to is linked to by every page."""
_MOST_WORDS = 60
_GROWTH = 1.5
_DEEPEST = 8

SCALES: Mapping[str, float] = {
    "address": 1.0,
    "steps": 1.0,
    "anchors": 1.0,
    "pages": 1.0,
    "lists": 1.0,
    "places": 1.0,
    "figures": 1.0,
}
"""How much each group of features may say before anything is learned: the spread of its effect."""
_FIGURES = ("worth of pages", "best page", "links", "score of links", "best link", "named as a hub")
_FIGURE_COLUMNS = tuple(column("figure", name) for name in _FIGURES)


class Seen(NamedTuple):
    """A link to a URL, as features."""

    page: int
    list: int
    places: Mapping[int, None]
    anchor: Mapping[int, None]
    worth: float


class Group(NamedTuple):
    """Features of one kind: columns, and the value in each."""

    columns: Sequence[int]
    values: Sequence[float]


class Shown(NamedTuple):
    """A link of a page: as features, and with what the analysers said of it."""

    seen: Seen
    link: ScoredLink


@dataclass(slots=True, eq=False)
class Sighting:
    """A URL and the links to it; ``value`` is what it is or seems to be worth, in the units of the ranker.

    ``said`` and ``weight`` are the mean of what the analysers said of the links, and the weight they said it with.
    ``score`` is what is predicted, None as long as nothing is; ``told`` is what the frontier has, by its last
    ``offers`` offers. ``is_explored``: it is to be fetched whatever it seems to be worth.
    """

    url: str
    value: float = 0.0
    said: float = 0.0
    weight: float = 0.0
    is_hub: bool = False
    score: float | None = None
    told: float | None = None
    offers: int = 1
    is_explored: bool = False
    _pages: list[int] = field(default_factory=list)
    _lists: list[int] = field(default_factory=list)
    _anchors: dict[int, None] = field(default_factory=dict)
    _places: dict[int, None] = field(default_factory=dict)
    _worth: float = 0.0
    _best_page: float = 0.0
    _best_link: float = 0.0
    _address: tuple[Columns, Columns] | None = None
    _row: Row | None = None
    _rowed: int = 0

    def add(self, shown: Shown) -> None:
        """Take note of another link to the URL; the first one tells whether it is named as hubs are."""
        seen, link = shown
        n = len(self._pages) + 1
        if n == 1:
            self.is_hub = leads_to_hub(link.url, link.anchor)
        if n > _MOST_LINKS:
            return
        self._pages.append(seen.page)
        self._lists.append(seen.list)
        self._anchors.update(seen.anchor)
        self._places.update(seen.places)
        self._worth += (seen.worth - self._worth) / n
        self.said += (link.score - self.said) / n
        self._best_page = max(self._best_page, seen.worth)
        self._best_link = max(self._best_link, link.score)
        self.weight = max(self.weight, link.weight)
        if n > self._rowed * _GROWTH:
            self._row = None

    def reweigh(self, now: Weighed) -> None:
        """Take over what is said of the links under other weights, and what the frontier has."""
        self.said, self.weight, self.told, self.offers = now.said, now.weight, now.score, 1
        self._row = None

    def forget(self) -> None:
        """Let go of all that was seen of a URL that will not be fetched: it is worth nothing to what led to it."""
        for each in (self._pages, self._lists, self._anchors, self._places):
            each.clear()
        self.value, self.score, self._row, self._address = 0.0, None, None, None

    @property
    def is_stale(self) -> bool:
        """Whether its row lacks so many links that it is to be made anew: the more it has, the less one more says."""
        return self._row is None

    def row(self, unit: float) -> Row:
        """Return its features; worths are counted in units."""
        row = self._row
        if row is None:
            columns: list[int] = []
            values: list[float] = []
            for group in self.groups(unit).values():
                columns += group.columns
                values += group.values
            row = self._row = Row.of(columns, values)
            self._rowed = len(self._pages)
        return row

    def groups(self, unit: float) -> Mapping[str, Group]:
        """Return its features by groups."""
        if self._address is None:
            self._address = address_words(self.url), address_steps(self.url)
        words_of_address, steps = self._address
        found = {"address": _shared("address", words_of_address), "steps": _shared("steps", steps)}
        if self._pages:
            found["anchors"] = _shared("anchors", list(self._anchors)[:_MOST_WORDS])
            found["pages"] = _shared("pages", self._pages)
            found["lists"] = _shared("lists", self._lists)
            found["places"] = _shared("places", list(self._places)[:_MOST_WORDS])
            found["figures"] = Group(_FIGURE_COLUMNS, self._figures(unit))
        return found

    def _figures(self, unit: float) -> Sequence[float]:
        figures = (
            self._worth / unit,
            self._best_page / unit,
            0.2 * math.log1p(len(self._pages)),
            self.said / unit,
            self._best_link / unit,
            float(self.is_hub),
        )
        return [SCALES["figures"] * figure for figure in figures]


def sight(document: Document, worth: float, links: Sequence[ScoredLink], depth: int) -> Mapping[str, Shown]:
    """Return what a page shows of each URL that it links to, by its first link to it."""
    page = column("page", document.url)
    at_depth = column("depth", str(min(depth, _DEEPEST)))
    places: dict[tuple[str, str, str], tuple[int, Mapping[int, None]]] = {}
    found: dict[str, Shown] = {}
    for link, scored in zip(document.outlinks, links, strict=True):
        if link.url in found or link.url == document.url:
            continue
        role = document.parts[link.part].role if link.part is not None else ""
        known = places.get(place := (link.place, link.action or "", role))
        if known is None:
            action = column("action", f"{document.application}/{document.level} {link.action or ''} {role}")
            listed = column("list", f"{document.url} {link.place}")
            known = places[place] = listed, dict.fromkeys((column("place", link.place), action, at_depth))
        seen = Seen(page, known[0], known[1], anchor_words(link.anchor), worth)
        found[link.url] = Shown(seen, scored)
    return found


def _shared(name: str, columns: Sequence[int]) -> Group:
    """Let the features of a group share its scale, so that many say no more together than few."""
    n = len(columns)
    return Group(columns, [SCALES[name] / math.sqrt(n)] * n if n else ())

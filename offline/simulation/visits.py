"""What a simulated crawl learns by fetching a page, computed once for all strategies of a sample."""

import math
from array import array
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from offline.simulation.page_data import Understood, summed
from offline.simulation.world import World

_REMEMBERED_TEXTS = 20_000


@dataclass(frozen=True, slots=True)
class Judged:
    """The analysers' scores of a page and of all of its outlinks, in [0, 1].

    ``weights`` has, for each outlink, the weight of the analysers that scored it.
    """

    score: float
    links: "array[float]"
    weights: "array[float]"


@dataclass(frozen=True, slots=True)
class Visit:
    """A fetched page. Everything after ``cosine`` is parallel to those links that lead to pages of the world.

    ``judged``, ``score`` and ``scores`` are those of the crawler's analysers; ``cosine``, ``anchor_cosines`` and
    ``context_cosines`` are plain similarities of term counts with the sum of the seeds' (ARCOMEM, section 5.1), for
    strategies from the literature.
    """

    number: int
    judged: Judged
    cosine: float
    links: tuple[int, ...]
    """The position of each link among the outlinks of the page's document."""
    targets: tuple[int, ...]
    scores: "array[float]"
    anchor_cosines: "array[float]"
    context_cosines: "array[float]"
    tag_paths: tuple[str, ...]

    @property
    def score(self) -> float:
        """The document score."""
        return self.judged.score


class Direction:
    """A vector of term counts to compare others with."""

    def __init__(self, counts: Mapping[str, int]) -> None:
        self.counts = counts
        self.length = length(counts)

    def dot(self, terms: Mapping[str, int]) -> int:
        """Return the dot product with another vector."""
        mine = self.counts
        return sum(count * mine[term] for term, count in terms.items() if term in mine)

    def cosine(self, terms: Mapping[str, int]) -> float:
        """Return the cosine of the angle to another vector; 0 if one of them is empty."""
        lengths = self.length * length(terms)
        return self.dot(terms) / lengths if lengths else 0.0


def length(counts: Mapping[str, int]) -> float:
    """Return the Euclidean length of a vector of counts."""
    return math.sqrt(sum(count * count for count in counts.values()))


class Visits:
    """The pages of a world as the crawls of one sample see them; each is computed once."""

    def __init__(self, world: World, seeds: Sequence[int], judge: Callable[[Understood], Judged]) -> None:
        self.world = world
        self.topic = Direction(summed([world.understood(seed).terms for seed in seeds]))
        self._judge = judge
        self._known: dict[int, Visit] = {}
        self._local_cosine = lru_cache(_REMEMBERED_TEXTS)(lambda terms: self.topic.cosine(Counter(terms)))

    def visit(self, number: int) -> Visit:
        """Return what a crawl learns by fetching a page."""
        visit = self._known.get(number)
        if visit is None:
            visit = self._known[number] = self._visit(number, self.world.understood(number))
        return visit

    def _visit(self, number: int, page: Understood) -> Visit:
        judged = self._judge(page)
        found = [
            (position, target)
            for position, link in enumerate(page.document.outlinks)
            if (target := self.world.number(link.url)) is not None
        ]
        links = tuple(position for position, _ in found)
        return Visit(
            number=number,
            judged=judged,
            cosine=self.topic.cosine(page.terms),
            links=links,
            targets=tuple(target for _, target in found),
            scores=array("d", [judged.links[position] for position in links]),
            anchor_cosines=array("d", [self._local_cosine(page.anchors[position]) for position in links]),
            context_cosines=array("d", [self._local_cosine(page.contexts[position]) for position in links]),
            tag_paths=tuple(page.document.outlinks[position].place for position in links),
        )

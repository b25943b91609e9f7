"""Measures a graph of people: who has influence in it, and which communities it has."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
from scipy.sparse import csr_matrix

DAMPING: Final = 0.85
_MAX_ROUNDS: Final = 200
_SETTLED: Final = 1e-10
_MAX_LEVELS: Final = 20
_MAX_PASSES: Final = 20
_GAIN: Final = 1e-9

Edges = Mapping[tuple[int, int], float]
"""Weights above 0 by the numbers of two different people, from one who answers to one who is answered."""


def influence(people: int, edges: Edges) -> list[float]:
    """Return the influence of each of some people: their PageRank (Brin and Page, 1998) by the weights of edges.

    All together have 1. Whoever is answered by many, and by such as are answered themselves, has more. Numbers are
    rounded to six digits.
    """
    if not people:
        return []
    sources, targets = np.array(list(edges) or np.empty((0, 2)), np.int64).T
    weights = np.fromiter(edges.values(), np.float64, len(edges))
    given = np.bincount(sources, weights, people)
    steps = csr_matrix((weights / given[sources], (targets, sources)), shape=(people, people))
    silent = given == 0
    ranks = np.full(people, 1 / people)
    for _ in range(_MAX_ROUNDS):
        former, ranks = ranks, (1 - DAMPING) / people + DAMPING * (steps @ ranks + ranks[silent].sum() / people)
        if np.abs(ranks - former).sum() < _SETTLED:
            break
    return [round(float(rank), 6) for rank in ranks]


@dataclass(frozen=True, slots=True)
class Communities:
    """The community of each of some people, numbered as they come, and how well they are told apart.

    ``modularity`` is the share of ties within communities above what would be there by chance; from .3 on a graph has
    communities indeed (Newman and Girvan, 2004).
    """

    of: tuple[int, ...]
    modularity: float


def communities(people: int, edges: Edges) -> Communities:
    """Return the communities of some people by the Louvain method (Blondel and others, 2008).

    Directions do not matter. People are taken in their order, so equal graphs have equal communities.
    """
    graph = _Graph.of(people, edges)
    members = list(range(people))
    for _ in range(_MAX_LEVELS):
        joined = _numbered(graph.moved())
        members = [joined[number] for number in members]
        if len(set(joined)) == len(joined):
            break
        graph = graph.merged(joined)
    members = _numbered(members)
    return Communities(tuple(members), round(_Graph.of(people, edges).modularity(members), 6))


def _numbered(names: Sequence[int]) -> list[int]:
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names]


@dataclass(frozen=True, slots=True)
class _Graph:
    """Weights between nodes and others, and those within nodes that were several."""

    near: Sequence[dict[int, float]]
    within: Sequence[float]

    @classmethod
    def of(cls, people: int, edges: Edges) -> "_Graph":
        near: list[dict[int, float]] = [{} for _ in range(people)]
        for (one, other), weight in sorted(edges.items()):
            for source, target in pairwise((one, other, one)):
                near[source][target] = near[source].get(target, 0) + weight
        return cls(near, [0.0] * people)

    def degrees(self) -> list[float]:
        return [sum(near.values()) + 2 * within for near, within in zip(self.near, self.within, strict=True)]

    def moved(self) -> list[int]:
        """Return the community of each node, after each went to that of a neighbour as long as this is a gain."""
        degrees = self.degrees()
        total = sum(degrees) or 1.0
        communities, sums = list(range(len(degrees))), list(degrees)
        for _ in range(_MAX_PASSES):
            is_moving = False
            for node, near in enumerate(self.near):
                own = communities[node]
                sums[own] -= degrees[node]
                weights = {own: 0.0}
                for other, weight in near.items():
                    weights[communities[other]] = weights.get(communities[other], 0.0) + weight
                gains = {each: weight - sums[each] * degrees[node] / total for each, weight in weights.items()}
                best = max(gains, key=lambda each: (gains[each], -each))
                if gains[best] <= gains[own] + _GAIN:
                    best = own
                is_moving |= best != own
                communities[node] = best
                sums[best] += degrees[node]
            if not is_moving:
                break
        return communities

    def merged(self, joined: Sequence[int]) -> "_Graph":
        """Return the graph of communities, numbered from 0 on."""
        count = max(joined) + 1
        near: list[dict[int, float]] = [{} for _ in range(count)]
        within = [0.0] * count
        for node, community in enumerate(joined):
            within[community] += self.within[node]
            for other, weight in self.near[node].items():
                target = joined[other]
                if target == community:
                    within[community] += weight / 2
                else:
                    near[community][target] = near[community].get(target, 0.0) + weight
        return _Graph(near, within)

    def modularity(self, members: Sequence[int]) -> float:
        total = sum(self.degrees())
        if not total:
            return 0.0
        joined = self.merged(members)
        return sum(
            2 * within / total - (degree / total) ** 2
            for within, degree in zip(joined.within, joined.degrees(), strict=True)
        )

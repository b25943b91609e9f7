"""Shark-search (Hersovici et al., The shark-search algorithm, WWW 1998): relevance that fades from page to page."""

from collections.abc import Iterable

from offline.simulation.visits import Visit

FADING = 0.5
"""delta: the share of its parent's relevance that a child inherits."""
ANCHOR = 0.8
"""beta: the weight of the anchor in the neighbourhood score of a link, beside that of the text around it."""
INHERITED = 0.5
"""gamma: the weight of the inherited score in the score of a link, beside that of its neighbourhood."""


class SharkScoring:
    """Scores links by the worth of their page, or the inherited worth if it has none, and by the words around them."""

    def __init__(self) -> None:
        self._inherited: dict[int, float] = {}

    def scores(self, visit: Visit) -> Iterable[float]:
        """Return the potential score of each link, in [0, 1]; each target inherits the best that it was left."""
        left = FADING * (visit.cosine if visit.cosine > 0 else self._inherited.get(visit.number, 0.0))
        for target in visit.targets:
            self._inherited[target] = max(left, self._inherited.get(target, 0.0))
        return [
            INHERITED * left + (1 - INHERITED) * self._neighbourhood(anchor, context)
            for anchor, context in zip(visit.anchor_cosines, visit.context_cosines, strict=True)
        ]

    def _neighbourhood(self, anchor: float, context: float) -> float:
        return ANCHOR * anchor + (1 - ANCHOR) * (1.0 if anchor > 0 else context)

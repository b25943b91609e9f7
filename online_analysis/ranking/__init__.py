"""A ranker of links that learns the worth of fetched pages while it crawls (ARCOMEM, section 4.2)."""

from online_analysis.icd.scoring import Scoring
from online_analysis.ranking.ranker import LearningRanker, Standing


def link_ranker(scoring: Scoring) -> LearningRanker | None:
    """Return the ranker that an ICD asks for, None where its weight there is 0."""
    weight = scoring.weights.get(LearningRanker.name, 0.0)
    if not weight:
        return None
    return LearningRanker(Standing(weight, scoring.update), explore=scoring.explore, seed=scoring.seed)


__all__ = ["LearningRanker", "Standing", "link_ranker"]

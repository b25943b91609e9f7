"""A bandit whose arms are the leaves of a regression tree over features of links, after TRES.

Kontogiannis, Kelesidis, Pollatos, Giannakopoulos and Paliouras (Tree-based focused web crawling with reinforcement
learning, arXiv:2112.07620) let a tree part links by the relevance of the pages that were fetched, with splits that
reduce its variance the most. A representative of each leaf, by lot, is shown to a deep network that has learned what
fetching such a link is worth in the long run, and the best of them is fetched.

Adapted here: there is no network. A leaf has an upper confidence bound of what its fetched pages were worth, by the
variance within leaves, and of its links the one that the analysers score highest is fetched. A page is worth its
document score. The tree is grown anew as the crawl grows, in place of being split leaf by leaf, and a URL is in one
leaf, however many links lead to it. The features are theirs in kind, by the similarities that all strategies here use.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from offline.simulation.crawl_strategy import Briefing
from offline.simulation.link_features import SCORE, LinkFeatures
from offline.simulation.regression_tree import RegressionTree, grown
from offline.simulation.seeds_first import SeedsFirst
from offline.simulation.visits import Visit

GROWTH = 1.1
"""The tree is grown anew when this many times as many pages have been fetched."""
LEAST = 5
"""The least number of fetched pages in a leaf."""
_NOWHERE = -1

Floats = NDArray[np.float64]


@dataclass(slots=True)
class _Leaves:
    """The trials of all leaves and the sums of their rewards, and the variance of rewards within leaves."""

    trials: Floats
    rewards: Floats
    variance: float = 0.0

    def bounds(self) -> Floats:
        """Return the upper confidence bound of each leaf; they are equal before anything was tried."""
        trials = np.maximum(self.trials, 1.0)
        bonus = 2 * self.variance * math.log(max(1.0, float(self.trials.sum()))) / trials
        bounds: Floats = self.rewards / trials + np.sqrt(bonus)
        return bounds


class TreeBandit(SeedsFirst):
    """Fetches the link with the highest score in the leaf with the highest bound among those where links wait."""

    def __init__(self, briefing: Briefing) -> None:
        super().__init__()
        pages = len(briefing.world)
        self._relevant = briefing.scoring.relevant
        self._features = LinkFeatures(briefing)
        self._tree = RegressionTree()
        self._leaves = _Leaves(np.zeros(1), np.zeros(1))
        self._leaf_of = np.full(pages, _NOWHERE, np.int64)
        self._worth = np.full(pages, np.nan)
        self._given: frozenset[int] = frozenset()
        self._fetched, self._grow_at = 0, 0.0

    def begin(self, seeds: Sequence[int]) -> None:
        """Take the seeds, which are known to be relevant."""
        super().begin(seeds)
        self._given = frozenset(seeds)
        self._features.begin(seeds)

    def _next(self) -> Sequence[int]:
        if self._fetched >= self._grow_at:
            self._grow()
        waiting = np.flatnonzero(self._leaf_of != _NOWHERE)
        if not waiting.size:
            return ()
        bounds = self._leaves.bounds()[self._leaf_of[waiting]]
        of_best_leaf = waiting[bounds == bounds.max()]
        best = int(of_best_leaf[self._features.rows[of_best_leaf, SCORE].argmax()])
        return (best,)

    def fetched(self, visit: Visit) -> None:
        """Reward the leaf that led here, and put the links of the page into leaves."""
        self._fetched += 1
        self._worth[visit.number] = visit.score
        leaf = self._leaf_of[visit.number]
        if leaf != _NOWHERE:
            self._leaves.trials[leaf] += 1
            self._leaves.rewards[leaf] += visit.score
            self._leaf_of[visit.number] = _NOWHERE
        self._features.add(visit, is_relevant=visit.number in self._given or visit.score >= self._relevant)
        self._known.update(visit.targets)
        self._sort(np.array([target for target in set(visit.targets) if self._is_waiting(target)], np.int64))

    def _is_waiting(self, number: int) -> bool:
        return number not in self._given and math.isnan(self._worth[number])

    def _sort(self, numbers: NDArray[np.int64]) -> None:
        """Put links into the leaves that their features lead to."""
        self._leaf_of[numbers] = self._tree.leaves(self._features.rows[numbers])

    def _grow(self) -> None:
        """Grow the tree by the pages that were fetched and linked; sort all links that wait into its leaves."""
        self._grow_at = self._fetched * GROWTH
        taught = np.flatnonzero(self._features.linked & ~np.isnan(self._worth))
        rows, worth = self._features.rows[taught], self._worth[taught]
        self._tree = grown(rows, worth, LEAST)
        leaves = self._tree.leaves(rows)
        count = len(self._tree)
        trials, rewards = np.bincount(leaves, minlength=count), np.bincount(leaves, worth, minlength=count)
        self._leaves = _Leaves(trials.astype(np.float64), rewards.astype(np.float64))
        if taught.size:
            means = self._leaves.rewards / self._leaves.trials
            self._leaves.variance = float(np.square(worth - means[leaves]).mean())
        self._sort(np.flatnonzero(self._leaf_of != _NOWHERE))

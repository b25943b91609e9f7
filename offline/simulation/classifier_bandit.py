"""A bandit of groups of tag paths beside a classifier of URLs, after SB-CLASSIFIER.

Gauquier, Manolescu and Senellart (Efficient crawling for scalable web data acquisition, extended version:
arXiv:2602.11874) look for files of data in a site. Links whose URLs a classifier takes for such targets are fetched at
once. All others wait in groups of links with alike paths of tags; a sleeping bandit chooses the group, and the reward
of a page is the number of targets among its new links. The threshold of groups (theta), the pairs of tags and of
characters and the size of batches are those of their published code, whose alpha is 2 * sqrt(2).

Adapted here, where any page may be relevant and lead to others, and a budget bounds the crawl:

- A target is a page whose document score is at least the definition's ``scoring.relevant``, or a seed. The classifier
  learns from fetched pages alone, as relevance cannot be asked for with a HEAD request.
- Whenever it has learned, all waiting links are classified again; of the targets the most probable one is first.
- The reward is 1 for a relevant page, and the share of targets among its new links, as pages differ in their numbers
  of links; as rewards are smaller, so is the exploration. Pages that were fetched as targets reward no group.
- A group is the mean of its different paths, of which the first class of each tag is known, and no identifiers.
- Within a group the oldest link is first, in place of one by lot: pages near the seeds are more like them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from offline.simulation.crawl_strategy import Briefing
from offline.simulation.seeds_first import SeedsFirst
from offline.simulation.tag_path_groups import TagPathGroups
from offline.simulation.url_classifier import UrlClassifier
from offline.simulation.visits import Visit

EXPLORATION = 0.5
"""alpha: the weight of the bonus for groups that were seldom tried; rewards are in [0, 2]."""
_LIKELY = 0.5
_NOWHERE = -1


@dataclass(slots=True)
class _Arm:
    trials: int = 0
    rewards: float = 0.0

    def bound(self, trials: int) -> float:
        """Return the mean reward and the bonus."""
        if not self.trials:
            return math.inf
        return self.rewards / self.trials + EXPLORATION * math.sqrt(math.log(trials) / self.trials)


class ClassifierBandit(SeedsFirst):
    """Fetches the most probable target; without any, the oldest link of the group with the highest bound."""

    def __init__(self, briefing: Briefing) -> None:
        super().__init__()
        self._urls = briefing.world.urls
        self._relevant = briefing.scoring.relevant
        self._classifier = UrlClassifier()
        self._groups = TagPathGroups()
        self._arms: list[_Arm] = []
        self._chosen: dict[int, _Arm] = {}
        self._trials = 0
        self._given: frozenset[int] = frozenset()
        self._arm_of = np.full(len(self._urls), _NOWHERE, np.int64)
        self._place = np.zeros(len(self._urls), np.int64)
        self._probability = np.zeros(len(self._urls))

    def begin(self, seeds: Sequence[int]) -> None:
        """Take the seeds, which are known to be targets."""
        super().begin(seeds)
        self._given = frozenset(seeds)

    def _next(self) -> Sequence[int]:
        waiting = np.flatnonzero(self._arm_of != _NOWHERE)
        if not waiting.size:
            return ()
        best = waiting[self._probability[waiting].argmax()]
        if self._probability[best] < _LIKELY:
            bounds = np.array([arm.bound(self._trials) for arm in self._arms])[self._arm_of[waiting]]
            of_best_arm = waiting[bounds == bounds.max()]
            best = of_best_arm[self._place[of_best_arm].argmin()]
            self._chosen[int(best)] = self._arms[self._arm_of[best]]
        self._arm_of[best] = _NOWHERE
        return (int(best),)

    def fetched(self, visit: Visit) -> None:
        """Teach the classifier, sort the links that are new into groups, and reward the group that led here."""
        is_relevant = visit.number in self._given or visit.score >= self._relevant
        if self._classifier.learn(self._urls[visit.number], relevant=is_relevant):
            self._classify(np.flatnonzero(self._arm_of != _NOWHERE).tolist())
        new = self._sorted(visit)
        self._classify(new)
        arm = self._chosen.pop(visit.number, None)
        if arm is not None:
            likely = self._probability[new] >= _LIKELY
            self._trials += 1
            arm.trials += 1
            arm.rewards += is_relevant + (float(likely.mean()) if new else 0.0)

    def _sorted(self, visit: Visit) -> list[int]:
        """Let the new links of a page wait in their groups; return their targets."""
        new = []
        for target, path in zip(visit.targets, visit.tag_paths, strict=True):
            if target not in self._known:
                self._known.add(target)
                self._place[target] = len(self._known)
                self._arm_of[target] = self._groups.group(path)
                new.append(target)
        self._arms += [_Arm() for _ in range(len(self._groups) - len(self._arms))]
        return new

    def _classify(self, numbers: Sequence[int]) -> None:
        self._probability[numbers] = self._classifier.probabilities([self._urls[number] for number in numbers])

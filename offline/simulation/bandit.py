"""A bandit that learns which places of pages lead to relevant ones.

Links that stand at the same path of tags are taken for links of one kind, as by crawlers that learn a site's layout
(ACEBOT: Faheem and Senellart, Adaptive web crawling through structure-based link classification, 2015). Each kind is
an arm; its reward is the score of the page that was fetched. Arms without links rest (a sleeping bandit).
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from offline.simulation.seeds_first import SeedsFirst
from offline.simulation.visits import Visit

EXPLORATION = 0.5
"""The weight of the bonus for arms that were seldom tried; rewards are in [0, 1]."""


@dataclass(slots=True)
class _Arm:
    waiting: deque[int] = field(default_factory=deque)
    trials: int = 0
    rewards: float = 0.0

    def bound(self, trials: int) -> float:
        """Return the upper confidence bound (UCB1) of the reward."""
        if not self.trials:
            return math.inf
        return self.rewards / self.trials + EXPLORATION * math.sqrt(2 * math.log(trials) / self.trials)


class TagPathBandit(SeedsFirst):
    """Fetches the oldest link of the arm with the highest bound; of equal arms, of the one that was met first."""

    def __init__(self) -> None:
        super().__init__()
        self._arms: dict[str, _Arm] = {}
        self._awake: dict[str, _Arm] = {}
        self._chosen: dict[int, _Arm] = {}
        self._trials = 0

    def _next(self) -> Sequence[int]:
        if not self._awake:
            return ()
        path, arm = max(self._awake.items(), key=lambda item: item[1].bound(self._trials))
        number = arm.waiting.popleft()
        if not arm.waiting:
            del self._awake[path]
        self._chosen[number] = arm
        return (number,)

    def fetched(self, visit: Visit) -> None:
        """Reward the arm that led here, and hand out the links that are new."""
        arm = self._chosen.pop(visit.number, None)
        if arm is not None:
            self._trials += 1
            arm.trials += 1
            arm.rewards += visit.score
        for target, path in zip(visit.targets, visit.tag_paths, strict=True):
            if target not in self._known:
                self._known.add(target)
                arm = self._arms.setdefault(path, _Arm())
                arm.waiting.append(target)
                self._awake[path] = arm

"""Bandits that learn during a crawl which links lead to relevant pages.

Their arms are places on pages, groups of similar tag paths together with a classifier of URLs (after SB-CLASSIFIER), or
the leaves of a regression tree over features of links (after TRES).
"""

import math
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from offline.simulation.crawl_strategy import Briefing, SeedsFirst
from offline.simulation.visits import Visit
from online_analysis.term_arrays import words_of

EXPLORATION = 0.5
Floats = NDArray[np.float64]
_NOWHERE = -1

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
    """Fetches the oldest link of the arm with the highest bound; of equal arms, of the one met first."""

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
        """Reward the arm that led here, and distribute the new links over arms."""
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


"""alpha: the weight of the bonus for groups that were seldom tried; rewards are in [0, 2]."""
_LIKELY = 0.5


@dataclass(slots=True)
class _GroupArm:
    trials: int = 0
    rewards: float = 0.0

    def bound(self, trials: int) -> float:
        """Return the mean reward and the bonus."""
        if not self.trials:
            return math.inf
        return self.rewards / self.trials + EXPLORATION * math.sqrt(math.log(trials) / self.trials)


class ClassifierBandit(SeedsFirst):
    """Fetches the most probable target; if there is none, the oldest link of the group with the highest bound."""

    def __init__(self, briefing: Briefing) -> None:
        super().__init__()
        self._urls = briefing.world.urls
        self._relevant = briefing.scoring.relevant
        self._classifier = UrlClassifier()
        self._groups = TagPathGroups()
        self._arms: list[_GroupArm] = []
        self._chosen: dict[int, _GroupArm] = {}
        self._trials = 0
        self._given: frozenset[int] = frozenset()
        self._arm_of = np.full(len(self._urls), _NOWHERE, np.int64)
        self._place = np.zeros(len(self._urls), np.int64)
        self._probability = np.zeros(len(self._urls))

    def begin(self, seeds: Sequence[int]) -> None:
        """Store the seeds, which are known to be targets."""
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
        """Teach the classifier, sort the new links into groups, and reward the group that led here."""
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
        """Queue the new links of a page in their groups; return those that are targets."""
        new = []
        for target, path in zip(visit.targets, visit.tag_paths, strict=True):
            if target not in self._known:
                self._known.add(target)
                self._place[target] = len(self._known)
                self._arm_of[target] = self._groups.group(path)
                new.append(target)
        self._arms += [_GroupArm() for _ in range(len(self._groups) - len(self._arms))]
        return new

    def _classify(self, numbers: Sequence[int]) -> None:
        self._probability[numbers] = self._classifier.probabilities([self._urls[number] for number in numbers])


MIN_SIMILARITY = 0.75
"""theta: the cosine with a group's centroid that a path needs to join the group."""
DIMENSIONS = 2**12
"""The number of dimensions into which pairs of tags are hashed."""


class TagPathGroups:
    """Groups paths of tags, numbered from 0; a path stays in its group.

    A path is the vector of its pairs of neighbouring tags. A new one joins the group whose centroid, the mean of its
    paths, is the nearest by cosine, unless none is near enough: then it founds a group.
    """

    def __init__(self) -> None:
        self._groups: dict[str, int] = {}
        self._sums = np.zeros((0, DIMENSIONS))

    def __len__(self) -> int:
        return len(self._sums)

    def group(self, path: str) -> int:
        """Return the number of the group that a path is in, joins, or founds."""
        known = self._groups.get(path)
        if known is None:
            vector = _vector(path)
            known = self._groups[path] = self._nearest(vector)
            if known == len(self._sums):
                self._sums = np.vstack((self._sums, vector))
            else:
                self._sums[known] += vector
        return known

    def _nearest(self, vector: Floats) -> int:
        """Return the group nearest to a vector; the number of groups if none is near enough."""
        if not len(self._sums):
            return 0
        cosines = self._sums @ vector / (np.linalg.norm(self._sums, axis=1) * np.linalg.norm(vector))
        nearest = int(cosines.argmax())
        return nearest if cosines[nearest] >= MIN_SIMILARITY else len(self._sums)


def _vector(path: str) -> Floats:
    """Return the shares of pairs of tags in a path; its beginning and its end count as tags."""
    tags: Sequence[str] = ("", *path.split("/"), "")
    hashed = [crc32(f"{one}/{other}".encode()) % DIMENSIONS for one, other in pairwise(tags)]
    return np.bincount(hashed, minlength=DIMENSIONS) / len(hashed)


BATCH = 10
"""How many fetched pages are learned from together."""
_PAIRS = 2**13
_STEP = 10.0
_STEP_OF_BIAS = 0.01
_FADES_AFTER = 1_000

Integers = NDArray[np.uint16]


class UrlClassifier:
    """Logistic regression on pairs of neighbouring characters, by stochastic gradient descent.

    Each page is learned from once. A URL is a vector of length 1, with the same value for each of its pairs. Until
    pages of both kinds have been learned from, all probabilities are 0.
    """

    def __init__(self) -> None:
        self._weights = np.zeros(_PAIRS)
        self._bias = 0.0
        self._steps = 0
        self._known: dict[str, Integers] = {}
        self._batch: list[tuple[str, bool]] = []
        self._kinds: set[bool] = set()

    def learn(self, url: str, *, relevant: bool) -> bool:
        """Add a fetched page. Return whether a batch was complete, which changes the probabilities."""
        self._batch.append((url, relevant))
        if len(self._batch) < BATCH:
            return False
        for each, is_relevant in self._batch:
            self._step(self._pairs(each), is_relevant=is_relevant)
        self._kinds.update(is_relevant for _, is_relevant in self._batch)
        self._batch.clear()
        return True

    def probabilities(self, urls: Sequence[str]) -> Floats:
        """Return for each URL the probability that its page is relevant."""
        if len(self._kinds) < 2 or not urls:
            return np.zeros(len(urls))
        pairs = [self._pairs(url) for url in urls]
        ends = np.cumsum([0, *map(len, pairs)])
        sums = np.add.reduceat(self._weights[np.concatenate(pairs)], ends[:-1])
        return 1.0 / (1.0 + np.exp(-(sums / np.sqrt(np.diff(ends)) + self._bias)))

    def _pairs(self, url: str) -> Integers:
        known = self._known.get(url)
        if known is None:
            known = self._known[url] = _pairs(url)
        return known

    def _step(self, pairs: Integers, *, is_relevant: bool) -> None:
        length = math.sqrt(len(pairs))
        predicted = 1.0 / (1.0 + math.exp(-(float(self._weights[pairs].sum()) / length + self._bias)))
        step = _STEP / (1 + self._steps / _FADES_AFTER) * (is_relevant - predicted)
        self._weights[pairs] += step / length
        self._bias += _STEP_OF_BIAS * step
        self._steps += 1


def _pairs(url: str) -> Integers:
    """Return the distinct pairs of neighbouring characters of a URL, hashed; there is at least one."""
    characters = np.frombuffer(url.encode().ljust(2), np.uint8).astype(np.uint16)
    return np.unique((characters[:-1] * 257 + characters[1:]) % _PAIRS)


GROWTH = 1.1
"""The tree is grown again when this many times as many pages have been fetched."""
MIN_IN_LEAF = 5
"""The fewest fetched pages in a leaf."""


@dataclass(slots=True)
class _Leaves:
    """How often each leaf was tried, the sum of its rewards, and the variance of rewards within leaves."""

    trials: Floats
    rewards: Floats
    variance: float = 0.0

    def bounds(self) -> Floats:
        """Return the upper confidence bound of each leaf; all are equal before the first trial."""
        trials = np.maximum(self.trials, 1.0)
        bonus = 2 * self.variance * math.log(max(1.0, float(self.trials.sum()))) / trials
        bounds: Floats = self.rewards / trials + np.sqrt(bonus)
        return bounds


class TreeBandit(SeedsFirst):
    """Fetches the link with the highest score in the leaf with the highest bound, among leaves with queued links."""

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
        """Store the seeds, which are known to be relevant."""
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
        """Reward the leaf that led here, and sort the links of the page into leaves."""
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
        """Sort links into the leaves to which their features lead."""
        self._leaf_of[numbers] = self._tree.leaves(self._features.rows[numbers])

    def _grow(self) -> None:
        """Grow the tree from the fetched pages that have links to them; sort all queued links into its leaves."""
        self._grow_at = self._fetched * GROWTH
        taught = np.flatnonzero(self._features.linked & ~np.isnan(self._worth))
        rows, worth = self._features.rows[taught], self._worth[taught]
        self._tree = grown(rows, worth, MIN_IN_LEAF)
        leaves = self._tree.leaves(rows)
        count = len(self._tree)
        trials, rewards = np.bincount(leaves, minlength=count), np.bincount(leaves, worth, minlength=count)
        self._leaves = _Leaves(trials.astype(np.float64), rewards.astype(np.float64))
        if taught.size:
            means = self._leaves.rewards / self._leaves.trials
            self._leaves.variance = float(np.square(worth - means[leaves]).mean())
        self._sort(np.flatnonzero(self._leaf_of != _NOWHERE))


Leaves = NDArray[np.int64]

_MIN_GAIN = 1e-9


@dataclass(frozen=True, slots=True)
class Split:
    """Divides the rows of a leaf by one column: those above the threshold move to a new leaf, numbered ``above``."""

    leaf: int
    column: int
    threshold: float
    above: int


@dataclass(frozen=True, slots=True)
class RegressionTree:
    """Splits in the order in which they were made. Without any, all rows are in leaf 0."""

    splits: tuple[Split, ...] = ()

    def __len__(self) -> int:
        """Return the number of leaves."""
        return len(self.splits) + 1

    def leaves(self, rows: Floats) -> Leaves:
        """Return the number of each row's leaf."""
        found = np.zeros(len(rows), np.int64)
        for split in self.splits:
            found[(found == split.leaf) & (rows[:, split.column] > split.threshold)] = split.above
        return found


def grown(rows: Floats, values: Floats, least: int) -> RegressionTree:
    """Return a tree that is split as long as that lowers the variance and leaves ``least`` rows on both sides."""
    splits: list[Split] = []
    open_leaves = [(0, np.arange(len(rows)))]
    while open_leaves:
        leaf, members = open_leaves.pop()
        best = _best_split(rows[members], values[members], least)
        if best is None:
            continue
        column, threshold = best
        splits.append(Split(leaf, column, threshold, len(splits) + 1))
        is_above = rows[members, column] > threshold
        open_leaves += [(leaf, members[~is_above]), (len(splits), members[is_above])]
    return RegressionTree(tuple(splits))


def _best_split(rows: Floats, values: Floats, least: int) -> tuple[int, float] | None:
    """Return the column and threshold that lower the variance the most; None if none lowers it."""
    if len(rows) < 2 * least:
        return None
    order = rows.argsort(axis=0, kind="stable")
    ordered = np.take_along_axis(rows, order, 0)
    below = np.cumsum(values[order] - values.mean(), axis=0)[least - 1 : len(rows) - least]
    counts = np.arange(least, len(rows) - least + 1, dtype=np.float64)[:, None]
    gains = below**2 * (1 / counts + 1 / (len(rows) - counts))
    before, after = ordered[least - 1 : len(rows) - least], ordered[least : len(rows) - least + 1]
    gains[before >= after] = 0.0
    place, column = np.unravel_index(int(gains.argmax()), gains.shape)
    if gains[place, column] <= _MIN_GAIN:
        return None
    return int(column), float((before[place, column] + after[place, column]) / 2)


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


@dataclass(frozen=True, slots=True)
class _Path:
    """The pages on the way from a seed: how many, how many of them are relevant, how many follow the last of these."""

    pages: int = 0
    relevant: int = 0
    since: int = 0

    @property
    def share(self) -> float:
        return self.relevant / self.pages

    def with_page(self, *, is_relevant: bool) -> "_Path":
        return _Path(self.pages + 1, self.relevant + is_relevant, 0 if is_relevant else self.since + 1)


class LinkFeatures:
    """A row of features for each page of a world, by its number. If several links lead to it, the best value counts.

    The path to a page is the one with the largest share of relevant pages. Rows of pages without links (see ``linked``)
    have no meaning.
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
        """Store the seeds; the words of URLs are stemmed in the language of the first one."""
        language = self._world.understood(seeds[0]).document.language
        self._language = self._subject.vector(language).language

    @property
    def linked(self) -> NDArray[np.bool_]:
        """Return, for each page, whether there are links to it."""
        return self.rows[:, _LINKS] > 0

    def add(self, visit: Visit, *, is_relevant: bool) -> None:
        """Add the links of a fetched page."""
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

"""Draws a world's topics and seeds by lot from the labels of its pages."""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from offline.simulation import cosine_judge
from offline.simulation.judge import load_judge

Topics = Mapping[str, Sequence[Sequence[str]]]

TOPICS, SAMPLES, SEEDS = 5, 4, 20
_FEWEST, _WIDEST = 60, 0.12
"""The pages that a label needs to be a topic, and the share of the world it may have at most."""
_RELEVANT = (60, 0.2)
"""The same for the pages relevant to a sample: of fewer or more, an order of fetching shows little."""
_SHARED = 0.3
"""The share of a label's pages at which it is the same topic as another one."""
_OF_ONE_SITE = 2
"""The most topics that are sections of one site: their labels begin with its host."""
_TRIED = 60


class LotError(Exception):
    """Raised for a world whose labels do not make enough topics."""


def drawn(folder: Path, labels: Mapping[str, Sequence[str]], random: Random) -> Topics:
    """Return topics with their samples of seeds: labels by lot, and seeds by lot from the pages that have them.

    A label is passed over where it is nearly another topic's, or where the cosine judge finds few or too many pages
    relevant to one of its samples. Raises ``LotError``.
    """
    relevant = _Relevant(folder)
    topics: dict[str, Sequence[Sequence[str]]] = {}
    taken: list[frozenset[str]] = []
    for label, pages in _candidates(labels, random):
        samples = [sorted(random.sample(sorted(pages), SEEDS)) for _ in range(SAMPLES)]
        site = label.partition("/")[0]
        crowded = sum(topic.partition("/")[0] == site for topic in topics) >= _OF_ONE_SITE
        if crowded or any(_same(pages, other) for other in taken) or not all(map(relevant.fits, samples)):
            continue
        topics[label] = samples
        taken.append(pages)
        if len(topics) == TOPICS:
            return topics
    raise LotError(f"{folder}: {len(topics)} labels make topics, {TOPICS} are needed")


def _candidates(labels: Mapping[str, Sequence[str]], random: Random) -> Iterator[tuple[str, frozenset[str]]]:
    by_label: dict[str, set[str]] = {}
    for url, names in labels.items():
        for name in names:
            by_label.setdefault(name, set()).add(url)
    fitting = sorted(name for name, urls in by_label.items() if _FEWEST <= len(urls) <= _WIDEST * len(labels))
    random.shuffle(fitting)
    return ((name, frozenset(by_label[name])) for name in fitting[:_TRIED])


def _same(pages: frozenset[str], other: frozenset[str]) -> bool:
    return len(pages & other) > _SHARED * min(len(pages), len(other))


class _Relevant:
    """Counts the pages relevant to a sample, by the cosine judge."""

    def __init__(self, folder: Path) -> None:
        self._judge = load_judge(cosine_judge.FILE)
        self._numbers, self._counts, _ = self._judge.read_world(str(folder))

    def fits(self, sample: Sequence[str]) -> bool:
        seeds = [self._numbers[self._judge.key(url)] for url in sample]
        relevance = array("d", self._judge.relevance(self._counts, seeds)[2])
        fewest, widest = _RELEVANT
        return fewest <= sum(each > cosine_judge.THRESHOLD for each in relevance) <= widest * len(relevance)

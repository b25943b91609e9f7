"""A judge by labels instead of words: a page is relevant if it has the label of the seeds' topic.

Labels are what people assign to pages: tags, categories, forums, sections. ``topics.tsv`` of the world lists them.
"""

import csv
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from aahcrawler.urls import canonicalize
from offline.simulation.sample import WorldError
from offline.simulation.world import key as key_of

NAME: Final = "labels"
"""The name that stands for this judge's file."""
FILE: Final = Path(__file__)
_SHARED: Final = 0.25
LABELS: Final = "topics.tsv"
"""The file of a world with the labels of its pages: ``topic``, and ``tags`` separated by bars."""


def read_world(folder: str) -> tuple[Mapping[str, int], Sequence[Mapping[str, int]], None]:
    """Return the number of each page by its key, and its labels by its number. Raises ``WorldError``."""
    numbers: dict[str, int] = {}
    labels: list[Mapping[str, int]] = []
    path = Path(folder) / LABELS
    try:
        with path.open(encoding="utf-8", newline="") as file:
            for line in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
                if key(line["url"]) not in numbers:
                    numbers[key(line["url"])] = len(labels)
                    names = (line["topic"] or "", *(line.get("tags") or "").split("|"))
                    labels.append(dict.fromkeys(filter(None, names), 1))
    except (OSError, ValueError, KeyError) as error:
        raise WorldError(
            f"{path}: --judge {NAME} needs it, with the columns url, topic and tags ({error!r})"
        ) from error
    return numbers, labels, None


def relevance(labels: Sequence[Mapping[str, int]], seeds: Sequence[int]) -> tuple[object, float, Sequence[float]]:
    """Return the label of the seeds, the share of them that has it, and 1 for pages with it, else 0.

    Among the labels that a quarter of the seeds have, and more pages than there are seeds, the most distinctive one is
    used: the one with the largest square of the share of seeds divided by its frequency.
    """
    counted = Counter(name for page in labels for name in page)
    of_seeds = Counter(name for seed in seeds for name in labels[seed])
    enough = _SHARED * len(seeds)
    shared = {name: n for name, n in of_seeds.items() if n >= enough and counted[name] > len(seeds)}
    if not shared:
        raise WorldError("no label is that of a quarter of a sample's seeds: judge this world by --judge cosine")
    label = max(sorted(shared), key=lambda name: shared[name] ** 2 * math.log(len(labels) / counted[name]))
    return label, shared[label] / len(seeds), [float(label in page) for page in labels]


def key(url: str) -> str:
    """Return the key that all URLs of a page share."""
    return key_of(canonicalize(url) or url)


def harvest(order: Sequence[int], relevance: Sequence[float], budget: int) -> float:
    """Return the share of pages with the label among the first ``budget`` pages of an order.

    >>> harvest([0, 1, 2], [1.0, 0.0, 1.0], 2)
    0.5
    """
    return sum(relevance[page] for page in order[:budget]) / budget if budget else 0.0

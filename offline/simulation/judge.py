"""The judge of simulated crawls: a Python file outside this project, whose judgements strategies do not see.

It has the functions ``read_world``, ``relevance``, ``key`` and ``harvest``, and a command line for a world and a file
of orders.
"""

import importlib.util
import json
import subprocess
import sys
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from offline.simulation.sample import Sample, WorldError

Counts = Mapping[str, int]


class Judge(Protocol):
    """The functions of the file that are used."""

    def read_world(self, folder: str) -> tuple[Mapping[str, int], Sequence[Counts], object]:
        """Return the number of each page by its key, and its term counts by its number."""
        ...

    def relevance(self, counts: Sequence[Counts], seeds: Sequence[int]) -> tuple[object, float, Sequence[float]]:
        """Return a tuple whose last element is the relevance of each page to seeds."""
        ...

    def key(self, url: str) -> str:
        """Return the key of a URL."""
        ...

    def harvest(self, order: Sequence[int], relevance: Sequence[float], budget: int) -> float:
        """Return the share of relevant pages among the first of an order."""
        ...


@dataclass(frozen=True, slots=True)
class Relevance:
    """The relevance of the pages of a world by the name of the sample; pages have the judge's numbers."""

    numbers: Mapping[str, int]
    by_sample: Mapping[str, "array[float]"]


def load_judge(path: Path) -> Judge:
    """Load a judge. Raises ``WorldError`` for a file that is not a judge's."""
    specification = importlib.util.spec_from_file_location("judge_of_simulations", path)
    if not path.is_file() or specification is None or specification.loader is None:
        raise WorldError(f"{path}: is no file of Python; name the judge, judge.py")
    module = importlib.util.module_from_spec(specification)
    try:
        specification.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise WorldError(f"{path}: cannot be loaded as a judge ({type(error).__name__}: {error})") from error
    missing = [name for name in ("read_world", "relevance", "key", "harvest") if not hasattr(module, name)]
    if missing:
        raise WorldError(f"{path}: is no judge, it has no function {missing[0]}")
    return cast("Judge", module)


def judge_samples(path: Path, folder: Path, samples: Sequence[Sample]) -> Relevance:
    """Have the judge read a world and return the relevance of each page to each sample. Needs much memory meanwhile."""
    judge = load_judge(path)
    numbers, counts, _ = judge.read_world(str(folder))
    found = {}
    for sample in samples:
        seeds = [numbers.get(judge.key(seed)) for seed in sample.seeds]
        known = [seed for seed in seeds if seed is not None]
        if len(known) < len(seeds):
            raise WorldError(f"{folder}: the judge does not know a seed of {sample.name}")
        found[sample.name] = array("d", judge.relevance(counts, known)[2])
    return Relevance(dict(numbers), found)


class Bench:
    """The judge and its judgements of a world, by the numbers of the world's pages."""

    def __init__(self, judge: Judge, relevance: Relevance, urls: Sequence[str]) -> None:
        self._judge = judge
        self._relevance = relevance
        self._positions = [relevance.numbers.get(judge.key(url)) for url in urls]

    def relevance(self, sample: Sample) -> "array[float]":
        """Return the relevance of each page; 0 for a page that the judge does not know."""
        relevance = self._relevance.by_sample[sample.name]
        return array("d", [0.0 if position is None else relevance[position] for position in self._positions])

    def relevant(self, sample: Sample) -> int:
        """Return the number of the world's pages relevant to a sample: its budget."""
        relevance = self._relevance.by_sample[sample.name]
        return (
            round(self._judge.harvest(range(len(relevance)), relevance, len(relevance)) * len(relevance))
            if relevance
            else 0
        )

    def harvest(self, order: Sequence[int], relevance: Sequence[float], budget: int) -> float:
        """Return the share of relevant pages among the first of an order."""
        return self._judge.harvest(order, relevance, budget)


JudgedRow = Mapping[str, str | int | float | list[float] | list[str]]


def judged_rows(path: Path, folder: Path, orders: Path) -> Sequence[JudgedRow]:
    """Have the judge's program read orders, and return its rows, one for each strategy.

    Raises ``WorldError`` if it fails.
    """
    command = [sys.executable, str(path), str(folder), str(orders), "--json"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        rows: Sequence[JudgedRow] = json.loads(ended.stdout)["rows"]
    except (ValueError, KeyError, TypeError):
        last_line = (ended.stderr.strip().splitlines() or ["nothing"])[-1]
        raise WorldError(f"{path}: has not judged {orders}; it said: {last_line}") from None
    return rows

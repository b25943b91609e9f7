"""Measures the quality of each strategy of a simulation by the judgements of an independent judge."""

import csv
import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from offline.simulation.judge import Bench
from offline.simulation.label_judge import LABELS
from offline.simulation.sample import Sample, WorldError
from offline.simulation.simulation import Finished, Order
from offline.simulation.world import key

STEPS = 100
"""Points of a course, at equal shares of each sample's budget."""


@dataclass(frozen=True, slots=True)
class Measures:
    """The quality of a strategy, in the mean of its samples (ARCOMEM, section 5.1).

    ``harvest`` is the share of relevant pages among as many as there are relevant ones, ``early`` among a third of
    these; ``similarity`` is the mean relevance of the fetched pages; ``subtopics`` the share of the subtopics with a
    relevant page of which a page was fetched, None where the world names none. ``course`` is the share of the relevant
    pages that had been fetched after each hundredth of the budget.
    """

    harvest: float
    early: float
    similarity: float
    subtopics: float | None
    course: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A strategy with how many pages it fetched in all; ``measures`` are None without a judge.

    ``by_sample`` has its harvest ratios at R and at R/3 by the name of the sample; it is empty without a judge.
    """

    strategy: str
    samples: int
    fetched: int
    measures: Measures | None
    by_sample: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def rows(finished: Finished, world: Path) -> tuple[Row, ...]:
    """Return a row for each strategy, in the order of the simulation. Raises ``WorldError`` for odd subtopics."""
    subtopics = read_subtopics(world, finished.urls) if finished.bench is not None else None
    measured: dict[str, list[Measures]] = {}
    for sample, orders in _by_sample(finished.orders):
        for order, measures in _measured(sample, orders, finished.bench, subtopics):
            measured.setdefault(order.strategy, []).extend(measures)
    return tuple(_row(name, finished.orders, found) for name, found in measured.items())


def write_orders(finished: Finished, target: Path) -> None:
    """Write a line of JSON for each crawl, as judges of simulations read them."""
    with target.open("w", encoding="utf-8") as file:
        for order in finished.orders:
            line = {
                "topic": order.sample.topic,
                "sample": order.sample.number,
                "strategy": order.strategy,
                "urls": [finished.urls[page] for page in order.pages],
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_subtopics(world: Path, urls: Sequence[str]) -> Sequence[str] | None:
    """Return the subtopic of each page, empty for none, by ``topics.tsv``; None where the world has no such file."""
    path = world / LABELS
    if not path.exists():
        return None
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            known = {key(line["url"]): line["topic"] or "" for line in lines}
    except (OSError, ValueError, KeyError) as error:
        raise WorldError(f"{path}: cannot be read as a table with the columns url and topic ({error!r})") from error
    return [known.get(key(url), "") for url in urls]


def _by_sample(orders: Sequence[Order]) -> Iterator[tuple[Sample, list[Order]]]:
    grouped: dict[str, list[Order]] = {}
    for order in orders:
        grouped.setdefault(order.sample.name, []).append(order)
    for group in grouped.values():
        yield group[0].sample, group


def _measured(
    sample: Sample, orders: Sequence[Order], bench: Bench | None, subtopics: Sequence[str] | None
) -> Iterator[tuple[Order, list[Measures]]]:
    if bench is None:
        yield from ((order, []) for order in orders)
        return
    relevance, relevant = bench.relevance(sample), max(1, bench.relevant(sample))
    flags = [bench.harvest([page], relevance, 1) for page in range(len(relevance))]
    wanted = _with_relevant(flags, subtopics) if subtopics is not None else None
    for order in orders:
        fetched = order.pages[:relevant]
        reached = len(wanted & {subtopics[page] for page in fetched}) if wanted and subtopics else 0
        yield (
            order,
            [
                Measures(
                    harvest=bench.harvest(fetched, relevance, relevant),
                    early=bench.harvest(fetched, relevance, max(1, relevant // 3)),
                    similarity=fmean(relevance[page] for page in fetched),
                    subtopics=reached / len(wanted) if wanted else None,
                    course=_course(fetched, flags, relevant),
                )
            ],
        )


def _with_relevant(flags: Sequence[float], subtopics: Sequence[str]) -> frozenset[str]:
    return frozenset(topic for topic, flag in zip(subtopics, flags, strict=True) if flag and topic)


def _course(fetched: Sequence[int], flags: Sequence[float], relevant: int) -> tuple[float, ...]:
    found = array("d", [0.0])
    for page in fetched:
        found.append(found[-1] + flags[page])
    return tuple(found[min(len(fetched), relevant * step // STEPS)] / relevant for step in range(STEPS + 1))


def _row(name: str, orders: Sequence[Order], measured: Sequence[Measures]) -> Row:
    own = [order for order in orders if order.strategy == name]
    fetched = sum(len(order.pages) for order in own)
    if not measured:
        return Row(name, len(own), fetched, None)
    by_sample = {order.sample.name: (each.harvest, each.early) for order, each in zip(own, measured, strict=True)}
    return Row(name, len(own), fetched, _mean(measured), by_sample)


def _mean(measured: Sequence[Measures]) -> Measures:
    subtopics = [each.subtopics for each in measured if each.subtopics is not None]
    return Measures(
        harvest=fmean(each.harvest for each in measured),
        early=fmean(each.early for each in measured),
        similarity=fmean(each.similarity for each in measured),
        subtopics=fmean(subtopics) if subtopics else None,
        course=tuple(map(fmean, zip(*(each.course for each in measured), strict=True))),
    )

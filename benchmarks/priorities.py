"""Compares strategies of simulated crawls over several worlds; chooses a variant for a world by the other worlds alone.

    python -m benchmarks.priorities --worlds DIR ... [--strategies NAME,NAME] [--variant NAME=FILE ...]
        [--against NAME] [--judge cosine|labels|FILE] [--keep FOLDER] [--json FILE]

A variant is the shipped crawler with fields of a definition (`aah simulate --icd FILE`): weights, update function,
settings of the ranker. For each world and strategy, the table has the share of the gap between FIRST and the oracle
that the strategy closes, at R and at R/3, with mean and lowest over worlds and, over all samples, the paired sign test
against `--against`. A second table has, for each world, the variant with the highest mean over the other worlds, and
its gaps on this one; `--json` writes it to `.held_out.json` beside the file. FIRST is that of the world's
`reference.json` if `--judge` is a file, else `paper-first`. `--keep` keeps what was read of pages, in a folder for each
world.
"""

import argparse
import json
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from benchmarks.recorded import PROJECT
from benchmarks.results import Cell, Row, report
from knowledge_base.file_selection import named_folders
from offline.simulation.built_in_judges import BUILT_IN, judge_file
from offline.simulation.report import closed, rows
from offline.simulation.sample import read_samples, read_template
from offline.simulation.simulation import Simulation, Watcher, simulate
from offline.simulation.strategies import FIRST, ORACLE, SHIPPED

PROCESSES = 2
AT = ("R", "R/3")

Harvests = Mapping[str, tuple[float, float]]
"""The harvest ratios at R and at R/3, by sample."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A world with the harvests of each strategy or variant, FIRST and the oracle included."""

    world: str
    harvests: Mapping[str, Harvests]

    def gap(self, name: str, at: int) -> float | None:
        """Return the share of the gap that a strategy closes, None if there is no gap."""
        samples = list(self.harvests[ORACLE])
        found, first, oracle = ([self.harvests[each][s][at] for s in samples] for each in (name, FIRST, ORACLE))
        return closed(found, first, oracle)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is simulated: shipped strategies, and definitions of variants by name."""

    strategies: tuple[str, ...]
    variants: Mapping[str, Path] = field(default_factory=dict)
    judge: Path | None = None
    keep: Path = PROJECT / ".cache" / "worlds"

    @property
    def names(self) -> tuple[str, ...]:
        """The strategies and variants to compare."""
        return tuple(dict.fromkeys((*self.strategies, *self.variants)))


def measured(world: Path, plan: Plan) -> Measured:
    """Simulate a world with all strategies and variants."""
    plain = _harvests(world, plan, tuple(dict.fromkeys((*plan.strategies, FIRST, ORACLE))), None)
    own = {name: _harvests(world, plan, (SHIPPED,), file)[SHIPPED] for name, file in plan.variants.items()}
    return Measured(world.name, {**plain, **own, **_reference(world, plan, plain[ORACLE])})


def _harvests(world: Path, plan: Plan, strategies: tuple[str, ...], icd: Path | None) -> Mapping[str, Harvests]:
    simulation = Simulation(
        world=world,
        strategies=strategies,
        knowledge_base=named_folders(""),
        template=read_template(icd),
        judge=plan.judge,
        keep=plan.keep / world.name,
        processes=PROCESSES,
    )
    found = rows(simulate(simulation, read_samples(world), Watcher()), world)
    return {row.strategy: row.by_sample for row in found}


def _reference(world: Path, plan: Plan, samples: Harvests) -> Mapping[str, Harvests]:
    """Return FIRST by the given judge, if the world's reference has it for that judge."""
    path = world / "reference.json"
    if plan.judge in BUILT_IN.values() or not path.exists():
        return {}
    reference = json.loads(path.read_text("utf-8"))
    if not all("first" in reference.get(sample, {}) for sample in samples):
        return {}
    return {FIRST: {sample: tuple(reference[sample]["first"]) for sample in samples}}


def gap_table(worlds: Sequence[Measured], names: Sequence[str], against: str) -> Iterator[Row]:
    """Yield a row for each strategy: its gaps by world, their mean and lowest, and the sign test over all samples."""
    for name in names:
        cells: dict[str, Cell] = {"strategy": name}
        for at, label in enumerate(AT):
            gaps = {each.world: each.gap(name, at) for each in worlds}
            told = [gap for gap in gaps.values() if gap is not None]
            cells |= {f"{world} {label}": gap for world, gap in gaps.items()}
            cells |= {f"mean {label}": fmean(told) if told else None, f"lowest {label}": min(told, default=None)}
            cells |= _signs(worlds, name, against, at, label)
        yield cells


def _signs(worlds: Sequence[Measured], name: str, against: str, at: int, label: str) -> Mapping[str, Cell]:
    pairs = [
        (harvest[at], each.harvests[against][sample][at])
        for each in worlds
        for sample, harvest in each.harvests[name].items()
    ]
    better, worse = sum(own > other for own, other in pairs), sum(own < other for own, other in pairs)
    return {f"better/worse {label}": f"{better}/{worse}", f"p {label}": sign_test(better, worse)}


def sign_test(better: int, worse: int) -> float:
    """Return the two-sided probability that counts are so uneven by chance; ties are left out.

    >>> sign_test(18, 0) < 0.0001, sign_test(3, 3)
    (True, 1.0)
    """
    number = better + worse
    tail: float = sum(math.comb(number, k) for k in range(min(better, worse) + 1)) / 2**number
    return min(1.0, 2.0 * tail)


def held_out(worlds: Sequence[Measured], names: Sequence[str]) -> Iterator[Row]:
    """Yield for each world the variant with the best mean gap at R and R/3 on the others, and its gaps on this one."""
    for world in worlds:
        others = [each for each in worlds if each is not world]
        best = max(names, key=lambda name: _mean_gap(others, name))
        cells: dict[str, Cell] = {"held out": world.world, "chosen on the others": best}
        yield cells | {label: world.gap(best, at) for at, label in enumerate(AT)}


def _mean_gap(worlds: Sequence[Measured], name: str) -> float:
    gaps = [gap for each in worlds for at in range(len(AT)) if (gap := each.gap(name, at)) is not None]
    return fmean(gaps) if gaps else -math.inf


def _variant(text: str) -> tuple[str, Path]:
    name, _, file = text.partition("=")
    if not file:
        raise argparse.ArgumentTypeError(f"{text!r}: write NAME=FILE, a definition")
    return name, Path(file)


def main() -> int:
    """Run the comparison from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=Path, nargs="+", required=True, metavar="DIR")
    parser.add_argument("--strategies", default=f"{SHIPPED},{SHIPPED}-unlearned", metavar="NAME,NAME")
    parser.add_argument("--variant", type=_variant, action="append", default=[], metavar="NAME=FILE", dest="variants")
    parser.add_argument("--against", default=SHIPPED, metavar="NAME", help="the other side of the sign test")
    parser.add_argument("--judge", type=Path, default=Path("cosine"), metavar="FILE", help="as of aah simulate")
    parser.add_argument("--keep", type=Path, default=PROJECT / ".cache" / "worlds", metavar="FOLDER")
    parser.add_argument("--json", type=Path, default=None, metavar="FILE")
    options = parser.parse_args()
    variants = dict(options.variants)
    against = () if options.against in variants else (options.against,)
    strategies = tuple(dict.fromkeys((*options.strategies.split(","), *against)))
    plan = Plan(strategies, variants, judge_file(options.judge), options.keep)
    worlds = []
    for world in options.worlds:
        worlds.append(measured(world, plan))
        print(f"{world.name}: simulated", file=sys.stderr, flush=True)
    report(list(gap_table(worlds, plan.names, options.against)), options.json)
    if len(worlds) > 1:
        report(list(held_out(worlds, plan.names)), options.json and options.json.with_suffix(".held_out.json"))
    return 0


if __name__ == "__main__":
    sys.exit(main())

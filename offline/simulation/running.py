"""Simulating all crawls of a world, sample by sample, in one process or several."""

import tempfile
import time
from array import array
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from random import Random

from offline.simulation.definition import AnalyserJudge, definition, frontier_settings
from offline.simulation.judging import Bench, judge_samples, load_judge
from offline.simulation.reading import Reading, knowledge
from offline.simulation.sample import Sample
from offline.simulation.strategies import Named, StrategyError, chosen
from offline.simulation.strategy import Briefing, crawl
from offline.simulation.visits import Visits
from offline.simulation.watching import Watcher
from offline.simulation.world import World


@dataclass(frozen=True, slots=True)
class Simulation:
    """What is to be simulated.

    ``template`` are fields of a definition that all crawls share; ``seed`` is where chance begins; ``pages`` is a
    budget for all samples, 0 for that of each. ``judge`` is the file of a judge, None where there is none.
    """

    world: Path
    strategies: tuple[str, ...]
    knowledge_base: tuple[Path, ...]
    template: Mapping[str, object] = field(default_factory=dict)
    judge: Path | None = None
    seed: int = 0
    pages: int = 0
    processes: int = 1


@dataclass(frozen=True, slots=True)
class Order:
    """The pages that a strategy fetched for a sample, in order."""

    sample: Sample
    strategy: str
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds of processor time: for reading the world once, and for all of its crawls."""

    reading: float
    crawling: float


@dataclass(frozen=True, slots=True)
class Finished:
    """A simulation that ended: its orders by sample and strategy, and the addresses of pages by their numbers."""

    orders: tuple[Order, ...]
    urls: Sequence[str]
    bench: Bench | None
    cost: Cost

    @property
    def pages_per_second(self) -> float:
        """How many pages the crawls fetched in each second of processor time, reading the world included."""
        return sum(len(order.pages) for order in self.orders) / max(1e-9, self.cost.reading + self.cost.crawling)


@dataclass(frozen=True, slots=True)
class Task:
    """All crawls of one sample."""

    simulation: Simulation
    folder: Path
    sample: Sample
    relevance: "array[float] | None"


def simulate(simulation: Simulation, samples: Sequence[Sample], watcher: Watcher) -> Finished:
    """Read the world, then run every strategy on every sample. The outcome does not depend on ``processes``.

    Raises ``WorldError`` for a world, and ``StrategyError`` for strategies, that cannot be simulated.
    """
    simulated(simulation)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="aah-simulation-")))
        executor = _executor(simulation.processes, stack)
        bench, reading = _read(simulation, samples, folder, executor, watcher)
        tasks = [_task(simulation, folder, sample, bench) for sample in samples]
        orders: list[Order] = []
        crawling = 0.0
        for found, seconds in _run(tasks, executor):
            orders += found
            crawling += seconds
            watcher.crawling(sum(len(order.pages) for order in found))
        with closing(World(folder)) as world:
            urls = world.urls
        return Finished(tuple(orders), urls, bench, Cost(reading, crawling))


def simulated(simulation: Simulation) -> tuple[Named, ...]:
    """Return the strategies that can be simulated: all that were named, or all for which enough is known.

    Raises ``StrategyError`` for one that does not exist, or that was named and needs a judge.
    """
    named = chosen(simulation.strategies)
    if simulation.judge is not None:
        return named
    needing = [each.name for each in named if each.needs_judge]
    if needing and simulation.strategies:
        raise StrategyError(f"{needing[0]} knows what the judge will say: name the judge with --judge FILE")
    return tuple(each for each in named if not each.needs_judge)


def simulate_sample(task: Task) -> tuple[list[Order], float]:
    """Run every strategy on a sample; what is learned of a page is worked out once for all of them.

    Return the orders and the seconds of processor time spent.
    """
    started = time.process_time()
    simulation, sample = task.simulation, task.sample
    icd = definition(sample, simulation.template)
    with closing(World(task.folder)) as world:
        seeds = world.seeds(sample.seeds)
        judge = AnalyserJudge(icd, world, knowledge(simulation.knowledge_base))
        visits = Visits(world, seeds, judge)
        orders: list[Order] = []
        for named in simulated(simulation):
            random = Random(f"{simulation.seed}/{sample.name}/{named.name}")
            briefing = Briefing(world, visits, frontier_settings(icd), random, task.relevance)
            pages = crawl(named.make(briefing), visits, seeds, sample.pages or len(world))
            orders.append(Order(sample, named.name, pages))
    return orders, time.process_time() - started


def _executor(processes: int, stack: ExitStack) -> Executor | None:
    if processes < 2:
        return None
    return stack.enter_context(ProcessPoolExecutor(processes, mp_context=get_context("spawn")))


def _read(
    simulation: Simulation, samples: Sequence[Sample], folder: Path, executor: Executor | None, watcher: Watcher
) -> tuple[Bench | None, float]:
    """Read the world for the crawls, and let the judge read it in a process of its own, whose memory is given back."""
    with ExitStack() as stack:
        judging = None
        if simulation.judge is not None:
            judge = load_judge(simulation.judge)
            own = stack.enter_context(ProcessPoolExecutor(1, mp_context=get_context("spawn")))
            judging = own.submit(judge_samples, simulation.judge, simulation.world, samples)
            if executor is None:
                judging.exception()
        reading = Reading(simulation.world, folder, simulation.knowledge_base, watcher.reading)
        seconds = reading.run(samples, executor, simulation.processes)
        if judging is None:
            return None, seconds
        with closing(World(folder)) as world:
            return Bench(judge, judging.result(), world.urls), seconds


def _task(simulation: Simulation, folder: Path, sample: Sample, bench: Bench | None) -> Task:
    pages = simulation.pages or (bench.relevant(sample) if bench is not None else sample.pages)
    relevance = bench.relevance(sample) if bench is not None else None
    return Task(simulation, folder, replace(sample, pages=pages), relevance)


def _run(tasks: Sequence[Task], executor: Executor | None) -> Iterator[tuple[list[Order], float]]:
    yield from map(simulate_sample, tasks) if executor is None else executor.map(simulate_sample, tasks)

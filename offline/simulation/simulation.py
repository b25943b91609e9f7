"""Simulate all crawls of a world, sample by sample, in one process or several."""

import tempfile
import time
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from random import Random
from statistics import median
from typing import Protocol, runtime_checkable

from aahcrawler.helper.assistance import RaisedTally
from aahcrawler.jobs import own_processes
from aahcrawler.urls import resolve
from offline.simulation.crawl_strategy import Briefing, Strategy, crawl
from offline.simulation.judge import Bench, Relevance, judge_samples, load_judge
from offline.simulation.page_reader import Gathering, WorldCache, reader
from offline.simulation.sample import AnalyserJudge, Sample, definition, frontier_settings
from offline.simulation.strategies import ORACLE, Named, StrategyError, chosen
from offline.simulation.visits import Visits
from offline.simulation.world import World, raised, recorded


def _unheard(_: int) -> None:
    """Report no progress."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """Progress callbacks: ``gathering`` gets numbers of pages gathered, ``crawling`` of pages fetched for a sample."""

    gathering: Callable[[int], None] = _unheard
    crawling: Callable[[int], None] = _unheard


_REMEMBERED = 20_000
_LINKS = 5_000
"""How many links of a page are examined."""


class Cause(StrEnum):
    """Why a page was missed."""

    UNLINKED = "unlinked"
    """No fetched page has a link to it."""
    REFUSED = "refused"
    """Fetched pages have links to it, but none of these was followed."""
    UNDERSCORED = "underscored"
    """It was queued, but the analysers score its document no higher than half of the irrelevant pages that were
    fetched.
    """
    OUTRANKED = "outranked"
    """It was queued, the analysers score its document higher than that, but others came before it."""


@runtime_checkable
class Ordered(Protocol):
    """A strategy that can say what it would fetch next."""

    def queued(self) -> Sequence[int]:
        """Return the queued pages, the best first."""
        ...


@dataclass(frozen=True, slots=True)
class Missed:
    """The pages that one strategy missed for a sample, by cause; ``found`` counts the oracle's that it fetched.

    ``ranks`` are the final places, counted from 1, of the queued ones, if the strategy can give them.
    """

    sample: str
    strategy: str
    found: int
    causes: tuple[tuple[int, Cause], ...]
    ranks: tuple[int, ...]

    def count(self, cause: Cause) -> int:
        """Return the number of pages missed for a cause."""
        return sum(each is cause for _, each in self.causes)


class Missing:
    """Finds the causes in the links of the pages of a sample's crawls. ``is_relevant`` asks the judge."""

    def __init__(self, world: World, visits: Visits, is_relevant: Callable[[int], bool]) -> None:
        self._visits = visits
        self._is_relevant = is_relevant
        self._marked_up = lru_cache(_REMEMBERED)(lambda number: frozenset(linked_in_markup(world, number)))

    def causes(self, order: Sequence[int], wanted: Iterable[int], queued: Sequence[int]) -> Iterator[tuple[int, Cause]]:
        """Yield each page of ``wanted`` that is not in the order, with the cause."""
        fetched = frozenset(order)
        offered = {target for number in order for target in self._visits.visit(number).targets}.union(queued)
        vain = [self._visits.visit(number).score for number in order if not self._is_relevant(number)]
        bar = median(vain) if vain else 0.0
        missed = [number for number in wanted if number not in fetched]
        there = {n for number in order for n in self._marked_up(number)} if set(missed) - offered else frozenset()
        for number in missed:
            if number in offered:
                yield number, Cause.OUTRANKED if self._visits.visit(number).score > bar else Cause.UNDERSCORED
            else:
                yield number, Cause.REFUSED if number in there else Cause.UNLINKED

    def missed(self, sample: str, strategy: str, order: Sequence[int], oracle: Sequence[int], made: object) -> Missed:
        """Return what a strategy, ``made`` after its crawl, missed of the relevant pages that the oracle fetched."""
        wanted = [number for number in oracle if self._is_relevant(number)]
        queued = made.queued() if isinstance(made, Ordered) else ()
        places = {number: place for place, number in enumerate(queued, 1)}
        causes = tuple(self.causes(order, wanted, queued))
        ranks = tuple(places[number] for number, _ in causes if number in places)
        return Missed(sample, strategy, len(wanted) - len(causes), causes, ranks)


def linked_in_markup(world: World, number: int) -> Iterator[int]:
    """Yield the pages of the world to which a page's markup links, whether or not a crawl follows these links."""
    page = world.page(number)
    base = page.base_url
    for href in page.tree.xpath("//a/@href | //area/@href")[:_LINKS]:
        target = resolve(base, str(href))
        found = None if target is None else world.number(target)
        if found is not None:
            yield found


@dataclass(frozen=True, slots=True)
class Simulation:
    """The settings of a simulation.

    ``template`` are fields of a definition that all crawls share; ``seed`` is that of the random numbers; ``pages`` is
    a budget for all samples, 0 for each sample's own. ``judge`` is the file of a judge, None for none. ``keep`` is a
    folder for the reading of the world, which the next simulation reuses; None discards it. ``causes`` asks why
    strategies missed pages; the oracle is then simulated as well.
    """

    world: Path
    strategies: tuple[str, ...]
    knowledge_base: tuple[Path, ...]
    template: Mapping[str, object] = field(default_factory=dict)
    judge: Path | None = None
    keep: Path | None = None
    seed: int = 0
    pages: int = 0
    processes: int = 1
    causes: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """The pages that a strategy fetched for a sample, in order."""

    sample: Sample
    strategy: str
    pages: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Cost:
    """Processor time in seconds: for reading ``pages`` pages of the world, and for all of its crawls."""

    reading: float = 0.0
    crawling: float = 0.0
    pages: int = 0

    def __add__(self, more: "Cost") -> "Cost":
        """Return the sum of two costs."""
        return Cost(self.reading + more.reading, self.crawling + more.crawling, self.pages + more.pages)


@dataclass(frozen=True, slots=True)
class Finished:
    """A simulation that has ended: its orders by sample and strategy, and the URLs of pages by their numbers.

    ``raised`` names the pages of the world, as far as it was read, on which a stage of reading failed.
    """

    orders: tuple[Order, ...]
    urls: Sequence[str]
    bench: Bench | None
    cost: Cost
    missed: tuple[Missed, ...] = ()
    raised: RaisedTally = field(default_factory=RaisedTally)

    @property
    def pages_per_second(self) -> float:
        """The number of pages that the crawls fetched per second of processor time, including reading the world."""
        return sum(len(order.pages) for order in self.orders) / max(1e-9, self.cost.reading + self.cost.crawling)


@dataclass(frozen=True, slots=True)
class Task:
    """The crawls of one sample."""

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
        folder = simulation.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="aah-simulation-")))
        kept = WorldCache(folder, simulation.world, simulation.knowledge_base)
        executor = _executor(simulation.processes, stack)
        bench, cost = _read(simulation, samples, kept, executor, watcher)
        tasks = [_task(simulation, folder, sample, bench) for sample in samples]
        orders: list[Order] = []
        missed: list[Missed] = []
        for found in map(simulate_sample, tasks) if executor is None else executor.map(simulate_sample, tasks):
            orders += found.orders
            missed += found.missed
            cost += found.cost
            watcher.crawling(sum(len(order.pages) for order in found.orders))
        return Finished(tuple(orders), recorded(folder), bench, cost, tuple(missed), raised(folder))


def simulated(simulation: Simulation) -> tuple[Named, ...]:
    """Return the strategies to simulate: all that were named, or all for which the inputs suffice.

    Raises ``StrategyError`` for one that does not exist, or that was named and needs a judge.
    """
    named = chosen(simulation.strategies)
    if simulation.judge is not None:
        return tuple(dict.fromkeys((*named, *chosen([ORACLE])))) if simulation.causes else named
    needing = [each.name for each in named if each.needs_judge]
    if needing and simulation.strategies:
        raise StrategyError(f"{needing[0]} needs the judge's judgements: name the judge with --judge FILE")
    return tuple(each for each in named if not each.needs_judge)


@dataclass(frozen=True, slots=True)
class Crawled:
    """The crawls of one sample, what they missed if that was requested, and their cost."""

    orders: list[Order]
    missed: list[Missed]
    cost: Cost


def simulate_sample(task: Task) -> Crawled:
    """Run every strategy on a sample; the data of each fetched page are computed once for all strategies."""
    started = time.process_time()
    simulation, sample = task.simulation, task.sample
    icd = definition(sample, simulation.template)
    with closing(World(task.folder, reader(simulation.knowledge_base))) as world:
        seeds = world.seeds(sample.seeds)
        judge = AnalyserJudge(icd, world)
        visits = Visits(world, seeds, judge)
        orders: list[Order] = []
        made: dict[str, Strategy] = {}
        for named in simulated(simulation):
            random = Random(f"{simulation.seed}/{sample.name}/{named.name}")
            budget = sample.pages or len(world)
            briefing = Briefing(
                world, visits, judge, frontier_settings(icd), icd.scoring, random, budget, task.relevance
            )
            strategy = named.make(briefing)
            pages = crawl(strategy, visits, seeds, budget)
            orders.append(Order(sample, named.name, pages))
            if simulation.causes:
                made[named.name] = strategy
        missed = _missed(task, Missing(world, visits, _relevant(task).__contains__), orders, made) if made else []
    cost = Cost(world.seconds, time.process_time() - started - world.seconds, world.pages_read)
    return Crawled(orders, missed, cost)


def _missed(task: Task, missing: Missing, orders: Sequence[Order], made: Mapping[str, Strategy]) -> list[Missed]:
    oracle = next(order.pages for order in orders if order.strategy == ORACLE)
    compared = [order for order in orders if order.strategy != ORACLE]
    return [
        missing.missed(task.sample.name, order.strategy, order.pages, oracle, made[order.strategy])
        for order in compared
    ]


def _relevant(task: Task) -> frozenset[int]:
    """Return the pages that the judge regards as relevant to a task's sample."""
    assert task.simulation.judge is not None  # noqa: S101 - asked for with a judge alone
    judge, relevance = load_judge(task.simulation.judge), task.relevance or ()
    return frozenset(page for page in range(len(relevance)) if judge.harvest([page], relevance, 1))


def _executor(processes: int, stack: ExitStack) -> Executor | None:
    if processes < 2:
        return None
    return stack.enter_context(own_processes(processes))


def _read(
    simulation: Simulation, samples: Sequence[Sample], kept: WorldCache, executor: Executor | None, watcher: Watcher
) -> tuple[Bench | None, Cost]:
    """Gather the world for the crawls, and have the judge read it in another process, whose memory is then freed.

    A stored reading is not gathered again. Return the judge and the cost of gathering.
    """
    with ExitStack() as stack:
        judging, seconds = _judging(simulation, samples, kept, stack), 0.0
        if executor is None and judging is not None:
            judging.exception()
        if not kept.is_read:
            kept.begin()
            seconds = Gathering(simulation.world, kept.folder, watcher.gathering).run(samples)
            kept.end()
        if simulation.judge is None or judging is None:
            return None, Cost(seconds)
        relevance = judging.result()
        kept.keep(relevance, simulation.judge, samples)
        return Bench(load_judge(simulation.judge), relevance, recorded(kept.folder)), Cost(seconds)


def _judging(
    simulation: Simulation, samples: Sequence[Sample], kept: WorldCache, stack: ExitStack
) -> Future[Relevance] | None:
    if simulation.judge is None:
        return None
    load_judge(simulation.judge)
    known = kept.relevance(simulation.judge, samples)
    if known is None:
        own = stack.enter_context(own_processes(1))
        return own.submit(judge_samples, simulation.judge, simulation.world, samples)
    judged: Future[Relevance] = Future()
    judged.set_result(known)
    return judged


def _task(simulation: Simulation, folder: Path, sample: Sample, bench: Bench | None) -> Task:
    pages = simulation.pages or (bench.relevant(sample) if bench is not None else sample.pages)
    relevance = bench.relevance(sample) if bench is not None else None
    return Task(simulation, folder, replace(sample, pages=pages), relevance)

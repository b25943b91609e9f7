"""Measure revisit policies: which changes of pages they find, with how many visits.

    python -m benchmarks.change [--seeds N] [--pages N] [--traces FILE.tsv.gz [--half 0|1]] --json FILE
    python -m benchmarks.change --priors [--traces FILE.tsv.gz [--half 0|1]] --json FILE
    python -m benchmarks.change --budgets --json FILE
    python -m benchmarks.change --kills N --json FILE
    python -m benchmarks.change --times --json FILE

Pages change over three years as Poisson processes at the rates in the paper on changes of the Web of Data (table 2), in
bursts, or regularly. ``--traces`` adds real pages (for each a name and times in Unix seconds, the first being the first
record). Recall is the share of changes that were seen, precision the changes seen per visit, over all pages of a seed.
Each policy runs as it is, then with as many visits as ``gold``, and with a third of these: its intervals are stretched,
or its price is set. ``gold`` knows the mean time between the changes of each page. The jumping rate runs alone,
and ``together``: all pages begin at once, and learn from one another from time to time. The ``ideal learner`` begins
with the rates of the table, which is the most that pages in common can tell.

With ``--priors``, every second page of a site is new, and the others have been watched for three years. In
``templates``, pages with rates of one row of the table are alike. In ``sitemap``, a frequency is stated that is right
for half of all pages. Of real pages, the documents of one service are a site, and services are in one half or the
other. With ``--budgets``, downloads are divided over pages. With ``--kills``, a schedule of real crawls is killed so
many times instead, and lost and doubled visits are counted (``benchmarks.scheduled``). With ``--times``, sites on
loopback are crawled again, and estimates of the duration are compared with it (``benchmarks.crawl_times``).
"""

import argparse
import gzip
import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

import numpy as np

from aahcrawler.revisits.rate_priors import Ground, KnownPage, RatePrior
from aahcrawler.revisits.revisit_policies import (
    DEFAULT_BOUNDS,
    ChangeStates,
    Constant,
    DynamicSnapshots,
    FixedSnapshots,
    LikelyRate,
    Nutch,
    PageVisit,
    RevisitPolicy,
    StormCrawler,
    Window,
    rate_levels,
)
from benchmarks.change_budgets import budget_rows, prior_rows, stated_of
from benchmarks.change_visits import Outcome, Trace, TracedPage, outcomes, total, visits_by_jumping_rate
from benchmarks.crawl_times import CLASSES, timed
from benchmarks.results import Row, report
from benchmarks.scheduled import killed

SPAN: Final = 3 * 365.0
_RATES: Final = (
    (2, 7, 188),
    (7, 14, 295),
    (14, 30, 300),
    (30, 60, 300),
    (60, 120, 300),
    (120, 180, 300),
    (180, 540, 286),
)
"""Days between changes, from and to, and the number of documents with them in the paper."""


def poisson(random: np.random.Generator, pages: int) -> list[Trace]:
    """Return pages that change at a constant rate."""
    shares = np.array([number for *_, number in _RATES], dtype=float)
    found = []
    for kind in random.choice(len(_RATES), pages, p=shares / shares.sum()):
        least, most, _ = _RATES[kind]
        found.append(random.uniform(0, SPAN, random.poisson(SPAN / random.uniform(least, most))))
    return [np.sort(each) for each in found]


def bursty(random: np.random.Generator, pages: int) -> list[Trace]:
    """Return pages that are quiet for 10 to 180 days and then change several times within half a day to ten days."""
    found = []
    for _ in range(pages):
        quiet, lasting, rate = np.exp(random.uniform(np.log([10, 0.5, 0.5]), np.log([180, 10, 10])))
        times: list[float] = []
        begin = random.exponential(quiet)
        while begin < SPAN:
            end = begin + random.exponential(lasting)
            times.extend(random.uniform(begin, end, 1 + random.poisson(rate * (end - begin))))
            begin = end + random.exponential(quiet)
        found.append(np.sort([each for each in times if each < SPAN]))
    return found


def periodic(random: np.random.Generator, pages: int) -> list[Trace]:
    """Return pages that change once in a day, a week, a fortnight, a month or a quarter, nearly on time."""
    found = []
    for period in random.choice([1, 7, 14, 30.4, 91.3], pages):
        times = np.arange(random.uniform(0, period), SPAN, period)
        found.append(np.sort(times + random.normal(0, 0.03 * period, len(times))))
    return found


def prior_worlds(random_seeds: Sequence[int], number: int) -> Iterator[tuple[str, list[list[TracedPage]]]]:
    """Yield worlds of pages with siblings: their names, and their pages by seed."""
    shares = np.array([each for *_, each in _RATES], dtype=float)
    steady = [poisson(np.random.default_rng(seed), number) for seed in random_seeds]
    rows = [np.random.default_rng(seed).choice(len(_RATES), number, p=shares / shares.sum()) for seed in random_seeds]
    yield "steady", [[_of_site(each) for each in pages] for pages in steady]
    yield (
        "steady, templates",
        [
            [TracedPage(each, KnownPage("a.test", f"row {row}")) for each, row in zip(pages, kinds, strict=True)]
            for pages, kinds in zip(steady, rows, strict=True)
        ],
    )
    stated = []
    for seed, pages in zip(random_seeds, steady, strict=True):
        random = np.random.default_rng(seed + 1_000_000)
        stated.append(
            [TracedPage(each, KnownPage("a.test", "", stated=stated_of(random, each, SPAN))) for each in pages]
        )
    yield "steady, sitemap", stated
    for make in (bursty, periodic):
        worlds = [make(np.random.default_rng(seed), number) for seed in random_seeds]
        yield make.__name__, [[_of_site(each) for each in pages] for pages in worlds]


def _of_site(changes: Trace) -> TracedPage:
    return TracedPage(changes, KnownPage("a.test", ""))


def services(path: Path, half: int | None) -> list[TracedPage]:
    """Return the first three years of real documents that changed at least twice, each on the site of its service.

    With ``half``, only services of that half.
    """
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            name, written = line.rstrip("\n").split("\t")
            service = name.partition("/")[0]
            times = np.array(written.split(), dtype=float) / 86_400
            changes = times[1:] - times[0]
            if len(changes) >= 2 and half in {None, sha256(service.encode()).digest()[0] % 2}:
                found.append(TracedPage(changes[changes < SPAN], KnownPage(service, "")))
    return found


def _priors(options: argparse.Namespace) -> Iterator[Row]:
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    worlds = list(prior_worlds(seeds, options.pages))
    if options.traces:
        worlds = [("real", [services(options.traces, options.half)])]
    for name, pages in worlds:
        yield from prior_rows(name, pages, SPAN)


def _budgets(options: argparse.Namespace) -> Iterator[Row]:
    pages = poisson(np.random.default_rng(options.first_seed), options.pages)
    rates = np.array([max(len(changes), 0.5) / SPAN for changes in pages])
    for part in (1.0, 0.5, 0.25):
        for row in budget_rows(pages, rates, SPAN, part * float(rates.sum())):
            yield {"downloads_for_each_change": part, **row}


Policies = Callable[[Sequence[TracedPage], float], list[Outcome]]
"""Visits pages for three years by a policy, stretched by a knob: 1 leaves the policy as it is."""


def _visited(page: TracedPage, policy: RevisitPolicy, factor: float) -> list[PageVisit]:
    """Return the visits of a page by a policy whose intervals are stretched by a factor."""
    visits: list[PageVisit] = []
    known, last, now = 0, 0.0, policy.bounds.within(policy.days * factor)
    while now <= SPAN:
        passed = int(np.searchsorted(page.changes, now, side="right"))
        visits.append(PageVisit(now - last, passed > known))
        policy.observe(visits[-1])
        known, last = passed, now
        now += policy.bounds.within(policy.days * factor)
    return visits


def _stretched(make: Callable[[], RevisitPolicy]) -> Policies:
    return lambda pages, knob: outcomes(pages, [_visited(page, make(), knob) for page in pages], SPAN)


def _gold(pages: Sequence[TracedPage], knob: float) -> list[Outcome]:
    means = [SPAN / max(len(page.changes), 0.5) for page in pages]
    return outcomes(
        pages, [_visited(page, Constant(mean * knob), 1.0) for page, mean in zip(pages, means, strict=True)], SPAN
    )


def _jumping(prior: RatePrior | None = None, *, learning: bool = False) -> Policies:
    def visit(pages: Sequence[TracedPage], knob: float) -> list[Outcome]:
        # Between 0 and 1, .26 where the knob is 1.
        price = 1 / (1 + math.exp(1.046 - math.log(knob)))
        priors = [prior] * len(pages)
        return outcomes(pages, visits_by_jumping_rate(pages, SPAN, price, priors, learning=learning), SPAN)

    return visit


POLICIES: Final[Mapping[str, Policies]] = {
    "week": _stretched(lambda: Constant(7.0)),
    "fix": _stretched(FixedSnapshots),
    "dyn": _stretched(DynamicSnapshots),
    "window": _stretched(Window),
    "state-1": _stretched(lambda: ChangeStates(1)),
    "state-2": _stretched(lambda: ChangeStates(2)),
    "gold": _gold,
    "Nutch": _stretched(Nutch),
    "StormCrawler": _stretched(StormCrawler),
    "likely rate": _stretched(LikelyRate),
    "jumping rate": _jumping(),
    "jumping rate, together": _jumping(learning=True),
}


def ideal_learner() -> Policies:
    """Return the policy that knows that the rates of ``poisson`` pages are constant, and their distribution."""
    rates = rate_levels(DEFAULT_BOUNDS)
    shares = np.full(len(rates), 1e-12)
    for least, most, number in _RATES:
        # The time between changes is even between both: so many of them at each rate, in steps of its logarithm.
        shares += np.where((1 / rates >= least) & (1 / rates < most), number / (most - least) / rates, 0)
    return _jumping(RatePrior(shares / shares.sum(), np.array([1e-12, 1e-12, 1.0]), Ground.ALL))


def outcome(pages: Sequence[TracedPage], policies: Policies, knob: float = 1.0) -> Outcome:
    """Return what a policy finds of all pages in three years."""
    return total(policies(pages, knob))


def at_downloads(pages: Sequence[TracedPage], policies: Policies, downloads: int) -> list[Outcome]:
    """Return the outcomes of a policy whose knob is set so that it makes about so many visits, within 2 %."""
    least, most, knob = 0.01, 100.0, 1.0
    for _ in range(13):
        found = policies(pages, knob)
        made = total(found).downloads
        if abs(made - downloads) <= 0.02 * downloads:
            break
        least, most = (knob, most) if made > downloads else (least, knob)
        knob = math.sqrt(least * most)
    return found


def rows(name: str, seeds: Sequence[Sequence[TracedPage]], policies: Mapping[str, Policies]) -> Iterator[Row]:
    """Yield a row for each policy and number of visits: means over seeds, and half the width of their interval."""
    budgets = [outcome(pages, _gold).downloads for pages in seeds]
    for policy, make in policies.items():
        for visits, share in (("own", 0.0), ("as gold", 1.0), ("a third", 1 / 3)):
            of_pages = [
                at_downloads(pages, make, round(budget * share)) if share else make(pages, 1.0)
                for pages, budget in zip(seeds, budgets, strict=True)
            ]
            found = [total(each) for each in of_pages]
            yield {
                "trace": name,
                "policy": policy,
                "visits": visits,
                "recall": round(float(np.mean([each.recall for each in found])), 3),
                "precision": round(float(np.mean([each.precision for each in found])), 3),
                "f1": round(float(np.mean([each.f1 for each in found])), 4),
                "f1_interval": round(_half_width(of_pages), 3),
                "downloads": round(float(np.mean([each.downloads for each in found]))),
            }


def _half_width(seeds: Sequence[Sequence[Outcome]]) -> float:
    """Return half the width of the interval of F1: over seeds, or for one seed by redrawing its pages (bootstrap)."""
    if len(seeds) > 1:
        f1 = np.array([total(each).f1 for each in seeds])
        return float(1.96 * f1.std(ddof=1) / math.sqrt(len(f1)))
    random = np.random.default_rng(0)
    counts = np.array([[each.made, each.seen, each.downloads] for each in seeds[0]])
    drawn = counts[random.integers(len(counts), size=(1000, len(counts)))].sum(axis=1)
    return float(1.96 * (2 * drawn[:, 1] / (drawn[:, 0] + drawn[:, 2])).std(ddof=1))


def _timed(name: str, rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        return timed(Path(folder), name, CLASSES[name], rounds)


def _policies(world: str, options: argparse.Namespace) -> Mapping[str, Policies]:
    policies = {**POLICIES, "ideal learner": ideal_learner()} if world == "poisson" else POLICIES
    return {name: make for name, make in policies.items() if not options.policy or name in options.policy}


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1000, help="seeds under 1000 are for trials")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--traces", type=Path, help="real changes: a name and times for each page")
    parser.add_argument("--half", type=int, choices=(0, 1), help="of the services of --traces")
    parser.add_argument("--world", action="append", help="of poisson, bursty, periodic and real; all by default")
    parser.add_argument("--policy", action="append", help="one of the policies; all by default")
    parser.add_argument("--priors", action="store_true", help="compare with and without priors instead")
    parser.add_argument("--budgets", action="store_true", help="divide budgets by objectives instead")
    parser.add_argument("--kills", type=int, default=0, help="kill a schedule so many times instead")
    parser.add_argument("--times", action="store_true", help="estimate how long recrawls take instead")
    parser.add_argument("--rounds", type=int, default=5, help="recrawls of each class that are estimated")
    parser.add_argument("--only", choices=list(CLASSES), action="append", help="a class of sites to be crawled again")
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    if options.kills:
        with tempfile.TemporaryDirectory() as folder:
            report([killed(Path(folder), options.kills)], options.json)
        return
    if options.priors or options.budgets:
        report(list(_priors(options) if options.priors else _budgets(options)), options.json)
        return
    if options.times:
        report([_timed(name, options.rounds) for name in options.only or CLASSES], options.json)
        return
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    worlds = {
        make.__name__: [list(map(_of_site, make(np.random.default_rng(seed), options.pages))) for seed in seeds]
        for make in (poisson, bursty, periodic)
    }
    if options.traces:
        worlds["real"] = [services(options.traces, options.half)]
    named = {name: of for name, of in worlds.items() if not options.world or name in options.world}
    report([row for name, pages in named.items() for row in rows(name, pages, _policies(name, options))], options.json)


if __name__ == "__main__":
    main()

"""When to look again: what each revisit policy finds of the changes of pages, and with how many visits.

    python -m benchmarks.change [--seeds N] [--pages N] [--traces FILE.tsv.gz] --json FILE
    python -m benchmarks.change --priors [--traces FILE.tsv.gz [--half 0|1]] --json FILE
    python -m benchmarks.change --budgets --json FILE
    python -m benchmarks.change --kills N --json FILE
    python -m benchmarks.change --times --json FILE

Pages change over three years as a Poisson process does, at rates drawn as the paper on changes of the Web of Data has
them (table 2), in bursts, or regularly; ``--traces`` adds real ones (a name and times in Unix seconds for each page,
the first being the first record). Recall is the changes seen of those made, precision the changes seen for each visit,
over all pages of a seed. Each policy runs as it is, and with its intervals stretched, or its price set, so that it
makes as many visits as ``gold``, which knows the mean time between the changes of each page, and a third of them.

With ``--priors`` every second page is new on its site, and the others have been watched for three years: in
``templates`` pages of one row of the table are alike, in ``sitemap`` a frequency is stated that is right for half of
all pages; of real ones the documents of one service are a site, and services are in one half or the other. With
``--budgets`` downloads are divided over pages. With ``--kills`` a schedule of real crawls is killed so many times
instead, and what is lost or doubled counted (``benchmarks.scheduled``).

With ``--times`` sites on loopback are crawled again. The first crawl of a class of sites learns what there is; each
later one is estimated from the log of all before it. ``seconds`` is their median duration, ``uneven`` by how much the
longest exceeds the shortest, which shows how even the machine is. ``ours`` simulates the queues of polite crawls at the
paces in the log, and adds what the former crawl took around its visits; ``paper`` is the estimate of the paper on
changes of the Web of Data from the same mean times. Both are given as the deviation from the duration of each crawl,
the median and the largest. ``process`` is how long starting and ending a process takes beside that, in seconds,
``load`` the load of the machine.
"""

import argparse
import gzip
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Final

import numpy as np
from numpy.typing import NDArray

from aahcrawler.layout import SUMMARY
from aahcrawler.revisits.change_log import visits
from aahcrawler.revisits.crawl_time import (
    SLOTS,
    SiteLoad,
    around_seconds,
    packed_seconds,
    simulated_seconds,
    site_loads,
    warm_up_seconds,
)
from aahcrawler.revisits.rate_priors import KnownPage
from aahcrawler.revisits.revisit_policies import (
    ChangeStates,
    Constant,
    DynamicSnapshots,
    FixedSnapshots,
    JumpingRate,
    LikelyRate,
    Nutch,
    PageVisit,
    RevisitPolicy,
    StormCrawler,
    Window,
)
from aahcrawler.urls import queue_of
from benchmarks.change_budgets import TracedPage, budget_rows, prior_rows, stated_of
from benchmarks.results import Row, report
from benchmarks.scheduled import killed

_ICD: Final = """\
id: timed
contact: test@example.org
seeds: {seeds}
topic: {{keywords: [harbour, market, school]}}
politeness: {{delay: {delay}, delay_factor: 0}}
traps: {{pages: 0, duplicates: follow, soft_404: ignore}}
network: {{allow_private: true}}
"""


@dataclass(frozen=True, slots=True)
class Pages:
    """A site of so many pages, each of which is answered after a pause in seconds.

    Where they are ``unequal``, of five that follow one another the longest waits five times as long, and is five times
    as large, as the shortest; the mean is the same. With ``validators`` pages have an ETag, and a recrawl gets 304s.
    """

    number: int
    pause: float
    unequal: bool = False
    validators: bool = False

    def share(self, path: str) -> float:
        """Return the pause and size of a page, as a part of the mean."""
        number = path.lstrip("/")
        return (1 + (int(number) if number.isdecimal() else 0) % 5) / 3 if self.unequal else 1.0


@dataclass(frozen=True, slots=True)
class Class:
    """Sites that are crawled together, and the delay between two fetches, in seconds."""

    sites: Sequence[Pages]
    delay: float


CLASSES: Final[Mapping[str, Class]] = {
    "one site, slow answers": Class([Pages(25, 0.4)], 0.2),
    "one long site among short ones": Class([Pages(40, 0.05), *[Pages(5, 0.05)] * 5], 0.3),
    "sites of a size": Class([Pages(15, 0.2)] * 4, 0.5),
    "many small sites": Class([Pages(4, 0.1)] * 40, 0.5),
    "few large sites": Class([Pages(100, 0.02)] * 2, 0.1),
    "a slow server": Class([Pages(8, 1.5), Pages(8, 1.5)], 0.1),
    "delays that dominate": Class([Pages(7, 0.01)] * 6, 2.0),
    "mixed sites": Class([Pages(30, 0.05), Pages(6, 1.0), *[Pages(8, 0.2)] * 3, *[Pages(2, 0.02)] * 10], 0.3),
    "pages of unequal size": Class([Pages(20, 0.3, unequal=True)] * 3, 0.2),
    "pages that have not changed": Class([Pages(30, 0.1, validators=True)] * 2, 0.2),
}


def timed(folder: Path, name: str, wanted: Class, rounds: int = 5) -> Row:
    """Crawl a class of sites repeatedly, and compare the durations with their estimates."""
    seconds = 0.0
    took, ours, paper, loads_beside, processes = (list[float]() for _ in range(5))
    with ExitStack() as served:
        ports = [served.enter_context(_site(pages)) for pages in wanted.sites]
        seeds = [f"http://127.0.0.1:{port}/" for port in ports]
        (folder / "icd.yaml").write_text(_ICD.format(seeds=json.dumps(seeds), delay=f"{wanted.delay} s"), "utf-8")
        for number in range(2 + rounds):
            seen = list(visits(folder / "crawls" / "timed")) if number > 1 else []
            loads, around = site_loads(seen, queue_of), around_seconds(seen, number, seconds)
            seconds, beside = _crawl(folder)
            if loads:
                took.append(seconds)
                beside_queues = warm_up_seconds(seen, queue_of) + (around or 0.0)
                ours.append((beside_queues + simulated_seconds(loads.values())) / seconds - 1)
                processes.append(beside)
                paper.append(packed_seconds(_as_paper(loads, wanted.delay), SLOTS) / seconds - 1)
                loads_beside.append(os.getloadavg()[0])
    return {
        "class": name,
        "urls": sum(load.urls for load in loads.values()),
        "crawls": rounds,
        "seconds": round(median(took), 1),
        "uneven": f"{max(took) / min(took) - 1:.0%}",
        "ours": f"{median(ours):+.0%}",
        "worst": f"{max(ours, key=abs):+.0%}",
        "paper": f"{median(paper):+.0%}",
        "paper_worst": f"{max(paper, key=abs):+.0%}",
        "process": round(median(processes), 1),
        "load": round(median(loads_beside), 1),
    }


def _as_paper(loads: Mapping[str, SiteLoad], delay: float) -> Iterator[SiteLoad]:
    """Yield loads with the assumptions of the paper: the delay is the definition's, and nothing else takes time."""
    return (replace(load, pace=load.download + delay) for load in loads.values())


def _crawl(folder: Path) -> tuple[float, float]:
    """Run a crawl; return its duration in seconds, and that of its process beyond the crawl."""
    began = time.monotonic()
    command = [sys.executable, "-m", "aahcrawler.cli", "crawl", "icd.yaml"]
    subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL, check=True)
    seconds = float(json.loads((folder / "crawls" / "timed" / SUMMARY).read_bytes())["seconds"])
    return seconds, time.monotonic() - began - seconds


class _Page(BaseHTTPRequestHandler):
    def __init__(self, pages: Pages, *arguments: object) -> None:
        self._pages = pages
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer after a pause: the front page leads to all others."""
        share, number = self._pages.share(self.path), self._pages.number
        time.sleep(self._pages.pause * share)
        etag = f'"{self.path}"'
        if self._pages.validators and self.headers.get("If-None-Match") == etag:
            self.send_response(304)
            self.send_header("ETag", etag)
            self.end_headers()
            return
        links = "".join(f'<li><a href="/{n}">Page {n}</a></li>' for n in range(1, number)) * (self.path == "/")
        told = "<p>A ship came in.</p>" * round(30 * share)
        body = f"<title>News</title><h1>News of the harbour {self.path}</h1>{told}<ul>{links}</ul>".encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if self._pages.validators:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _site(pages: Pages) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Page, pages)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()


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
"""Days between changes, and how many documents of the paper have them."""
Trace = NDArray[np.float64]
"""Times of one page's changes, in days since its first visit."""


def poisson(random: np.random.Generator, pages: int) -> list[Trace]:
    """Return change times of pages that change at a constant rate."""
    shares = np.array([number for *_, number in _RATES], dtype=float)
    found = []
    for kind in random.choice(len(_RATES), pages, p=shares / shares.sum()):
        least, most, _ = _RATES[kind]
        found.append(random.uniform(0, SPAN, random.poisson(SPAN / random.uniform(least, most))))
    return [np.sort(each) for each in found]


def bursty(random: np.random.Generator, pages: int) -> list[Trace]:
    """Return change times of pages that are quiet for 10 to 180 days, then change several times within days."""
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
    """Return change times of pages that change daily, weekly, fortnightly, monthly or quarterly, nearly on time."""
    found = []
    for period in random.choice([1, 7, 14, 30.4, 91.3], pages):
        times = np.arange(random.uniform(0, period), SPAN, period)
        found.append(np.sort(times + random.normal(0, 0.03 * period, len(times))))
    return found


def traces(path: Path) -> list[Trace]:
    """Return the first three years of real pages that changed at least twice."""
    found = []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            times = np.array(line.rstrip("\n").split("\t")[1].split(), dtype=float) / 86_400
            changes = times[1:] - times[0]
            if len(changes) >= 2:
                found.append(changes[changes < SPAN])
    return found


def prior_worlds(random_seeds: Sequence[int], number: int) -> Iterator[tuple[str, list[list[TracedPage]]]]:
    """Yield worlds of pages with known siblings: the name, and the pages by seed."""
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
    """Return the documents in ``traces``, each with its service as its site: of one half of the services, or of all."""
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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a policy achieved on some pages: changes made, changes seen, and downloads."""

    made: int
    seen: int
    downloads: int

    @property
    def recall(self) -> float:
        """The changes seen of those made."""
        return self.seen / self.made

    @property
    def precision(self) -> float:
        """The changes seen for each download."""
        return self.seen / max(self.downloads, 1)

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.seen / (self.made + self.downloads)


Policies = Callable[[Trace, float], tuple[RevisitPolicy, float]]
"""Makes a policy for a page, and by what its intervals are stretched, from a knob: 1 is the policy as it is."""


def _stretched(make: Callable[[], RevisitPolicy]) -> Policies:
    return lambda _, knob: (make(), knob)


def _gold(changes: Trace, knob: float) -> tuple[RevisitPolicy, float]:
    return Constant(SPAN / max(len(changes), 0.5) * knob), 1.0


def _priced(_: Trace, knob: float) -> tuple[RevisitPolicy, float]:
    # Between 0 and 1, .26 where the knob is 1.
    return JumpingRate(price=1 / (1 + math.exp(1.046 - math.log(knob)))), 1.0


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
    "jumping rate": _priced,
}


def outcome(pages: Sequence[Trace], policies: Policies, knob: float = 1.0) -> Outcome:
    """Visit all pages for three years."""
    made = sum(map(len, pages))
    seen = downloads = 0
    for changes in pages:
        policy, factor = policies(changes, knob)
        known, now = 0, policy.bounds.within(policy.days * factor)
        last = 0.0
        while now <= SPAN:
            passed = int(np.searchsorted(changes, now, side="right"))
            policy.observe(PageVisit(now - last, passed > known))
            seen += passed > known
            downloads += 1
            known, last = passed, now
            now += policy.bounds.within(policy.days * factor)
    return Outcome(made, seen, downloads)


def at_downloads(pages: Sequence[Trace], policies: Policies, downloads: int) -> Outcome:
    """Return the outcome of a policy with the knob set so that it makes about so many visits (within 2 %)."""
    least, most = 0.01, 100.0
    found = outcome(pages, policies)
    for _ in range(12):
        if abs(found.downloads - downloads) <= 0.02 * downloads:
            break
        knob = math.sqrt(least * most)
        found = outcome(pages, policies, knob)
        least, most = (knob, most) if found.downloads > downloads else (least, knob)
    return found


def rows(name: str, seeds: Sequence[Sequence[Trace]]) -> Iterator[Row]:
    """Yield a row for each policy and number of visits: means over seeds, and half the width of their interval."""
    budgets = [outcome(pages, _gold).downloads for pages in seeds]
    for policy, make in POLICIES.items():
        for given, share in (("own", 0.0), ("as gold", 1.0), ("a third", 1 / 3)):
            found = [
                at_downloads(pages, make, round(budget * share)) if share else outcome(pages, make)
                for pages, budget in zip(seeds, budgets, strict=True)
            ]
            f1 = np.array([each.f1 for each in found])
            width = 1.96 * f1.std(ddof=1) / math.sqrt(len(f1)) if len(f1) > 1 else 0.0
            yield {
                "trace": name,
                "policy": policy,
                "visits": given,
                "recall": round(float(np.mean([each.recall for each in found])), 3),
                "precision": round(float(np.mean([each.precision for each in found])), 3),
                "f1": round(float(f1.mean()), 3),
                "f1_interval": round(width, 3),
                "downloads": round(float(np.mean([each.downloads for each in found]))),
            }


def _timed(name: str, rounds: int) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        return timed(Path(folder), name, CLASSES[name], rounds)


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=1000, help="seeds under 1000 are for trials")
    parser.add_argument("--pages", type=int, default=300)
    parser.add_argument("--traces", type=Path, help="real changes: a name and times for each page")
    parser.add_argument("--half", type=int, choices=(0, 1), help="of the services of --traces, with --priors")
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
    worlds: dict[str, list[list[Trace]]] = {
        make.__name__: [
            make(np.random.default_rng(seed), options.pages)
            for seed in range(options.first_seed, options.first_seed + options.seeds)
        ]
        for make in (poisson, bursty, periodic)
    }
    if options.traces:
        worlds["real"] = [traces(options.traces)]
    report([row for name, seeds in worlds.items() for row in rows(name, seeds)], options.json)


if __name__ == "__main__":
    main()

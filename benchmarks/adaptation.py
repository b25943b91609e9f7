"""Measures the loss of extraction when a site's theme changes, and the part that adaptation recovers.

    python -m benchmarks.adaptation SITES_DIR --known app/themeA --site app/themeB [--memory] --json FILE
    python -m benchmarks.adaptation SITES_DIR --known app/themeA --damage N --seed S [--memory] --json FILE
    python -m benchmarks.adaptation SITES_DIR --known app/themeA --repeated --damage N --kind ids --json FILE
    python -m benchmarks.adaptation SITES_DIR --all [--memory] --json FILE

The knowledge base is trimmed to what the pages of theme A exercise (see `benchmarks.trimming`); theme B is then read
with the remainder, as a site never seen or, with ``--memory``, after theme A was read at the same URLs. With
``--damage`` the pages of B (without ``--site``, of A) are redesigned in N seeded steps (see `benchmarks.damage`), with
``--kind`` in steps of some kinds alone.
``--repeated`` first gives the texts of both themes quotes, signatures and boilerplate (see `benchmarks.repeated_text`).
``--quick`` reads recorded pages in-process instead of crawling them; the cost of a page, wrong values and false changes
are always measured so. Several of N and S are measured one after the other.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from pathlib import Path

from benchmarks import peers, quick, redesigned_crawl
from benchmarks.damage import Change, damaged
from benchmarks.peers import Peer
from benchmarks.quick import Known, Method
from benchmarks.recorded import RecordedSite, find_sites
from benchmarks.redesigned_crawl import Redesign, beside
from benchmarks.repeated_text import repeating
from benchmarks.results import Cell, Row, report

LOW = 0.9
"""Themes that the knowledge base alone reads with a lower recall need repair."""

MEASURED = (
    *("recall", "precision", "title", "author", "date", "false_objects", "requests_per_needed_page"),
    *("title_wrong", "author_wrong", "date_wrong", "false_changes"),
    *("pages_to_repair", "ms_per_page_learning", "ms_per_page_after"),
)
AVERAGED = (
    *("recall", "precision", "title", "author", "date", "false_objects"),
    *("title_wrong", "author_wrong", "date_wrong", "false_changes", "pages_to_repair", "cost_ratio"),
)

Pair = tuple[RecordedSite, RecordedSite]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is changed of a new theme, and how it is read. ``damage`` is None for an undamaged theme.

    ``scripts`` is the folder that may hold, or be a neighbour of, a server and a scorer.
    """

    scripts: Path
    memory: bool = False
    damage: int | None = None
    seed: int = 0
    quick: bool = False
    kinds: tuple[Change, ...] = tuple(Change)


def rows(plan: Plan, known: Known, site: RecordedSite, methods: Sequence[Method | Peer], folder: Path) -> Iterator[Row]:
    """Measure one pair of themes by each method; ``folder`` is for this call alone and need not exist.

    Other libraries always read recorded pages, and remember no URLs.
    """
    shown, whole = changed(plan, site, folder), known.undamaged(site)
    for method in methods:
        memory = plan.memory and isinstance(method, Method)
        head: dict[str, Cell] = {"known": known.site.name, "site": site.name, "memory": memory, "method": method}
        measured = _measured(plan, known, shown, method, folder / method)
        after = measured["ms_per_page_after"]
        ratio = round(float(after) / whole, 3) if after and whole else None
        damage: dict[str, Cell] = {"damage": plan.damage, "seed": plan.seed}
        yield {**head, **damage, **dict.fromkeys(MEASURED), **measured, "cost_ratio": ratio}


def _measured(plan: Plan, known: Known, shown: RecordedSite, method: Method | Peer, folder: Path) -> dict[str, Cell]:
    if isinstance(method, Peer):
        return peers.measure(method, known, shown)
    measured = quick.measure(known, shown, method, plan.memory)
    return measured if plan.quick else {**measured, **crawled(plan, known, shown, method, folder)}


def crawled(plan: Plan, known: Known, shown: RecordedSite, method: Method, folder: Path) -> dict[str, Cell]:
    """Return the results of a crawl over real HTTP, in the form of those of reading the recorded pages."""
    before, after = beside(known.site, shown, plan.scripts, folder / "served")
    redesign = Redesign(after, known.folder, method is Method.REPAIR, before if plan.memory else None)
    return redesigned_crawl.measure(redesign, folder / "crawled")


def changed(plan: Plan, site: RecordedSite, folder: Path) -> RecordedSite:
    """Return the site to serve: as it was recorded, or a damaged copy of it."""
    if plan.damage is not None:
        return damaged(site, folder / "damaged", plan.damage, plan.seed, plan.kinds)
    return site


def means(measured: Sequence[Row]) -> list[Row]:
    """Return for each method the means over the rows where the knowledge base alone has a recall below `LOW`.

    That is over pairs of themes, and over the damage done to each.
    """
    low = {_pair(row) for row in measured if row["method"] == Method.NONE and float(row["recall"] or 0) < LOW}
    found: list[Row] = []
    for method in dict.fromkeys(row["method"] for row in measured):
        rows = [row for row in measured if row["method"] == method and _pair(row) in low]
        if rows:
            found.append({"method": method, "pairs": len(rows), **{name: _mean(rows, name) for name in AVERAGED}})
    return found


def _mean(rows: Sequence[Row], name: str) -> float | None:
    numbers = [float(value) for row in rows if (value := row.get(name)) is not None]
    return round(sum(numbers) / len(numbers), 4) if numbers else None


def _pair(row: Row) -> tuple[Cell, ...]:
    return tuple(row[name] for name in ("known", "site", "damage", "seed"))


def pairs(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Pair]:
    """Return the pairs of known and new theme that the arguments name."""
    sites = {site.name: site for site in find_sites(arguments.sites)}
    names: list[Sequence[str]] = list(arguments.pair)
    if arguments.known:
        names.append((arguments.known, arguments.site or arguments.known))
    if arguments.all:
        themes = permutations(sites.values(), 2)
        names += [(known.name, site.name) for known, site in themes if known.app == site.app]
    unknown = {name for pair in names for name in pair} - sites.keys()
    if unknown or not names:
        there = ", ".join(sites) or "none"
        parser.error(f"no such site under {arguments.sites}: {', '.join(sorted(unknown)) or 'any'}; there are: {there}")
    return [(sites[known], sites[site]) for known, site in names]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, metavar="SITES_DIR")
    parser.add_argument("--known", metavar="app/themeA", help="the theme that the knowledge base is trimmed to")
    parser.add_argument("--site", metavar="app/themeB", help="the theme that is read then; default: the known one")
    parser.add_argument("--pair", nargs=2, action="append", default=[], metavar=("app/themeA", "app/themeB"))
    parser.add_argument("--all", action="store_true", help="measure every pair of themes of one application")
    parser.add_argument("--memory", action="store_true", help="the known theme was read before the new one")
    parser.add_argument("--damage", type=int, nargs="+", metavar="N", help="redesign the new theme in N steps")
    parser.add_argument("--seed", type=int, nargs="+", default=[0], metavar="S", help="which redesign (default: 0)")
    parser.add_argument("--kind", action="append", choices=list(Change), help="do damage of these kinds alone")
    parser.add_argument("--repeated", action="store_true", help="give both themes quotes, signatures and boilerplate")
    parser.add_argument("--method", action="append", choices=list(Method), help="measure these methods alone")
    parser.add_argument("--peers", action="store_true", help="measure other libraries as well (they are installed)")
    parser.add_argument("--quick", action="store_true", help="read recorded pages in-process instead of crawling")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    methods = (*map(Method, arguments.method or Method), *(Peer if arguments.peers else ()))
    known: dict[str, Known] = {}
    measured: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="aah-adaptation-") as name:
        work = product(pairs(arguments, parser), plans(arguments))
        made: dict[str, RecordedSite] = {}
        for number, (pair, plan) in enumerate(work):
            known_site, site = (_prepared(each, arguments, made, Path(name)) for each in pair)
            if known_site.name not in known:
                known[known_site.name] = Known(known_site, Path(name) / "trimmed" / known_site.name)
            folder = Path(name) / str(number)
            for row in rows(plan, known[known_site.name], site, methods, folder):
                measured.append(row)
                told = (f"{name}={value}" for name, value in row.items() if value is not None)
                print(*told, file=sys.stderr, flush=True)
            shutil.rmtree(folder, ignore_errors=True)
    report(measured, arguments.json)
    report(means(measured), None)


def _prepared(
    site: RecordedSite, arguments: argparse.Namespace, made: dict[str, RecordedSite], folder: Path
) -> RecordedSite:
    """Return a site as it was recorded, or a copy, made once, with added texts that repeat."""
    if not arguments.repeated:
        return site
    if site.name not in made:
        made[site.name] = repeating(site, folder / "repeated", seed=0)
    return made[site.name]


def plans(arguments: argparse.Namespace) -> list[Plan]:
    """Return the changes to each pair, in turn."""
    damage = arguments.damage or [None]
    kinds = tuple(map(Change, arguments.kind or Change))
    return [
        Plan(arguments.sites, arguments.memory, steps, seed, arguments.quick, kinds)
        for steps, seed in product(damage, arguments.seed)
    ]


if __name__ == "__main__":
    main()

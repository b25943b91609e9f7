"""What is left of extraction when a site's theme changes, and what adaptation recovers of it.

    python -m benchmarks.adaptation SITES_DIR --known app/themeA --site app/themeB --json FILE
    python -m benchmarks.adaptation SITES_DIR --all --json FILE

The knowledge base is trimmed to what the pages of theme A exercise (see `benchmarks.trimming`); theme B is then read
with what is left.
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path

from benchmarks import quick
from benchmarks.quick import Known
from benchmarks.recorded import RecordedSite, find_sites
from benchmarks.results import Cell, Row, report

Pair = tuple[RecordedSite, RecordedSite]


def rows(known: Known, site: RecordedSite) -> Iterator[Row]:
    """Measure one pair of themes."""
    head: dict[str, Cell] = {"known": known.site.name, "site": site.name, "memory": False, "method": "none"}
    yield {**head, **quick.measure(known, site)}


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
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    measured: list[Row] = []
    known: dict[str, Known] = {}
    with tempfile.TemporaryDirectory(prefix="aah-adaptation-") as name:
        for known_site, site in pairs(arguments, parser):
            if known_site.name not in known:
                known[known_site.name] = Known(known_site, Path(name) / known_site.name)
            measured += rows(known[known_site.name], site)
    report(measured, arguments.json)


if __name__ == "__main__":
    main()

"""Crawls sites that scripts make, and compares what is kept and read with what a person sees and the server sent.

    python -m benchmarks.browser [--site NAME ...] [--method NAME ...] [--speed] [--keep FOLDER] --json FILE

Each site is served on loopback by a server that remembers every byte, looked at by a person (Playwright drives
Chromium, without code of the crawler), and crawled by each method. Rows are written as they are measured. The row of a
site that cannot be measured names the failure, and the exit code is 1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from playwright.sync_api import Error

from benchmarks.browser.choices import CHOICES
from benchmarks.browser.crawling import Method
from benchmarks.browser.measuring import Measuring, Plan, served
from benchmarks.browser.person import NoBrowserError
from benchmarks.browser.site import Choice
from benchmarks.results import Cell, Row, report

COLUMNS: Final = (
    *("site", "method", "at_once", "pages", "rendered", "objects_recall", "objects_precision", "title"),
    *(
        "author",
        "date",
        "requests_missed",
        "requests_seen",
        "unrecorded",
        "repeated",
        "bytes_differing",
        "pages_per_second",
    ),
    *("cpu_ms_per_page", "peak_mib", "seconds", "cpu_seconds", "wall_ratio", "cpu_ratio", "failure"),
)
METHODS: Final = (Method.HTTP, Method.BROWSER, Method.AUTO)
"""All methods; the one that the browser's is compared with comes after it."""
_FAILURES: Final = (NoBrowserError, Error, subprocess.CalledProcessError)


@dataclass
class Rows:
    """The rows measured so far, which are written to a file one by one."""

    target: Path | None
    rows: list[Row] = field(default_factory=list)

    def add(self, row: Mapping[str, Cell]) -> None:
        """Keep a row, say what it is, and write all of them."""
        self.rows.append({name: row.get(name) for name in COLUMNS})
        said = (f"{name}={value}" for name, value in row.items() if value is not None)
        print(" ".join(said), file=sys.stderr, flush=True)
        if self.target is not None:
            self.target.write_text(json.dumps({"rows": self.rows}, indent=2) + "\n", "utf-8")


def measured(choice: Choice, plan: Plan) -> Iterator[Mapping[str, Cell]]:
    """Yield the rows of a site; one that cannot be measured has a row that says why."""
    print(f"{choice.name}: opening, looking, crawling", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="aah-browser-") as name:
        try:
            with served(choice, Path(name)) as (site, server):
                yield from Measuring(choice, site, server, Path(name), plan).rows()
        except _FAILURES as error:
            yield {"site": choice.name, "failure": str(error)}


def main() -> int:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = [choice.name for choice in CHOICES]
    parser.add_argument("--site", nargs="+", choices=names, metavar="NAME", help=f"these alone: {', '.join(names)}")
    parser.add_argument("--method", nargs="+", choices=list(Method), help="crawl by these methods alone")
    parser.add_argument("--speed", action="store_true", help="crawl 1, 2 and 4 copies of the forum at once as well")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each crawl here, with a list of its mistakes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    methods = [method for method in METHODS if arguments.method is None or method in arguments.method]
    plan = Plan(methods, arguments.speed, arguments.keep)
    rows = Rows(arguments.json)
    for choice in CHOICES:
        if arguments.site is None or choice.name in arguments.site:
            for row in measured(choice, plan):
                rows.add(row)
    report(rows.rows, arguments.json)
    return int(any(row["failure"] for row in rows.rows))


if __name__ == "__main__":
    sys.exit(main())

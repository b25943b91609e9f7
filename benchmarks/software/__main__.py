"""Crawls real applications of unknown software: as they are, and after changes.

    python -m benchmarks.software [--app NAME ...] [--case NAME ...] [--change NAME ...] [--quick]
                                  [--scripts FOLDER] --json FILE

Each application is installed into an environment of its own in ``.cache/software`` (once; this needs package indexes),
filled with content drawn from a seed, served on loopback and crawled by ``scrapy crawl aah``. Others are built by
scripts that lie outside of the project, and crawled with and without their entries in the knowledge base. The row of an
application that cannot be installed or crawled names the failure, and the exit code is 1.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path

from benchmarks.results import Cell, Row, report
from benchmarks.sites import BenchmarkError
from benchmarks.software.front import Redesign
from benchmarks.software.installation import APPLICATIONS, Application, InstallationError
from benchmarks.software.measuring import Case, Plan, measure
from benchmarks.software.scripted import SCRIPTED, SCRIPTS, Scripted, measure_scripted
from benchmarks.software.writing import QUICK, Size

_COLUMNS = (
    *("app", "case", "change", "recall", "precision", "duplicate_share", "title", "author", "date"),
    *("title_wrong", "author_wrong", "date_wrong", "requests_per_needed_page", "false_objects", "cpu_ms_per_page"),
    *("cost_ratio", "false_changes", "missed_changes", "failure"),
)


def rows(applications: Iterable[Application | Scripted], plan: Plan, scripts: Path = SCRIPTS) -> Iterator[Row]:
    """Measure applications one after the other; one that fails has a row that says why."""
    for application in applications:
        print(f"{application.name}: installing, filling, crawling", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="aah-software-") as folder:
            try:
                if isinstance(application, Scripted):
                    measured = measure_scripted(application, scripts, plan, Path(folder))
                else:
                    measured = measure(application, plan, Path(folder))
                yield from ({name: row[name] for name in _COLUMNS} for row in measured)
            except (InstallationError, BenchmarkError) as error:
                head: dict[str, Cell] = {
                    "app": application.name,
                    "failure": str(error),
                }
                yield {**dict.fromkeys(_COLUMNS), **head}


def main() -> int:
    """Run the benchmark from the command line."""
    everything = (*APPLICATIONS, *SCRIPTED)
    names = [application.name for application in everything]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--app", nargs="+", choices=names, help="measure these applications alone")
    parser.add_argument("--case", nargs="+", choices=list(Case), default=list(Case), help="measure these cases alone")
    parser.add_argument("--change", nargs="+", choices=list(Redesign), help="these changes of a template alone")
    parser.add_argument("--seed", type=int, default=1, help="what content and redesigns are drawn from (default: 1)")
    parser.add_argument("--quick", action="store_true", help="little content, and total redesigns alone")
    parser.add_argument(
        "--scripts", type=Path, default=SCRIPTS, metavar="FOLDER", help=f"where the scripts lie (default: {SCRIPTS})"
    )
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each crawl here, with a list of its mistakes")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    redesigns = arguments.change or ([Redesign.TOTAL] if arguments.quick else list(Redesign))
    size = QUICK if arguments.quick else Size()
    plan = Plan(
        frozenset(map(Case, arguments.case)), tuple(map(Redesign, redesigns)), size, arguments.seed, arguments.keep
    )
    measured: list[Row] = []
    applications = [each for each in everything if arguments.app is None or each.name in arguments.app]
    if arguments.app is None and not arguments.scripts.is_dir():
        print(f"{arguments.scripts}: no scripts there, so what they build is not measured", file=sys.stderr, flush=True)
        applications = [application for application in applications if isinstance(application, Application)]
    for row in rows(applications, plan, arguments.scripts):
        measured.append(row)
        print(
            " ".join(f"{name}={value}" for name, value in row.items() if value is not None), file=sys.stderr, flush=True
        )
    report(measured, arguments.json)
    return int(any(row["failure"] for row in measured))


if __name__ == "__main__":
    sys.exit(main())

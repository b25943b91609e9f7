"""Crawls small sites that behave as sites on the web do, and compares what was reached and what was said of the seed.

    python -m benchmarks.liveweb [--case NAME]... [--all] [--json FILE]

A row a case: ``reachable``, the pages that a reader with a browser without scripts could reach; ``reached`` of these;
``verdict`` on the seed in ``crawl.json``, and the ``expected`` one; ``exit_code`` of the crawl, ``seconds``. Everything
is on loopback. Without ``--case`` the sites of ``liveweb_sites`` are crawled, and with ``--all`` the further walls,
lookalikes and sites with logins too. Interrupted, it keeps the rows up to the first case that had not ended.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from benchmarks.liveweb_members import MEMBERS, PASSWORD, VARIABLE
from benchmarks.liveweb_sites import KEYWORD, SITES, proxying_for, serving
from benchmarks.liveweb_walls import HELD_BACK, LATER, LOOKALIKES, WALLS
from benchmarks.process_memory import run
from benchmarks.results import Row, report

CASES = {**SITES, **WALLS, **LOOKALIKES, **HELD_BACK, **LATER, **MEMBERS}
LONGEST = 120.0
"""Seconds after which a crawl that its own limit did not end is killed."""
ICD = """\
id: liveweb
contact: benchmark@example.org
seeds: [{seed}]
topic: {{keywords: [{keyword}]}}
politeness: {{delay: 0, retries: 1, timeout: 3 s}}
limits: {{pages: 60, time: 60 s}}
output: {output}
"""
NETWORK = "network: {allow_private: true}\n"


class CrawlError(Exception):
    """A crawl left no summary; the message is its output."""


def measure(name: str) -> Row:
    """Crawl a site."""
    site = CASES[name]
    with (
        tempfile.TemporaryDirectory() as place,
        serving(site, Path(place)) as (seed, asked),
        proxying_for(site, Path(place)) as proxy,
    ):
        definition, output = Path(place, "icd.yaml"), Path(place, "crawl")
        text = ICD.format(seed=json.dumps(seed), keyword=KEYWORD, output=json.dumps(str(output)))
        more = site.icd.replace("{folder}", place).replace("{proxy}", proxy).replace("{seed}", seed)
        definition.write_text(text + ("" if "network:" in site.icd else NETWORK) + more, "utf-8")
        ended = run(
            [sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)],
            {**os.environ, VARIABLE: PASSWORD},
            LONGEST,
        )
        try:
            summary = json.loads((output / "crawl.json").read_text("utf-8"))
        except FileNotFoundError:
            raise CrawlError(f"{name}: {ended.output}") from None
    return {
        "case": name,
        "reachable": len(site.reachable),
        "reached": len(site.reachable & set(asked)),
        "verdict": summary["seeds"][0]["verdict"],
        "expected": site.verdict.value,
        "exit_code": ended.code,
        "seconds": round(ended.seconds, 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark; the exit code is 1 where anything was not reached or a verdict is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.liveweb", description=__doc__)
    parser.add_argument("--case", choices=sorted(CASES), action="append", help="only this one; may be given again")
    parser.add_argument("--all", action="store_true", help="all further walls, lookalikes and logins as well")
    parser.add_argument("--json", type=Path, help="write the rows to this file as well")
    given = parser.parse_args(arguments)
    names = given.case or ([*CASES] if given.all else [*SITES])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        rows: list[Row] = []
        try:
            rows.extend(pool.map(measure, names))
        finally:  # Interrupted, what was measured is kept.
            pool.shutdown(wait=False, cancel_futures=True)
            report(rows, given.json)
    right = sum(row["verdict"] == row["expected"] and row["reached"] == row["reachable"] for row in rows)
    print(f"{right} of {len(rows)} cases right")
    sys.exit(right < len(rows))


if __name__ == "__main__":
    main()

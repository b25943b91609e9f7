"""Measures the cost of traps for a crawl with detection of traps and for one without.

    python -m benchmarks.traps [--pages N] [--site NAME] [--recrawls N] [--json FILE]

Made-up sites with an ordinary part and a trap are crawled on loopback, each with the ICD's defaults and with all of its
section ``traps`` off, until nothing is left or N pages have been fetched. A row a site and setting: ``fetched`` pages,
probes included; ``worthwhile`` of all that there are on the site, how many were ``found``, and their share;
``wrongly_refused``, worthwhile pages that were not found although the crawl came to its end, None where it did not.
``again_more`` and ``again_fewer`` are the pages that N further crawls in the same folder asked for although the crawl
before each did not, and the other way round; ``again_changes`` the objects that they took for added, changed or
deleted. As the sites stay as they are, all of these should be 0.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from aahcrawler.layout import SUMMARY
from benchmarks.process_memory import Finished, run
from benchmarks.results import Cell, Row, report
from benchmarks.trap_sites import SITES, serving

PAGES = 800
LONGEST = 1800.0
OFF = "traps: {pages: 0, repeats: 0, segments: 0, parameters: 0, duplicates: follow, soft_404: ignore}\n"
ICD = """\
id: traps
contact: benchmark@example.org
seeds: [{seed}]
topic: {{keywords: [nothing of all this]}}
scoring: {{weights: {{text: 1, ranker: 0}}}}
politeness: {{delay: 0, connections: 4}}
network: {{allow_private: true}}
limits: {{pages: {pages}}}
output: {output}
"""


class CrawlError(Exception):
    """A crawl did not end well; the message is its output."""


def measure(name: str, pages: int, *, on: bool, recrawls: int = 0) -> Row:
    """Crawl a site, and again, with the ICD's settings of traps or with all of them off."""
    grounds = SITES[name]
    with tempfile.TemporaryDirectory() as place, serving(grounds) as (url, asked):
        definition, output = Path(place, "icd.yaml"), Path(place, "crawl")
        text = ICD.format(seed=json.dumps(url), pages=pages, output=json.dumps(str(output)))
        definition.write_text(text + ("" if on else OFF), "utf-8")
        ended, summary = _crawled(definition, output)
        fetched = len(asked)
        found = {plain(path) for path in asked} & grounds.worthwhile
        again = _again(definition, output, asked, recrawls)
    total = len(grounds.worthwhile)
    missed = total - len(found) if summary["state"] == "finished" else None
    return {
        "site": name,
        "traps": "on" if on else "off",
        "fetched": fetched,
        "worthwhile": total,
        "found": len(found),
        "share": len(found) / total,
        "wrongly_refused": missed,
        "refused": sum(summary["refused"].values()),
        "blocked": sum(summary["blocked"].values()),
        "soft_404": summary["trap"].get("soft_404", 0),
        "near_duplicates": summary["trap"].get("near_duplicate", 0),
        "probes": summary["probes"],
        "cpu_seconds": round(ended.cpu_seconds, 1),
        **again,
    }


def _crawled(definition: Path, output: Path) -> tuple[Finished, Mapping[str, Any]]:
    ended = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], os.environ, LONGEST)
    if ended.code:
        raise CrawlError(ended.output)
    return ended, json.loads((output / SUMMARY).read_text("utf-8"))


def _again(definition: Path, output: Path, asked: list[str], recrawls: int) -> dict[str, Cell]:
    """Crawl some times more; return how what was asked for, and what was found, differs from the crawl before."""
    if not recrawls:
        return {}
    before, more, fewer, changed = set(map(plain, asked)), 0, 0, 0
    for _ in range(recrawls):
        asked.clear()
        _, summary = _crawled(definition, output)
        now = set(map(plain, asked))
        more, fewer, before = more + len(now - before), fewer + len(before - now), now
        changed += sum(number for number in summary.get("changes", {}).values())
    return {"again_more": more, "again_fewer": fewer, "again_changes": changed}


def plain(target: str) -> str:
    """Return a path with its query without the id of the visit."""
    parts = urlsplit(target)
    query = urlencode([(name, value) for name, value in parse_qsl(parts.query) if name != "visit"])
    return f"{parts.path}?{query}" if query else parts.path


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.traps", description=__doc__)
    parser.add_argument("--pages", type=int, default=PAGES, help=f"pages that a crawl fetches at most ({PAGES})")
    parser.add_argument("--site", choices=sorted(SITES), action="append", help="only this one; may be given again")
    parser.add_argument("--json", type=Path, help="write the rows to this file as well")
    parser.add_argument("--recrawls", type=int, default=0, help="crawl so many times more in the same folder (0)")
    given = parser.parse_args(arguments)
    rows: list[dict[str, Cell]] = []
    for name in given.site or SITES:
        rows += [dict(measure(name, given.pages, on=on, recrawls=given.recrawls)) for on in (True, False)]
    report(rows, given.json)


if __name__ == "__main__":
    main()

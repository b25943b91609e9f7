"""Crawl magazines whose pages are made by scripts: by HTTP, in the browser, and by the crawl's own choice.

    python -m benchmarks.browser [--site NAME ...] [--method NAME ...] [--keep FOLDER] --json FILE

Each magazine is generated from a seed and served on loopback; the extracted objects are compared with its articles.
``pages`` counts those of the crawl, ``rendered`` those with a rendered document, ``bytes_differing`` the responses that
the archive has otherwise than they were sent. Processor time and memory include the browser. ``wall_ratio`` and
``cpu_ratio`` compare rendering every page with the crawl's own choice. If a crawl fails, its row names the failure, and
the exit code is 1.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from warcio.archiveiterator import ArchiveIterator

from aahcrawler.layout import ARCHIVE, SUMMARY
from aahcrawler.objects.reader import object_rows
from benchmarks.exact_server import ExactServer, Sent, attached
from benchmarks.magazines import MAGAZINES, Magazine
from benchmarks.process_memory import run
from benchmarks.results import Cell, Row, report
from benchmarks.software.scorer import Described, Matching, TrueObjects

MAX_SECONDS: Final = 1500.0
_ICD: Final = """\
id: benchmark
title: Benchmark of pages that scripts make
contact: https://example.org/aahcrawler-benchmark
seeds: [{seed}]
topic: {{keywords: [linux, installation, network, security]}}
politeness: {{delay: 0}}
network: {{allow_private: true}}
limits: {{pages: 1500}}
browser: {{use: {use}}}
output: {output}
"""
_SEEDS_FAILED: Final = 3
"""The exit code of a crawl with a seed that led to no content, as without a browser."""


class Method(StrEnum):
    """How pages are fetched."""

    HTTP = "http"
    """By http alone: the browser is never used."""
    BROWSER = "browser"
    """Every page in the browser as well."""
    AUTO = "auto"
    """As a crawl decides by itself."""


_USES: Final = {Method.HTTP: "never", Method.BROWSER: "always", Method.AUTO: "auto"}


def measure(magazine: Magazine, method: Method, folder: Path) -> dict[str, Cell]:
    """Crawl a magazine into ``folder/crawl``; return what was found, and what it cost."""
    definition, crawl = folder / "icd.yaml", folder / "crawl"
    with ExactServer().running() as server:
        server.respond = lambda request: attached(request) or magazine.respond(request)
        text = _ICD.format(seed=json.dumps(f"{server.origin}/"), use=_USES[method], output=json.dumps(str(crawl)))
        definition.write_text(text, "utf-8")
        used = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], os.environ, MAX_SECONDS)
        passed = server.taken()
    if used.code not in (0, _SEEDS_FAILED):
        return {"failure": f"the crawl ended with {used.code}:\n{used.output[-3000:]}"}
    summary = json.loads((crawl / SUMMARY).read_text("utf-8"))
    pages, seconds = int(summary["pages"]), float(summary["seconds"] or used.seconds)
    rows = (row for row in object_rows(crawl) if row.deleted is None)
    matching = Matching.of(
        TrueObjects(magazine.articles),
        (Described(row.iri, row.url, row.body or "", row.title, row.author, row.date) for row in rows),
    )
    scores = matching.scores()
    recorded = blocks(crawl / ARCHIVE)
    return {
        "pages": pages,
        "rendered": len({url for kind, url, _ in recorded if kind == "resource" and url.startswith("urn:dom:")}),
        "recall": scores["recall"],
        "precision": matching.shares()["precision"],
        **{name: scores[name] for name in ("title", "author", "date")},
        "bytes_differing": differing(recorded, passed),
        "pages_per_second": round(pages / seconds, 2),
        "cpu_ms_per_page": round(1000 * used.cpu_seconds / pages, 1) if pages else None,
        "peak_mib": round(used.peak_mib, 1),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used.cpu_seconds, 1),
    }


def blocks(archive: Path) -> list[tuple[str, str, bytes]]:
    """Return kind, URL and block of all records, read by warcio and not by the code that wrote them."""
    found = []
    for file in sorted(archive.glob("*.warc.gz")):
        with file.open("rb") as stream:
            for record in ArchiveIterator(stream, no_record_parse=True):
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                found.append((record.rec_type, url, record.raw_stream.read()))
    return found


def differing(recorded: Sequence[tuple[str, str, bytes]], passed: Sequence[Sent]) -> int:
    """Return how many archived responses do not equal a sent one, each sent response being matched once."""
    sent = Counter((each.url, each.response) for each in passed)
    kept = Counter((url, block) for kind, url, block in recorded if kind == "response")
    return (kept - sent).total()


def ratios(all_by_browser: Mapping[str, Cell] | None, own: Mapping[str, Cell]) -> dict[str, Cell]:
    """Return the ratios of wall and processor time of rendering every page to those of the crawl's own choice."""
    pairs = (("wall_ratio", "seconds"), ("cpu_ratio", "cpu_seconds"))
    costs = ((name, (all_by_browser or {}).get(cell), own.get(cell)) for name, cell in pairs)
    return {name: round(float(whole) / float(part), 2) for name, whole, part in costs if whole and part}


def rows(names: Sequence[str], methods: Sequence[Method], kept: Path | None) -> list[Row]:
    """Return a row for each magazine and method."""
    found: list[Row] = []
    for name in names:
        told: dict[Method, dict[str, Cell]] = {}
        for method in methods:
            with tempfile.TemporaryDirectory(prefix="aah-browser-") as folder:
                told[method] = measure(MAGAZINES[name], method, Path(folder))
                if kept is not None:
                    shutil.copytree(folder, kept / f"{name}-{method}", symlinks=True, dirs_exist_ok=True)
        if Method.AUTO in told:
            told[Method.AUTO] |= ratios(told.get(Method.BROWSER), told[Method.AUTO])
        found += [{"site": name, "method": method, **row} for method, row in told.items()]
    columns = dict.fromkeys(column for row in found for column in row)
    return [{column: row.get(column) for column in columns} for row in found]


def main() -> int:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--site", nargs="+", choices=list(MAGAZINES), default=list(MAGAZINES), metavar="NAME")
    parser.add_argument("--method", nargs="+", choices=list(Method), default=list(Method), help="these methods alone")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep each crawl here")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    found = rows(arguments.site, [method for method in Method if method in arguments.method], arguments.keep)
    report(found, arguments.json)
    return int(any(row.get("failure") for row in found))


if __name__ == "__main__":
    sys.exit(main())

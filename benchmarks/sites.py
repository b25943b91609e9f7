"""Crawls recorded sites over real HTTP and scores the extracted objects.

    python -m benchmarks.sites SITES_DIR [--only app/theme ...] [--unknown] [--scorer score.py] --json FILE

SITES_DIR holds unpacked sites as <app>/<theme>/ beside or below a server ``serve.py`` and a scorer ``score.py`` (both
are looked for in SITES_DIR and in ``../shared/sites``). Each site is served on loopback and crawled by ``aah crawl``
from its front page with the shipped defaults, except that the delay between requests is 0 and loopback is allowed. The
scorer compares the objects with the content put into the site when it was recorded.

With ``--unknown`` the crawl gets a copy of the knowledge base without the application that recognises the site's front
page, and stops after 3,000 pages: it measures a site of unknown software.
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import knowledge_base
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.layout import SUMMARY
from aahcrawler.page import Headers, Page
from benchmarks.process_memory import Finished, run
from benchmarks.recorded import RecordedSite, find_sites, score, start_site
from benchmarks.results import Cell, report
from knowledge_base.loader import load

MAX_SECONDS = 900.0
"""The most seconds that the crawl of a site may take; then it is given up."""

ICD = """\
id: benchmark
title: Benchmark of {site}
contact: https://example.org/aahcrawler-benchmark
seeds: ["{seed}"]
topic: {{keywords: [linux, installation, network, security]}}
politeness: {{delay: 0}}
network: {network}
output: {output}
"""

NETWORK = "{allow_private: true}"
"""The section of the definition that allows loopback."""

LIMITED = """\
limits: {{pages: {pages}}}
"""

MAX_PAGES_UNKNOWN = 3_000
"""The most pages fetched of a site of unknown software, since nothing tells which of its pages are junk."""

KNOWLEDGE_BASE = "AAH_KNOWLEDGE_BASE"
"""The environment variable with the folders of the knowledge base that a crawl loads."""

FIELDS = (
    "recall",
    "precision",
    "title",
    "author",
    "date",
    "duplicate_share",
    "requests_per_needed_page",
    "level_accuracy",
    "false_objects",
)


class BenchmarkError(Exception):
    """A crawl of the benchmark failed; the message is its output."""


def crawl(site: RecordedSite, folder: Path, unknown: bool = False) -> tuple[Finished, Path]:
    """Serve a site and crawl it into ``folder``; return the ended crawl, and the server's log of requests."""
    environment = dict(os.environ)
    limits = LIMITED.format(pages=MAX_PAGES_UNKNOWN) if unknown else ""
    if unknown:
        environment[KNOWLEDGE_BASE] = str(without_application(site, folder / "knowledge_base"))
    requests = folder / "requests.jsonl"
    with start_site(site, log=requests) as served:
        definition = folder / "icd.yaml"
        output = folder / "crawl"
        described = ICD.format(site=site.name, seed=served.url, network=NETWORK, output=json.dumps(str(output)))
        definition.write_text(described + limits, "utf-8")
        finished = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], environment, MAX_SECONDS)
    if finished.code:
        raise BenchmarkError(f"{site.name}: the crawl ended with {finished.code}:\n{finished.output}")
    return finished, requests


def without_application(site: RecordedSite, target: Path) -> Path:
    """Copy the shipped knowledge base without the application that recognises the site's front page.

    Its file and its saved pages are both left out.
    """
    shutil.copytree(Path(knowledge_base.__file__).parent, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    known = load()
    match = ApplicationAwareHelper(known).assist(front_page(site)).match
    if match is None:
        raise BenchmarkError(f"{site.name}: no application is recognised, so none can be removed")
    for file in (target / "applications").glob("*.xml"):
        if ElementTree.parse(file).getroot().get("name") == match.application.name:  # noqa: S314 - files of our own
            file.unlink()
            shutil.rmtree(target / "applications" / "pages" / file.stem, ignore_errors=True)
    return target


def front_page(site: RecordedSite) -> Page:
    """Return the recorded front page of a site, or the page that it redirects to: the first HTML response."""
    with (site.folder / "index.jsonl").open(encoding="utf-8") as lines:
        responses = (row for row in map(json.loads, lines) if row["status"] == 200 and row.get("file"))
        row = next(row for row in responses if (row["content_type"] or "").startswith("text/html"))
    headers = Headers(tuple((str(name), str(value)) for name, value in row["headers"]))
    return Page(row["url"], row["status"], headers, (site.folder / row["file"]).read_bytes(), datetime.now(UTC))


def table(crawled: Path, command: str, target: Path) -> Path:
    """Write the output of ``aah objects`` or ``aah pages`` to a file, with the recorded host in place of the server."""
    finished = run([sys.executable, "-m", "aahcrawler.cli", command, str(crawled)], os.environ, MAX_SECONDS)
    if finished.code:
        raise BenchmarkError(f"aah {command} ended with {finished.code}:\n{finished.output}")
    target.write_text(finished.output, "utf-8")
    return target


def measure(site: RecordedSite, scorer: Path | None, unknown: bool = False) -> Mapping[str, Cell]:
    """Crawl and score one site; return a row of the benchmark."""
    with tempfile.TemporaryDirectory(prefix="aah-sites-") as name:
        folder = Path(name)
        finished, requests = crawl(site, folder, unknown)
        crawled = folder / "crawl"
        objects = table(crawled, "objects", folder / "objects.jsonl")
        pages = table(crawled, "pages", folder / "pages.jsonl")
        scored = score(site, objects, requests, pages, scorer)
        summary = json.loads((crawled / SUMMARY).read_text("utf-8"))
    seconds = summary["seconds"] or finished.seconds
    return {
        "app": site.app,
        "theme": site.theme,
        "application": "unknown" if unknown else "known",
        **{name: scored[name] for name in FIELDS},
        "pages_per_second": round(summary["pages"] / seconds, 1),
        "peak_mib": round(finished.peak_mib, 1),
    }


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sites", type=Path, metavar="SITES_DIR")
    parser.add_argument("--only", nargs="+", default=[], metavar="app/theme", help="measure these sites alone")
    parser.add_argument("--unknown", action="store_true", help="remove the site's application from the knowledge base")
    parser.add_argument("--scorer", type=Path, help="the scorer to run; default: score.py beside the sites")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows here")
    arguments = parser.parse_args()
    sites = find_sites(arguments.sites)
    unknown = set(arguments.only) - {site.name for site in sites}
    if unknown or not sites:
        known = ", ".join(site.name for site in sites) or "none"
        parser.error(f"no such site under {arguments.sites}: {', '.join(unknown) or 'any'}; there are: {known}")
    chosen = [site for site in sites if not arguments.only or site.name in arguments.only]
    report([measure(site, arguments.scorer, arguments.unknown) for site in chosen], arguments.json)


if __name__ == "__main__":
    main()

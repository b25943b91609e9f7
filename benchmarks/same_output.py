"""Compares what two checkouts of the project write of the same sites: records of WARC files, and triples.

    python -m benchmarks.same_output CHECKOUT [--only app/theme ...] [--unknown] [--sites SITES_DIR] --json FILE

Each recorded site is served once on loopback and crawled twice from its front page, by CHECKOUT and by this checkout,
one request at a time and without the ranker, so that both meet the pages in the same order. Records are compared after
decompression and triples line by line, each by the URL that they are of. Identifiers, times, priorities and the
fingerprint of the reader are put aside: these differ from crawl to crawl.

``only_before`` and ``only_after`` count records whose URL only one of the crawls has. Of all ``urls``, ``records``
counts those with other requests or responses, ``metadata`` those that were understood otherwise, ``pages`` those with
other triples.
The first differences go to standard error. The exit code is 1 where there are any.
"""

import argparse
import os
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path

from fastwarc.warc import ArchiveIterator

from aahcrawler.layout import NQUADS, WARC
from aahcrawler.segments.reader import lines, segments
from benchmarks.process_memory import run
from benchmarks.recorded import PROJECT, RecordedSite, find_sites, recorded_sites, start_site
from benchmarks.results import Cell, report
from benchmarks.sites import ICD, KNOWLEDGE_BASE, LIMITED, NETWORK, BenchmarkError, without_application

UNRANKED = """\
scoring: {weights: {text: 1, ranker: 0}}
"""
MAX_PAGES = 400
MAX_SECONDS = 900.0
SHOWN = 5
"""The most differences of a site that are shown."""

_CHANGING = re.compile(
    rb'urn:uuid:[0-9a-f-]{36}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|"understood_by":"[0-9a-f]+"'
    rb'|(?<=term:reader> ")[0-9a-f]+|\r\nDate: [^\r]*|(?<="priority":)[\d.]+|(?<=term:priority> ")[\d.]+'
)
_GRAPH = re.compile(rb"<(urn:uuid:[^>]+)> \.\s*$")
_URL = re.compile(rb'<https://schema\.org/url> "([^"]*)"')

Written = Mapping[tuple[str, str], tuple[bytes, ...]]
"""What was written, by kind and URL, without what changes from crawl to crawl."""


def written(crawl: Path) -> Written:
    """Return what a crawl wrote for each URL: records by their type, and triples."""
    found: dict[tuple[str, str], list[bytes]] = defaultdict(list)
    for kind, url, content in (*_records(crawl / "archive"), *_triples(crawl / "objects")):
        found[kind, url].append(content)
    return {key: tuple(sorted(each)) for key, each in found.items()}


def _records(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    for path in segments(folder, WARC):
        with path.open("rb") as file:
            of_id: dict[str, str] = {}
            for record in ArchiveIterator(file, parse_http=False):
                kind = record.headers.get("WARC-Type") or ""
                subject = record.headers.get("WARC-Concurrent-To") or record.headers.get("WARC-Refers-To") or ""
                url = record.headers.get("WARC-Target-URI") or of_id.get(subject, "")
                of_id[record.record_id or ""] = url
                if kind != "warcinfo":
                    yield kind, url, _CHANGING.sub(b"", record.reader.read())


def _triples(folder: Path) -> Iterator[tuple[str, str, bytes]]:
    for path in segments(folder, NQUADS):
        urls: dict[bytes, str] = {}
        with closing(lines(path)) as given:
            for line in given:
                graph = _GRAPH.search(line)
                capture = graph[1] if graph is not None else b""
                url = _URL.search(line)
                if url is not None and line.startswith(b"<" + capture):
                    urls[capture] = url[1].decode()
                yield "triples", urls.get(capture, ""), _CHANGING.sub(b"", line)


def differences(before: Written, after: Written) -> Iterator[tuple[str, str, str]]:
    """Yield each difference of two crawls with its kind and URL: ``before`` or ``after`` only, or in ``content``."""
    for key in sorted({*before, *after}):
        if key not in after:
            yield "before", *key
        elif key not in before:
            yield "after", *key
        elif before[key] != after[key]:
            yield "content", *key


def crawled(checkout: Path, site: RecordedSite, seed: str, folder: Path, unknown: bool) -> Written:
    """Crawl a served site with a checkout of the project; return what was written."""
    environment = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONHASHSEED": "0"}
    if unknown:
        environment[KNOWLEDGE_BASE] = str(without_application(site, folder / "knowledge_base"))
    described = ICD.format(site=site.name, seed=seed, network=NETWORK, output=folder / "crawl")
    described = described.replace("{delay: 0}", "{delay: 0, connections: 1}")
    definition = folder / "icd.yaml"
    definition.write_text(described + UNRANKED + LIMITED.format(pages=MAX_PAGES), "utf-8")
    finished = run([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], environment, MAX_SECONDS)
    if finished.code:
        raise BenchmarkError(f"{site.name} with {checkout}: the crawl ended with {finished.code}:\n{finished.output}")
    return written(folder / "crawl")


def compare(checkout: Path, site: RecordedSite, unknown: bool) -> dict[str, Cell]:
    """Crawl a site with both checkouts; return a row."""
    with tempfile.TemporaryDirectory(prefix="aah-") as name, start_site(site) as served:
        both = []
        for number, each in enumerate((checkout, PROJECT)):
            folder = Path(name) / str(number)
            folder.mkdir()
            both.append(crawled(each, site, served.url, folder, unknown))
    before, after = both
    found = list(differences(before, after))
    for how, kind, url in islice(found, SHOWN):
        print(f"{site.name}: {kind} of {url}: {how}", file=sys.stderr)
        if how == "content":
            _show(before[kind, url], after[kind, url])
    content = [kind for how, kind, _ in found if how == "content"]
    return {
        "site": site.name,
        "application": "unknown" if unknown else "known",
        "urls": len({url for _, url in after}),
        "only_before": sum(how == "before" for how, _, _ in found),
        "only_after": sum(how == "after" for how, _, _ in found),
        "records": sum(kind not in ("metadata", "triples") for kind in content),
        "metadata": content.count("metadata"),
        "pages": content.count("triples"),
    }


def _show(before: tuple[bytes, ...], after: tuple[bytes, ...]) -> None:
    one, other = b"\n".join(before), b"\n".join(after)
    at = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    for mark, text in (("-", one), ("+", other)):
        print(f"  {mark} {text[max(0, at - 60) : at + 100].decode('utf-8', 'replace')!r}", file=sys.stderr)


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description="Compare what two checkouts of the project write of the same sites.")
    parser.add_argument("checkout", type=Path, help="the other checkout, mostly that of an earlier commit")
    parser.add_argument("--only", nargs="+", metavar="APP/THEME", help="these sites alone")
    parser.add_argument("--sites", type=Path, metavar="SITES_DIR", help="where unpacked sites are")
    parser.add_argument("--unknown", action="store_true", help="without the file of the site's application")
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the rows go")
    arguments = parser.parse_args()
    sites = find_sites(arguments.sites) if arguments.sites else recorded_sites()
    chosen = [site for site in sites if not arguments.only or site.name in arguments.only]
    rows = [compare(arguments.checkout.resolve(), site, arguments.unknown) for site in chosen]
    report(rows, arguments.json)
    differing = ("only_before", "only_after", "records", "metadata", "pages")
    sys.exit(any(row[name] for row in rows for name in differing))


if __name__ == "__main__":
    main()

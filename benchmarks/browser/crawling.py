"""Crawls a site of the benchmark by one of the methods, and reads what the crawl made of it."""

import json
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from aahcrawler.layout import ARCHIVE, SUMMARY
from aahcrawler.objects.reader import object_rows
from benchmarks.browser.exact_server import ExactServer
from benchmarks.browser.person import Looked
from benchmarks.browser.recorded_bytes import Compared, Key, Record, compared, keys_passed, keys_recorded, records
from benchmarks.browser.site import Site
from benchmarks.browser.tree_usage import Used, used_by
from benchmarks.results import Cell
from benchmarks.sites import KNOWLEDGE_BASE, BenchmarkError
from benchmarks.software.scorer import Described, Matching, TrueObjects
from knowledge_base.file_selection import SHIPPED_WORD

LONGEST: Final = 1500.0
FAST_PAGES: Final = 80
_ICD: Final = """\
id: benchmark
title: Benchmark of {name}
contact: https://example.org/aahcrawler-benchmark
seeds: {seeds}
topic: {{keywords: [linux, installation, network, security]}}
politeness: {{delay: 0}}
network: {network}
limits: {{pages: {pages}}}
browser: {browser}
output: {output}
"""
_ACCEPTED: Final = {"127.0.0.1": {"certificates": "accept"}}


class Method(StrEnum):
    """How pages are fetched."""

    HTTP = "http"
    """By http alone: the browser is never used."""
    AUTO = "auto"
    """As a crawl decides by itself."""
    BROWSER = "browser"
    """Every page in the browser as well."""


_SEEDS_FAILED: Final = 3
"""The exit code of a crawl one of whose seeds has not led to content: a crawl by http of what scripts make."""
_USES: Final = {Method.HTTP: "never", Method.AUTO: "auto", Method.BROWSER: "always"}


def define(site: Site, server: ExactServer, method: Method, folder: Path, at_once: int | None = None) -> Path:
    """Write the definition of a crawl into ``folder/crawl``; return its path.

    With so many pages ``at_once``, as many hosts lead to the site, since looks at one host follow one another, though
    their pages are copies, and ``FAST_PAGES`` are crawled in all.
    """
    network: dict[str, object] = {"allow_private": True}
    seeds = [f"{server.origin}/"]
    if server.origin.startswith("https"):
        network["hosts"] = _ACCEPTED
    browser: dict[str, object] = {"use": _USES[method]}
    if at_once is not None:
        browser["at_once"] = at_once
        address = urlsplit(server.origin).netloc
        network["resolve"] = {f"copy{number}.test": address for number in range(at_once)}
        seeds = [f"http://copy{number}.test/" for number in range(at_once)]
    definition = folder / "icd.yaml"
    text = _ICD.format(
        name=site.name,
        seeds=json.dumps(seeds),
        pages=1500 if at_once is None else FAST_PAGES,
        network=json.dumps(network),
        browser=json.dumps(browser),
        output=json.dumps(str(folder / "crawl")),
    )
    copies = "" if at_once is None else "traps: {duplicates: follow}\n"
    definition.write_text(text + site.definition + copies, "utf-8")
    return definition


def environment(site: Site, folder: Path) -> Mapping[str, str]:
    """Return the environment of a crawl: where the site has a file of the knowledge base, with it."""
    settings = dict(os.environ)
    if site.application:
        own = folder / "knowledge_base"
        (own / "applications").mkdir(parents=True, exist_ok=True)
        (own / "applications" / f"{site.name}.xml").write_text(site.application, "utf-8")
        settings[KNOWLEDGE_BASE] = os.pathsep.join((SHIPPED_WORD, str(own)))
    return settings


def command(definition: Path) -> list[str]:
    """Return the command line of a crawl."""
    return [sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)]


def crawled(
    site: Site, server: ExactServer, method: Method, folder: Path, at_once: int | None = None
) -> "BrowserCrawl":
    """Crawl a site. Raises ``BenchmarkError`` where the crawl fails."""
    definition = define(site, server, method, folder, at_once)
    server.taken()
    used = used_by(command(definition), environment(site, folder), LONGEST)
    if used.code not in (0, _SEEDS_FAILED):
        raise BenchmarkError(f"{site.name} by {method}: the crawl ended with {used.code}:\n{used.output[-3000:]}")
    return BrowserCrawl(site, folder / "crawl", used, server)


class BrowserCrawl:
    """A crawl that ended, beside what its server sent."""

    def __init__(self, site: Site, folder: Path, used: Used, server: ExactServer) -> None:
        self.site, self.folder, self.used = site, folder, used
        self._origin, self._passed = server.origin, server.taken()

    @cached_property
    def summary(self) -> Mapping[str, Any]:
        """What ``crawl.json`` says."""
        found: Mapping[str, Any] = json.loads((self.folder / SUMMARY).read_text("utf-8"))
        return found

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """What the archive holds."""
        return tuple(records(self.folder / ARCHIVE))

    @cached_property
    def compared(self) -> Compared:
        """How the archive differs from what passed."""
        return compared(self.records, self._passed, self._origin)

    def objects(self, seen: Iterable[Looked]) -> Matching:
        """Compare the web objects with those that a person saw."""
        true = TrueObjects(each for looked in seen for each in looked.objects)
        rows = (row for row in object_rows(self.folder) if row.deleted is None)
        return Matching.of(true, (Described(r.iri, r.url, r.body or "", r.title, r.author, r.date) for r in rows))

    def missed(self, asked: set[Key]) -> list[Key]:
        """Return what a person's browser asked for and the archive holds no request of."""
        return sorted(asked - keys_recorded(self.records, self._origin, self.site.same))

    def costs(self) -> dict[str, Cell]:
        """Return how fast it was and what it took; ``rendered`` are pages with a document as a browser left it."""
        pages = int(self.summary["pages"])
        seconds = float(self.summary["seconds"] or self.used.seconds)
        return {
            "pages": pages,
            "rendered": len({each.url for each in self.records if each.url.startswith("urn:dom:")}),
            "pages_per_second": round(pages / seconds, 2),
            "cpu_ms_per_page": round(1000 * self.used.cpu_seconds / pages, 1) if pages else None,
            "peak_mib": round(self.used.peak_mib, 1),
            "seconds": round(seconds, 1),
            "cpu_seconds": round(self.used.cpu_seconds, 1),
        }


@dataclass(frozen=True)
class Seen:
    """What a person saw of a site, and what the browser asked for meanwhile."""

    looked: tuple[Looked, ...]
    asked: set[Key]

    @classmethod
    def of(cls, site: Site, server: ExactServer, looked: Iterable[Looked]) -> "Seen":
        """Keep what was looked at, and take the server's log of it."""
        found = tuple(looked)
        return cls(found, keys_passed(server.taken(), site.same))

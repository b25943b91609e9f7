"""Measures how long recrawls of sites on loopback take, and estimates of that by the log of the crawls before.

The first crawl of a class of sites finds what there is. Each crawl after the second is estimated by the log of all
before it. ``seconds`` is their median duration, ``uneven`` by how much the longest of them exceeded the shortest, which
shows how steady the machine is. ``ours`` simulates the queues of polite crawls at the paces in the log, and adds what
the crawl before took around its visits; ``paper`` is the estimate of the paper on changes of the Web of Data by the
same mean times. Both are given as the error relative to the duration, at the median and at the worst. ``process`` is
the seconds that starting and ending a process takes in addition, ``load`` the load of the machine meanwhile.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Final

from aahcrawler.layout import SUMMARY
from aahcrawler.revisits.change_log import visits
from aahcrawler.revisits.crawl_time import (
    SLOTS,
    KnownCrawl,
    SiteLoad,
    packed_seconds,
)
from aahcrawler.urls import queue_of
from benchmarks.results import Row

_ICD: Final = """\
id: timed
contact: test@example.org
seeds: {seeds}
topic: {{keywords: [harbour, market, school]}}
politeness: {{delay: {delay}, delay_factor: 0}}
traps: {{pages: 0, duplicates: follow, soft_404: ignore}}
network: {{allow_private: true}}
"""


@dataclass(frozen=True, slots=True)
class Pages:
    """A site of so many pages, each of which is sent after a pause in seconds.

    If they are ``unequal``, the largest of each five takes five times as long as the smallest, and is five times as
    large; the mean is the same. With ``validators`` pages have an ETag, and a recrawl gets 304s.
    """

    number: int
    pause: float
    unequal: bool = False
    validators: bool = False

    def share(self, path: str) -> float:
        """Return the pause and size of a page, relative to the mean."""
        number = path.lstrip("/")
        return (1 + (int(number) if number.isdecimal() else 0) % 5) / 3 if self.unequal else 1.0


@dataclass(frozen=True, slots=True)
class Class:
    """Sites that are crawled together, and the delay between two fetches in seconds."""

    sites: Sequence[Pages]
    delay: float


CLASSES: Final[Mapping[str, Class]] = {
    "one site, slow answers": Class([Pages(25, 0.4)], 0.2),
    "one long site among short ones": Class([Pages(40, 0.05), *[Pages(5, 0.05)] * 5], 0.3),
    "sites of a size": Class([Pages(15, 0.2)] * 4, 0.5),
    "many small sites": Class([Pages(4, 0.1)] * 40, 0.5),
    "few large sites": Class([Pages(100, 0.02)] * 2, 0.1),
    "a slow server": Class([Pages(8, 1.5), Pages(8, 1.5)], 0.1),
    "delays that dominate": Class([Pages(7, 0.01)] * 6, 2.0),
    "mixed sites": Class([Pages(30, 0.05), Pages(6, 1.0), *[Pages(8, 0.2)] * 3, *[Pages(2, 0.02)] * 10], 0.3),
    "pages of unequal size": Class([Pages(20, 0.3, unequal=True)] * 3, 0.2),
    "pages that have not changed": Class([Pages(30, 0.1, validators=True)] * 2, 0.2),
}


def timed(folder: Path, name: str, wanted: Class, rounds: int = 5) -> Row:
    """Crawl a class of sites repeatedly, and compare the durations with the estimates."""
    seconds = 0.0
    took, ours, paper, loads_beside, processes = (list[float]() for _ in range(5))
    with ExitStack() as served:
        ports = [served.enter_context(_site(pages)) for pages in wanted.sites]
        seeds = [f"http://127.0.0.1:{port}/" for port in ports]
        (folder / "icd.yaml").write_text(_ICD.format(seeds=json.dumps(seeds), delay=f"{wanted.delay} s"), "utf-8")
        for number in range(2 + rounds):
            seen = list(visits(folder / "crawls" / "timed")) if number > 1 else []
            known = KnownCrawl.of(seen, queue_of, (number, seconds))
            loads = known.sites
            seconds, beside = _crawl(folder)
            if loads:
                took.append(seconds)
                ours.append(known.seconds / seconds - 1)
                processes.append(beside)
                paper.append(packed_seconds(_as_paper(loads, wanted.delay), SLOTS) / seconds - 1)
                loads_beside.append(os.getloadavg()[0])
    return {
        "class": name,
        "urls": sum(load.urls for load in loads.values()),
        "crawls": rounds,
        "seconds": round(median(took), 1),
        "uneven": f"{max(took) / min(took) - 1:.0%}",
        "ours": f"{median(ours):+.0%}",
        "worst": f"{max(ours, key=abs):+.0%}",
        "paper": f"{median(paper):+.0%}",
        "paper_worst": f"{max(paper, key=abs):+.0%}",
        "process": round(median(processes), 1),
        "load": round(median(loads_beside), 1),
    }


def _as_paper(loads: Mapping[str, SiteLoad], delay: float) -> Iterator[SiteLoad]:
    """Yield loads by the paper's model: the delay is that of the definition, and only downloads take time."""
    return (replace(load, pace=load.download + delay) for load in loads.values())


def _crawl(folder: Path) -> tuple[float, float]:
    """Crawl; return the seconds of the crawl, and those of its process in addition."""
    began = time.monotonic()
    command = [sys.executable, "-m", "aahcrawler.cli", "crawl", "icd.yaml"]
    subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL, check=True)
    seconds = float(json.loads((folder / "crawls" / "timed" / SUMMARY).read_bytes())["seconds"])
    return seconds, time.monotonic() - began - seconds


class _Page(BaseHTTPRequestHandler):
    def __init__(self, pages: Pages, *arguments: object) -> None:
        self._pages = pages
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Respond after a pause: the front page links to all others."""
        share, number = self._pages.share(self.path), self._pages.number
        time.sleep(self._pages.pause * share)
        etag = f'"{self.path}"'
        if self._pages.validators and self.headers.get("If-None-Match") == etag:
            self.send_response(304)
            self.send_header("ETag", etag)
            self.end_headers()
            return
        links = "".join(f'<li><a href="/{n}">Page {n}</a></li>' for n in range(1, number)) * (self.path == "/")
        told = "<p>A ship came in.</p>" * round(30 * share)
        body = f"<title>News</title><h1>News of the harbour {self.path}</h1>{told}<ul>{links}</ul>".encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if self._pages.validators:
            self.send_header("ETag", etag)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Log nothing."""


@contextmanager
def _site(pages: Pages) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Page, pages)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()

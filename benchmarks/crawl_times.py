"""How long recrawls take, and how long they were expected to: on sites of loopback, by the log of the crawl before.

Each class of sites is crawled three times: the first crawl learns what there is, and by the log of the first two the
third is estimated. ``before`` is what the second took, which tells how even the machine is. ``ours`` simulates the
queues of polite crawls at the paces in the log, ``paper`` is the estimate of the paper on changes of the Web of Data by
the same mean times, and ``error`` what each is beyond the seconds it took.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Final

from aahcrawler.layout import SUMMARY
from aahcrawler.revisits.change_log import visits
from aahcrawler.revisits.crawl_time import SLOTS, SiteLoad, packed_seconds, simulated_seconds, site_loads
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
class Class:
    """Sites that are crawled together: pages and seconds of an answer of each, and the delay between two fetches."""

    sites: Sequence[tuple[int, float]]
    delay: float


CLASSES: Final[Mapping[str, Class]] = {
    "one site, slow answers": Class([(25, 0.4)], 0.2),
    "one long site among short ones": Class([(40, 0.05), *[(5, 0.05)] * 5], 0.3),
    "sites of a size": Class([(15, 0.2)] * 4, 0.5),
}


def timed(folder: Path, name: str, wanted: Class) -> Row:
    """Crawl a class of sites again and again, and compare what that took with the estimates."""
    with ExitStack() as served:
        ports = [served.enter_context(_site(pages, pause)) for pages, pause in wanted.sites]
        seeds = [f"http://127.0.0.1:{port}/" for port in ports]
        (folder / "icd.yaml").write_text(_ICD.format(seeds=json.dumps(seeds), delay=f"{wanted.delay} s"), "utf-8")
        _crawl(folder)
        before = _crawl(folder)
        loads = site_loads(visits(folder / "crawls" / "timed"), queue_of)
        seconds = _crawl(folder)
    ours, paper = simulated_seconds(loads.values()), packed_seconds(_as_paper(loads, wanted.delay), SLOTS)
    return {
        "class": name,
        "urls": sum(load.urls for load in loads.values()),
        "before": round(before, 1),
        "seconds": round(seconds, 1),
        "ours": round(ours, 1),
        "error": f"{ours / seconds - 1:+.0%}",
        "paper": round(paper, 1),
        "paper_error": f"{paper / seconds - 1:+.0%}",
    }


def _as_paper(loads: Mapping[str, SiteLoad], delay: float) -> Iterator[SiteLoad]:
    """Yield loads as the paper knows them: the delay is the definition's, and nothing else takes time."""
    return (replace(load, pace=load.download + delay) for load in loads.values())


def _crawl(folder: Path) -> float:
    """Crawl, and return the seconds that it took."""
    command = [sys.executable, "-m", "aahcrawler.cli", "crawl", "icd.yaml"]
    subprocess.run(command, cwd=folder, stderr=subprocess.DEVNULL, check=True)
    return float(json.loads((folder / "crawls" / "timed" / SUMMARY).read_bytes())["seconds"])


class _Page(BaseHTTPRequestHandler):
    def __init__(self, pages: int, pause: float, *arguments: object) -> None:
        self._pages, self._pause = pages, pause
        super().__init__(*arguments)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """Answer after a pause: the front page leads to all others."""
        links = "".join(f'<li><a href="/{n}">Page {n}</a></li>' for n in range(1, self._pages)) * (self.path == "/")
        text = f"<title>News</title><h1>News of the harbour {self.path}</h1><p>A ship came in.</p><ul>{links}</ul>"
        body = text.encode()
        time.sleep(self._pause)
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def _site(pages: int, pause: float) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Page, pages, pause)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()

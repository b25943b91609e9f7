"""Measures how fast what is seen of a large crawl is answered, over a loopback socket.

    python -m benchmarks.cockpit [--pages N] [--queued N] [--times N] [--live N] --json FILE

The crawl is that of ``benchmarks.cockpit_crawl``: 100,000 pages that were captured and 500,000 URLs that wait, unless
other numbers are given. ``aah serve`` runs as its users run it, in a process of its own. Each view is asked so many
times over one connection, 40 times a second at most, which is what the service allows; the first two do not count.

- ``VIEWS`` are the views, each with its path. Paths are made for the crawl: ``{record}`` is the record of a page,
  ``{url}`` and ``{iri}`` are that of one that was captured several times and of an object of it, quoted.
- ``p50_ms`` and ``p99_ms`` are of a request, ``bytes`` of an answer's body.
- Views that begin with ``cockpit`` are its pages, asked of ``aah cockpit`` as a browser does that is signed in, and the
  replay of a capture with its objects and links marked.
- Views that begin with ``studio`` are its pages. Of a draft and of a trial on the archive, which are jobs, ``p50_ms``
  is the cockpit's processor time, and ``p99_ms`` the time until it is done; each is made once.
- ``share``, of the row ``live``, is the processor time of the cockpit while its live page is open, by that of the crawl
  that it shows: made-up forums of ``--live`` pages (0 for none), as fast as they can be had.
- Of ``index``, the row of the first build, ``p50_ms`` is the processor time for a page, and ``bytes`` the index's size.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from subprocess import DEVNULL
from urllib.parse import quote

from aahcrawler.layout import DEFINITION, INDEXES
from aahcrawler.layout import PAGES as PAGE_INDEX
from aahcrawler.page_index import PageIndex
from aahcrawler.urls import queue_of
from benchmarks.cockpit_browsing import PAGES, Cockpit, cockpit
from benchmarks.cockpit_crawl import CRAWL, crawl_folder, running
from benchmarks.cockpit_pages import EDITED, Shape, invented
from benchmarks.cockpit_studio import studied, studio_pages
from benchmarks.results import Row, report
from benchmarks.service import cpu_seconds, served
from benchmarks.throughput_load import forums

PACE = 1 / 40
"""Seconds from one request to the next at least."""
API = f"/v1/crawls/{CRAWL}"
VIEWS: Mapping[str, str] = {
    "crawls": "/v1/crawls",
    "pages": f"{API}/pages",
    "pages, 500 at a time": f"{API}/pages?limit=500",
    "pages of an application": f"{API}/pages?application=phpBB&role=terminal",
    "pages of a site": f"{API}/pages?site=varhaven7.example",
    "pages with a text in their URL": f"{API}/pages?text=t%3D4242",
    "pages with a text in no URL": f"{API}/pages?text=nowhere-at-all",
    "pages with errors": f"{API}/pages?status=4",
    "traps": f"{API}/pages?trap=any&relevant=true",
    "one page": f"{API}/pages/{{record}}",
    "captures of a URL": f"{API}/captures?url={{url}}",
    "two captures side by side": f"{API}/captures/difference?before={{before}}&after={{after}}",
    "objects": f"{API}/objects",
    "objects of a type": f"{API}/objects?type=comment",
    "objects by a frequent word": f"{API}/objects?words=water",
    "objects by words": f"{API}/objects?words=%22storm+surge%22+correction",
    "objects by words and type": f"{API}/objects?type=article&words=flood+dyke",
    "objects without author": f"{API}/objects?type=reply&lacking=author",
    "counts of objects": f"{API}/objects/counts",
    "versions of an object": f"{API}/objects/versions?iri={{iri}}",
    "state": API,
    "queue": f"{API}/queue",
    "queue, far from the front": f"{API}/queue?highest=0.2",
    "queue of a site": f"{API}/queue?site=varhaven0.example",
    "queued URLs with a text": f"{API}/queue?text=42.html",
    "queued URLs with a text in none": f"{API}/queue?text=nowhere-at-all",
    "sites": f"{API}/sites",
    "sites by their best URL": f"{API}/sites?order=best&limit=500",
    "one site": f"{API}/sites/varhaven0.example",
    "refused links": f"{API}/refused",
    "refused links with a text in none": f"{API}/refused?text=nowhere-at-all",
    "failures": f"{API}/failures",
    "story of a URL": f"{API}/story?url={{url}}",
    "score of a URL": f"{API}/story/score?url={{url}}",
    "log": f"{API}/log",
    "log, errors": f"{API}/log?level=ERROR",
    "log, words": f"{API}/log?text=viewtopic+503",
    "numbers for Prometheus": "/metrics",
    "course": f"{API}/series",
    "counts of pages": f"{API}/counts",
}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pages", type=int, default=Shape().pages)
    parser.add_argument("--queued", type=int, default=Shape().queued)
    parser.add_argument("--times", type=int, default=200, help="how often each view is asked")
    parser.add_argument("--live", type=int, default=4000, help="how many pages the crawl has that is shown live")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    shape = Shape(given.pages, given.queued)
    rows = measure(crawl_folder(shape), shape, given.times)
    report([*rows, live(given.live)] if given.live else rows, given.json)


def measure(folder: Path, shape: Shape, times: int) -> list[Row]:
    """Return the rows of all views of a crawl that was made."""
    rows = [built(folder, shape)]
    with serving(folder) as connection:
        told = names(connection, shape)
        rows += [asked(connection, name, path.format(**told), times) for name, path in VIEWS.items()]
    with running(folder), cockpit(folder) as browser, closing(connected(browser.port)) as connection:
        ask = browser.fetched
        rows += [asked(connection, name, path.format(**told), times, ask) for name, path in PAGES.items()]
        rows.append(replayed(browser, told["record"], times))
        found, jobs = studied(browser)
        connection.close()  # It rested meanwhile, and is opened anew with the next request.
        rows += [*jobs, *(asked(connection, *each, times, ask) for each in studio_pages(found))]
    return rows


def connected(port: int) -> HTTPConnection:
    """Return a connection to a port of this machine."""
    return HTTPConnection("127.0.0.1", port, timeout=120)


def replayed(browser: Cockpit, record: str, times: int) -> Row:
    """Return the row of a capture as the frame of its page shows it."""

    def ask(asked: HTTPConnection, path: str) -> tuple[int, bytes]:
        asked.request("GET", path, headers=headers)
        answer = asked.getresponse()
        return answer.status, answer.read()

    with closing(connected(browser.port)) as connection:
        _, page = browser.fetched(connection, f"/crawls/{CRAWL}/captures/{record}")
        path, cookie = browser.let_into_replay(page)
        headers = {"Host": f"localhost:{browser.port}", "Cookie": cookie}
        return asked(connection, "cockpit: replay of a capture, marked", path, times, ask)


def live(pages: int) -> Row:
    """Return the row of the live page: its share of the processor time of the crawl that it shows."""
    with forums((pages, pages)) as (load, _), tempfile.TemporaryDirectory() as place:
        definition = load.described(Path(place), {})
        crawl = subprocess.Popen([sys.executable, "-m", "aahcrawler.cli", "crawl", str(definition)], stderr=DEVNULL)
        try:
            while not (Path(place) / "crawl" / DEFINITION).exists():
                time.sleep(0.05)
            with cockpit(Path(place) / "crawl") as browser:
                spent, before = cpu_seconds(crawl.pid), cpu_seconds(browser.pid)
                with browser.followed("throughput"):
                    while crawl.poll() is None:
                        crawled, shown = cpu_seconds(crawl.pid), cpu_seconds(browser.pid)
                        time.sleep(0.2)
        finally:
            crawl.terminate()
            crawl.wait(30)
    share = (shown - before) / (crawled - spent)
    return {"view": "live", "p50_ms": None, "p99_ms": None, "bytes": None, "share": share}


def built(folder: Path, shape: Shape) -> Row:
    """Make the index of pages anew, and return what that took."""
    context = get_context("spawn")
    with context.Pool(1) as pool:
        spent = pool.apply(build, (folder,))
    size = (folder / INDEXES / PAGE_INDEX).stat().st_size
    cost = spent / shape.pages * 1000
    return {"view": "index, a page", "p50_ms": cost, "p99_ms": None, "bytes": size}


def build(folder: Path) -> float:
    """Make the index of pages anew; return the seconds of processor time."""
    index = PageIndex(folder)
    index.remove()
    queue_of("http://a.example/")  # The list of public suffixes is read once.
    began = time.process_time()
    with index:
        index.catch_up()
    return time.process_time() - began


@contextmanager
def serving(folder: Path) -> Iterator[HTTPConnection]:
    """Serve a crawl whose frontier this process keeps; yield a connection."""
    with ExitStack() as stack:
        stack.enter_context(running(folder))
        port, _ = stack.enter_context(served(folder))
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        stack.callback(connection.close)
        yield connection


def names(connection: HTTPConnection, shape: Shape) -> dict[str, str]:
    """Return what paths of views are filled in with for a crawl."""
    page = next(page for at in range(shape.pages - 1, 0, -1) if (page := invented(shape, at)).again == EDITED)
    url = quote(page.url, safe="")
    captures = [each["record"] for each in get(connection, f"{API}/captures?url={url}")["captures"]]
    return {
        "url": url,
        "iri": quote(page.objects[0].iri if page.objects else page.url, safe=""),
        "record": captures[0],
        "before": captures[-1],
        "after": captures[0],
    }


def get(connection: HTTPConnection, path: str) -> dict[str, list[dict[str, str]]]:
    """Return the JSON at a path."""
    status, body = fetched(connection, path)
    assert status == 200, (path, status, body[:300])
    found: dict[str, list[dict[str, str]]] = json.loads(body)
    return found


def fetched(connection: HTTPConnection, path: str) -> tuple[int, bytes]:
    """Return the status and body of an answer."""
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


Ask = Callable[[HTTPConnection, str], tuple[int, bytes]]


def asked(connection: HTTPConnection, name: str, path: str, times: int, ask: Ask = fetched) -> Row:
    """Return the row of a view."""
    spent: list[float] = []
    body = b""
    for _ in range(times + 2):
        began = time.perf_counter()
        status, body = ask(connection, path)
        spent.append(time.perf_counter() - began)
        time.sleep(max(0.0, PACE - spent[-1]))
        assert status == 200, (path, status, body[:300])
    cuts = quantiles(spent[2:], n=100)
    return {"view": name, "p50_ms": cuts[49] * 1000, "p99_ms": cuts[98] * 1000, "bytes": len(body)}


if __name__ == "__main__":
    main()

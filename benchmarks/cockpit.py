"""Measures how fast the views of a large crawl are served over a loopback socket.

    python -m benchmarks.cockpit [--pages N] [--queued N] [--times N] [--live N] --json FILE

The crawl is that of ``benchmarks.cockpit_crawl``: 100,000 captured pages and 500,000 queued URLs, unless other numbers
are given. ``aah serve`` runs as its users run it, in a process of its own. Each view is requested so many times over
one connection, at most 40 times a second, which is what the service allows; the first two requests do not count.

- ``VIEWS`` are the views, each with its path. Paths are made for the crawl: ``{record}`` is the record of a page,
  ``{url}`` and ``{iri}`` are, quoted, that of a page that was captured several times, and of an object of it.
- ``p50_ms`` and ``p99_ms`` are times of a request, ``bytes`` is the size of a response's body.
- Views that begin with ``cockpit`` are pages of ``aah cockpit``, requested as by a browser that is signed in, and the
  replay of a capture with its objects and links marked.
- Views that begin with ``studio`` are its pages. Of a draft and of a trial on the archive, which are jobs, ``p50_ms``
  is the cockpit's processor time, and ``p99_ms`` the time until it is done; each is made once.
- ``share``, of the row ``live``, is the processor time of the cockpit while its live page is open, divided by that of
  the crawl that it shows: made-up forums of ``--live`` pages (0 for none), crawled as fast as possible.
- Of ``index``, the row of the first build, ``p50_ms`` is the processor time for a page, and ``bytes`` the index's size.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from html import unescape
from http.client import HTTPConnection
from multiprocessing import get_context
from pathlib import Path
from statistics import quantiles
from subprocess import DEVNULL
from urllib.parse import quote, urlencode

from aahcrawler.layout import DEFINITION, INDEXES
from aahcrawler.layout import PAGES as PAGE_INDEX
from aahcrawler.page_index import PageIndex
from aahcrawler.urls import queue_of
from benchmarks.cockpit_crawl import CRAWL, crawl_folder, running
from benchmarks.cockpit_pages import EDITED, Shape, invented
from benchmarks.results import Row, report
from benchmarks.service import cpu_seconds, served
from benchmarks.throughput_load import forums
from knowledge_base.file_selection import OWN_NAME, SHIPPED_WORD, VARIABLE

_TOKEN = "the token of a benchmark"  # noqa: S105 (nobody else can reach it)
_BASE = f"/crawls/{CRAWL}"
COCKPIT_PAGES: Mapping[str, str] = {
    "cockpit: crawls": "/",
    "cockpit: live": _BASE,
    "cockpit: queue": f"{_BASE}/queue",
    "cockpit: queue, searched": f"{_BASE}/queue?text=42.html",
    "cockpit: sites": f"{_BASE}/sites",
    "cockpit: one site": f"{_BASE}/sites/varhaven0.example",
    "cockpit: pages": f"{_BASE}/pages",
    "cockpit: pages, searched": f"{_BASE}/pages?text=t%3D4242",
    "cockpit: one capture": f"{_BASE}/captures/{{record}}",
    "cockpit: two captures side by side": f"{_BASE}/compare?before={{before}}&after={{after}}",
    "cockpit: web objects": f"{_BASE}/objects",
    "cockpit: web objects, searched": f"{_BASE}/objects?words=flood+dyke&type=article",
    "cockpit: versions of an object": f"{_BASE}/objects/versions?iri={{iri}}",
    "cockpit: a URL": f"{_BASE}/url?url={{url}}",
    "cockpit: seeds": f"{_BASE}/seeds",
    "cockpit: failures": f"{_BASE}/failures",
    "cockpit: links not followed": f"{_BASE}/failures?kind=refused",
    "cockpit: exclusions": f"{_BASE}/exclusions",
    "cockpit: definition": f"{_BASE}/definition",
    "cockpit: log": f"{_BASE}/log",
    "cockpit: new crawl": "/new",
}
"""The pages of the cockpit, each with its path, whose fields are filled in as in ``benchmarks.cockpit``."""


@dataclass(frozen=True, slots=True)
class Cockpit:
    """A running cockpit, and the cookie of a browser that is signed in."""

    port: int
    pid: int
    cookie: str

    def fetched(self, connection: HTTPConnection, path: str) -> tuple[int, bytes]:
        """Return the status and body of a page."""
        connection.request("GET", path, headers={"Cookie": self.cookie})
        response = connection.getresponse()
        return response.status, response.read()

    def let_into_replay(self, page: bytes) -> tuple[str, str]:
        """Return the path and the cookie with which the frame of a capture's page shows the capture."""
        ticket = re.search(rb'name="ticket" value="([^"]+)"', page)
        assert ticket is not None, page[:300]
        status, headers = self._posted("localhost", "/enter", {"ticket": unescape(ticket[1].decode())})
        assert status == 303, status
        return headers["location"], headers["set-cookie"].partition(";")[0]

    def sent(self, path: str, fields: Mapping[str, str]) -> str:
        """Send a form; return the path that it redirects to."""
        status, headers = _posted(self.port, "127.0.0.1", path, fields, self.cookie)
        assert status == 303, (path, status)
        return headers["location"]

    def _posted(self, host: str, path: str, fields: Mapping[str, str]) -> tuple[int, Mapping[str, str]]:
        return _posted(self.port, host, path, fields)

    @contextmanager
    def followed(self, crawl: str) -> Iterator[None]:
        """Keep the live page of a crawl open, as a browser does that shows it."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        self.fetched(connection, f"/crawls/{crawl}")
        connection.request("GET", f"/crawls/{crawl}/live", headers={"Cookie": self.cookie})
        stream = connection.getresponse()
        assert stream.status == 200, stream.status
        ended = threading.Event()

        def read() -> None:
            while not ended.is_set() and stream.readline():
                pass

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        yield
        ended.set()
        reader.join()
        connection.close()


@contextmanager
def cockpit(*folders: Path) -> Iterator[Cockpit]:
    """Run ``aah cockpit`` over folders of crawls, and sign in."""
    command = [sys.executable, "-m", "aahcrawler.cli", "cockpit", *map(str, folders), "--port", "0"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AAH_")}
    environment["AAH_SERVICE_TOKEN"] = _TOKEN
    with tempfile.TemporaryDirectory() as place:
        own = Path(place) / OWN_NAME
        (own / "applications").mkdir(parents=True)
        environment[VARIABLE] = os.pathsep.join((SHIPPED_WORD, str(own)))
        log = Path(place) / "cockpit.log"
        with log.open("w+") as file:
            process = subprocess.Popen(command, stdout=file, stderr=file, env=environment)
        try:
            while (found := re.search(r"http://127\.0\.0\.1:(\d+)", log.read_text())) is None:
                assert process.poll() is None, log.read_text()
                time.sleep(0.05)
            port = int(found[1])
            _wait(port)
            status, headers = _posted(port, "127.0.0.1", "/sign-in", {"code": _TOKEN})
            assert status == 303, status
            yield Cockpit(port, process.pid, headers["set-cookie"].partition(";")[0])
        finally:
            process.terminate()
            process.wait(30)


def _posted(
    port: int, host: str, path: str, fields: Mapping[str, str], cookie: str = ""
) -> tuple[int, Mapping[str, str]]:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {
        "Host": f"{host}:{port}",
        "Origin": f"http://127.0.0.1:{port}",
        "Content-Type": "application/x-www-form-urlencoded",
        "Cookie": cookie,
    }
    connection.request("POST", path, urlencode(fields), headers)
    response = connection.getresponse()
    response.read()
    told = {name.lower(): value for name, value in response.getheaders()}
    connection.close()
    return response.status, told


def _wait(port: int) -> None:
    """Wait until the cockpit responds, since it prints its address before."""
    for _ in range(600):
        try:
            with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("GET", "/sign-in")
                connection.getresponse().read()
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the cockpit does not respond")


STUDIO = f"/crawls/{CRAWL}/studio"
HOST = "thread0.varhaven0.example"
_WORK = f"{STUDIO}/works/{{work}}"
STUDIO_PAGES: Mapping[str, str] = {
    "studio: home": STUDIO,
    "studio: begin an entry": f"{STUDIO}/begin?host={HOST}",
    "studio: a work": _WORK,
    "studio: parts counted": f"{_WORK}/parts?host={HOST}",
    "studio: pages": f"{_WORK}/pages?host={HOST}",
    "studio: one page": f"{_WORK}/pages/{{page}}",
    "studio: an element chosen": f"{_WORK}/pages/{{page}}/chosen?element={{element}}",
    "studio: rules suggested": f"{_WORK}/pages/{{page}}/chosen?{{choice}}",
    "studio: values on twenty pages": f"{_WORK}/pages/{{page}}/chosen?{{rule}}",
    "studio: the text": f"{_WORK}/xml",
    "studio: learned repairs": f"{STUDIO}/repairs",
}
"""The pages of the studio, each with its path, whose fields are filled in with what ``studied`` finds."""
_PATIENCE = 120.0
_WORDS = 4
"""The number of words by which a body is found on its page."""


def studio_pages(told: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the pages of the studio with their paths."""
    return ((name, path.format(**told)) for name, path in STUDIO_PAGES.items())


def studied(browser: Cockpit) -> tuple[dict[str, str], list[Row]]:
    """Draft an entry, and try it on the archive; return the values for paths, and the rows of both."""

    def page(path: str) -> str:
        # A connection for each: one that rests while a job goes on is closed.
        with closing(HTTPConnection("127.0.0.1", browser.port, timeout=120)) as connection:
            status, body = browser.fetched(connection, path)
        assert status == 200, (path, status, body[:300])
        return body.decode()

    begin = page(f"{STUDIO}/begin?host={HOST}")
    secret = _only(r'name="secret" value="([^"]+)"', begin)
    groups = dict(re.findall(r'name="(group-\d+)" value="(\w+)" checked', begin))
    asked = {"host": HOST, "name": "Varhaven", "kind": "web-forum", "site": "yes", "secret": secret, **groups}
    to, drafted = _done(browser, f"{STUDIO}/begin", asked)
    work = _only(r"/works/([a-z0-9-]+)", to)
    told = {"work": work, **_chosen(page, f"{STUDIO}/works/{work}")}
    _, tried = _done(browser, f"{STUDIO}/works/{work}/try", {"host": HOST, "secret": secret})
    return told, [{"view": "studio: a draft", **drafted}, {"view": "studio: tried on the archive", **tried}]


def _chosen(page: Callable[[str], str], work: str) -> dict[str, str]:
    """Return a page of a work, an element of it that contains a body, its purpose, and a rule for it."""
    first = _only(rf'href="{work}/pages/([0-9a-f-]+)', page(f"{work}/pages?host={HOST}"))
    shown = f"{work}/pages/{first}"
    words = _only(r"<dt>body</dt><dd><bdi>([^<]+)<", page(shown)).split()[:_WORDS]
    element = _only(r"\?element=(\d+)#chosen", page(f"{shown}?text={quote(' '.join(words))}"))
    choice = _query(page(f"{shown}/chosen?element={element}"), "as=field.*field=body")
    rule = _query(page(f"{shown}/chosen?{choice}"), "as=field.*expression=")
    return {"page": first, "element": element, "choice": choice, "rule": rule}


def _query(text: str, holding: str) -> str:
    """Return the query of the first link that contains some words."""
    links: Iterator[str] = (unescape(each) for each in re.findall(r'href="([^"]+)"', text))
    return next(link.partition("?")[2].partition("#")[0] for link in links if re.search(holding, link))


def _only(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    assert found is not None, (pattern, text[:300])
    return unescape(found[1])


def _done(browser: Cockpit, path: str, fields: Mapping[str, str]) -> tuple[str, Row]:
    """Begin a job, and wait for its end; return the path that it leads to, and its cost."""
    began, spent = time.perf_counter(), cpu_seconds(browser.pid)
    to = browser.sent(path, fields)
    with closing(HTTPConnection("127.0.0.1", browser.port, timeout=120)) as connection:
        while "/jobs/" in to:
            connection.request("GET", to, headers={"Cookie": browser.cookie})
            response = connection.getresponse()
            text = response.read().decode()
            to = response.getheader("Location") or to
            if response.status == 200 and "data-again" not in text:
                break
            assert time.perf_counter() - began < _PATIENCE, text[-500:]
            time.sleep(0.1)
    wall, cost = time.perf_counter() - began, cpu_seconds(browser.pid) - spent
    return to, {"p50_ms": cost * 1000, "p99_ms": wall * 1000, "bytes": None}


PACE = 1 / 40
"""The fewest seconds from one request to the next."""
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
    """Return the rows of all views of a generated crawl."""
    rows = [built(folder, shape)]
    with serving(folder) as connection:
        told = names(connection, shape)
        rows += [asked(connection, name, path.format(**told), times) for name, path in VIEWS.items()]
    with running(folder), cockpit(folder) as browser, closing(connected(browser.port)) as connection:
        ask = browser.fetched
        rows += [asked(connection, name, path.format(**told), times, ask) for name, path in COCKPIT_PAGES.items()]
        rows.append(replayed(browser, told["record"], times))
        found, jobs = studied(browser)
        connection.close()  # It rested meanwhile, and is opened anew with the next request.
        rows += [*jobs, *(asked(connection, *each, times, ask) for each in studio_pages(found))]
    return rows


def connected(port: int) -> HTTPConnection:
    """Return a connection to a port of this machine."""
    return HTTPConnection("127.0.0.1", port, timeout=120)


def replayed(browser: Cockpit, record: str, times: int) -> Row:
    """Return the row of a replayed capture, as the frame of its page shows it."""

    def ask(asked: HTTPConnection, path: str) -> tuple[int, bytes]:
        asked.request("GET", path, headers=headers)
        response = asked.getresponse()
        return response.status, response.read()

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
    """Build the index of pages anew; return the cost."""
    context = get_context("spawn")
    with context.Pool(1) as pool:
        spent = pool.apply(build, (folder,))
    size = (folder / INDEXES / PAGE_INDEX).stat().st_size
    cost = spent / shape.pages * 1000
    return {"view": "index, a page", "p50_ms": cost, "p99_ms": None, "bytes": size}


def build(folder: Path) -> float:
    """Build the index of pages anew; return the seconds of processor time."""
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
    """Return the values for paths of views of a crawl."""
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
    """Return the status and body of a response."""
    connection.request("GET", path)
    response = connection.getresponse()
    return response.status, response.read()


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

"""The cockpit as a browser asks it, for its benchmark: signed in, page by page, and kept up live."""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from html import unescape
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

from benchmarks.cockpit_crawl import CRAWL
from knowledge_base.file_selection import OWN_NAME, SHIPPED_WORD, VARIABLE

_TOKEN = "the token of a benchmark"  # noqa: S105 (nobody else can reach it)
_BASE = f"/crawls/{CRAWL}"
PAGES: Mapping[str, str] = {
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
"""The pages of the cockpit, each with its path, to be filled in as those of ``benchmarks.cockpit``."""


@dataclass(frozen=True, slots=True)
class Cockpit:
    """A cockpit that runs, and the cookie of a browser that is signed in."""

    port: int
    pid: int
    cookie: str

    def fetched(self, connection: HTTPConnection, path: str) -> tuple[int, bytes]:
        """Return the status and body of a page."""
        connection.request("GET", path, headers={"Cookie": self.cookie})
        answer = connection.getresponse()
        return answer.status, answer.read()

    def let_into_replay(self, page: bytes) -> tuple[str, str]:
        """Return the path and the cookie by which the frame of a capture's page shows it."""
        ticket = re.search(rb'name="ticket" value="([^"]+)"', page)
        assert ticket is not None, page[:300]
        status, headers = self._posted("localhost", "/enter", {"ticket": unescape(ticket[1].decode())})
        assert status == 303, status
        return headers["location"], headers["set-cookie"].partition(";")[0]

    def sent(self, path: str, fields: Mapping[str, str]) -> str:
        """Send a form, and return where that leads to."""
        status, headers = _posted(self.port, "127.0.0.1", path, fields, self.cookie)
        assert status == 303, (path, status)
        return headers["location"]

    def _posted(self, host: str, path: str, fields: Mapping[str, str]) -> tuple[int, Mapping[str, str]]:
        return _posted(self.port, host, path, fields)

    @contextmanager
    def followed(self, crawl: str) -> Iterator[None]:
        """Keep the live page of a crawl up, as a browser that shows it does."""
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
    answer = connection.getresponse()
    answer.read()
    told = {name.lower(): value for name, value in answer.getheaders()}
    connection.close()
    return answer.status, told


def _wait(port: int) -> None:
    """Wait until it answers: the address is told before."""
    for _ in range(600):
        try:
            with closing(HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
                connection.request("GET", "/sign-in")
                connection.getresponse().read()
                return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("the cockpit does not answer")

"""Recorded sites: finds, unpacks and reads them, serves one on loopback, and scores objects extracted from it.

The sites, their server ``serve.py`` and their scorer ``score.py`` are beside the project in ``../shared/sites``; the
scripts are run as processes, never imported.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from aahcrawler.page import Headers, Page

PROJECT = Path(__file__).resolve().parent.parent
SHARED = PROJECT.parent / "shared" / "sites"
UNPACKED = PROJECT / ".cache" / "sites"
REQUIRED = "AAH_REQUIRE_RECORDED_SITES"
"""The environment variable that makes missing recorded sites a failure when it is ``1``."""

_PORTS_TRIED = 5


class NoRecordedSitesError(Exception):
    """There are no recorded sites; the message names the folders searched."""


class SiteServerError(Exception):
    """The server of a recorded site did not start, or its scorer failed; the message is their own."""


@dataclass(frozen=True, slots=True)
class RecordedSite:
    """An unpacked site: ``folder`` holds index.jsonl, pages/, truth.jsonl, pages.jsonl and site.json."""

    app: str
    theme: str
    folder: Path

    @property
    def name(self) -> str:
        """``app/theme``."""
        return f"{self.app}/{self.theme}"


@dataclass(frozen=True, slots=True)
class Served:
    """A recorded site that is served; ``url`` is its front page, ``control`` the base URL of its control port."""

    url: str
    port: int
    control: str
    pid: int


def required() -> bool:
    """Return whether missing recorded sites are a failure."""
    return os.environ.get(REQUIRED) == "1"


def find_sites(folder: Path) -> tuple[RecordedSite, ...]:
    """Return the sites unpacked as ``folder/app/theme``, sorted by name; empty if there are none."""
    found = (index.parent for index in folder.glob("*/*/index.jsonl"))
    return tuple(RecordedSite(site.parent.name, site.name, site) for site in sorted(found))


def recorded_sites() -> tuple[RecordedSite, ...]:
    """Return all recorded sites, unpacked into ``.cache/sites`` on first use.

    Safe for several processes at once: one unpacks while the others wait, and a site appears completely or not at all.
    Raises ``NoRecordedSitesError`` if there is neither an archive nor an unpacked site.
    """
    archives = sorted(SHARED.glob("*/*.tar.xz"))
    absent = [archive for archive in archives if not (_target(archive) / "index.jsonl").exists()]
    if absent:
        UNPACKED.mkdir(parents=True, exist_ok=True)
        with FileLock(UNPACKED / ".lock"):
            for archive in absent:
                _unpack(archive)
    sites = find_sites(UNPACKED)
    if not sites:
        raise NoRecordedSitesError(f"no recorded sites: neither archives in {SHARED} nor unpacked ones in {UNPACKED}")
    return sites


def recorded_site(name: str) -> RecordedSite:
    """Return the site ``app/theme``. Raises ``NoRecordedSitesError`` if it is not among the recorded ones."""
    sites = recorded_sites()
    for site in sites:
        if site.name == name:
            return site
    raise NoRecordedSitesError(f"no recorded site {name}: there are {', '.join(site.name for site in sites)}")


@contextmanager
def start_site(
    site: RecordedSite, log: Path | None = None, latency: float = 0.0, error_rate: float = 0.0, themes: bool = False
) -> Iterator[Served]:
    """Serve a site on a free port of loopback until the block ends.

    ``log`` receives a line of JSON for each request; ``latency`` is in seconds. With ``themes``, all unpacked themes of
    the application can be served, and the control port switches between them.
    """
    for _ in range(_PORTS_TRIED):
        port, control = free_port(), free_port()
        where = [str(site.folder.parent), "--theme", site.theme] if themes else [str(site.folder)]
        command = [sys.executable, str(_script("serve.py", site)), *where, "--port", str(port)]
        command += ["--control-port", str(control), "--latency", str(latency), "--error-rate", str(error_rate)]
        command += ["--log", str(log)] if log else []
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
            try:
                if process.stdout and process.stdout.readline().startswith("serving"):
                    yield Served(f"http://127.0.0.1:{port}/", port, f"http://127.0.0.1:{control}/", process.pid)
                    return
            finally:
                _stop(process)
            errors.seek(0)
            output = errors.read()
        if "Address already in use" not in output:
            raise SiteServerError(f"the server of {site.name} did not start:\n{output}")
    raise SiteServerError(f"the server of {site.name} found its port taken {_PORTS_TRIED} times")


def score(
    site: RecordedSite,
    objects: Path,
    requests: Path | None = None,
    pages: Path | None = None,
    scorer: Path | None = None,
) -> Mapping[str, float | int | None]:
    """Return the scorer's result for extracted objects, in the form of its ``--json``.

    ``objects``, ``requests`` and ``pages`` are files of JSON lines, as the scorer's documentation describes them.
    """
    command = [sys.executable, str(scorer or _script("score.py", site)), str(site.folder), str(objects), "--json"]
    command += ["--requests", str(requests)] if requests else []
    command += ["--pages", str(pages)] if pages else []
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode:
        raise SiteServerError(f"the scorer failed on {site.name}:\n{finished.stderr}")
    scored: Mapping[str, float | int | None] = json.loads(finished.stdout)
    return scored


def _script(name: str, site: RecordedSite) -> Path:
    places = (site.folder.parent.parent, site.folder.parent.parent.parent, SHARED)
    for place in places:
        if (place / name).is_file():
            return place / name
    raise NoRecordedSitesError(f"no {name} in any of {', '.join(map(str, places))}")


def _target(archive: Path) -> Path:
    return UNPACKED / archive.parent.name / archive.name.removesuffix(".tar.xz")


def _unpack(archive: Path) -> None:
    target = _target(archive)
    if (target / "index.jsonl").exists():
        return
    with tempfile.TemporaryDirectory(dir=UNPACKED, prefix=".unpacking-") as name:
        with tarfile.open(archive) as tar:
            if hasattr(tarfile, "data_filter"):
                tar.extractall(name, filter="data")
            else:
                tar.extractall(name)  # noqa: S202 - Python before 3.11.4 has no filters; the archives are our own
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        (Path(name) / archive.parent.name / target.name).rename(target)


def free_port() -> int:
    """Return a free port of loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout:
        process.stdout.close()


FETCHED_AT = datetime(2026, 11, 21, 12, tzinfo=UTC)
"""The time at which all recorded pages are taken to be fetched: the day of the recordings."""


def recorded_files(site: RecordedSite) -> Iterator[tuple[str, Page]]:
    """Yield every response with a body, and the name of the file that holds it, in the order of the recording."""
    with (site.folder / "index.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if not row.get("file"):
                continue
            headers = Headers(tuple((str(name), str(value)) for name, value in row["headers"]))
            if not headers.get("Content-Type") and row["content_type"]:
                headers = Headers((*headers.fields, ("Content-Type", str(row["content_type"]))))
            body = (site.folder / row["file"]).read_bytes()
            yield str(row["file"]), Page(row["url"], row["status"], headers, body, FETCHED_AT)


def site_pages(site: RecordedSite) -> Iterator[Page]:
    """Yield the responses with status 200 in HTML or JSON, in the order of the recording."""
    for _, page in recorded_files(site):
        if page.status == 200 and (page.is_html or page.is_json):
            yield page


def fresh(page: Page) -> Page:
    """Return an unparsed copy of the page, so that only its next reader keeps the tree."""
    return Page(page.url, page.status, page.headers, page.body, page.fetched_at)

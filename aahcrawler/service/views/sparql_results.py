"""SPARQL queries over the store of a crawl, in bounded time, and loading a crawl into its store."""

import json
import os
import re
import select
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Final

from aahcrawler.service.catalog.crawl_catalog import Crawl, argument_of
from aahcrawler.service.views.page_indexes import NO_FOLDER
from aahcrawler.service.web.problems import Kind, ProblemError, Shown
from offline.store.local import FOLDER

BAD_SPARQL: Final = Kind("invalid-sparql", HTTPStatus.BAD_REQUEST, "No query that can be answered")
NOT_LOADED: Final = Kind("not-loaded", HTTPStatus.CONFLICT, "The crawl is not loaded into its store")
STORE_BUSY: Final = Kind("store-busy", HTTPStatus.SERVICE_UNAVAILABLE, "The store cannot be asked now")
TOO_MUCH: Final = Kind("answer-too-large", HTTPStatus.UNPROCESSABLE_ENTITY, "The answer is too large")
TOO_LONG: Final = Kind("query-too-slow", HTTPStatus.UNPROCESSABLE_ENTITY, "The query takes too long")
MEDIA_TYPE: Final = "application/sparql-results+json"
SECONDS: Final = 20.0
ROWS: Final = 10_000
BYTES: Final = 16 << 20
WAITING: Final = 4
"""Those who ask at once: each keeps a thread of the service."""
MAX_SPARQL_LENGTH: Final = 20_000
"""Characters of a query."""
_KINDS: Final = {"query": BAD_SPARQL, "store": STORE_BUSY, "memory": TOO_MUCH, "large": TOO_MUCH}
_ELSEWHERE: Final = re.compile(r"\bSERVICE\b", re.IGNORECASE)
_AGAIN: Final = {"Retry-After": "5"}
_SAID: Final = 2_000


class StoreView(Shown):
    """The store of a crawl: whether there is one, whether it is being loaded, and what the last loading said."""

    loaded: bool
    loading: bool
    said: str = ""


@dataclass(slots=True)
class _Loading:
    """A process that loads, and the file that it writes to."""

    process: subprocess.Popen[bytes]
    output: BinaryIO

    def said(self) -> str:
        """Return the end of what it wrote."""
        size = os.fstat(self.output.fileno()).st_size
        return os.pread(self.output.fileno(), _SAID, max(0, size - _SAID)).decode("utf-8", "replace").strip()


@dataclass(slots=True)
class SparqlProcess:
    """Queries the stores of crawls one at a time, in a process that is killed if a query takes too long. Thread-safe.

    ``seconds``, ``rows`` and ``size`` (in bytes) limit a result.
    """

    seconds: float = SECONDS
    rows: int = ROWS
    size: int = BYTES
    _process: subprocess.Popen[bytes] | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _asking: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(WAITING))
    _loadings: dict[Path, _Loading] = field(default_factory=dict)
    _loading: threading.Lock = field(default_factory=threading.Lock)

    def ask(self, crawl: Crawl, query: str) -> bytes:
        """Return the results of SELECT or ASK in JSON. Raise ``ProblemError``."""
        store = _folder(crawl) / FOLDER
        if _ELSEWHERE.search(query):
            raise ProblemError(
                BAD_SPARQL, "a query asks this crawl alone: leave out SERVICE, and the word in texts (write [s]ervice)"
            )
        if not store.is_dir():
            raise ProblemError(
                NOT_LOADED, f"post to /v1/crawls/{crawl.id}/sparql/load, or run `aah load {crawl.argument}`"
            )
        if not self._asking.acquire(blocking=False):
            raise ProblemError(STORE_BUSY, "others are asking; ask again in a moment", headers=_AGAIN)
        try:
            with self._turn:
                fault, body = self._response_to(store, query)
        finally:
            self._asking.release()
        if fault:
            raise ProblemError(_KINDS[fault], body.decode("utf-8", "replace"))
        return body

    def load(self, crawl: Crawl) -> StoreView:
        """Begin to load what is new of a crawl into its store, unless that is under way."""
        folder = _folder(crawl)
        with self._loading:
            if not self._is_loading(folder):
                self._forget(folder)
                output = TemporaryFile()  # noqa: SIM115 (it is read while the process runs)
                command = [sys.executable, "-m", "aahcrawler.cli", "load", str(folder)]
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
                self._loadings[folder] = _Loading(process, output)
        return self.store(crawl)

    def store(self, crawl: Crawl) -> StoreView:
        """Return the state of a crawl's store."""
        folder = _folder(crawl)
        loading = self._loadings.get(folder)
        return StoreView(
            loaded=(folder / FOLDER).is_dir(),
            loading=self._is_loading(folder),
            said="" if loading is None else loading.said(),
        )

    def close(self) -> None:
        """Kill the processes; what was loaded so far is kept."""
        with self._turn:
            self._end()
        with self._loading:
            for folder in list(self._loadings):
                self._forget(folder)

    def _is_loading(self, folder: Path) -> bool:
        loading = self._loadings.get(folder)
        return loading is not None and loading.process.poll() is None

    def _forget(self, folder: Path) -> None:
        loading = self._loadings.pop(folder, None)
        if loading is not None:
            loading.process.terminate()
            loading.process.wait()
            loading.output.close()

    def _response_to(self, store: Path, query: str) -> tuple[str, bytes]:
        """Return the response of the process: a word for the error, empty for none, and the body."""
        if self._process is None or self._process.poll() is not None:
            self._end()
            command = [sys.executable, "-m", "aahcrawler.service.views.sparql_process"]
            environment = {**os.environ, "RUST_BACKTRACE": "0"}  # Where memory ends, a line of the log says so.
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
        request = {"store": str(store), "query": query, "rows": self.rows, "bytes": self.size}
        try:
            return _exchanged(self._process, json.dumps(request).encode() + b"\n", time.monotonic() + self.seconds)
        except TimeoutError:
            self._end()
            raise ProblemError(
                TOO_LONG,
                f"it was ended after {self.seconds:g} s; ask for less, or run `aah query {argument_of(store.parent)}`",
            ) from None
        except (OSError, ValueError) as error:
            self._end()
            raise ProblemError(TOO_MUCH, "its process ended, for want of memory as a rule; ask for less") from error

    def _end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def _folder(crawl: Crawl) -> Path:
    if crawl.folder is None:
        raise ProblemError(NO_FOLDER, "this machine has none of the crawl's folder; ask the service of one that has")
    return crawl.folder


def _exchanged(process: subprocess.Popen[bytes], request: bytes, end: float) -> tuple[str, bytes]:
    """Send a request and return the response.

    Raise ``TimeoutError``, ``OSError``, and ``ValueError`` if it breaks off.
    """
    if process.stdin is None or process.stdout is None:
        raise ValueError("the process has no pipes")
    process.stdin.write(request)
    process.stdin.flush()
    output = process.stdout.fileno()
    text = b""
    while b"\n" not in text:
        text += _piece(output, end)
    line, _, body = text.partition(b"\n")
    told = json.loads(line)
    pieces, missing = [body], int(told["size"]) - len(body)
    while missing > 0:
        pieces.append(_piece(output, end))
        missing -= len(pieces[-1])
    return str(told["fault"]), b"".join(pieces)


def _piece(output: int, end: float) -> bytes:
    ready, _, _ = select.select([output], [], [], max(0.0, end - time.monotonic()))
    if not ready:
        raise TimeoutError
    piece = os.read(output, 1 << 16)
    if not piece:
        raise ValueError("the process ended")
    return piece

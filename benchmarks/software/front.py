"""What stands before an application: it passes requests on, logs them, and shows its pages in another template."""

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from benchmarks.software.template import Template

_HOPS: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length", "date", "server"}
)
_CONDITIONS: Final = frozenset({"if-none-match", "if-modified-since"})
_VALIDATORS: Final = frozenset({"etag", "last-modified"})
_LONGEST: Final = 60.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, and what was answered: ``location`` is where a redirect leads, else empty."""

    method: str
    path: str
    status: int
    location: str = ""


def asked_of(log: Path) -> list[Asked]:
    """Read a front's log of requests."""
    return [Asked(**json.loads(line)) for line in log.read_text("utf-8").splitlines()]


class Front:
    """A server on loopback before an application that listens on another port.

    With a ``template`` answers have no validators: a page is another one as soon as its template is.
    """

    def __init__(self, backend: int, log: Path) -> None:
        """Bind a free port; ``log`` receives a line of JSON for each request (`Asked`)."""
        self.template: Template | None = None
        self.log, self._backend, self._writing = log, backend, threading.Lock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/"

    @contextmanager
    def running(self) -> Iterator["Front"]:
        """Serve until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        front = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                front._answer(self)

            do_HEAD = do_POST = do_GET  # noqa: N815 - what the standard library calls

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _answer(self, asked: BaseHTTPRequestHandler) -> None:
        template = self.template
        path = template.former(asked.path) if template else asked.path
        dropped = _HOPS | {"accept-encoding"} | (_CONDITIONS if template else frozenset())
        headers = {name: value for name, value in asked.headers.items() if name.lower() not in dropped}
        connection = http.client.HTTPConnection("127.0.0.1", self._backend, timeout=_LONGEST)
        try:
            connection.request(asked.command, path, _sent(asked), headers)
            answer = connection.getresponse()
            body = answer.read()
        except OSError:
            self._note(Asked(asked.command, asked.path, 502))
            asked.send_error(502)
            return
        finally:
            connection.close()
        content_type = answer.headers.get("Content-Type", "")
        self._note(Asked(asked.command, asked.path, answer.status, answer.headers.get("Location", "")))
        if template and answer.status == 200 and content_type.startswith("text/html") and body:
            body = template.page(self.url.rstrip("/") + asked.path, content_type, body)
        asked.send_response(answer.status)
        for name, value in answer.getheaders():
            kept = template.location(value) if template and name.lower() == "location" else value
            if name.lower() not in _HOPS | (_VALIDATORS if template else frozenset()):
                asked.send_header(name, kept)
        asked.send_header("Content-Length", str(len(body)))
        asked.end_headers()
        if asked.command != "HEAD":
            asked.wfile.write(body)

    def _note(self, asked: Asked) -> None:
        with self._writing, self.log.open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(asked)) + "\n")


def _sent(asked: BaseHTTPRequestHandler) -> bytes | None:
    size = int(asked.headers.get("Content-Length") or 0)
    return asked.rfile.read(size) if size else None

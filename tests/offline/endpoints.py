"""A store that speaks the SPARQL 1.1 protocol on loopback, and can be told to misbehave."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pyoxigraph as ox

DROP = 0
"""In place of a status: the connection is closed without an answer."""
DROP_AFTERWARDS = -1
"""The request is carried out, and the connection closed without an answer."""


@dataclass(slots=True)
class Stub:
    """What is behind the endpoint. ``troubles`` are what the next updates get instead of success."""

    rdf: ox.Store = field(default_factory=ox.Store)
    url: str = ""
    troubles: list[int] = field(default_factory=list)
    retry_after: str = ""
    updates: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)


@contextmanager
def endpoint() -> Iterator[Stub]:
    stub = Stub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            stub.authorizations.append(self.headers["Authorization"])
            kind = self.headers["Content-Type"]
            if self.path == "/query" and kind == "application/x-www-form-urlencoded":
                found = stub.rdf.query(parse_qs(body)["query"][0])
                assert isinstance(found, ox.QuerySolutions)
                self._answer(200, found.serialize(format=ox.QueryResultsFormat.JSON) or b"")
            elif self.path == "/update" and kind == "application/sparql-update":
                self._update(body)
            else:
                self._answer(404 if self.path not in {"/query", "/update"} else 415, b"No such\nservice.")

        def _update(self, update: str) -> None:
            trouble = stub.troubles.pop(0) if stub.troubles else 204
            if trouble in {204, DROP_AFTERWARDS}:
                stub.updates.append(update)
                stub.rdf.update(update)
            if trouble in {DROP, DROP_AFTERWARDS}:
                self.close_connection = True
            else:
                self._answer(trouble, b"" if trouble == 204 else b"trouble")

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if stub.retry_after:
                self.send_header("Retry-After", stub.retry_after)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        stub.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield stub
        finally:
            server.shutdown()
            thread.join()

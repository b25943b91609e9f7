"""A site on loopback that sends bytes exactly as a test wrote them, and keeps the bytes it was sent."""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"


@dataclass(slots=True)
class RawSite:
    """Answers by path, status line and headers included; what was asked, by path."""

    answers: dict[str, bytes]
    port: int = 0
    asked: dict[str, bytes] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """The front page."""
        return f"http://127.0.0.1:{self.port}/"


@contextmanager
def serving_raw(site: RawSite) -> Iterator[RawSite]:
    """Serve a site on a free port until the block ends."""

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while head := self._head():
                path = head.split(b" ", 2)[1].decode()
                site.asked[path] = head
                self.wfile.write(site.answers.get(path, NOT_FOUND))

        def _head(self) -> bytes:
            lines = []
            while (line := self.rfile.readline()) not in {b"\r\n", b""}:
                lines.append(line)
            return b"".join([*lines, line]) if lines else b""

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        site.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield site
        finally:
            server.shutdown()
            thread.join()

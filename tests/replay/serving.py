"""A replay on a loopback socket, and a plain HTTP client."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection

import uvicorn
from starlette.types import ASGIApp

from aahcrawler.replay.replay_server import server_config
from tests.crawl.crawling import PATIENCE
from tests.service.asking import Reply


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay that listens on a port of this machine."""

    port: int

    def ask(self, path: str, method: str = "GET", body: bytes | None = None, **headers: str) -> Reply:
        """Send a request, for the host ``localhost`` unless another is given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"Host": f"localhost:{self.port}", **named})
            response = connection.getresponse()
            return Reply(response.status, dict(response.getheaders()), response.read())
        finally:
            connection.close()


@contextmanager
def serving(app: ASGIApp, port: int = 0) -> Iterator[Replay]:
    """Serve an application in a thread until the block ends."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    server = uvicorn.Server(server_config(app))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
        assert thread.is_alive()
    try:
        yield Replay(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()

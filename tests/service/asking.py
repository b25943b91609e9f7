"""A service on a loopback socket, crawls for it to serve, and a plain HTTP client."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import uvicorn

from aahcrawler.crawls import frontier_name, frontier_settings, number
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.layout import FRONTIER
from aahcrawler.service.api.app import ServiceSettings, create_app
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.server import Listening, server_config
from aahcrawler.service.web.entrance import UnfinishedHeads
from online_analysis.icd import Icd
from tests.crawl.crawling import PATIENCE
from tests.validators import validate_alike

JSON = "application/json"
CRAWLS = "AAH_TEST_CRAWLS"
"""The variable that names the folder of the crawls to ``tests.service.openapi_bodies``."""
NDJSON = "application/x-ndjson"
validate_alike()


@dataclass(frozen=True, slots=True)
class Reply:
    """What was answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body, parsed."""
        return json.loads(self.body)

    @property
    def outcomes(self) -> list[str]:
        """The outcome of each item."""
        return [result["outcome"] for result in self.json["results"]]

    @property
    def lines(self) -> list[Any]:
        """The lines of an NDJSON body, parsed."""
        return [json.loads(line) for line in self.body.splitlines()]


@dataclass(frozen=True, slots=True)
class Service:
    """A service that listens on a port of this machine."""

    port: int
    headers: Mapping[str, str] = field(default_factory=dict)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a request; ``body`` is bytes, an iterable of bytes that is sent in chunks, or nothing."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {**self.headers, **named})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Reply:
        """Get a path."""
        return self.ask("GET", path)

    def post(self, said: object, crawl: str = "test", **headers: str) -> Reply:
        """Post JSON to a crawl."""
        body = json.dumps(said).encode()
        return self.ask("POST", f"/v1/crawls/{crawl}/urls", body, **{"Content_Type": JSON, **headers})


@contextmanager
def serving(
    settings: ServiceSettings, heads: UnfinishedHeads | None = None, instruments: Instruments | None = None
) -> Iterator[Service]:
    """Serve in a thread until the block ends."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(server_config(create_app(settings, instruments), Listening(), heads or UnfinishedHeads()))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
        assert thread.is_alive()
    try:
        yield Service(listener.getsockname()[1])
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


def begun(folder: Path, **sections: object) -> Icd:
    """Write what a crawl that has begun leaves in its folder; return its definition."""
    fields: dict[str, object] = {
        "id": "test",
        "contact": "test@example.org",
        "seeds": ["http://a.test/"],
        "topic": {"keywords": ["flood"]},
        **sections,
    }
    icd = Icd.parse("".join(f"{name}: {json.dumps(value)}\n" for name, value in fields.items()).encode())
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "icd.json").write_text(json.dumps(icd.meaning()), "utf-8")
    return icd


@contextmanager
def running(folder: Path, icd: Icd) -> Iterator[RedisFrontier]:
    """Keep the frontier of a crawl as the process that crawls does: this one."""
    with EmbeddedServer(folder / FRONTIER) as server:
        frontier = RedisFrontier(server.url, frontier_name(icd.id, number(folder)), frontier_settings(icd))
        yield frontier
        frontier.close()

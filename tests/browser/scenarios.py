"""A browser behind the recording proxy, and a site on loopback by https with a page for each of what pages may do."""

import asyncio
import hashlib
import json
import socket
import ssl
import tempfile
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from aahcrawler.browser.network.recording_proxy import RecordingProxy
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.browser.process.devtools_connection import DevTools
from aahcrawler.wire.client import IpPolicy, Timeouts, WireClient, WireError, WireRequest, WireSettings
from aahcrawler.wire.relay import Relay
from aahcrawler.wire.settings import Route, Routes, Tls
from tests.browser.chromium import running_chromium
from tests.browser.proxied import KEY

POSTED = 300_000
SITE, OTHER = "site.test", "other.test"
_CORS = "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\nAccess-Control-Allow-Methods: *\r\n"


@dataclass(frozen=True, slots=True)
class Scenario:
    """A page whose script ends by ``done(result)``.

    ``wanted`` are the requests that are to be recorded beside that of the page, as ``METHOD host/path``; ``got`` is the
    result of a page that works as if nobody stood between.
    """

    name: str
    script: str
    wanted: tuple[str, ...]
    got: object
    refused: bool = False
    """Whether the request is one that must not reach the server."""


SCENARIOS = (
    Scenario(
        "preflight",
        f"const r = await fetch('https://{OTHER}/put', {{method: 'PUT', headers: {{'X-Own': '1'}}, body: 'x'}});"
        "done([r.status, await r.text()])",
        (f"OPTIONS {OTHER}/put", f"PUT {OTHER}/put"),
        [200, "put"],
    ),
    Scenario(
        "service worker",
        "await navigator.serviceWorker.register('/service.js'); await navigator.serviceWorker.ready;"
        "if (!navigator.serviceWorker.controller) await new Promise(k =>"
        " navigator.serviceWorker.addEventListener('controllerchange', k));"
        "const r = await fetch('/virtual'); done(await r.text())",
        (f"GET {SITE}/service.js", f"GET {SITE}/by-service-at-install", f"GET {SITE}/by-service"),
        "by-service",
    ),
    Scenario(
        "POST with a body",
        f"const d = new FormData(); d.append('f', new Blob([new Uint8Array({POSTED}).fill(200)]), 'a.bin');"
        "const r = await fetch('/digest', {method: 'POST', body: d}); done(await r.json())",
        (f"POST {SITE}/digest",),
        [POSTED, True],
    ),
    Scenario(
        "endless stream",
        "const t = performance.now(), r = await fetch('/ticks'), s = r.body.getReader(); let n = 0;"
        "while (n < 3) { await s.read(); n++ } s.cancel(); done(performance.now() - t < 1500)",
        (f"GET {SITE}/ticks",),
        True,
    ),
    Scenario(
        "WebSocket",
        f"const w = new WebSocket('wss://{SITE}/socket'); w.onclose = () => done('closed')",
        (f"GET {SITE}/socket",),
        "closed",
        refused=True,
    ),
)

_SERVICE_WORKER = (
    "oninstall = e => { skipWaiting(); e.waitUntil(fetch('/by-service-at-install')) };"
    "onactivate = e => e.waitUntil(clients.claim());"
    "onfetch = e => { if (e.request.url.endsWith('/virtual')) e.respondWith(fetch('/by-service')) }"
)


@dataclass(frozen=True, slots=True)
class _Asked:
    method: str
    host: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class Site:
    """Both hosts, on one port. ``requests`` are those that reached it, as ``METHOD host/path``."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[str] = []
        self._connections: set[Task[None]] = set()

    def connected(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Serve a connection."""
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        task.add_done_callback(lambda _: writer.transport.abort())

    async def end(self) -> None:
        """Cut all connections."""
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                asked = await _read(reader)
                self.requests.append(f"{asked.method} {asked.host}{asked.path}")
                await _answer(asked, writer)


@asynccontextmanager
async def site(tls: ssl.SSLContext) -> AsyncIterator[Site]:
    """Serve the site."""
    serving = Site()
    server = await asyncio.start_server(serving.connected, "127.0.0.1", 0, ssl=tls)
    serving.port = server.sockets[0].getsockname()[1]
    try:
        yield serving
    finally:
        server.close()
        await serving.end()


def page_of(scenario: Scenario) -> str:
    """Return the path of a scenario's page."""
    return "/page/" + scenario.name.replace(" ", "-")


async def _read(reader: StreamReader) -> _Asked:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return _Asked(method, headers.get("host", ""), path, headers, body)


async def _answer(asked: _Asked, writer: StreamWriter) -> None:
    match asked.path:
        case "/ticks":
            await _tick(writer)
        case _:
            kind, text = _text(asked)
            body = text.encode()
            writer.write(_head(kind, len(body), extra=_CORS) + body)
    await writer.drain()


async def _tick(writer: StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"5\r\ntick\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.1)


def _text(asked: _Asked) -> tuple[str, str]:
    if asked.path.startswith("/page/"):
        (script,) = (scenario.script for scenario in SCENARIOS if page_of(scenario) == asked.path)
        return "text/html", (
            "<!doctype html><link rel=icon href=data:,><body><script>const done = r => window.result ??="
            f" JSON.stringify(r); (async () => {{ {script} }})().catch(e => done(String(e)))</script>"
        )
    if asked.path == "/digest":
        blob = bytes([200]) * POSTED
        return "application/json", json.dumps([asked.body.count(200), hashlib.sha256(blob).digest() == _blob(asked)])
    if asked.path == "/service.js":
        return "text/javascript", _SERVICE_WORKER
    return "text/plain", asked.path.strip("/")


def _blob(asked: _Asked) -> bytes:
    """Return the digest of the file within a form."""
    _, _, rest = asked.body.partition(b"\r\n\r\n")
    return hashlib.sha256(rest.rpartition(b"\r\n--")[0]).digest()


def _head(kind: str, length: int, status: str = "200 OK", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{extra}\r\n".encode()


@dataclass(slots=True)
class Trial:
    """A browser behind the proxy: its requests are made by the wire client, and noted as ``METHOD host/path``."""

    devtools: DevTools
    context: str
    """The browser context of pages."""
    site: Site
    wire: WireClient
    recorded: list[str] = field(default_factory=list)

    async def answer(self, request: BrowserRequest, relay: Relay) -> None:
        """Have a request answered by its server (``Upstream``)."""
        place = urlsplit(request.url)
        self.recorded.append(f"{request.method} {place.netloc}{place.path}")
        try:
            answer = await self.wire.fetch(
                WireRequest(request.url, request.headers, request.method, request.body, relay=relay)
            )
        except WireError as error:
            raise RequestRefusedError(error.reason) from error
        answer.exchange.close()
        if answer.exchange.truncated is not None:
            raise RequestRefusedError(answer.exchange.truncated)


@asynccontextmanager
async def trial(chromium: str) -> AsyncIterator[Trial]:
    """Run a browser and the site."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        serving = await stack.enter_async_context(site(KEY.context(SITE)))
        place = f"127.0.0.1:{serving.port}"
        wire = WireClient(
            WireSettings(
                folder / "spool",
                IpPolicy(True, {SITE: place, OTHER: place}),
                Timeouts(total=15.0),  # Ends an endless stream.
                routes=Routes(Route(tls=Tls(accepts_invalid=True))),
            )
        )
        stack.push_async_callback(wire.close)
        # What the browser does by itself reaches the server as well, which notes it.
        flags = [
            f"--host-resolver-rules=MAP * {place}, EXCLUDE 127.0.0.1",
            f"--ignore-certificate-errors-spki-list={KEY.spki_hash}",
        ]
        _, pipe = stack.enter_context(running_chromium(chromium, folder / "profile", flags))
        devtools = await DevTools.over(pipe)
        stack.callback(devtools.close)
        listener = socket.create_server(("127.0.0.1", 0))
        server = {"proxyServer": f"127.0.0.1:{listener.getsockname()[1]}", "proxyBypassList": "<-loopback>"}
        context = (await devtools.call("Target.createBrowserContext", server))["browserContextId"]
        tried = Trial(devtools, context, serving, wire)
        proxy = RecordingProxy(listener, KEY)
        stack.push_async_callback(proxy.close)
        await stack.enter_async_context(proxy.serving(tried))
        yield tried

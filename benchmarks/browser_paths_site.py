"""The site of the trial of two ways to record a browser: a page for each scenario, on loopback, by https."""

import asyncio
import hashlib
import json
import ssl
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

MEBIBYTE = 1 << 20
DOWNLOAD = 48 * MEBIBYTE
POSTED = 300_000
SITE, OTHER = "site.test", "other.test"
_CORS = "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: *\r\nAccess-Control-Allow-Methods: *\r\n"
FILE = bytes(range(256)) * 4096


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
        "dedicated worker",
        "const w = new Worker('/worker.js'); w.onmessage = e => done(e.data)",
        (f"GET {SITE}/worker.js", f"GET {SITE}/by-worker"),
        "by-worker",
    ),
    Scenario(
        "shared worker",
        "const w = new SharedWorker('/shared.js'); w.port.onmessage = e => done(e.data); w.port.start()",
        (f"GET {SITE}/shared.js", f"GET {SITE}/by-shared"),
        "by-shared",
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
        "cross-site frame",
        f"addEventListener('message', e => done(e.data)); const f = document.createElement('iframe');"
        f"f.src = 'https://{OTHER}/frame'; document.body.append(f)",
        (f"GET {OTHER}/frame", f"GET {OTHER}/by-frame"),
        "by-frame",
    ),
    Scenario(
        "redirect with a cookie",
        "const r = await fetch('/redirect'); done([r.redirected, await r.text(), document.cookie])",
        (f"GET {SITE}/redirect", f"GET {SITE}/cookies"),
        [True, "shown=1; hidden=2", "shown=1"],
    ),
    Scenario(
        "POST with a body",
        f"const d = new FormData(); d.append('f', new Blob([new Uint8Array({POSTED}).fill(200)]), 'a.bin');"
        "const r = await fetch('/digest', {method: 'POST', body: d}); done(await r.json())",
        (f"POST {SITE}/digest",),
        [POSTED, True],
    ),
    Scenario(
        "range",
        "const r = await fetch('/file', {headers: {Range: 'bytes=1000-1099'}});"
        "done([r.status, r.headers.get('Content-Range'), (await r.arrayBuffer()).byteLength])",
        (f"GET {SITE}/file",),
        [206, f"bytes 1000-1099/{len(FILE)}", 100],
    ),
    Scenario(
        "endless stream",
        "const t = performance.now(), r = await fetch('/ticks'), s = r.body.getReader(); let n = 0;"
        "while (n < 3) { await s.read(); n++ } s.cancel(); done(performance.now() - t < 1500)",
        (f"GET {SITE}/ticks",),
        True,
    ),
    Scenario(
        "large download",
        "const r = await fetch('/large'), s = r.body.getReader(); let n = 0;"
        "for (let p; !(p = await s.read()).done;) n += p.value.length; done(n)",
        (f"GET {SITE}/large",),
        DOWNLOAD,
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
_TEXTS: Mapping[str, tuple[str, str]] = {
    "/worker.js": ("text/javascript", "fetch('/by-worker').then(r => r.text()).then(postMessage)"),
    "/shared.js": (
        "text/javascript",
        "onconnect = e => fetch('/by-shared').then(r => r.text()).then(t => e.ports[0].postMessage(t))",
    ),
    "/service.js": ("text/javascript", _SERVICE_WORKER),
    "/frame": (
        "text/html",
        "<script>fetch('/by-frame').then(r => r.text()).then(t => parent.postMessage(t, '*'))</script>",
    ),
}


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
        writer.transport.abort()


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
        case "/large":
            writer.write(_head("application/octet-stream", DOWNLOAD))
            for _ in range(DOWNLOAD // MEBIBYTE):
                writer.write(bytes(MEBIBYTE))
                await writer.drain()
        case "/file":
            piece = FILE[1000:1100] if asked.headers.get("range") == "bytes=1000-1099" else FILE
            extra = f"Content-Range: bytes 1000-1099/{len(FILE)}\r\n" if len(piece) == 100 else ""
            writer.write(_head("text/plain", len(piece), "206 Partial" if extra else "200 OK", extra) + piece)
        case "/redirect":
            cookies = "Set-Cookie: shown=1; Path=/\r\nSet-Cookie: hidden=2; Path=/; HttpOnly\r\n"
            writer.write(_head("text/plain", 0, "302 Found", f"Location: /cookies\r\n{cookies}"))
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
    if asked.path == "/cookies":
        return "text/plain", asked.headers.get("cookie", "")
    return _TEXTS.get(asked.path, ("text/plain", asked.path.strip("/")))


def _blob(asked: _Asked) -> bytes:
    """Return the digest of the file within a form."""
    _, _, rest = asked.body.partition(b"\r\n\r\n")
    return hashlib.sha256(rest.rpartition(b"\r\n--")[0]).digest()


def _head(kind: str, length: int, status: str = "200 OK", extra: str = "") -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{extra}\r\n".encode()

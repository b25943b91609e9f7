"""Pages in a browser that was just started, for tests: DevTools over its pipe, and a proxy that answers by itself."""

import asyncio
import itertools
import json
import os
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

from aahcrawler.browser.process.browser_process import BrowserProcess, Listener, start_browser
from aahcrawler.browser.process.chromium_executable import BrowserSettings
from tests.browsing import chromium_executable
from tests.crawl.crawling import PATIENCE

PAGE = b"<!doctype html><title>A page</title><p>Here."
ATTEMPTS = """
(async () => {
  const tried = {};
  const attempt = async (name, doing, seconds = 2) => {
    const late = new Promise((_, fail) => setTimeout(() => fail('late'), seconds * 1000));
    try { await Promise.race([doing(), late]); tried[name] = 'done' } catch (error) { tried[name] = String(error) }
  };
  const link = Object.assign(document.createElement('link'), {rel: 'dns-prefetch', href: 'http://prefetch.example.org/'});
  document.head.append(link);
  await Promise.all([
    attempt('fetch', () => fetch('http://%(host)s:%(tcp)d/fetched', {mode: 'no-cors'}), 300),
    attempt('name', () => fetch('http://name.example.org/named', {mode: 'no-cors'}), 300),
    attempt('websocket', () => new Promise((done, fail) => {
      const socket = new WebSocket('ws://%(host)s:%(tcp)d/socket');
      socket.onopen = done; socket.onerror = () => fail('refused');
    })),
    attempt('webtransport', () => new WebTransport('https://%(host)s:%(udp)d/').ready),
    attempt('webrtc', () => new Promise(async (done, fail) => {
      const peer = new RTCPeerConnection({iceServers: [
        {urls: ['stun:%(host)s:%(udp)d', 'stun:stun.example.org']},
        {urls: 'turn:%(host)s:%(udp)d', username: 'a', credential: 'b'},
      ]});
      peer.onicecandidate = event => event.candidate ? done() : fail('no candidate');
      peer.createDataChannel('channel');
      await peer.setLocalDescription(await peer.createOffer());
    })),
  ]);
  return tried;
})()
"""
"""What a page may try to reach somebody by, past its proxy: each attempt by its name, and what came of it."""


class Piped:
    """A browser's DevTools, asked one thing at a time; it answers within ten seconds."""

    def __init__(self, process: BrowserProcess) -> None:
        self.process = process
        self._numbers = itertools.count(2)
        self._read = b""

    async def ask(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        message: dict[str, Any] = {"id": next(self._numbers), "method": method, "params": params}
        if session:
            message["sessionId"] = session
        return await asyncio.wait_for(asyncio.to_thread(self._ask, message), PATIENCE)

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        orders, answers = self.process.pipe
        os.write(orders, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._read:
                read = os.read(answers, 1 << 16)
                if not read:
                    raise EOFError(message["method"])
                self._read += read
            text, _, self._read = self._read.partition(b"\0")
            answer: dict[str, Any] = json.loads(text)
            if answer.get("id") == message["id"]:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result

    async def page(self, url: str, listener: Listener) -> str:
        """Open a page in a context whose proxy is the listener; return its session."""
        proxy = {"proxyServer": f"http://{listener.address}", "proxyBypassList": "<-loopback>"}
        context = (await self.ask("Target.createBrowserContext", **proxy))["browserContextId"]
        target = (await self.ask("Target.createTarget", url="about:blank", browserContextId=context))["targetId"]
        session: str = (await self.ask("Target.attachToTarget", targetId=target, flatten=True))["sessionId"]
        await self.ask("Page.navigate", session, url=url)
        return session

    async def value(self, session: str, expression: str) -> Any:
        """Return what an expression, or its promise, comes to in the page."""
        asked = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        result = (await self.ask("Runtime.evaluate", session, **asked))["result"]
        return result.get("value", result.get("description"))


class Proxy:
    """Answers whatever is asked of a listener with one page, and keeps the first lines of what was asked."""

    def __init__(self, process: BrowserProcess) -> None:
        self.asked: list[str] = []
        self.strangers = 0
        self._process = process
        self._listener = process.listeners[0].socket
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, peer = self._listener.accept()
            except OSError:
                return
            self.strangers += not self._process.may_connect(peer)
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        """Answer what is asked over a connection, if anything is: a browser opens some that it may need later."""
        with connection, suppress(OSError):
            connection.settimeout(PATIENCE)
            if not (head := connection.recv(1 << 16)):
                return
            self.asked.append(head.partition(b"\r\n")[0].decode())
            length = f"Content-Length: {len(PAGE)}\r\nConnection: close\r\n\r\n"
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + length.encode() + PAGE)


@asynccontextmanager
async def browser(
    folder: Path, isolation: Literal["auto", "namespace", "rules"] = "auto", memory_bytes: int = 1_500_000_000
) -> AsyncIterator[Piped]:
    """Start a browser, and end it."""
    settings = BrowserSettings(str(chromium_executable()), folder, 2, memory_bytes, isolation)
    process = await start_browser(settings, "")
    try:
        yield Piped(process)
    finally:
        process.kill()
        await process.ended()
        for end in process.pipe:
            os.close(end)

"""A page of messages that come by every way that a script has: service worker, worker, stream, answers to a POST.

``worker`` shows what a request that only reads brings. ``search`` asks by POST as well, as GraphQL does; the crawl is
given a file of the knowledge base that allows it.
"""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

from benchmarks.browser.replies import HTML, SCRIPT, Framing, Reply, Request, data, not_found, reply
from benchmarks.browser.site import Opening, Parts, Site, View
from benchmarks.software.content import Post
from benchmarks.software.markup import html
from benchmarks.software.writing import Size, Writer

_SIZE: Final = Size(single=6, few=20, overhanging=0, long=2)
_EACH: Final = 6
_ROOMS: Final = ("workshop", "garden", "cellar")
_HANDSHAKE: Final = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""What RFC 6455, section 1.3, has a server join to the key of a handshake."""
_SHELL: Final = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Rooms</title>
<meta name="generator" content="Rooms 4"><script type="module" src="/app.js"></script></head>
<body><h1 id="room"></h1><nav id="rooms"></nav>
<section id="cached"></section><section id="worked"></section><section id="streamed"></section>
<section id="asked"></section></body></html>
"""
_SERVICE_WORKER: Final = """
addEventListener('install', event => event.waitUntil(
  caches.open('v1').then(cache => cache.add('/offline.html')).then(() => skipWaiting())));
addEventListener('activate', event => event.waitUntil(clients.claim()));
addEventListener('fetch', event => {
  const url = new URL(event.request.url);
  if (url.pathname.startsWith('/api/cached/')) {
    event.respondWith(caches.open('v1').then(async cache => {
      const known = await cache.match(event.request);
      if (known) return known;
      const answer = await fetch('/data/' + url.pathname.slice('/api/cached/'.length) + '.json');
      cache.put(event.request, answer.clone());
      return answer;
    }));
  }
});
"""
_WORKER: Final = """
onmessage = async ({data}) => {
  const answer = await fetch(`/api/worked/${data}.json`);
  postMessage((await answer.json()).map(each => ({...each})));
};
"""
_APP: Final = """
const room = location.pathname.slice(1) || 'workshop';
document.getElementById('room').textContent = room;
const rooms = %(rooms)s;
document.getElementById('rooms').innerHTML = rooms.map(each => `<a href="/${each}">${each}</a>`).join(' ');
const show = (place, messages) => document.getElementById(place).insertAdjacentHTML('beforeend', messages.map(m =>
  `<div class="message" id="m-${m.id}"><b class="from">${m.author}</b> <time datetime="${m.date}">${m.date}</time>
   <div class="words">${m.html}</div></div>`).join(''));
const worker = new Worker('/worker.js');
worker.onmessage = ({data}) => show('worked', data);
worker.postMessage(room);
const streamed = async () => {
  const reader = (await fetch(`/api/stream/${room}`)).body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    rest += value || '';
    const lines = rest.split('\\n');
    rest = lines.pop();
    for (const line of lines) show('streamed', [JSON.parse(line)]);
    if (done) return;
  }
};
streamed();
const cached = async () => {
  if (navigator.serviceWorker) {
    await navigator.serviceWorker.register('/sw.js');
    await navigator.serviceWorker.ready;
    if (!navigator.serviceWorker.controller)
      await new Promise(done => navigator.serviceWorker.addEventListener('controllerchange', done));
  }
  const answer = await fetch(`/api/cached/${room}`);
  show('cached', await answer.json());
};
cached();
try {
  const live = new WebSocket(`ws://${location.host}/live`);
  live.onmessage = ({data}) => console.log('live: ' + data);
  live.onerror = () => console.log('no live messages');
} catch (error) { console.log('no live messages'); }
if (%(asks)s) {
  const query = 'query Room($room: String!) { messages(room: $room) { id author date html } }';
  const answer = await fetch('/graphql', {method: 'POST', headers: {'Content-Type': 'application/json'},
    body: JSON.stringify({operationName: 'Room', query, variables: {room}})});
  show('asked', (await answer.json()).data.messages);
}
"""
_PARTS: Final = (Parts(".message", ".words", author=".from", date="time"),)
_APPLICATION: Final = """<?xml version="1.0" encoding="UTF-8"?>
<application name="Rooms" kind="web-forum">
  <detect><pattern strength="proof" generator="Rooms"/></detect>
  <behaviour name="messages" allows="POST"><scroll/></behaviour>
  <level name="room" role="terminal">
    <when css="#rooms"/>
    <navigate name="rooms" to="room"><select css="#rooms a"/></navigate>
    <extract name="messages" type="post" many="yes">
      <item css=".message"/>
      <identity trim="m-"><select xpath="@id"/></identity>
      <field name="author" kind="person"><select css=".from"/></field>
      <field name="date" kind="datetime"><select css="time" attribute="datetime"/></field>
      <field name="body"><select css=".words"/></field>
    </extract>
  </level>
</application>
"""


class Rooms:
    """Answers with messages of rooms."""

    def __init__(self, posts: Sequence[Post], *, asks: bool) -> None:
        self._posts, self._asks = posts, asks

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        scripts = {"/sw.js": _SERVICE_WORKER, "/worker.js": _WORKER}
        path = request.path
        if path in scripts:
            return reply(scripts[path], SCRIPT)
        if path == "/app.js":
            return reply(_APP % {"rooms": json.dumps(_ROOMS), "asks": json.dumps(self._asks)}, SCRIPT)
        if path == "/offline.html":
            return reply("<!doctype html><title>Offline</title><p>You are offline.</p>", HTML)
        if path == "/live":
            return _upgraded(request)
        if path == "/graphql" and request.method == "POST":
            return self._searched(request.body)
        if path == "/" or path.removeprefix("/") in _ROOMS:
            return reply(_SHELL, HTML)
        return self._data(path)

    def _data(self, path: str) -> Reply:
        kind, _, name = path.rpartition("/")
        room = name.removesuffix(".json")
        places = {"/data": 0, "/api/worked": 1, "/api/stream": 2}
        if room not in _ROOMS or kind not in places:
            return not_found()
        messages = self._messages(room, places[kind])
        if kind != "/api/stream":
            return data(messages)
        lines = tuple(json.dumps(each).encode() + b"\n" for each in messages)
        return Reply(lines, 200, (("Content-Type", "application/x-ndjson"),), Framing.CHUNKED, pause=0.05)

    def _searched(self, body: bytes) -> Reply:
        try:
            asked: Any = json.loads(body)
            room = asked["variables"]["room"]
        except (ValueError, KeyError, TypeError):
            return data({"errors": [{"message": "no such query"}]}, status=400)
        return data({"data": {"messages": self._messages(room, 3) if room in _ROOMS else []}})

    def _messages(self, room: str, place: int) -> list[dict[str, str]]:
        begin = (_ROOMS.index(room) * 4 + place) * _EACH
        posts = self._posts[begin : begin + _EACH]
        return [{"id": post.id, "author": post.author, "date": post.date, "html": html(post)} for post in posts]

    def views(self) -> Iterator[View]:
        """Yield the rooms; the front page is the first of them."""
        last = "#asked .message" if self._asks else "#cached .message"
        for room in ("", *_ROOMS[1:]):
            yield View(f"/{room}", _PARTS, shows=last, continued=True)


def _upgraded(request: Request) -> Reply:
    """Answer the handshake of a WebSocket (RFC 6455, section 4.2.2), say one word, and close."""
    key = request.field("Sec-WebSocket-Key")
    if not key:
        return not_found()
    digest = hashlib.sha1(f"{key}{_HANDSHAKE}".encode(), usedforsecurity=False).digest()
    accepted = base64.b64encode(digest).decode()
    fields = (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", accepted))
    return Reply((b"\x81\x05hello", b"\x88\x02\x03\xe8"), 101, fields, upgraded=True)


def _posts() -> list[Post]:
    """Return posts no two of which say the same."""
    content = Writer(17).content(10, _SIZE)
    return list({html(post): post for _, post in content.posts()}.values())


@contextmanager
def _opened(folder: Path, origin: str, *, asks: bool) -> Iterator[Site]:  # noqa: ARG001 - others need them
    rooms = Rooms(_posts(), asks=asks)
    application = _APPLICATION if asks else ""
    yield Site("search" if asks else "worker", rooms.answer, tuple(rooms.views()), application=application)


reading: Opening = partial(_opened, asks=False)
searching: Opening = partial(_opened, asks=True)

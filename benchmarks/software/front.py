"""A server in front of an application: it passes requests on, logs them, and shows pages in another template."""

import http.client
import json
import re
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import blake2b
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from lxml.html import HtmlElement

from aahcrawler.page import Headers, Page
from benchmarks.damage import Change, Draft, change, drafts, written
from benchmarks.truth import Layout, Truth

_LETTERS = re.compile(r"[^\W\d_]+")
_REFERRING: Final = ("for", "aria-labelledby", "aria-describedby", "aria-controls", "headers")
_ADDRESSES: Final = ("href", "src")
_ASSET = re.compile(r"\.(?:css|js|mjs|png|jpe?g|gif|svg|webp|ico|woff2?)$", re.IGNORECASE)
_SYLLABLES: Final = ("ba", "do", "fe", "gu", "hi", "ka", "lo", "mu", "ne", "pi", "ra", "so", "tu", "ve", "wi", "zo")


class Redesign(StrEnum):
    """How much of a template is changed."""

    IDS = "ids"
    """All ids of elements are renamed."""
    CLASSES = "classes"
    """All classes are renamed."""
    ASSETS = "assets"
    """Style sheets, scripts and images have other URLs."""
    ELEMENTS = "elements"
    """Elements are renamed, wrappers are added and removed, and parts are reordered."""
    TOTAL = "total"
    """All of these, and nothing in the head of a page names the software."""


_STEPS: Final = frozenset({Change.NAMES, Change.WRAPPERS_ADDED, Change.WRAPPERS_REMOVED, Change.ORDER})
"""The steps of `benchmarks.damage` that are applied here. Those of attributes would give a page the same id twice."""


class Template:
    """One redesign of a site whose truth is known. Thread-safe."""

    def __init__(self, redesign: Redesign, truth: Truth, seed: int) -> None:
        """Draw the redesign by a seed."""
        self._redesign, self._truth = redesign, truth
        drawn = (draft for draft in islice(drafts(seed), len(Change)) if draft.change in _STEPS)
        self._drafts: tuple[Draft, ...] = tuple(drawn) if self._does(Redesign.ELEMENTS) else ()
        self._assets: dict[str, str] = {}

    def page(self, url: str, content_type: str, body: bytes) -> bytes:
        """Return an HTML page in the new template."""
        page = Page(url, 200, Headers((("Content-Type", content_type),)), body, datetime.now(UTC))
        asides = set(page.tree.iter("aside"))
        for draft in self._drafts:
            change(page.tree, draft, self._truth)
        keep_main(page.tree, asides, self._truth)
        if self._does(Redesign.IDS):
            rename_ids(page.tree, renamed)
        if self._does(Redesign.CLASSES):
            rename_classes(page.tree, renamed)
        if self._does(Redesign.ASSETS):
            self._rename_assets(page.tree, url)
        if self._redesign is Redesign.TOTAL:
            for element in page.tree.xpath("//meta[@name='generator'] | //comment()"):
                element.drop_tree()
        return written(page)

    def location(self, address: str) -> str:
        """Return the new target of a redirect, whose fragment is an id."""
        return with_renamed_fragment(address, renamed) if self._does(Redesign.IDS) else address

    def former(self, path: str) -> str:
        """Return the path by which the software itself knows an asset; other paths are returned unchanged."""
        return self._assets.get(path, path)

    def _does(self, what: Redesign) -> bool:
        return self._redesign in {what, Redesign.TOTAL}

    def _rename_assets(self, tree: HtmlElement, url: str) -> None:
        for element in tree.iter("link", "script", "img"):
            for attribute in _ADDRESSES:
                address = urljoin(url, element.get(attribute) or "")
                parts = urlsplit(address)
                if parts.netloc == urlsplit(url).netloc and (ending := _ASSET.search(parts.path)):
                    new = f"/design/{blake2b(parts.path.encode(), digest_size=6).hexdigest()}{ending[0]}"
                    self._assets[new] = parts.path + (f"?{parts.query}" if parts.query else "")
                    element.set(attribute, new)


def keep_main(tree: HtmlElement, former: Collection[HtmlElement], truth: Truth) -> None:
    """Make a section of every new ``aside`` with authors' texts, since no template puts its content into an aside."""
    layout = Layout.of(tree, truth)
    for element in list(tree.iter("aside")):
        if element not in former and layout.bodies(element):
            element.tag = "section"


def renamed(name: str) -> str:
    """Return another name for an id or a class: each word of letters is replaced, numbers stay in their places.

    >>> renamed("post-12") == renamed("post-13").replace("13", "12")
    True
    """
    return _LETTERS.sub(lambda found: _word(found[0]), name)


def _word(word: str) -> str:
    digest = blake2b(word.encode(), digest_size=3, key=b"redesign").digest()
    return "".join(_SYLLABLES[byte % len(_SYLLABLES)] for byte in digest)


def rename_ids(tree: HtmlElement, rename: Callable[[str], str]) -> None:
    """Rename all ids, and references to them on this page and to other pages of the site."""
    for element in tree.iter("*"):
        if identity := element.get("id"):
            element.set("id", rename(identity))
        if element.tag == "a" and (name := element.get("name")):
            element.set("name", rename(name))
        for attribute in _REFERRING:
            if said := element.get(attribute):
                element.set(attribute, " ".join(map(rename, said.split())))
        if element.tag == "a" and (address := element.get("href")) and not urlsplit(address).netloc:
            element.set("href", with_renamed_fragment(address, rename))


def with_renamed_fragment(address: str, rename: Callable[[str], str]) -> str:
    """Return a URL whose fragment names the same element as before."""
    page, sign, fragment = address.partition("#")
    return f"{page}#{rename(fragment)}" if fragment else page + sign


def rename_classes(tree: HtmlElement, rename: Callable[[str], str]) -> None:
    """Rename all classes."""
    for element in tree.iter("*"):
        if classes := element.get("class"):
            element.set("class", " ".join(map(rename, classes.split())))


_HOPS: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length", "date", "server"}
)
_CONDITIONS: Final = frozenset({"if-none-match", "if-modified-since"})
_VALIDATORS: Final = frozenset({"etag", "last-modified"})
_MAX_SECONDS: Final = 60.0


@dataclass(frozen=True, slots=True)
class Asked:
    """A request and its response; ``location`` is the target of a redirect, else empty."""

    method: str
    path: str
    status: int
    location: str = ""


def asked_of(log: Path) -> list[Asked]:
    """Read the log of requests of a front."""
    return [Asked(**json.loads(line)) for line in log.read_text("utf-8").splitlines()]


class Front:
    """A server on loopback in front of an application that listens on another port.

    With a ``template``, responses have no validators, since a page changes when its template does.
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
                front._respond(self)

            do_HEAD = do_POST = do_GET  # noqa: N815 - what the standard library calls

            def log_message(self, *_: object) -> None:
                pass

        return Handler

    def _respond(self, asked: BaseHTTPRequestHandler) -> None:
        template = self.template
        path = template.former(asked.path) if template else asked.path
        dropped = _HOPS | {"accept-encoding"} | (_CONDITIONS if template else frozenset())
        headers = {name: value for name, value in asked.headers.items() if name.lower() not in dropped}
        connection = http.client.HTTPConnection("127.0.0.1", self._backend, timeout=_MAX_SECONDS)
        try:
            connection.request(asked.command, path, _sent(asked), headers)
            response = connection.getresponse()
            body = response.read()
        except OSError:
            self._note(Asked(asked.command, asked.path, 502))
            asked.send_error(502)
            return
        finally:
            connection.close()
        content_type = response.headers.get("Content-Type", "")
        self._note(Asked(asked.command, asked.path, response.status, response.headers.get("Location", "")))
        if template and response.status == 200 and content_type.startswith("text/html") and body:
            body = template.page(self.url.rstrip("/") + asked.path, content_type, body)
        asked.send_response(response.status)
        for name, value in response.getheaders():
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

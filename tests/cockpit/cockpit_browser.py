"""A cockpit on a loopback socket, and browsers that are signed in to it and watched."""

import json
import os
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import uvicorn
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page
from starlette.routing import Route

from aahcrawler.layout import SERVICE_LOG
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.cockpit.app import ROUTES
from aahcrawler.service.cockpit.origins import Names, host_of
from aahcrawler.service.cockpit.sign_in import SignIn
from aahcrawler.service.cockpit.site import COOKIE, Site
from aahcrawler.service.cockpit.studio import studio_routes
from aahcrawler.service.cockpit_server import Published, assembled, names_of
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.server import Listening, Server, server_config
from aahcrawler.service.steering.unfound_searches import UnfoundSearches
from aahcrawler.service.views.page_pictures import PagePictures
from aahcrawler.service.web.entrance import UNLIMITED, Rates, UnfinishedHeads
from aahcrawler.service.web.noted_acts import ServiceLog
from aahcrawler.service.web.roles import LOCAL, Caller, Named, Role, Tokens
from tests.browsing import patient
from tests.crawl.crawling import PATIENCE
from tests.service.asking import Reply
from tests.service.forked_crawls import crawls_forked

READER, OPERATOR = "the token of a reader", "the token of an operator"
BLIND = "the token of an operator who may not read"
JUDGE, OTHER_JUDGE = "the token of a judge", "the token of another judge"
EDITOR, COLLEAGUE = "the token of an editor", "the token of a colleague"
CALLERS = (
    Named(READER, Caller("reader", frozenset({Role.READ}))),
    Named(OPERATOR, Caller("operator", frozenset({Role.READ, Role.OPERATE}))),
    Named(BLIND, Caller("blind", frozenset({Role.OPERATE}))),
    Named(JUDGE, Caller("anna", frozenset({Role.READ, Role.JUDGE}))),
    Named(OTHER_JUDGE, Caller("ben", frozenset({Role.READ, Role.JUDGE}))),
    Named(EDITOR, Caller("editor", frozenset({Role.READ, Role.EDIT}))),
    Named(COLLEAGUE, Caller("colleague", frozenset({Role.READ, Role.EDIT}))),
)
SCREEN = 900
"""Pixels of the height of a window that is 1280 wide; no page is longer than three of them."""
SHOTS = "AAH_SCREENSHOTS"
_SHOTS = Path(__file__).parents[2] / ".cache" / "tests" / "screenshots"
_AXE = Path(__file__).parent / "axe" / "axe.min.js"
FORM = "application/x-www-form-urlencoded"
OTHER_ORIGIN = "An iframe which has both allow-scripts and allow-same-origin"
"""How the browser warns of a frame that would be unsafe if it were of the page's own origin, as no archived page is."""


@dataclass(frozen=True, slots=True)
class Cockpit:
    """A cockpit that is served: its origins, who may sign in, the routes of its pages, and where its crawls lie."""

    names: Names
    port: int
    sign_in: SignIn
    routes: Sequence[Route]
    place: Path

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Reply:
        """Send a request as it is, for the cockpit's own host unless another is given."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            connection.request(method, path, body, {"Host": host_of(self.names.cockpit), **named})
            answer = connection.getresponse()
            return Reply(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def post(self, path: str, fields: Mapping[str, str], cookie: str = "", origin: str | None = None) -> Reply:
        """Post a form as the cockpit's own page does, or one of another origin."""
        headers = {"Content_Type": FORM, "Origin": self.names.cockpit if origin is None else origin}
        if cookie:
            headers["Cookie"] = f"{COOKIE}={cookie}"
        return self.ask("POST", path, urlencode(fields), **headers)

    def entered(self, token: str = "") -> str:
        """Return the cookie of a new session, by the code that is good now unless a token is given."""
        answer = self.post("/sign-in", {"code": token or self.sign_in.code})
        assert answer.status == 303, answer
        found = re.match(rf"{COOKIE}=([^;]+)", answer.headers["set-cookie"])
        assert found is not None
        return found[1]

    def form_secret(self, cookie: str) -> str:
        """Return the secret that forms of a session carry."""
        session = self.sign_in.session(cookie)
        assert session is not None
        return session.form_secret


@dataclass(frozen=True, slots=True)
class Client:
    """Somebody who is signed in and has no browser."""

    cockpit: Cockpit
    cookie: str

    def page(self, path: str) -> str:
        """Return a page."""
        answer = self.cockpit.ask("GET", path, Cookie=f"{COOKIE}={self.cookie}")
        assert answer.status == 200, (path, answer.body[:2_000])
        return answer.body.decode()

    def post(self, path: str, **fields: str) -> Reply:
        """Post a form."""
        secret = self.cockpit.form_secret(self.cookie)
        return self.cockpit.post(path, {"secret": secret, **fields}, self.cookie)

    def forms(self, path: str) -> set[str]:
        """Return where the forms of a page post to."""
        return set(re.findall(r'<form[^>]* method="post" action="([^"]+)"', self.page(path)))

    def seen(self, path: str) -> str:
        """Return the state of its work that the forms of a page name."""
        return str(re.findall(r'name="seen" value="([\w-]+)"', self.page(path))[0])

    def told(self, answer: Reply) -> str:
        """Return the page that an act led to."""
        assert answer.status == 303, answer.body[:2_000]
        return self.page(answer.headers["location"].removeprefix(self.cockpit.names.cockpit))

    @contextmanager
    def at_work(self, studio: str, name: str) -> Iterator[None]:
        """Have an entry open as it was saved last; discard what was not saved after the block."""
        work = f"{studio}/works/{name}"
        assert self.post(f"{studio}/entries/open", name=name).headers["location"].endswith(work)
        yield
        assert "is discarded" in self.told(self.post(f"{work}/discard", seen=self.seen(work)))


@contextmanager
def serving(
    place: Path,
    rates: Rates = UNLIMITED,
    pictures: PagePictures | None = None,
    unfound: UnfoundSearches | None = None,
    schedule: Path | None = None,
) -> Iterator[Cockpit]:
    """Serve a cockpit of the crawls in a folder, in a thread, until the block ends. What it starts is forked."""
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    listening = Listening(port=port)
    settings = ServiceSettings(
        Catalog([place]), tokens=Tokens(CALLERS), rates=rates, log=ServiceLog(place / SERVICE_LOG)
    )
    names = names_of(listening, Published())
    sign_in = SignIn(settings.tokens.caller, None, LOCAL, has_tokens=True)
    instruments = Instruments.of(CrawlRegistry.of(settings.catalog, settings.shared), pictures, unfound, schedule)
    app = assembled(settings, instruments, names, sign_in)
    pages = Site.of(instruments, sign_in, names, lambda path, _: path)
    routes = [
        route for made in (*ROUTES, studio_routes.routes) for route in made(pages).routes if isinstance(route, Route)
    ]
    server = Server(server_config(app, listening, UnfinishedHeads()), instruments.live)
    thread = threading.Thread(target=uvicorn.Server.run, args=(server,), kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.005)
        assert thread.is_alive()
    try:
        with crawls_forked():
            yield Cockpit(names, port, sign_in, routes, place)
    finally:
        server.should_exit = True
        thread.join(PATIENCE)
        listener.close()


@dataclass
class Visit:
    """A browser that is signed in: its page, all URLs that it asked for, and what its console said was wrong."""

    cockpit: Cockpit
    context: BrowserContext
    page: Page
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    @property
    def client(self) -> Client:
        """Whoever is signed in, without the browser."""
        return Client(self.cockpit, self.context.cookies()[0]["value"])

    def goto(self, path: str) -> Page:
        """Go to a page of the cockpit."""
        self.page.goto(f"{self.cockpit.names.cockpit}{path}")
        return self.page

    def listen(self, said: ConsoleMessage) -> None:
        """Note what the console says is wrong, but for what archived pages bring about in their frame."""
        url = str(said.location.get("url"))
        is_of_archive = url.startswith(f"{self.cockpit.names.replay}/") or said.text.startswith(OTHER_ORIGIN)
        if said.type in ("error", "warning") and not is_of_archive:
            self.wrong.append(f"{url}: {said.text}")

    def strange(self) -> list[str]:
        """Return the requests that went anywhere but to the cockpit and the replay."""
        known = tuple(f"{origin}/" for origin in (self.cockpit.names.cockpit, self.cockpit.names.replay))
        return [url for url in self.asked if not url.startswith((*known, "data:", "about:", "blob:"))]


@contextmanager
def visiting(browser: Browser, cockpit: Cockpit, token: str = OPERATOR, **options: Any) -> Iterator[Visit]:
    """Open a browser of its own that is signed in with a token, or with the code where that is empty."""
    with watching(browser, cockpit, **options) as visit:
        cookie = {"name": COOKIE, "value": cockpit.entered(token), "url": cockpit.names.cockpit}
        visit.context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])  # type: ignore[typeddict-item]
        yield visit


@contextmanager
def watching(browser: Browser, cockpit: Cockpit, **options: Any) -> Iterator[Visit]:
    """Open a browser that nobody has signed in."""
    context = patient(browser.new_context(**{"viewport": {"width": 1280, "height": 800}, **options}))
    visit = Visit(cockpit, context, context.new_page())
    context.on("request", lambda request: visit.asked.append(request.url))
    context.on("console", visit.listen)
    context.on("weberror", lambda error: visit.wrong.append(str(error.error)))
    try:
        yield visit
    finally:
        context.close()


@cache
def _axe() -> str:
    return _AXE.read_text("utf-8")


_NEW_LOOKS = r"""known => {
  const looks = new Map(), found = new Map();
  const hash = text => [...text].reduce((sum, sign) => Math.imul(31, sum) + sign.codePointAt(0) | 0, 0);
  const look = each => {
    if (!looks.has(each)) {
      const style = getComputedStyle(each), above = each.parentElement ? look(each.parentElement) : 0;
      looks.set(each, hash([above, each.localName, each.getAttribute("class"), each.matches(":disabled"), style.color,
        style.backgroundColor, style.backgroundImage, style.opacity, style.position, style.textShadow, style.fontSize,
        style.fontWeight].join(";")));
    }
    return looks.get(each);
  };
  for (const each of document.body.querySelectorAll("*")) {
    const hasText = [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if ((hasText || each.matches("input, select, textarea")) && each.checkVisibility()) found.set(look(each), each);
  }
  known.forEach(each => found.delete(each));
  return found;
}"""
"""All that the contrast of a text depends on, of the element and of those around it; one element of each new look."""
_RUN_AXE = f"""async known => {{
  const run = async (context, options) => (await axe.run(context, {{
    iframes: false, resultTypes: ["violations"], ...options
  }})).violations;
  const looks = ({_NEW_LOOKS})(known), rule = "color-contrast";
  const pale = looks.size ? await run({{ include: [...looks.values()] }}, {{ runOnly: [rule] }}) : [];
  const found = [...pale, ...await run(document, {{ rules: {{ [rule]: {{ enabled: false }} }} }})];
  return [found.map(each => [each.id, each.help, each.nodes.map(node => node.html.slice(0, 300))]),
    pale.length ? [] : [...looks.keys()]];
}}"""
_good_looks = set[int]()
"""The looks of texts whose contrast axe-core has judged to be enough."""


def violations(page: Page) -> Sequence[Any]:
    """Return what axe-core finds wrong with the page as it is shown now. Its policy stays.

    Contrast, which takes it most of the time, is judged once for all texts that look the same on pages of this process.
    """
    if not page.evaluate("typeof axe === 'object'"):
        page.evaluate(_axe())
    found, looks = page.evaluate(_RUN_AXE, list(_good_looks))
    _good_looks.update(looks)
    return list[Any](found)


_SPILT = """() => {
  const width = document.scrollingElement.clientWidth;
  if (document.scrollingElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")].filter(each => each.getBoundingClientRect().right > width + 1)
    .map(each => each.outerHTML.slice(0, 120)).slice(0, 8);
}"""


def spilt(page: Page) -> Sequence[str]:
    """Return the elements for which a page would have to be scrolled sideways; none where nothing has to be."""
    found: Sequence[str] = page.evaluate(_SPILT)
    return found


def length_of(page: Page) -> int:
    """Return how many pixels a page is long, as it is shown now."""
    return int(page.evaluate("document.scrollingElement.scrollHeight"))


def shoot(page: Page, name: str) -> None:
    """Keep a picture of a page in ``.cache/tests/screenshots`` where ``AAH_SCREENSHOTS`` asks for that."""
    if os.environ.get(SHOTS):
        _SHOTS.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=_SHOTS / f"{name}.png", full_page=True)


def told(page: Page) -> str:
    """Return what a page says came of the last act."""
    return page.locator(".note[role=status]").first.inner_text()


def dumped(value: object) -> str:
    """Return a value as JSON, for messages of tests that fail."""
    return json.dumps(value, indent=1, ensure_ascii=False)

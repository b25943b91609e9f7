"""Pages are looked at as a person would, and what they ask for is known by its kind."""

import json
import struct
from collections.abc import Mapping
from dataclasses import replace

import pytest

from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.browser.visits import bounded_upstream
from aahcrawler.browser.visits.rendered_page import ConsoleLine, Cookie, VisitOrder
from knowledge_base.behaviours import Act, Behaviour, BehaviourStep
from knowledge_base.selectors import compile_selector
from tests.browser.visiting import AGENT, HOME, Answer, Given, Visited, Visitor, ordered, visitor

__all__ = ["visitor"]
pytestmark = [pytest.mark.starts, pytest.mark.slow]

_SCRIPTED = """<!doctype html><title>Board</title><link rel=stylesheet href=/style.css><img src=/dot.svg>
<div id=open></div><div id=closed></div><style id=empty></style><p hidden>hidden</p>
<script src=/app.js></script>"""
_APP = """
fetch("/api?page=1").then(r => r.json()).then(items => {
  for (const item of items) { const p = document.createElement("p"); p.textContent = item; document.body.append(p); }
});
const asked = new XMLHttpRequest(); asked.open("GET", "/xhr"); asked.send();
fetch("/post", { method: "POST", body: "q=1" }).catch(() => 0);
document.getElementById("open").attachShadow({ mode: "open" }).innerHTML = "<b>in the open</b>";
document.getElementById("closed").attachShadow({ mode: "closed" }).innerHTML = "<b>behind doors</b>";
document.getElementById("empty").sheet.insertRule("p { color: red }");
const sheet = new CSSStyleSheet(); sheet.replaceSync("b { color: blue }"); document.adoptedStyleSheets = [sheet];
console.log("hello", 1, "\\ud800"); console.warn("careful");
console.log(JSON.stringify([navigator.userAgent, navigator.languages, navigator.webdriver, innerWidth, innerHeight,
  devicePixelRatio, new Date().getTimezoneOffset(), matchMedia("(prefers-reduced-motion)").matches]));
history.pushState({}, "", "/board/1");
setTimeout(() => { throw new Error("uncaught " + "x".repeat(5000)); }, 50);
"""
_WORKED = """<!doctype html><iframe src="https://other.test/frame"></iframe><button id=wait>wait</button><script>
document.getElementById("wait").onclick = () => document.body.append("Not everything is there yet. ");
const worked = new Promise(done => { new Worker("/worker.js").onmessage = e => { document.title = e.data; done(); }; });
navigator.serviceWorker.register("/sw.js");
const crossed = fetch("https://api.test/cross", { method: "PUT", headers: { "X-A": "1" } }).catch(() => 0);
Promise.all([worked, navigator.serviceWorker.ready, crossed]).then(() => document.getElementById("wait").remove());
</script>"""
_UNTIL_ALL_IS_THERE = (Behaviour("wait", (BehaviourStep(Act.CLICK, (compile_selector(css="#wait"),), pause=1.0),)),)
"""A visit waits for no worker by itself: how soon a browser starts one, and asks before a request to another site,
depends on what else the machine does."""
_CORS = tuple(
    (f"Access-Control-Allow-{what}", allowed)
    for what, allowed in {"Origin": "*", "Methods": "PUT", "Headers": "X-A"}.items()
)
_JSON = "application/json"
_JAVASCRIPT = "text/javascript"
_RELOADED = """<!doctype html><script>
if (!document.cookie.includes("seen=")) { document.cookie = "seen=yes"; location.reload(); }
</script>"""
_TAMPERED = """<!doctype html><title>Real</title><form name=querySelectorAll><input name=body></form><img name=title>
<p>kept</p><script>
for (const name of ["outerHTML", "innerHTML", "textContent", "children"]) {
  for (const kind of [Element, Node, ShadowRoot]) {
    Object.defineProperty(kind.prototype, name, { get() { return "forged"; } });
  }
}
Document.prototype.querySelectorAll = () => { throw new Error("forged"); };
globalThis.setTimeout = () => 0; globalThis.Promise = class {}; performance.now = () => 0;
JSON.stringify = () => "forged"; globalThis.MutationObserver = null; globalThis.finish = () => "forged";
</script>"""
_LATE = """<!doctype html><img src="http://ads.test/pixel.gif"><script>
fetch("/poll"); new EventSource("/events"); setInterval(() => navigator.sendBeacon("/beacon"), 200);
setInterval(() => fetch("/tick").then(r => r.text()), 150);
setTimeout(() => { document.body.append("came late"); }, 300);
</script>"""


def _session(request: BrowserRequest) -> str:
    sent = dict(request.headers).get("Cookie", "")
    return f"{_RELOADED}<p>{sent}</p>" if "seen=" in sent else _RELOADED


_SITES: Mapping[str, tuple[Mapping[str, Answer], VisitOrder | None]] = {
    "scripted": (
        {
            HOME: _SCRIPTED,
            f"{HOME}app.js": Given(_APP, _JAVASCRIPT),
            f"{HOME}api?page=1": Given('["one", "two"]', _JSON, seconds=0.3),
            f"{HOME}xhr": Given("{}", _JSON),
            f"{HOME}style.css": Given("p { margin: 0 }", "text/css"),
            f"{HOME}dot.svg": Given("<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        },
        VisitOrder(HOME, AGENT, languages=("de", "en")),
    ),
    "worked": (
        {
            "https://safe.test/": _WORKED,
            "https://other.test/frame": "<script>fetch('/inner')</script>",
            "https://other.test/inner": "x",
            "https://safe.test/worker.js": Given(
                "fetch('/of-worker').then(r => r.text()).then(postMessage)", _JAVASCRIPT
            ),
            "https://safe.test/of-worker": "from the worker",
            "https://safe.test/sw.js": Given("oninstall = e => e.waitUntil(fetch('/of-service'))", _JAVASCRIPT),
            "https://safe.test/of-service": "x",
            "https://api.test/cross": Given("x", fields=_CORS),
        },
        replace(ordered("https://safe.test/"), reading_only=False, behaviours=_UNTIL_ALL_IS_THERE),
    ),
    "reloaded": (
        {HOME: _session},
        replace(
            ordered(),
            cookies=(
                Cookie("given", "1", "site.test", http_only=True),
                Cookie("wide", "2", ".site.test"),
                Cookie("elsewhere", "3", "other.test"),
            ),
        ),
    ),
    "tampered": ({HOME: _TAMPERED}, None),
    "late": (
        {
            HOME: _LATE,
            f"{HOME}poll": Given("x", seconds=60),
            f"{HOME}events": Given("x", "text/event-stream", seconds=60),
            f"{HOME}beacon": "",
            f"{HOME}tick": "",
            "http://ads.test/pixel.gif": Given(b"", "image/gif", seconds=60),
        },
        None,
    ),
    "scrolled": (
        {
            HOME: """<!doctype html><div style="height: 3000px"></div><p id=end>end</p><script>
              let n = 0;
              new IntersectionObserver(seen => { if (seen[0].isIntersecting && n < 2) fetch("/more?" + n++)
                .then(r => r.text()).then(t => end.insertAdjacentHTML("beforebegin", t)); }).observe(end);
            </script>""",
            f"{HOME}more?0": "<p>first</p><div style='height: 3000px'></div>",
            f"{HOME}more?1": "<p>second</p><div style='height: 3000px'></div>",
        },
        replace(ordered(), behaviours=(Behaviour("scroll", (BehaviourStep(Act.SCROLL),)),)),
    ),
    "alone": ({HOME: _RELOADED + "<p>x"}, None),
}


@pytest.fixture(scope="module")
def visited(visitor: Visitor) -> dict[str, Visited]:
    with pytest.MonkeyPatch.context() as patient:  # How soon a target announces depends on what else the machine does.
        patient.setattr(bounded_upstream, "_BUSY_PATIENCE", 60.0)
        return visitor.visit_all(_SITES)


def test_a_page_that_scripts_make_is_taken_as_it_is_shown(visited: dict[str, Visited]) -> None:
    page, dom = visited["scripted"].rendered, visited["scripted"].dom
    assert page.ended == "settled"
    assert (page.title, page.url) == ("Board", f"{HOME}board/1")
    assert dom.startswith("<!DOCTYPE html><html><head><title>Board</title>")
    assert "<p>one</p><p>two</p>" in dom
    assert '<div id="open"><template shadowrootmode="open"><b>in the open</b></template></div>' in dom
    assert '<div id="closed"><template shadowrootmode="closed"><b>behind doors</b></template></div>' in dom
    assert '<style id="empty">p { color: red; }</style>' in dom
    assert "<style>b { color: blue; }</style>" in dom
    assert '<p hidden="">hidden</p>' in dom
    assert page.screenshot.startswith(b"\x89PNG")
    assert struct.unpack(">II", page.screenshot[16:24]) == (1280, 1024)
    assert page.thumbnail.startswith(b"\xff\xd8")
    assert len(page.thumbnail) < 10_000


def test_the_browser_says_who_it_is_and_where_it_looks_from(visited: dict[str, Visited]) -> None:
    page, web = visited["scripted"].rendered, visited["scripted"].web
    assert ConsoleLine("log", "hello 1 \ufffd", f"{HOME}app.js") in page.console
    assert ConsoleLine("warning", "careful", f"{HOME}app.js") in page.console
    [error] = [line for line in page.console if line.level == "error" and "uncaught" in line.text]
    assert len(error.text) == 1_000
    said = json.loads(next(line.text for line in page.console if AGENT in line.text))
    assert said == [AGENT, ["de", "en"], True, 1280, 1024, 1, 0, True]
    fields = dict(web.asked[0].headers)
    assert fields["User-Agent"] == AGENT
    assert fields["Accept-Language"].startswith("de,en")
    assert not any("Headless" in value for request in web.asked for _, value in request.headers)


def test_the_upstream_knows_what_each_request_is_for(visited: dict[str, Visited]) -> None:
    asked = visited["scripted"].web.asked_as()
    assert asked["GET", HOME] == ("Document", "other")
    assert asked["GET", f"{HOME}app.js"] == ("Script", "parser")
    assert asked["GET", f"{HOME}style.css"] == ("Stylesheet", "parser")
    assert asked["GET", f"{HOME}dot.svg"] == ("Image", "parser")
    assert asked["GET", f"{HOME}api?page=1"] == ("Fetch", "script")
    assert asked["GET", f"{HOME}xhr"] == ("XHR", "script")
    assert ("POST", f"{HOME}post") not in asked  # The order is to read only.
    page = visited["scripted"].rendered
    assert page.refused["method"] == 1
    outcomes = {note.url: note.outcome for note in page.requests}
    assert outcomes[f"{HOME}api?page=1"] == "200"


def test_frames_of_other_sites_and_workers_are_looked_at_from_their_beginning(visited: dict[str, Visited]) -> None:
    asked = visited["worked"].web.asked_as()
    assert visited["worked"].rendered.title == "from the worker"
    assert asked["GET", "https://other.test/frame"] == ("Document", "parser")
    assert asked["GET", "https://other.test/inner"] == ("Fetch", "script")
    assert asked["GET", "https://safe.test/worker.js"][0] == "Script"
    assert asked["GET", "https://safe.test/of-worker"] == ("Fetch", "script")
    assert asked["GET", "https://safe.test/sw.js"][0] == "Script"
    assert asked["GET", "https://safe.test/of-service"] == ("Fetch", "script")
    assert asked["OPTIONS", "https://api.test/cross"][0] == "Preflight"
    assert asked["PUT", "https://api.test/cross"] == ("Fetch", "script")
    assert {dict(request.headers)["User-Agent"] for request in visited["worked"].web.asked} == {AGENT}


def test_a_page_may_set_a_cookie_and_load_again(visited: dict[str, Visited]) -> None:
    page = visited["reloaded"].rendered
    assert "<p>given=1; wide=2; seen=yes</p>" in visited["reloaded"].dom
    cookies = {(cookie.name, cookie.domain, cookie.http_only) for cookie in page.cookies}
    assert ("given", "site.test", True) in cookies
    assert ("wide", ".site.test", False) in cookies
    assert ("seen", "site.test", False) in cookies
    # Nothing is left of one visit for another.
    assert {cookie.name for cookie in visited["alone"].rendered.cookies} == {"seen"}


def test_scripts_of_a_page_cannot_forge_what_is_taken(visited: dict[str, Visited]) -> None:
    page, dom = visited["tampered"].rendered, visited["tampered"].dom
    assert page.title == "Real"
    assert "<p>kept</p>" in dom
    assert page.ended == "settled"


def test_what_never_ends_is_not_waited_for(visited: dict[str, Visited]) -> None:
    page = visited["late"].rendered
    assert page.ended == "settled"
    assert "came late" in visited["late"].dom


def test_behaviours_act_and_what_they_load_is_taken(visited: dict[str, Visited]) -> None:
    page, dom = visited["scrolled"].rendered, visited["scrolled"].dom
    assert "<p>first</p>" in dom
    assert "<p>second</p>" in dom
    assert [(note.name, note.ended) for note in page.behaviours] == [("scroll", "nothing more")]

"""Pages that want more than to be looked at get nothing, cost no more than the bounds, and are kept all the same."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.browser.process.devtools_connection import BrowserCrashedError, DevToolsError, PageCrashedError
from aahcrawler.browser.process.process_tree import descendants
from aahcrawler.browser.visits.rendered_page import VisitFailedError, VisitOrder
from aahcrawler.browser.visits.visited_page import DOM_BYTES, VisitedPage
from tests.browser.visiting import HOME, Answer, Given, Visited, Visitor, Web, ordered, visitor

__all__ = ["visitor"]
pytestmark = [pytest.mark.starts, pytest.mark.slow]

_NAVIGATING = """<!doctype html><title>Here</title>
<a id=link href="/linked">x</a><form id=form method=post action="/posted"></form><p>still here<script>
const turns = [
  () => { location = "/elsewhere"; }, () => { location.replace("https://other.test/"); }, () => link.click(),
  () => form.submit(), () => { location = "about:blank"; },
  () => { location = URL.createObjectURL(new Blob(["gone"], { type: "text/html" })); },
  () => { location = "file:///etc/passwd"; }, () => { location = "chrome://crash"; }, () => history.back(),
];
const turn = () => { turns.shift()(); if (turns.length) setTimeout(turn, 150); };
setTimeout(turn, 50);
</script>"""
_LEAVING = "<!doctype html><title>Left</title><p>early<script>location = '/elsewhere'</script><p>and more"
_RELOADING = "<!doctype html><p>again<script>setTimeout(() => location.reload(), 100)</script>"
_OPENING = """<!doctype html><meta http-equiv=refresh content="0;url=/refreshed"><p>opener<script>
for (let n = 0; n < 199; n += 1) { window.open("/popup" + n, "_blank", "width=100"); }
</script>"""
_TALKING = """<!doctype html><p>talker<script>
addEventListener("beforeunload", e => { e.preventDefault(); e.returnValue = "stay"; });
const said = [alert("a"), confirm("b"), prompt("c", "d")];
document.title = JSON.stringify(said);
let more = 5;
const timer = setInterval(() => { alert("more"); more -= 1; if (!more) clearInterval(timer); }, 20);
</script>"""
_DOWNLOADING = """<!doctype html><p>downloader<iframe src="/file.zip"></iframe><a id=link download="x.txt"
href="data:text/plain,x">x</a><script>link.click();</script>"""
_ASKING = """<!doctype html><iframe src="file:///etc/passwd"></iframe><img src="file:///etc/hostname"><p>asker<script>
const told = (name, promise) => promise.then(v => console.log(name, "got", v), e => console.log(name, e.name));
navigator.geolocation.getCurrentPosition(() => console.log("geolocation got"), e => console.log("geolocation", e.code));
told("camera", navigator.mediaDevices.getUserMedia({ video: true }));
told("clipboard", navigator.clipboard.readText());
for (const url of ["http://127.0.0.1:9222/json", "http://169.254.169.254/", "http://[::1]/", "http://localhost/"]) {
  told(url, fetch(url, { mode: "no-cors" }));
}
new WebSocket("wss://site.test/socket").onerror = () => console.log("socket closed");
try { new RTCPeerConnection({}); console.log("webrtc got"); } catch (e) { console.log("webrtc", e.name); }
document.body.insertAdjacentHTML("beforeend", "<input type=file id=file>");
file.showPicker?.call ? (() => { try { file.showPicker(); } catch (e) { console.log("picker", e.name); } })() : 0;
print(); document.documentElement.requestFullscreen().catch(e => console.log("fullscreen", e.name));
</script>"""
_LOOPING = "<!doctype html><title>Loop</title><p>before<script>setTimeout(() => { for (;;); }, 300)</script>"
_LOOPING_AT_ONCE = "<!doctype html><title>Loop</title><p>before<script>for (;;);</script>"
_GROWING = """<!doctype html><title>Growth</title><script>
setInterval(() => { for (let n = 0; n < 100; n += 1) document.body.append(document.createElement("p")); }, 50);
</script>"""
_LARGE = f"""<!doctype html><title>Large</title><p>first<div id=part hidden></div><script>
for (let n = 0; n < {DOM_BYTES // 200}; n += 1) {{ part.append("é".repeat(100), document.createElement("hr")); }}
</script>"""
_GREEDY = """<!doctype html><p>greedy<script>
for (let n = 0; n < 5000; n += 1) { fetch("/n" + n).catch(() => 0); }
</script>"""
_HUNGRY = _GREEDY.replace("5000", "70").replace("greedy", "hungry")
_WASTING = """<!doctype html><p>wasting<script>
(async () => { for (;;) { await fetch("/large?" + Math.random()); } })();
</script>"""
_CHATTING = """<!doctype html><p>chatting<script>
for (let n = 0; n < 1000; n += 1) { console.log("line " + n); }
</script>"""


_EATING = """<!doctype html><p>eating<script>
const eaten = [];
fetch("/never");
setInterval(() => { const more = new Uint8Array(64 << 20); more.fill(7); eaten.push(more); }, 150);
</script>"""
_LATE = """<!doctype html><p id=late>not yet<script>
fetch("/late").then(() => { late.outerHTML = "<p>it came"; });
</script>"""
_NESTED = """<!doctype html><p>nested<script>
let at = document.body;
for (let n = 0; n < 3000; n += 1) {
  const host = document.createElement("div");
  at.append(host);
  at = host.attachShadow({ mode: "open" });
}
</script>"""


class _Large(dict[str, Answer]):
    """A web in which each address has a large answer, but for those that it names."""

    def get(self, url: str, default: object = None) -> Answer:  # noqa: ARG002
        return super().get(url) or Given("x" * 1_000_000, "text/plain")


SAFE = HOME.replace("http", "https")
_LONG = 300
"""Seconds for pages that come to rest by themselves, however busy the machine is."""
_ARCHIVE = Given("PK", "application/zip", fields=(("Content-Disposition", "attachment; filename=file.zip"),))
_SITES: Mapping[str, tuple[Mapping[str, Answer], VisitOrder | None]] = {
    "navigating": ({HOME: _NAVIGATING}, ordered(seconds=_LONG)),
    "leaving": ({HOME: _LEAVING}, ordered(seconds=_LONG)),
    "reloading": ({HOME: _RELOADING}, ordered(seconds=_LONG)),
    "opening": ({HOME: _OPENING}, ordered(seconds=_LONG)),
    "talking": ({HOME: _TALKING}, ordered(seconds=_LONG)),
    "downloading": ({HOME: _DOWNLOADING, f"{HOME}file.zip": _ARCHIVE}, ordered(seconds=_LONG)),
    "asking": ({SAFE: _ASKING}, ordered(SAFE, seconds=_LONG)),
    "looping": ({HOME: _LOOPING}, ordered(seconds=6)),
    "looping at once": ({HOME: _LOOPING_AT_ONCE}, ordered(seconds=2)),
    "growing": ({HOME: _GROWING}, ordered(seconds=6)),
    "large": ({HOME: _LARGE}, ordered(seconds=_LONG)),
    "greedy": ({HOME: _GREEDY}, ordered(requests=50, seconds=_LONG)),
    "hungry": ({HOME: _HUNGRY}, ordered(requests=50, seconds=_LONG)),
    "wasting": (_Large({HOME: _WASTING}), ordered(bytes=5_000_000)),
    "chatting": ({HOME: _CHATTING}, ordered(seconds=_LONG)),
}
_COSTLY = ("looping", "looping at once", "growing", "large", "greedy", "wasting", "chatting")


@pytest.fixture(scope="module")
def visited(visitor: Visitor) -> dict[str, Visited]:
    """Visit those that cost little at once, and the others one after another."""
    cheap = {name: site for name, site in _SITES.items() if name not in _COSTLY}
    return visitor.visit_all(cheap) | {name: visitor.visit(*_SITES[name]) for name in _COSTLY}


def test_a_page_stays_where_it_is_and_where_it_wanted_to_go_is_noted(visited: dict[str, Visited]) -> None:
    page, web = visited["navigating"].rendered, visited["navigating"].web
    assert "still here" in visited["navigating"].dom
    assert page.title == "Here"
    assert page.url == HOME
    assert set(page.leads_to) == {f"{HOME}{path}" for path in ("elsewhere", "linked")} | {"https://other.test/"}
    assert page.refused["navigation"] >= len(page.leads_to)
    assert {request.url for request in web.asked} <= {HOME, f"{HOME}favicon.ico"}


def test_a_page_that_would_leave_before_it_is_parsed_is_not_waited_for_to_the_end(visited: dict[str, Visited]) -> None:
    page = visited["leaving"].rendered
    assert (page.title, page.ended, page.leads_to) == ("Left", "settled", (f"{HOME}elsewhere",))
    assert page.seconds < _LONG / 4


def test_a_page_is_loaded_again_a_few_times_only(visited: dict[str, Visited]) -> None:
    assert sum(request.url == HOME for request in visited["reloading"].web.asked) == 4
    assert visited["reloading"].rendered.refused["reload"] >= 1
    assert "again" in visited["reloading"].dom


def test_windows_are_not_opened_but_noted(visited: dict[str, Visited]) -> None:
    page = visited["opening"].rendered
    assert page.refused["window"] == 199
    assert len(page.leads_to) == 200
    assert {f"{HOME}popup0", f"{HOME}refreshed"} < {*page.leads_to}
    assert not any("popup" in request.url for request in visited["opening"].web.asked)


def test_dialogs_are_closed(visited: dict[str, Visited]) -> None:
    page = visited["talking"].rendered
    assert page.title == "[null,false,null]"
    assert page.refused["dialog"] >= 3
    assert "talker" in visited["talking"].dom


def test_nothing_is_downloaded(visited: dict[str, Visited]) -> None:
    page = visited["downloading"].rendered
    assert "downloader" in visited["downloading"].dom
    assert page.refused["download"] >= 1


def test_permissions_files_and_other_ways_to_the_network_are_denied(visited: dict[str, Visited]) -> None:
    page, web = visited["asking"].rendered, visited["asking"].web
    said = {line.text for line in page.console if line.level == "log"}
    assert not any(" got" in line for line in said)
    assert {"geolocation 1", "camera NotFoundError", "clipboard NotAllowedError"} <= said
    assert {"webrtc NotAllowedError", "socket closed", "http://127.0.0.1:9222/json TypeError"} <= said
    assert page.refused["webrtc"] == 1
    assert page.refused["websocket"] == 1
    assert page.refused["print"] == 1
    assert not any(request.url.startswith("file:") for request in web.asked)
    assert "root:" not in visited["asking"].dom


def test_a_page_that_loops_is_taken_as_far_as_it_came(visited: dict[str, Visited]) -> None:
    page = visited["looping"].rendered
    assert (page.ended, page.title) == ("time", "Loop")
    assert "<p>before" in visited["looping"].dom
    assert page.refused["endless script"] == 1
    at_once = visited["looping at once"]
    assert at_once.page is None or "<p>before" in at_once.dom
    assert at_once.page is not None or isinstance(at_once.error, VisitFailedError)


def test_a_page_that_grows_ends_with_the_time_and_a_large_one_is_cut(visited: dict[str, Visited]) -> None:
    growing, large = visited["growing"].rendered, visited["large"].rendered
    assert growing.ended == "time"
    assert growing.dom.count(b"<p>") > 100
    assert DOM_BYTES - 1_000 < len(large.dom) <= DOM_BYTES
    assert large.dom.endswith(b">")
    assert large.refused["dom bytes"] == 1


def test_requests_beyond_the_bound_are_refused_and_counted(visited: dict[str, Visited]) -> None:
    page, web = visited["hungry"].rendered, visited["hungry"].web
    assert page.ended == "requests"
    assert len(web.asked) == 50
    assert len(page.requests) == 50
    assert page.refused["requests"] >= 21
    assert "hungry" in visited["hungry"].dom


def test_a_page_that_asks_without_end_is_taken_as_it_is(visited: dict[str, Visited]) -> None:
    page, web = visited["greedy"].rendered, visited["greedy"].web
    assert page.ended == "requests"
    assert 0 < len(page.requests) <= len(web.asked) <= 50  # Those that are under way as it is taken come no more.
    assert page.refused["requests"] >= 100
    assert "greedy" in visited["greedy"].dom


def test_a_page_is_captured_while_its_scripts_are_ended_already(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, evaluate, sent = VisitedPage.call, VisitedPage.evaluate, Counter[str]()

    async def as_one_is_under_way(page: VisitedPage, method: str, params: Mapping[str, Any] | None = None) -> object:
        sent[method] += 1
        if method == "Runtime.terminateExecution":
            raise DevToolsError("There is current termination request in progress")
        return await call(page, method, params)

    async def ended(page: VisitedPage, expression: str, *where: str) -> object:
        sent[expression] += 1
        if expression == "finish()" and sent[expression] == 1:
            raise TimeoutError
        if sent["Runtime.terminateExecution"] and sent["ended"] == 0:
            sent["ended"] += 1
            raise DevToolsError("Execution was terminated")
        return await evaluate(page, expression, *where)

    monkeypatch.setattr(VisitedPage, "call", as_one_is_under_way)
    monkeypatch.setattr(VisitedPage, "evaluate", ended)
    page = visitor.visit({HOME: "<title>Here</title><p>here"}).rendered
    assert sent["ended"] == 1
    assert page.title == "Here"
    assert page.refused["endless script"] == 1
    assert b"<p>here" in page.dom


def test_bytes_beyond_the_bound_are_not_taken(visited: dict[str, Visited]) -> None:
    page, web = visited["wasting"].rendered, visited["wasting"].web
    assert page.ended == "bytes"
    assert len(web.asked) <= 8
    assert page.refused["bytes"] >= 1


def test_the_console_is_kept_as_far_as_it_is_bounded(visited: dict[str, Visited]) -> None:
    console = visited["chatting"].rendered.console
    assert [line.text for line in console] == [f"line {n}" for n in range(200)]


def test_a_page_that_eats_memory_ends_itself_and_no_other_page(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path)
    others = [f"http://site{number}.test/" for number in range(3)]

    async def visit() -> tuple[Visited, list[Visited]]:
        pages: dict[str, Answer] = {HOME: _EATING, f"{HOME}never": Given("x", seconds=60)}
        eating = asyncio.ensure_future(visitor.visiting(pages, ordered(seconds=60)))
        seen = []
        while not eating.done():
            late = Given("x", seconds=0.5)
            seen += await asyncio.gather(*(visitor.visiting({url: _LATE, f"{url}late": late}) for url in others))
        return await eating, seen

    try:
        eaten, seen = visitor.run(visit())
    finally:
        visitor.close()
    assert isinstance(eaten.error, PageCrashedError)
    assert len(seen) >= 3
    assert all("<p>it came" in each.dom for each in seen)


def test_a_page_that_ends_its_process_ends_no_other_page(visitor: Visitor) -> None:
    other = "http://other.test/"
    seen = visitor.visit_all(
        {
            "nested": ({HOME: _NESTED}, ordered(seconds=_LONG)),
            "other": ({other: _LATE, f"{other}late": Given("x", seconds=3)}, ordered(other, seconds=_LONG)),
        }
    )
    assert seen["nested"].page is None
    assert not isinstance(seen["nested"].error, BrowserCrashedError) or isinstance(
        seen["nested"].error, PageCrashedError
    )
    assert "<p>it came" in seen["other"].dom


@pytest.mark.parametrize("kind", ["renderer", "browser"])
def test_after_a_crash_the_next_visit_has_a_browser(visitor: Visitor, kind: str) -> None:
    pages: dict[str, Answer] = {HOME: "<p>here<script>fetch('/never')</script>", f"{HOME}never": Given("x", seconds=60)}

    async def crash() -> None:
        web = Web(pages)
        visiting = asyncio.ensure_future(visitor.browser.visit(ordered(), web))
        while not any(request.url.endswith("never") for request in web.asked):
            await asyncio.sleep(0.05)
        for process in _processes(kind):
            os.kill(process, signal.SIGKILL)
        with pytest.raises(BrowserCrashedError) as crashed:
            await visiting
        assert isinstance(crashed.value, PageCrashedError) == (kind == "renderer")

    visitor.visit({HOME: "x"})
    visitor.run(crash())
    assert "<p>here" in visitor.visit({HOME: "<p>here"}).dom


def test_a_visit_that_is_called_off_leaves_nothing(visitor: Visitor) -> None:
    pages = {HOME: Given("x", seconds=60)}
    web = Web(pages)

    async def call_off() -> None:
        visiting = asyncio.ensure_future(visitor.browser.visit(ordered(), web))
        while not web.asked:
            await asyncio.sleep(0.05)
        visiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await visiting

    visitor.run(call_off())
    assert "<p>here" in visitor.visit({HOME: "<p>here"}).dom


def test_a_page_that_does_not_come_is_an_error(visitor: Visitor) -> None:
    silent = visitor.visit({HOME: Given("x", seconds=60)}, ordered(seconds=1.5))
    refused = visitor.visit({}, ordered())
    led_away = visitor.visit({HOME: Given("", status=302, fields=(("Location", "/other"),)), f"{HOME}other": "x"})
    for visited in (silent, refused, led_away):
        assert isinstance(visited.error, VisitFailedError)


def _processes(kind: str) -> list[int]:
    """Return the processes of a kind among those that this one has begun, the browser itself for ``browser``."""
    found = []
    for process in descendants(os.getpid()):
        command = Path(f"/proc/{process}/cmdline").read_bytes()
        is_browser = b"--type=" not in command and b"--remote-debugging-pipe" in command
        if is_browser if kind == "browser" else f"--type={kind}".encode() in command:
            found.append(process)
    return found

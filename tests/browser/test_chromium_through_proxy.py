"""Chromium behind the recording proxy: all that a page asks for is recorded, and the page notices nothing."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from aahcrawler.browser.network.recording_proxy import RecordingProxy, Served
from aahcrawler.browser.network.upstream import BrowserRequest, RequestRefusedError
from aahcrawler.browser.process.devtools_connection import DevTools
from aahcrawler.wire.relay import Relay
from tests.browser.chromium import empty_page, result_of, running_chromium
from tests.browser.proxied import KEY, Scripted
from tests.browser.scenarios import SCENARIOS, SITE, page_of, trial
from tests.browsing import chromium_executable

REFUSED = """
<!doctype html><link rel=icon href=data:,><body><script>(async () => {
  const told = {}, error = e => e.name;
  told.first = await fetch('/fine').then(r => r.text());
  told.refused = await fetch('/refused').catch(error);
  told.posted = await fetch('/refused', {method: 'POST', body: 'x'}).catch(error);
  told.crossing = await fetch('http://other.test/refused').catch(error);
  told.image = await new Promise(k => { const i = new Image(); i.onerror = () => k('error'); i.src = '/refused.png' });
  told.cut = await fetch('/cut').then(r => r.text()).catch(error);
  told.headers = await fetch('/fine').then(r => [...r.headers].map(h => h.join(': ')));
  window.result = JSON.stringify(told);
})()</script>"""


@pytest.mark.slow
@pytest.mark.starts
def test_all_that_a_page_asks_for_is_recorded_and_nothing_passes_by() -> None:
    executable = str(chromium_executable())

    async def run() -> None:
        async with trial(executable) as tried:
            for scenario in SCENARIOS:
                session = await empty_page(tried.devtools, tried.context)
                url = f"https://{SITE}{page_of(scenario)}"
                assert await result_of(tried.devtools, session, url) == scenario.got
                assert (set(scenario.wanted) <= set(tried.recorded)) is not scenario.refused
            reached = {request for request in tried.site.requests if ".test/" in request}
            assert reached == set(tried.recorded)

    asyncio.run(run())


async def answering(request: BrowserRequest, relay: Relay) -> None:
    match request.url.rpartition("/")[2]:
        case "":
            relay.begin(200, "OK", [("Content-Type", "text/html"), ("Content-Length", str(len(REFUSED)))])
            relay.take(REFUSED.encode())
        case "fine":
            relay.begin(200, "OK", [("Content-Type", "text/plain"), ("x-own", "1"), ("Content-Length", "4")])
            relay.take(b"fine")
        case "cut":
            relay.begin(200, "OK", [])
            relay.take(b"beginning")
            raise RequestRefusedError("length")
        case _:
            raise RequestRefusedError("scope")


@asynccontextmanager
async def browsing(folder: Path, upstream: Scripted) -> AsyncIterator[tuple[DevTools, str, Served]]:
    """Yield a browser, a browser context behind the proxy, and what is served there."""
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = RecordingProxy(listener, KEY)
    flags = [f"--ignore-certificate-errors-spki-list={KEY.spki_hash}"]
    with running_chromium(str(chromium_executable()), folder, flags) as (_, pipe):
        devtools = await DevTools.over(pipe)
        server = {"proxyServer": f"127.0.0.1:{listener.getsockname()[1]}", "proxyBypassList": "<-loopback>"}
        context = (await devtools.call("Target.createBrowserContext", server))["browserContextId"]
        async with proxy.serving(upstream) as served:
            yield devtools, context, served
        await proxy.close()
        devtools.close()


@pytest.mark.slow
@pytest.mark.starts
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_refused_requests_are_network_errors_that_are_asked_for_once(tmp_path: Path, scheme: str) -> None:
    async def run() -> None:
        upstream = Scripted(answering)
        async with browsing(tmp_path / "profile", upstream) as (devtools, context, served):
            session = await empty_page(devtools, context)
            told = await result_of(devtools, session, f"{scheme}://127.0.0.1/")
            assert told == {
                "first": "fine",
                "refused": "TypeError",
                "posted": "TypeError",
                "crossing": "TypeError",
                "image": "error",
                "cut": "TypeError",
                "headers": ["content-length: 4", "content-type: text/plain", "x-own: 1"],
            }
            # Over https the page may not ask by http at all, which the browser sees to itself.
            crossing = scheme == "http"
            assert served.counts == {"scope": 3 + crossing, "length": 1}
            assert [asked.url.partition("://")[2] for asked in upstream.asked] == [
                "127.0.0.1/",
                "127.0.0.1/fine",
                "127.0.0.1/refused",
                "127.0.0.1/refused",
                *(["other.test/refused"] if crossing else []),
                "127.0.0.1/refused.png",
                "127.0.0.1/cut",
                "127.0.0.1/fine",
            ]
            assert upstream.asked[3].body == b"x"

    asyncio.run(run())

"""Tries two ways to record what a browser asks for, scenario by scenario, against a server on loopback.

    python -m benchmarks.browser_paths [--chromium PATH] [--json FILE]

``way`` is ``proxy`` (the recording proxy in front of the wire client) or ``Fetch`` (each request is paused by the
DevTools domain of that name in every target that can be attached to, made by the same wire client, and fulfilled).

- ``recorded`` is how many of the scenario's requests were recorded; ``past`` how many reached the server by the browser
  itself, past the recorder. Of a request that is to be refused, none is to reach the server by any way.
- ``page`` says whether the page got what it would get from the server itself, else what it got; ``seconds`` until then.
- ``sent`` are fields that the recorded requests had, of those that a server may tell browsers by.
- ``recorder_mib`` and ``browser_mib`` are the most memory that was added meanwhile, of this process (which is the
  server too) and of all of the browser's, shared pages not counted.
"""

import argparse
import asyncio
import json
import os
import shutil
import socket
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from rich import box

from aahcrawler.browser.devtools.devtools_connection import DevTools
from aahcrawler.browser.network.proxy_key import ProxyKey
from aahcrawler.browser.network.recording_proxy import RecordingProxy
from aahcrawler.wire.client import IpPolicy, Timeouts, WireClient, WireSettings
from aahcrawler.wire.route import Route, Routes, Tls
from benchmarks.browser_paths_chromium import empty_page, result_of, running_chromium
from benchmarks.browser_paths_recorders import FetchRecorder, Recorder
from benchmarks.browser_paths_site import OTHER, SCENARIOS, SITE, Scenario, Site, page_of, site
from benchmarks.process_memory import private_mib, tree
from benchmarks.results import Row, report

CHROMIUM = "/usr/bin/chromium"
WAYS = ("proxy", "Fetch")
_FETCH_SECONDS = 15.0
"""Seconds that a fetch of the recorder has, which end an endless stream."""
_SETTLING = 2.0
"""Seconds that a browser is given to have started."""
_SAMPLE_EVERY = 0.1
_TOLD = ("Cookie", "Sec-Fetch-Site", "Accept-Encoding", "Accept-Language", "Origin", "Referer")


@dataclass(frozen=True, slots=True)
class Trial:
    """A browser, and who records it."""

    devtools: DevTools
    context: str
    """The browser context of pages, empty for the general one."""
    recorder: Recorder
    site: Site
    browser: int
    """The process of the browser."""


async def rows(chromium: str) -> list[Row]:
    """Return a row for each scenario and way; each has a browser of its own."""
    found = []
    for scenario in SCENARIOS:
        for way in WAYS:
            async with trial(way, chromium) as one:
                found.append(await _row(way, scenario, one))
    return found


async def _row(way: str, scenario: Scenario, trial: Trial) -> Row:
    session = await empty_page(trial.devtools, trial.context)
    await asyncio.sleep(_SETTLING)
    before = _memory(trial.browser)
    peak = [*before]
    watching = asyncio.create_task(_watch(trial.browser, peak))
    started = time.monotonic()
    got = await result_of(trial.devtools, session, f"https://{SITE}{page_of(scenario)}")
    seconds = time.monotonic() - started
    watching.cancel()
    recorded = [request for request in trial.recorder.recorded if request in scenario.wanted]
    reached = [request for request in trial.site.requests if request in scenario.wanted]
    return {
        "scenario": scenario.name,
        "way": way,
        "recorded": "" if scenario.refused else f"{len(set(recorded))} of {len(scenario.wanted)}",
        "past": max(0, len(reached) - len(recorded)),
        "page": "yes" if got == scenario.got else f"no: {json.dumps(got)[:60]}",
        "seconds": round(seconds, 2),
        "sent": ", ".join(name for name in _TOLD if name.lower() in trial.recorder.fields_of(scenario.wanted)),
        "recorder_mib": round(peak[0] - before[0]),
        "browser_mib": round(peak[1] - before[1]),
    }


@asynccontextmanager
async def trial(way: str, chromium: str) -> AsyncIterator[Trial]:
    """Run a browser and the site, and record by one of ``WAYS``."""
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        key = ProxyKey.new()
        serving = await stack.enter_async_context(site(key.context(SITE)))
        place = f"127.0.0.1:{serving.port}"
        wire = WireClient(
            WireSettings(
                folder / "spool",
                IpPolicy(True, {SITE: place, OTHER: place}),
                Timeouts(total=_FETCH_SECONDS),
                routes=Routes(Route(tls=Tls(accepts_invalid=True))),
            )
        )
        stack.push_async_callback(wire.close)
        recorder = Recorder(wire)
        # What the browser does by itself reaches the server as well, which notes it.
        flags = [
            f"--host-resolver-rules=MAP * {place}, EXCLUDE 127.0.0.1",
            f"--ignore-certificate-errors-spki-list={key.spki_hash}",
        ]
        process, pipe = stack.enter_context(running_chromium(chromium, folder / "profile", flags))
        devtools = await DevTools.over(pipe)
        stack.callback(devtools.close)
        context = ""
        if way == "proxy":
            listener = socket.create_server(("127.0.0.1", 0))
            proxy = RecordingProxy(listener, key)
            stack.push_async_callback(proxy.close)
            await stack.enter_async_context(proxy.serving(recorder))
            server = {"proxyServer": f"127.0.0.1:{listener.getsockname()[1]}", "proxyBypassList": "<-loopback>"}
            context = (await devtools.call("Target.createBrowserContext", server))["browserContextId"]
        else:
            await FetchRecorder(devtools, recorder).start()
        yield Trial(devtools, context, recorder, serving, process)


def _memory(browser: int) -> tuple[float, float]:
    return private_mib(os.getpid()), sum(map(private_mib, tree(browser)))


async def _watch(browser: int, peak: list[float]) -> None:
    while True:
        peak[:] = map(max, zip(peak, _memory(browser), strict=True))
        await asyncio.sleep(_SAMPLE_EVERY)


def main() -> None:
    """Run the trial."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chromium", default=shutil.which(CHROMIUM) or CHROMIUM)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    report(asyncio.run(rows(arguments.chromium)), arguments.json, box.MARKDOWN)


if __name__ == "__main__":
    main()

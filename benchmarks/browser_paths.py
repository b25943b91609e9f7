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
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rich import box

from aahcrawler.browser.devtools.devtools_connection import DevTools
from aahcrawler.browser.devtools.devtools_errors import DevToolsError
from aahcrawler.browser.network.proxy_key import ProxyKey
from aahcrawler.browser.network.recording_proxy import RecordingProxy
from aahcrawler.wire.client import IpPolicy, Timeouts, WireClient, WireSettings
from aahcrawler.wire.route import Route, Routes, Tls
from benchmarks.browser_paths_recorders import FetchRecorder, Recorder
from benchmarks.browser_paths_site import OTHER, SCENARIOS, SITE, Scenario, Site, page_of, site
from benchmarks.process_memory import private_mib, tree
from benchmarks.results import Row, report

CHROMIUM = "/usr/bin/chromium"
WAYS = ("proxy", "Fetch")
PATIENCE = 60.0
"""Seconds that a page has."""
_FETCH_SECONDS = 15.0
"""Seconds that a fetch of the recorder has, which end an endless stream."""
_SETTLING = 2.0
"""Seconds that a browser is given to have started."""
_SAMPLE_EVERY = 0.1
_TOLD = ("Cookie", "Sec-Fetch-Site", "Accept-Encoding", "Accept-Language", "Origin", "Referer")
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=LocalNetworkAccessChecks",  # The site is on loopback.
)


@dataclass(frozen=True, slots=True)
class _Trial:
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
            async with _trial(way, chromium) as trial:
                found.append(await _row(way, scenario, trial))
    return found


async def _row(way: str, scenario: Scenario, trial: _Trial) -> Row:
    session = await _page(trial)
    await asyncio.sleep(_SETTLING)
    before = _memory(trial.browser)
    peak = [*before]
    watching = asyncio.create_task(_watch(trial.browser, peak))
    started = time.monotonic()
    got = await _got(trial.devtools, session, f"https://{SITE}{page_of(scenario)}")
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


async def _page(trial: _Trial) -> str:
    """Open an empty page and return the session to drive it by."""
    context = {"browserContextId": trial.context} if trial.context else {}
    target = await trial.devtools.call("Target.createTarget", {"url": "about:blank"} | context)
    attached = await trial.devtools.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
    return str(attached["sessionId"])


async def _got(devtools: DevTools, session: str, url: str) -> object:
    """Have a page load a URL and return its result, or what became of it instead."""
    devtools.post("Page.navigate", {"url": url}, session)
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with suppress(DevToolsError):
            asked = {"expression": "window.result", "returnByValue": True}
            answer = await devtools.call("Runtime.evaluate", asked, session)
            if (result := answer.get("result", {}).get("value")) is not None:
                return json.loads(result)
        await asyncio.sleep(0.02)
    return "nothing"


@asynccontextmanager
async def _trial(way: str, chromium: str) -> AsyncIterator[_Trial]:
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
        process, pipe = stack.enter_context(_browser(chromium, folder / "profile", flags))
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
        yield _Trial(devtools, context, recorder, serving, process)


@contextmanager
def _browser(chromium: str, profile: Path, flags: list[str]) -> Iterator[tuple[int, tuple[int, int]]]:
    """Start Chromium; yield its process and the ends of its pipe, to write to and to read from, for others to close."""
    commands, ours_out = os.pipe()
    ours_in, answers = os.pipe()
    rights = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium refuses to run as root in its sandbox.
    shell = f'exec "$0" "$@" 3<&{commands} 4>&{answers}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", shell, chromium, *_FLAGS, *rights, f"--user-data-dir={profile}", *flags, "about:blank"],
        pass_fds=(commands, answers),
        stderr=subprocess.DEVNULL,
    )
    os.close(commands)
    os.close(answers)
    try:
        yield process.pid, (ours_out, ours_in)
    finally:
        process.kill()
        process.wait()


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

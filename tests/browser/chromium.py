"""Chromium driven over a pipe, a page at a time."""

import asyncio
import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aahcrawler.browser.process.devtools_connection import DevTools, DevToolsError

PATIENCE = 60.0
"""Seconds that a page has."""
_FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-features=LocalNetworkAccessChecks",  # The site is on loopback.
)


@contextmanager
def running_chromium(chromium: str, profile: Path, flags: list[str]) -> Iterator[tuple[int, tuple[int, int]]]:
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


async def empty_page(devtools: DevTools, context: str = "") -> str:
    """Open an empty page and return the session to drive it by, in a browser context or in the general one."""
    place = {"browserContextId": context} if context else {}
    target = await devtools.call("Target.createTarget", {"url": "about:blank"} | place)
    attached = await devtools.call("Target.attachToTarget", {"targetId": target["targetId"], "flatten": True})
    return str(attached["sessionId"])


async def result_of(devtools: DevTools, session: str, url: str) -> object:
    """Have a page load a URL and return what its script makes of ``window.result``: JSON, read."""
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

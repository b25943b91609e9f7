"""What a crawl leaves running that is killed while a browser works for it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from benchmarks.browser.crawling import Method, command, define, environment
from benchmarks.browser.exact_server import ExactServer
from benchmarks.browser.site import Site
from benchmarks.browser.tree_usage import Watch, name_of
from benchmarks.sites import BenchmarkError

_BEGINS_WITHIN: Final = 120.0
_ENDS_WITHIN: Final = 10.0
_REQUESTS: Final = 3
"""Requests after which a crawl is under way."""


def left_after_kill(site: Site, server: ExactServer, folder: Path) -> int:
    """Kill a crawl once its browser is at work; return how many of its processes still run ten seconds later.

    They are named on standard error, and ended. Raises ``BenchmarkError`` where no browser was begun.
    """
    definition = define(site, server, Method.BROWSER, folder)
    server.taken()
    with (folder / "said.txt").open("w") as said:
        process = subprocess.Popen(
            command(definition), env=dict(environment(site, folder)), stdout=said, stderr=said, start_new_session=True
        )
    watch = Watch(process.pid)
    try:
        _wait_for_browser(watch, process, server)
    finally:
        process.kill()
        process.wait()
    until = time.monotonic() + _ENDS_WITHIN
    while watch.alive() and time.monotonic() < until:
        time.sleep(0.2)
    left = watch.alive()
    for pid, _ in left:
        print(f"{site.name}: left running after kill -9: {pid} {name_of(pid)}", file=sys.stderr, flush=True)
        os.kill(pid, signal.SIGKILL)
    return len(left)


def _wait_for_browser(watch: Watch, process: subprocess.Popen[bytes], server: ExactServer) -> None:
    until = time.monotonic() + _BEGINS_WITHIN
    while process.poll() is None and time.monotonic() < until:
        watch.sample()
        renderers = [pid for pid, _ in watch.alive() if "--type=renderer" in name_of(pid)]
        if renderers and len(server.log) > _REQUESTS:
            watch.sample()
            return
        time.sleep(0.1)
    raise BenchmarkError("the crawl began no browser that could be killed with it")

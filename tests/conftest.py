"""What holds for all tests.

Properties are tried on the same few examples each time, however long these take: what is said of a change is no matter
of luck, nor of the machine. ``--hypothesis-profile=quick`` tries fewer, and ``soak`` many, new ones each time.
"""

import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from aahcrawler.frontier.protocol import FrontierUnavailableError
from aahcrawler.frontier.server.binary import server_program
from tests import browsing, collecting, forking, processes, shipped, starting

settings.register_profile(
    "steady",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=25,
    stateful_step_count=25,
)
settings.register_profile("quick", settings.get_profile("steady"), max_examples=10, stateful_step_count=20)
settings.register_profile(
    "soak", settings.get_profile("steady"), derandomize=False, max_examples=500, stateful_step_count=50
)
settings.load_profile("steady")
# Hypothesis draws constants from the source of all local modules that are imported. Which these are depends on the
# tests that run together, so a failure among all tests would not come again in one file; and to read all takes seconds.
providers._get_local_constants = lambda: providers._local_constants
pytest_addoption, pytest_runtestloop = processes.pytest_addoption, processes.pytest_runtestloop
shipped.load_once()
forking.fork_what_is_spawned()

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # So it is for what a shell runs in the background, and would be for all processes that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config: pytest.Config) -> None:
    """Have the marker ``starts`` set and held to in doctests of the packages, too; let all tests have a browser."""
    config.pluginmanager.register(collecting)
    config.pluginmanager.register(starting)
    config.pluginmanager.register(browsing)


def pytest_report_header() -> str:
    """Say which servers of frontiers the tests run with."""
    try:
        server = str(server_program(Path()).server)
    except FrontierUnavailableError as error:
        server = str(error)
    on_path = next(filter(None, map(shutil.which, ("redis-server", "valkey-server"))), "none")
    return f"frontiers: {server}; tests/frontier also with that of the PATH: {on_path}"

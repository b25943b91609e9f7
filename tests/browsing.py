"""A browser for tests: Debian's Chromium, driven by Playwright, without a window.

A test takes the fixture ``chromium``. Where there is no Chromium it is skipped, which the reason says; where ``CI`` is
set, it fails. ``AAH_CHROMIUM`` names another executable. Pages of the project's own are looked at in Chromium's
headless shell, where there is one: it has the same engine, and a start takes a quarter of the processor time.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

CHROMIUM = "/usr/bin/chromium"
SHELL = "/usr/bin/chromium-headless-shell"
PATIENCE = 300_000
"""Milliseconds for which a page is waited for; Playwright's own five seconds are few on a busy machine."""
_NAMED = "AAH_CHROMIUM"
_MISSING = (
    "{} is no executable: install Debian's package chromium (apt-get install chromium), or name one in AAH_CHROMIUM"
)

_SANDBOX = """
import ctypes, os, sys
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
sys.exit(ctypes.CDLL(None).unshare(0x10000000) != 0)  # CLONE_NEWUSER
"""
"""Tells by its exit code whether somebody else than root may make a user namespace, as Chromium's sandbox does."""


# While Playwright runs, its event loop counts as that of this thread: no other test of the session could have its own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yield a browser; each test opens contexts of its own, which share nothing, and closes them."""
    with launched() as browser:
        yield browser


@contextmanager
def launched() -> Iterator[Browser]:
    """Start a browser for the block; skip the test, or fail, where there is none."""
    executable = chromium_executable()
    if _NAMED not in os.environ and os.access(SHELL, os.X_OK):
        executable = Path(SHELL)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        # Chromium refuses to run as root in its sandbox.
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable, args=rights)
        yield browser
        browser.close()


def patient(context: BrowserContext) -> BrowserContext:
    """Have the pages of a context waited for as long as a busy machine takes; return it."""
    context.set_default_timeout(PATIENCE)
    context.set_default_navigation_timeout(PATIENCE)
    return context


def chromium_executable() -> Path:
    """Return the executable; skip the test, or fail, where there is none."""
    named = os.environ.get(_NAMED) or CHROMIUM
    found = shutil.which(named)
    if found is not None:
        return Path(found)
    if os.environ.get("CI"):
        pytest.fail(_MISSING.format(named))
    pytest.skip(_MISSING.format(named))


def sandboxed_chromium() -> Path:
    """Return the executable as ``chromium_executable``; skip the test where the machine allows no sandbox."""
    executable = chromium_executable()
    if not _can_be_sandboxed():
        pytest.skip("no program may make a user namespace here, so that Chromium's sandbox is not possible")
    return executable


@cache
def _can_be_sandboxed() -> bool:
    return subprocess.run([sys.executable, "-I", "-c", _SANDBOX], check=False).returncode == 0

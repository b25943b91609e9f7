"""A browser for tests: Debian's Chromium, driven by Playwright, without a window.

A test takes the fixture ``chromium``. Where there is no Chromium it is skipped, which the reason says; where ``CI`` is
set, it fails. ``AAH_CHROMIUM`` names another executable.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

CHROMIUM = "/usr/bin/chromium"
_NAMED = "AAH_CHROMIUM"
_MISSING = (
    "{} is no executable: install Debian's package chromium (apt-get install chromium), or name one in AAH_CHROMIUM"
)


# While Playwright runs, its event loop counts as that of this thread: no other test of the session could have its own.
@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yield a browser; each test opens contexts of its own, which share nothing, and closes them."""
    executable = chromium_executable()
    with sync_playwright() as playwright:
        # Chromium refuses to run as root in its sandbox.
        rights = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable, args=rights)
        yield browser
        browser.close()


def chromium_executable() -> Path:
    """Return the executable; skip the test, or fail, where there is none."""
    named = os.environ.get(_NAMED) or CHROMIUM
    found = shutil.which(named)
    if found is not None:
        return Path(found)
    if os.environ.get("CI"):
        pytest.fail(_MISSING.format(named))
    pytest.skip(_MISSING.format(named))

"""A browser for all tests of the folder."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browsing import launched


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Yield one browser for the whole folder: its tests run no event loop in this thread once there is a browser."""
    with launched() as browser:
        yield browser

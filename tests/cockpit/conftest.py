"""A cockpit that shows a small crawl, served once for all tests that only look at it."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from aahcrawler.service.cockpit.site import COOKIE
from tests.browsing import launched
from tests.cockpit.cockpit_browser import READER, Cockpit, serving
from tests.cockpit.shown_crawl import CRAWL, crawled, scheduled
from tests.crawl.crawling import until
from tests.crawl.site import Site
from tests.crawl.site import serving as serving_site


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """Yield one browser for the whole folder: its tests run no event loop in this thread once there is a browser."""
    with launched() as browser:
        yield browser


@pytest.fixture(scope="session")
def archived_site() -> Iterator[Site]:
    """Yield the site whose pages the crawl ``shown`` has captured; it goes on to note who asks for what."""
    with serving_site(Site()) as site:
        yield site


@pytest.fixture(scope="session")
def shown(archived_site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cockpit]:
    """Yield a cockpit in which the crawl ``shown`` lies at rest."""
    place, site = tmp_path_factory.mktemp("cockpit") / "crawls", archived_site
    place.mkdir()
    with serving(place, schedule=scheduled(place.parent)) as cockpit:
        crawled(place, site, cockpit.names.cockpit, cockpit.names.replay)
        cookie = f"{COOKIE}={cockpit.entered(READER)}"
        until(lambda: all(_is_read(cockpit, path, cookie) for path in ("pages", "log", "failures")))
        yield cockpit


def _is_read(cockpit: Cockpit, path: str, cookie: str) -> bool:
    """Return whether a page of the crawl says that its index is complete."""
    page = cockpit.ask("GET", f"/crawls/{CRAWL}/{path}", Cookie=cookie)
    return page.status == 200 and b"being read" not in page.body and b"still to be read" not in page.body

"""What crawls hold, for other installations: part by part, in order, and by URL."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.page_index import PageIndex
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.views.held_sites import HeldSiteShown, HoldingsDesk, canonical
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.web.problems import ProblemError
from tests.service.asking import begun

SECOND = 1_000_000


def indexed(folder: Path, name: str, captures: dict[str, list[int]]) -> None:
    """Write a crawl whose index of pages has captures of URLs at so many seconds since 1970."""
    begun(folder / name, id=name)
    columns = "record, at, fetched_at, url, site, crawl, status, is_page, is_requisite, objects, method, read_at"
    index = PageIndex(folder / name)
    with index:
        for url, moments in captures.items():
            site = url.split("/")[2]
            for at in moments:
                row = (f"{name} {url} {at}", at * SECOND, "", url, site, 1, 200, 1, 0, 0, "", "")
                marks = ", ".join("?" * len(row))
                index.base.execute(
                    f"INSERT INTO capture ({columns}, segment, place) VALUES ({marks}, 0, 0)",  # noqa: S608
                    row,
                )
        index.base.commit()


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[HoldingsDesk]:
    indexed(tmp_path, "alpha", {"http://a.test/": [10, 30, 20], "http://a.test/x": [40], "http://c.test/": [5]})
    indexed(tmp_path, "beta", {"http://a.test/": [90], "http://b.test/": [1]})
    indexes, reach = PageIndexes(), CrawlRegistry.of(Catalog([tmp_path]), None)
    yield HoldingsDesk(reach, indexes)
    indexes.close()
    reach.close()


def test_the_catalogue_comes_in_parts_with_since_and_until(desk: HoldingsDesk) -> None:
    found, after = list[HeldSiteShown](), ""
    while True:
        page = desk.sites(after, 2)
        assert len(page.sites) <= 2
        found += page.sites
        after = page.next
        if not after:
            break
    told = [(each.crawl, each.site, each.captures, each.since.timestamp(), each.until.timestamp()) for each in found]
    assert told == [
        ("alpha", "a.test", 4, 10, 40),
        ("alpha", "c.test", 1, 5, 5),
        ("beta", "a.test", 1, 90, 90),
        ("beta", "b.test", 1, 1, 1),
    ]
    assert desk.sites("beta zzz").sites == ()
    with pytest.raises(ProblemError):
        desk.sites("torn")


def test_who_holds_a_url_is_told_with_the_first_and_the_last_capture(desk: HoldingsDesk) -> None:
    held = desk.versions(canonical("HTTP://A.test")).held
    told = [(each.crawl, each.captures, each.first.timestamp(), each.last.timestamp()) for each in held]
    assert told == [("alpha", 3, 10, 30), ("beta", 1, 90, 90)]
    assert desk.versions("http://unknown.test/").held == ()
    with pytest.raises(ProblemError):
        canonical("mailto:x")

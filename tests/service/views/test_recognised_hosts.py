"""The hosts of a crawl are counted anew once its index has grown, but not all the time."""

import sqlite3
from pathlib import Path

from aahcrawler.service.views.page_indexes import Asked, Progress
from aahcrawler.service.views.site_pages import HostCounts

CAPTURES = """
CREATE TABLE capture (url TEXT, application TEXT, status INTEGER, is_requisite INTEGER);
CREATE INDEX capture_at ON capture (url, application, status, is_requisite);
"""


class Clock:
    """A clock that is set by hand, and runs one second each time that it is looked at."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def test_hosts_are_counted_anew_once_the_index_has_grown() -> None:
    base, clock = sqlite3.connect(":memory:"), Clock()
    base.executescript(CAPTURES)
    counts = HostCounts(clock)

    def pages(indexed: int) -> list[tuple[str, int, int]]:
        progress = Progress(indexed=indexed, about=None, complete=True, note="")
        found = counts.of(Asked(Path("crawl"), base, progress))
        assert found.progress is progress
        return [(each.host, each.pages, each.unknown) for each in found.hosts]

    def captured(url: str, application: str | None) -> None:
        base.execute("INSERT INTO capture VALUES (?, ?, 200, 0)", (url, application))

    captured("http://www.a.test/1", None)
    assert pages(1) == [("a.test", 1, 1)]
    captured("http://a.test/2", "phpBB")
    clock.now += 100
    assert pages(1) == [("a.test", 1, 1)]
    assert pages(2) == [("a.test", 2, 1)]
    captured("http://b.test/", None)
    assert pages(3) == [("a.test", 2, 1)]  # A count took a second, and holds for fifty.
    clock.now += 50
    assert pages(3) == [("a.test", 2, 1), ("b.test", 1, 1)]
    captured("http://b.test/2", None)
    clock.now += 1000
    assert pages(3) == [("b.test", 2, 2), ("a.test", 2, 1)]
    base.close()

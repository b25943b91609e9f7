"""Samples of hosts are drawn once for all who ask, and let go of."""

import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest

from aahcrawler.editor.rules.page_sample import PageSample
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.cockpit.studio import studio_desk
from aahcrawler.service.cockpit.studio.studio_desk import FRESH_SECONDS, MAX_SAMPLES, SampleCache
from aahcrawler.service.views.page_indexes import Asked, PageIndexes, Progress
from aahcrawler.service.web.problems import ProblemError
from tests.studio.ropes import sample_of


class Indexes:
    """Stands for the indexes of crawls."""

    @contextmanager
    def asked(self, crawl: Crawl) -> Iterator[Asked]:
        del crawl
        base = cast("sqlite3.Connection", None)  # Nobody asks it: the sample is drawn of given pages.
        yield Asked(Path(), base, Progress(indexed=0, about=None, complete=True, note=""))


class NamedCrawl:
    """Stands for a crawl."""

    id, number = "ropes", 1


CRAWL = cast("Crawl", NamedCrawl())


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[PageSample]:
    """Have samples drawn of given pages, none for an empty host; return those that were."""
    made: list[PageSample] = []

    def draw(folder: Path, base: sqlite3.Connection, host: str) -> PageSample:
        del folder, base
        made.append(sample_of({}) if host.startswith("empty") else sample_of())
        return made[-1]

    monkeypatch.setattr(studio_desk, "page_sample", draw)
    return made


def shelf(clock: list[float]) -> SampleCache:
    return SampleCache(cast("PageIndexes", Indexes()), lambda: clock[0])


def test_those_who_ask_at_once_share_a_sample(drawn: list[PageSample]) -> None:
    kept = shelf([0.0])
    with ThreadPoolExecutor(8) as threads:
        found = set(map(id, threads.map(lambda _: kept.sample(CRAWL, "a.test"), range(40))))
    assert found == {id(drawn[0])}
    assert len(drawn) == 1


def test_a_sample_that_gives_way_keeps_no_page_any_more(drawn: list[PageSample]) -> None:
    clock = [0.0]
    kept = shelf(clock)
    first = kept.sample(CRAWL, "a.test")
    clock[0] = FRESH_SECONDS
    assert kept.sample(CRAWL, "a.test") is not first
    for number in range(MAX_SAMPLES):
        kept.sample(CRAWL, f"{number}.test")
    kept.close()
    for sample in drawn:
        page = sample.sampled(sample.pages[0])
        assert page is not None
        assert sample.sampled(sample.pages[0]) is not page


def test_a_host_without_pages_is_looked_for_anew(drawn: list[PageSample]) -> None:
    kept = shelf([0.0])
    assert kept.sample_around(CRAWL, "empty.test").pages == ()
    with pytest.raises(ProblemError, match=r"no page of 'empty\.test'"):
        kept.sample(CRAWL, "empty.test")
    assert len(drawn) == 2

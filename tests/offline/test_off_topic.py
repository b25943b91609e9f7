"""Captures that show something else than the first one of their URL."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.captures import ArchivedCaptures
from aahcrawler.sources.source import Span
from offline.off_topic import Likeness, OffTopicSearch
from tests.crawl.crawling import aah
from tests.crawl.world import crawl
from tests.sources.dated import Dated, page, write_archive

URL = "http://dikes.test/"
FLOOD = (
    "The storm surge has flooded the harbour of the old town, and the dike along the river holds with sandbags. "
    "Volunteers and firefighters carry people out of their houses by boat while the water level is still rising. "
    "The mayor asks everybody to leave the streets by the quay before the evening."
)
CASINO = (
    "Play roulette, poker and blackjack with our welcome bonus for new gamblers tonight. Spin the reels of a hundred "
    "slot machines, win jackpots and cash out your winnings within minutes by card. Deposit ten coins, get free spins."
)


def test_a_page_that_speaks_of_something_else_by_now_is_told_and_one_that_grew_is_not(tmp_path: Path) -> None:
    write_archive(
        tmp_path / "a.warc.gz",
        [
            Dated(URL, "2013-06-05T10:00:00Z", page("Flood", text=FLOOD)),
            Dated(URL, "2013-06-06T10:00:00Z", page("Flood", text=f"{FLOOD} In the night the level fell by a metre.")),
            Dated(URL, "2015-01-01T10:00:00Z", page("Casino", text=CASINO)),
        ],
    )
    with ArchivedCaptures(tmp_path) as source:
        (found,) = OffTopicSearch(source).found()
    assert f"{found.date:%Y}" == "2015"
    assert set(found.why) == {"cosine", "jaccard"}
    assert found.cosine is not None
    assert found.cosine < 0.12


def test_an_error_in_disguise_is_told_even_where_it_is_all_there_is(tmp_path: Path) -> None:
    missing = "<html><title>404 Not Found</title><body><h1>Page not found</h1><p>Sorry.</p></body></html>"
    write_archive(tmp_path / "a.warc.gz", [Dated(URL, "2013-06-05T10:00:00Z", missing)])
    with ArchivedCaptures(tmp_path) as source:
        (found,) = OffTopicSearch(source).found()
    assert found.why == ("soft 404",)
    assert found.cosine is None


MISSING = "<html><title>404 Not Found</title><body><h1>Page not found</h1><p>Sorry.</p></body></html>"


def test_an_error_in_disguise_is_not_what_a_url_is_known_by(tmp_path: Path) -> None:
    write_archive(
        tmp_path / "a.warc.gz",
        [
            Dated(URL, "2013-06-01T10:00:00Z", MISSING),
            Dated(URL, "2013-06-05T10:00:00Z", page("Flood", text=FLOOD)),
            Dated(URL, "2013-06-06T10:00:00Z", page("Flood", text=f"{FLOOD} The level fell.")),
        ],
    )
    with ArchivedCaptures(tmp_path) as source:
        found = list(OffTopicSearch(source).found())
    assert [f"{each.date:%d}" for each in found] == ["01"]
    assert "soft 404" in found[0].why


def test_the_capture_nearest_to_an_event_is_what_a_url_is_known_by(tmp_path: Path) -> None:
    write_archive(
        tmp_path / "a.warc.gz",
        [
            Dated(URL, "2009-06-01T10:00:00Z", page("Casino", text=CASINO)),
            Dated(URL, "2013-06-05T10:00:00Z", page("Flood", text=FLOOD)),
        ],
    )
    begin, end = datetime(2013, 6, 1, tzinfo=UTC), datetime(2013, 6, 30, tzinfo=UTC)
    with ArchivedCaptures(tmp_path) as source:
        assert [f"{each.date:%Y}" for each in OffTopicSearch(source).found()] == ["2013"]
        assert [f"{each.date:%Y}" for each in OffTopicSearch(source, Span(begin, end)).found()] == ["2009"]


def test_a_crawl_and_the_files_that_it_took_its_captures_from_give_the_same(tmp_path: Path) -> None:
    home, other = "http://dikes.test/", "http://dikes.test/other"
    captures = [
        Dated(home, "2013-06-01T10:00:00Z", MISSING),
        Dated(home, "2013-06-05T10:00:00Z", page("Flood", "/other", text=FLOOD)),
        Dated(home, "2015-01-01T10:00:00Z", page("Casino", text=CASINO)),
        Dated(other, "2013-06-05T10:00:00Z", page("Flood", text=FLOOD)),
        Dated(other, "2014-06-05T10:00:00Z", MISSING),
    ]
    (tmp_path / "old").mkdir()
    write_archive(tmp_path / "old" / "a.warc.gz", captures)
    sources = {"sources": [{"archive": str(tmp_path / "old")}], "snapshot": "all"}
    event = {"start": "2013-06-01", "end": "2013-06-30"}
    crawled = crawl(tmp_path / "c", [home], captures=sources, event=event)
    told = {name: aah("off-topic", path).out for name, path in (("c", crawled.folder), ("f", tmp_path / "old"))}
    assert told["c"] == told["f"]
    assert len(told["c"].splitlines()) == 4
    assert aah("off-topic", tmp_path / "old", "--compare-with", "event").code == 2


@pytest.mark.parametrize(
    ("first", "later", "why"),
    [
        ({"dike": 2, "flood": 1}, {"dike": 2, "flood": 1}, []),
        ({"dike": 10, "flood": 10}, {"dike": 3, "flood": 2}, ["words"]),
        ({"dike": 1}, {"casino": 1}, ["cosine", "jaccard"]),
    ],
)
def test_each_measure_has_its_threshold(first: dict[str, int], later: dict[str, int], why: list[str]) -> None:
    assert list(Likeness.of(first, later).why_off_topic) == why

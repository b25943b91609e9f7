from dataclasses import replace
from datetime import UTC, datetime

from aahcrawler.crawl.capture.archiver import count
from aahcrawler.crawl.capture.recrawl import Change, RecrawlComparison
from aahcrawler.crawl.stats.collector import GROUPS, SINGLE, Stats
from aahcrawler.helper.assistance import FailedAction, Failure
from aahcrawler.metadata import Metadata
from aahcrawler.page import Headers, Page
from aahcrawler.pipeline.analysis import PageAnalysis


def test_counts_are_merged_and_grouped() -> None:
    stats = Stats({"pages": 1, "refused:login": 2})
    stats.merge({"pages": 2, "refused:edit": 5, "refused:login": 1})
    assert stats["pages"] == 3
    assert stats.group("refused") == {"edit": 5, "login": 3}
    assert stats["nothing"] == 0


def test_the_summary_has_every_count_even_when_nothing_happened() -> None:
    summary = Stats().summary()
    assert {*SINGLE, *GROUPS, "harvest_ratio"} == set(summary)
    assert summary["harvest_ratio"] is None
    assert summary["refused"] == {}


def test_the_harvest_ratio_is_relevant_pages_over_pages() -> None:
    assert Stats({"pages": 8, "relevant": 2, "requisites": 100}).summary()["harvest_ratio"] == 0.25


def test_words_with_colons_stay_whole() -> None:
    assert Stats({"error:http: bad": 1}).group("error") == {"http: bad": 1}


def test_a_feed_that_a_page_links_to_is_no_new_page() -> None:
    stats, headers = Stats(), Headers((("Content-Type", "application/rss+xml"),))
    page = Page("http://a.test/feed.xml", 200, headers, b"<rss><channel/></rss>", datetime(2026, 1, 1, tzinfo=UTC))
    count(RecrawlComparison(page, change=Change.NEW), PageAnalysis(Metadata()), stats)
    assert (stats["new"], stats["pages"]) == (0, 1)


def test_failed_actions_are_counted_by_reason_and_place_and_whether_they_were_mended() -> None:
    stats = Stats()
    failed = FailedAction("Board", "thread", "posts", Failure.STOPPED_WORKING, "it worked on 7 pages", objects=3)
    lost = replace(failed, objects=0, detail="", spared=True)
    said = Metadata(failures=tuple(map(str, (failed, lost))))
    page = Page("http://a.test/", 200, Headers(), b"", datetime(2026, 1, 1, tzinfo=UTC))
    count(RecrawlComparison(page), PageAnalysis(said, failed=(failed, lost), learned="learned-posts-1"), stats)
    assert stats["failed_actions"] == 2
    assert stats.group("failure") == {"stopped-working": 2}
    assert stats.group("failed") == {"Board/thread/posts: stopped-working": 2}
    assert stats.group("mended") == {"Board/thread/posts: stopped-working": 1}
    assert stats.group("spared") == {"Board/thread/posts: stopped-working": 1}
    assert stats.group("learned") == {"learned-posts-1": 1}

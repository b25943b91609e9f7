"""Captures are dated in the order of the second article on event collections."""

from pathlib import Path

from aahcrawler.objects.reader import page_rows
from tests.crawl.world import crawl
from tests.sources.dated import Dated, page, write_archive

EVENT = {"start": "2013-06-01", "end": "2013-06-30", "cool_down": "7 d"}
ALONE = {"relevance": 1, "text": 0, "url": 0, "temporal": 0, "social": 0, "application": 0, "ranker": 0}
LATE = "2014-01-06T00:00:00Z"


def test_captures_are_dated_by_memento_datetime_then_publication_then_last_change_and_else_dismissed(
    tmp_path: Path,
) -> None:
    home = "http://dikes.test/"
    changed = {"Last-Modified": "Tue, 11 Jun 2013 10:00:00 GMT"}
    archive = write_archive(
        tmp_path / "old.warc.gz",
        [
            Dated(home, "2013-06-05T10:00:00Z", page("Flood", "/2013/06/09/late-copy", "/undated", "/modified")),
            Dated(f"{home}2013/06/09/late-copy", LATE, page("Late flood", "/behind")),
            Dated(f"{home}undated", LATE, page("Undated flood", "/never")),
            Dated(f"{home}modified", LATE, page("Modified flood"), "200 OK", changed),
            Dated(f"{home}behind", "2013-06-20T00:00:00Z", page("Behind flood")),
            Dated(f"{home}never", "2013-06-20T00:00:00Z", page("Never flood")),
        ],
    )
    crawled = crawl(
        tmp_path / "c",
        [home],
        captures={"sources": [{"archive": str(archive)}], "snapshot": "first-after-event"},
        event=EVENT,
        scoring={
            "relevant": 0.5,
            "follow": 0.5,
            "relevance": {"combination": "linear", "alpha": 0, "dates": "klein"},
            "weights": ALONE,
        },
    )
    assert crawled.ended.code == 0, crawled.ended.err
    scores = {row.url.rpartition("/")[2]: row.score for row in page_rows(crawled.folder)}
    assert scores == {"": 1.0, "late-copy": 1.0, "undated": 0.0, "modified": 1.0, "behind": 1.0}
    assert crawled.summary["refused"] == {"off_topic": 1}

"""A crawl whose pages come out of archives that lie here."""

from pathlib import Path

from warcio.archiveiterator import ArchiveIterator

from aahcrawler.objects.reader import page_rows
from tests.crawl.world import crawl
from tests.offline.shapes import crawl_violations
from tests.sources.dated import Dated, page, write_archive

EVENT = {"start": "2013-06-01", "end": "2013-06-30"}


def archive(folder: Path) -> Path:
    home = "http://dikes.test/"
    return write_archive(
        folder / "old.warc.gz",
        [
            Dated(home, "2012-01-01T10:00:00Z", page("Before", "/never")),
            Dated(home, "2013-06-05T10:00:00Z", page("Flood", "/levels", "http://dikes.test/moved", "/gone")),
            Dated(home, "2013-06-20T10:00:00Z", page("Later", "/later")),
            Dated("http://dikes.test/levels", "2013-09-01T00:00:00Z", page("Levels of the river")),
            Dated("http://dikes.test/moved", "2013-06-06T00:00:00Z", "", "302 Found", {"Location": "/levels"}),
            Dated("http://dikes.test/gone", "2013-06-06T00:00:00Z", page("Gone"), "404 Not Found"),
            Dated("http://dikes.test/later", "2013-06-06T00:00:00Z", page("Later still")),
        ],
    )


def test_a_page_is_the_capture_of_the_time_of_the_event_and_is_told_as_such(tmp_path: Path) -> None:
    captures = {"sources": [{"name": "Old pages", "archive": str(archive(tmp_path))}]}
    crawled = crawl(tmp_path / "c", ["http://dikes.test/"], captures=captures, event=EVENT)
    assert crawled.ended.code == 0, crawled.ended.err
    rows = {row.url: row for row in page_rows(crawled.folder)}
    assert {url.rpartition("/")[2]: row.fetched_at[:10] for url, row in rows.items()} == {
        "": "2013-06-05",
        "levels": "2013-09-01",
        "moved": "2013-06-06",
    }
    assert {row.archive for row in rows.values()} == {"old.warc.gz"}
    assert rows["http://dikes.test/"].memento == "urn:uuid:00000000-0000-4000-8000-000000000002"
    told = crawled.summary
    assert (told["pages"], told["requests"], told["from_sources"]) == (2, 0, 3)
    assert told["source"] == {"Old pages": 3}
    assert told["error"] == {"no capture": 1}
    (path,) = (crawled.folder / "archive").glob("*.warc.gz")
    with path.open("rb") as file:
        written = [each.rec_headers for each in ArchiveIterator(file) if each.rec_type == "response"]
    assert {each.get_header("WARC-Date")[:10] for each in written} == {"2013-06-05", "2013-09-01", "2013-06-06"}
    assert all(each.get_header("WARC-Source-URI").startswith("urn:uuid:") for each in written)
    assert all(each.get_header("WARC-Creation-Date") > "2020" for each in written)
    assert crawl_violations(crawled.folder) == []

"""Captures that lie here: looked up, put together, and left out where they are not to be shown."""

import asyncio
import gzip
import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.exchange import Exchange
from aahcrawler.page import Page
from aahcrawler.sources.local_archives import open_archives
from aahcrawler.sources.source import ArchiveFolderError, Demand, SnapshotChoice, Span
from aahcrawler.wire.replay import replayed
from tests.imports.archives import imported, record
from tests.sources.dated import Dated, page, write_archive

URL = "http://dikes.test/"
NOW = datetime(2020, 1, 1, tzinfo=UTC)
JUNE = Span(datetime(2013, 6, 1, tzinfo=UTC), datetime(2013, 6, 30, tzinfo=UTC))
EVENT = SnapshotChoice("earliest-in-event", JUNE.start, JUNE)
ALL = SnapshotChoice("all", NOW)
FIRST = Dated(URL, "2013-06-05T10:00:00Z", page("Flood", "/more"))


def found(
    folder: Path, *archives: Path, url: str = URL, choice: SnapshotChoice = EVENT, most: int = 10**6
) -> list[tuple[Page, Exchange]]:
    source = open_archives(None, [str(each) for each in archives], folder / "crawl", choice, lambda: NOW)

    async def taken() -> list[tuple[Page, Exchange]]:
        pages = []
        async for exchange in source.captures(url, Demand(most)):
            with closing(exchange):
                shown = replayed(exchange)
            assert shown is not None
            pages.append((shown, exchange))
        return pages

    return asyncio.run(taken())


def test_archives_of_one_source_are_one(tmp_path: Path) -> None:
    later = Dated(URL, "2013-06-20T10:00:00Z", page("Later"))
    (tmp_path / "files").mkdir()
    write_archive(tmp_path / "files" / "a.warc.gz", [later])
    imported(tmp_path / "import", write_archive(tmp_path / "b.warc.gz", [FIRST]))
    both = found(tmp_path, tmp_path / "files", tmp_path / "import", choice=ALL)
    assert [(f"{each.fetched_at:%d}", exchange.memento.archive) for each, exchange in both if exchange.memento] == [
        ("05", "import"),
        ("20", "files"),
    ]


def test_a_revisit_is_put_together_from_both_records(tmp_path: Path) -> None:
    original = record(1, FIRST.block, url=URL, version="1.1", WARC_Date="2012-01-01T00:00:00Z")
    profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    again = record(
        2,
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Seen: again\r\n\r\n",
        "revisit",
        "1.1",
        URL,
        WARC_Date="2013-06-10T00:00:00Z",
        WARC_Profile=profile,
        WARC_Refers_To=f"<{original.record_id}>",
        WARC_Refers_To_Target_URI=URL,
        WARC_Refers_To_Date="2012-01-01T00:00:00Z",
        Content_Type="application/http;msgtype=response",
    )
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(original.text) + gzip.compress(again.text))
    ((shown, exchange),) = found(tmp_path, path)
    assert shown.body.decode() == FIRST.body
    assert shown.memento
    assert shown.headers.get("X-Seen") == "again"
    assert f"{exchange.started_at:%Y-%m-%d}" == "2013-06-10"
    assert exchange.memento is not None
    assert exchange.memento.uri == again.record_id


@pytest.mark.parametrize(
    "capture",
    [
        pytest.param(Dated(URL, FIRST.at, page("Gone"), "404 Not Found"), id="an error"),
        pytest.param(Dated(URL, "2033-06-05T10:00:00Z", FIRST.body), id="the future"),
        pytest.param(Dated(URL, FIRST.at, "", "301 Moved", {"Location": "https://www.dikes.test/"}), id="goes round"),
        pytest.param(Dated("http://dikes.test/?b", FIRST.at, FIRST.body), id="another URL"),
        pytest.param(Dated(URL, FIRST.at, "x" * 3_000_000), id="too large"),
    ],
)
def test_what_cannot_be_taken_is_passed_over(tmp_path: Path, capture: Dated) -> None:
    assert found(tmp_path, write_archive(tmp_path / "a.warc.gz", [capture])) == []
    other = Dated("https://www.dikes.test/", "2014-01-01T00:00:00Z", FIRST.body)
    ((_, exchange),) = found(tmp_path, write_archive(tmp_path / "a.warc.gz", [capture, other]))
    assert exchange.url == "https://www.dikes.test/"


def test_what_was_taken_down_is_not_taken(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "a.warc.gz", [FIRST])
    imported(tmp_path / "import", archive)
    stone = {"id": "1", "at": "2020", "by": "Ida", "reason": "asked", "urls": [URL]}
    (tmp_path / "import" / "removed.jsonl").write_text(json.dumps(stone) + "\n", "utf-8")
    assert found(tmp_path, tmp_path / "import") == []
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "removed.jsonl").write_text(json.dumps(stone) + "\n", "utf-8")
    with pytest.raises(ArchiveFolderError):
        found(tmp_path, archive)


@pytest.mark.parametrize("content", [b"", b"no archive", b"\x1f\x8b broken"])
def test_a_file_that_is_no_archive_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(content)
    with pytest.raises(ArchiveFolderError, match=r"a\.warc\.gz"):
        found(tmp_path, path)


def test_folders_without_an_index_and_without_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ArchiveFolderError, match="holds no WARC"):
        found(tmp_path, tmp_path / "empty")
    (tmp_path / "old" / "archive").mkdir(parents=True)
    write_archive(tmp_path / "old" / "archive" / "a.warc.gz", [FIRST])
    with pytest.raises(ArchiveFolderError, match="aah archive index"):
        found(tmp_path, tmp_path / "old")
    (tmp_path / "crawl" / "archive").mkdir(parents=True)
    with pytest.raises(ArchiveFolderError, match="own folder"):
        found(tmp_path, tmp_path / "crawl")

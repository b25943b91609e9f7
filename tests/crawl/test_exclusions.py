"""What an institution excludes is taken from nowhere: no seed, no link, no redirect, no capture of an archive."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from aahcrawler.exclusions import Exclusions
from aahcrawler.objects.reader import page_rows
from aahcrawler.segments import DamageError
from tests.crawl.crawling import aah
from tests.crawl.world import crawl, define
from tests.sources.dated import Dated, page, write_archive

HOME = "http://dikes.test/"
LIST = """\
# By order of the court, 2013
host:withheld.test   # and all hosts below it
*://dikes.test/private/*

http://www.dikes.test/diary
"""


def test_hosts_and_patterns_are_excluded_for_all_crawls_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "exclusions.txt").write_text(LIST)
    excluded = Exclusions.of(tmp_path / "any-crawl")
    wanted = {
        "http://withheld.test/": True,
        "https://a.b.withheld.test:8443/x": True,
        "http://user@withheld.test/": True,
        "http://notwithheld.test/": False,
        "http://dikes.test/private/1": True,
        "http://dikes.test/diary": False,
        "http://www.dikes.test/diary": True,
        "mailto:a@withheld.test": False,
    }
    assert {url: excluded.covers(url) for url in wanted} == wanted
    assert not Exclusions.of(tmp_path / "deeper" / "crawl").covers("http://withheld.test/")


@pytest.mark.parametrize("line", ["*", "two words", "host:"])
def test_a_line_that_excludes_nothing_or_everything_is_told_with_its_place(tmp_path: Path, line: str) -> None:
    (tmp_path / "exclusions.txt").write_text(f"host:a.test\n{line}\n")
    with pytest.raises(DamageError, match=r"exclusions\.txt, line 2"):
        Exclusions.of(tmp_path / "crawl")


def test_all_wrong_lines_are_told(tmp_path: Path) -> None:
    (tmp_path / "exclusions.txt").write_text("two words\nhost:a.test\n" + "*\n" * 22)
    with pytest.raises(DamageError) as told:
        Exclusions.of(tmp_path / "crawl")
    lines = str(told.value).splitlines()
    assert [line.partition(", line ")[2].partition(":")[0] for line in lines[:3]] == ["1", "3", "4"]
    assert (len(lines), lines[-1]) == (21, "and 3 more mistakes")


def archive(folder: Path) -> Path:
    bodies: Mapping[str, str] = {
        HOME: page("Flood", "/private/1", "/moved", "http://withheld.test/", "/diary", "/levels"),
        f"{HOME}private/1": page("Private"),
        f"{HOME}levels": page("Levels"),
        "http://withheld.test/": page("Withheld"),
        "http://www.dikes.test/diary": page("Diary"),
    }
    moved = Dated(f"{HOME}moved", "2013-06-06T00:00:00Z", "", "302 Found", {"Location": "/private/1"})
    return write_archive(
        folder / "old.warc.gz", [*(Dated(url, "2013-06-05T00:00:00Z", body) for url, body in bodies.items()), moved]
    )


def test_nothing_excluded_is_taken_as_a_seed_by_a_link_by_a_redirect_or_by_another_spelling(tmp_path: Path) -> None:
    (tmp_path / "exclusions.txt").write_text(LIST)
    captures = {"sources": [{"archive": str(archive(tmp_path))}]}
    seeds = [HOME, "http://withheld.test/"]
    crawled = crawl(tmp_path, seeds, captures=captures, scope={"sites": "anywhere"})
    assert crawled.ended.code == 0, crawled.ended.err
    assert {row.url for row in page_rows(crawled.folder)} == {HOME, f"{HOME}moved", f"{HOME}levels"}
    refused = crawled.summary["refused"]
    assert refused["excluded"] == 3, "two links and the target of a redirect"
    assert "excluded by the institution" in (crawled.folder / "report.html").read_text("utf-8")


def test_what_was_queued_before_it_was_excluded_is_not_taken_either(tmp_path: Path) -> None:
    captures = {"sources": [{"archive": str(archive(tmp_path))}]}
    first = crawl(tmp_path, [HOME], captures=captures, limits={"pages": 1})
    assert len(list(page_rows(first.folder))) == 1
    (tmp_path / "exclusions.txt").write_text("host:dikes.test\n")
    ended = aah("crawl", define(tmp_path, [HOME], captures=captures), "--accept-changes")
    assert ended.code == 0, ended.err
    assert {row.url for row in page_rows(first.folder)} == {HOME}

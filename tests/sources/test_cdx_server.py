"""Captures that a CDX server lists."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from aahcrawler.sources.cdx_server import CdxLine, NoListingError, read_listing
from tests.crawl.site import Reply, Site, serving
from tests.imports.archives import record
from tests.sources.dated import Dated, page
from tests.sources.test_memento_source import AFTER, DURING, URL, listed, taken

LISTINGS = [
    "[]",
    (
        '[["urlkey","timestamp","original","mimetype","statuscode","digest","length"],'
        f'["test,dikes)/","20130605100000","{URL}","text/html","200","ABC","100"]]'
    ),
    f'{{"urlkey":"test,dikes)/","timestamp":"20130605100000","url":"{URL}","status":"200","length":"100"}}',
    f'test,dikes)/ 20130605100000 {{"url":"{URL}","status":"200","length":"100"}}',
    f"test,dikes)/ 20130605100000 {URL} text/html 200 ABC 100",
]


@pytest.mark.parametrize("text", LISTINGS[1:])
def test_all_formats_of_listings_say_the_same(text: str) -> None:
    (line,) = read_listing(text)
    assert (line.url, line.stamp, line.status, line.length) == (URL, "20130605100000", 200, 100)


def test_the_eleven_columns_name_file_and_place() -> None:
    (line,) = read_listing(f"test,dikes)/ 20130605100000 {URL} text/html 200 ABC - - 100 7 a.warc.gz")
    assert (line.file, line.offset, line.length) == ("a.warc.gz", 7, 100)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", "a b c", "[1]", '{"timestamp": "2013", "url": "x"}'])
def test_lines_that_say_nothing_are_left_out(text: str) -> None:
    assert list(read_listing(text)) == []


@pytest.mark.parametrize("text", ["<html>", "[", "[" * 100_000])
def test_what_is_no_listing_is_told(text: str) -> None:
    with pytest.raises(NoListingError):
        list(read_listing(text))


def files_and_listing(*captures: Dated) -> tuple[bytes, Callable[[str], Reply], Site]:
    """Return a WARC file of captures, and a site that lists them and gives parts of it."""
    members = [
        gzip.compress(record(at, each.block, url=each.url, version="1.1", WARC_Date=each.at).text)
        for at, each in enumerate(captures)
    ]
    whole, site = b"".join(members), Site()
    lines: list[str] = []
    offset = 0
    for each, member in zip(captures, members, strict=True):
        digits = "".join(filter(str.isdigit, each.at))
        lines.append(f"k {digits} {each.url} text/html {each.status[:3]} A - - {len(member)} {offset} a.warc.gz")
        offset += len(member)

    def answer(path: str) -> Reply:
        if path.startswith("/cdx"):
            return Reply("\n".join(lines).encode(), headers={"Content-Type": "text/plain"})
        first, last = dict(site.asked[-1].headers)["Range"].removeprefix("bytes=").split("-")
        return Reply(whole[int(first) : int(last) + 1], 206, {"Content-Type": "application/gzip"})

    site.other = answer
    return whole, answer, site


def test_a_record_is_read_out_of_a_file_by_its_place(tmp_path: Path) -> None:
    _, _, site = files_and_listing(DURING, AFTER, Dated("http://other.test/", DURING.at, page("Other")))
    with serving(site):
        given = {"name": "Common", "cdx": {"server": f"{site.url}cdx", "files": f"{site.url}files/"}}
        found = taken(tmp_path, [given], "newest")
    assert found.dates == ["2013-09-01"]
    assert found.bodies == [AFTER.body]
    assert found.places == ["urn:uuid:00000000-0000-4000-8000-000000000001"]


def test_what_a_server_lists_of_a_url_is_listed(tmp_path: Path) -> None:
    _, _, site = files_and_listing(DURING, AFTER, Dated("http://other.test/", DURING.at, page("Other")))
    with serving(site):
        days = listed(tmp_path, {"cdx": {"server": f"{site.url}cdx", "files": f"{site.url}files/"}})
    assert days == ["2013-06-05", "2013-09-01"]


def test_a_place_that_holds_another_capture_is_told(tmp_path: Path) -> None:
    _, answer, site = files_and_listing(DURING, Dated("http://other.test/", DURING.at, page("Other")))
    with serving(site):
        shown = answer("/cdx").body.decode().splitlines()
        shown[0] = shown[1].replace("http://other.test/", URL)
        site.pages["/cdx"] = Reply(shown[0].encode())
        site.other = lambda path: Reply(shown[0].encode()) if path.startswith("/cdx") else answer(path)
        found = taken(tmp_path, [{"cdx": {"server": f"{site.url}cdx", "files": f"{site.url}files/"}}])
    assert found.dates == []
    assert [name for name in found.counts if name.endswith("wrong record")]


def test_a_line_needs_a_moment_and_a_url() -> None:
    assert CdxLine.of({"timestamp": "20130605100000"}) is None
    assert CdxLine.of({"url": URL, "timestamp": "20131305100000"}) is None

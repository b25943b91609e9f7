"""Captures that a CDX server lists."""

import gzip
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

import pytest

from aahcrawler.sources import cdx_server
from aahcrawler.sources.cdx_server import CdxLine, NoListingError, read_listing
from tests.crawl.site import Reply, Site, serving
from tests.imports.archives import record
from tests.sources.dated import Dated, page
from tests.sources.test_memento_source import AFTER, BEFORE, DURING, URL, Taken, listed, taken

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


@pytest.mark.parametrize(
    ("columns", "length"),
    [("- 7 a.warc.gz", -1), ("- - 7 a.warc.gz", -1), ("- - 100 7 a.warc.gz 90 3 b.warc.gz", 100)],
    ids=["nine", "ten", "eleven and those of the original"],
)
def test_plain_columns_are_told_apart_by_their_number(columns: str, length: int) -> None:
    (line,) = read_listing(f"test,dikes)/ 20130605100000 {URL} text/html 200 ABC {columns}")
    assert (line.file, line.offset, line.length, line.digest) == ("a.warc.gz", 7, length, "ABC")


def test_the_first_line_of_a_cdx_file_names_its_columns() -> None:
    (line,) = read_listing(f" CDX a b g V S\n{URL} 20130605100000 a.warc.gz 7 100\n")
    assert line == CdxLine(URL, line.date, "20130605100000", 0, "a.warc.gz", 7, 100)


@pytest.mark.parametrize("text", ["", "[]", "{}", "{", "a b c", "[1]", '{"timestamp": "2013", "url": "x"}'])
def test_lines_that_say_nothing_are_left_out(text: str) -> None:
    assert list(read_listing(text)) == []


@pytest.mark.parametrize("text", ["<html>", "[", "[" * 100_000])
def test_what_is_no_listing_is_told(text: str) -> None:
    with pytest.raises(NoListingError):
        list(read_listing(text))


def files_and_listing(*captures: Dated) -> tuple[bytes, Callable[[str], Reply], Site]:
    """Return a WARC file of captures, and a site that lists them and gives parts of it."""
    return served(
        [
            (each, record(at, each.block, url=each.url, version="1.1", WARC_Date=each.at).text)
            for at, each in enumerate(captures)
        ]
    )


def served(
    records: Sequence[tuple[Dated, bytes]], mime: str = "text/html", *, lengths: bool = True
) -> tuple[bytes, Callable[[str], Reply], Site]:
    """Return a WARC file of records, and a site that lists them, the last one by that type, and gives parts of it."""
    members = [gzip.compress(text) for _, text in records]
    whole, site = b"".join(members), Site()
    lines: list[str] = []
    offset = 0
    for (each, _), member in zip(records, members, strict=True):
        digits = "".join(filter(str.isdigit, each.at))
        kind = mime if len(lines) == len(records) - 1 else "text/html"
        length = f"- {len(member)}" if lengths else "-"
        lines.append(f"k {digits} {each.url} {kind} {each.status[:3]} A - {length} {offset} a.warc.gz")
        offset += len(member)

    def answer(path: str) -> Reply:
        if path.startswith("/cdx"):
            asked = unquote(path.partition("url=")[2].partition("&")[0])
            listed = [line for line in lines if line.split()[2] == asked]
            return Reply("\n".join(listed).encode(), headers={"Content-Type": "text/plain"})
        first, last = dict(site.asked[-1].headers)["Range"].removeprefix("bytes=").split("-")
        return Reply(whole[int(first) : int(last) + 1], 206, {"Content-Type": "application/gzip"})

    site.other = answer
    return whole, answer, site


def taken_from(folder: Path, site: Site, snapshot: str = "newest") -> Taken:
    """Return what is taken of a URL out of the WARC file that a site lists and gives."""
    with serving(site):
        return taken(folder, [{"cdx": {"server": f"{site.url}cdx", "files": f"{site.url}files/"}}], snapshot)


@pytest.mark.parametrize("of", [URL, "http://other.test/"], ids=["the same URL", "another URL"])
def test_a_revisit_shows_what_its_original_holds(tmp_path: Path, of: str) -> None:
    first = Dated(of, DURING.at, page("As before"))
    own = Dated(URL, AFTER.at, "", fields={"Content-Type": "text/html; charset=utf-8", "X-Served": "later"})
    refers = {"WARC_Refers_To_Target_URI": of, "WARC_Refers_To_Date": first.at}
    _, _, site = served(
        [
            (first, record(1, first.block, url=of, version="1.1", WARC_Date=first.at).text),
            (
                own,
                record(
                    2,
                    own.block,
                    "revisit",
                    "1.1",
                    URL,
                    WARC_Date=own.at,
                    Content_Type="application/http;msgtype=response",
                    **refers,
                ).text,
            ),
        ],
        "warc/revisit",
    )
    found = taken_from(tmp_path, site)
    assert (found.dates, found.bodies) == (["2013-09-01"], [first.body])
    assert found.heads[0].get("X-Served") == "later"
    assert found.places == ["urn:uuid:00000000-0000-4000-8000-000000000002"]


def test_a_revisit_without_its_original_is_passed_over(tmp_path: Path) -> None:
    revisit = record(2, b"", "revisit", "1.1", URL, WARC_Date=AFTER.at, WARC_Refers_To_Date=BEFORE.at).text
    during = record(1, DURING.block, url=URL, version="1.1", WARC_Date=DURING.at).text
    _, answer, site = served([(DURING, during), (Dated(URL, AFTER.at), revisit)], "warc/revisit")
    site.other = lambda path: _with(answer(path), b" A ", b" B ", b"warc/revisit 200 B", b"warc/revisit 200 C")
    assert taken_from(tmp_path, site).dates == ["2013-06-05"]


def _with(reply: Reply, *changes: bytes) -> Reply:
    if reply.status != 206:
        for old, new in zip(changes[::2], changes[1::2], strict=True):
            reply = replace(reply, body=reply.body.replace(old, new))
    return reply


def test_a_resource_is_a_page_without_a_head(tmp_path: Path) -> None:
    kept = record(1, b"<p>The dike", "resource", "1.1", URL, WARC_Date=DURING.at, Content_Type="text/html").text
    _, _, site = served([(DURING, kept)])
    found = taken_from(tmp_path, site)
    assert (found.dates, found.bodies, found.statuses) == (["2013-06-05"], ["<p>The dike"], [200])
    assert found.heads[0].media_type == "text/html"


def test_a_record_of_unknown_length_is_read_as_far_as_it_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cdx_server, "_PARTS_OF_UNKNOWN_LENGTH", (50, 1 << 20))
    texts = [record(1, each.block, url=URL, version="1.1", WARC_Date=each.at).text for each in (DURING, AFTER)]
    _, _, site = served(list(zip((DURING, AFTER), texts, strict=True)), lengths=False)
    found = taken_from(tmp_path, site, "all")
    assert found.bodies == [DURING.body, AFTER.body]


def test_a_server_that_gives_whole_files_alone_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole, answer, site = files_and_listing(DURING)
    site.other = lambda path: answer(path) if path.startswith("/cdx") else Reply(whole)
    found = taken_from(tmp_path, site)
    assert found.dates == []
    assert [name for name in found.counts if name.endswith("no part")]
    assert "name a server that knows Range under files" in caplog.text


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
        shown = answer("/cdx?url=http%3A%2F%2Fother.test%2F").body.replace(b"http://other.test/", URL.encode())
        site.other = lambda path: Reply(shown) if path.startswith("/cdx") else answer(path)
        found = taken(tmp_path, [{"cdx": {"server": f"{site.url}cdx", "files": f"{site.url}files/"}}])
    assert found.dates == []
    assert [name for name in found.counts if name.endswith("wrong record")]


def test_a_line_needs_a_moment_and_a_url() -> None:
    assert CdxLine.of({"timestamp": "20130605100000"}) is None
    assert CdxLine.of({"url": URL, "timestamp": "20131305100000"}) is None

"""Responses are shown as they were: unpacked, revisits with their payload, redirects as redirects, within bounds."""

import gzip
import zlib
from pathlib import Path

import brotli
import pytest
import zstandard

from aahcrawler.replay.addresses import Modifier
from aahcrawler.replay.recorded_responses import MAX_SHOWN
from tests.archive.exchanges import chunked
from tests.replay.archived import HTML, MOMENT, URL, Archived, body_of, now, shown

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", brotli.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
def test_codings_are_undone(tmp_path: Path, coding: str, pack: object) -> None:
    assert callable(pack)
    crawl = Archived(tmp_path)
    packed = chunked(pack("<p>Hafen für Räder".encode()))
    crawl.add(packed, headers={**HTML, "Content-Encoding": coding, "Transfer-Encoding": "chunked"})
    response = shown(crawl.close())
    assert "Hafen für Räder".encode() in body_of(response)
    assert {"Content-Encoding", "Transfer-Encoding"}.isdisjoint(response.headers)


def test_a_bomb_is_cut_which_the_banner_says(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    bomb = gzip.compress(b"<p>Boom" + b" " * (4 * MAX_SHOWN))
    crawl.add(bomb, headers={**HTML, "Content-Encoding": "gzip"})
    crawl.add(gzip.compress(bomb), url=f"{URL}2", headers={**HTML, "Content-Encoding": "gzip, gzip"})
    captures = crawl.close()
    for url in (URL, f"{URL}2"):
        body = body_of(shown(captures, url))
        assert b"Only its beginning is shown" in body
        assert len(body) < MAX_SHOWN + 100_000


def test_the_banner_says_where_a_body_is_not_in_the_chunks_that_its_head_names(tmp_path: Path) -> None:
    crawl, sound = Archived(tmp_path), chunked(b"<p>The dike holds.")
    headers = {**HTML, "Transfer-Encoding": "chunked"}
    crawl.add(sound, headers=headers)
    crawl.add(sound.removesuffix(b"0\r\n\r\n") + b"no chunk\r\n<p>Behind the fault", url=f"{URL}2", headers=headers)
    captures = crawl.close()
    for url, is_told in ((URL, False), (f"{URL}2", True)):
        body = body_of(shown(captures, url))
        assert b"The dike holds." in body
        assert (b"not in the chunks" in body) is is_told


def test_a_revisit_is_shown_with_the_payload_it_refers_to(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    first = crawl.add("<p>The same", url="http://other.test/first", moment=now())
    again = crawl.add("<p>The same", moment="20260301000000", original=first)
    unchanged = crawl.add(b"", moment="20260401000000", status=304, original=first)
    assert (again.revisit, unchanged.revisit) == (True, True)
    captures = crawl.close()
    for moment, date in (("20260301000000", b"1 March 2026"), ("20260401000000", b"1 April 2026")):
        response = shown(captures, moment=moment)
        assert response.status == 200
        assert b"The same" in body_of(response)
        assert b"captured " + date in body_of(response)


def test_a_revisit_of_what_is_not_here_is_not_captured(tmp_path: Path) -> None:
    other = Archived(tmp_path / "other", "other")
    original = other.add("<p>Away", url="http://other.test/first")
    other.close()
    crawl = Archived(tmp_path)
    crawl.add("<p>Away", original=original)
    assert shown(crawl.close()).status == 404


def test_a_redirect_leads_into_the_archive(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add(status=301, headers={"Location": "/new?a=1#part", "Refresh": "0; url=http://evil.test/"})
    response = shown(crawl.close())
    assert response.status == 302
    assert response.headers["Location"] == f"/test/{MOMENT}mp_/http://a.test/new?a=1"
    assert "Refresh" not in response.headers


def test_a_redirect_to_another_spelling_of_its_url_does_not_go_round(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add(status=301, headers={"Location": URL.replace("http:", "https:")})
    crawl.add("<p>Here", url=URL.replace("http:", "https:"), moment="20260102030407")
    crawl.add(status=302, url=f"{URL}/loop", headers={"Location": f"{URL}/loop/"})
    captures = crawl.close()
    assert b"Here" in body_of(shown(captures))
    assert shown(captures, f"{URL}/loop").status == 404


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        ("<p>Привет".encode("cp1251"), {"Content-Type": "text/html; charset=windows-1251"}),
        ('<meta charset="windows-1251"><p>Привет'.encode("cp1251"), {"Content-Type": "text/html"}),
        (b"\xff\xfe" + "<p>Привет".encode("utf-16-le"), {"Content-Type": "text/html"}),
        ("<p>Привет".encode(), {}),
    ],
)
def test_pages_in_any_encoding_are_shown_in_utf_8(tmp_path: Path, body: bytes, headers: dict[str, str]) -> None:
    crawl = Archived(tmp_path)
    crawl.add(body, headers=headers)
    response = shown(crawl.close())
    assert "Привет".encode() in body_of(response)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert b"windows-1251" not in body_of(response)


def test_style_sheets_are_rewritten_in_their_encoding(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    sheet = '@charset "windows-1251"; @import "b.css"; p { content: "Привет"; background: url(/я.png) }'
    crawl.add(sheet.encode("cp1251"), headers={"Content-Type": "text/css"})
    response = shown(crawl.close(), modifier=Modifier.STYLE)
    text = body_of(response).decode()
    assert f'url("/test/{MOMENT}cs_/http://a.test/dir/b.css")' in text
    assert "Привет" in text
    assert "a.test/%D1%8F.png" in text


def test_pictures_are_passed_as_they_were_and_what_is_none_is_not(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add(PNG, url="http://a.test/1", headers={"Content-Type": "image/png", "Set-Cookie": "a=b", "Link": "<x>"})
    crawl.add(PNG, url="http://a.test/2", headers={"Content-Type": "text/html"})
    crawl.add("<script>x</script>", url="http://a.test/3")
    captures = crawl.close()
    for url in ("http://a.test/1", "http://a.test/2"):
        response = shown(captures, url, modifier=Modifier.IMAGE)
        assert (response.status, response.headers["Content-Type"], body_of(response)) == (200, "image/png", PNG)
        assert {"Set-Cookie", "Link"}.isdisjoint(response.headers)
    refused = shown(captures, "http://a.test/3", modifier=Modifier.IMAGE)
    assert (refused.status, refused.headers["Content-Type"], refused.body) == (404, "application/octet-stream", b"")


@pytest.mark.parametrize(
    ("media_type", "body", "holds"),
    [
        ("image/svg+xml", b"<svg onload='x()'/>", b'<img src="/test/20260102030405im_/http://a.test/dir/page"'),
        ("application/pdf", b"%PDF-1.7 x", b"This capture is no page"),
        ("text/plain", b"<script>x</script>", b"&lt;script&gt;x&lt;/script&gt;"),
        ("application/json", b'{"a": "<b>"}', b"{&quot;a&quot;: &quot;&lt;b&gt;&quot;}"),
        ("application/x-shockwave-flash", b"FWS", b"This capture is no page"),
        ("video/mp4", b"\0", b'<video src="/test/20260102030405oe_/http://a.test/dir/page"'),
    ],
)
def test_what_is_no_page_is_shown_within_one(tmp_path: Path, media_type: str, body: bytes, holds: bytes) -> None:
    crawl = Archived(tmp_path)
    crawl.add(body, headers={"Content-Type": media_type})
    captures = crawl.close()
    response = shown(captures)
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    assert holds in body_of(response)
    assert b"Archived page" in body_of(response)
    kept = shown(captures, modifier=Modifier.FILE)
    assert kept.headers["Content-Type"] == "application/octet-stream"
    assert kept.headers["Content-Disposition"] == "attachment; filename*=UTF-8''page"
    assert body_of(kept) == body


def test_the_banner_tells_what_is_shown_and_nothing_in_it_can_deceive(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    crawl.add("<p>x", moment="20250101000000")
    crawl.add("<p>x", moment="20260601000000")
    crawl.add('<meta http-equiv="refresh" content="3; url=/next"><p>x', status=404)
    text = body_of(shown(crawl.close(), moment="20260102030400")).decode()
    for told in (
        "captured 2 January 2026, 03:04:05 UTC · crawl test · status 404",
        "moment asked for, 2 January 2026, 03:04:00 UTC: 5 seconds after it.",
        f'<a href="/test/20250101000000mp_/{URL}"',
        f'<a href="/test/20260601000000mp_/{URL}"',
        f'sends its readers on to <a href="/test/{MOMENT}mp_/http://a.test/next">',
    ):
        assert told in text


def test_an_archived_status_does_not_make_the_browser_act(tmp_path: Path) -> None:
    crawl = Archived(tmp_path)
    for status in (401, 407, 408, 206, 503):
        crawl.add("<p>x", url=f"http://a.test/{status}", status=status)
    captures = crawl.close()
    statuses = [shown(captures, f"http://a.test/{status}").status for status in (401, 407, 408, 206, 503)]
    assert statuses == [404, 404, 404, 200, 503]

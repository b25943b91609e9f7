"""Heads as long as browsers take them: the page is read, and every reader gets through its archive."""

from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.world import crawl

LONG = 200_000
TOO_LONG = 300_000


def headed(size: int, body: bytes) -> Reply:
    cookies = b"".join(b"Set-Cookie: c%d=%s\r\n" % (number, b"x" * 4000) for number in range(size // 4000))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%sContent-Length: %d\r\n\r\n" % (cookies, len(body))
    return Reply(raw=lambda: [head, body])


def test_many_short_fields_lose_no_page(tmp_path: Path) -> None:
    body = html("Many").body
    cookies = b"".join(b"Set-Cookie: c%d=1\r\n" % number for number in range(1200))
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n%sContent-Length: %d\r\n\r\n" % (cookies, len(body))
    with serving(Site({"/": Reply(raw=lambda: [head, body])})) as site:
        assert crawl(tmp_path, [site.url]).statuses() == {site.url: 200}


def test_heads_up_to_a_quarter_of_a_mebibyte_are_read_and_archived(tmp_path: Path) -> None:
    pages = {
        "/robots.txt": Reply(b"", 404),
        "/": headed(LONG, html("Long", links("/found", "/too-long")).body),
        "/found": html("Found"),
        "/too-long": headed(TOO_LONG, html("Too long").body),
    }
    with serving(Site(dict(pages))) as site:
        done = crawl(tmp_path, [site.url])
    assert done.statuses() == {site.url: 200, f"{site.url}found": 200}
    assert "failed: headers" in done.log_of(f"{site.url}too-long")
    (path,) = (done.folder / "archive").glob("*.warc.gz")
    with path.open("rb") as file:
        sizes = {
            str(record.headers["WARC-Target-URI"]): len(record.reader.read())
            for record in ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True)
        }
    assert sizes[site.url] > LONG
    assert set(sizes) >= {site.url, f"{site.url}found"}
    with path.open("rb") as file:
        answers = {
            record.rec_headers["WARC-Target-URI"]: record.content_stream().read()
            for record in WarcioIterator(file)
            if record.rec_type == "response"
        }
    assert answers[site.url] == html("Long", links("/found", "/too-long")).body
    checked = aah("archive", "check", done.folder)
    assert checked.code == 0, checked.out
    index = (done.folder / "indexes" / "index.cdxj").read_text("utf-8")
    assert index.count('"status": "200"') == 3  # The third is what came of the one too long.

"""The requests of a page in a browser: who answers them, what is kept of them, and what is never asked."""

import gzip
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from fastwarc.warc import ArchiveIterator, WarcRecord

from tests.crawl.crawling import summary
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.visiting import AGENT, USUAL, Asking, Plan, crawl_visiting
from tests.crawl.world import network

TEXT = {"Content-Type": "text/plain"}
SCRIPT = {"Content-Type": "text/javascript"}
SHELL = html("Shell", "<p>The harbour is flooded, and the dike holds.</p>")


def records(crawl: Path, kind: str, url: str) -> Iterator[WarcRecord]:
    """Yield the records of a kind and URL, their digests verified."""
    for path in sorted((crawl / "archive").iterdir()):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False, verify_digests=True):
                if record.headers["WARC-Type"] == kind and record.headers.get("WARC-Target-URI") == url:
                    yield record


def blocks(crawl: Path, kind: str, url: str) -> list[bytes]:
    """Return the blocks of the records of a kind and URL."""
    return [record.reader.read() for record in records(crawl, kind, url)]


def fields(crawl: Path, kind: str, url: str) -> dict[str, str]:
    """Return the fields of the first record of a kind and URL."""
    record = next(records(crawl, kind, url))
    return {str(name): str(value) for name, value in record.headers.items()}


def robots(*rules: str) -> Reply:
    return Reply("\n".join(("User-agent: *", *rules)).encode(), headers=TEXT)


def test_a_page_is_answered_and_all_of_it_is_archived_byte_for_byte(tmp_path: Path) -> None:
    coded = gzip.compress(b"let x = 1;" * 500)
    chunked = (
        b"HTTP/1.1 200 Fine\r\nx-ODD-case: 1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    )
    with serving(Site()) as site:
        site.pages = {
            "/": Reply(b"<h1>Shell</h1>", headers={"Content-Type": "text/html", "Set-Cookie": "a=1", "X-Own": "yes"}),
            "/a.js": Reply(coded, headers={**SCRIPT, "Content-Encoding": "gzip"}),
            "/chunked": Reply(raw=lambda: [chunked]),
            "/gone": Reply(b"no", 404, TEXT),
            "/moved": Reply(b"", 302, {"Location": "/a.js"}),
        }
        site.posted = {("/api", "q=flood"): Reply(b'{"hits": 1}', headers={"Content-Type": "application/json"})}
        url = site.url
        steps = [
            [Asking(url, resource_type="Document")],
            [Asking(f"{url}{path}") for path in ("a.js", "chunked", "gone", "moved")],
            [Asking(f"{url}api", "POST", [*USUAL, ["Content-Type", "text/plain"]], "q=flood")],
            [Asking(f"{url}a.js", "HEAD"), Asking(f"{url}a.js#again")],
            [Asking(f"{url}api", "DELETE"), Asking("ftp://127.0.0.1/x"), Asking("data:text/plain,x")],
        ]
        ended, (visit,) = crawl_visiting(tmp_path, [url], {url: Plan(steps, allows=["POST"])}, scope={"depth": 0})
        asked = {(each.method, each.path): dict(each.headers) for each in site.asked}
        paths = Counter(each.path for each in site.asked)
    assert ended.code == 0, ended.err
    crawl = tmp_path / "crawl"
    page, script, piece, gone, moved, posted, head, again, deleted, ftp, data = visit.given
    assert (page.status, page.body, page.header("X-Own"), page.header("Set-Cookie")) == (
        200,
        "<h1>Shell</h1>",
        "yes",
        "a=1",
    )
    assert (script.status, script.body.encode("latin-1"), script.header("Content-Encoding")) == (200, coded, "gzip")
    assert (piece.body, ["x-ODD-case", "1"] in piece.headers) == ("abcde", True)
    assert [(each.status, each.begun) for each in (gone, moved, posted, head)] == [
        (404, 1),
        (302, 1),
        (200, 1),
        (200, 1),
    ]
    assert (posted.body, head.body, again.body) == ('{"hits": 1}', "", script.body)
    assert [each.refused for each in (deleted, ftp, data)] == ["method", "scheme", "scheme"]
    assert paths["/"] == 1
    assert blocks(crawl, "response", f"{url}chunked") == [chunked]
    assert blocks(crawl, "response", f"{url}a.js")[0].endswith(b"\r\n\r\n" + coded)
    sent = asked["GET", "/a.js"]
    assert sent["User-Agent"] != AGENT
    assert sent["User-Agent"].startswith("AAHCrawler")
    assert sent["Accept-Encoding"] == "gzip, deflate, br, zstd"
    assert list(sent)[2:] == [name for name, _ in USUAL]
    assert b"q=flood" in b"".join(blocks(crawl, "request", f"{url}api"))
    told = summary(crawl)
    assert told["browser_refused"] == {"scheme": 2, "method": 1}
    assert told["browser_requests"] == 7
    assert told["requests"] == sum(paths.values())


def test_robots_scope_and_limits_hold_for_what_a_page_asks(tmp_path: Path) -> None:
    def anything(path: str) -> Reply:
        return Reply(path.encode() * 20, headers=TEXT)

    with serving(Site(other=anything)) as site:
        site.pages = {
            "/robots.txt": Reply(b"", 404),
            "//other.test/robots.txt": robots("Disallow: /closed"),
            "//down.test/robots.txt": Reply(b"", 503),
            "/": SHELL,
        }
        url, own = "http://a.test/", "http://a.test"
        wanted = [
            f"{own}/open",
            "http://other.test/open",
            "http://other.test/closed/x",
            "http://down.test/x",
            f"{own}/denied/x",
            "http://nowhere.test/x",
        ]
        large = {"limits": {"requisites_per_page": 6, "requisite_file_bytes": "150 B"}}
        steps = [
            [Asking(url)],
            *([Asking(each)] for each in wanted),
            [Asking(f"{own}/{'l' * 20}")],
            *([Asking(f"{own}/{number}")] for number in range(4)),
        ]
        ended, (visit,) = crawl_visiting(
            tmp_path,
            [url],
            {url: Plan(steps)},
            scope={"deny": ["/denied/"], "depth": 0},
            network=network(site, "a.test", "other.test", "down.test"),
            **large,
        )
        asked = Counter(f"{each.host}{each.path}" for each in site.asked)
    assert ended.code == 0, ended.err
    assert [visit.of(each).refused for each in wanted] == ["", "", "robots", "robots.txt", "denied", "resolve"]
    assert visit.given[7].refused == "requisite_file_bytes"
    assert [each.refused for each in visit.given[8:]] == ["", "", "requisites_per_page", "requisites_per_page"]
    crawl = tmp_path / "crawl"
    assert asked["other.test/robots.txt"] == asked["down.test/robots.txt"] == 1
    assert asked["other.test/closed/x"] == asked["a.test/denied/x"] == asked["down.test/x"] == 0
    assert archived(crawl)["http://other.test/robots.txt"] == 1
    assert summary(crawl)["browser_refused"] == visit.said["refused"]
    assert_whole(crawl)

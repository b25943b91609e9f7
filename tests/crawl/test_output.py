"""What a crawl leaves in its folder, and what its commands print of it."""

import csv
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyoxigraph as ox
import pytest
from fastwarc.warc import ArchiveIterator

from tests.crawl.articles import article, english
from tests.crawl.crawling import ICD, aah, rows, scrapy, summary, write_icd
from tests.crawl.raw import RawSite, serving_raw
from tests.crawl.site import Reply, Site, links, serving
from tests.crawl.verifying import archived, assert_whole

HOSTILE = "</title><script src=//evil.test/x.js></script>&\"'"
HOSTILE_ICD = ICD.replace("title: A test", f"title: {json.dumps(HOSTILE)}")
EXTERNAL = {"src", "href", "srcset", "action", "data", "poster", "xlink:href", "background", "formaction"}
FOLDER = re.compile(r"(archive|indexes|objects)/[\w.-]*|crawl\.(json|log)")
"""What the report may link to: files beside it."""
VOID = {"meta", "br", "hr"}
ABOUT = ["id", "crawl", "title", "software", "state", "reason"]
TIMES = ["begun_at", "started_at", "updated_at"]
CHANGES = ["new", "changed", "unchanged", "gone"]
SINGLE = ["relevant", "objects", "objects_counted", "requisites", "robots", "sitemaps", "feeds", "listed", "probes"]
CALLS = [
    "documents",
    "documents_cut",
    "documents_encrypted",
    "conditional",
    "asked_again",
    "retries",
    "address_busy",
    "rescored",
    "batches",
]
BYTES = ["bytes", "requisite_bytes"]
DERIVED = [
    *("seconds", "failed_actions", "reread", "items", "items_dropped", "items_failed"),
    *("browser_requests", "browser_answered_from_archive", "from_archive"),
    *("from_sources", "source_requests", "source_bytes", "harvest_ratio"),
]
GROUPS = ["application", "level", "object", "status", "type", "refused", "blocked", "error", "failed_url"]
ADAPTED = ["failure", "failed", "mended", "spared", "learned", "trap", "listing", "no_object", "avoided", "unverified"]
BUDGETS = [
    "source",
    "source_archive",
    "source_trouble",
    "stream",
    "coding",
    "malformed",
    "domain_pages",
    "domain_bytes",
]
LOOKS = [
    "sparql",
    "http",
    "data",
    "browser",
    "browser_missing",
    "browser_isolation",
    "browser_version",
    "browser_refused",
]
FOLDERS = ["archive", "changes", "indexes", "objects", "scores", "frontier", "traps", "refused"]
REQUISITES = ["/style.css", "/more.css", "/back.png", "/photo.jpg", "/app.js"]


def typed(body: bytes, media_type: str) -> Reply:
    return Reply(body, headers={"Content-Type": media_type})


def small_site() -> Site:
    """Return a site with a redirect, a dead link, requisites, and a page that means no good."""
    head = "<link rel=stylesheet href=/style.css><script src=/app.js></script>"
    hostile = "/%3Cb%3Ex%3C/b%3E?q=%3Ci%3E&amp;r=%22%27"
    front = english("Floods", head + "<img src=/photo.jpg>" + links("/flood/1.html", "/old", "/gone", hostile))
    site = Site({"/": front, "/flood/1.html": article(1, "/"), "/flood/2.html": article(2)})
    site.pages["/old"] = Reply(status=301, headers={"Location": "/flood/2.html"})
    site.pages["/%3Cb%3Ex%3C/b%3E?q=%3Ci%3E&r=%22%27"] = english(HOSTILE, "<p>Nothing but trouble.</p>")
    site.pages["/style.css"] = typed(b"@import url(more.css);", "text/css")
    site.pages["/more.css"] = typed(b"body { background: url(back.png) }", "text/css")
    site.pages["/back.png"] = typed(b"\x89PNG", "image/png")
    site.pages["/photo.jpg"] = typed(b"\xff\xd8\xff", "image/jpeg")
    site.pages["/app.js"] = typed(b"alert(1)", "text/javascript")
    return site


@pytest.fixture(scope="module")
def world() -> Iterator[Site]:
    with serving(small_site()) as site:
        yield site


@pytest.fixture(scope="module")
def crawl(world: Site, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("aah")
    ended = aah("crawl", write_icd(folder, world.url, text=HOSTILE_ICD))
    assert (ended.code, ended.out) == (0, ""), ended
    return folder / "crawl"


def timeless(crawl: Path, table: str) -> list[dict[str, Any]]:
    """Return a table without what differs from crawl to crawl."""
    return [{name: row[name] for name in row if name not in {"fetched_at", "capture"}} for row in rows(crawl, table)]


def test_scrapy_crawls_the_same(world: Site, crawl: Path, tmp_path: Path) -> None:
    ended = scrapy("crawl", "aah", "-a", f"icd={write_icd(tmp_path, world.url, text=HOSTILE_ICD)}")
    assert (ended.code, ended.out) == (0, ""), ended
    other = tmp_path / "crawl"
    for table in ("pages", "objects"):
        assert timeless(other, table) == timeless(crawl, table)
    timed = {*TIMES, "seconds", "rescored", "http", *BYTES}
    mine, theirs = summary(crawl), summary(other)
    assert {name: mine[name] for name in mine if name not in timed} == {
        name: theirs[name] for name in theirs if name not in timed
    }


def test_the_folder_holds_what_the_readme_says(crawl: Path) -> None:
    names = {path.name for path in crawl.iterdir() if not path.name.startswith(".")}
    assert names == {*FOLDERS, "crawl.json", "crawl.log", "report.html", "icd.json", "started.json"}
    assert_whole(crawl)
    for line in (crawl / "crawl.log").read_text("utf-8").splitlines():
        time, severity, subsystem, _ = line.split(" ", 3)
        assert (len(time), time[-1]) == (24, "Z")
        assert severity in {"INFO", "WARNING"}
        assert subsystem.startswith("crawl.")


def test_the_summary_has_every_count(crawl: Path) -> None:
    found = summary(crawl)
    assert list(found) == [
        *(*ABOUT, *TIMES, "relevant_at", "knowledge_base"),
        *("requests", "answers", "pages", *CHANGES, *SINGLE, *CALLS, *BYTES, *DERIVED),
        *GROUPS,
        *ADAPTED,
        *BUDGETS,
        *LOOKS,
        "seeds",
        "frontier",
    ]
    assert [found[name] for name in ("crawl", *CHANGES, "conditional")] == [1, found["pages"], 0, 0, 0, 0]
    assert (found["state"], found["title"], found["pages"], found["objects"]) == ("finished", HOSTILE, 4, 2)
    assert found["status"] == {"200": 9, "301": 1, "404": 1}
    assert (found["answers"], found["robots"], found["requisites"]) == (11, 1, 5)
    assert found["frontier"]["pages_done"] == 6
    assert found["harvest_ratio"] == round(found["relevant"] / 4, 4)
    assert found["no_object"] == {"no running text": 2}


def test_requisites_are_captured_and_are_no_pages(world: Site, crawl: Path) -> None:
    base = world.url.rstrip("/")
    captured = archived(crawl)
    assert set(captured.values()) == {1}
    assert {f"{base}{path}" for path in [*REQUISITES, "/robots.txt"]} < set(captured)
    listed = [row["url"] for row in rows(crawl)]
    assert {url.removeprefix(base) for url in captured if url not in listed} == {*REQUISITES, "/robots.txt"}
    assert len(listed) == len(world.pages) - len(REQUISITES) + 1, "the dead link is a page that the site has not"
    assert summary(crawl)["requisite_bytes"] < summary(crawl)["bytes"]


class Report(HTMLParser):
    """Checks that elements are closed in order and that nothing is asked of the network."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {name for name, _ in attrs if (tag, name) != ("a", "href")} & EXTERNAL
        assert all(FOLDER.fullmatch(value or "") for name, value in attrs if name == "href")
        assert not any(name.startswith("on") for name, _ in attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_report_is_well_formed_and_needs_nothing_else(crawl: Path) -> None:
    text = (crawl / "report.html").read_text("utf-8")
    report = Report()
    report.feed(text)
    report.close()
    assert report.open == []
    assert report.seen.isdisjoint({"script", "link", "img", "iframe", "object", "embed", "base"})
    assert "url(" not in text
    assert "@import" not in text
    assert HOSTILE in report.text
    headings = {
        "The course of the crawl",
        "Pages by application and level",
        "Web objects by type",
        "Domains",
    }
    assert headings | {"URLs that failed", "Files"} < set(report.text)
    # One picture has two lines: all pages, and the relevant ones.
    assert (text.count("<figcaption>"), text.count("<polyline")) == (5, 6)


def test_the_report_can_be_written_anew(crawl: Path) -> None:
    before = (crawl / "report.html").read_bytes()
    (crawl / "report.html").write_text("spoilt", "utf-8")
    ended = aah("report", crawl)
    assert (ended.code, ended.out) == (0, f"{crawl / 'report.html'}\n")
    assert (crawl / "report.html").read_bytes() == before


def test_tables_come_in_each_format(crawl: Path) -> None:
    objects = rows(crawl, "objects")
    assert [(row["type"], row["title"], row["author"]) for row in objects] == [
        ("article", "Flood 1", "Writer 1"),
        ("article", "Flood 2", "Writer 2"),
    ]
    assert list(objects[0])[:7] == ["url", "type", "title", "author", "date", "body", "part_of"]
    assert objects[0]["date"] == "2019-11-02T08:00:00Z"
    as_csv = list(csv.DictReader(io.StringIO(aah("objects", crawl, "--format", "csv").out)))
    assert as_csv == [{name: value or "" for name, value in row.items()} for row in objects]
    said = aah("objects", crawl, "--format", "nq").out.encode()
    written = b"".join(gzip.decompress(path.read_bytes()) for path in sorted((crawl / "objects").iterdir()))
    assert said == written
    graphs = {quad.graph_name.value for quad in ox.parse(said, ox.RdfFormat.N_QUADS)}
    pages = rows(crawl)
    assert graphs == {row["capture"] for row in pages}
    assert list(pages[0])[:6] == ["url", "status", "application", "level", "score", "fetched_at"]
    assert len(list(csv.reader(io.StringIO(aah("pages", crawl, "--format", "csv").out)))) == len(pages) + 1


# What passed over the connection


def chunked(body: bytes) -> bytes:
    """Return a body in chunks of odd sizes, with an extension, upper-case digits, and a trailer."""
    middle = len(body) // 2
    head = b"%X;name=value\r\n%b\r\n" % (middle, body[:middle])
    return head + b"00%x\r\n%b\r\n0\r\nX-Trailer: last\r\n\r\n" % (len(body) - middle, body[middle:])


def raw_answers() -> dict[str, bytes]:
    page = english("Floods", f"<p>The flood of the harbour.</p>{links('/zipped', '/plain', '/old')}").body
    zipped = gzip.compress(article(1).body, mtime=0)
    head = b"HTTP/1.1 200 Fine With Me\r\ncOnTeNt-TyPe:text/html; charset=utf-8\r\n"
    return {
        "/robots.txt": b"HTTP/1.1 404 none\r\nContent-Length: 2\r\n\r\nno",
        "/": head + b"TRANSFER-ENCODING: Chunked\r\nset-cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n" + chunked(page),
        "/zipped": head + b"content-encoding:  GZIP\r\nTransfer-encoding: chunked\r\n\r\n" + chunked(zipped),
        "/plain": head + b"X-Empty:\r\nContent-Length: %d\r\n\r\n%b" % (len(article(2).body), article(2).body),
        "/old": b"HTTP/1.1 302 Found\r\nLOCATION: /deflated\r\nContent-Length: 4\r\n\r\ngone",
        "/deflated": head + b"Content-Encoding: deflate\r\nConnection: close\r\n"
        b"Content-Length: %d\r\n\r\n%b" % (len(zlib.compress(article(3).body)), zlib.compress(article(3).body)),
    }


def blocks(crawl: Path, kind: str) -> dict[str, bytes]:
    """Return the blocks of a crawl's records of one type by URL."""
    found = {}
    for path in (crawl / "archive").iterdir():
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                if record.headers["WARC-Type"] == kind:
                    assert record.reader is not None
                    found[record.headers["WARC-Target-URI"] or ""] = record.reader.read()
    return found


def test_bytes_are_kept_as_they_passed_the_connection(tmp_path: Path) -> None:
    with serving_raw(RawSite(raw_answers())) as site:
        ended = aah("crawl", write_icd(tmp_path, site.url))
        assert ended.code == 0, ended.err
    sent = {site.url.rstrip("/") + path: answer for path, answer in site.answers.items()}
    got = {site.url.rstrip("/") + path: head for path, head in site.asked.items()}
    assert blocks(tmp_path / "crawl", "response") == sent
    assert blocks(tmp_path / "crawl", "request") == got
    assert [row["title"] for row in rows(tmp_path / "crawl", "objects")] == ["Flood 1", "Flood 2", "Flood 3"]
    for head in got.values():
        (agent,) = [line for line in head.decode().splitlines() if line.startswith("User-Agent: ")]
        assert agent.startswith("User-Agent: AAHCrawler/")
        assert "(+test@example.org; Test archive; A test)" in agent

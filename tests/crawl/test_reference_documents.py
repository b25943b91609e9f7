"""Reference documents on the web: fetched once, archived, and part of the topic."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from aahcrawler.crawl.startup.reference_documents import check, fetch_documents, reader
from aahcrawler.exchange import Exchange
from knowledge_base.model import KnowledgeBase
from online_analysis.icd import Icd
from tests.crawl.crawling import aah, rows
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.world import LOOPBACK, crawl, define, gaps
from tests.helper.building import application, article, level, text_field
from tests.helper.saved_pages import html_page

TEXT = "Lighthouse keepers trimmed the lamps of the lighthouse every night and wound the clockwork of the lens."
PLAIN = {"Content-Type": "text/plain; charset=utf-8"}


def trickling() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"<p>lighthouse</p>"
        time.sleep(0.1)


def endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    while True:
        yield b"<p>lighthouse keepers and their lamps</p>" * 1000


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    pages = {
        "/page": html("Lighthouses", f"<nav><a href=/>Home</a></nav><article><p>{TEXT}</p></article>"),
        "/text": Reply(TEXT.encode(), headers=PLAIN),
        "/moved": Reply(b"", 301, {"Location": "/text"}),
        "/loop": Reply(b"", 302, {"Location": "/loop"}),
        "/away": Reply(b"", 302, {"Location": "http://10.0.0.1/"}),
        "/nowhere": Reply(b"", 302, {"Location": "mailto:a@b.org"}),
        "/pdf": Reply(b"%PDF-1.4", headers={"Content-Type": "application/pdf"}),
        "/empty": html(""),
        "/error": Reply(b"busy", 503),
        "/closes": Reply(raw=lambda: (b"HTTP/1.1 200 OK\r\nConte",)),
        "/trickling": Reply(raw=trickling),
        "/endless": Reply(raw=endless),
        "/robots.txt": Reply(b"User-agent: *\nDisallow: /\n", headers=PLAIN),
    }
    with serving(Site(dict(pages))) as served:
        yield served


def definition(folder: Path, *documents: str, **sections: object) -> Icd:
    topic = {"documents": list(documents)}
    fields = {"limits": {"page_bytes": "20 kB"}, "politeness": {"timeout": "10 min", "delay": "0"}, **sections}
    return Icd.load(
        define(folder, ["http://a.test/"], topic=topic, network={"allow_private": ["127.0.0.0/8"]}, **fields)
    )


@pytest.mark.parametrize("path", ["page", "text", "moved"])
def test_the_text_of_a_document_is_had_and_the_exchange_kept(site: Site, tmp_path: Path, path: str) -> None:
    kept: list[Exchange] = []
    url = f"{site.url}{path}"
    fetched = fetch_documents(definition(tmp_path, url), tmp_path, kept.append)
    assert fetched.mistakes == []
    assert " ".join(fetched.texts[url].split()) == TEXT
    assert [exchange.url.rpartition("/")[2] for exchange in kept] == (["moved", "text"] if path == "moved" else [path])
    assert all(exchange.response.closed for exchange in kept)


def test_a_document_is_read_as_the_pages_that_are_compared_with_it(site: Site, tmp_path: Path) -> None:
    url = f"{site.url}page"
    fetched = fetch_documents(definition(tmp_path, url), tmp_path, lambda _: None, reader(KnowledgeBase(())))
    assert fetched.texts == {url: f"Lighthouses\n{TEXT}"}


def test_a_document_of_a_known_application_is_read_where_its_level_is_not_known() -> None:
    known = application("site", level("post", ".post", article(text_field("body", ".body"), item=".post")))
    form = f'<html><head><title>Lighthouses</title></head><body id="site-sign"><p>{TEXT}</p></body></html>'
    assert TEXT in reader(KnowledgeBase((known,)))(html_page("http://a.test/form", form))


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("gone", "the server answered 404"),
        ("error", "the server answered 503"),
        ("loop", "too many redirects"),
        ("nowhere", "it leads to what is no http(s) URL"),
        ("away", "10.0.0.1 is a private address"),
        ("pdf", "it holds no text"),
        ("empty", "it holds no text"),
        ("closes", "the connection was closed"),
    ],
)
def test_a_document_that_cannot_be_had_is_a_mistake_of_its_line(
    site: Site, tmp_path: Path, path: str, problem: str
) -> None:
    icd = definition(tmp_path, f"{site.url}text", f"{site.url}{path}")
    fetched = fetch_documents(icd, tmp_path, lambda _: None)
    (mistake,) = fetched.mistakes
    assert str(mistake).startswith(f"{tmp_path}/icd.yaml:")
    assert "topic.documents[1]: could not be had (" in str(mistake)
    assert problem in str(mistake)
    assert list(fetched.texts) == [f"{site.url}text"]


@pytest.mark.parametrize("path", ["trickling", "endless"])
def test_a_document_without_end_is_taken_as_far_as_it_came(site: Site, tmp_path: Path, path: str) -> None:
    kept: list[int] = []
    icd = definition(tmp_path, f"{site.url}{path}", politeness={"timeout": "3 s", "delay": "0"})
    fetched = fetch_documents(icd, tmp_path, lambda exchange: kept.append(exchange.response_size))
    assert kept[0] < 30_000
    assert "lighthouse" in fetched.texts[f"{site.url}{path}"]


def test_documents_of_one_site_are_asked_for_a_delay_apart(site: Site, tmp_path: Path) -> None:
    before = len(site.asked)
    icd = definition(tmp_path, f"{site.url}text", f"{site.url}moved", politeness={"delay": "0.3 s"})
    assert fetch_documents(icd, tmp_path, lambda _: None).mistakes == []
    assert min(gaps(site.asked[before:])) >= 0.29


def test_checking_asks_for_documents_unless_told_not_to(site: Site, tmp_path: Path) -> None:
    definition(tmp_path, f"{site.url}gone")
    before = len(site.asked)
    assert check(tmp_path / "icd.yaml", fetch=False).mistakes == ()
    assert len(site.asked) == before
    assert len(check(tmp_path / "icd.yaml", fetch=True).mistakes) == 1


def test_checking_names_archives_that_cannot_be_used_here(tmp_path: Path) -> None:
    (tmp_path / "held" / "2013").mkdir(parents=True)
    (tmp_path / "held" / "2013" / "a.warc.gz").write_bytes(b"")
    (tmp_path / "a.cdx").write_text("b 2 http://b.test/ text/html 200 A - 0 a.warc.gz\na 1 - - - - - 0 a.warc.gz\n")
    definition(tmp_path, captures={"sources": [{"archive": "held"}, {"archive": ["held/2013", "a.cdx"]}]})
    said = [str(each).partition("captures.")[2] for each in check(tmp_path / "icd.yaml", fetch=False).missing]
    assert said[0].startswith("sources[0].archive: ")
    assert said[0].endswith("holds no WARC, ARC or WACZ files; name of its folders those that do: 2013")
    assert said[1].startswith("sources[1].archive: ")
    assert "is not sorted; sort it by its bytes" in said[1]
    assert len(said) == 2


def test_a_crawl_is_about_its_documents_and_fetches_them_once(tmp_path: Path) -> None:
    about = html("Lighthouse", f"<article><h1>Lighthouse</h1><p>{TEXT}</p></article>" + links("/bread"))
    other = html("Bread", "<p>Knead the dough, let it rest, and bake the loaf in a hot oven until it is brown.</p>")
    with serving(Site({"/": about, "/bread": other, "/about": Reply(TEXT.encode(), headers=PLAIN)})) as site:
        topic = {"documents": [f"{site.url}about"]}
        first = crawl(tmp_path, [site.url], topic=topic, limits={"pages": "1"}, network={"allow_private": LOOPBACK})
        assert first.ended.code == 0, first.ended.err
        rest = aah("crawl", define(tmp_path, [site.url], topic=topic), "--accept-changes")
        assert rest.code == 0, rest.err
    assert sorted(site.paths()) == ["/", "/about", "/bread"]
    scores = {row["url"].rpartition("/")[2]: row["score"] for row in rows(first.folder)}
    assert scores[""] > 0.2 > scores["bread"]
    assert json.loads((first.folder / "topic.json").read_text("utf-8")) == {f"{site.url}about": TEXT}
    archived = []
    for path in (first.folder / "archive").glob("*.warc.gz"):
        with path.open("rb") as file:
            records = ArchiveIterator(file, record_types=WarcRecordType.response)
            archived += [record.headers["WARC-Target-URI"] for record in records]
    assert f"{site.url}about" in archived

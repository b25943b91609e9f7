"""PDF, DOCX, ODT and EPUB files in a crawl: read beside it, scored, followed, and remembered."""

import json
from pathlib import Path
from typing import Any

from aahcrawler.objects.reader import object_rows
from tests.crawl.articles import article, english
from tests.crawl.crawling import rows
from tests.crawl.site import Answer, Reply, Site, links, serving
from tests.crawl.verifying import assert_whole
from tests.crawl.world import crawl, network
from tests.documents.files import Line, pdf
from tests.documents.packed import EPUB, ODT, docx, epub, odt, xhtml

HOST = "http://site.test"
FLOOD = "The storm surge broke the dike, and the harbour stood under the flood for days."
PDF = {"Content-Type": "application/pdf"}


def test_links_of_documents_are_followed_with_their_hops_known(tmp_path: Path) -> None:
    report = pdf([Line(700, FLOOD), Line(680, "More of the flood", "/more"), Line(660, "Log in", "/login.php")])
    pages: dict[str, Answer] = {
        "//site.test/": english("Front", links("/report.pdf", "/broken.pdf")),
        "/report.pdf": Reply(report, headers=PDF),
        "/broken.pdf": Reply(report[:300], headers=PDF),
        "/more": article(1, "/next"),
        "/robots.txt": Reply(b"", 404),
    }
    rules = [{"name": "beyond documents", "refuse": {"path": "*D?"}}]
    with serving(Site(pages, other=article(9))) as site:
        crawled = crawl(tmp_path, [f"{HOST}/"], scope={"rules": rules}, network=network(site, "site.test"))
        assert sorted(site.paths()) == ["/", "/broken.pdf", "/more", "/report.pdf"]
    said = crawled.summary
    assert (said["documents"], said["documents_cut"]) == (2, 1)
    assert said["refused"] == {"login": 1, "rule:beyond documents": 1}
    scores = {row["url"]: row["score"] for row in rows(crawled.folder)}
    assert scores[f"{HOST}/report.pdf"] > 0.2
    assert_whole(crawled.folder)


def test_documents_of_all_formats_are_objects_and_encrypted_ones_are_counted(tmp_path: Path) -> None:
    octets = {"Content-Type": "application/octet-stream"}
    core = "<dc:title>The surge</dc:title><dc:creator>Jane Doe</dc:creator>"
    more = '<w:hyperlink r:id="r"><w:r><w:t>More of the flood</w:t></w:r></w:hyperlink>'
    locked = odt("x", manifest="<m:file-entry><m:encryption-data/></m:file-entry>")
    pages: dict[str, Answer] = {
        "//site.test/": english("Front", links("/a", "/b.odt", "/c.epub", "/d.odt", "/e.pdf")),
        "/a": Reply(docx(FLOOD, more, links={"r": "/more"}, core=core), headers=octets),
        "/b.odt": Reply(odt(f"<text:p>{FLOOD}</text:p>"), headers={"Content-Type": ODT}),
        "/c.epub": Reply(epub({"a": xhtml(f"<p>{FLOOD}</p>")}), headers={"Content-Type": EPUB}),
        "/d.odt": Reply(locked, headers={"Content-Type": ODT}),
        "/e.pdf": Reply(pdf([Line(700, FLOOD)]), headers=PDF),
        "/more": article(1),
        "/robots.txt": Reply(b"", 404),
    }
    with serving(Site(pages, other=article(9))) as site:
        crawled = crawl(tmp_path, [f"{HOST}/"], network=network(site, "site.test"))
    said = crawled.summary
    assert (said["documents"], said["documents_cut"], said["documents_encrypted"]) == (5, 1, 1)
    assert "/more" in site.paths()
    found = {each.url: each for each in object_rows(crawled.folder) if each.type == "document"}
    assert sorted(found) == [f"{HOST}/{name}" for name in ("a", "b.odt", "c.epub", "e.pdf")]
    assert (found[f"{HOST}/a"].title, found[f"{HOST}/a"].author) == ("The surge", "Jane Doe")
    assert all(FLOOD in (each.body or "") for each in found.values())
    scores = {row["url"]: row["score"] for row in rows(crawled.folder)}
    assert all(scores[url] > 0.2 for url in found)
    assert_whole(crawled.folder)


FEED = b"<rss><channel><item><link>/a</link><title>Flood</title></item><item><link>/b</link></item></channel></rss>"
RSS = {"Content-Type": "application/rss+xml"}


def test_what_is_not_wanted_is_left_alone(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {
        "//site.test/": english("Front", links("/report.pdf")),
        "//site.test/news": Reply(FEED, headers=RSS),
        "/report.pdf": Reply(pdf([Line(680, "More", "/more")]), headers=PDF),
        "/robots.txt": Reply(b"Sitemap: /sitemap.xml\n", headers={"Content-Type": "text/plain"}),
    }
    with serving(Site(pages, other=article(9))) as site:
        sources = {"documents": False, "feeds": "off"}
        hosts = network(site, "site.test")
        crawled = crawl(tmp_path, [f"{HOST}/", f"{HOST}/news"], sources=sources, network=hosts)
        assert sorted(site.paths()) == ["/", "/news", "/report.pdf"]
    assert (crawled.summary["documents"], crawled.summary["sitemaps"]) == (0, 0)
    assert crawled.summary["refused"] == {"source": 2}


def test_feeds_that_are_linked_or_announced_lead_to_their_entries(tmp_path: Path) -> None:
    said = {"version": "https://jsonfeed.org/version/1.1", "items": [{"url": f"{HOST}/j"}, {"url": "http://b.test/"}]}
    named = "".join(
        f'<link rel="alternate" type="{kind}" href="{path}">'
        for kind, path in (
            ("application/feed+json", "/feed.json"),
            ("application/rss+xml", "/comments/feed/"),
            ("application/atom+xml", "/moved"),
            ("text/html", "/de"),
        )
    )
    pages: dict[str, Answer] = {
        "//site.test/": english(f"Front</title>{named}<title>", links("/page")),
        "//site.test/news": Reply(FEED, headers=RSS),
        "/page": english(f"Page</title>{named}<title>", ""),
        "/feed.json": Reply(json.dumps(said).encode(), headers={"Content-Type": "application/feed+json"}),
        "/moved": Reply(b"", 301, {"Location": "/atom"}),
        "/atom": Reply(b"<feed><entry><link href='/c'/></entry></feed>", headers={"Content-Type": "text/xml"}),
        "/robots.txt": Reply(b"", 404),
    }
    more: dict[str, Any] = {
        "sources": {"feeds": "announced"},
        "scope": {"rules": [{"name": "no b", "refuse": {"path": "F", "url": "*site.test/b"}}]},
        "limits": {"requisite_bytes": "0"},
    }
    with serving(Site(pages, other=article(9))) as site:
        hosts = network(site, "site.test")
        crawled = crawl(tmp_path, [f"{HOST}/", f"{HOST}/news"], network=hosts, **more)
        assert sorted(site.paths()) == ["/", "/a", "/atom", "/c", "/feed.json", "/j", "/moved", "/news", "/page"]
    summary = crawled.summary
    assert (summary["feeds"], summary["listed"], summary["pages"]) == (3, 3, 6)
    assert summary["refused"] == {"rule:no b": 1, "other_site": 1}

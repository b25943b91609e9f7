"""Rules of the scope in a crawl: what they refuse is counted by their names, and paths are those of the hops."""

from pathlib import Path

from tests.crawl.articles import article, english
from tests.crawl.crawling import aah
from tests.crawl.site import Answer, Reply, Site, links, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.world import crawl, define, network

PDF = Reply(b"%PDF-1.4\n" + bytes(2_000_000), headers={"Content-Type": "application/pdf"})
UNTOLD = Reply(b"%PDF-1.4\n" + bytes(1000), headers={})


def test_refused_types_are_not_kept_and_come_back_when_the_rule_is_gone(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {
        "//site.test/": english("Front", links("/flood.pdf", "/page")),
        "//site.test/page": article(1, "/more"),
        "/download": PDF,
        "/untold": UNTOLD,
        "/robots.txt": Reply(b"", 404),
    }
    rules = [{"name": "no papers", "refuse": {"type": "application/pdf"}}]
    with serving(Site(pages, other=article(2))) as site:
        hosts = network(site, "site.test")
        seeds = [f"http://site.test/{path}" for path in ("", "download", "untold")]
        crawled = crawl(tmp_path, seeds, scope={"rules": rules}, limits={"pages": "2"}, network=hosts)
        assert "/flood.pdf" not in site.paths()
        assert crawled.summary["refused"] == {"rule:no papers": 1}
        assert crawled.summary["blocked"] == {"rule:no papers": 2}
        assert not any("download" in url or "untold" in url for url in archived(crawled.folder))
        assert "blocked: rule:no papers" in crawled.log_of("http://site.test/untold")
        define(tmp_path, seeds, limits={"pages": "9"}, network=hosts)
        assert aah("crawl", tmp_path / "icd.yaml", "--accept-changes").code == 0
        assert site.paths().count("/download") == 2
    assert {"http://site.test/download", "http://site.test/flood.pdf"} <= set(crawled.statuses())
    assert_whole(crawled.folder)


def test_hops_off_the_seeds_sites_are_counted_and_addresses_that_are_one_are_fetched_once(tmp_path: Path) -> None:
    ways = ("/a?utm_source=x", "/a?utm_source=y", "/a", "/moved", "/own")
    pages: dict[str, Answer] = {
        "//a.test/": english("Front", links("http://b.test/", *ways) + '<img src="/image.png?utm_source=z">'),
        "//a.test/a": article(1, "/?utm_source=back"),
        "//a.test/moved": Reply(b"", 302, {"Location": "/a?utm_source=moved"}),
        "//a.test/own": Reply(b"", 302, {"Location": "/own?utm_source=1"}),
        "//a.test/own?utm_source=1": article(2),
        "//b.test/": article(3, "http://c.test/redirect"),
        "//c.test/redirect": Reply(b"", 301, {"Location": "http://c.test/"}),
        "//c.test/": article(4, "http://d.test/", "http://a.test/back"),
        "//a.test/back": article(5, "http://b.test/again"),
        "//b.test/again": article(6),
        "/robots.txt": Reply(b"", 404),
    }
    scope = {
        "sites": "anywhere",
        "canonical": {"drop": ["utm_*"]},
        "rules": [{"name": "near", "require": {"off_site": "at most 2"}}],
    }
    with serving(Site(pages, other=Reply(b"", 404))) as site:
        hosts = network(site, *(f"{name}.test" for name in "abcd"))
        crawled = crawl(tmp_path, ["http://a.test/?utm_source=seed"], scope=scope, network=hosts)
        asked = [each.path for each in site.of("a.test") if each.path != "/robots.txt"]
    assert sorted(asked) == ["/", "/a", "/back", "/image.png?utm_source=z", "/moved", "/own", "/own?utm_source=1"]
    elsewhere = {url for url in crawled.statuses() if "a.test" not in url}
    assert elsewhere == {"http://b.test/", "http://b.test/again", "http://c.test/", "http://c.test/redirect"}
    assert crawled.summary["refused"] == {"rule:near": 1}

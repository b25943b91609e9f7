"""Sitemaps in a crawl: asked for where the definition says so, counted apart, and bounded."""

import gzip
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aahcrawler.revisits.change_log import opened_changes, visits
from aahcrawler.revisits.visit_record import DateSource, Dating
from tests.crawl.articles import article, english
from tests.crawl.site import Answer, Reply, Site, links, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.world import Crawled, crawl, network

XML = {"Content-Type": "application/xml"}
NONE = Reply(b"", 404)
HOST = "http://site.test"
ANYWHERE = {"sites": "anywhere"}


def urlset(*addresses: str) -> Reply:
    told = "<lastmod>2024-05-01</lastmod><changefreq>weekly</changefreq>"
    entries = "".join(f"<url><loc>{url}</loc>{told}</url>" for url in addresses)
    return Reply(f"<urlset>{entries}</urlset>".encode(), headers=XML)


def index(*addresses: str) -> Reply:
    entries = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in addresses)
    return Reply(f"<sitemapindex>{entries}</sitemapindex>".encode(), headers=XML)


def packed(reply: Reply) -> Reply:
    return Reply(gzip.compress(reply.body), headers={"Content-Type": "application/x-gzip"})


def robots(*sitemaps: str) -> Reply:
    said = "User-agent: *\nDisallow: /secret\n" + "".join(f"Sitemap: {url}\n" for url in sitemaps)
    return Reply(said.encode(), headers={"Content-Type": "text/plain"})


PAGES: dict[str, Answer] = {
    "//site.test/": english("Front", links("/linked")),
    "//site.test/robots.txt": robots("/index.xml", "http://cdn.test/site.xml", "/moved.xml"),
    "/index.xml": index(f"{HOST}/one.xml.gz", f"{HOST}/index.xml", "http://other.test/two.xml"),
    "/one.xml.gz": packed(urlset(f"{HOST}/a", "http://other.test/b", f"{HOST}/secret", f"{HOST}/login.php")),
    "//cdn.test/site.xml": urlset("https://www.site.test/c", "http://cdn.test/d", f"{HOST}/e", "http://other.test/f"),
    "/moved.xml": Reply(b"", 301, {"Location": "/list.txt"}),
    "/list.txt": Reply(f"{HOST}/g\n{HOST}/h\n".encode(), headers={"Content-Type": "text/plain"}),
    "//other.test/robots.txt": robots("/other.xml"),
    "/robots.txt": NONE,
}


def crawled(folder: Path, site: Site, sitemaps: str, scope: object = ANYWHERE, limits: object = None) -> Crawled:
    hosts = network(site, "site.test", "cdn.test", "other.test", "www.site.test")
    return crawl(folder, [f"{HOST}/"], network=hosts, sources={"sitemaps": sitemaps}, scope=scope, limits=limits or {})


def test_sitemaps_that_a_site_names_lead_to_its_pages(tmp_path: Path) -> None:
    with serving(Site(PAGES, other=article(1))) as site:
        ended = crawled(tmp_path, site, "robots")
        asked = site.paths()
    assert {url for url, status in ended.statuses().items() if status == 200} == {
        *(f"{HOST}/", f"{HOST}/linked", f"{HOST}/a", f"{HOST}/e", f"{HOST}/g", f"{HOST}/h", "http://cdn.test/d"),
    }
    assert "/other.xml" not in asked
    assert "/two.xml" not in asked
    said = ended.summary
    assert (said["sitemaps"], said["listed"], said["pages"]) == (5, 9, 7)
    assert said["refused"] == {"not_vouched": 3, "login": 1}
    assert archived(ended.folder)[f"{HOST}/one.xml.gz"] == 1
    dated = {visit.url: visit.dated for visit in visits(ended.folder) if visit.dated is not None}
    day = datetime(2024, 5, 1, tzinfo=UTC)
    assert dated[f"{HOST}/a"] == dated[f"{HOST}/e"] == Dating(day, day + timedelta(days=1), DateSource.LISTED)
    assert dated[f"{HOST}/linked"].by is DateSource.CONTENT
    assert f"{HOST}/one.xml.gz" in dated
    with opened_changes(ended.folder) as changes:
        assert changes.frequencies()[f"{HOST}/a"] == "weekly"
        assert changes.sections()[f"{HOST}/a"] == f"{HOST}/one.xml.gz"
    assert_whole(ended.folder)


def test_the_usual_place_is_looked_at_where_that_is_asked_for(tmp_path: Path) -> None:
    rules = [{"name": "lists", "refuse": {"path": "*S[Ss]", "url": "*/b"}}]
    listed = urlset(f"{HOST}/a", f"{HOST}/b", f"{HOST}/linked")
    pages = {**PAGES, "//site.test/robots.txt": NONE, "//site.test/sitemap.xml": listed}
    with serving(Site(pages, other=article(1))) as site:
        ended = crawled(tmp_path, site, "guess", scope={"rules": rules})
        assert sorted(site.paths()) == ["/", "/a", "/linked", "/sitemap.xml"]
    assert ended.summary["refused"] == {"rule:lists": 1}


def test_indexes_that_lead_on_for_ever_end_and_long_sitemaps_are_read_to_their_end(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {
        "//site.test/": english("Front", ""),
        "//site.test/robots.txt": robots("/0.xml", "/long.xml"),
        **{f"/{n}.xml": index(*(f"{HOST}/{n + 1}.xml?{m}" for m in range(2)), f"{HOST}/{n}.xml") for n in range(20)},
        **{f"/{n}.xml?{m}": index(f"{HOST}/{n + 1}.xml?{m}") for n in range(20) for m in range(2)},
        "/long.xml": urlset(*(f"{HOST}/page/{n}" for n in range(2_500))),
    }
    with serving(Site(pages, other=NONE)) as site:
        ended = crawled(tmp_path, site, "robots", limits={"requisite_bytes": "0", "pages": "1"})
    assert (ended.summary["sitemaps"], ended.summary["listed"]) == (10, 2_500)
    assert ended.summary["refused"] == {"too_many_sitemaps": 2}
    assert ended.summary["frontier"]["pages_queued"] == 2_500


def test_what_is_wrong_with_a_list_or_with_the_coding_of_a_page_is_counted_and_logged_once(tmp_path: Path) -> None:
    entries = ("/a?x=1&y=2", f"{HOST}/caf&eacute;s", f"{HOST}/b\x01c", "no address", "//site.test/d")
    coded = gzip.compress(english("Front", links("/linked")).body)
    front = Reply(
        coded[:-8] + bytes(4) + coded[-4:],
        headers={"Content-Type": "text/html; charset=utf-8", "Content-Encoding": "gzip"},
    )
    feed = "<rss><channel><item><title>A & B</title><link>/listed?a=1&b=2</link></item></channel></rss>"
    pages: dict[str, Answer] = {
        "/": front,
        "/linked": english("Linked", links("/all.xml")),
        "/all.xml": Reply(feed.encode(), headers={"Content-Type": "text/html"}),
        "/robots.txt": robots("/map.xml"),
        "/map.xml": urlset(*entries),
    }
    with serving(Site(pages, other=article(1))) as site:
        ended = crawled(tmp_path, site, "robots")
        asked = set(site.paths())
    assert asked == {
        *("/", "/map.xml", "/linked", "/all.xml"),
        *("/a?x=1&y=2", "/caf%C3%A9s", "/d", "/listed?a=1&b=2"),
    }
    assert ended.summary["malformed"] == {"entries": 2, "feeds": 1, "sitemaps": 1}
    assert ended.summary["coding"] == {"checksum": 1}
    log = (ended.folder / "crawl.log").read_text("utf-8")
    assert log.count("malformed:") == 2
    assert log.count("its content coding is broken (checksum)") == 1
    assert_whole(ended.folder)

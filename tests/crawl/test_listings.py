"""Complete listings of known applications: asked for where links have run out, and no further than they help."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.crawl.crawling import PATIENCE, EndedRun, aah, running
from tests.crawl.gate import Gate
from tests.crawl.site import Answer, Reply, Site, serving
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.world import Crawled, crawl, define, network

HOST = "http://blog.test"
MANY = 60
FEW = 30
RSS = {"Content-Type": "application/rss+xml"}
XML = {"Content-Type": "application/xml"}
NONE = Reply(b"", 404)
ALIKE = {"pages": 0, "duplicates": "follow", "soft_404": "ignore"}
"""The pages of made-up sites look alike."""
FIRST = "/?sitemap=posts&sitemap-subtype=post&paged=1"
Links = Callable[[int], range]


def blog_page(title: str, kind: str, body: str) -> Reply:
    head = f'<head><title>{title}</title><meta name="generator" content="WordPress 6.4"></head>'
    return Reply(f"<!doctype html><html lang=en>{head}<body class={kind}>{body}</body></html>".encode())


def at(number: int) -> str:
    return f"/2024/05/flood-{number}/"


def post(number: int, *others: int) -> Reply:
    text = f"In year {number} the storm surge broke dike {number * 7}, and the harbour stood under water for days."
    links = "".join(f'<a rel=prev href="{at(other)}">Earlier</a>' for other in others)
    article = f'<article id="post-{number}" class="post-{number} type-post hentry">'
    inner = f"<h1 class=entry-title>Flood {number}</h1><div class=entry-content><p>{text}</p></div>"
    return blog_page(f"Flood {number}", "single", f"{article}{inner}</article>{links}")


def blog(count: int = FEW, others: Links = lambda _: range(0), root: str = "") -> dict[str, Answer]:
    """Return a blog whose front page links to the ten newest posts, each to ``others``, under a path."""
    newest = "".join(
        f'<article class=hentry><h2 class=entry-title><a href="{root}{at(n)}">Flood {n}</a></h2></article>'
        for n in range(count, count - 10, -1)
    )
    posts = {f"{root}{at(n)}": post(n, *others(n)) for n in range(1, count + 1)}
    return {f"{root}/": blog_page("Floods", "blog", newest), **posts, "/robots.txt": NONE}


def rss(numbers: range) -> Reply:
    items = "".join(
        f"<item><title>Flood {n}</title><link>{HOST}{at(n)}</link><description>A dike broke</description></item>"
        for n in numbers
    )
    return Reply(f"<rss version='2.0'><channel><title>Floods</title>{items}</channel></rss>".encode(), headers=RSS)


def feed(count: int = FEW) -> dict[str, Answer]:
    pages = [range(newest, newest - 10, -1) for newest in range(count, 0, -10)]
    return {f"/feed/?paged={number}": rss(each) for number, each in enumerate(pages, 1)}


def urlset(*paths: str) -> Reply:
    return Reply(
        f"<urlset>{''.join(f'<url><loc>{HOST}{each}</loc></url>' for each in paths)}</urlset>".encode(), headers=XML
    )


def every_post(root: str = "", *others: str) -> Reply:
    return urlset(*(f"{root}{at(n)}" for n in range(1, FEW + 1)), *others)


def crawled(folder: Path, site: Site, seed: str = f"{HOST}/", **sections: object) -> Crawled:
    said = {"network": network(site, "blog.test"), "traps": ALIKE, **sections}
    ended = crawl(folder, [seed], timeout=PATIENCE, **said)
    assert ended.ended.code == 0, ended.ended.err
    return ended


def posts_of(ended: Crawled) -> int:
    return sum(status == 200 and "/flood-" in url for url, status in ended.statuses().items())


def test_a_paged_feed_leads_to_all_posts_that_no_link_leads_to(tmp_path: Path) -> None:
    with serving(Site({**blog(MANY), **feed(MANY)}, other=NONE)) as site:
        ended = crawled(tmp_path, site)
        asked = site.paths()
    assert posts_of(ended) == MANY
    assert len(asked) == len(set(asked)) == 1 + MANY + MANY // 10 + 1
    assert asked.index("/feed/?paged=1") > max(asked.index(at(n)) for n in range(MANY, MANY - 10, -1))
    assert ended.summary["listing"] == {"WordPress, feed: read": MANY // 10}
    assert (ended.summary["pages"], ended.summary["feeds"]) == (MANY + 1, MANY // 10 + 1)
    assert archived(ended.folder)[f"{HOST}/feed/?paged={MANY // 10}"] == 1
    assert_whole(ended.folder)


def test_a_sitemap_leads_to_them_as_well(tmp_path: Path) -> None:
    with serving(
        Site({**blog(root="/blog"), f"/blog{FIRST}": every_post("/blog", "/blog/category/floods/")}, other=NONE)
    ) as site:
        ended = crawled(tmp_path, site, f"{HOST}/blog/")
        asked = site.paths()
    assert posts_of(ended) == FEW
    assert len(asked) == 1 + FEW + 3
    assert ended.summary["listing"] == {"WordPress, feed: status 404": 1, "WordPress, sitemap: read": 1}
    assert f"{HOST}/blog/feed/?paged=1: listing feed of WordPress: status 404" in ended.log
    assert ended.summary["refused"] == {"listed_links": 1}


@pytest.mark.parametrize("listings", [feed(), {FIRST: every_post()}, {}], ids=["feed", "sitemap", "none"])
def test_a_site_whose_links_are_complete_pays_little_for_them(tmp_path: Path, listings: dict[str, Answer]) -> None:
    pages = {**blog(others=lambda n: range(max(1, n - 1), n)), **listings}
    with serving(Site(pages, other=NONE)) as site:
        ended = crawled(tmp_path, site)
        extra = [path for path in site.paths() if path not in pages or path in listings]
    assert posts_of(ended) == FEW
    assert len(extra) <= 2, extra


def test_robots_scope_and_definition_say_what_is_asked_for(tmp_path: Path) -> None:
    closed = Reply(b"User-agent: *\nDisallow: /feed/\nDisallow: /*sitemap=", headers={"Content-Type": "text/plain"})
    with serving(Site({**blog(), **feed(), "//blog.test/robots.txt": closed}, other=NONE)) as site:
        ended = crawled(tmp_path / "robots", site)
        assert not any(path.startswith(("/feed", "/?")) for path in site.paths())
        said = ended.summary["listing"]
        assert (said["WordPress, sitemap: robots"], said["WordPress, feed: robots"]) == (1, 1)
        assert "WordPress, feed: robots" in (ended.folder / "report.html").read_text("utf-8")
    with serving(Site({**blog(), **feed()}, other=NONE)) as site:
        denied = crawled(tmp_path / "deny", site, scope={"deny": ["*/feed/*"]})
        assert denied.summary["listing"]["WordPress, feed: denied"] == 1
        site.asked.clear()
        crawled(tmp_path / "off", site, sources={"listings": "off"})
        crawled(tmp_path / "shallow", site, scope={"depth": 0})
        assert {path.partition("?")[0] for path in site.paths()} <= {"/", *(at(n) for n in range(1, FEW + 1))}


def test_a_crawl_that_is_killed_within_a_feed_goes_on_with_it(tmp_path: Path) -> None:
    gate = Gate()
    pages = {**blog(), **feed()}
    second = pages["/feed/?paged=2"]
    assert isinstance(second, Reply)
    with serving(Site({**pages, "/feed/?paged=2": gate.holding(second)}, other=NONE)) as site:
        icd = define(tmp_path, [f"{HOST}/"], network=network(site, "blog.test"), traps=ALIKE)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.kill()
        gate.open()
        assert aah("crawl", icd).code == 0
        asked = Counter(site.paths())
    assert {path for path, times in asked.items() if times > 1} <= {"/feed/?paged=2"}
    assert posts_of(Crawled(EndedRun(0, "", ""), tmp_path / "crawl")) == FEW


def test_the_next_crawl_of_a_definition_asks_again_and_no_further_than_it_has_to(tmp_path: Path) -> None:
    with serving(Site({**blog(), **feed()}, other=NONE)) as site:
        crawled(tmp_path, site)
        site.asked.clear()
        crawled(tmp_path, site)
        asked = site.paths()
    assert sorted(path for path in asked if path.startswith("/feed/")) == ["/feed/?paged=1", "/feed/?paged=2"]
    assert len(asked) == len(set(asked)) == 1 + FEW + 2


def test_several_workers_share_the_pages_of_a_feed(tmp_path: Path) -> None:
    with serving(Site({**blog(), **feed()}, other=NONE)) as site:
        icd = define(tmp_path, [f"{HOST}/"], network=network(site, "blog.test"), traps=ALIKE)
        ended = Crawled(aah("crawl", icd, "--workers", "2"), tmp_path / "crawl")
        asked = site.paths()
    assert ended.ended.code == 0, ended.ended.err
    assert posts_of(ended) == FEW
    assert len(asked) == len(set(asked))


def test_paging_that_a_server_ignores_ends_and_the_next_listing_is_asked_for(tmp_path: Path) -> None:
    def same(path: str) -> Reply:
        return rss(range(FEW, FEW - 10, -1)) if path.startswith("/feed/") else NONE

    with serving(Site({**blog(), FIRST: every_post()}, other=same)) as site:
        ended = crawled(tmp_path, site)
        asked = [path for path in site.paths() if path.startswith("/feed/")]
    assert asked == ["/feed/?paged=1", "/feed/?paged=2"]
    assert ended.summary["listing"]["WordPress, feed: the same page again"] == 1
    assert posts_of(ended) == FEW


def test_paging_that_goes_on_for_ever_ends_with_the_pages_of_the_crawl(tmp_path: Path) -> None:
    def endless(path: str) -> Reply:
        page = re.fullmatch(r"/feed/\?paged=(\d+)", path)
        first = 1000 + 10 * int(page[1]) if page else 0
        number = re.fullmatch(r"/2024/05/flood-(\d+)/", path)
        return rss(range(first, first + 10)) if page else post(int(number[1])) if number else NONE

    with serving(Site(blog(), other=endless)) as site:
        ended = crawled(tmp_path, site, limits={"pages": "60"})
        assert len(site.paths()) <= 60
    assert ended.summary["reason"] == "limits.pages reached"


@pytest.mark.soak
def test_a_huge_sitemap_is_read_as_far_as_sitemaps_go(tmp_path: Path) -> None:
    huge = urlset(*(f"/2024/05/flood-{n}/" for n in range(1_000, 61_000)))
    with serving(Site({**blog(), FIRST: huge}, other=NONE)) as site:
        ended = crawled(tmp_path, site, limits={"pages": "40"})
        assert len(site.paths()) <= 40
    assert ended.summary["listed"] == 50_000


def test_redirects_of_listings_are_followed_to_their_pages(tmp_path: Path) -> None:
    def moved(path: str) -> Reply:
        page = re.fullmatch(r"/feed/\?paged=(\d+)", path)
        return Reply(b"", 301, {"Location": f"/news.xml?paged={page[1]}"}) if page else NONE

    named = {path.replace("/feed/", "/news.xml"): reply for path, reply in feed().items()}
    with serving(Site({**blog(), **named}, other=moved)) as site:
        ended = crawled(tmp_path, site)
    assert posts_of(ended) == FEW
    assert ended.summary["listing"] == {"WordPress, feed: read": FEW // 10}


def test_what_is_no_listing_is_passed_over(tmp_path: Path) -> None:
    front = blog_page("Floods", "blog", "")
    with serving(Site({**blog(), "/feed/?paged=1": front, FIRST: every_post()}, other=NONE)) as site:
        ended = crawled(tmp_path, site)
    assert posts_of(ended) == FEW
    assert ended.summary["listing"] == {"WordPress, feed: nothing listed": 1, "WordPress, sitemap: read": 1}

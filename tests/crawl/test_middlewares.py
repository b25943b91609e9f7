"""What somebody adds to Scrapy goes on working, and nothing is fetched past the frontier for it."""

import json
from pathlib import Path

import pytest

from tests.crawl.crawling import rows, scrapy, summary, write_icd
from tests.crawl.site import Reply, Site, serving

MIDDLEWARES = {
    "aahcrawler.crawl.scrapy.robots_middleware.RobotsMiddleware": 100,
    "tests.crawl.replacing.Replacing": 200,
}
EXTENSIONS = {"tests.crawl.replacing.Listening": 500}


@pytest.mark.parametrize("rules", ["", "Disallow: /new"])
def test_a_request_in_place_of_an_answer_is_offered_like_any_other(tmp_path: Path, rules: str) -> None:
    listened = tmp_path / "listened"
    with serving(Site()) as site:
        site.pages = {
            "/robots.txt": Reply(f"User-agent: *\n{rules}".encode(), headers={"Content-Type": "text/plain"}),
            "/": Reply(b"<h1>Harbour</h1><a href='/old'>The old</a>"),
            "/old": Reply(b"<h1>It is elsewhere</h1>"),
            "/new": Reply(b"<h1>The new</h1>"),
        }
        icd = write_icd(tmp_path, site.url)
        settings = {
            "DOWNLOADER_MIDDLEWARES": json.dumps(MIDDLEWARES),
            "EXTENSIONS": json.dumps(EXTENSIONS),
            "LISTENED": str(listened),
        }
        given = (part for name, value in settings.items() for part in ("-s", f"{name}={value}"))
        ended = scrapy("crawl", "aah", "-a", f"icd={icd}", *given)
        asked = [each.path for each in site.asked]
    assert ended.code == 0, ended.err
    assert asked.count("/old") == 1
    assert asked.count("/new") == (0 if rules else 1)
    pages = {row["url"].removeprefix(site.url) for row in rows(tmp_path / "crawl")}
    assert pages == ({""} if rules else {"", "new"})
    assert summary(tmp_path / "crawl")["error"] == {"replaced": 1}
    assert set(listened.read_text("ascii").split()) == {site.url + page for page in pages | {"robots.txt"}}

"""A crawl with its ranker: scores are logged, re-scored, learned again after a kill, and told."""

import json
from pathlib import Path
from typing import Any

from aahcrawler.scores.entries import Judged, Rescored
from aahcrawler.scores.reader import read_scores
from tests.crawl.articles import article, article_site
from tests.crawl.crawling import aah, running, summary, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import serving


def posting(url: str) -> str:
    said = {"author": "Ada", "text": f"The dike broke: {url}", "date": "2024-05-02T10:00:00Z", "followers": 5000}
    return json.dumps(said) + "\n"


def told(crawl: Path, url: str) -> dict[str, Any]:
    ended = aah("explain-score", crawl, url, "--json")
    assert ended.code == 0, ended.err
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_a_killed_crawl_goes_on_with_what_its_ranker_knew_and_tells_all_of_it(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    gate = Gate(free=15)
    site = article_site(40, pause=0.1, gate=gate)  # The ranker re-scores between two pages.
    site.pages["/posted.html"] = article(99)
    with serving(site):
        (tmp_path / "posts.jsonl").write_text(posting(site.url + "posted.html"), "utf-8")
        icd = write_icd(tmp_path, site.url, more="limits: {pages: 30}\n")
        icd.write_text(icd.read_text("utf-8").replace("topic: {", "topic: {posts: posts.jsonl, "), "utf-8")
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.kill()
        gate.open()
        ended = aah("crawl", icd)
        assert ended.code == 0, ended.err
    log = (crawl / "crawl.log").read_text("utf-8")
    assert "the ranker has learned again from" in log
    logged = [found.entry for found in read_scores(crawl / "scores", crawl=1)]
    pages = [entry for entry in logged if isinstance(entry, Judged)]
    assert {page.url for page in pages} == {site.url.rstrip("/") + at for at in site.paths()}
    assert all(page.lesson is not None for page in pages)
    rescored = [url for entry in logged if isinstance(entry, Rescored) for url in entry.url]
    assert 0 < summary(crawl)["rescored"] <= len(rescored)

    posted = told(crawl, site.url + "posted.html")
    assert (posted["history"][0]["what"], posted["history"][0]["source"]) == ("offered", "social posting")
    explained = (told(crawl, url) for url in sorted(set(rescored) - {page.url for page in pages}))
    # Of others the ranker may think otherwise by now than when a page led to them.
    queued = next(found for found in explained if found["history"] and found["history"][-1]["what"] == "re-scored")
    assert (queued["state"], queued["frontier"]) == ("queued", None)
    assert queued["reasons"][0]["name"] == "score of links"
    ranker = next(part for part in queued["parts"] if part["analyser"] == "ranker")
    assert abs(sum(reason["effect"] for reason in queued["reasons"]) - ranker["value"]) < 1e-6
    # What the ranker has not told the frontier, as too slight or learned from the last pages, makes little difference.
    assert abs(sum(part["share"] for part in queued["parts"]) - queued["score"]) < 0.1
    assert abs(queued["history"][-1]["queued"] - queued["score"]) < 1e-4

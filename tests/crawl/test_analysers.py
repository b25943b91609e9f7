"""Analysers at work in a crawl: an event, postings, entities, and a plug-in that fails."""

import json
import os
from pathlib import Path

from tests.crawl.articles import article, english
from tests.crawl.crawling import ICD, rows, running, summary, write_icd
from tests.crawl.site import Answer, Site, links, serving

PLUGIN = """
from online_analysis.aggregation import Scores


class Picky:
    name = "picky"

    def analyse(self, document):
        if "Flood" in document.title:
            raise ValueError("no floods")
        return Scores(self.name, 0.5)


def picky(icd, topic):
    return Picky()
"""

MORE = """\
event: {start: 2024-05-01, end: 2024-05-31, lead: 10 days, cool_down: 10 days}
scoring: {weights: {text: 1, picky: 0.1}}
"""


def install(folder: Path) -> dict[str, str]:
    """Install a distribution with an analyser; return the environment in which it is found."""
    (folder / "aah_picky.py").write_text(PLUGIN)
    info = folder / "aah_picky-2.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: aah-picky\nVersion: 2.0\n")
    (info / "entry_points.txt").write_text("[aahcrawler.analysers]\npicky = aah_picky:picky\n")
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def test_dates_postings_and_plug_ins_guide_a_crawl_that_a_broken_one_does_not_end(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {
        "/": english("Start", links("/2019/05/old.html", "/2024/05/new.html")),
        "/2019/05/old.html": article(1),
        "/2024/05/new.html": article(2),
        "/posted.html": article(3),
    }
    (tmp_path / "site-packages").mkdir()
    environment = install(tmp_path / "site-packages")
    with serving(Site(pages)) as site:
        post = {"author": "ann", "text": f"see {site.url}posted.html", "date": "2024-05-02", "followers": 1000}
        (tmp_path / "posts.jsonl").write_text(json.dumps(post))
        text = ICD.replace("surge]", "surge], entities: [Writer 2], posts: posts.jsonl")
        icd = write_icd(tmp_path, site.url, text=text, more=MORE)
        with running("crawl", icd, environment=environment) as crawler:
            ended = crawler.ended()
        assert ended.code == 0, ended
        asked = [path for path in site.paths() if path in pages]
    assert sorted(asked) == sorted(pages)
    assert asked.index("/2024/05/new.html") < asked.index("/2019/05/old.html")
    log = (tmp_path / "crawl" / "crawl.log").read_text("utf-8").splitlines()
    (line,) = [line for line in log if "picky" in line]
    assert " ERROR online_analysis.plugins analyser picky fails on " in line
    assert "(ValueError: no floods)" in line


def test_an_analyser_that_is_not_installed_is_refused_before_anything_is_fetched(tmp_path: Path) -> None:
    with serving(Site({})) as site:
        icd = write_icd(tmp_path, site.url, more=MORE)
        with running("crawl", icd) as crawler:
            ended = crawler.ended()
        assert site.paths() == []
    assert ended.code == 2
    assert f"{icd}:12: scoring.weights.picky: is no analyser; " in ended.err
    assert "Traceback" not in ended.err


RELEVANCE = """\
event: {start: 2019-11-01, end: 2019-11-10, cool_down: 4 days}
scoring:
  relevant: 0.6
  follow: 0.6
  relevance: {combination: linear, alpha: 0.2}
  weights: {relevance: 1, text: 0, url: 0, temporal: 0, social: 0, application: 0, ranker: 0}
"""


def test_a_collection_about_an_event_holds_what_is_relevant_and_follows_no_other_links(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {
        "/near.html": article(5, "/next.html"),
        "/next.html": article(6),
        "/far.html": article(27, "/behind.html"),
        "/behind.html": article(7),
    }
    with serving(Site(pages)) as site:
        icd = write_icd(tmp_path, f"{site.url}near.html", f"{site.url}far.html", more=RELEVANCE)
        with running("crawl", icd) as crawler:
            ended = crawler.ended()
        assert ended.code == 0, ended
        assert sorted(path for path in site.paths() if path in pages) == ["/far.html", "/near.html", "/next.html"]
    found = {row["url"].rpartition("/")[2]: row for row in rows(tmp_path / "crawl")}
    assert {name: row["relevant"] for name, row in found.items()} == {
        "near.html": True,
        "next.html": True,
        "far.html": False,
    }
    assert found["near.html"]["score"] > found["far.html"]["score"] > 0.0
    assert summary(tmp_path / "crawl")["refused"]["off_topic"] == 1

"""Crawls that are about nothing in particular: whole sites, without relevance."""

from pathlib import Path

from tests.crawl.articles import article, english
from tests.crawl.crawling import ICD, aah, rows, summary, write_icd
from tests.crawl.site import Site, links, serving

WHOLE = ICD.replace("topic: {{keywords: [harbour, flood, dike, storm surge]}}\n", "")


def test_a_crawl_without_a_subject_takes_the_whole_site_in_order_and_judges_nothing(tmp_path: Path) -> None:
    assert WHOLE != ICD
    site = Site({"/": english("A museum", links("/1.html", "/2.html", "/list"))})
    site.pages |= {f"/{number}.html": article(number) for number in (1, 2, 3)}
    site.pages["/list"] = english("More of it", links("/3.html"))
    with serving(site) as served:
        ended = aah("crawl", write_icd(tmp_path, served.url, text=WHOLE))
    assert ended.code == 0, ended
    crawl = tmp_path / "crawl"
    told = summary(crawl)
    assert (told["pages"], told["relevant_at"], told["relevant"], told["harvest_ratio"]) == (5, None, 0, None)
    pages = rows(crawl)
    assert [(row["score"], row["relevant"]) for row in pages] == [(None, None)] * 5
    assert [row["depth"] for row in pages] == [0, 1, 1, 1, 2]
    report = (crawl / "report.html").read_text("utf-8")
    assert "pages so far" in report
    assert "relevan" not in report

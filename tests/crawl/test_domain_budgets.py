"""Single domains have budgets of pages and bytes, and a depth of their own."""

from pathlib import Path

import pytest

from tests.crawl.articles import article_site
from tests.crawl.crawling import ICD, aah, rows, summary, write_icd
from tests.crawl.site import Site, serving

HOSTS = ("big.test", "small.test")
BUDGETS = """\
scope: {{sites: anywhere}}
politeness: {{delay: 0, delay_factor: 0, domains: {{small.test: {{{budget}}}}}}}
network: {{allow_private: true, resolve: {{{hosts}}}}}
"""


def crawled(folder: Path, site: Site, budget: str, more: str = "", *options: str) -> Path:
    """Crawl the same site under two names, one of which has a budget."""
    port = site.url.rstrip("/").rpartition(":")[2]
    hosts = ", ".join(f'{host}: "127.0.0.1:{port}"' for host in HOSTS)
    lines = [line for line in ICD.splitlines(keepends=True) if not line.startswith(("politeness", "network"))]
    icd = write_icd(
        folder,
        *(f"http://{host}/" for host in HOSTS),
        text="".join(lines) + BUDGETS.format(budget=budget, hosts=hosts).replace("{", "{{").replace("}", "}}"),
    )
    with icd.open("a", encoding="utf-8") as file:
        file.write(more)
    ended = aah("crawl", icd, "--accept-changes", *options)
    assert ended.code == 0, ended.err
    return folder / "crawl"


def pages(crawl: Path, host: str) -> int:
    return sum(row["url"].startswith(f"http://{host}/") for row in rows(crawl))


@pytest.mark.parametrize("budget", ["pages: 5", "bytes: 5 kB"])
def test_a_domain_with_a_budget_has_no_more_than_that(tmp_path: Path, budget: str) -> None:
    with serving(article_site(20)) as site:
        crawl = crawled(tmp_path, site, budget)
    found, name = summary(crawl), f"domain_{budget.partition(':')[0]}"
    assert pages(crawl, "big.test") == 21
    assert found["domain_pages"]["small.test"] == pages(crawl, "small.test")
    assert found["blocked"][name] > 0
    assert f"that politeness.domains grants ({name})" in (crawl / "report.html").read_text("utf-8")
    if name == "domain_pages":
        assert pages(crawl, "small.test") == 5
    else:
        assert 5000 <= found["domain_bytes"]["small.test"] < 5000 + 3000


def test_workers_share_a_budget(tmp_path: Path) -> None:
    """What another worker fetched within the last second may come on top: a page for each other worker here."""
    with serving(article_site(20, pause=0.3)) as site:
        crawl = crawled(tmp_path, site, "pages: 5", "", "--workers", "2")
    assert pages(crawl, "big.test") == 21
    assert 5 <= pages(crawl, "small.test") <= 5 + 4
    assert summary(crawl)["domain_pages"]["small.test"] == pages(crawl, "small.test")


def test_a_budget_outlives_a_restart(tmp_path: Path) -> None:
    with serving(article_site(20)) as site:
        crawl = crawled(tmp_path, site, "pages: 3", "limits: {pages: 4}\n")
        assert summary(crawl)["state"] == "stopped"
        before = pages(crawl, "small.test")
        assert crawled(tmp_path, site, "pages: 3") == crawl
    assert 0 < before <= 3
    assert (pages(crawl, "big.test"), pages(crawl, "small.test")) == (21, 3)
    assert summary(crawl)["crawl"] == 1


def test_a_domain_has_a_depth_of_its_own(tmp_path: Path) -> None:
    with serving(article_site(20)) as site:
        crawl = crawled(tmp_path, site, "depth: 1")
    assert (pages(crawl, "big.test"), pages(crawl, "small.test")) == (21, 3)
    assert summary(crawl)["refused"]["too_deep"] > 0

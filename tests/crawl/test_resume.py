"""A crawl that is stopped, by its user or by its limits, and the same command again."""

from collections import Counter
from pathlib import Path

import pytest

from tests.crawl.articles import article, article_site
from tests.crawl.crawling import aah, rows, running, summary, write_icd
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.verifying import assert_counts, assert_whole


def test_a_crawl_that_was_stopped_goes_on_and_fetches_nothing_twice(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with serving(article_site(40, pause=0.05)) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd) as crawler:
            crawler.until(lambda: len(site.paths()) >= 15)
            crawler.interrupt()
            ended = crawler.ended(20)
        assert ended.code == 0, ended.err
        assert ended.err.splitlines()[-1].startswith(f"{crawl}: {len(site.paths())} pages, ")
        assert "stopped; the same command goes on from here" in ended.err
        assert summary(crawl)["state"] == "stopped"
        assert summary(crawl)["frontier"]["pages_leased"] == 0
        assert summary(crawl)["pages"] == len(site.paths()) < 41
        assert_whole(crawl)
        assert aah("crawl", icd).code == 0
        assert Counter(site.paths()) == Counter(dict.fromkeys(site.pages, 1))
    assert [row["url"].removeprefix(site.url.rstrip("/")) for row in rows(crawl)] == site.paths()
    assert_whole(crawl)
    assert_counts(crawl)


def test_a_second_interrupt_ends_the_crawl_at_once(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    waits = [25.0, 0.0]
    site = Site({"/": html("Front", links("/slow")), "/slow": lambda _: Reply(article(1).body, pause=waits.pop(0))})
    with serving(site):
        icd = write_icd(tmp_path, site.url)
        icd.write_text(icd.read_text("utf-8").replace("5 s", "30 s"), "utf-8")
        with running("crawl", icd) as crawler:
            crawler.until(lambda: "/slow" in site.paths())
            crawler.interrupt()
            crawler.until(lambda: "stopping: shutdown" in (crawl / "crawl.log").read_text("utf-8"))
            crawler.interrupt()
            ended = crawler.ended(8)
        assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
        assert "stopped; the same command goes on from here" in ended.err
        assert not (crawl / "frontier" / "server.json").exists()
        assert aah("crawl", icd).code == 0
    assert [row["url"] for row in rows(crawl)] == [site.url, site.url + "slow"]
    assert_whole(crawl)


def test_an_interrupt_before_the_first_page_leaves_nothing_behind(tmp_path: Path) -> None:
    site = Site({"/": html("Front"), "/about": Reply(pause=20)})
    with serving(site):
        icd = write_icd(tmp_path, site.url)
        icd.write_text(icd.read_text("utf-8").replace("topic: {", f"topic: {{documents: [{site.url}about], "), "utf-8")
        with running("crawl", icd) as crawler:
            crawler.until(lambda: "/about" in site.paths())
            crawler.interrupt()
            ended = crawler.ended(8)
    assert ended.code == 0
    assert ended.err == f"{icd}: interrupted before the crawl began\n"
    assert not (tmp_path / "crawl" / "icd.json").exists()


@pytest.mark.parametrize(("limit", "amount"), [("pages", "7"), ("bytes", "4 kB")])
def test_a_limit_ends_the_crawl_and_holds_when_it_is_started_again(limit: str, amount: str, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with serving(article_site(40)) as site:
        icd = write_icd(tmp_path, site.url, more=f"limits: {{{limit}: {amount}}}\n")
        for _ in range(2):
            ended = aah("crawl", icd)
            assert ended.code == 0, ended.err
            assert f"stopped, limits.{limit} reached" in ended.err
            assert 4 <= len(site.paths()) <= 7
            assert summary(crawl)["pages"] == len(rows(crawl)) == len(site.paths())
            asked = site.paths()
        assert site.paths() == asked

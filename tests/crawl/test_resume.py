"""A crawl that is stopped, by its user or by its limits, and the same command again."""

from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from aahcrawler.frontier.protocol import FrontierSettings, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.server.server_process import served_at
from tests.crawl.articles import article, article_site, path
from tests.crawl.crawling import PATIENT, aah, rows, running, summary, write_icd
from tests.crawl.gate import Gate
from tests.crawl.site import Site, html, links, serving
from tests.crawl.verifying import assert_counts, assert_whole

WITHOUT_SUMMARY = """
from aahcrawler import cli
from aahcrawler.crawl.core import lifecycle
from aahcrawler.crawl.reporting import live_display

lifecycle.SUMMARY_EVERY, live_display.LINE_EVERY = 3600.0, 0.0
cli.main()
"""
"""Runs ``aah`` so that a crawl writes no ``crawl.json`` before its end, and tells each second how far it is."""


def test_a_crawl_that_was_stopped_goes_on_and_fetches_nothing_twice(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    gate = Gate(free=15)
    with serving(article_site(40, gate=gate)) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd, code=PATIENT) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.interrupt()
            crawler.until(lambda: "stopping: shutdown" in (crawl / "crawl.log").read_text("utf-8"))
            gate.open()
            ended = crawler.ended()
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


def test_the_time_and_what_waits_are_known_by_the_second(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate()
    held = [f"/{number}" for number in range(20)]
    site = Site({"/": html("Front", links(*held)), **{path: gate.holding(article(1)) for path in held}})
    with serving(site):
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd, code=WITHOUT_SUMMARY) as crawler:
            crawler.until(lambda: gate.held > 0)
            with closing(RedisFrontier(served_at(crawl / "frontier") or "", "test", FrontierSettings())) as frontier:
                crawler.until(lambda: frontier.stats().get("seconds", 0.0) >= 3)
                waiting = frontier.counts().pages[State.QUEUED]
            crawler.kill()
            said = crawler.ended().err
        gate.open()
    assert 10 < waiting < 20
    assert f"pages waiting: {waiting}" in said.splitlines()[-1]


def test_a_second_interrupt_ends_the_crawl_at_once(tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    gate = Gate()
    site = Site({"/": html("Front", links("/slow")), "/slow": gate.holding(article(1))})
    with serving(site):
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd, code=PATIENT) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.interrupt()
            crawler.until(lambda: "stopping: shutdown" in (crawl / "crawl.log").read_text("utf-8"))
            crawler.interrupt()
            ended = crawler.ended()
        gate.open()
        assert (ended.code, "Traceback" in ended.err) == (0, False), ended.err
        assert "stopped; the same command goes on from here" in ended.err
        assert not (crawl / "frontier" / "server.json").exists()
        assert aah("crawl", icd).code == 0
    assert [row["url"] for row in rows(crawl)] == [site.url, site.url + "slow"]
    assert_whole(crawl)


def test_an_interrupt_before_the_first_page_leaves_nothing_behind(tmp_path: Path) -> None:
    gate = Gate()
    site = Site({"/": html("Front"), "/about": gate.holding(html("About"))})
    with serving(site):
        icd = write_icd(tmp_path, site.url)
        icd.write_text(icd.read_text("utf-8").replace("topic: {", f"topic: {{documents: [{site.url}about], "), "utf-8")
        with running("crawl", icd) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.interrupt()
            ended = crawler.ended()
    assert ended.code == 0
    assert ended.err == f"{icd}: interrupted before the crawl began\n"
    assert not (tmp_path / "crawl" / "icd.json").exists()


@pytest.mark.parametrize(("limit", "amount", "more"), [("pages", "7", "12"), ("bytes", "4 kB", "9 kB")])
def test_a_limit_that_is_raised_lets_the_crawl_go_on(limit: str, amount: str, more: str, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with serving(article_site(40)) as site:
        icd = write_icd(tmp_path, site.url, more=f"limits: {{{limit}: {amount}}}\n")
        ended = aah("crawl", icd)
        assert f"{crawl}: crawl 1 begun\n" in ended.err
        assert f"stopped, limits.{limit} reached" in ended.err
        asked = site.paths()
        assert 4 <= len(asked) <= 7
        write_icd(tmp_path, site.url, more=f"limits: {{{limit}: {more}}}\n")
        refused = aah("crawl", icd)
        assert refused.code == 2
        assert f"(changed: limits.{limit})" in refused.err
        ended = aah("crawl", icd, "--accept-changes")
        assert ended.code == 0, ended.err
        assert f"{crawl}: crawl 1 goes on\n" in ended.err
        assert f"stopped, limits.{limit} reached" in ended.err
        assert len(asked) + 4 <= len(site.paths()) == summary(crawl)["pages"] == len(rows(crawl))
    assert set(Counter(site.paths()).values()) == {1}
    assert not (crawl / "former").exists()


@pytest.mark.parametrize(("limit", "amount"), [("pages", "7"), ("bytes", "4 kB")])
def test_a_crawl_that_ended_by_a_limit_is_begun_anew(limit: str, amount: str, tmp_path: Path) -> None:
    crawl = tmp_path / "crawl"
    with serving(article_site(40)) as site:
        icd = write_icd(tmp_path, site.url, more=f"limits: {{{limit}: {amount}}}\n")
        first = aah("crawl", icd)
        assert first.code == 0, first.err
        before, asked = summary(crawl), site.paths()
        ended = aah("crawl", icd)
        assert ended.code == 0, ended.err
        assert f"{crawl}: crawl 2 begun anew, knowing {len(asked)} pages of the crawls before\n" in ended.err
        assert f"stopped, limits.{limit} reached" in ended.err
        again = site.paths()[len(asked) :]
    assert 4 <= len(again) <= 7
    assert set(again) <= set(asked) | {path(number) for number in range(1, 41)}
    after = summary(crawl)
    assert (after["crawl"], after["pages"], after["state"]) == (2, len(again), "stopped")
    assert summary(crawl / "former" / "1") == before
    assert_whole(crawl)


INTERRUPTED = """
import os, signal
from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess

def interrupting(method):
    def interrupted(self, *arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        return method(self, *arguments, **options)
    return interrupted

owner, name = {"crawl": (AsyncCrawlerProcess, "crawl"), "engine": (ExecutionEngine, "start_async")}[%r]
setattr(owner, name, interrupting(getattr(owner, name)))
from aahcrawler.cli import app
app()
"""
"""Runs ``aah``, and asks it to end before Scrapy's reactor runs, or before its engine does."""


@pytest.mark.parametrize("moment", ["crawl", "engine"])
def test_a_crawl_that_is_asked_to_end_before_it_fetches_anything_ends_in_good_order(
    tmp_path: Path, moment: str
) -> None:
    with serving(Site({"/": html("A page", "<p>Nothing.</p>")})) as site:
        icd = write_icd(tmp_path, site.url)
        with running("crawl", icd, code=INTERRUPTED % moment) as process:
            ended = process.ended()
        assert ended.code == 0, ended.err
        stopped = summary(tmp_path / "crawl")
        assert (stopped["state"], stopped["reason"], stopped["pages"]) == ("stopped", "shutdown", 0)
        assert not site.asked
        assert aah("crawl", icd).code == 0
        assert summary(tmp_path / "crawl")["pages"] == 1

"""One page harms nobody else: the loop runs on, the other site is crawled, and the crawl ends when it is told to."""

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.hostile.shapes import page_of
from tests.crawl.crawling import running
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.verifying import archived
from tests.crawl.world import Crawled, define, network
from tests.pace import allowed

MAX_HELD = 2.0
SIZES = [pytest.param(1_000_000, id="1 MB"), pytest.param(10_000_000, id="10 MB", marks=pytest.mark.soak)]
HELD = """
import asyncio, pathlib, sys, time
from asyncio.base_events import BaseEventLoop

forever = BaseEventLoop.run_forever
held = pathlib.Path(sys.argv.pop())

async def beat():
    longest, last = 0.0, time.thread_time()
    while True:
        await asyncio.sleep(0.02)
        longest, last = max(longest, time.thread_time() - last), time.thread_time()
        held.write_text(str(longest))

def run_forever(loop):
    loop.call_later(0.5, lambda: loop.create_task(beat()))
    forever(loop)

BaseEventLoop.run_forever = run_forever
from aahcrawler import cli
cli.main()
"""
"""Runs ``aah`` and writes for how much processor time at most nothing else had its turn in its loop."""

ENDLESS = """
from functools import partial

from aahcrawler import cli
from aahcrawler.crawl.core import page_reading
from aahcrawler.crawl.response import page_analyser

understand = page_analyser.understand

def endless(page, *others):
    while page.url == "http://big.test/":
        pass
    return understand(page, *others)

page_analyser.understand = endless
{more}
cli.main()
"""
"""Runs ``aah`` so that reading one page does not end by itself."""


ENDLESS_LIST = (
    ENDLESS.replace("import page_analyser", "import listings")
    .replace("page_analyser.understand", "listings.understand_list")
    .replace('page.url == "http://big.test/"', "True")
)


def site_beside(page: bytes) -> Site:
    site = Site()
    site.pages["//big.test/"] = Reply(page, 200, {"Content-Type": "text/html; charset=utf-8"})
    small = {f"//small.test/{n or ''}": html(f"Page {n}", f"<p>harbour {n}<a href=/{n + 1}>next") for n in range(20)}
    site.pages |= small
    return site


def defined(folder: Path, site: Site, sources: object = None, **limits: object) -> Path:
    return define(
        folder,
        ["http://big.test/", "http://small.test/"],
        politeness={"delay": "0", "delay_factor": "0"},
        network=network(site, "big.test", "small.test"),
        limits=limits,
        sources=sources or {},
        traps={"duplicates": "follow", "soft_404": "ignore"},
    )


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
def test_links_without_end_hold_up_nobody(tmp_path: Path, size: int) -> None:
    site = site_beside(page_of("links beside one another", size))
    with serving(site) as served:
        definition = defined(tmp_path, served)
        held = tmp_path / "held"
        with running("crawl", definition, held, code=HELD) as crawl:
            crawl.until(lambda: any("big.test/ 200" in line for line in _log(tmp_path)))
            before = [asked.path for asked in served.of("small.test")]
            crawl.interrupt()
            ended = crawl.ended()
    assert ended.code in (0, 3), ended.err
    assert float(held.read_text()) < allowed(MAX_HELD)
    assert "/19" in before, "the other site had to wait"
    assert "Traceback" not in ended.err
    assert Crawled(ended, tmp_path / "crawl").summary["pages"] >= 21


def crawled(folder: Path, code: str, **limits: object) -> Crawled:
    with serving(site_beside(page_of("links in paragraphs", 300_000))) as site:
        definition = defined(folder, site, **limits)
        with running("crawl", definition, code=code) as crawl:
            return Crawled(crawl.ended(), folder / "crawl")


def test_a_page_that_the_clock_ends_is_archived_and_said_not_to_be_read(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, ENDLESS.format(more="page_reading.Bounds = partial(page_reading.Bounds, processor=1)"))
    assert crawl.statuses()["http://big.test/"] == 200
    assert "reading took too long: it took more than 1 seconds of processor time" in crawl.log
    summary = crawl.summary
    assert summary["error"] == {"WorkEndedError": 1}
    assert summary["failure"]["slow"] == 1
    assert {seed["url"]: seed["verdict"] for seed in summary["seeds"]}["http://big.test/"] == "nothing read"
    assert summary["pages"] == 21


def test_a_page_that_is_being_read_when_the_time_is_over_is_fetched_again(tmp_path: Path) -> None:
    crawl = crawled(tmp_path, ENDLESS.format(more="page_reading.GRACE = 0.1"), time="3 s")
    assert crawl.summary["reason"] == "limits.time reached"
    assert "http://big.test/" not in crawl.statuses()
    assert crawl.summary["frontier"]["pages_queued"] >= 1
    assert crawl.summary["frontier"]["pages_leased"] == 0


LISTS: dict[str, Callable[[int], bytes]] = {
    "nested elements": lambda size: b"<urlset><url>" + b"<x>" * (size // 3),
    "a whole sitemap": lambda size: (
        b"<urlset>" + b"".join(b"<url><loc>http://big.test/%d</loc></url>" % n for n in range(size // 40))
    ),
    "lines": lambda size: b"http://big.test/0\n" + b" \n" * (size // 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", LISTS)
def test_sitemaps_without_end_hold_up_nobody(tmp_path: Path, kind: str, size: int) -> None:
    site = site_beside(b"<title>Big</title>")
    site.pages["//big.test/robots.txt"] = Reply(b"User-agent: *\nDisallow:\nSitemap: /list.txt")
    site.pages["/list.txt"] = Reply(LISTS[kind](size)[:size], headers={"Content-Type": "text/plain"})
    with serving(site) as served:
        definition = defined(tmp_path, served, sources={"sitemaps": "robots"}, pages="21")
        held = tmp_path / "held"
        with running("crawl", definition, held, code=HELD) as crawl:
            ended = crawl.ended()
    assert float(held.read_text()) < allowed(MAX_HELD)
    assert Crawled(ended, tmp_path / "crawl").summary["sitemaps"] == 1


def test_a_list_that_the_clock_ends_is_archived_and_counted(tmp_path: Path) -> None:
    site = site_beside(b"<title>Big</title>")
    site.pages["//big.test/robots.txt"] = Reply(b"User-agent: *\nDisallow:\nSitemap: /list.txt")
    site.pages["/list.txt"] = Reply(b"http://big.test/\n" * 40_000, headers={"Content-Type": "text/plain"})
    code = ENDLESS_LIST.format(more="page_reading.Bounds = partial(page_reading.Bounds, processor=1)")
    with serving(site) as served:
        definition = defined(tmp_path, served, sources={"sitemaps": "robots"})
        with running("crawl", definition, code=code) as crawl:
            ended = Crawled(crawl.ended(), tmp_path / "crawl")
    assert archived(ended.folder)["http://big.test/list.txt"] == 1
    assert ended.summary["error"] == {"WorkEndedError": 1}
    assert ended.summary["failure"]["slow"] == 1
    assert (ended.summary["sitemaps"], ended.summary["pages"]) == (1, 21)


def _log(folder: Path) -> list[str]:
    log = folder / "crawl" / "crawl.log"
    return log.read_text().splitlines() if log.exists() else []

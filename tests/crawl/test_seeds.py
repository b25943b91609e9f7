"""What a crawl says of its seeds: in the terminal, ``crawl.json``, the report, by its exit code, and next time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.crawl.crawling import aah
from tests.crawl.site import Reply, Site, html, links, serving
from tests.crawl.world import NOWHERE, Crawled, crawl, network

TEASER = """<article><h1>The storm surge</h1><p>The storm surge broke the dike on Monday, and then the harbour...</p>
</article><p>This article is for subscribers only. <a href=/in>Log in</a></p>"""
FLOOD = "<p>The storm surge broke the dike, and the harbour stood under water for a week.</p>"
SEEDS = (
    "http://good.test/",
    "http://moved.test/",
    "http://cookie.test/",
    "http://denied.test/",
    "http://gone.test/",
    "http://down.test/",
    "http://away.test/",
    "http://paid.test/",
)
COOKIE = {"Location": "http://cookie.test/", "Set-Cookie": "seen=1"}


def world() -> Site:
    return Site(
        {
            "//good.test/": html("Front", FLOOD + links("/1")),
            "//good.test/1": html("One", FLOOD),
            "//moved.test/": Reply(b"", 301, {"Location": "http://moved.test/new"}),
            "//moved.test/new": Reply(b"", 302, {"Location": "http://moved.test/newer"}),
            "//moved.test/newer": html("Newer", FLOOD),
            "//cookie.test/": Reply(b"", 302, COOKIE),
            "//denied.test/robots.txt": Reply(b"User-agent: *\nDisallow: /\n", headers={"Content-Type": "text/plain"}),
            "//paid.test/": html("The storm surge", TEASER),
            "//away.test/": Reply(b"", 302, {"Location": "http://elsewhere.test/"}),
        }
    )


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    with serving(world()) as site:
        hosts = ("good.test", "moved.test", "cookie.test", "denied.test", "gone.test", "away.test", "paid.test")
        names = network(site, *hosts, **{"down.test": NOWHERE})
        yield crawl(tmp_path_factory.mktemp("seeds"), SEEDS, network=names)


def test_each_url_that_failed_is_listed_with_the_reason(crawled: Crawled) -> None:
    listed = aah("report", str(crawled.folder), "--failed").out.splitlines()
    failed = dict(line.split("\t")[:2] for line in listed[1:])
    assert failed["http://denied.test/"] == "robots.txt"
    assert failed["http://gone.test/"] == "not found (404)"
    assert failed["http://down.test/"] == "connection refused"
    assert not {"http://good.test/", "http://good.test/1", "http://moved.test/"} & failed.keys()
    assert "<td>http://down.test/</td><td>connection refused</td>" in (crawled.folder / "report.html").read_text()


def results(crawled: Crawled) -> dict[str, dict[str, Any]]:
    return {each["url"]: each for each in crawled.summary["seeds"]}


@pytest.mark.parametrize(
    ("seed", "verdict", "pages"),
    [
        ("http://good.test/", "fetched", 2),
        ("http://moved.test/", "fetched", 1),
        ("http://cookie.test/", "cookie wall", 0),
        ("http://denied.test/", "robots.txt", 0),
        ("http://gone.test/", "not found", 0),
        ("http://down.test/", "connection refused", 0),
        ("http://away.test/", "out of scope", 0),
        ("http://paid.test/", "login wall", 1),
    ],
)
def test_each_seed_has_its_verdict(seed: str, verdict: str, pages: int, crawled: Crawled) -> None:
    result = results(crawled)[seed]
    assert (result["verdict"], result["pages"]) == (verdict, pages)
    assert bool(result["advice"]) is (verdict != "fetched")


def test_redirects_are_followed_to_their_end(crawled: Crawled) -> None:
    assert results(crawled)["http://moved.test/"]["ended_at"] == "http://moved.test/newer"


def test_seeds_that_gave_nothing_are_said_in_the_last_line_and_by_the_exit_code(crawled: Crawled) -> None:
    said = crawled.ended.err.splitlines()
    assert crawled.ended.code == 3
    assert "6 of 8 seeds gave nothing" in said[-1]
    assert any(line.startswith("seed http://denied.test/: robots.txt; ") for line in said)
    assert not any("seed http://good.test/" in line for line in said)


def test_the_report_shows_them_and_so_does_a_command(crawled: Crawled) -> None:
    shown = (crawled.folder / "report.html").read_text("utf-8")
    assert "Seeds" in shown
    assert "connection refused" in shown
    told = aah("report", crawled.folder, "--seeds")
    assert told.code == 0
    assert len(told.out.splitlines()) == len(SEEDS) + 1
    assert "http://moved.test/newer" in told.out


def test_a_crawl_without_a_page_is_tried_again_also_with_another_definition(tmp_path: Path) -> None:
    with serving(world()) as site:
        names = network(site, "good.test", **{"down.test": NOWHERE})
        first = crawl(tmp_path, ["http://down.test/"], network=names)
        assert first.ended.code == 3
        assert "the seed gave nothing" in first.ended.err
        again = crawl(tmp_path, ["http://down.test/"], network=names)
        assert "crawl 1 tried again" in again.ended.err
        mended = crawl(tmp_path, ["http://good.test/"], network=names)
    assert mended.ended.code == 0
    assert (mended.summary["crawl"], mended.summary["pages"]) == (1, 2)
    assert mended.summary["error"] == {}


def test_what_answers_lead_to_without_saying_so_in_a_location_is_followed(tmp_path: Path) -> None:
    choices = Reply(html("Choices", FLOOD + links("/chosen")).body, 300, {"Content-Type": "text/html"})
    moved = Reply(html("Moved", FLOOD + links("/named")).body, 302, {"Content-Type": "text/html"})
    away = html("Away", "").body
    world = Site(
        {
            "//choices.test/": choices,
            "//choices.test/chosen": html("Chosen", FLOOD),
            "//unnamed.test/": moved,
            "//unnamed.test/named": html("Named", FLOOD),
            "//header.test/": Reply(away, 200, {"Content-Type": "text/html", "Refresh": "0; url=/next"}),
            "//header.test/next": html("Next", FLOOD),
            "//silent.test/": Reply(b"", 204),
            "//same.test/": Reply(b"", 304),
            "//nowhere.test/": Reply(b"", 302),
            "//letters.test/": Reply(b"", 302, {"Location": "/caf\xe9"}),
            "//letters.test/caf%E9": html("Letters", FLOOD),
        }
    )
    hosts = ("choices.test", "unnamed.test", "header.test", "silent.test", "same.test", "nowhere.test", "letters.test")
    with serving(world) as site:
        crawled = crawl(tmp_path, [f"http://{host}/" for host in hosts], network=network(site, *hosts))
        assert {"/chosen", "/named", "/next", "/caf%E9"} <= set(site.paths())
    told = results(crawled)
    assert crawled.ended.code == 3
    assert {url[7:-6]: each["verdict"] for url, each in told.items()} == {
        **dict.fromkeys(("choices", "unnamed", "header", "letters"), "fetched"),
        **dict.fromkeys(("silent", "same", "nowhere"), "no content"),
    }
    assert (told["http://choices.test/"]["pages"], told["http://header.test/"]["ended_at"]) == (
        2,
        "http://header.test/next",
    )


def test_a_seed_under_maintenance_is_told_while_the_crawl_waits_for_it(tmp_path: Path) -> None:
    away = Reply(b"<p>We are away for maintenance.</p>", 503, {"Content-Type": "text/html", "Retry-After": "3000"})
    with serving(Site({"/": away})) as site:
        crawled = crawl(tmp_path, [site.url], limits={"time": "6 s"})
        assert site.paths().count("/") == 1
    assert crawled.ended.code == 3
    seed = crawled.summary["seeds"][0]
    assert (seed["verdict"], seed["detail"]) == ("under maintenance", "it is to be tried again")


def test_the_last_line_counts_seeds_that_are_named_as_not_fetched_yet(tmp_path: Path) -> None:
    seeds = ["http://good.test/", "http://good.test/later"]
    with serving(world()) as site:
        told = crawl(tmp_path, seeds, network=network(site, "good.test"), limits={"pages": 1}).ended.err.splitlines()
    assert any(line.startswith("seed http://good.test/later: not fetched yet") for line in told)
    assert "1 of 2 seeds not fetched yet" in told[-1]

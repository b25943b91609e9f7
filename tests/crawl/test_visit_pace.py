"""How fast a visit asks, what it does about sites that have too much to do, and how it ends, whatever comes between."""

import resource
import time
from collections.abc import Iterator
from pathlib import Path

from aahcrawler.crawl.browsing.visited_crawl import AT_ONCE
from aahcrawler.crawl.fetch.ip_claims import APART
from tests.crawl.crawling import scrapy, summary
from tests.crawl.gate import Gate
from tests.crawl.site import Reply, Site, html, serving
from tests.crawl.test_disk_space import is_paused, limit_archive, limit_files
from tests.crawl.verifying import archived, assert_whole
from tests.crawl.visiting import Asking, Plan, command, crawl_visiting, told, visiting
from tests.crawl.warc_records import blocks, fields
from tests.crawl.world import gaps, network

TEXT = {"Content-Type": "text/plain"}
SHELL = html("Shell", "<p>The harbour is flooded, and the dike holds.</p><a href=/next>next</a>")
NEXT = html("Next", "<p>The dike holds to the end.</p>")
NO_ROBOTS = Reply(b"", 404)


def test_a_visit_asks_a_little_apart_and_few_at_once_between_the_pauses_of_its_site(tmp_path: Path) -> None:
    url, delay = "http://a.test/", 1.5
    with serving(Site(other=Reply(b"x", headers=TEXT, pause=0.2))) as site:
        site.pages = {"/robots.txt": NO_ROBOTS, "/": SHELL, "/next": NEXT}
        wanted = [Asking(f"http://{'ab'[number % 5 == 0]}.test/{number}") for number in range(25)]
        ended, (visit,) = crawl_visiting(
            tmp_path,
            [url],
            {url: Plan([[Asking(url)], wanted])},
            network=network(site, "a.test", "b.test"),
            politeness={"delay": f"{delay} s"},
        )
        own = [each for each in site.of("a.test") if each.path not in ("/robots.txt", "/", "/next")]
        last = site.of("a.test")[-1]
        theirs = [each for each in site.of("b.test") if each.path != "/robots.txt"]
    assert ended.code == 0, ended.err
    assert [each.refused for each in visit.given] == [""] * 26
    assert site.most_at_once <= AT_ONCE
    # What is held up on its way comes late, and the next one in time: it is the whole that tells.
    assert all(each[-1].at - each[0].at >= 0.9 * APART * (len(each) - 1) for each in (own, theirs))
    assert max(gaps(own)) < delay
    assert last.path == "/next"
    assert last.at - max(each.at for each in own) >= 0.99 * delay
    assert summary(tmp_path / "crawl")["address_busy"] == 0


def test_a_host_that_has_too_much_to_do_is_left_in_peace(tmp_path: Path) -> None:
    url = "http://a.test/"
    with serving(Site(other=Reply(b"x", headers=TEXT))) as site:
        site.pages = {
            "/robots.txt": NO_ROBOTS,
            "/": SHELL,
            "/next": NEXT,
            "/busy": Reply(b"later", 429, {"Retry-After": "2", **TEXT}),
            "/broken": Reply(b"no", 503, TEXT),
        }
        steps = [[Asking(url)], *([Asking(f"{url}{path}")] for path in ("1", "broken", "2", "busy", "3"))]
        plan = Plan([*steps, [Asking("http://b.test/4")]])
        ended, (visit,) = crawl_visiting(tmp_path, [url], {url: plan}, network=network(site, "a.test", "b.test"))
        paths = site.paths()
    assert ended.code == 0, ended.err
    assert [each.status for each in visit.given] == [200, 200, 503, 200, 429, 0, 200]
    assert visit.said["refused"] == {"overload": 1}
    assert visit.said["rest_asked"] == 2.0
    assert "/3" not in paths


def endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    while True:
        yield b"data: more\n\n"
        time.sleep(0.05)


def test_what_the_browser_gives_up_is_archived_as_far_as_it_comes(tmp_path: Path) -> None:
    with serving(Site()) as site:
        site.pages = {
            "/": Reply(SHELL.body.replace(b"/next", b"/")),
            "/stream": Reply(raw=endless),
            "/slow": Reply(b"slowly, but whole", headers=TEXT, pause=1.0),
            "/after": Reply(b"", headers=TEXT, pause=2.0),
        }
        url = site.url
        steps = [[Asking(url)], [Asking(f"{url}{path}", patience=0.5) for path in ("slow", "stream")]]
        steps += [[Asking(f"{url}after")]]
        ended, (visit,) = crawl_visiting(tmp_path, [url], {url: Plan(steps)})
    assert ended.code == 0, ended.err
    assert [each.refused for each in visit.given] == ["", "given up", "given up", ""]
    assert visit.of(f"{url}stream").body.startswith("data: more")
    crawl = tmp_path / "crawl"
    assert blocks(crawl, "response", f"{url}slow")[0].endswith(b"slowly, but whole")
    assert b"data: more\n\ndata: more" in blocks(crawl, "response", f"{url}stream")[0]
    assert fields(crawl, "response", f"{url}stream")["WARC-Truncated"] == "time"
    assert_whole(crawl)


def test_a_crawl_that_ends_in_the_middle_of_a_visit_loses_nothing_that_came(tmp_path: Path) -> None:
    gate = Gate()
    with serving(Site(other=Reply(b"x", headers=TEXT))) as site:
        site.pages = {"/": SHELL, "/next": NEXT, "/held": gate.holding(Reply(b"late", headers=TEXT))}
        url = site.url
        steps = [[Asking(url)], [Asking(f"{url}1"), Asking(f"{url}held")], [Asking(f"{url}2")]]
        plans = {url: Plan(steps)}
        with visiting(tmp_path, [url], plans) as crawler:
            crawler.until(lambda: gate.held > 0)
            crawler.interrupt()
            ended = crawler.ended()
        gate.open()
        assert ended.code == 0, ended.err
        assert "/2" not in site.paths()
        (visit,) = told(tmp_path)
        again = scrapy(*command(tmp_path, [url], plans))
    assert [each.refused for each in visit.given] == ["", "", "timeout", "stopped"]
    assert again.code == 0, again.err
    assert archived(tmp_path / "crawl")[f"{url}1"] >= 1
    assert summary(tmp_path / "crawl")["reason"] == "finished"
    assert_whole(tmp_path / "crawl")


def test_a_visit_waits_for_a_full_disk_and_keeps_all_that_came(tmp_path: Path) -> None:
    crawl, gate = tmp_path / "crawl", Gate()
    with serving(Site(other=lambda path: Reply(path.encode() * 2000, headers=TEXT))) as site:
        site.pages = {"/": SHELL, "/next": NEXT, "/held": gate.holding(Reply(b"late", headers=TEXT))}
        url = site.url
        wanted = [Asking(f"{url}{number}") for number in range(8)]
        plans = {url: Plan([[Asking(url)], [Asking(f"{url}held")], wanted])}
        with visiting(tmp_path, [url], plans) as crawler:
            crawler.until(lambda: gate.held > 0)
            growing = limit_archive(crawler.process.pid, crawl)
            gate.open()
            crawler.until(lambda: is_paused(crawl, f"no space is left for {growing.stem}"))
            assert not told(tmp_path)
            limit_files(crawler.process.pid, resource.RLIM_INFINITY)
            ended = crawler.ended()
    assert ended.code == 0, ended.err
    (visit,) = told(tmp_path)
    assert [each.refused for each in visit.given] == [""] * 10
    assert [archived(crawl)[f"{url}{number}"] for number in range(8)] == [1] * 8
    assert_whole(crawl)

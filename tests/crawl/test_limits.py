"""How much a crawl fetches: limits, scope, and what a page needs to be shown."""

import itertools
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.crawl.crawling import running
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.world import Crawled, crawl, define, network

NO_ROBOTS = Reply(b"", 404)
CSS = {"Content-Type": "text/css"}
PNG = Reply(b"\x89PNG\r\n\x1a\n" + bytes(30_000), headers={"Content-Type": "image/png"})
ENGLISH = "<p>The storm surge broke the dike, and the harbour stood under water for a week before help came.</p>"
GERMAN = (
    "<p>Die Sturmflut hat den Deich gebrochen, und der Hafen stand eine Woche lang unter Wasser, bevor Hilfe kam. "
    "Die Bewohner der Stadt haben das nicht vergessen und erzählen noch heute davon.</p>"
)


OFTEN = """
from aahcrawler import cli
from aahcrawler.crawl.core import lifecycle
from aahcrawler.revisits import time_left

lifecycle.SUMMARY_EVERY = time_left.LOOK_EVERY = 0.5
cli.main()
"""
"""Runs ``aah`` so that a crawl tells twice a second how far it is."""

# Pages, and what they need


def dressed_site() -> Site:
    """Return a site whose pages need style sheets, scripts, fonts and images, here and on another host."""
    head = '<link rel="stylesheet" href="/style.css"><script src="/script.js"></script>'
    images = '<img src="/image-{0}.png" srcset="/image-{0}-2x.png 2x"><img src="http://cdn.test/{0}.png">'
    pages = {
        f"//site.test/{number}": html(str(number), head + images.format(number) + links(f"/{number + 1}"))
        for number in range(9)
    }
    return Site(
        {
            **pages,
            "//site.test/": html("Front", links("/1", "/2", "/3", "/4")),
            "/style.css": Reply(b"@import 'more.css'; body { background: url(bg.png) }", headers=CSS),
            "/more.css": Reply(b'@import url("deep.css") screen;', headers=CSS),
            "/deep.css": Reply(b"@font-face { src: url(font.woff2) } /* url(no.png) */", headers=CSS),
            "/script.js": Reply(b"document.write('<img src=/no.png>')", headers={"Content-Type": "text/javascript"}),
            "//cdn.test/robots.txt": Reply(
                b"User-agent: *\nDisallow: /2.png\n", headers={"Content-Type": "text/plain"}
            ),
            "/robots.txt": NO_ROBOTS,
        },
        other=PNG,
    )


@pytest.fixture(scope="module")
def dressed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawled]]:
    with serving(dressed_site()) as site:
        yield (
            site,
            crawl(
                tmp_path_factory.mktemp("dressed"),
                ["http://site.test/"],
                limits={"pages": "3"},
                network=network(site, "site.test", "cdn.test"),
            ),
        )


def test_no_more_pages_than_the_limit(dressed: tuple[Site, Crawled]) -> None:
    site, crawled = dressed
    assert [path for path in site.paths() if "." not in path] == ["/", "/1", "/2"]
    assert crawled.summary["pages"] == 3
    assert crawled.summary["reason"] == "limits.pages reached"
    assert crawled.summary["frontier"]["pages_queued"] >= 2


def test_requisites_of_archived_pages_are_fetched_whatever_the_page_limit(dressed: tuple[Site, Crawled]) -> None:
    site, crawled = dressed
    here = {asked.path for asked in site.of("site.test") if "." in asked.path} - {"/robots.txt"}
    assert here == {
        *("/style.css", "/more.css", "/deep.css", "/font.woff2", "/bg.png", "/script.js"),
        *("/image-1.png", "/image-2.png"),
    }
    assert crawled.summary["requisites"] == len(here) + 1
    assert crawled.summary["frontier"]["requisites_queued"] == 0


def test_requisites_may_lie_on_another_host_but_its_robots_txt_is_obeyed(dressed: tuple[Site, Crawled]) -> None:
    site, crawled = dressed
    assert [asked.path for asked in site.of("cdn.test")] == ["/robots.txt", "/1.png"]
    assert crawled.log_of("http://cdn.test/2.png") == " blocked: robots"


def test_requisites_are_no_pages(dressed: tuple[Site, Crawled]) -> None:
    _, crawled = dressed
    assert set(crawled.statuses()) == {f"http://site.test/{path}" for path in ("", "1", "2")}
    assert crawled.summary["type"] == {"text/html": 3}


def test_no_requisites_where_the_definition_wants_none_and_no_more_pages_of_a_domain_than_it_says(
    tmp_path: Path,
) -> None:
    with serving(dressed_site()) as site:
        site.pages |= {f"//other.test/{path}": html("Other", links("/a", "/b")) for path in ("", "a", "b")}
        bare = crawl(
            tmp_path,
            ["http://site.test/", "http://other.test/"],
            limits={"requisite_bytes": "0", "pages_per_domain": "2"},
            network=network(site, "site.test", "other.test", "cdn.test"),
        )
    for host in ("site.test", "other.test"):
        fetched = [asked.path for asked in site.of(host)]
        assert len(fetched) == 3
        assert fetched[:2] == ["/robots.txt", "/"]
    assert bare.summary["requisites"] == 0
    assert bare.summary["reason"] == "limits.pages_per_domain reached"


def test_the_many_pictures_of_one_page_do_not_keep_other_pages_waiting(tmp_path: Path) -> None:
    pictures = "".join(f'<img src="/{number}.png">' for number in range(120))
    head = '<link rel="stylesheet" href="/style.css">'
    pages = {f"/page-{number}": html("Harbour", ENGLISH + links("/")) for number in range(3)}
    front = html("Flood", head + ENGLISH + pictures + links(*pages))
    site = Site({"/": front, "/robots.txt": NO_ROBOTS, "/style.css": Reply(b"", headers=CSS), **pages}, other=PNG)
    with serving(site):
        crawled = crawl(tmp_path, [site.url], limits={"requisites_per_page": "100"})
    asked = site.paths()
    assert asked[asked.index("/") + 1] == "/style.css"
    assert max(map(asked.index, pages)) < asked.index("/98.png") == len(asked) - 1
    assert "/99.png" not in asked
    assert crawled.summary["requisites"] == 100
    assert crawled.summary["refused"] == {"requisites_per_page": 21}


def test_a_film_that_is_too_large_is_not_kept_and_a_small_one_is(tmp_path: Path) -> None:
    film = {"Content-Type": "video/mp4"}
    sizes = {"small": 30_000, "large": 30_001}
    files = {f"/{name}.mp4": Reply(bytes(size), headers=film) for name, size in sizes.items()}
    head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nConnection: close\r\n\r\n"
    files["/endless.mp4"] = Reply(raw=lambda: iter([head + bytes(90_000)]))
    markup = "".join(f'<video src="{path}"></video>' for path in files)
    with serving(Site({"/": html("Films", ENGLISH + markup), "/robots.txt": NO_ROBOTS, **files})) as site:
        crawled = crawl(tmp_path, [site.url], limits={"requisite_file_bytes": "30 kB"})
    assert crawled.ended.code == 0, crawled.ended.err
    assert crawled.statuses() == {site.url: 200}
    assert crawled.summary["requisites"] == 1
    assert crawled.summary["blocked"] == {"requisite_file_bytes": 2}
    assert crawled.log_of(f"{site.url}large.mp4") == crawled.log_of(f"{site.url}endless.mp4")
    assert crawled.log_of(f"{site.url}large.mp4") == " blocked: requisite_file_bytes"


def test_requisites_end_where_their_bytes_are_used_up(tmp_path: Path) -> None:
    images = "".join(f'<img src="/{number}.png">' for number in range(20))
    with serving(Site({"/": html("Images", images), "/robots.txt": NO_ROBOTS}, other=PNG)) as site:
        spent = crawl(tmp_path, [site.url], limits={"requisite_bytes": "100 kB"})
    assert spent.ended.code == 0, spent.ended.err
    assert 3 <= spent.summary["requisites"] <= 5
    assert 90_000 <= spent.summary["requisite_bytes"] <= 101_000
    assert spent.summary["blocked"] == {"requisite_bytes": 20 - spent.summary["requisites"]}
    assert spent.summary["state"] == "finished"


# Bytes and time


def endless() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p><a href=/after>flood</a></p>"
    while True:
        yield b"<p>flood</p>" * 5000


def trickling_body() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    for _ in itertools.count():
        yield b"<p>"
        time.sleep(0.2)


def trickling_head() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in itertools.count():
        yield b"X-%d: y\r\n" % number
        time.sleep(0.2)


def test_a_body_without_end_ends_with_the_bytes_of_the_crawl(tmp_path: Path) -> None:
    with serving(Site({"/": Reply(raw=endless), "/robots.txt": NO_ROBOTS})) as site:
        cut = crawl(tmp_path, [site.url], limits={"bytes": "2 MB", "page_bytes": "100 kB"})
    assert cut.summary["reason"] == "limits.bytes reached"
    assert 1_900_000 <= cut.summary["bytes"] <= 2_010_000
    assert site.paths() == ["/"]
    assert cut.summary["frontier"]["pages_queued"] == 1


def test_a_crawl_ends_where_its_bytes_are_used_up(tmp_path: Path) -> None:
    large = html("Large", "<p>" + "flood " * 10_000 + links(*(f"/{number}" for number in range(50))))
    with serving(Site({"/robots.txt": NO_ROBOTS}, other=large)) as site:
        spent = crawl(tmp_path, [site.url], limits={"bytes": "400 kB"})
    assert spent.summary["reason"] == "limits.bytes reached"
    assert spent.summary["bytes"] <= 420_000
    assert 5 <= len(site.paths()) <= 8
    assert spent.summary["frontier"]["pages_queued"] >= 40


SLOW: dict[str, object] = {"politeness": {"delay": "0", "timeout": "10 min", "max_delay": "1 h", "retries": "1"}}
"""Lets bodies and delays take far longer than any test waits."""


def test_a_crawl_ends_in_time_however_slow_its_servers_are(tmp_path: Path) -> None:
    hosts = ("body.test", "head.test", "crawling.test", "waiting.test")
    calendar = html("Calendar", links("/1"))
    site = Site(
        {
            "//body.test/": Reply(raw=trickling_body),
            "//head.test/": Reply(raw=trickling_head),
            "//waiting.test/robots.txt": Reply(
                b"User-agent: *\nCrawl-delay: 5000\n", headers={"Content-Type": "text/plain"}
            ),
            "/robots.txt": NO_ROBOTS,
        },
        other=lambda path: html("Calendar", links(f"{path}1")),
    )
    site.pages["//waiting.test/"] = calendar
    seeds = [f"http://{host}/" for host in hosts]
    with serving(site):
        sections = {**SLOW, "network": network(site, *hosts)}
        definition = define(tmp_path, seeds, limits={"time": "1 h"}, **sections)
        with running("crawl", definition) as crawling:
            crawling.until(
                lambda: len(site.of("crawling.test")) > 3 and all("/" in asked(site, host) for host in hosts[:2])
            )
            define(tmp_path, seeds, limits={"time": "3 s"}, **sections)
            late = Crawled(crawling.ended(), tmp_path / "crawl")
    assert late.ended.code == 0, late.ended.err
    assert late.summary["reason"] == "limits.time reached"
    assert late.summary["seconds"] >= 3
    frontier = late.summary["frontier"]
    assert (frontier["pages_leased"], frontier["pages_failed"]) == (0, 0)
    assert frontier["pages_queued"] >= 3  # Slow pages go back, so that a later start may fetch them.
    assert late.summary["error"] == {}


def test_a_running_crawl_tells_the_time_that_is_left(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {"/robots.txt": NO_ROBOTS, "/": html("Front", links(*(f"/{n}" for n in range(1000))))}
    with serving(Site(pages, other=replace(html("Page"), pause=0.1))) as site:
        traps = {"pages": "0", "duplicates": "follow", "soft_404": "ignore"}
        definition = define(tmp_path, [site.url], limits={"time": "1 h"}, traps=traps)
        with running("crawl", definition, code=OFTEN) as crawling:

            def left() -> Mapping[str, float]:
                told = json.loads((tmp_path / "crawl" / "crawl.json").read_bytes())
                found: Mapping[str, float] = told.get("time_left", {})
                return found

            crawling.until(lambda: (tmp_path / "crawl" / "crawl.json").exists() and left().get("waiting", 0) > 30)
            assert 3000 < left()["limit"] < 3600
            crawling.interrupt()
            over = Crawled(crawling.ended(), tmp_path / "crawl")
    assert over.ended.code == 0, over.ended.err
    assert "time_left" not in over.summary


def asked(site: Site, host: str) -> list[str]:
    return [request.path for request in site.of(host)]


def test_a_crawl_ends_when_its_time_is_over(tmp_path: Path) -> None:
    pages: dict[str, Answer] = {"/robots.txt": NO_ROBOTS, "/": html("Front", links(*(f"/{n}" for n in range(1000))))}
    with serving(Site(pages, other=replace(html("Page"), pause=0.1))) as site:
        traps = {"pages": "0", "duplicates": "follow", "soft_404": "ignore"}
        over = crawl(tmp_path, [site.url], limits={"time": "1 s"}, traps=traps)
    assert over.ended.code == 0, over.ended.err
    assert over.summary["reason"] == "limits.time reached"
    assert over.summary["seconds"] >= 1


def test_an_interrupt_waits_neither_for_slow_servers_nor_for_long_delays(tmp_path: Path) -> None:
    waiting = Reply(b"User-agent: *\nCrawl-delay: 5000\n", headers={"Content-Type": "text/plain"})
    pages: dict[str, Answer] = {"//body.test/": Reply(raw=trickling_body), "//waiting.test/robots.txt": waiting}
    with serving(Site({"/robots.txt": NO_ROBOTS, **pages})) as site:
        section = network(site, "body.test", "waiting.test")
        definition = define(tmp_path, ["http://body.test/", "http://waiting.test/"], network=section, **SLOW)
        with running("crawl", definition) as crawling:
            crawling.until(lambda: "/" in site.paths() and bool(site.of("waiting.test")))
            crawling.interrupt()
            ended = crawling.ended()
    assert ended.code == 0, ended.err
    crawled = Crawled(ended, tmp_path / "crawl")
    assert crawled.summary["frontier"]["pages_queued"] == 2
    assert "Traceback" not in ended.err + crawled.log


# Scope


FOREIGN = ("ftp://far.test/en/4", "mailto:me@scoped.test")


@pytest.fixture(scope="module")
def scoped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Site, Crawled]]:
    pages = {
        "/": html(
            "Front",
            ENGLISH + links("/en/1", "/de/1", "/print/1", "/setup.exe", "/fr/1", "http://far.test/en/", *FOREIGN),
        ),
        "/en/1": html("One", ENGLISH + links("/en/2")),
        "/en/2": html("Two", ENGLISH + links("/en/3")),
        "/en/3": html("Three", ENGLISH),
        "/de/1": html("Eins", GERMAN + '<img src="/flut.png"><img src="/print/no.png">' + links("/en/only-from-de")),
        "/flut.png": PNG,
        "/robots.txt": NO_ROBOTS,
    }
    with serving(Site({f"//scoped.test{path}": reply for path, reply in pages.items()})) as site:
        yield (
            site,
            crawl(
                tmp_path_factory.mktemp("scoped"),
                ["http://scoped.test/"],
                scope={
                    "depth": "2",
                    "allow": ["*://scoped.test/", "/en/", "/de/", "/print/", "/setup"],
                    "deny": ["/print/", "*.exe"],
                    "languages": ["en"],
                },
                network=network(site, "scoped.test", "far.test"),
            ),
        )


def test_only_what_is_in_the_scope_is_fetched(scoped: tuple[Site, Crawled]) -> None:
    site, crawled = scoped
    assert sorted(site.paths()) == ["/", "/de/1", "/en/1", "/en/2", "/flut.png"]
    assert crawled.summary["pages"] == 4


def test_every_address_out_of_scope_is_counted_by_reason(scoped: tuple[Site, Crawled]) -> None:
    _, crawled = scoped
    refused = crawled.summary["refused"]
    by_scope = {"denied": 3, "not_allowed": 1, "other_site": 1, "too_deep": 1, "language": 1}
    assert refused == {**by_scope, "scheme:ftp": 1}
    assert "by ftp, which the crawler does not speak" in (crawled.folder / "report.html").read_text("utf-8")


def test_a_page_in_another_language_is_archived_with_what_it_needs_and_not_followed(
    scoped: tuple[Site, Crawled],
) -> None:
    _, crawled = scoped
    statuses = crawled.statuses()
    assert statuses["http://scoped.test/de/1"] == 200
    assert "http://scoped.test/en/only-from-de" not in statuses

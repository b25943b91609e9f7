"""What a webmaster sees of a crawl: whom it is from, what it asks for, and how often."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.crawl.crawling import rows
from tests.crawl.gate import Gate
from tests.crawl.site import Answer, Reply, Site, html, links, serving
from tests.crawl.world import NOWHERE, Crawled, crawl, gaps, network

DELAY = 0.25
EXACT = 0.99
"""Of a delay; the servers of frontier and site do not read the same clock."""
REST = 2.0
PLAIN = {"Content-Type": "text/plain"}
COOKIE = {"Content-Type": "text/html", "Set-Cookie": "visitor=7; Path=/"}

HOSTS = ("slow", "fast", "greedy", "broken", "moved", "loop", "picky", "busy", "closed", "named", "chunked")


def robots(text: str) -> Reply:
    return Reply(text.encode(), headers=PLAIN)


def busy(site: Site) -> None:
    """Ask to be left in peace, in seconds, by a date, and on the last attempt."""

    def seconds(path: str) -> Reply:
        first = len([asked for asked in site.of("busy.test") if asked.path == path]) == 1
        return Reply(b"", 429, {"Retry-After": f"{REST:.0f}"}) if first else html("Seconds", links("/date"))

    def date(path: str) -> Reply:
        first = len([asked for asked in site.of("busy.test") if asked.path == path]) == 1
        until = datetime.now(UTC) + timedelta(seconds=REST + 1)  # A date has whole seconds.
        return Reply(b"", 503, {"Retry-After": format_datetime(until, True)}) if first else html("Date", links("/last"))

    pages: dict[str, Answer] = {"/": seconds, "/date": date, "/last": Reply(b"", 503, {"Retry-After": f"{REST:.0f}"})}
    site.pages.update({f"//busy.test{path}": answer for path, answer in pages.items()})


def write(site: Site) -> None:
    front = html("Front", links("/a#part", "/b", "/private/c", "/a?x=1#other") + '<img src="/i.png">')
    front = replace(front, headers=COOKIE, pause=0.1)
    together = Gate(together=2)
    image = Reply(b"\x89PNG\r\n\x1a\n", headers={"Content-Type": "image/png", "Set-Cookie": "image=1"})
    for host in HOSTS:
        site.pages[f"//{host}.test/"] = together.holding(front) if host in {"fast", "picky"} else front
    site.pages |= {
        "/a": html("A"),
        "/b": html("B"),
        "/a?x=1": html("A, also"),
        "/private/c": html("C"),
        "/i.png": image,
        "//slow.test/robots.txt": robots("User-agent: *\nCrawl-delay: 0.6\nDisallow: /private/\n"),
        "//greedy.test/robots.txt": robots("User-agent: *\nCrawl-delay: 100000\nDisallow: /a\nDisallow: /i.png\n"),
        "//broken.test/robots.txt": Reply(b"", 500, PLAIN),
        "//closed.test/robots.txt": Reply(raw=lambda: (b"HTTP/1.1 200 OK\r\nContent-Le",)),
        "//moved.test/robots.txt": Reply(b"", 301, {"Location": "/rules.txt"}),
        "//moved.test/rules.txt": robots("User-agent: *\nDisallow: /b\n"),
        "//loop.test/robots.txt": Reply(b"", 302, {"Location": "/robots.txt"}),
        "//picky.test/robots.txt": robots("User-agent: *\nDisallow: /\n\nUser-agent: AAHCrawler\nDisallow: /b\n"),
        "//named.test/robots.txt": robots("User-agent: archive\nUser-agent: test\nDisallow: /\n"),
        "//chunked.test/robots.txt": Reply(raw=_endless_robots),
    }
    busy(site)


def _endless_robots() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nUser-agent: *\nDisallow: /b\n"
    for _ in range(10_000):
        yield b"# nothing to see here" * 1000 + b"\n"


@pytest.fixture(scope="module")
def site() -> Site:
    site = Site()
    write(site)
    return site


@pytest.fixture(scope="module")
def machines(site: Site) -> Iterator[dict[str, str]]:
    """Serve each host on a port of its own, which on loopback is a machine of its own; return where."""
    with ExitStack() as served:
        yield {f"{host}.test": f"127.0.0.1:{served.enter_context(serving(site)).port}" for host in HOSTS}


@pytest.fixture(scope="module")
def crawled(site: Site, machines: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    names = [f"{host}.test" for host in HOSTS]
    done = crawl(
        tmp_path_factory.mktemp("manners"),
        [f"http://{name}/" for name in (*names, "dead.test")],
        politeness={"delay": f"{DELAY} s", "max_delay": "1 s", "retries": "1", "timeout": "10 min"},
        network=network(site, **machines, **{"dead.test": NOWHERE}),
    )
    assert done.ended.code == 3, f"some seeds give nothing: {done.ended.err}"
    return done


@pytest.mark.usefixtures("crawled")
def test_the_user_agent_says_who_crawls_and_how_to_reach_them(site: Site) -> None:
    assert {asked.agent for asked in site.asked} == {"AAHCrawler/0.2.0 (+test@example.org; Test archive; A test)"}


@pytest.mark.usefixtures("crawled")
def test_nothing_but_plain_gets_without_fragments(site: Site) -> None:
    assert {asked.method for asked in site.asked} == {"GET"}
    assert not [asked for asked in site.asked if "#" in asked.path]
    names = {name.lower() for asked in site.asked for name, _ in asked.headers}
    assert names == {"host", "connection", "user-agent", "accept", "accept-encoding", "cookie"}


@pytest.mark.usefixtures("crawled")
def test_cookies_are_those_that_pages_and_images_of_the_host_set(site: Site) -> None:
    sent = {value for asked in site.asked for name, value in asked.headers if name.lower() == "cookie"}
    assert "visitor=7" in sent
    assert {frozenset(value.split("; ")) for value in sent} <= {
        frozenset({"visitor=7"}),
        frozenset({"visitor=7", "image=1"}),
    }
    assert not [asked for asked in site.asked if asked.path == "/robots.txt" and dict(asked.headers).get("Cookie")]


@pytest.mark.usefixtures("crawled")
def test_one_host_has_one_request_at_a_time_while_others_have_theirs(site: Site) -> None:
    assert set(site.busiest.values()) == {1}
    assert len(site.of("fast.test")) > 2, "its front page came when that of another host had been asked for"


@pytest.mark.usefixtures("crawled")
@pytest.mark.parametrize("host", HOSTS)
def test_the_delay_is_kept_between_any_two_requests_to_a_host(site: Site, host: str) -> None:
    asked = site.of(f"{host}.test")
    assert len(asked) >= 2
    assert min(gaps(asked)) >= DELAY * EXACT, [request.path for request in asked]


@pytest.mark.usefixtures("crawled")
def test_a_longer_crawl_delay_prevails_from_the_first_page_on(site: Site) -> None:
    assert min(gaps(site.of("slow.test"))) >= 0.6 * EXACT


@pytest.mark.usefixtures("crawled")
def test_a_crawl_delay_is_capped(site: Site) -> None:
    waited = gaps(site.of("greedy.test"))
    assert [request.path for request in site.of("greedy.test")] == ["/robots.txt", "/", "/b", "/private/c"]
    assert min(waited) >= 1.0 * EXACT
    assert max(waited) < 10_000  # Of 100,000 that are asked for.


def test_robots_txt_is_obeyed_and_what_it_forbids_is_counted(site: Site, crawled: Crawled) -> None:
    fetched = {asked.path for asked in site.of("slow.test")}
    assert fetched == {"/robots.txt", "/", "/a", "/a?x=1", "/b", "/i.png"}
    assert crawled.log_of("http://slow.test/private/c") == " blocked: robots"
    # One page of slow, three and the image of greedy, one each of moved, picky and chunked.
    assert crawled.summary["blocked"] == {"robots": 7}
    assert crawled.summary["frontier"]["pages_blocked"] == 6
    assert crawled.summary["frontier"]["requisites_blocked"] == 1


@pytest.mark.usefixtures("crawled")
def test_robots_txt_is_asked_for_once(site: Site) -> None:
    for host in ("slow", "fast", "greedy", "picky", "busy", "moved"):
        assert [request.path for request in site.of(f"{host}.test")].count("/robots.txt") == 1


def test_no_robots_txt_allows_everything(site: Site, crawled: Crawled) -> None:
    assert {asked.path for asked in site.of("fast.test")} == {
        *("/robots.txt", "/", "/a", "/a?x=1", "/b", "/private/c", "/i.png")
    }
    assert crawled.statuses()["http://fast.test/private/c"] == 200


@pytest.mark.parametrize("host", ["broken", "closed"])
def test_where_robots_txt_cannot_be_had_nothing_is_fetched(site: Site, crawled: Crawled, host: str) -> None:
    assert [asked.path for asked in site.of(f"{host}.test")] == ["/robots.txt"] * 2
    assert min(gaps(site.of(f"{host}.test"))) >= 1.0 * EXACT
    assert "attempt 2: robots.txt" in crawled.log_of(f"http://{host}.test/")


def test_a_host_that_is_down_is_tried_again_and_given_up(crawled: Crawled) -> None:
    assert "attempt 2: connect" in crawled.log_of("http://dead.test/")
    assert crawled.summary["error"] == {"robots.txt": 2, "connect": 1}
    assert crawled.summary["frontier"]["pages_failed"] == 3


@pytest.mark.usefixtures("crawled")
def test_redirects_of_robots_txt_are_followed_and_loops_end(site: Site) -> None:
    moved = [asked.path for asked in site.of("moved.test")]
    assert moved[:3] == ["/robots.txt", "/rules.txt", "/"]
    assert "/b" not in moved
    loop = [asked.path for asked in site.of("loop.test")]
    assert loop[:7] == [*["/robots.txt"] * 6, "/"]
    assert "/b" in loop


@pytest.mark.usefixtures("crawled")
def test_the_group_for_our_name_is_ours_and_no_other(site: Site) -> None:
    assert {asked.path for asked in site.of("picky.test")} == {
        *("/robots.txt", "/", "/a", "/a?x=1", "/private/c", "/i.png")
    }
    assert "/b" in {asked.path for asked in site.of("named.test")}


def test_an_endless_robots_txt_is_read_as_far_as_any(site: Site, crawled: Crawled) -> None:
    assert "/b" not in {asked.path for asked in site.of("chunked.test")}
    assert crawled.statuses()["http://chunked.test/private/c"] == 200
    assert crawled.summary["bytes"] < 2_000_000


@pytest.mark.usefixtures("crawled")
def test_retry_after_is_honoured(site: Site) -> None:
    asked = site.of("busy.test")
    assert [request.path for request in asked] == ["/robots.txt", "/", "/", "/date", "/date", "/last", "/last"]
    waited = gaps(asked)
    assert waited[1] >= REST * EXACT
    assert waited[3] >= REST * EXACT
    assert waited[5] >= REST * EXACT


def test_every_robots_txt_is_archived(site: Site, crawled: Crawled) -> None:
    archived: dict[str, int] = {}
    for path in (crawled.folder / "archive").glob("*.warc.gz"):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, record_types=WarcRecordType.response | WarcRecordType.revisit):
                url = record.headers["WARC-Target-URI"]
                archived[url] = archived.get(url, 0) + 1
    for host in HOSTS:
        fetched = [asked.path for asked in site.of(f"{host}.test")]
        assert archived[f"http://{host}.test/robots.txt"] == fetched.count("/robots.txt"), host
    assert archived["http://moved.test/rules.txt"] == 1
    asked = [request for request in site.asked if request.path in {"/robots.txt", "/rules.txt"}]
    assert crawled.summary["robots"] == len(asked)


def test_robots_txt_is_no_page(crawled: Crawled) -> None:
    assert not [row for row in rows(crawled.folder) if row["url"].endswith(".txt")]


def test_robots_txt_can_be_ignored(tmp_path: Path) -> None:
    site = Site()
    write(site)
    with serving(site):
        ignored = crawl(
            tmp_path,
            ["http://slow.test/", "http://broken.test/"],
            politeness={"delay": "0", "robots": "ignore"},
            network=network(site, "slow.test", "broken.test"),
        )
    assert "/private/c" in {asked.path for asked in site.of("slow.test")}
    assert "/robots.txt" not in {asked.path for asked in site.asked}
    assert ignored.summary["pages"] == 10
    assert ignored.summary["blocked"] == {}


def many(together: int = 1) -> Site:
    """Return a site whose front page leads to nine others at once; they are answered once so many are asked for."""
    paths, gate = [f"/{number}" for number in range(9)], Gate(together=together)
    pages = {path: gate.holding(replace(html(path), pause=0.05)) for path in paths}
    return Site({"/": html("Front", links(*paths)), **pages})


def test_the_delay_is_kept_where_several_urls_are_taken_from_a_site_at_once(tmp_path: Path) -> None:
    with serving(many()) as site:
        taken = crawl(tmp_path, [site.url], politeness={"delay": f"{DELAY} s"}, scoring={"balance": "4"})
    assert taken.summary["pages"] == 10
    assert min(gaps(site.asked)) >= DELAY * EXACT
    assert site.busiest == {"127.0.0.1": 1}


def test_as_many_connections_as_the_definition_allows(tmp_path: Path) -> None:
    with serving(many(together=2)) as site:
        politeness = {"delay": "0", "connections": "2"}
        taken = crawl(tmp_path, [site.url], politeness=politeness, scoring={"balance": "3"})
    assert taken.summary["pages"] == 10
    assert site.busiest == {"127.0.0.1": 2}
    assert taken.summary["frontier"]["pages_leased"] == 0


def test_a_connection_that_is_closed_without_an_answer_is_no_reason_to_hurry(tmp_path: Path) -> None:
    dropped = Reply(raw=lambda: iter(()))
    answers = iter([dropped, html("Page")])
    pages: dict[str, Answer] = {
        "/robots.txt": Reply(b"", 404),
        "/": html("Front", links("/page")),
        "/page": lambda _: next(answers),
    }
    with serving(Site(pages)) as site:
        done = crawl(tmp_path, [site.url], politeness={"delay": "1500 ms", "retries": "2"})
    assert site.paths() == ["/", "/page", "/page"]
    assert min(gaps(site.asked)) >= EXACT * 1.5
    assert (done.summary["pages"], done.summary["retries"]) == (2, 1)


def test_a_304_that_nobody_asked_for_is_asked_about_again(tmp_path: Path) -> None:
    answers = iter([Reply(status=304), html("Front", links("/page"))])
    pages: dict[str, Answer] = {"/robots.txt": Reply(b"", 404), "/": lambda _: next(answers), "/page": html("Page")}
    with serving(Site(pages)) as site:
        done = crawl(tmp_path, [site.url], politeness={"retries": "2"})
    assert site.paths() == ["/", "/", "/page"]
    assert done.statuses() == {site.url: 200, f"{site.url}page": 200}

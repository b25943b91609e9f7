"""robots.txt: whom its groups mean, what happens where it cannot be had, and files written to do harm."""

import asyncio
from collections.abc import Mapping
from dataclasses import fields
from datetime import UTC, datetime
from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import Request

from aahcrawler import urls
from aahcrawler.archive.history import Former
from aahcrawler.archive.records import Original
from aahcrawler.crawl.capture.archiver import Annotations
from aahcrawler.crawl.capture.recrawl import ConditionalRequest, UnreadableCaptureError
from aahcrawler.crawl.fetch.download_handler import ENDING, MAX_BYTES, Captured, CapturedResponse
from aahcrawler.crawl.fetch.ip_claims import IP_CLAIM, IpAddressBusyError
from aahcrawler.crawl.lease.lease_source import LEASE, StoppedError
from aahcrawler.crawl.scrapy import robots_middleware as robots
from aahcrawler.crawl.scrapy.robots_middleware import RobotsMiddleware
from aahcrawler.exchange import Exchange
from aahcrawler.frontier.protocol import Lease
from aahcrawler.page import Headers, Page
from aahcrawler.wire.errors import (
    ConnectError,
    DisconnectError,
    RefusedAddressError,
    ResolveError,
    TlsError,
    WireError,
    WireTimeoutError,
)
from aahcrawler.wire.politeness import PolitenessTracker
from aahcrawler.wire.robots_txt import (
    MAX_ROBOTS_BYTES,
    MAX_ROBOTS_REDIRECTS,
    RobotsDeniedError,
    RobotsUnreachableError,
    Rules,
    denial,
)
from online_analysis.icd import Politeness, Sources
from tests.pace import at_most

URL = "http://a.test/page"


def allows(text: str, url: str = URL) -> bool:
    return Rules.read(text.encode(), 0.0).allow(url)


# Rules


@pytest.mark.parametrize(
    ("agent", "ours"),
    [
        ("*", True),
        ("AAHCrawler", True),
        ("aahcrawler", True),
        ("AAHCrawler*", True),
        ("  AAHCrawler  # us", True),
        ("AAHCrawler/0.1", True),
        ("AAH", False),
        ("a", False),
        ("archive", False),
        ("crawler", False),
        ("Googlebot", False),
        ("AAHCrawlerNews", False),
        ("test@example.org", False),
    ],
)
def test_which_group_is_ours(agent: str, ours: bool) -> None:
    assert allows(f"User-agent: {agent}\nDisallow: /") is not ours


def test_our_own_group_prevails_over_that_for_all() -> None:
    text = "User-agent: *\nDisallow: /\n\nUser-agent: other\nUser-agent: aahcrawler\nDisallow: /no\nAllow: /no/but\n"
    assert allows(text)
    assert not allows(text, "http://a.test/no/x")
    assert allows(text, "http://a.test/no/but")


def test_groups_of_others_do_not_become_ours() -> None:
    text = "User-agent: a\nDisallow: /\nUser-agent: *\nDisallow: /x\n\nUser-agent: b\nuser agent c\nDisallow: /\n"
    assert allows(text)
    assert not allows(text, "http://a.test/x")


@pytest.mark.parametrize(
    ("rule", "url", "allowed"),
    [
        ("Disallow:", "/x", True),
        ("Disallow: /x", "/x/y?z", False),
        ("Disallow: /*.pdf$", "/a.pdf", False),
        ("Disallow: /*.pdf$", "/a.pdf?x", True),
        ("Disallow: /?s=", "/?s=1", False),
        ("Disallow: /caf%C3%A9", "/caf%c3%a9", False),
        ("Disallow: /a/../b", "/b", True),
        ("Disallow: /wiki/page;", "/wiki/page;", False),
    ],
)
def test_rules_are_matched_as_written(rule: str, url: str, allowed: bool) -> None:
    assert allows(f"User-agent: *\n{rule}\n", f"http://a.test{url}") is allowed


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("5", 5), ("0.5", 0.5), ("-1", 0), ("nan", 0), ("inf", 0), ("1e400", 0), ("soon", 0), ("", 0), ("1e300", 1e300)],
)
def test_crawl_delay(value: str, seconds: float) -> None:
    assert Rules.read(f"User-agent: *\nCrawl-delay: {value}\n".encode(), 0.0).delay == seconds


def test_a_byte_order_mark_does_not_hide_the_first_group() -> None:
    assert not Rules.read(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n", 0.0).allow(URL)


def test_what_follows_the_largest_size_is_not_read() -> None:
    padding = b"# nothing\n" * (MAX_ROBOTS_BYTES // 10 + 1)
    assert Rules.read(padding + b"User-agent: *\nDisallow: /\n", 0.0).allow(URL)
    assert not Rules.read(padding[: MAX_ROBOTS_BYTES // 10 * 10 - 40] + b"User-agent: *\nDisallow: /\n", 0.0).allow(URL)


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        "\n".join(f"User-agent: b{n}" for n in range(15_000)) + "\nDisallow: /a" * 20_000,
        "\n".join(f"User-agent: {'*' * (n % 9)}aah{'*' * n}" for n in range(700)) + "\nDisallow: /a" * 20_000,
        "User-agent: *\n" + "".join(f"Disallow: /{'*a' * 50}{n}$\n" for n in range(4_000)),
        "User-agent: *\nDisallow: /" + "*a" * 250_000,
        "User-agent: *\n" + "Crawl-delay: 1\n" * 40_000,
    ],
    ids=["agents", "wildcards in agents", "wildcards", "one long rule", "delays"],
)
def test_files_written_to_do_harm_take_bounded_time(body: str) -> None:
    with at_most(10):
        rules = Rules.read(body.encode(), 0.0)
        for _ in range(3):
            rules.allow("http://a.test/" + "a" * 4000)
        denial(body.encode(), "http://a.test/" + "a" * 4000)


@given(st.binary(max_size=400) | st.text(max_size=400).map(str.encode))
def test_no_file_is_too_strange(body: bytes) -> None:
    rules = Rules.read(body, 0.0)
    assert rules.allow(URL) is not bool(denial(body, URL))
    assert rules.delay >= 0


@pytest.mark.parametrize(
    ("rules", "target", "line"),
    [
        ("User-agent: *\nDisallow: /", "/a", 2),
        ("User-agent: *\nDisallow:", "/a", None),
        ("User-agent: other\nDisallow: /", "/a", None),
        ("User-agent: *\nDisallow: /\n\nUser-agent: aahcrawler/2\nDisallow: /b", "/a", None),
        ("User-agent: *\nAllow: /\n\nUser-agent: x\nUser-agent: AAHCrawler\nDisallow: /b # yes", "/b/c", 6),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b", None),
        ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", None),
        ("User-agent: *\nDisallow: /*.php$", "/f/x.php", 2),
        ("User-agent: *\nDisallow: /*.php$", "/f/x.php?a", None),
        ("User-agent: *\nDisallow: /*?sort=", "/f/x?sort=1", 2),
        ("User-agent: *\nDisallow: /%7euser/\u00e9", "/~user/%c3%a9", 2),
        ("User-agent: *\nDisallow: /a$", "/a", 2),
        ("User-agent: *\nDisallow: /a$", "/ab", None),
        ("User-agent: *\nDisallow: /a\nAllow: /a/b\nDisalow: /a/b/c\nDisallow: /a/b/c/d", "/a/b/c/d", 4),
        ("User-agent: *\nDisallow: /a\n\nUser-agent: AAHCrawler\nDisallow: /b", "/a", None),
    ],
)
def test_which_line_denies(rules: str, target: str, line: int | None) -> None:
    denied = denial(rules.encode(), f"http://a.test{target}")
    assert denied == (f"line {line}, {rules.splitlines()[line - 1].partition(' #')[0]}" if line else "")
    assert Rules.read(rules.encode(), 0.0).allow(f"http://a.test{target}") is (line is None)


# Asking


class Before:
    """What former crawls have of robots.txt files: one that says DENY, or one that cannot be read any more."""

    def __init__(self) -> None:
        self.formers: dict[str, Former] = {}
        self.lost = False

    def asked(self, url: str) -> ConditionalRequest:
        former = self.formers.get(url)
        return ConditionalRequest(former, former is not None)

    def ask_plainly(self, url: str) -> None:
        del self.formers[url]

    def page_of(self, former: Former) -> Page:
        if self.lost:
            raise UnreadableCaptureError(former.url)
        return Page(former.url, 200, Headers(), DENY.encode(), datetime.now(UTC))


class Bench:
    """The middleware between a job and an engine that answers from a table."""

    def __init__(self, answers: Mapping[str, object], *, delay: float = 0.0) -> None:
        self.answers = answers
        self.asked: list[Request] = []
        self.archived: list[str] = []
        self.originals: list[Original | None] = []
        self.counted: list[Mapping[str, float]] = []
        self.remains: list[WireError] = []
        self.turns: list[str] = []
        self.stopped = False
        self.recrawl = Before()
        self.ending = asyncio.Event()
        self.politeness = PolitenessTracker(Politeness(delay=delay))  # type: ignore[arg-type]
        now = SimpleNamespace(
            obeys_robots=True, request_headers={"User-Agent": "AAHCrawler/1"}, icd=SimpleNamespace(sources=Sources())
        )
        self.context = SimpleNamespace(now=now)
        self.ip_claims = SimpleNamespace(of=lambda url: f"claim of {url}")
        self.leases = SimpleNamespace(holds=self.holds)

        engine = SimpleNamespace(download_async=self.download_async)
        crawler: Any = SimpleNamespace(engine=engine)
        own: Any = self
        self.middleware = RobotsMiddleware(crawler, own.context, own, own, own.recrawl)

    async def holds(self, _: Lease) -> bool:
        return True

    async def remember_delay(self, lease: object) -> None:
        """Have nobody remember."""

    async def wait_for_slot(self, url: str) -> None:
        if self.stopped:
            raise StoppedError
        self.turns.append(urls.queue_of(url))

    async def count(self, amounts: Mapping[str, float]) -> None:
        self.counted.append(amounts)

    async def archive(self, exchange: Exchange, annotations: Annotations) -> None:
        self.archived.append(exchange.url)
        self.originals.append(annotations.unchanged)

    async def archive_remains(self, error: WireError) -> None:
        self.remains.append(error)

    async def download_async(self, request: Request) -> CapturedResponse:
        self.asked.append(request)
        await asyncio.sleep(0.001)
        answer = self.answers[request.url]
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, tuple)
        status, said = answer
        fields = (("Location", said),) if 300 <= status < 400 and said else ()
        body = said.encode()
        now = datetime.now(UTC)
        exchange = Exchange(request.url, "GET", b"", BytesIO(body), len(body), b"", "127.0.0.1", now)
        captured = Captured(exchange, "", fields, True, 0.0, 0.0)
        return CapturedResponse(request.url, captured=captured, status=status, body=body)

    async def process(self, url: str = URL) -> str:
        lease = Lease(url, "a.test", 0.5, 0, "page", "", 1, "1")
        try:
            await self.middleware.process_request(Request(url, meta={LEASE: lease, "download_slot": "a.test"}))
        except Exception as error:
            return type(error).__name__
        return "allowed"

    def run(self, *pages: str) -> list[str]:
        async def all_of_them() -> list[str]:
            return await asyncio.gather(*map(self.process, pages or (URL,)))

        return asyncio.run(all_of_them())

    @property
    def paths(self) -> list[str]:
        return [request.url.partition(".test")[2] for request in self.asked]


ROBOTS = "http://a.test/robots.txt"
DENY = "User-agent: *\nDisallow: /no\nCrawl-delay: 7\n"


def test_many_requests_wait_for_one_robots_txt() -> None:
    bench = Bench({ROBOTS: (200, DENY)})
    ended = bench.run(*(f"http://a.test/{n}" for n in range(10)), "http://a.test/no")
    assert ended == ["allowed"] * 10 + [RobotsDeniedError.__name__]
    assert bench.paths == ["/robots.txt"]
    assert bench.archived == [ROBOTS]
    assert bench.counted == [{"requests": 1, "robots": 1, "bytes": len(DENY), "conditional": 0}]
    assert bench.turns == ["a.test"] * 11
    assert bench.politeness.delay_of("http://a.test/") == 7


def test_the_request_for_it_is_honest_bounded_and_ends_with_the_crawl() -> None:
    bench = Bench({ROBOTS: (200, DENY)})
    bench.run()
    (request,) = bench.asked
    assert request.headers["User-Agent"] == b"AAHCrawler/1"
    assert request.meta[MAX_BYTES] == MAX_ROBOTS_BYTES
    assert request.meta[ENDING] is bench.ending
    assert request.meta[IP_CLAIM] == f"claim of {request.url}"
    assert LEASE not in request.meta


def known_before(url: str) -> Former:
    values: dict[str, Any] = dict.fromkeys(field.name for field in fields(Former))
    said = {"record_id": "urn:uuid:1", "original_url": url, "warc_date": "2026-01-01T00:00:00Z", "digest": b"1" * 20}
    return Former(**{**values, **said, "url": url, "status": 200, "etag": '"e"', "last_modified": ""})


def test_one_that_has_not_changed_is_obeyed_as_it_was() -> None:
    bench = Bench({ROBOTS: (304, "")})
    former = bench.recrawl.formers[ROBOTS] = known_before(ROBOTS)
    assert bench.run("http://a.test/no", URL) == [RobotsDeniedError.__name__, "allowed"]
    (request,) = bench.asked
    assert request.headers["If-None-Match"] == b'"e"'
    assert bench.originals == [former.original]
    assert bench.counted == [{"requests": 1, "robots": 1, "bytes": 0, "conditional": 1}]


def test_one_that_has_not_changed_and_cannot_be_read_any_more_is_asked_for_again() -> None:
    bench = Bench({ROBOTS: (304, "")})
    bench.recrawl.formers[ROBOTS] = known_before(ROBOTS)
    bench.recrawl.lost = True
    assert bench.run("http://a.test/no") == ["allowed"], "a 304 that nobody asked for redirects nowhere"
    assert [request.headers.get("If-None-Match") for request in bench.asked] == [b'"e"', None]
    assert bench.turns == ["a.test"] * 3


def test_each_origin_has_its_own() -> None:
    others = ("https://a.test", "http://a.test:8080", "http://b.a.test")
    bench = Bench({ROBOTS: (404, ""), **{f"{origin}/robots.txt": (200, DENY) for origin in others}})
    ended = bench.run("http://a.test/no", *(f"{origin}/no" for origin in others))
    assert ended == ["allowed", *[RobotsDeniedError.__name__] * 3]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 451])
def test_where_there_is_none_everything_is_allowed(status: int) -> None:
    assert Bench({ROBOTS: (status, DENY)}).run("http://a.test/no") == ["allowed"]


@pytest.mark.parametrize("status", [429, 500, 502, 503, 599])
def test_where_it_cannot_be_had_now_nothing_is_and_it_is_asked_for_again(status: int) -> None:
    bench = Bench({ROBOTS: (status, "")})
    assert bench.run(URL, URL) == [RobotsUnreachableError.__name__] * 2
    assert bench.run() == [RobotsUnreachableError.__name__]
    assert bench.paths == ["/robots.txt"] * 2


@pytest.mark.parametrize("error", [WireTimeoutError("slow"), DisconnectError("gone")])
def test_where_it_breaks_off_it_cannot_be_had(error: WireError) -> None:
    bench = Bench({ROBOTS: error})
    assert bench.run() == [RobotsUnreachableError.__name__]
    assert bench.remains == [error]


@pytest.mark.parametrize(
    "error",
    [RefusedAddressError("private"), ResolveError("none", retryable=False), ConnectError("down"), TlsError("bad")],
)
def test_trouble_of_the_host_is_trouble_of_the_page(error: WireError) -> None:
    assert Bench({ROBOTS: error}).run() == [type(error).__name__]


def test_trouble_of_a_host_it_leads_to_is_not() -> None:
    other = "http://10.0.0.1/"
    bench = Bench({ROBOTS: (301, other), other: RefusedAddressError("private")})
    assert bench.run() == [RobotsUnreachableError.__name__]


def test_redirects_are_followed_politely() -> None:
    other = "http://b.test/rules"
    bench = Bench({ROBOTS: (301, "/r2"), "http://a.test/r2": (302, other), other: (200, DENY)})
    assert bench.run("http://a.test/no") == [RobotsDeniedError.__name__]
    assert bench.turns == ["a.test", "a.test", "b.test"]
    assert bench.politeness.delay_of("http://a.test/") == 7
    assert bench.politeness.delay_of("http://b.test/") == 0


@pytest.mark.parametrize("location", ["/robots.txt", "", "mailto:x@a.test"])
def test_redirects_that_lead_nowhere_count_as_none(location: str) -> None:
    bench = Bench({ROBOTS: (301, location)})
    assert bench.run() == ["allowed"]
    assert len(bench.asked) <= MAX_ROBOTS_REDIRECTS + 1


def test_rules_are_asked_for_again_after_a_day(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench({ROBOTS: (200, DENY)})
    assert bench.run() == ["allowed"]
    assert bench.run() == ["allowed"]
    assert len(bench.asked) == 1
    monkeypatch.setattr(robots, "KEPT_SECONDS", -1.0)
    bench = Bench({ROBOTS: (200, DENY)})
    assert bench.run() == bench.run() == ["allowed"]
    assert len(bench.asked) == 2


def test_more_hosts_at_once_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robots, "MAX_HOSTS", 2)
    answers: dict[str, object] = {f"http://{n}.test/robots.txt": (503, "") if n % 2 else (200, DENY) for n in range(9)}
    ended = Bench(answers).run(*(f"http://{n}.test/no" for n in range(9)))
    assert ended == [(RobotsUnreachableError if n % 2 else RobotsDeniedError).__name__ for n in range(9)]


def test_requests_without_a_lease_pass() -> None:
    bench = Bench({})
    asyncio.run(bench.middleware.process_request(Request(URL)))
    assert bench.turns == []


def test_without_robots_txt_the_turn_is_still_waited_for() -> None:
    bench = Bench({})
    bench.context.now.obeys_robots = False
    assert bench.run() == ["allowed"]
    assert (bench.asked, bench.turns) == ([], ["a.test"])


def test_when_the_crawl_ends_nothing_more_is_asked() -> None:
    bench = Bench({ROBOTS: (200, DENY)})
    bench.stopped = True
    assert bench.run(URL, URL) == [StoppedError.__name__] * 2
    assert bench.asked == []


def test_a_busy_address_is_busy_for_all_who_wait_for_its_rules() -> None:
    bench = Bench({"http://a.test/robots.txt": IpAddressBusyError("192.0.2.1", 2.0)})
    assert bench.run(URL, "http://a.test/b") == ["IpAddressBusyError"] * 2
    assert len(bench.asked) == 1
    bench.answers = {"http://a.test/robots.txt": (404, "")}
    assert bench.run() == ["allowed"]

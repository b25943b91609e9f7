"""Which requests of a page are made, and with which header fields."""

from collections.abc import Sequence

import pytest

from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.crawl.browsing.captured_responses import Part, PartRelay, asks_for_news, part_asked, sent_headers
from aahcrawler.crawl.core.site_sessions import SiteSessions
from aahcrawler.credentials.given import Credentials, GivenLogin

URL = "http://a.test/film"
LOGIN = GivenLogin("http://a.test/login", {})


def request(*headers: tuple[str, str]) -> BrowserRequest:
    return BrowserRequest(URL, "GET", headers)


async def nothing(*_: str) -> str:
    return ""


async def kept(*_: str) -> None:
    return None


@pytest.mark.parametrize(
    ("path", "ends"), [("logout.php?sid=1", True), ("api/session", False), ("blog/logo.png", False)]
)
def test_what_logs_out_is_told_by_its_words_where_the_crawl_logs_in(path: str, ends: bool) -> None:
    sessions = SiteSessions(Credentials(logins={"a.test": LOGIN}), nothing, kept, is_shared=False)
    assert sessions.ends_session(f"http://a.test/{path}") is ends
    assert not sessions.ends_session(f"http://b.test/{path}")


def test_fields_are_the_browsers_but_for_those_that_are_the_crawls() -> None:
    asked = request(
        ("Host", "a.test"),
        ("sec-ch-ua", "x"),
        ("Connection", "keep-alive, X-Hop"),
        ("X-Hop", "1"),
        ("user-agent", "Mozilla/5.0"),
        ("accept-encoding", "gzip, deflate, br, zstd, dcb;q=0.5"),
        ("COOKIE", "a=1"),
        ("Range", "bytes=0-"),
        ("Proxy-Authorization", "Basic x"),
    )
    sent = sent_headers(asked, "AAHCrawler", keeps_cookies=True)
    assert sent == (
        ("sec-ch-ua", "x"),
        ("user-agent", "AAHCrawler"),
        ("accept-encoding", "gzip, deflate, br, zstd"),
        ("COOKIE", "a=1"),
        ("Range", "bytes=0-"),
    )
    without = sent_headers(asked, "AAHCrawler", keeps_cookies=False, wants_whole=True)
    assert without == sent[:3]
    assert sent_headers(request(("Accept-Encoding", "dcz")), "A", keeps_cookies=True)[0][1] == "identity"
    assert asks_for_news(request(("if-none-match", '"1"')))


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("bytes=0-", Part(0, None)),
        ("Bytes = 5-9", Part(5, 9)),
        ("bytes=-3", Part(None, 3)),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=1-2", None),
        (f"bytes={'9' * 99}-", None),
    ],
)
def test_one_part_is_read_and_nothing_else(asked: str, part: Part | None) -> None:
    assert part_asked(request(("Range", asked))) == part


class Shown:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        assert reason
        self.status, self.headers = status, dict(headers)

    def take(self, piece: bytes) -> None:
        self.body += piece


@pytest.mark.parametrize(
    ("fields", "status", "given"),
    [
        ([("Content-Length", "10")], 206, b"23456"),
        ([("Content-Length", "10"), ("Content-Encoding", "gzip")], 200, b"0123456789"),
        ([("Transfer-Encoding", "chunked")], 200, b"0123456789"),
        ([("Content-Length", "2")], 200, b"0123456789"),
    ],
)
def test_a_part_is_made_of_a_file_whose_size_is_known(fields: list[tuple[str, str]], status: int, given: bytes) -> None:
    shown = Shown()
    relay = PartRelay(shown, Part(2, 6))
    relay.begin(200, "OK", fields)
    for piece in (b"01", b"2345", b"6", b"789"):
        relay.take(piece)
    assert (shown.status, shown.body) == (status, given)
    assert (shown.headers.get("Content-Range") == "bytes 2-6/10") is (status == 206)

"""The benchmark of pages in a browser, as far as it needs none: its server, its sites, what it compares and counts."""

import json
import socket
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pytest

from benchmarks.browser import differing, ratios
from benchmarks.exact_server import ExactServer, Framing, Reply, Request, Sent, compressed, data, page
from benchmarks.magazines import MAGAZINES

ORIGIN = "http://127.0.0.1:1"
GET = Request("GET", "/a", (), b"", b"GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
RESPONSE = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
PASSED = Sent(f"{ORIGIN}/a", GET, RESPONSE, True)


@pytest.fixture
def server() -> Iterator[ExactServer]:
    with ExactServer().running() as running:
        yield running


def received(server: ExactServer, *requests: bytes) -> bytes:
    """Send requests over one connection; return all that came until the server hung up."""
    with socket.create_connection(("127.0.0.1", server.port), 30) as connection:
        for each in requests:
            connection.sendall(each)
        return b"".join(iter(partial(connection.recv, 65_536), b""))


def test_the_server_remembers_every_byte_that_it_got_and_sent(server: ExactServer) -> None:
    posted = b"POST /b?c HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    told = b"PUT /t HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
    last = b"GET /l HTTP/1.1\r\nConnection: close\r\n\r\n"
    bodies: list[bytes] = []

    def respond(request: Request) -> Reply:
        bodies.append(request.body)
        return Reply((b"one", b"", b"two"), framing=Framing.LENGTH if request.method == "GET" else Framing.CHUNKED)

    server.respond = respond
    came = received(server, posted + told, last)
    log = server.taken()

    assert b"".join(sent.response for sent in log) == came
    assert [sent.request.raw for sent in log] == [posted, told, last]
    assert bodies == [b"abcde", b"body", b""]
    assert [sent.url for sent in log] == [server.origin + path for path in ("/b?c", "/t", "/l")]
    assert came.endswith(b"\r\ncontent-length: 6\r\n\r\nonetwo")
    assert came.count(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n") == 2
    assert not server.taken()


def test_a_response_may_end_with_the_connection_and_a_request_that_is_none_gets_none(server: ExactServer) -> None:
    server.respond = lambda _: Reply((b"all",), framing=Framing.CLOSE)
    assert received(server, b"GET / HTTP/1.1\r\n\r\n").endswith(b"Connection: close\r\n\r\nall")
    assert received(server, b"nonsense\r\n\r\n") == b""


def test_responses_are_coded_as_the_request_accepts() -> None:
    plain = data({"a": [1] * 100})
    coded = {
        name: compressed(plain, replace(GET, fields=(("accept-encoding", name),))) for name in ("gzip, br", "gzip")
    }
    assert [dict(each.fields)["Content-Encoding"] for each in coded.values()] == ["br", "gzip"]
    assert zlib.decompress(coded["gzip"].body, 31) == plain.body
    assert compressed(plain, GET) is plain


def test_responses_that_were_not_sent_so_count_as_often_as_they_are_kept() -> None:
    kept = ("response", PASSED.url, RESPONSE)
    assert differing([kept, ("request", PASSED.url, b"GET")], [PASSED]) == 0
    assert differing([kept, kept], [PASSED]) == 1
    assert differing([("response", PASSED.url, RESPONSE.replace(b"content-length", b"Content-Length"))], [PASSED]) == 1
    assert differing([("response", f"{ORIGIN}/b", RESPONSE)], [PASSED]) == 1


@pytest.mark.parametrize("name", MAGAZINES)
def test_the_magazines_answer_with_their_articles(name: str) -> None:
    magazine = MAGAZINES[name]
    assert len(magazine.articles) >= 70
    for article in magazine.articles:
        assert magazine.respond(replace(GET, target=article.url)).status == 200
    told = magazine.respond(replace(GET, target=f"/api/articles/{magazine.articles[-1].id}.json"))
    assert json.loads(told.body)["title"] == magazine.articles[-1].title


def test_the_browser_for_all_is_compared_with_what_the_crawl_decides() -> None:
    browser, auto = {"seconds": 60.0, "cpu_seconds": 90.0}, {"seconds": 10.0, "cpu_seconds": 30.0}
    assert ratios(browser, auto) == {"wall_ratio": 6.0, "cpu_ratio": 3.0}
    assert ratios(None, auto) == ratios(browser, {"failure": "it failed"}) == {}


def test_a_page_is_sent_in_chunks() -> None:
    response = page("<p>Hello</p>")
    assert b"Transfer-Encoding: chunked" in response.head()
    assert b"".join(response.framed()).startswith(b"6\r\n<p>Hel\r\n")

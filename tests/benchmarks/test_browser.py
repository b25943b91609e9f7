"""The benchmark of pages in a browser, as far as it needs none: its server, its sites, what it compares and counts."""

import json
import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter
from pathlib import Path

import pytest

from benchmarks.browser.choices import CHOICES
from benchmarks.browser.crawling import Method
from benchmarks.browser.exact_server import ExactServer, Sent
from benchmarks.browser.measuring import ratios, served
from benchmarks.browser.recorded_bytes import Record, compared, key, keys_passed, keys_recorded
from benchmarks.browser.replies import Framing, Reply, Request, compressed, data, page, ranged, reply
from benchmarks.browser.site import Choice
from benchmarks.browser.sites.worker import Rooms
from benchmarks.browser.tree_usage import Watch, used_by
from tests.crawl.crawling import until

NAME = attrgetter("name")
ORIGIN = "http://127.0.0.1:1"
GET = Request("GET", "/a", (), b"", b"GET /a HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
PASSED = Sent(f"{ORIGIN}/a", GET, ANSWER, True)
RESPONSE = Record("response", PASSED.url, "", ANSWER)
REQUEST = Record("request", PASSED.url, "", GET.raw)


@pytest.fixture(params=[False, True], ids=["plain", "tls"])
def server(request: pytest.FixtureRequest) -> Iterator[ExactServer]:
    with ExactServer(secure=request.param).running() as running:
        yield running


def received(server: ExactServer, *requests: bytes) -> bytes:
    """Send requests over one connection; return all that came until the server hung up."""
    plain = socket.create_connection(("127.0.0.1", server.port), 30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with context.wrap_socket(plain) if server.origin.startswith("https") else plain as connection:
        for each in requests:
            connection.sendall(each)
        return b"".join(iter(partial(connection.recv, 65_536), b""))


def test_the_server_remembers_every_byte_that_it_got_and_sent(server: ExactServer) -> None:
    posted = b"POST /b?c HTTP/1.1\r\nhost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\n\r\n"
    told = b"PUT /t HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody"
    last = b"GET /l HTTP/1.1\r\nConnection: close\r\n\r\n"
    bodies: list[bytes] = []

    def answer(request: Request) -> Reply:
        bodies.append(request.body)
        return Reply((b"one", b"", b"two"), framing=Framing.LENGTH if request.method == "GET" else Framing.CHUNKED)

    server.answering = answer
    came = received(server, posted + told, last)
    log = server.taken()

    assert b"".join(sent.answer for sent in log) == came
    assert [sent.request.raw for sent in log] == [posted, told, last]
    assert bodies == [b"abcde", b"body", b""]
    assert [sent.url for sent in log] == [server.origin + path for path in ("/b?c", "/t", "/l")]
    assert came.endswith(b"\r\ncontent-length: 6\r\n\r\nonetwo")
    assert came.count(b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n") == 2
    assert not server.taken()


def test_an_answer_may_end_with_the_connection_and_a_request_that_is_none_gets_none(server: ExactServer) -> None:
    server.answering = lambda _: Reply((b"all",), framing=Framing.CLOSE)
    assert received(server, b"GET / HTTP/1.1\r\n\r\n").endswith(b"Connection: close\r\n\r\nall")
    assert received(server, b"nonsense\r\n\r\n") == b""


@pytest.mark.parametrize(
    ("asked", "status", "body", "told"),
    [
        ("bytes=1-3", 206, b"bcd", "bytes 1-3/6"),
        ("bytes=4-", 206, b"ef", "bytes 4-5/6"),
        ("bytes=-2", 206, b"ef", "bytes 4-5/6"),
        ("bytes=2-99", 206, b"cdef", "bytes 2-5/6"),
        ("bytes=9-", 416, b"", "bytes */6"),
        ("bytes=-", 200, b"abcdef", ""),
        ("", 200, b"abcdef", ""),
    ],
)
def test_parts_of_a_film_are_what_was_asked_for(asked: str, status: int, body: bytes, told: str) -> None:
    answer = ranged(reply(b"abcdef", "video/mp4"), replace(GET, fields=(("Range", asked),)))
    assert (answer.status, answer.body, dict(answer.fields).get("Content-Range", "")) == (status, body, told)


def test_answers_are_coded_as_the_request_accepts() -> None:
    plain = data({"a": [1] * 100})
    coded = {
        name: compressed(plain, replace(GET, fields=(("accept-encoding", name),))) for name in ("gzip, br", "gzip")
    }
    assert [dict(each.fields)["Content-Encoding"] for each in coded.values()] == ["br", "gzip"]
    assert zlib.decompress(coded["gzip"].body, 31) == plain.body
    assert compressed(plain, GET) is plain


def test_what_is_recorded_as_it_passed_does_not_differ() -> None:
    found = compared([RESPONSE, REQUEST], [PASSED], ORIGIN)
    assert (found.differing, found.compared, found.unrecorded, found.faults) == (0, 2, (), ())


@pytest.mark.parametrize(
    ("records", "differing"),
    [
        ([replace(RESPONSE, block=ANSWER.replace(b"ok", b"no")), REQUEST], 2),
        ([replace(RESPONSE, block=ANSWER + b"x"), REQUEST], 1),
        ([replace(RESPONSE, block=ANSWER.replace(b"content-length", b"Content-Length")), REQUEST], 2),
        ([RESPONSE, replace(REQUEST, block=GET.raw.replace(b"Host", b"host"))], 1),
        ([RESPONSE, replace(RESPONSE, block=b"x" + ANSWER)], 1 + len(ANSWER)),
        ([replace(RESPONSE, block=ANSWER[:-1])], 1),
        ([replace(RESPONSE, block=ANSWER[:-1], truncated="time")], 0),
        ([replace(RESPONSE, block=b"x" + ANSWER[1:-1], truncated="time")], 1),
        ([Record("revisit", PASSED.url, "", ANSWER[:-2])], 0),
        ([Record("revisit", PASSED.url, "", ANSWER)], 2),
        ([replace(RESPONSE, url="http://127.0.0.1:2/a", block=b"")], 0),
    ],
)
def test_every_byte_that_differs_counts(records: list[Record], differing: int) -> None:
    found = compared(records, [PASSED], ORIGIN)
    assert (found.differing, bool(found.faults)) == (differing, differing > 0)


def test_of_several_answers_of_a_url_each_is_compared_with_its_own() -> None:
    other = replace(PASSED, answer=ANSWER.replace(b"ok", b"no"))
    swapped = [replace(RESPONSE, block=other.answer), RESPONSE]
    assert compared(swapped, [PASSED, other], ORIGIN).differing == 0
    assert compared(swapped[:1], [PASSED, other], ORIGIN).unrecorded == (PASSED.url,)


def test_a_record_of_what_another_one_holds_is_counted_apart() -> None:
    found = compared([RESPONSE, RESPONSE, REQUEST, Record("revisit", PASSED.url, "", ANSWER[:-2])], [PASSED], ORIGIN)
    assert (found.differing, found.repeated, len(found.faults)) == (0, 2, 2)


def test_requests_are_the_same_whatever_breaks_caches_and_whatever_quality_a_film_has() -> None:
    qualities = (re.compile(r"(/film)/(?:low|high)(/.*)"),)
    assert key("GET", "/a?b=1&_=1700000000000", b"", ()) == key("GET", "/a?b=1&_=1800000000000", b"", ())
    assert key("GET", "/a?t=0.5123", b"", ()) != key("GET", "/a?t=3", b"", ())
    assert key("GET", "/film/low/1.ts", b"", qualities) == key("GET", "/film/high/1.ts", b"", qualities)
    assert key("GET", "/film/low/1.ts", b"", qualities) != key("GET", "/film/low/2.ts", b"", qualities)
    assert key("POST", "/a", b"1", ()) != key("POST", "/a", b"2", ())


def test_what_a_browser_asked_is_found_in_the_records_of_requests() -> None:
    body = b'{"query": 1}'
    raw = b"POST /q HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
    posted = Sent(f"{ORIGIN}/q", Request("POST", "/q", (("Content-Length", "12"),), body, raw), b"", True)
    live = replace(PASSED, request=replace(GET, target="/live", fields=(("upgrade", "WebSocket"),)))
    asked = keys_passed([PASSED, posted, live])

    assert asked == keys_recorded([REQUEST, replace(REQUEST, url=posted.url, block=raw)], ORIGIN)
    assert keys_recorded([RESPONSE, replace(REQUEST, url="http://127.0.0.1:2/a")], ORIGIN) == set()


def test_the_handshake_of_a_websocket_is_answered_as_the_standard_says() -> None:
    fields = (("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),)
    answer = Rooms((), asks=False).answer(replace(GET, target="/live", fields=fields))
    assert (answer.status, dict(answer.fields)["Sec-WebSocket-Accept"]) == (101, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")


@pytest.mark.parametrize("choice", CHOICES, ids=NAME)
def test_the_sites_answer_what_a_person_looks_at(choice: Choice, tmp_path: Path) -> None:
    with served(choice, tmp_path) as (site, _):
        answers = [site.answering(replace(GET, target=view.path)) for view in site.views]
        assert {answer.status for answer in answers} == {200}
        assert any(view.parts for view in site.views)


def test_the_data_of_the_forum_are_all_of_its_posts(tmp_path: Path) -> None:
    with served(next(each for each in CHOICES if each.name == "forum"), tmp_path) as (site, server):
        posts: set[str] = set()
        for view in site.views:
            if view.path.startswith("/t/"):
                name, _, query = view.path.removeprefix("/t/").partition("?")
                answer = site.answering(replace(GET, target=f"/api/threads/{name}.json?{query}"))
                posts.update(post["id"] for post in json.loads(answer.body)["posts"])
        assert len([view for view in site.views if view.parts]) >= 100
        assert len(posts) == 573
        assert server.answering(replace(GET, target="/files/a.txt")).body == b"The content of /files/a.txt.\n"


def test_the_browser_for_all_is_compared_with_what_the_crawl_decides() -> None:
    browser, auto = {"seconds": 60.0, "cpu_seconds": 90.0}, {"seconds": 10.0, "cpu_seconds": 30.0}
    assert ratios(auto, browser, Method.AUTO) == {"wall_ratio": 6.0, "cpu_ratio": 3.0}
    assert ratios(browser, None, Method.BROWSER) == ratios(auto, browser, Method.HTTP) == {}
    assert ratios({"failure": "it failed"}, browser, Method.AUTO) == {}


BUSY = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import time\\nwhile time.process_time() < 1: pass"])
"""
LEAVING = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
time.sleep(1)
"""


def test_all_processes_of_a_command_are_measured() -> None:
    used = used_by([sys.executable, "-c", BUSY], None, 120)
    assert used.code == 0
    assert 1.0 <= used.cpu_seconds < 60
    assert used.peak_mib > 1


def test_a_process_that_was_seen_is_known_until_it_ends() -> None:
    started = subprocess.Popen([sys.executable, "-c", LEAVING])
    watch = Watch(started.pid)
    while started.poll() is None:
        watch.sample()
    alive = watch.alive()
    for pid, _ in alive:
        os.kill(pid, signal.SIGKILL)

    assert len(alive) == 1
    until(lambda: not watch.alive())


def test_a_page_is_sent_in_chunks() -> None:
    answer = page("<p>Hello</p>")
    assert b"Transfer-Encoding: chunked" in answer.head()
    assert b"".join(answer.framed()).startswith(b"6\r\n<p>Hel\r\n")

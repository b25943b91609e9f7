"""Clients that send half of what they should, or say that they are others."""

import json
import logging
import re
import socket
import time
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path

import pytest

from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.web.entrance import HEAD_BYTES, UnfinishedHeads, most_connections
from aahcrawler.service.web.noted_acts import MAX_PATH_LENGTH
from tests.crawl.crawling import PATIENCE, until
from tests.service.asking import Service, serving


@pytest.fixture
def settings(tmp_path: Path) -> ServiceSettings:
    return ServiceSettings(Catalog([tmp_path]))


HALF = b"GET /health HTTP/1.1\r\nHost: localh"
REST = b"ost\r\n\r\n"


def half_sent(service: Service, opening: ExitStack, head: bytes = HALF) -> socket.socket:
    client = opening.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE))
    client.sendall(head)
    return client


def exchanged(service: Service, sent: bytes) -> bytes:
    """Return all that is answered until the service closes the connection."""
    came = bytearray()
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE) as client:
        client.sendall(sent)
        while piece := client.recv(1 << 16):
            came += piece
    return bytes(came)


def answered(client: socket.socket) -> bool:
    came = b""
    while not came.endswith(b"}"):
        piece = client.recv(1 << 16)
        assert piece, came
        came += piece
    return came.startswith(b"HTTP/1.1 200")


def is_closed(client: socket.socket) -> bool:
    try:
        return not client.recv(1)
    except ConnectionResetError:
        return True


def test_a_head_that_is_not_sent_in_time_ends_its_connection(settings: ServiceSettings) -> None:
    with serving(settings, UnfinishedHeads(seconds=0.3)) as service, ExitStack() as opening:
        began = time.monotonic()
        silent, half = half_sent(service, opening, b""), half_sent(service, opening)
        dripping = half_sent(service, opening)
        for _ in range(10):
            time.sleep(0.05)
            try:
                dripping.sendall(b"o")
            except OSError:
                break
        assert all(map(is_closed, (silent, half, dripping)))
        assert 0.25 < time.monotonic() - began < 30


def test_the_next_request_of_a_connection_has_its_time_as_well(settings: ServiceSettings) -> None:
    heads = UnfinishedHeads(seconds=1e6)
    with serving(settings, heads) as service, ExitStack() as opening:
        client = half_sent(service, opening, HALF)
        until(lambda: len(heads._waiting) == 1)
        (first,) = heads._waiting.values()
        client.sendall(REST)
        assert answered(client)
        client.sendall(HALF)
        until(lambda: len(heads._waiting) == 1)
        (second,) = heads._waiting.values()
        assert first.cancelled()
        assert second.when() > first.when()
        heads.seconds = 0.1
        client.sendall(REST)
        assert answered(client)
        client.sendall(HALF)
        assert is_closed(client)


def test_half_sent_heads_keep_nobody_from_being_answered(settings: ServiceSettings) -> None:
    with serving(settings, UnfinishedHeads(seconds=600.0, most=20)) as service, ExitStack() as opening:
        clients = [half_sent(service, opening) for _ in range(60)]
        assert service.get("/health").status == 200
        assert all(map(is_closed, clients[:40]))
        clients[-1].sendall(REST)
        assert answered(clients[-1])


def test_a_quarter_of_the_files_that_may_be_open_can_be_such_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    for soft, most in ((256, 64), (1 << 20, 1000), (-1, 1000), (2, 1)):
        monkeypatch.setattr("resource.getrlimit", lambda _, soft=soft: (soft, soft))
        assert most_connections() == most


def test_what_is_no_http_is_a_problem(settings: ServiceSettings) -> None:
    with serving(settings) as service:
        for sent in (b"GET /health\r\nHost", b"GET /" + b"x" * HEAD_BYTES, b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"):
            head, _, body = exchanged(service, sent + b"\r\n\r\n").partition(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 400"), head
            assert b"application/problem+json" in head
            assert json.loads(body)["status"] == 400


def test_answers_do_not_wait_for_one_another_s_confirmation(settings: ServiceSettings) -> None:
    with serving(settings) as service:
        client = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)

        def is_quick() -> bool:
            began = time.monotonic()
            client.request("GET", "/health")
            client.getresponse().read()
            return time.monotonic() - began < 0.035

        assert any(is_quick() for _ in range(500)), "each has waited for 40 ms"
        client.close()


def test_nobody_can_say_to_be_somebody_else(settings: ServiceSettings, caplog: pytest.LogCaptureFixture) -> None:
    forged = "6.6.6.6 \x1b[31m forged"
    with caplog.at_level(logging.INFO), serving(settings) as service:
        service.ask("GET", "/health", X_Forwarded_For=forged, X_Forwarded_Proto="https")
        until(lambda: "/health" in caplog.text)
    assert "6.6.6.6" not in caplog.text
    assert "\x1b" not in caplog.text
    assert '127.0.0.1 "GET /health" 200' in caplog.text


def test_what_is_asked_is_logged_in_one_line_of_bounded_length(
    settings: ServiceSettings, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), serving(settings) as service:
        service.get("/health?%0a%1b%5b31m")
        service.get(f"/health?{'x' * 50_000}")
        service.ask("GET", "/v1/crawls", Authorization="Bearer not-a-token-at-all")
        exchanged(service, b"GET /health\x1b[31m HTTP/1.1\r\nHost: localhost\r\n\r\n")
        until(lambda: "/v1/crawls" in caplog.text)
    lines = [record.getMessage() for record in caplog.records if record.name.endswith("access")]
    assert lines[0].startswith('127.0.0.1 "GET /health?%0a%1b%5b31m" 200')
    assert all(len(line) < MAX_PATH_LENGTH + 100 for line in lines)
    assert "not-a-token" not in caplog.text
    assert "\x1b" not in caplog.text


@pytest.mark.parametrize(
    "head",
    [
        b"POST /v1/crawls HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 30\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nX : y\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/crawls HTTP/1.1\r\nHost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 0\r\n\r\n0\r\n\r\n",
    ],
)
def test_heads_that_can_be_read_in_two_ways_are_refused(settings: ServiceSettings, head: bytes) -> None:
    with serving(settings) as service:
        answer = exchanged(service, head)
    assert re.match(rb"HTTP/1\.1 (400|501)", answer), answer
    assert answer.count(b"HTTP/1.1") == 1


def test_no_path_leads_out_of_the_crawls(settings: ServiceSettings) -> None:
    with serving(settings) as service:
        for path in (
            "..%2f..%2fetc%2fpasswd",
            "%2e%2e/pages",
            "%252e%252e/queue",
            "none%00/log",
            ".",
            "..",
            "a%5c..%5cb",
        ):
            assert service.get(f"/v1/crawls/{path}").status in (404, 307), path

"""Whatever comes over a connection to the proxy, at most one request a time is asked for, and it is what it seems."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from aahcrawler.browser.network.browser_response import FAILED, ProxyBounds
from aahcrawler.browser.network.recording_proxy import REFUSED
from aahcrawler.browser.network.upstream import BrowserRequest
from aahcrawler.wire.relay import Relay
from tests.browser.proxied import proxied, until

QUICK = ProxyBounds(head_bytes=20_000, body_bytes=50_000, request_seconds=0.4, idle_seconds=0.4)
PATIENT = replace(QUICK, request_seconds=30.0, idle_seconds=2.0)
"""For tunnels: their handshake takes longer than a request where the machine is busy."""
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: x\r\n\r\n"


async def fine(request: BrowserRequest, relay: Relay) -> None:
    relay.begin(200, "OK", [])
    relay.take(request.url.encode())


def got(sent: bytes, tunnel: str = "") -> tuple[bytes, list[BrowserRequest], dict[str, int]]:
    """Return what the proxy answers to some bytes until it closes, what was asked for, and the counts."""

    async def run() -> Any:
        async with proxied(fine, PATIENT if tunnel else QUICK) as running:
            client = await running.connect()
            if tunnel:
                await client.dig(tunnel)
            await client.tell(sent)
            async with asyncio.timeout(60):
                answered = await client.rest()
            return answered, running.asked, running.served.counts

    answered, asked, counts = asyncio.run(run())
    return answered, asked, dict(counts)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: x\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nX: 1\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nX y: 1\r\n\r\n",
        b"GET /path HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test@b.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
        b"GET http://a.test:99999/ HTTP/1.1\r\nHost: a.test:99999\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"CONNECT a.test HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"CONNECT a.test/x:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"CONNECT b@a.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test/" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: a.test\r\n\r\n",
        b"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n" + b"A: b\r\n" * 40_000,
        b"\x05\x01\x00",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 100_000,
    ],
)
def test_what_is_no_request_is_none(sent: bytes) -> None:
    answered, asked, counts = got(sent)
    assert asked == []
    assert answered in (FAILED, b"")  # What the browser goes on sending may push the answer out.
    assert counts in ({"malformed request": 1}, {})


@pytest.mark.parametrize(
    ("sent", "tunnel"),
    [
        (b"GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n", ""),
        (b"GET http://a.test/ HTTP/1.1\r\nHost: a.test:81\r\n\r\n", ""),
        (b"GET /x HTTP/1.1\r\nHost: b.test\r\n\r\n", "a.test:443"),
        (b"GET /x HTTP/1.1\r\nHost: a.test:8443\r\n\r\n", "a.test:443"),
    ],
)
def test_a_host_that_is_not_that_of_the_url_or_of_the_tunnel_is_refused(sent: bytes, tunnel: str) -> None:
    assert got(sent, tunnel) == (FAILED, [], {"another host": 1})


def test_a_tunnel_carries_paths_alone() -> None:
    for target in (b"http://a.test/", b"a.test/", b"@b.test/", b".b.test/"):
        answered, asked, _ = got(b"GET %b HTTP/1.1\r\nHost: a.test\r\n\r\n" % target, "a.test:443")
        assert (answered, asked) == (FAILED, [])
    answered, asked, _ = got(b"CONNECT c.test:443 HTTP/1.1\r\nHost: c.test:443\r\n\r\n", "a.test:443")
    assert asked == []


def test_requests_that_come_at_once_are_answered_one_after_another() -> None:
    sent = b"".join(b"GET http://a.test/%d HTTP/1.1\r\nHost: a.test\r\n\r\n" % number for number in range(300))
    answered, asked, counts = got(sent)
    assert [request.url for request in asked] == [f"http://a.test/{number}" for number in range(300)]
    assert answered.count(b"HTTP/1.1 200 OK\r\n") == 300
    assert counts == {}


def test_bodies_beyond_the_bound_are_refused() -> None:
    for framing in (b"Content-Length: 60000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\nEA60\r\n"):
        head = b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\n"
        _, asked, counts = got(head + framing + bytes(60_000) + b"\r\n0\r\n\r\n")
        assert (asked, counts) == ([], {"request body": 1})


@pytest.mark.parametrize(
    "sent", [b"", b"GET http://a.te", b"POST http://a.test/ HTTP/1.1\r\nHost: a.test\r\nContent-Length: 9\r\n\r\nx"]
)
def test_who_sends_no_request_is_hung_up_on(sent: bytes) -> None:
    assert got(sent) == (b"", [], {})


def test_a_tunnel_in_which_nothing_is_said_ends() -> None:
    async def run() -> None:
        async with proxied(fine, QUICK) as running:
            client = await running.connect()
            await client.tell(b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n")
            async with asyncio.timeout(60):
                assert await client.rest() == b"HTTP/1.1 200 Connection established\r\n\r\n"

    asyncio.run(run())


def test_websockets_and_tunnels_for_other_protocols_are_refused_and_counted() -> None:
    plain = b"GET http://a.test/ws HTTP/1.1\r\nHost: a.test\r\n" + UPGRADE
    assert got(plain) == (REFUSED, [], {"websocket": 1})
    within = b"GET /ws HTTP/1.1\r\nHost: a.test\r\n" + UPGRADE
    assert got(within, "a.test:443") == (REFUSED, [], {"websocket": 1})

    async def tunnelled(said: bytes) -> dict[str, int]:
        async with proxied(fine) as running:
            client = await running.connect()
            await client.tell(b"CONNECT a.test:80 HTTP/1.1\r\nHost: a.test:80\r\n\r\n")
            await client.reader.readuntil(b"\r\n\r\n")
            await client.tell(said)
            await client.rest()
            await until(lambda: running.served.counts)
            assert running.asked == []
            return dict(running.served.counts)

    assert asyncio.run(tunnelled(b"GET /ws HTTP/1.1\r\nHost: a.test\r\n" + UPGRADE)) == {"websocket": 1}
    assert asyncio.run(tunnelled(b"\x00\x01\x00\x00\x21\x12\xa4\x42" + bytes(12))) == {"tunnel": 1}
    early = b"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n\x16\x03\x01"
    assert got(early) == (REFUSED, [], {"tunnel": 1})


def test_no_answer_ends_its_own_head_or_frames_its_body_anew() -> None:
    async def splitting(_: BrowserRequest, relay: Relay) -> None:
        relay.begin(
            200,
            "OK\r\nX: 1",
            [
                ("A", "1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0"),
                ("B", "2\rTransfer-Encoding: chunked\x00"),
                ("C\r\nD", "3"),
                ("E ", "4"),
                ("Content-Length", "2"),
                ("F", "\u20ac\t5"),
            ],
        )
        relay.take(b"okmore")

    async def run() -> None:
        async with proxied(splitting) as running:
            client = await running.connect()
            for _ in range(2):
                head, body = await client.ask("http://a.test/")
                assert body == b"ok"
                assert head == (
                    b"HTTP/1.1 200 OK  X: 1\r\nA: 1    HTTP/1.1 200 OK  Content-Length: 0\r\n"
                    b"B: 2 Transfer-Encoding: chunked \r\nContent-Length: 2\r\nF: ?\t5\r\n\r\n"
                )

    asyncio.run(run())

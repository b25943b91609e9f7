"""What is kept of an exchange is what passed, byte for byte."""

import asyncio
import hashlib
import time
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aahcrawler.exchange import Truncation
from aahcrawler.wire.client import WireClient, WireRequest, WireResponse, WireSettings
from aahcrawler.wire.connection import PULSE
from tests.wire.serving import OPEN, Server, answering, client, serving

GZIPPED = zlib.compress(b"<p>bonjour</p>" * 50, wbits=31)
CHUNKED = b"4;name=value\r\nWiki\r\nA  \r\npedia, in \r\n3\r\n\r\n\n\r\n0\r\nX-Trailer: yes\r\n\r\n"

# (the response on the wire, the payload, closed by the server afterwards)
WHOLE = {
    "length": (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello", False),
    "header case and order": (
        b"HTTP/1.1 200 OK\r\nsERVER: x\r\nX-b: 2\r\nx-A: 1\r\nX-b:3\r\nCONTENT-LENGTH:  2 \r\n\r\nok",
        b"ok",
        False,
    ),
    "folded header": (
        b"HTTP/1.1 200 OK\r\nX-Long: one\r\n\t two\r\n  three\r\nContent-Length: 2\r\n\r\nok",
        b"ok",
        False,
    ),
    "chunked": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKED, b"Wikipedia, in \r\n\n", False),
    "chunked gzip": (
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: Chunked\r\n\r\n"
        + b"".join(b"7\r\n" + GZIPPED[i : i + 7] + b"\r\n" for i in range(0, len(GZIPPED) - 7, 7))
        + b"%x\r\n" % (len(GZIPPED) % 7 or 7)
        + GZIPPED[-(len(GZIPPED) % 7 or 7) :]
        + b"\r\n0\r\n\r\n",
        GZIPPED,
        False,
    ),
    "chunked wins over length": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        b"ab",
        False,
    ),
    "chunked without final line": (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n",
        b"ab",
        True,
    ),
    "line feeds alone": (b"HTTP/1.1 200 OK\nContent-Length: 2\nX: y\n\nok", b"ok", False),
    "line feeds alone, chunked": (
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n",
        b"ok",
        False,
    ),
    "until close": (b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it", b"all of it", True),
    "empty until close": (b"HTTP/1.0 200 OK\r\n\r\n", b"", True),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", b"ok", False),
    "odd status line": (b"http/1.1   200  Very   Fine \r\nContent-Length: 2\r\n\r\nok", b"ok", False),
    "same length twice": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2, 2\r\n\r\nok",
        b"ok",
        False,
    ),
    "contradictory lengths": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 7\r\n\r\nall of it",
        b"all of it",
        True,
    ),
    "length is no number": (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nall of it", b"all of it", True),
    "line without colon": (b"HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length : 2\r\n\r\nok", b"ok", False),
    "no headers": (b"HTTP/1.1 200 OK\r\n\r\nok", b"ok", True),
    "bytes beyond ASCII": (b"HTTP/1.1 200 \xc3\x96\r\nX: \xff\xfe\r\nContent-Length: 2\r\n\r\nok", b"ok", False),
    "streaming server": (b"ICY 200 OK\r\nicy-name: radio\r\n\r\nnoise", b"noise", True),
    "identity": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nok", b"ok", False),
    "redirect": (
        b"HTTP/1.1 301 Moved\r\nLocation: /elsewhere;\r\nContent-Length: 4\r\n\r\ngone",
        b"gone",
        False,
    ),
    "error": (b"HTTP/1.1 599 Odd\r\nContent-Length: 0\r\n\r\n", b"", False),
    "no content": (b"HTTP/1.1 204 No Content\r\nContent-Length: 10\r\n\r\n", b"", False),
    "not modified": (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", b"", False),
}


async def fetch_one(wire: WireClient, request: WireRequest) -> tuple[WireResponse, bytes]:
    answer = await wire.fetch(request)
    with answer.exchange.response as response:
        raw = response.read()
    assert len(raw) == answer.exchange.response_size
    return answer, raw


@pytest.mark.parametrize("name", WHOLE)
@pytest.mark.parametrize("step", [1, 7, 100_000])
def test_response_is_kept_as_it_passed(tmp_path: Path, name: str, step: int) -> None:
    wire_bytes, payload, closes = WHOLE[name]

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await server.head(reader):
            for start in range(0, len(wire_bytes), step):
                writer.write(wire_bytes[start : start + step])
                await writer.drain()
                await asyncio.sleep(0)
            if closes:
                return

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            for _ in range(2):
                answer, raw = await fetch_one(wire, WireRequest(server.url()))
                assert raw == wire_bytes
                assert answer.payload == payload
                assert answer.payload_complete
                assert answer.exchange.truncated is None
                assert answer.exchange.payload_digest == hashlib.sha1(payload).digest()  # noqa: S324
                assert answer.exchange.ip_address == "127.0.0.1"

    asyncio.run(run())


def test_status_reason_and_headers_are_read(tmp_path: Path) -> None:
    raw = (
        b"HTTP/1.1 404  Not Here \r\nSet-Cookie: a=1\r\nx-LONG: one\r\n two\r\nignored\r\n not this\r\n"
        b"set-cookie: b=2\xa0\r\nEmpty:\r\nContent-Length: 0\r\n\r\n"
    )

    async def run() -> None:
        async with serving(answering(raw)) as server, client(tmp_path) as wire:
            answer, _ = await fetch_one(wire, WireRequest(server.url()))
            assert (answer.status, answer.reason, answer.version) == (404, "Not Here", (1, 1))
            assert answer.headers == (
                ("Set-Cookie", "a=1"),
                ("x-LONG", "one two"),
                ("set-cookie", "b=2\xa0"),
                ("Empty", ""),
                ("Content-Length", "0"),
            )
            assert 0 <= answer.latency <= answer.elapsed < 180

    asyncio.run(run())


def test_time_that_this_process_was_busy_is_not_the_servers(tmp_path: Path) -> None:
    async def waiting(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await server.head(reader):
            if b"/busy" in head:
                time.sleep(1)  # The loop is the client's, too.
            else:
                await asyncio.sleep(1.5 * PULSE)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    async def run() -> None:
        async with serving(waiting) as server, client(tmp_path) as wire:
            slow, _ = await fetch_one(wire, WireRequest(server.url("/slow")))
            assert slow.latency > 0.9 * PULSE
            busy, _ = await fetch_one(wire, WireRequest(server.url("/busy")))
            assert busy.elapsed >= 1
            assert 0 < busy.latency <= busy.elapsed - (1 - PULSE)

    asyncio.run(run())


def test_request_is_sent_as_given(tmp_path: Path) -> None:
    asked = WireRequest(
        "http://user:secret@EXAMPLE.test/a%20b;c/%7Euser/?q=%C3%A9&r=a|b?#fragment",
        (("uSER-agent", "aah"), ("Accept", "*/*"), ("X-One", "1"), ("accept", "text/html"), ("Content-Length", "99")),
    )

    async def run() -> None:
        async with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as server:
            policy = type(OPEN)(True, {"example.test": f"127.0.0.1:{server.port}"})
            async with client(tmp_path, addresses=policy) as wire:
                answer, _ = await fetch_one(wire, asked)
            expected = (
                b"GET /a%20b;c/%7Euser/?q=%C3%A9&r=a|b? HTTP/1.1\r\nHost: example.test\r\nConnection: keep-alive\r\n"
                b"uSER-agent: aah\r\nAccept: */*\r\nX-One: 1\r\naccept: text/html\r\n"
                b"Accept-Encoding: gzip, deflate\r\n\r\n"
            )
            assert server.requests == [expected]
            assert answer.exchange.request == expected
            assert answer.exchange.url == asked.url

    asyncio.run(run())


@pytest.mark.parametrize(
    ("path", "sent"), [("", b"/"), ("?", b"/?"), ("?a", b"/?a"), ("/#x", b"/"), ("//x/../y;", b"//x/../y;")]
)
def test_path_is_not_normalised(tmp_path: Path, path: str, sent: bytes) -> None:
    async def run() -> None:
        async with (
            serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as server,
            client(tmp_path) as wire,
        ):
            await fetch_one(wire, WireRequest(server.url(path)))
            assert server.requests[0].startswith(b"GET " + sent + b" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n" % server.port)

    asyncio.run(run())


def test_body_is_sent_with_its_length(tmp_path: Path) -> None:
    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        server.requests.append(await reader.readexactly(7))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            request = WireRequest(server.url(), (("Accept-Encoding", "gzip"),), "POST", b"a=1&b=2")
            answer, _ = await fetch_one(wire, request)
            head, body = server.requests
            assert body == b"a=1&b=2"
            assert b"\r\nAccept-Encoding: gzip\r\nContent-Length: 7\r\n\r\n" in head
            assert answer.exchange.request == head + body
            assert answer.exchange.method == "POST"

    asyncio.run(run())


def test_interim_responses_and_blank_lines_are_left_out(tmp_path: Path) -> None:
    final = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    interim = b"\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </s.css>\r\n\r\n"

    async def run() -> None:
        async with serving(answering(interim + final)) as server, client(tmp_path) as wire:
            for _ in range(2):
                answer, raw = await fetch_one(wire, WireRequest(server.url()))
                assert (answer.status, raw) == (200, final)
            assert server.connections == 1

    asyncio.run(run())


def test_head_has_no_body(tmp_path: Path) -> None:
    raw_head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"

    async def run() -> None:
        async with serving(answering(raw_head)) as server, client(tmp_path) as wire:
            for _ in range(2):
                answer, raw = await fetch_one(wire, WireRequest(server.url(), method="HEAD"))
                assert (raw, answer.payload, answer.payload_complete) == (raw_head, b"", True)
            assert server.connections == 1

    asyncio.run(run())


@pytest.mark.parametrize("step", [1, 100_000])
def test_bytes_beyond_the_message_are_not_kept(tmp_path: Path, step: int) -> None:
    first = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    smuggled = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await server.head(reader):
            raw = first + smuggled
            for start in range(0, len(raw), step):
                writer.write(raw[start : start + step])
                await writer.drain()

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            for _ in range(3):
                answer, raw = await fetch_one(wire, WireRequest(server.url()))
                assert (raw, answer.payload, answer.exchange.truncated) == (first, b"ok", None)
                await asyncio.sleep(0.02)
            assert server.connections == 3

    asyncio.run(run())


def test_payload_is_cut_at_keep_but_kept_on_the_wire(tmp_path: Path) -> None:
    body = bytes(range(256)) * 10

    async def run() -> None:
        raw = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
        async with serving(answering(raw)) as server, client(tmp_path) as wire:
            answer, kept = await fetch_one(wire, WireRequest(server.url(), keep=100))
            assert (answer.payload, answer.payload_complete, kept) == (body[:100], False, raw)
            assert answer.exchange.truncated is None
            assert answer.exchange.payload_digest == hashlib.sha1(body).digest()  # noqa: S324
            whole, _ = await fetch_one(wire, WireRequest(server.url(), keep=len(body)))
            assert whole.payload_complete

    asyncio.run(run())


@pytest.mark.parametrize("coding", ["length", "chunked", "close"])
def test_body_beyond_max_bytes_is_cut_there(tmp_path: Path, coding: str) -> None:
    head = {
        "length": b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n",
        "chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "close": b"HTTP/1.1 200 OK\r\n\r\n",
    }[coding]
    piece = b"400\r\n" + b"x" * 1024 + b"\r\n" if coding == "chunked" else b"x" * 1024

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(head)
        while True:
            writer.write(piece)
            await writer.drain()

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            answer, raw = await fetch_one(wire, WireRequest(server.url(), max_bytes=50_000))
            assert raw == head + (piece * 60)[:50_000]
            assert answer.exchange.truncated is Truncation.LENGTH
            assert not answer.payload_complete
            assert set(answer.payload) == {ord("x")}

    asyncio.run(run())


def test_body_of_exactly_max_bytes_is_whole(tmp_path: Path) -> None:
    async def run() -> None:
        raw = b"HTTP/1.0 200 OK\r\n\r\n" + b"x" * 1000
        async with serving(answering(raw, close=True)) as server, client(tmp_path) as wire:
            answer, kept = await fetch_one(wire, WireRequest(server.url(), max_bytes=1000))
            assert (kept, answer.exchange.truncated) == (raw, None)

    asyncio.run(run())


def test_broken_chunks_keep_what_came(tmp_path: Path) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nnot a size\r\n"

    async def run() -> None:
        async with serving(answering(raw)) as server, client(tmp_path) as wire:
            answer, kept = await fetch_one(wire, WireRequest(server.url()))
            assert (kept, answer.payload, answer.payload_complete) == (raw, b"ok", False)
            assert answer.exchange.truncated is Truncation.UNSPECIFIED

    asyncio.run(run())


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\npart",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\npart\r\n",
    ],
)
def test_disconnect_keeps_what_came(tmp_path: Path, raw: bytes) -> None:
    async def run() -> None:
        async with serving(answering(raw, close=True)) as server, client(tmp_path) as wire:
            answer, kept = await fetch_one(wire, WireRequest(server.url()))
            assert (kept, answer.payload, answer.payload_complete) == (raw, b"part", False)
            assert answer.exchange.truncated is Truncation.DISCONNECT

    asyncio.run(run())


def test_start_is_when_the_request_is_sent(tmp_path: Path) -> None:
    moment = datetime(2030, 1, 1, tzinfo=UTC)

    async def run() -> None:
        async with serving(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) as server:
            wire = WireClient(WireSettings(tmp_path, OPEN), now=lambda: moment)
            answer, _ = await fetch_one(wire, WireRequest(server.url()))
            await wire.close()
            assert answer.exchange.started_at is moment

    asyncio.run(run())

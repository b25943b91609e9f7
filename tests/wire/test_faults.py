"""Slow, silent, lying and vanishing servers: what is an error, what is kept, and what may be tried again."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET, socket

import pytest

from aahcrawler.exchange import Truncation
from aahcrawler.wire.client import (
    ConnectError,
    DisconnectError,
    HeaderLimitError,
    InvalidRequestError,
    KeepAlive,
    Limits,
    ProtocolError,
    SpoolError,
    Timeouts,
    WireError,
    WireReason,
    WireRequest,
    WireTimeoutError,
)
from tests.crawl.crawling import PATIENCE
from tests.wire.serving import Server, answering, client, serving

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
QUICK = Timeouts(first_byte=1, idle=1, total=2)


def sending(
    *pieces: bytes, pause: float = 0.0, then: float = 0.0
) -> Callable[[Server, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    """Write pieces with a pause after each, and stay silent for ``then`` seconds."""

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(pause)
        await asyncio.sleep(then)

    return handler


async def error_of(tmp_path: Path, handler: Callable[..., Awaitable[None]], **settings: object) -> WireError:
    async with serving(handler) as server, client(tmp_path, **settings) as wire:
        with pytest.raises(WireError) as caught:
            await wire.fetch(WireRequest(server.url()))
    return caught.value


def test_silence_is_a_timeout(tmp_path: Path) -> None:
    error = asyncio.run(error_of(tmp_path, sending(then=30), timeouts=Timeouts(first_byte=0.2)))
    assert isinstance(error, WireTimeoutError)
    assert isinstance(error, TimeoutError)
    assert error.retryable
    assert error.exchange is None


@pytest.mark.parametrize(("pause", "least"), [(0.0, 1), (0.05, 2)])
def test_slow_body_is_kept_as_far_as_it_came(tmp_path: Path, pause: float, least: float) -> None:
    pieces = [bytes([number]) for number in range(100)]

    async def run() -> None:
        handler = sending(HEAD, *pieces, pause=pause, then=30)
        async with serving(handler) as server, client(tmp_path, timeouts=QUICK) as wire:
            answer = await wire.fetch(WireRequest(server.url()))
            with answer.exchange.response as response:
                kept = response.read()
            assert answer.exchange.truncated is Truncation.TIME
            assert not answer.payload_complete
            assert kept.startswith(HEAD + b"\0")
            assert kept == HEAD + b"".join(pieces)[: len(kept) - len(HEAD)]
            assert least <= answer.elapsed

    asyncio.run(run())


def test_idle_time_counts_from_the_first_byte_on(tmp_path: Path) -> None:
    async def run() -> None:
        patient = Timeouts(first_byte=30, idle=0.2, total=60)
        async with serving(sending(HEAD, then=30)) as server, client(tmp_path, timeouts=patient) as wire:
            answer = await wire.fetch(WireRequest(server.url()))
            answer.exchange.close()
            assert answer.exchange.truncated is Truncation.TIME

    asyncio.run(run())


def test_timeout_of_a_request_wins(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(sending(then=30)) as server, client(tmp_path) as wire:
            with pytest.raises(WireTimeoutError):
                await wire.fetch(WireRequest(server.url(), timeout=1))

    asyncio.run(run())


def test_slow_head_keeps_its_beginning(tmp_path: Path) -> None:
    begun = b"HTTP/1.1 200 OK\r\nX: 1\r\n"
    error = asyncio.run(error_of(tmp_path, sending(begun, then=30), timeouts=QUICK))
    assert isinstance(error, WireTimeoutError)
    assert error.exchange is not None
    assert error.exchange.truncated is Truncation.TIME
    with error.exchange.response as response:
        assert response.read() == begun


@pytest.mark.parametrize(("begun", "kept"), [(b"", None), (b"HTTP/1.1 20", None), (b"HTTP/1.1 200 OK\r\nX", True)])
def test_disconnect_before_the_head_is_whole(tmp_path: Path, begun: bytes, kept: bool | None) -> None:
    error = asyncio.run(error_of(tmp_path, sending(begun)))
    assert isinstance(error, DisconnectError)
    assert error.retryable
    if kept is None:
        assert error.exchange is None
    else:
        assert error.exchange is not None
        assert error.exchange.truncated is Truncation.DISCONNECT
        with error.exchange.response as response:
            assert response.read() == begun


def test_reset_in_a_body_without_length_is_no_proper_end(tmp_path: Path) -> None:
    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(b"HTTP/1.0 200 OK\r\n\r\npart")
        await asyncio.sleep(0.05)
        writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            answer = await wire.fetch(WireRequest(server.url()))
            answer.exchange.close()
            assert (answer.payload, answer.exchange.truncated) == (b"part", Truncation.DISCONNECT)

    asyncio.run(run())


@pytest.mark.parametrize(
    "raw",
    [
        b"<html>no head at all</html>\r\n\r\n",
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 OK\r\n\r\n",
        b"HTTP/1.1 20000 OK\r\n\r\n",
        b"\x00\x01\x02\n\n",
    ],
)
def test_no_http_is_a_protocol_error(tmp_path: Path, raw: bytes) -> None:
    error = asyncio.run(error_of(tmp_path, sending(raw, then=30)))
    assert isinstance(error, ProtocolError)
    assert not error.retryable
    assert error.exchange is None


def test_switch_of_protocol_is_an_error_with_its_bytes(tmp_path: Path) -> None:
    raw = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"
    error = asyncio.run(error_of(tmp_path, sending(raw, then=30)))
    assert isinstance(error, ProtocolError)
    assert error.exchange is not None
    with error.exchange.response as response:
        assert response.read() == raw


def header_bomb(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Awaitable[None]:
    async def handler() -> None:
        await server.head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            writer.write(b"X-Bomb: " + b"b" * 500 + b"\r\n")
            await writer.drain()

    return handler()


def interim_bomb(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Awaitable[None]:
    async def handler() -> None:
        await server.head(reader)
        while True:
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)
            await writer.drain()

    return handler()


def test_endless_head_is_an_error(tmp_path: Path) -> None:
    error = asyncio.run(error_of(tmp_path, header_bomb))
    assert isinstance(error, HeaderLimitError)
    assert error.exchange is not None
    assert error.exchange.truncated is Truncation.LENGTH
    assert 256 * 1024 < error.exchange.response_size < 1_000_000
    error.exchange.close()
    assert isinstance(asyncio.run(error_of(tmp_path, interim_bomb)), HeaderLimitError)


def test_too_many_header_lines_are_an_error(tmp_path: Path) -> None:
    raw = b"HTTP/1.1 200 OK\r\n" + b"a:b\r\n" * 10_000 + b"Content-Length: 0\r\n\r\n"
    error = asyncio.run(error_of(tmp_path, sending(raw)))
    assert isinstance(error, HeaderLimitError)
    assert error.exchange is not None
    error.exchange.close()


def test_nobody_listens(tmp_path: Path) -> None:
    async def run() -> None:
        with socket() as holder:
            holder.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{holder.getsockname()[1]}/"
            async with client(tmp_path) as wire:
                with pytest.raises(ConnectError, match=r"127\.0\.0\.1") as caught:
                    await wire.fetch(WireRequest(url))
            assert caught.value.retryable
            assert caught.value.reason is WireReason.CONNECT

    asyncio.run(run())


@pytest.mark.parametrize(
    "asked",
    [
        WireRequest("ftp://a.test/"),
        WireRequest("http:///nohost"),
        WireRequest("http://a.test:99999/"),
        WireRequest("http://a.test:0/"),
        WireRequest("http://a.test/a b"),
        WireRequest("http://bücher.test/"),
        WireRequest("http://a.test/\r\nX: 1"),
        WireRequest("http://a.test/", (("X", "1\r\nY: 2"),)),
        WireRequest("http://a.test/", (("X Y", "1"),)),
        WireRequest("http://a.test/", (("X", "\N{SNOWMAN}"),)),
        WireRequest("http://a.test/", method="GET /x"),
    ],
)
def test_requests_that_cannot_be_sent(tmp_path: Path, asked: WireRequest) -> None:
    async def run() -> None:
        async with client(tmp_path) as wire:
            with pytest.raises(InvalidRequestError) as caught:
                await wire.fetch(asked)
            assert not caught.value.retryable

    asyncio.run(run())


def test_connections_are_kept_and_dropped(tmp_path: Path) -> None:
    closing = b"HTTP/1.1 200 OK\r\nConnection: Close\r\nContent-Length: 0\r\n\r\n"
    old = b"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n"
    old_kept = b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 0\r\n\r\n"
    expected = {OK: 1, closing: 3, old: 3, old_kept: 1}

    async def run(raw: bytes) -> int:
        async with serving(answering(raw)) as server, client(tmp_path) as wire:
            for _ in range(3):
                (await wire.fetch(WireRequest(server.url()))).exchange.close()
            return server.connections

    assert {raw: asyncio.run(run(raw)) for raw in expected} == expected


def test_idle_connections_are_bounded(tmp_path: Path) -> None:
    waiting = 0

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal waiting
        waiting += 1
        while await server.head(reader):
            while server.connections < 4:
                await asyncio.sleep(0.005)
            writer.write(OK)
        waiting -= 1

    async def run(keep: KeepAlive, kept: int) -> None:
        async with serving(handler) as server, client(tmp_path, keep_alive=keep) as wire:
            urls = [server.url("/"), server.url("/"), server.url("/"), server.url(host="localhost")]
            for answer in await asyncio.gather(*(wire.fetch(WireRequest(url)) for url in urls)):
                answer.exchange.close()
            async with asyncio.timeout(60):
                while waiting > kept:
                    await asyncio.sleep(0.005)
            await asyncio.sleep(0.05)
            assert (waiting, server.connections) == (kept, 4)

    settings = {KeepAlive(): 4, KeepAlive(per_origin=2): 3, KeepAlive(connections=1): 1, KeepAlive(connections=0): 0}
    for keep, kept in settings.items():
        waiting = 0
        asyncio.run(run(keep, kept))


def test_idle_connections_time_out(tmp_path: Path) -> None:
    async def run() -> None:
        keep = KeepAlive(seconds=0.05)
        async with serving(answering(OK)) as server, client(tmp_path, keep_alive=keep) as wire:
            for _ in range(2):
                (await wire.fetch(WireRequest(server.url()))).exchange.close()
                await asyncio.sleep(0.15)
            assert server.connections == 2

    asyncio.run(run())


@pytest.mark.parametrize(("method", "left"), [("GET", b""), ("POST", b""), ("GET", b"of the answer before\r\n\r\n")])
def test_kept_connection_that_gives_no_answer(tmp_path: Path, method: str, left: bytes) -> None:
    """The server reads the second request of a connection and goes away: asking again is not for the client."""

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(OK)
        await server.head(reader)
        writer.write(left)

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            (await wire.fetch(WireRequest(server.url(), method=method))).exchange.close()
            with pytest.raises((DisconnectError, ProtocolError)) as error:
                await wire.fetch(WireRequest(server.url(), method=method))
            assert error.value.retryable
            assert len(server.requests) == 2
            (await wire.fetch(WireRequest(server.url(), method=method))).exchange.close()
            assert server.connections == 2

    asyncio.run(run())


def test_kept_connection_that_is_closed_while_admission_is_waited_for(tmp_path: Path) -> None:
    """Nothing has been sent: a fresh connection serves."""

    class Slow:
        async def enter(self, address: str, port: int) -> None:  # noqa: ARG002
            await asyncio.sleep(0.2)

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(OK)
        await asyncio.sleep(0.1)

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            for _ in range(2):
                (await wire.fetch(WireRequest(server.url(), admission=Slow()))).exchange.close()
            assert (server.connections, len(server.requests)) == (2, 2)

    asyncio.run(run())


def test_fresh_connection_is_not_tried_twice(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(sending()) as server, client(tmp_path) as wire:
            with pytest.raises(DisconnectError):
                await wire.fetch(WireRequest(server.url()))
            assert server.connections == 1

    asyncio.run(run())


def test_cancelled_fetch_closes_its_connection(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(HEAD)
        with suppress(ConnectionResetError):  # A client that goes with the head unread resets the connection.
            await reader.read()
        gone.set()

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            fetching = asyncio.create_task(wire.fetch(WireRequest(server.url())))
            while not server.requests:
                await asyncio.sleep(0.005)
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            await asyncio.wait_for(gone.wait(), PATIENCE)

    asyncio.run(run())


def test_close_ends_what_is_under_way(tmp_path: Path) -> None:
    async def run() -> None:
        async with serving(sending(HEAD, b"part", then=30)) as server, client(tmp_path) as wire:
            fetching = asyncio.create_task(wire.fetch(WireRequest(server.url())))
            while not server.requests:
                await asyncio.sleep(0.005)
            for _ in range(20):  # What was sent arrives before a loop has gone round so often.
                await asyncio.sleep(0.005)
            await wire.close()
            answer = await fetching
            answer.exchange.close()
            assert answer.payload == b"part"
            assert answer.exchange.truncated is Truncation.DISCONNECT

    asyncio.run(run())


def test_spool_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "spool").write_text("a file where the folder should be")
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000
    error = asyncio.run(error_of(tmp_path, sending(raw, then=0.5), limits=Limits(memory_bytes=1000)))
    assert isinstance(error, SpoolError)
    assert error.retryable


def test_many_at_once(tmp_path: Path) -> None:
    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await server.head(reader):
            path = head.split(b" ", 2)[1]
            await asyncio.sleep(0.001 * (len(server.requests) % 5))
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(path) + path)

    async def run() -> None:
        async with serving(handler) as server, client(tmp_path) as wire:
            paths = [f"/page/{number}" for number in range(400)]
            answers = await asyncio.gather(*(wire.fetch(WireRequest(server.url(path))) for path in paths))
            assert [answer.payload.decode() for answer in answers] == paths
            for answer in answers:
                answer.exchange.close()

    asyncio.run(run())

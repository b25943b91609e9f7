"""Who is given an answer while it arrives gets all of it, and what is captured stays the same."""

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.exchange import Truncation
from aahcrawler.wire.client import Limits, ProxyUnavailableError, Timeouts, WireRequest, WireTimeoutError
from aahcrawler.wire.reception import Bounds, Reception, Spool
from aahcrawler.wire.relay import Relay
from aahcrawler.wire.settings import Proxy, ProxyKind, Route, Routes
from tests.wire.serving import Server, answering, client, serving

BOUNDS = Bounds(head_bytes=4096, head_lines=50, body_bytes=100_000, payload_bytes=10)
HEAD = b"HTTP/1.1 200 Fine\r\nX-Case: Kept\r\nx-case: 2\r\n"


class Listener:
    """Writes down what it is given, and when."""

    def __init__(self) -> None:
        self.heads: list[tuple[int, str, tuple[tuple[str, str], ...]]] = []
        self.pieces: list[bytes] = []
        self.came = asyncio.Event()

    def begin(self, status: int, reason: str, headers: Sequence[tuple[str, str]]) -> None:
        assert not self.pieces
        self.heads.append((status, reason, tuple(headers)))

    def take(self, piece: bytes) -> None:
        assert self.heads
        assert piece
        self.pieces.append(piece)
        self.came.set()

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)


def received(pieces: list[bytes], relay: Relay | None) -> tuple[object, ...]:
    taken = Reception("GET", BOUNDS, Spool(Path("unused"), 1 << 20), relay)
    for piece in pieces:
        if not taken.done:
            taken.feed(piece)
    if not taken.done:
        taken.end()
    return taken.head, taken.payload, taken.payload_digest, taken.truncated, taken.spool.open().read()


BODIES = {
    b"Content-Length: 12\r\n\r\nonce upon a.": (b"once upon a.", None),
    b"Transfer-Encoding: chunked\r\n\r\n5;x=y\r\nonce \r\n7\r\nupon a.\r\n0\r\nX: trailer\r\n\r\n": (
        b"once upon a.",
        None,
    ),
    b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\na\r\n" * 40 + b"0\r\n\r\n": (b"a" * 40, None),
    b"\r\nuntil the end": (b"until the end", None),
    b"Content-Length: 20\r\n\r\ncut short": (b"cut short", Truncation.DISCONNECT),
    b"Transfer-Encoding: chunked\r\n\r\n3\r\ngoo\r\nno size\r\n": (b"goo", Truncation.UNSPECIFIED),
    b"Content-Length: 200000\r\n\r\n" + b"x" * 150_000: (b"x" * 100_000, Truncation.LENGTH),
}


@given(st.sampled_from(sorted(BODIES)), st.lists(st.integers(0, 300), max_size=12))
def test_the_answer_is_relayed_as_it_comes_and_captured_as_without(rest: bytes, places: list[int]) -> None:
    raw = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + HEAD + rest
    edges = [0, *sorted(place % (len(raw) + 1) for place in places), len(raw)]
    pieces = [raw[start:end] for start, end in pairwise(edges) if start < end]
    listener = Listener()
    outcome = received(pieces, listener)
    assert outcome == received(pieces, None)
    ((status, reason, headers),) = listener.heads
    assert (status, reason, headers[:2]) == (200, "Fine", (("X-Case", "Kept"), ("x-case", "2")))
    assert (listener.body, outcome[3]) == BODIES[rest]


def test_an_endless_stream_is_relayed_while_it_runs_and_cut_by_its_time(tmp_path: Path) -> None:
    proceed = asyncio.Event()

    async def streaming(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n6\r\nfirst \r\n")
        await proceed.wait()
        while True:
            writer.write(b"5\r\nmore \r\n")
            await writer.drain()
            await asyncio.sleep(0.02)

    async def run() -> None:
        listener = Listener()
        timeouts = Timeouts(total=0.8)
        async with serving(streaming) as server, client(tmp_path, timeouts=timeouts) as wire:
            fetching = asyncio.create_task(wire.fetch(WireRequest(server.url(), relay=listener)))
            await listener.came.wait()
            assert listener.body == b"first "  # The server sends no more before this was seen.
            proceed.set()
            answer = await fetching
            assert answer.exchange.truncated is Truncation.TIME
            assert listener.body == answer.payload
            assert listener.body.startswith(b"first more more ")
            with answer.exchange.response as response:
                assert response.read().startswith(
                    HEAD + b"Transfer-Encoding: chunked\r\n\r\n6\r\nfirst \r\n5\r\nmore \r\n"
                )

    asyncio.run(run())


def test_an_answer_ends_where_nobody_wants_more_of_it(tmp_path: Path) -> None:
    async def streaming(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if b"/silent" in await server.head(reader):
            await asyncio.sleep(60)
        writer.write(HEAD + b"\r\nfirst ")
        await asyncio.sleep(60)

    async def run() -> None:
        listener, until = Listener(), asyncio.Event()
        async with serving(streaming) as server, client(tmp_path) as wire:
            fetching = asyncio.create_task(wire.fetch(WireRequest(server.url(), relay=listener, until=until)))
            silent = asyncio.create_task(wire.fetch(WireRequest(server.url("/silent"), until=until)))
            await listener.came.wait()
            until.set()
            answer = await fetching
            assert (answer.payload, answer.exchange.truncated) == (b"first ", Truncation.TIME)
            answer.exchange.close()
            with pytest.raises(WireTimeoutError):
                await silent

    asyncio.run(run())


def test_an_endless_stream_is_cut_by_its_length(tmp_path: Path) -> None:
    async def streaming(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(HEAD + b"\r\n")
        while True:
            writer.write(b"x" * 10_000)
            await writer.drain()

    async def run() -> None:
        listener = Listener()
        limits = Limits(memory_bytes=50_000)
        async with serving(streaming) as server, client(tmp_path, limits=limits) as wire:
            answer = await wire.fetch(WireRequest(server.url(), relay=listener, max_bytes=1_000_000))
            assert answer.exchange.truncated is Truncation.LENGTH
            assert listener.body == b"x" * 1_000_000
            answer.exchange.close()

    asyncio.run(run())


def test_a_proxy_that_asks_for_a_login_is_no_answer_of_the_site(tmp_path: Path) -> None:
    login = b"HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic\r\nContent-Length: 2\r\n\r\nno"
    site = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"

    async def run() -> None:
        async with serving(answering(site, login)) as proxy:
            routes = Routes(Route(Proxy(ProxyKind.HTTP, "127.0.0.1", proxy.port, forwards=True)))
            async with client(tmp_path, routes=routes) as wire:
                passed, refused = Listener(), Listener()
                answer = await wire.fetch(WireRequest("http://site.test/", relay=passed))
                answer.exchange.close()
                with pytest.raises(ProxyUnavailableError):
                    await wire.fetch(WireRequest("http://site.test/", relay=refused))
                assert passed.body == b"yes"
                assert (refused.heads, refused.pieces) == ([], [])

    asyncio.run(run())

"""Large bodies go to disk while they arrive; memory stays flat."""

import asyncio
import hashlib
import os
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path

from aahcrawler.wire.client import Limits, WireRequest
from tests.wire.serving import Server, client, serving

MEBIBYTE = 1 << 20


def streaming(
    pieces: int, piece: bytes, *, chunked: bool
) -> Callable[[Server, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        if chunked:
            writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        else:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % (pieces * len(piece)))
        for _ in range(pieces):
            writer.writelines([b"%x\r\n" % len(piece), piece, b"\r\n"] if chunked else [piece])
            await writer.drain()
        if chunked:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
        await reader.read()

    return handler


def test_80_mebibytes_in_little_memory(tmp_path: Path) -> None:
    piece = os.urandom(MEBIBYTE)

    async def run() -> None:
        async with serving(streaming(80, piece, chunked=False)) as server, client(tmp_path) as wire:
            tracemalloc.start()
            answer = await wire.fetch(WireRequest(server.url(), keep=MEBIBYTE))
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            assert peak < 24 * MEBIBYTE  # the server, in the same process, holds some of it
            assert answer.payload == piece
            assert not answer.payload_complete
            assert answer.exchange.truncated is None
            assert answer.exchange.payload_digest == hashlib.sha1(piece * 80).digest()  # noqa: S324
            assert list((tmp_path / "spool").iterdir()) == []
            with answer.exchange.response as response:
                assert response.read(17) == b"HTTP/1.1 200 OK\r\n"
                response.seek(-MEBIBYTE, os.SEEK_END)
                assert response.read() == piece
                assert response.tell() == answer.exchange.response_size

    asyncio.run(run())


def test_spilled_chunks_keep_their_framing(tmp_path: Path) -> None:
    piece = bytes(range(256)) * 40

    async def run() -> None:
        limits = Limits(memory_bytes=50_000, payload_bytes=10_000_000)
        async with serving(streaming(300, piece, chunked=True)) as server, client(tmp_path, limits=limits) as wire:
            answer = await wire.fetch(WireRequest(server.url()))
            assert answer.payload == piece * 300
            assert answer.payload_complete
            with answer.exchange.response as response:
                raw = response.read()
            _, _, body = raw.partition(b"\r\n\r\n")
            assert body == (b"%x\r\n" % len(piece) + piece + b"\r\n") * 300 + b"0\r\n\r\n"
            assert len(raw) == answer.exchange.response_size

    asyncio.run(run())

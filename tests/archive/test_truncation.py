"""Why a response is short: from what a server does on the wire to what warcio reads in the WARC file."""

import asyncio
import base64
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType
from warcio.archiveiterator import ArchiveIterator as WarcioIterator

from aahcrawler.archive.checking import Tally, check
from aahcrawler.archive.writer import WarcWriter
from aahcrawler.exchange import Truncation
from aahcrawler.wire.client import Limits, Timeouts, WireRequest
from tests.archive.exchanges import INFO, read_back
from tests.wire.serving import Server, client, serving

Handler = Callable[[Server, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PLAIN = HEAD + b"Content-Length: 100\r\n\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def sending(content: bytes, *, then: float = 0.0) -> Handler:
    async def handler(server: Server, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await server.head(reader)
        writer.write(content)
        await writer.drain()
        await asyncio.sleep(then)

    return handler


CASES: list[tuple[Handler, str, bytes]] = [
    (sending(PLAIN + b"x" * 60), "disconnect", b"x" * 60),
    (sending(CHUNKED + b"5\r\nabcde\r\n9\r\nfg"), "disconnect", b"abcdefg"),
    (sending(PLAIN + b"x" * 60, then=30), "time", b"x" * 60),
    (sending(CHUNKED + b"5\r\nabcde\r\nnonsense\r\n"), "unspecified", b"abcde"),
    (sending(HEAD + b"Content-Length: 5000\r\n\r\n" + b"y" * 5000), "length", b"y" * 1000),
    (sending(HEAD + b"\r\n" + b"z" * 80), "", b"z" * 80),
]


@pytest.mark.parametrize("number", range(len(CASES)))
def test_the_reason_reaches_the_record(tmp_path: Path, number: int) -> None:
    handler, reason, payload = CASES[number]

    async def run() -> None:
        quick = Timeouts(idle=0.3) if reason == "time" else Timeouts()
        limits = Limits(body_bytes=1000)
        async with serving(handler) as server, client(tmp_path / "spool", timeouts=quick, limits=limits) as wire:
            answer = await wire.fetch(WireRequest(server.url()))
            with closing(answer.exchange), WarcWriter(tmp_path / "archive", INFO) as writer:
                writer.write(answer.exchange)

    asyncio.run(run())
    (path,) = (tmp_path / "archive").iterdir()
    with path.open("rb") as file:
        (header,) = (record.rec_headers for record in WarcioIterator(file) if record.rec_type == "response")
    assert header.get_header("WARC-Truncated", "") == reason
    digest = base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()
    assert header["WARC-Payload-Digest"] == f"sha1:{digest}"
    assert header["WARC-IP-Address"] == "127.0.0.1"
    with path.open("rb") as file:
        (record,) = ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=False)
        assert record.headers["Content-Length"] == header["Content-Length"]
    ((_, exchange),) = read_back(tmp_path / "archive")
    with closing(exchange):
        assert exchange.truncated == (Truncation(reason) if reason else None)
    assert list(check(path, Tally())) == []

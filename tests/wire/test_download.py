"""Scrapy over the wire client."""

import asyncio
import sys
import zlib
from ipaddress import ip_network
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from aahcrawler.crawl.fetch.download_handler import WIRE_SETTINGS, CapturedResponse, WireDownloadHandler
from aahcrawler.exchange import Truncation
from aahcrawler.wire.client import DisconnectError, IpPolicy, Limits, RefusedAddressError, WireSettings
from tests.wire.serving import OPEN, answering, serving

PAGE = b"<p>bonjour</p>" * 100
LIMITS = Limits()
GZIPPED = zlib.compress(PAGE, wbits=31)
RAW = (
    b"HTTP/1.1 203 Fine\r\nSet-Cookie: a=1\r\ncontent-ENCODING: gzip\r\nSet-Cookie: b=\xe9\r\n"
    b"Content-Length: %d\r\n\r\n" % len(GZIPPED)
) + GZIPPED


def download(
    tmp_path: Path, raw: bytes, *, close: bool = False, limits: Limits = LIMITS, policy: IpPolicy = OPEN
) -> tuple[CapturedResponse, bytes]:
    async def run() -> tuple[CapturedResponse, bytes]:
        async with serving(answering(raw, close=close)) as server:
            wire = WireSettings(tmp_path / "spool", policy, limits=limits)
            downloader = WireDownloadHandler.from_crawler(get_crawler(Spider, {WIRE_SETTINGS: wire}))
            request = Request(server.url("/a%7Eb;?x=y z"), headers={"User-Agent": "aah"})
            response = await downloader.download_request(request)
            await downloader.close()
            with response.exchange.response as kept:
                return response, kept.read()

    return asyncio.run(run())


def test_response_is_decoded_and_the_exchange_is_not(tmp_path: Path) -> None:
    response, kept = download(tmp_path, RAW)
    assert kept == RAW
    assert response.exchange.request.startswith(b"GET /a%7Eb;?x=y%20z HTTP/1.1\r\nHost: 127.0.0.1:")
    assert b"\r\nUser-Agent: aah\r\n" in response.exchange.request
    assert (response.status, response.reason, response.body, response.complete) == (203, "Fine", PAGE, True)
    assert response.headers.getlist("set-cookie") == [b"a=1", b"b=\xe9"]
    assert "Content-Encoding" not in response.headers
    assert response.wire_headers[1] == ("content-ENCODING", "gzip")
    assert response.protocol == "HTTP/1.1"
    assert str(response.ip_address) == "127.0.0.1"
    assert response.request is not None
    assert response.meta["download_latency"] == response.captured.latency > 0


def test_capture_survives_replace(tmp_path: Path) -> None:
    response, _ = download(tmp_path, RAW)
    copied = response.replace(url="http://other.test/", body=b"x").copy()
    assert isinstance(copied, CapturedResponse)
    assert copied.captured is response.captured
    assert (copied.url, copied.body, copied.status) == ("http://other.test/", b"x", 203)
    assert type(response.replace(cls=CapturedResponse)) is CapturedResponse


def test_body_is_bounded_and_the_exchange_is_not(tmp_path: Path) -> None:
    response, kept = download(tmp_path, RAW, limits=Limits(payload_bytes=1000))
    assert (response.body, response.complete, kept) == (PAGE[:1000], False, RAW)
    response, kept = download(tmp_path, RAW, limits=Limits(payload_bytes=10))
    assert not response.complete
    assert len(response.body) <= 10
    assert kept == RAW


def test_exchange_is_bounded(tmp_path: Path) -> None:
    raw = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"x" * 100
    response, kept = download(tmp_path, raw, limits=Limits(body_bytes=60))
    assert (response.body, kept) == (b"x" * 60, raw[:-40])
    assert response.exchange.truncated is Truncation.LENGTH
    assert not response.complete


def test_broken_off_body_is_incomplete(tmp_path: Path) -> None:
    response, kept = download(tmp_path, RAW[:-5], close=True)
    assert kept == RAW[:-5]
    assert not response.complete
    assert PAGE.startswith(response.body)
    assert response.body


def test_errors_reach_the_caller(tmp_path: Path) -> None:
    with pytest.raises(DisconnectError):
        download(tmp_path, b"", close=True)
    with pytest.raises(RefusedAddressError):
        download(tmp_path, RAW, policy=IpPolicy())
    with pytest.raises(RefusedAddressError):
        download(tmp_path, RAW, policy=IpPolicy((ip_network("10.0.0.0/8"), ip_network("::1/128"))))


def test_without_the_setting_only_public_addresses_are_connected_to() -> None:
    async def run() -> None:
        async with serving(answering(RAW)) as server:
            downloader = WireDownloadHandler.from_crawler(get_crawler(Spider))
            with pytest.raises(RefusedAddressError):
                await downloader.download_request(Request(server.url()))
            await downloader.close()
            assert server.connections == 0

    asyncio.run(run())


class Fetching(Spider):
    name = "fetching"
    custom_settings = {  # noqa: RUF012
        "DOWNLOAD_HANDLERS": {"http": "aahcrawler.crawl.fetch.download_handler.WireDownloadHandler"},
    }


def test_handler_is_one_that_scrapy_takes() -> None:
    from scrapy.core.downloader.handlers import DownloadHandlers

    handlers = DownloadHandlers(get_crawler(Fetching))
    assert isinstance(handlers._get_handler("http"), WireDownloadHandler)


@pytest.mark.parametrize(
    ("options", "printed"),
    [(["--private"], f"203 {len(PAGE)} {len(RAW)}\n"), ([], "RefusedAddressError\n")],
)
def test_crawl_of_scrapy(options: list[str], printed: str) -> None:
    async def run() -> str:
        async with serving(answering(RAW)) as server:
            command = [sys.executable, "-m", "tests.wire.scrapy_run", server.url("/x"), *options]
            crawling = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
            output, _ = await crawling.communicate()
            return output.decode()

    assert asyncio.run(run()) == printed


def test_captured_response_is_a_response() -> None:
    assert issubclass(CapturedResponse, Response)
    assert set(Response.attributes) < set(CapturedResponse.attributes)

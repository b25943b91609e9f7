"""The stream of live events, by the rules of server-sent events: form, heartbeat, resumption, and its end."""

import asyncio
import json
import re
import signal
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from starlette.types import Message

from aahcrawler.layout import LOG
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.api.live_routes import EventResponse
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.views import live_feed
from aahcrawler.service.views.live_feed import MAX_STREAMS
from aahcrawler.service_client import ServiceClient
from tests.crawl.crawling import PATIENCE, until
from tests.crawl.crawling import running as command
from tests.service.asking import Service, serving
from tests.service.views.folders import write_crawl

PATIENT_SERVICE = """
from aahcrawler import cli
from aahcrawler.service import server

server._GRACE = 3600
cli.main()
"""
"""Runs ``aah serve`` so that it waits an hour for requests under way when it ends."""

LINE = "2026-11-26T12:00:05.000Z INFO crawl.response.handler http://a.test/{} 200 new\n"
FIELD = re.compile(r"(?:(?:event|data|id|retry): .*|: .*|)")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_crawl(tmp_path / "crawl")
    return tmp_path / "crawl"


@pytest.fixture
def instruments(folder: Path) -> Instruments:
    return Instruments.of(CrawlRegistry.of(Catalog([folder]), None))


@pytest.fixture
def service(folder: Path, instruments: Instruments) -> Iterator[Service]:
    with serving(ServiceSettings(Catalog([folder])), instruments=instruments) as opened:
        yield opened
        instruments.live.end()


@contextmanager
def following(port: int, last: str = "") -> Iterator[HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    connection.request("GET", "/v1/crawls/test/events", headers={"Last-Event-ID": last} if last else {})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def lines_until(stream: HTTPResponse, words: str) -> list[str]:
    """Return the lines up to the first one with these words; each must be as the standard says."""
    lines: list[str] = []
    while not lines or words not in lines[-1]:
        line = stream.readline()
        assert line.endswith(b"\n"), "the stream ended"
        lines.append(line[:-1].decode("utf-8"))
        assert FIELD.fullmatch(lines[-1]), lines[-1]
    return lines


def test_lines_are_as_the_standard_has_them(service: Service, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed.LiveFeed.events, "__defaults__", ("", 0.3))
    odd = "seite\u2028über\u0085\x0b\x1b[31m"
    with following(service.port) as stream:
        first = lines_until(stream, "event: status")
        assert first[0] == "retry: 3000"
        lines_until(stream, ": still here")
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(LINE.format(odd))
            log.write("half a line")
        told = lines_until(stream, 'data: {"lines"')
        (told_line,) = json.loads(told[-1].removeprefix("data: "))["lines"]
        assert told_line["message"].startswith("http://a.test/seite")
        assert [line.partition(":")[0] for line in told[-3:]] == ["id", "event", "data"]
        assert stream.readline() == b"\n"


def test_what_was_missed_is_told_once_and_odd_places_are_passed_over(service: Service, folder: Path) -> None:
    size = (folder / LOG).stat().st_size
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(LINE.format("missed"))
    with following(service.port, last=f"1-{size}") as stream:
        lines = lines_until(stream, "http://a.test/missed")
        place = lines[-3].removeprefix("id: ")
    with following(service.port, last=place) as stream:
        lines_until(stream, "event: status")
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(LINE.format("later"))
        assert "missed" not in "".join(lines_until(stream, "http://a.test/later"))
    for odd in ("x", "1-", "-1", f"1-{'9' * 30}", f"{'9' * 19}-{'9' * 19}", "1-1-1"):
        with following(service.port, last=odd) as stream:
            assert stream.status == 200
            lines_until(stream, "event: status")
    assert service.ask("GET", "/v1/crawls/test/events", Last_Event_ID="9" * 41).status == 400


def test_one_stream_more_than_allowed_is_refused_until_another_ends(service: Service, instruments: Instruments) -> None:
    with ExitStack() as stack:
        first, *_ = [stack.enter_context(following(service.port)) for _ in range(MAX_STREAMS)]
        until(lambda: instruments.live.streams == MAX_STREAMS)
        refused = service.get("/v1/crawls/test/events")
        assert (refused.status, refused.headers["retry-after"]) == (503, "10")
        assert refused.json["type"] == "urn:aahcrawler:problem:too-many-streams"
        lines_until(first, "event: status")
    until(lambda: instruments.live.followed == frozenset())
    with following(service.port) as stream:
        lines_until(stream, "event: status")


def test_a_client_that_takes_nothing_is_given_up() -> None:
    ended = threading.Event()

    async def endless() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b": still here\n\n"
        finally:
            ended.set()

    async def send(message: Message) -> None:
        if message["type"] == "http.response.body":
            await asyncio.sleep(3600)

    async def receive() -> Message:
        await asyncio.sleep(3600)
        return {"type": "http.disconnect"}

    async def respond() -> None:
        response = EventResponse(endless(), media_type="text/event-stream")
        response.taken_within = 0.05
        await response({"type": "http"}, receive, send)

    asyncio.run(asyncio.wait_for(respond(), PATIENCE))
    assert ended.is_set()


def test_a_crawl_that_cannot_be_read_ends_its_streams(
    service: Service, instruments: Instruments, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with following(service.port) as stream:
        lines_until(stream, "event: status")

        def broken(_: object) -> None:
            raise OSError("the disk is gone")

        monkeypatch.setattr(instruments.states, "status", broken)
        stream.read()
    assert "cannot be followed" in caplog.text
    until(lambda: instruments.live.followed == frozenset())
    monkeypatch.undo()
    with following(service.port) as stream:
        lines_until(stream, "event: status")


def test_streams_end_with_the_service_and_are_not_waited_for_as_requests_are(folder: Path) -> None:
    serve = ("serve", folder, "--port", "0", "--rate", "0")
    with command(*serve, code=PATIENT_SERVICE) as process, ExitStack() as stack:
        text = ""
        while "http://127.0.0.1:" not in text:
            text += process.process.stderr.readline()
        found = re.search(r"http://127\.0\.0\.1:(\d+)", text)
        assert found is not None
        client = ServiceClient(found[0])
        events = client.events("test")
        assert next(events).name == "status"
        streams = [stack.enter_context(following(int(found[1]))) for _ in range(5)]
        for stream in streams:
            lines_until(stream, "event: status")
        process.process.send_signal(signal.SIGTERM)
        for stream in streams:
            stream.read()
        assert list(events) == [], "the client's stream ends without an error"
        assert process.ended().code == 0

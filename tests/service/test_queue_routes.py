"""The queue of a crawl over HTTP, events as they happen, and numbers for Prometheus."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import quote

import pytest
from lxml import etree
from pydantic import BaseModel

from aahcrawler.layout import LOG
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.api.queue_routes import EXAMPLES
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.views.change_list import ChangesPage
from aahcrawler.service.views.crawl_findings import SeedsPage
from aahcrawler.service.views.crawl_state import CrawlStates, CrawlStatus
from aahcrawler.service.views.live_feed import EventsPage, LiveFeed, LogLines
from aahcrawler.service.views.queue_pages import QueuePage
from aahcrawler.service.views.refused_links import FailedPage, RefusedPage
from aahcrawler.service.views.site_pages import SitePage, SitesPage
from aahcrawler.service.views.url_story import ScoreHistory, UrlStory
from aahcrawler.service.web.problems import ProblemError
from tests.crawl.crawling import PATIENCE, until
from tests.pace import at_most
from tests.service.asking import Service, begun, serving
from tests.service.views.folders import QUEUED, serving_frontier, write_crawl

MODELS = (
    *(CrawlStatus, QueuePage, SitesPage, SitePage, RefusedPage, FailedPage, UrlStory, ScoreHistory, SeedsPage),
    EventsPage,
    ChangesPage,
)
LINE = "2026-11-26T13:00:00.000Z INFO crawl.core http://a.test/new 200 new\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("routes") / "crawl"
    write_crawl(folder)
    return folder


@pytest.fixture(scope="module")
def service(folder: Path) -> Iterator[Service]:
    with serving(ServiceSettings(Catalog([folder]))) as running:
        yield running


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/queue?limit=3",
        "/queue?state=blocked",
        "/sites?order=best",
        "/sites/a.test",
        "/refused?reason=other_site",
        "/failures",
        "/changes?state=new&state=changed&since=2026-01-01T00:00:00Z",
        "/seeds",
        f"/story?url={quote(QUEUED)}",
        f"/story/score?url={quote(QUEUED)}",
        "/log?level=ERROR&text=failed",
        "/traps",
        "/repairs",
    ],
)
def test_each_view_is_answered(service: Service, path: str) -> None:
    answer = service.get(f"/v1/crawls/test{path}")
    assert answer.status == 200, answer.json
    assert answer.json


def test_changes_are_given_as_a_feed(service: Service) -> None:
    answer = service.get("/v1/crawls/test/changes.atom?telling=true")
    assert answer.headers["content-type"] == "application/atom+xml"
    titles = [title.text for title in etree.fromstring(answer.body).findall("{*}entry/{*}title")]
    assert titles == ["changed: http://a.test/", "changed: http://a.test/", "new: http://a.test/"]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_each_example_of_the_description_is_one(model: type[BaseModel]) -> None:
    given = EXAMPLES[model.__name__]
    shown = model.model_validate(given).model_dump(mode="json")
    assert given.keys() <= shown.keys()
    assert {name: shown[name] for name in given if not isinstance(given[name], dict | list)} == {
        name: value for name, value in given.items() if not isinstance(value, dict | list)
    }


@pytest.mark.parametrize(
    ("path", "status", "detail"),
    [
        ("/queue?limit=201", 400, "limit"),
        ("/queue?state=gone", 400, "state"),
        ("/queue?text=a%20b", 400, "holds a space"),
        ("/queue?after=zzz", 400, "leave it out"),
        ("/queue?lowest=nan", 400, "lowest"),
        ("/sites?after=-1", 400, "after"),
        ("/sites/never.test", 404, "never offered"),
        ("/refused?after=x", 400, "leave it out"),
        (f"/refused?after={'9' * 39}", 400, "leave it out"),
        (f"/failures?after={'9' * 39}", 400, "leave it out"),
        (f"/log?after={'9' * 39}", 400, "leave it out"),
        (f"/queue?state=due&after={'9' * 39}", 400, "leave it out"),
        ("/changes?after=x", 400, "leave it out"),
        ("/changes?state=other", 400, "state"),
        ("/changes?since=yesterday", 400, "since"),
        ("/changes?until=0001-01-01T00:00:00%2B14:00", 400, "until"),
        ("/log?text=%00", 400, "no word"),
        ("/log?level=LOUD", 400, "level"),
        ("/log?text=-x", 400, "no word"),
        ("/story?url=mailto:x", 422, "whole http"),
        ("/story", 400, "url"),
    ],
)
def test_mistakes_are_problems_that_say_what_is_wrong(service: Service, path: str, status: int, detail: str) -> None:
    answer = service.get(f"/v1/crawls/test{path}")
    assert (answer.status, answer.headers["content-type"]) == (status, "application/problem+json")
    assert detail in answer.json["detail"]


def test_an_unknown_crawl_is_told(service: Service) -> None:
    for path in ("", "/queue", "/events", "/log"):
        assert service.get(f"/v1/crawls/none{path}").status == 404


# Events as they happen


@contextmanager
def following(service: Service, *, last: str = "") -> Iterator[HTTPResponse]:
    """Follow the crawl until the block ends."""
    connection = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
    connection.request("GET", "/v1/crawls/test/events", headers={"Last-Event-ID": last} if last else {})
    try:
        yield connection.getresponse()
    finally:
        connection.close()


def next_event(stream: HTTPResponse) -> dict[str, str]:
    """Return the fields of the next event that has some data."""
    fields: dict[str, str] = {}
    while True:
        line = stream.readline().decode().rstrip("\n")
        if not line and "data" in fields:
            return fields
        name, _, value = line.partition(": ")
        fields[name] = value


def test_the_state_comes_first_and_then_the_log_as_it_grows(service: Service, folder: Path) -> None:
    with following(service) as stream:
        assert stream.getheader("content-type") == "text/event-stream; charset=utf-8"
        assert stream.getheader("cache-control") == "no-store"
        status = next_event(stream)
        assert (status["event"], json.loads(status["data"])["state"]) == ("status", "stopped")
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(LINE)
        told = next_event(stream)
        lines = json.loads(told["data"])["lines"]
    assert (told["event"], [line["message"] for line in lines]) == ("log", ["http://a.test/new 200 new"])
    place = told["id"]
    with (folder / LOG).open("a", encoding="utf-8") as log:
        log.write(LINE.replace("new", "later"))
    with following(service, last=place) as stream:
        events = [next_event(stream), next_event(stream)]
    (missed,) = (json.loads(event["data"]) for event in events if event["event"] == "log")
    assert [line["message"] for line in missed["lines"]] == ["http://a.test/later 200 later"]


@pytest.fixture
def feed(folder: Path) -> Iterator[LiveFeed]:
    reach = CrawlRegistry.of(Catalog([folder]), None)
    feed = LiveFeed(reach, CrawlStates(reach), most=3)
    yield feed
    feed.close()
    reach.close()


def test_all_clients_share_one_reader_which_ends_with_the_last(feed: LiveFeed, folder: Path) -> None:
    async def follow() -> None:
        streams = [feed.events("test", silence=0.2) for _ in range(2)]
        first = [await anext(stream) for stream in streams]
        assert all(event is not None and isinstance(event.content, CrawlStatus) for event in first)
        assert (feed.streams, feed.followed) == (2, frozenset({"test"}))
        assert await anext(streams[0]) is None
        with (folder / LOG).open("a", encoding="utf-8") as log:
            log.write(LINE)
        for stream in streams:
            event = None
            while event is None:
                event = await anext(stream)
            assert isinstance(event.content, LogLines)
        for stream in streams:
            await stream.aclose()  # type: ignore[attr-defined]
        assert (feed.streams, feed.followed) == (0, frozenset())

    asyncio.run(follow())


def test_there_are_no_more_streams_than_allowed_and_they_end_when_told(feed: LiveFeed) -> None:
    async def follow() -> None:
        streams = [feed.events("test") for _ in range(3)]
        for stream in streams:
            await anext(stream)
        assert [event async for event in feed.events("test")] == []
        feed.end()
        for stream in streams:
            assert [event async for event in stream] == []

    asyncio.run(follow())


def test_streams_of_a_crawl_that_is_gone_end(tmp_path: Path) -> None:
    begun(tmp_path / "crawl")
    reach = CrawlRegistry.of(Catalog([tmp_path]), None)
    feed = LiveFeed(reach, CrawlStates(reach))

    async def follow() -> None:
        stream = feed.events("test")
        assert await anext(stream) is not None
        shutil.rmtree(tmp_path / "crawl")
        assert [event async for event in stream] == []
        assert feed.followed == frozenset()
        with pytest.raises(ProblemError, match="no crawl"):
            await feed.check("test")

    asyncio.run(follow())
    feed.close()
    reach.close()


def test_a_client_that_goes_away_frees_everything(folder: Path) -> None:
    settings = ServiceSettings(Catalog([folder]))
    instruments = Instruments.of(CrawlRegistry.of(settings.catalog, None))
    with serving(settings, instruments=instruments) as service:
        with following(service) as stream:
            next_event(stream)
            assert instruments.live.streams == 1
        until(lambda: instruments.live.followed == frozenset())


# Numbers for Prometheus


def test_numbers_are_given_by_the_conventions_of_prometheus(service: Service) -> None:
    answer = service.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    text = answer.body.decode()
    samples = [line for line in text.splitlines() if not line.startswith("#")]
    assert 'aah_crawl_state{crawl="test",state="stopped"} 1' in samples
    assert 'aah_crawl_pages{crawl="test",state="queued"} 341' in samples
    assert 'aah_crawl_fetched_pages_total{crawl="test"} 2' in samples
    assert 'aah_crawl_failures_total{crawl="test",reason="status 404"} 1' in samples
    assert len(samples) == len({line.rpartition(" ")[0] for line in samples})
    families = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
    assert len(families) == len(set(families))
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            assert name.startswith("aah_")
            assert (kind == "counter") == name.endswith("_total")
    assert {line.partition("{")[0].partition(" ")[0] for line in samples} == set(families)


def test_a_running_crawl_is_counted_live(tmp_path: Path) -> None:
    icd = write_crawl(tmp_path / "crawl")
    with (
        serving_frontier(tmp_path / "crawl", icd) as frontier,
        serving(ServiceSettings(Catalog([tmp_path]))) as service,
    ):
        frontier.count({f'failed_url:an "odd" reason\\{at}': at + 1 for at in range(30)})
        with at_most(1.0):
            text = service.get("/metrics").body.decode()
    assert 'aah_crawl_live{crawl="test"} 1' in text
    errors = [line for line in text.splitlines() if line.startswith("aah_crawl_failures_total")]
    assert len(errors) == 21
    assert 'reason="an \\"odd\\" reason\\\\29"} 30' in errors[0]
    assert sum(float(line.rpartition(" ")[2]) for line in errors) == 30 * 31 / 2 + 1

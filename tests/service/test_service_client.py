"""The Python client against a real service, and against what is none."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from aahcrawler.frontier.protocol import Offer
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.web.entrance import Rate, Rates
from aahcrawler.service.web.roles import Tokens
from aahcrawler.service_client import ServerEvent, ServiceClient, ServiceError
from tests.crawl.site import Reply, Site
from tests.crawl.site import serving as site_serving
from tests.service.asking import begun, running, serving

TOKEN = "a-token-that-nobody-guesses"  # noqa: S105
URL = "http://a.test/thread?a=1&b=%C3%BC"


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[RedisFrontier]:
    with running(tmp_path, begun(tmp_path, title="A title")) as opened:
        yield opened


@pytest.fixture
def client(tmp_path: Path) -> Iterator[ServiceClient]:
    begun(tmp_path, title="A title")
    with serving(ServiceSettings(Catalog([tmp_path]), tokens=Tokens.bare(TOKEN))) as service:
        yield ServiceClient(f"http://127.0.0.1:{service.port}/", TOKEN)


def test_crawls_are_listed_posted_to_and_steered(client: ServiceClient, frontier: RedisFrontier) -> None:
    (crawl,) = client.crawls()
    assert (crawl.id, crawl.title, crawl.number, crawl.reachable) == ("test", "A title", 1, True)
    assert client.status("test")["id"] == "test"
    item = {"url": URL, "score": 0.5}
    assert [result["outcome"] for result in client.post("test", [item], key="one")] == ["accepted"]
    assert client.post("test", [item], key="one")[0]["repeated"] is True
    assert client.url_state("test", URL)["score"] == 0.5
    assert client.rescore("test", URL, 0.7)["changed"] is True
    assert client.fetch_now("test", URL)["immediate"] is True
    assert client.revisit("test", URL)["changed"] is False
    assert client.admission("test", "http://b.test/")["reason"] == "other_site"
    assert client.pause("test")["paused"] is True
    assert client.pause("test", "a.test")["sites"] == ["a.test"]
    assert client.resume("test", "a.test")["sites"] == []
    assert client.resume("test")["paused"] is False
    frontier.offer([Offer("http://a.test/ads/1", "a.test", 0.1)])
    assert client.preview_exclusion("test", "pattern", "/ads/")["queued"]["number"] == 1
    assert client.exclude("test", "pattern", "/ads/")["blocked"] == 1
    assert client.unblock("test", "http://a.test/ads/1")["changed"] is False
    assert client.readmit("test", "pattern", "/ads/")["returned"] == 1
    acts = [act["act"] for act in client.steering("test")]
    assert acts[:3] == ["readmit", "unblock", "exclude"]
    assert acts[-2:] == ["fetch_now", "rescore"]


def test_crawls_are_created_described_copied_and_deleted(tmp_path: Path) -> None:
    with serving(ServiceSettings(Catalog([tmp_path]), tokens=Tokens.bare(TOKEN))) as service:
        client = ServiceClient(f"http://127.0.0.1:{service.port}/", TOKEN)
        fields = {
            "id": "flood",
            "title": "Flood",
            "contact": "a@example.org",
            "seeds": [URL],
            "topic": {"keywords": ["flood"]},
        }
        first = client.create(fields)["id"]
        described = client.describe(first, "The flood", creator=["Ann"], language=["en"])
        assert (described["title"], described["creator"]) == ("The flood", ["Ann"])
        assert client.description(first) == described
        copied = client.copy(first, "The flood, once more")["id"]
        assert client.description(copied)["title"] == "The flood, once more"
        with pytest.raises(ServiceError, match="nothing was deleted"):
            client.delete(first, copied)
        assert client.delete(first, first)["id"] == first
        assert [crawl.id for crawl in client.crawls()] == [copied]


def test_lists_are_read_to_their_end(client: ServiceClient, frontier: RedisFrontier) -> None:
    urls = [f"http://a.test/{n}" for n in range(7)]
    frontier.offer([Offer(url, "a.test", 1 - n / 10) for n, url in enumerate(urls)])
    assert [each["url"] for each in client.queue("test", limit=3)] == urls
    assert [each["url"] for each in client.queue("test", highest=0.55)] == urls[5:]


def test_what_happens_is_followed(client: ServiceClient, frontier: RedisFrontier) -> None:
    events = client.events("test")
    first = next(event for event in events if event.name == "status")
    assert (first.data["id"], first.data["paused_by_operator"]) == ("test", False)
    client.pause("test")
    assert next(event for event in events if event.name == "status").data["paused_by_operator"] is True
    assert frontier.lease("w", 1) == ()
    events.close()


def test_refusals_say_what_the_service_says(client: ServiceClient) -> None:
    with pytest.raises(ServiceError, match="no crawl of this id"):
        client.status("none")
    with pytest.raises(ServiceError, match="no crawl of this id") as caught:
        client.pause("no such crawl?")
    assert (caught.value.status, caught.value.kind) == (404, "no-such-crawl")
    with pytest.raises(ServiceError, match="has mistakes") as caught:
        client.create("id: test\nsedes: []\n")
    assert {mistake["field"] for mistake in caught.value.mistakes} >= {"sedes", "seeds"}
    with pytest.raises(ServiceError, match="`aah crawl FILE`") as caught:
        client.change_limits("test", pages=5)
    assert caught.value.kind == "conflict"
    with pytest.raises(ServiceError, match="Authorization") as caught:
        ServiceClient(client.url, "another").crawls()
    assert caught.value.status == 401
    assert TOKEN not in repr(client)


def test_what_is_no_service_is_told() -> None:
    for url, words in (
        ("ftp://a.test/", "is no URL of a service"),
        ("http://127.0.0.1:1", "cannot be reached"),
    ):
        with pytest.raises(ServiceError, match=words):
            ServiceClient(url).crawls()
    with site_serving(Site({"/v1/crawls": Reply(b"<html>"), "/redirected/v1/crawls": Reply(b"", 302)})) as site:
        with pytest.raises(ServiceError, match="is no JSON"):
            ServiceClient(site.url).crawls()
        with pytest.raises(ServiceError, match="302"):
            ServiceClient(f"{site.url}redirected", TOKEN).crawls()


def test_a_call_too_many_is_made_again_when_the_service_says(tmp_path: Path) -> None:
    begun(tmp_path)
    with serving(ServiceSettings(Catalog([tmp_path]), rates=Rates(Rate(2, 1)))) as service:
        client = ServiceClient(f"http://127.0.0.1:{service.port}")
        assert [client.status("test")["id"] for _ in range(3)] == ["test"] * 3
        hasty = ServiceClient(client.url, patience=0.0)
        with pytest.raises(ServiceError, match="a second"):
            [hasty.crawls() for _ in range(3)]


def test_events_are_read_as_they_come() -> None:
    body = (
        b': still here\n\nevent: status\nid: 1-5\ndata: {"pages":\ndata: 7}\n\ndata: plain words\n\n'
        b'event: empty\n\ndata: {"last": 1}\r\n\r\ndata: never ended'
    )
    with site_serving(Site({"/v1/x": Reply(body, headers={"Content-Type": "text/event-stream"})})) as site:
        found = list(ServiceClient(site.url).stream("/v1/x", last="1-4"))
        assert ("Last-Event-ID", "1-4") in site.asked[0].headers
    assert found == [
        ServerEvent("status", "1-5", {"pages": 7}),
        ServerEvent("message", "1-5", "plain words"),
        ServerEvent("message", "1-5", {"last": 1}),
    ]

"""What becomes of items that are posted, over real sockets and with the real frontier."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote
from uuid import uuid4

import pytest

from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.api.intake import Limits
from aahcrawler.service.catalog.crawl_catalog import Catalog
from tests.crawl.crawling import PATIENCE
from tests.service.asking import NDJSON, Service, begun, running, serving

LIMITS = Limits(items=1200, body=200_000, line=5000)


@pytest.fixture
def update() -> str:
    return "max"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "crawls" / "test"


@pytest.fixture
def frontier(folder: Path, update: str) -> Iterator[RedisFrontier]:
    icd = begun(folder, scoring={"update": update}, scope={"deny": ["/shop/"], "depth": 3})
    with running(folder, icd) as opened:
        yield opened


@pytest.fixture
def service(folder: Path, frontier: RedisFrontier) -> Iterator[Service]:
    assert frontier.counts().queues == 0
    with serving(ServiceSettings(Catalog([folder]), limits=LIMITS)) as running_service:
        yield running_service


def test_each_item_has_a_result_in_order(service: Service, frontier: RedisFrontier) -> None:
    frontier.offer([Offer("http://a.test/queued", "a.test", 0.2), Offer("http://a.test/leased", "a.test", 0.9)])
    frontier.lease("worker", 1)
    reply = service.post(
        [
            {"url": "HTTP://A.test:80/new#part", "score": 0.5},
            {"url": "http://a.test/queued", "score": 0.7},
            {"url": "http://a.test/leased", "score": 1},
            {"url": "http://a.test/bad", "blacklist": True},
            {"url": "http://b.test/", "score": 0.5},
            {"url": "http://a.test/shop/1", "score": 0.5},
            {"url": "mailto:me@a.test", "score": 0.5},
        ]
    )
    assert reply.status == 200
    assert [(r["url"], r["outcome"], r.get("state"), r.get("reason")) for r in reply.json["results"]] == [
        ("http://a.test/new", "accepted", "queued", None),
        ("http://a.test/queued", "rescored", "queued", None),
        ("http://a.test/leased", "known", "leased", None),
        ("http://a.test/bad", "blacklisted", "blocked", None),
        ("http://b.test/", "out_of_scope", None, "other_site"),
        ("http://a.test/shop/1", "out_of_scope", None, "denied"),
        ("mailto:me@a.test", "invalid", None, "url"),
    ]
    assert reply.json["counts"] == {
        "accepted": 1,
        "rescored": 1,
        "blacklisted": 1,
        "known": 1,
        "out_of_scope": 2,
        "invalid": 1,
    }
    assert [(best.url, best.score) for best in frontier.iterate(9)] == [
        ("http://a.test/queued", 0.7),
        ("http://a.test/new", 0.5),
    ]


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Serve a crawl that tests share which do not look at its frontier."""
    folder = tmp_path_factory.mktemp("standing")
    icd = begun(folder)
    with running(folder, icd), serving(ServiceSettings(Catalog([folder]), limits=LIMITS)) as running_service:
        yield running_service


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"score": 0.5}, "url"),
        ({"url": "http://a.test/"}, "item"),
        ({"url": "http://a.test/", "score": 1.01}, "score"),
        ({"url": "http://a.test/", "score": -0.1}, "score"),
        ({"url": "http://a.test/", "score": "0.5"}, "score"),
        ({"url": "http://a.test/", "score": True}, "score"),
        ({"url": "http://a.test/", "score": 0.5, "imediate": True}, "imediate"),
        ({"url": "http://a.test/", "score": 0.5, "immediate": 1}, "immediate"),
        ({"url": "http://a.test/", "immediate": True, "blacklist": True}, "item"),
        ({"url": "http://a.test/", "score": 0.5, "anchor": "x" * 1001}, "anchor"),
        ({"url": "http://a.test/" + "x" * 5000, "score": 0.5}, "too_long"),
        ({"url": "http://a.test/" + "x" * 20_000, "score": 0.5}, "url"),
        ({"url": "http://" + "x" * 300 + "/", "score": 0.5}, "url"),
        ("http://a.test/", "item"),
        (None, "item"),
        ([], "item"),
    ],
)
def test_a_faulty_item_says_why_and_keeps_none_of_the_others_out(standing: Service, item: object, reason: str) -> None:
    reply = standing.post([item, {"url": f"http://a.test/{uuid4()}", "score": 0}])
    faulty, good = reply.json["results"]
    assert (faulty["outcome"], faulty["reason"], bool(faulty["detail"])) == ("invalid", reason, True)
    assert (good["outcome"], good["state"], "repeated" in good) == ("accepted", "queued", False)


def test_one_object_is_one_item(standing: Service) -> None:
    assert standing.post({"url": "http://a.test/", "score": 0.5}).outcomes == ["accepted"]
    assert standing.post([]).json["results"] == []


@pytest.mark.parametrize(("update", "score"), [("sum", 0.7), ("avg", 0.35), ("last", 0.5), ("first", 0.2)])
def test_the_same_content_counts_once(service: Service, frontier: RedisFrontier, score: float) -> None:
    frontier.offer([Offer("http://a.test/x", "a.test", 0.2)])
    first = service.post({"url": "http://a.test/x", "score": 0.5, "source": "analyser"}).json["results"][0]
    again = service.post([{"source": "analyser", "score": 0.50, "url": "http://a.test/x#y"}]).json["results"][0]
    assert again == {**first, "repeated": True}
    assert frontier.iterate(1)[0].score == score


@pytest.mark.parametrize("update", ["sum"])
def test_another_source_or_another_key_is_another_opinion(service: Service, frontier: RedisFrontier) -> None:
    said = {"url": "http://a.test/x", "score": 0.25}
    for headers in ({}, {"Idempotency_Key": "one"}, {"Idempotency_Key": "two"}, {"Idempotency_Key": "one"}):
        service.post([said, said | {"source": "other"}], **headers)
    assert frontier.iterate(1)[0].score == 6 * 0.25


@pytest.mark.parametrize("update", ["sum"])
def test_a_key_that_was_used_for_something_else_is_told(service: Service, frontier: RedisFrontier) -> None:
    service.post({"url": "http://a.test/x", "score": 0.25}, Idempotency_Key="k")
    reply = service.post({"url": "http://a.test/x", "score": 0.75}, Idempotency_Key="k")
    assert (reply.outcomes, reply.json["results"][0]["reason"]) == (["invalid"], "idempotency_key")
    assert frontier.iterate(1)[0].score == 0.25


def test_immediate_urls_are_leased_first_and_blacklisted_ones_never(service: Service, frontier: RedisFrontier) -> None:
    frontier.offer([Offer(f"http://a.test/{i}", "a.test", 0.9) for i in range(3)])
    service.post(
        [{"url": "http://a.test/now", "score": 0, "immediate": True}, {"url": "http://a.test/0", "blacklist": True}]
    )
    assert frontier.lease("worker", 1)[0].url == "http://a.test/now"
    assert frontier.state("http://a.test/0") is State.BLOCKED
    assert frontier.counts().reasons == {"blacklisted": 1}


def test_a_url_can_be_read(service: Service, frontier: RedisFrontier) -> None:
    url = "http://a.test/ü?a=1&b=2"
    service.post({"url": url, "score": 0.5, "immediate": True, "source": "http://social.test/post"})
    where = f"/v1/crawls/test/urls?url={quote(url, safe='')}"
    shown = {
        "url": "http://a.test/%C3%BC?a=1&b=2",
        "state": "queued",
        "score": 0.5,
        "depth": 0,
        "via": "http://social.test/post",
        "immediate": True,
        "reason": "",
    }
    assert service.get(where).json == shown
    frontier.finish(frontier.lease("worker", 1)[0], State.DONE)
    ended = {"state": "done", "score": None, "depth": None, "via": None, "immediate": False}
    assert service.get(where).json == shown | ended
    assert service.get("/v1/crawls/test/urls?url=http://a.test/unknown").status == 404
    assert service.get("/v1/crawls/test/urls?url=nothing").status == 422


def test_private_addresses_are_out_of_scope(tmp_path: Path) -> None:
    icd = begun(tmp_path, scope={"sites": "anywhere"}, network={"resolve": {"mapped.test": "10.0.0.1"}})
    private = (
        *("http://127.0.0.1/", "http://localhost:8080/", "http://10.1.2.3/", "http://0x7f.1/", "http://[::1]/"),
        *("http://[::ffff:192.168.0.1]/", "http://169.254.169.254/latest", "http://mapped.test:81/"),
    )
    public = ("http://8.8.8.8/", "http://other.test/", "http://[2606:4700::1111]/")
    with running(tmp_path, icd), serving(ServiceSettings(Catalog([tmp_path]))) as service:
        results = service.post([{"url": url, "score": 1} for url in (*private, *public)]).json["results"]
    refused = [result["url"] for result in results if result.get("reason") == "private_address"]
    accepted = [result["url"] for result in results if result["outcome"] == "accepted"]
    assert (len(refused), len(accepted)) == (len(private), len(public))
    assert set(accepted) == set(public)


def test_private_addresses_that_the_definition_allows_are_taken(tmp_path: Path) -> None:
    icd = begun(tmp_path, scope={"sites": "anywhere"}, network={"allow_private": ["127.0.0.0/8"]})
    with running(tmp_path, icd), serving(ServiceSettings(Catalog([tmp_path]))) as service:
        said = [{"url": url, "score": 1} for url in ("http://127.0.0.1:81/", "http://localhost/", "http://10.0.0.1/")]
        assert service.post(said).outcomes == ["accepted", "accepted", "out_of_scope"]


def test_what_changed_a_crawl_is_kept_in_its_journal(service: Service, folder: Path) -> None:
    said = {"url": "http://a.test/x", "score": 0.5, "anchor": "A dike – broken", "source": "eye"}
    for _ in range(2):
        service.post([said, {"url": "http://b.test/", "score": 1}])
    (line,) = map(json.loads, (folder / "posted.jsonl").read_text("utf-8").splitlines())
    assert line.pop("at").startswith("20")
    assert line == said | {"by": "local", "crawl": 1, "outcome": "accepted"}


def test_ndjson_is_answered_line_by_line(service: Service, frontier: RedisFrontier) -> None:
    lines = [json.dumps({"url": f"http://a.test/{i}", "score": i / 1100}).encode() for i in range(1100)]
    lines[7] = b'{"url": "http://a.test/cut'
    pieces = (b"\n".join(lines) + b"\r\n\r\n").split(b"9")
    body = (piece + b"9" * (at < len(pieces) - 1) for at, piece in enumerate(pieces))
    reply = service.ask("POST", "/v1/crawls/test/urls", body, Content_Type=NDJSON)
    assert reply.status == 200
    assert reply.headers["content-type"] == NDJSON
    assert [at for at, line in enumerate(reply.lines) if line["outcome"] != "accepted"] == [7]
    assert (len(reply.lines), reply.lines[7]["reason"]) == (1100, "json")
    assert frontier.counts().pages[State.QUEUED] == 1099


def test_a_stream_that_is_too_long_says_what_was_applied(service: Service, frontier: RedisFrontier) -> None:
    lines = b"".join(json.dumps({"url": f"http://a.test/{i}", "score": 0.5}).encode() + b"\n" for i in range(1300))
    reply = service.ask("POST", "/v1/crawls/test/urls", lines, Content_Type=NDJSON)
    assert (reply.status, reply.json["applied"]) == (413, 1200)
    assert frontier.counts().pages[State.QUEUED] == 1200


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("application/json", b"[" * 100_000, 400),
        ("application/json", b'{"url": NaN}', 400),
        ("application/json", b'["\\ud800"]', 400),
        ("application/json", b"\xff", 400),
        ("application/json", b"", 400),
        ("application/json", json.dumps([0] * 1201).encode(), 413),
        ("application/json", b" " * 200_001, 413),
        (NDJSON, b" " * 6000, 413),
        ("text/plain", b"{}", 415),
        ("application/x-www-form-urlencoded", b"url=x", 415),
    ],
)
def test_what_is_no_request_is_a_problem(standing: Service, kind: str, body: bytes, status: int) -> None:
    reply = standing.ask("POST", "/v1/crawls/test/urls", body, Content_Type=kind)
    assert reply.status == status
    assert reply.headers["content-type"] == "application/problem+json"
    assert {"type", "title", "status", "detail"} <= set(reply.json)
    assert "Traceback" not in reply.body.decode()


def test_many_at_once_are_all_answered_and_each_is_applied_once(service: Service, frontier: RedisFrontier) -> None:
    def post(number: int) -> list[str]:
        return service.post([{"url": f"http://a.test/{at}", "score": 0.5} for at in range(number % 4, 50)]).outcomes

    with ThreadPoolExecutor(16) as pool:
        outcomes = [outcome for answered in pool.map(post, range(64)) for outcome in answered]
    assert set(outcomes) == {"accepted"}
    assert frontier.counts().pages[State.QUEUED] == 50


@pytest.mark.parametrize("update", ["sum"])
def test_a_stream_that_is_sent_again_changes_nothing(service: Service, frontier: RedisFrontier) -> None:
    lines = b'{"url": "http://a.test/x", "score": 0.25}\n' * 700
    replies = [
        service.ask("POST", "/v1/crawls/test/urls", lines, Content_Type=NDJSON, Idempotency_Key="stream")
        for _ in range(2)
    ]
    first, again = ([line.get("repeated", False) for line in reply.lines] for reply in replies)
    assert (set(first), set(again)) == ({False}, {True})
    assert frontier.iterate(1)[0].score == 700 * 0.25


def test_a_body_that_does_not_arrive_is_not_waited_for(tmp_path: Path) -> None:
    icd = begun(tmp_path)
    settings = ServiceSettings(Catalog([tmp_path]), limits=Limits(patience=0.1))
    with running(tmp_path, icd), serving(settings) as service:
        connection = HTTPConnection("127.0.0.1", service.port, timeout=PATIENCE)
        connection.putrequest("POST", "/v1/crawls/test/urls")
        connection.putheader("Content-Type", NDJSON)
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b'{"url": "http://a.test/", "score": 1}\n')
        answer = connection.getresponse()
        assert (answer.status, json.loads(answer.read())["applied"]) == (408, 0)
        connection.close()


def test_a_client_that_hangs_up_leaves_the_service_as_it_was(standing: Service) -> None:
    connection = HTTPConnection("127.0.0.1", standing.port, timeout=PATIENCE)
    connection.putrequest("POST", "/v1/crawls/test/urls")
    connection.putheader("Content-Type", "application/json")
    connection.putheader("Content-Length", "1000")
    connection.endheaders(b'[{"url": ')
    connection.close()
    assert standing.get("/health").status == 200


def test_a_journal_that_cannot_be_written_keeps_no_post_out(
    service: Service, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folder / "posted.jsonl").mkdir()
    assert service.post({"url": "http://a.test/", "score": 0.5}).outcomes == ["accepted"]
    assert "cannot be written" in caplog.text

"""Which crawls a service finds, whom it answers, and the process from start to end."""

import json
import os
import re
import signal
import socket
import stat
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
import yaml
from hypothesis import given

from aahcrawler.definitions import from_meaning
from aahcrawler.frontier.protocol import FrontierSettings, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import Definition
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.listening import is_loopback
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.server import Listening, RefusedToServeError, prepare
from aahcrawler.service.web.roles import Tokens
from online_analysis.icd import Icd, changes
from tests.crawl.crawling import PATIENCE, Running, aah, until
from tests.crawl.crawling import running as command
from tests.online_analysis.test_icd_properties import definitions
from tests.service.asking import JSON, Service, begun, running, serving

TOKEN = "a token that nobody guesses"  # noqa: S105
ITEM = {"url": "http://a.test/x", "score": 0.5}
FULL_ICD = """
id: full
title: Full
operator: An archive
contact: a@example.org
seeds: [http://b.test/, http://a.test/x.y]
topic: {keywords: [flood, "storm surge"], entities: [Emden]}
event: {start: 2024-05-01, end: 2024-05-31, lead: 30 days}
scope:
  {sites: anywhere, allow: ["*://a.test/*", "*://b.test/*", "/b.c/"], deny: [host:x.test], languages: [de], depth: 4}
scoring: {weights: {text: 0.5}, update: avg, balance: 3, spam_hosts: [z.test, y.test], url_patterns: {"*/a.b/*": 0.3}}
limits: {pages: 10, bytes: 1 GB, time: 3 hours, pages_per_domain: 5}
politeness: {delay: 2 s, connections: 2, timeout: 1.5 s, retries: 4, robots: ignore}
network: {resolve: {forum.test: "127.0.0.1:8080", v6.test: "::1"}, allow_private: [127.0.0.0/8, "fd00::/8"]}
"""


# Definitions and folders


def test_a_definition_is_read_back_from_what_it_means() -> None:
    icd = Icd.parse(FULL_ICD.encode())
    again = from_meaning(icd.meaning(), Path("out"))
    assert changes(icd, again) == ()
    assert again.output == Path("out")


@pytest.mark.slow
@given(definitions())
def test_every_definition_is_read_back(fields: dict[str, object]) -> None:
    icd = Icd.parse(yaml.safe_dump(fields).encode())
    again = from_meaning(icd.meaning(), Path("out"))
    assert set(changes(icd, again)) <= {path for path in icd.meaning() if path.startswith("file")}


def test_crawls_are_found_in_their_folders_when_they_begin(tmp_path: Path) -> None:
    one, two, crawls = tmp_path / "one", tmp_path / "all" / "two", tmp_path / "all"
    begun(one, id="first")
    crawls.mkdir()
    catalog = Catalog([one, crawls])
    assert [crawl.id for crawl in catalog.crawls()] == ["first"]
    begun(two, id="second", scoring={"update": "sum"})
    (crawls / "damaged").mkdir()
    (crawls / "damaged" / "icd.json").write_text("{", "utf-8")
    assert [crawl.id for crawl in catalog.crawls()] == ["first", "second"]
    found = catalog.crawl("second")
    assert found is not None
    assert found.icd.scoring.update == "sum"
    assert catalog.crawl("second") is found
    begun(two, id="second", scoring={"update": "avg"}, title="Changed")
    changed = catalog.crawl("second")
    assert changed is not None
    assert changed.icd.scoring.update == "avg"


def test_of_two_crawls_with_one_id_the_first_is_served(tmp_path: Path) -> None:
    for name in ("b", "a"):
        begun(tmp_path / name, title=name)
    assert [crawl.icd.title for crawl in Catalog([tmp_path]).crawls()] == ["a"]


# Servers of frontiers


def test_a_crawl_that_is_not_running_says_what_to_do_until_it_runs(tmp_path: Path) -> None:
    icd = begun(tmp_path)
    with serving(ServiceSettings(Catalog([tmp_path]))) as service:
        reply = service.post(ITEM)
        assert (reply.status, reply.headers["retry-after"]) == (503, "5")
        assert "aah crawl" in reply.json["detail"]
        assert [(crawl["reachable"], crawl["counts"]) for crawl in service.get("/v1/crawls").json] == [(False, None)]
        for _ in range(2):
            with running(tmp_path, icd):
                assert service.post(ITEM).status == 200
            assert service.post(ITEM).status == 503
        with running(tmp_path, icd):
            assert service.post(ITEM).json["results"][0]["repeated"], "the frontier remembers across restarts"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedServer(tmp_path_factory.mktemp("shared")) as server:
        yield server.url


def test_a_shared_server_takes_urls_at_any_time_until_the_crawl_is_over(tmp_path: Path, shared: str) -> None:
    begun(tmp_path / "crawl", id="at-rest")
    (tmp_path / "crawl" / "former" / "1").mkdir(parents=True)
    (tmp_path / "crawl" / "former" / "1" / "crawl.json").write_text("{}", "utf-8")
    summary = tmp_path / "crawl" / "crawl.json"
    with serving(ServiceSettings(Catalog([tmp_path]), shared=shared)) as service:
        assert service.post(ITEM, "at-rest").outcomes == ["accepted"]
        for state, reason, status in (
            ("stopped", "shutdown", 200),
            ("stopped", "limits.pages reached", 409),
            ("finished", "finished", 409),
        ):
            summary.write_text(json.dumps({"state": state, "reason": reason}), "utf-8")
            assert service.post(ITEM, "at-rest").status == status
        (shown,) = service.get("/v1/crawls").json
        assert (shown["id"], shown["crawl"], shown["counts"]["pages"]["queued"]) == ("at-rest", 2, 1)
    frontier = RedisFrontier(shared, "at-rest/2", FrontierSettings())
    assert frontier.state("http://a.test/x") is State.QUEUED
    frontier.close()


def test_a_server_that_went_away_is_a_problem_and_no_trace(tmp_path: Path) -> None:
    begun(tmp_path)
    with serving(ServiceSettings(Catalog([tmp_path]), shared=f"unix://{tmp_path}/none")) as service:
        reply = service.post(ITEM)
    assert (reply.status, reply.json["type"]) == (503, "urn:aahcrawler:problem:frontier-unavailable")
    assert str(tmp_path) not in reply.body.decode()


SUBMITTED = b"""\
id: %s
title: Submitted
contact: test@example.org
seeds: ["http://a.test/"]
topic: {keywords: [flood]}
"""


def test_crawls_that_were_submitted_are_known_from_the_server(tmp_path: Path, shared: str) -> None:
    registry = RedisRegistry(shared)
    with serving(ServiceSettings(Catalog([]), shared=shared)) as service:
        assert service.post(ITEM, "sent").status == 404
        registry.submit("sent", Definition(SUBMITTED % b"sent"))
        assert service.post(ITEM, "sent").outcomes == ["accepted"]
        elsewhere = {**ITEM, "url": "http://b.test/"}
        assert service.post(elsewhere, "sent").outcomes == ["out_of_scope"]
        registry.submit("sent", Definition(SUBMITTED % b"sent" + b"scope: {sites: anywhere}\n"))
        assert service.post(elsewhere, "sent").outcomes == ["accepted"]
        (shown,) = [each for each in service.get("/v1/crawls").json if each["id"] == "sent"]
        assert (shown["title"], shown["crawl"], shown["reachable"]) == ("Submitted", 1, True)
        registry.end("sent", 1, "limits.pages reached")
        over = service.post(ITEM, "sent")
        assert (over.status, "limits.pages reached" in over.json["detail"]) == (409, True)
        registry.submit("sent", Definition(SUBMITTED % b"sent"), number=2)
        assert service.post(ITEM, "sent").outcomes == ["accepted"]
        begun(tmp_path / "sent", id="sent", title="Of a folder")
    with serving(ServiceSettings(Catalog([tmp_path]), shared=shared)) as service:
        (shown,) = [each for each in service.get("/v1/crawls").json if each["id"] == "sent"]
        assert (shown["title"], shown["crawl"]) == ("Submitted", 2)
        assert service.post({**ITEM, "url": "http://a.test/y"}, "sent").outcomes == ["accepted"]
    assert "http://a.test/y" in (tmp_path / "sent/posted.jsonl").read_text("utf-8")
    registry.close()


def test_what_only_a_server_knows_is_no_missing_crawl_while_it_is_away(tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "server") as server:
        registry = RedisRegistry(server.url)
        registry.submit("sent", Definition(SUBMITTED % b"sent"))
        registry.close()
        with serving(ServiceSettings(Catalog([]), shared=f"unix://{tmp_path}/none")) as service:
            for reply in (service.get("/v1/crawls"), service.post(ITEM, "sent")):
                assert (reply.status, reply.json["type"]) == (503, "urn:aahcrawler:problem:frontier-unavailable")
        with serving(ServiceSettings(Catalog([]), shared=server.url)) as service:
            assert [each["reachable"] for each in service.get("/v1/crawls").json] == [True]
            server.stop()
            (away,) = service.get("/v1/crawls").json
            assert (away["id"], away["reachable"], "does not serve" in away["detail"]) == ("sent", False, True)
            assert [service.post(ITEM, name).status for name in ("sent", "unknown")] == [503, 503]


def test_a_service_with_a_shared_server_needs_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AAH_REDIS_URL", raising=False)
    with pytest.raises(RefusedToServeError, match="crawls: is no folder"):
        prepare([], Listening())
    prepare([], Listening(), makes_folder=True)
    assert (tmp_path / "crawls").is_dir()
    (tmp_path / "crawls").rmdir()
    (tmp_path / "crawls").write_text("a file", "utf-8")
    with pytest.raises(RefusedToServeError, match="crawls: is no folder"):
        prepare([], Listening(), makes_folder=True)
    monkeypatch.setenv("AAH_REDIS_URL", "redis://127.0.0.1:1/0")
    assert prepare([], Listening()).shared == "redis://127.0.0.1:1/0"


# Who is let in


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(ServiceSettings(Catalog([tmp_path_factory.mktemp("none")]), tokens=Tokens.bare(TOKEN))) as service:
        yield service


@pytest.fixture(scope="module")
def unguarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(ServiceSettings(Catalog([tmp_path_factory.mktemp("none")]))) as service:
        yield service


@pytest.mark.parametrize("sent", ["", f"Basic {TOKEN}", "Bearer ", f"Bearer {TOKEN[:-1]}", "Bearer t\u00e4ken"])
@pytest.mark.parametrize("path", ["/v1/crawls", "/v1/crawls/test/urls?url=x"])
def test_without_the_token_nothing_is_told(guarded: Service, sent: str, path: str) -> None:
    reply = guarded.ask("GET", path, Authorization=sent.encode("latin-1").decode("latin-1"))
    assert (reply.status, reply.headers["www-authenticate"]) == (401, "Bearer")
    assert reply.headers["content-type"] == "application/problem+json"


def test_with_the_token_it_is(guarded: Service) -> None:
    assert guarded.ask("GET", "/v1/crawls", Authorization=f"Bearer {TOKEN}", Host="anything.test").json == []
    assert guarded.get("/health").json["status"] == "ok"


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost:1", 200), ("127.0.0.1", 200), ("[::1]:80", 200), ("evil.test", 421), ("127.0.0.1.evil.test", 421)],
)
def test_without_a_token_only_loopback_names_are_answered(unguarded: Service, host: str, status: int) -> None:
    assert unguarded.ask("GET", "/v1/crawls", Host=host).status == status


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/crawls/none/urls?url=http://a.test/", 404),
        ("GET", "/v1/crawls/none/urls", 400),
        ("GET", "/nothing", 404),
        ("DELETE", "/v1/crawls", 405),
    ],
)
def test_every_error_is_a_problem(unguarded: Service, method: str, path: str, status: int) -> None:
    reply = unguarded.ask(method, path)
    assert (reply.status, reply.json["status"]) == (status, status)
    assert reply.headers["content-type"] == "application/problem+json"


def test_the_service_describes_itself_with_examples(unguarded: Service) -> None:
    described = unguarded.get("/openapi.json").json
    post = described["paths"]["/v1/crawls/{crawl}/urls"]["post"]
    assert set(post["requestBody"]["content"]) == {JSON, "application/x-ndjson"}
    assert post["requestBody"]["content"][JSON]["examples"]["many"]["value"][0]["immediate"] is True
    assert {"200", "401", "404", "409", "413", "415", "503"} <= set(post["responses"])


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("LOCALHOST", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.168.1.2", False),
        ("localhost.evil.test", False),
        ("", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_others_are_answered_with_a_token_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AAH_SERVICE_TOKEN", raising=False)
    monkeypatch.delenv("AAH_REDIS_URL", raising=False)
    with pytest.raises(RefusedToServeError, match="--token-file"):
        prepare([tmp_path], Listening("0.0.0.0"))  # noqa: S104
    with pytest.raises(RefusedToServeError, match="is no folder"):
        prepare([tmp_path / "none"], Listening())
    file = tmp_path / "token"
    with pytest.raises(RefusedToServeError, match="cannot be read"):
        prepare([tmp_path], Listening(token_file=file))
    for short in ("", "short", "long enough but \u00fc"):
        file.write_text(short, "utf-8")
        with pytest.raises(RefusedToServeError, match="at least 16"):
            prepare([tmp_path], Listening(token_file=file))
    file.write_text(f"{TOKEN}\n", "utf-8")
    file.chmod(stat.S_IRUSR)
    assert prepare([tmp_path], Listening("0.0.0.0", token_file=file)).tokens.caller(TOKEN) is not None  # noqa: S104
    monkeypatch.setenv("AAH_SERVICE_TOKEN", TOKEN[::-1])
    assert prepare([tmp_path], Listening("::")).tokens.caller(TOKEN[::-1]) is not None


# The process


def port_of(serve: Running) -> int:
    """Read what the process says until it says where it listens."""
    assert serve.process.stderr is not None
    for line in serve.process.stderr:
        if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
            return int(found[1])
    raise AssertionError("it never said where it listens")


def refuses(port: int) -> bool:
    """Whether nobody listens at a port any more."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_process_answers_what_is_under_way_and_ends_in_good_order(tmp_path: Path, number: int) -> None:
    icd = begun(tmp_path)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AAH_")}
    with (
        running(tmp_path, icd) as frontier,
        command("serve", tmp_path, "--port", "0", environment=environment) as serve,
    ):
        port = port_of(serve)
        connection = HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        *first, last = (json.dumps({"url": f"http://a.test/{i}", "score": 0.5}).encode() + b"\n" for i in range(501))
        connection.putrequest("POST", "/v1/crawls/test/urls")
        connection.putheader("Content-Type", "application/x-ndjson")
        connection.putheader("Content-Length", str(sum(map(len, first)) + len(last)))
        connection.endheaders(b"".join(first))
        until(lambda: frontier.counts().pages[State.QUEUED] == 500)
        serve.process.send_signal(number)
        until(lambda: refuses(port))
        connection.send(last)
        answer = connection.getresponse()
        assert [json.loads(line)["outcome"] for line in answer.read().splitlines()] == ["accepted"] * 501
        connection.close()
        ended = serve.ended()
        assert ended.code == 0
        assert '"POST /v1/crawls/test/urls" 200' in ended.err
        assert "Traceback" not in ended.err
        assert frontier.counts().pages[State.QUEUED] == 501


def test_a_refusal_to_serve_is_told_in_one_line(tmp_path: Path) -> None:
    ended = aah("serve", tmp_path, "--host", "0.0.0.0")  # noqa: S104
    assert (ended.code, ended.err.count("\n")) == (2, 1)

"""A crawl that a service creates, starts, redefines and stops; and one that somebody else has started."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.crawls import last_start, running_process
from aahcrawler.frontier.redis.registry import RedisRegistry
from aahcrawler.frontier.registry import CrawlState
from aahcrawler.frontier.server.embedded import EmbeddedServer
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.steering.held_definitions import refuse_machine_fields
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.problems import ProblemError
from online_analysis.icd import Icd
from tests.crawl.crawling import running as command
from tests.crawl.crawling import until
from tests.crawl.site import Reply, Site, html, links
from tests.crawl.site import serving as site_serving
from tests.crawl.world import define
from tests.service.asking import JSON, Service, begun, serving
from tests.service.asking import Reply as Answer
from tests.service.forked_crawls import crawls_forked

OPEN = "network: {allow_private: [127.0.0.0/8]}\n"
DEFINITION = """\
# The harbour, for the archive
id: harbour
contact: test@example.org
seeds: ["{url}a/1"]
topic: {{keywords: [harbour, flood]}}  # what it is about
network: {{allow_private: [127.0.0.0/8]}}
traps: {{pages: 0, soft_404: ignore, duplicates: follow}}
politeness: {{delay: 0 s, delay_factor: 0, timeout: 10 min}}
limits:
  pages: 5000   # enough
scope:
  deny: [/never/]
"""


def endless(path: str) -> Reply:
    """Return a page about the harbour that leads on, and to pages beside the way."""
    branch, _, number = path.strip("/").partition("/")
    n = int(number or 0) if number.isdecimal() else 0
    more = links(f"/{branch}/{n + 1}", f"/ads/{n}", f"/never/{n}") if branch == "a" else ""
    return Reply(html(f"Harbour {path}", f"<p>The flood at the harbour, page {n}.</p>{more}").body, pause=0.1)


@dataclass(frozen=True, slots=True)
class World:
    """A service with a folder for crawls, and a site without end."""

    service: Service
    place: Path
    site: Site

    @property
    def folder(self) -> Path:
        return self.place / "harbour"

    def ask(self, method: str, path: str, said: object = None) -> Answer:
        body = None if said is None else json.dumps(said).encode()
        return self.service.ask(method, f"/v1/crawls{path}", body, Content_Type=JSON)

    def done(self, method: str, path: str, said: object = None) -> Any:
        reply = self.ask(method, f"/harbour{path}", said)
        assert reply.status in (200, 202), reply.body
        return reply.json

    def job(self, method: str, path: str, said: object) -> Any:
        job = self.done(method, path, said)
        while job["state"] in ("waiting", "running"):
            job = self.done("GET", f"/jobs/{job['id']}?wait=10")
        assert job["state"] == "done", job["detail"]
        return job["result"]

    def log(self) -> str:
        return (self.folder / "crawl.log").read_text("utf-8")

    def runs(self) -> bool:
        return running_process(self.folder) is not None


@contextmanager
def world(place: Path, *, is_forked: bool = True, **more: Any) -> Iterator[World]:
    """Serve both. Crawls that the service starts are forked, but for one test that starts one as services do."""
    site = Site({"/robots.txt": Reply(b"", 404)}, other=endless)
    with crawls_forked() if is_forked else nullcontext(), site_serving(site):
        settings = ServiceSettings(Catalog([place]), rates=UNLIMITED, **more)
        with serving(settings) as service:
            opened = World(service, place, site)
            try:
                yield opened
            finally:
                process = running_process(opened.folder)
                if process is not None:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)


def test_a_crawl_is_created_started_redefined_stopped_and_started_again(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        text = DEFINITION.format(url=made.site.url)
        created = made.ask("POST", "", {"definition": text, "start": True})
        assert (created.status, created.json["id"]) == (201, "harbour"), created.body
        assert created.json["started"]["state"] == "running", created.body
        assert made.ask("POST", "", {"definition": text}).status == 409
        assert made.ask("POST", "/harbour/start").status == 409, "it runs"
        until(lambda: len(made.site.asked) > 10)

        _limits_and_scope(made, text)
        _weights(made)

        pid = made.done("POST", "/stop")["pid"]
        assert made.done("POST", "/stop")["asked"] is False, "asked twice it would end at once"
        until(lambda: not made.runs())
        summary = json.loads((made.folder / "crawl.json").read_text("utf-8"))
        assert (summary["state"], summary["reason"]) == ("stopped", "shutdown")
        assert made.ask("POST", "/harbour/stop").status == 409

        assert made.done("PUT", "/limits", {"pages": 4000})["detail"].startswith(
            "the crawl goes by it when it is started"
        )
        refused = made.ask("POST", "/harbour/start")
        assert (refused.status, "--accept-changes" in refused.json["detail"]) == (422, True), refused.body
        assert refused.json["lines"]
        at_rest = made.job("POST", "/exclusions/preview", {"rules": [{"kind": "pattern", "text": "/ads/"}]})
        assert at_rest["blocked"]["number"] > 0, "its server is started for as long as it is looked at"
        again = made.done("POST", "/start", {"accept_changes": True})
        assert (again["state"], again["pid"] != pid) == ("running", True)
        assert made.done("POST", "/stop")["asked"] is True
        until(lambda: not made.runs())
        acts = [act["act"] for act in made.done("GET", "/steering")["acts"]]
    assert acts[::-1] == ["create", "start", "limits", "scope", "weights", "stop", "stop", "limits", "start", "stop"]


def _limits_and_scope(made: World, text: str) -> None:
    shown = made.done("PUT", "/limits?preview=true", {"pages": 3000, "time": "2 h"})
    assert (shown["applied"], (made.folder / "definition.yaml").read_text().startswith(text[:200])) == (False, True)
    left = {each["limit"]: each["left"] for each in shown["limits"]}
    assert 2900 < left["limits.pages"] < 3000
    shown = made.done("PUT", "/limits", {"pages": 3000})
    assert [each["field"] for each in shown["fields"]] == ["limits.pages"]
    written = (made.folder / "definition.yaml").read_text("utf-8")
    assert "pages: 3000   # enough" in written
    assert "# what it is about" in written
    until(lambda: "changed definition from now on: limits.pages" in made.log())

    preview = made.job("PUT", "/scope?preview=true", {"deny": ["/ads/"]})
    assert preview["blocked"]["denied"] > 0
    assert "/ads/" in preview["blocked_examples"][0]
    assert preview["offered"] > 0
    assert "/never/" in preview["offered_examples"][0]
    assert made.done("PUT", "/scope", {"deny": ["/ads/"]})["applied"] is True
    until(lambda: "brought into line with the scope; blocked for denied" in made.log())
    assert "offered after all" in made.log()
    begun_at = len(made.site.asked) + 2
    until(lambda: len(made.site.asked) > begun_at + 8)
    assert not any(asked.path.startswith("/ads/") for asked in made.site.asked[begun_at:])


def _weights(made: World) -> None:
    preview = made.job("PUT", "/weights?preview=true", {"text": 0.01, "url": 1})
    assert preview["looked_at"] > 0
    assert preview["rescored"] > 0
    assert sorted(each["place"] for each in preview["after"]) == [n + 1 for n in range(len(preview["after"]))]
    assert any(each["score"] != each["score_before"] for each in preview["after"])
    made.done("PUT", "/weights", {"text": 0.01, "url": 1})
    until(lambda: "by the changed weights" in made.log())


def test_a_definition_with_mistakes_creates_nothing(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        good = DEFINITION.format(url=made.site.url)
        reply = made.ask("POST", "", {"definition": good.replace("seeds:", "sedes:").replace("5000", "many")})
        assert (reply.status, reply.json["type"]) == (422, "urn:aahcrawler:problem:invalid-definition")
        assert {each["line"] for each in reply.json["mistakes"]} >= {4, 10}
        assert all(each["problem"] and each["advice"] for each in reply.json["mistakes"])
        secret = tmp_path / "secret"
        secret.write_text("the machine's own words", "utf-8")
        for more in (
            "archive: {target: file:///tmp/elsewhere}",
            "output: ../../elsewhere\narchive: {target: s3://mine/all}",
            "scoring: {post_to: {url: 'http://evil.test/', crawl: x}}",
        ):
            refused = made.ask("POST", "", {"definition": f"{good}{more}\n"})
            assert (refused.status, "machine's own" in refused.json["detail"]) == (422, True), refused.body
        assert made.ask("POST", "", {"definition": f"{good}scoring: {{entity_model: {tmp_path}}}\n"}).status == 422
        named = good.replace("topic: {keywords", f"topic: {{documents: ['{secret}'], keywords")
        assert made.ask("POST", "", {"definition": named}).status == 422
        headers = good.replace("network: {", "network: {headers: {a.test: {X-Key: {env: AAH_SERVICE_TOKEN}}}, ")
        assert "headers" in made.ask("POST", "", {"definition": headers}).json["detail"]
        for path in ("../up", "a/b", "..", ""):
            assert made.ask("POST", "", {"definition": good.replace("id: harbour", f"id: {path!r}")}).status == 422
        for junk in ("", "[", "\x00", "- 1", "id: &a [*a]", {"id": "x"}, 7, None):
            assert made.ask("POST", "", {"definition": junk}).status in (400, 422)
        (tmp_path / "harbour").mkdir()
        assert made.ask("POST", "", {"definition": good}).status == 409
        assert list((tmp_path / "harbour").iterdir()) == []
        assert sorted(path.name for path in tmp_path.iterdir()) == ["harbour", "secret"]


def test_crawls_of_a_folder_named_by_a_relative_path_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("crawls").mkdir()
    with world(Path("crawls"), is_forked=False) as made:
        text = DEFINITION.format(url=made.site.url)
        created = made.ask("POST", "", {"definition": text, "start": True})
        assert (created.status, created.json["started"]["state"]) == (201, "running"), created.body


def test_a_crawl_that_was_created_is_there_before_it_starts(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        fields = {
            "id": "harbour",
            "contact": "a@example.org",
            "seeds": [made.site.url],
            "topic": {"keywords": ["flood"]},
        }
        assert made.ask("POST", "", {"definition": {**fields, "output": "/elsewhere"}}).status == 201
        (shown,) = made.ask("GET", "").json
        assert (shown["id"], shown["reachable"]) == ("harbour", False)
        held = made.done("GET", "/definition")
        assert json.loads(held["text"])["output"] == str(made.folder)
        assert [act["act"] for act in made.done("GET", "/steering")["acts"]] == ["create"]
        changed = held["text"].replace('"flood"', '"storm surge"')
        assert made.done("PUT", "/definition", {"text": changed, "digest": held["digest"]})["applied"] is True
        stale = made.ask("PUT", "/harbour/definition", {"text": changed + "# more\n", "digest": held["digest"]})
        assert (stale.status, "somebody has changed" in stale.json["detail"]) == (409, True)
        now = made.done("GET", "/definition")
        bad = json.dumps({**json.loads(now["text"]), "archive": {"target": "file:///tmp/x"}})
        reply = made.ask("PUT", "/harbour/definition", {"text": bad, "digest": now["digest"]})
        assert (reply.status, "machine's own" in reply.json["detail"]) == (422, True)
        assert made.ask("PUT", "/harbour/limits", {"pages": -1}).json["mistakes"][0]["field"] == "limits.pages"
        assert made.ask("PUT", "/harbour/limits", {}).status == 422
        assert made.ask("PUT", "/harbour/weights", {"nonsense": 1}).status == 422
        assert made.ask("PUT", "/harbour/weights", {"": 1}).status == 400
        assert made.ask("PUT", "/harbour/scope", {"rules": [{"name": [None]}]}).status == 422
        elsewhere = json.dumps({**json.loads(now["text"]), "output": "/somewhere/else"})
        reply = made.ask("PUT", "/harbour/definition", {"text": elsewhere, "digest": now["digest"]})
        assert (reply.status, "output" in reply.json["detail"]) == (409, True)
        assert made.done("GET", "/definition")["digest"] == now["digest"]


def test_two_who_change_different_fields_at_once_are_both_right(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        assert made.ask("POST", "", {"definition": DEFINITION.format(url=made.site.url)}).status == 201

        def change(section: str, field: str) -> None:
            for value in range(1, 11):
                made.done("PUT", f"/{section}", {field: value})

        wanted = (("limits", "pages"), ("limits", "pages_per_domain"), ("scope", "depth"), ("weights", "text"))
        threads = [threading.Thread(target=change, args=each) for each in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        icd = Icd.load(made.folder / "definition.yaml")
        assert (icd.limits.pages, icd.limits.pages_per_domain, icd.scope.depth) == (10, 10, 10)
        assert icd.scoring.weights["text"] == 10
        assert len(made.done("GET", "/steering")["acts"]) == 41
        assert sorted(path.name for path in made.folder.iterdir()) == ["definition.yaml", "steering.jsonl"]


def test_where_secrets_are_sent_is_not_changed_from_outside() -> None:
    def defined(network: str) -> Icd:
        return Icd.parse(f"{DEFINITION.format(url='http://a.test/')}{network}\n".replace(OPEN, "").encode())

    before = defined("network: {headers: {a.test: {X-Key: {env: KEY}}}}")
    refuse_machine_fields(before, before)
    for other in (
        "network: {headers: {b.test: {X-Key: {env: KEY}}}}",
        "network: {headers: {a.test: {X-Key: {env: OTHER}}}}",
        "network: {headers: {a.test: {X-Key: {env: KEY}}}, resolve: {a.test: '10.0.0.1:80'}}",
        "network: {headers: {a.test: {X-Key: {env: KEY}}}, hosts: {a.test: {ca_file: /tmp/mine.pem}}}",
    ):
        with pytest.raises(ProblemError, match="this machine's own"):
            refuse_machine_fields(defined(other), before)
    refuse_machine_fields(defined("network: {resolve: {a.test: '10.0.0.1:80'}}"), defined("network: {}"))


def test_a_crawl_that_somebody_started_is_stopped_as_by_ctrl_c(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        path = define(tmp_path / "there", [f"{made.site.url}a/1"], id="harbour", output=str(made.folder))
        with command("crawl", path) as crawler:
            crawler.until(lambda: len(made.site.asked) > 3)
            crawler.until(made.runs)
            found = last_start(made.folder)
            assert found is not None
            assert found.file == path
            assert made.done("POST", "/stop")["pid"] == found.pid
            ended = crawler.ended()
        assert ended.code == 0, ended.err
        assert "shutdown" in (made.folder / "crawl.json").read_text("utf-8")


def test_a_crawl_whose_file_is_gone_or_another_s_cannot_be_started(tmp_path: Path) -> None:
    begun(tmp_path / "harbour", id="harbour")
    with world(tmp_path) as made:
        for method, path, said in (("POST", "/start", None), ("PUT", "/limits", {"pages": 3})):
            reply = made.ask(method, f"/harbour{path}", said)
            assert (reply.status, "aah crawl FILE" in reply.json["detail"]) == (409, True), reply.body
        other = define(tmp_path / "there", ["http://a.test/"], id="harbour", output=str(tmp_path / "elsewhere"))
        note = {"file": str(other), "working_folder": str(tmp_path), "host": "x", "pid": os.getpid()}
        (made.folder / "started.json").write_text(json.dumps(note), "utf-8")
        assert "another crawl" in made.ask("POST", "/harbour/start").json["detail"]
        (made.folder / "started.json").write_text("{", "utf-8")
        assert made.ask("POST", "/harbour/start").status == 409
        assert made.ask("POST", "/harbour/stop").status == 409


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with EmbeddedServer(tmp_path_factory.mktemp("shared")) as server:
        yield server.url


def test_crawls_of_a_shared_server_are_submitted_redefined_ended_and_taken_up_again(
    tmp_path: Path, shared: str
) -> None:
    with world(tmp_path, shared=shared) as made:
        text = DEFINITION.format(url=made.site.url)
        assert made.ask("POST", "", {"definition": text}).status == 409
        created = made.ask("POST", "", {"definition": text, "start": True})
        assert (created.status, created.json["started"]["state"]) == (201, "submitted"), created.body
        registry = RedisRegistry(shared)
        assert registry.crawls()[0].state is CrawlState.ACTIVE
        assert made.ask("POST", "/harbour/start").status == 409
        assert made.done("PUT", "/limits", {"pages": 77})["applied"] is True
        assert b"pages: 77   # enough" in registry.definition("harbour")[1].text
        assert "all workers" in made.done("POST", "/stop")["detail"]
        (entry,) = registry.crawls()
        assert (entry.state, entry.reason) == (CrawlState.ENDED, "stopped by local")
        assert made.done("POST", "/start")["state"] == "submitted"
        (entry,) = registry.crawls()
        assert (entry.state, entry.number) == (CrawlState.ACTIVE, 1)
        registry.end("harbour", 1, "limits.pages reached")
        assert "aah submit" in made.ask("POST", "/harbour/start").json["detail"]
        assert made.done("GET", "/steering") == {"acts": [], "more": False, "kept": False}
        registry.close()

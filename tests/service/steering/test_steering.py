"""What operators do to a crawl whose frontier this process keeps: pauses, rules, scores, and what is noted of it."""

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from aahcrawler.frontier.protocol import Offer, State
from aahcrawler.frontier.redis.frontier import RedisFrontier
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Admission, Catalog, Crawl
from aahcrawler.service.steering.long_jobs import (
    KEPT_SECONDS,
    MAX_JOBS,
    UNDER_WAY,
    Jobs,
    JobState,
    JobView,
    Progress,
    Task,
)
from aahcrawler.service.steering.steering_log import note, read_acts
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.problems import ProblemError
from aahcrawler.service.web.roles import Caller, Named, Role, Tokens
from tests.crawl.crawling import PATIENCE, until
from tests.service.asking import JSON, Reply, Service, begun, running, serving

ANNA, BEN = "anna's-secret-0123456789", "ben's-secret-0123456789"


@dataclass(frozen=True, slots=True)
class Steered:
    """A service, the crawl that is steered, and its frontier."""

    service: Service
    folder: Path
    frontier: RedisFrontier

    def ask(self, method: str, path: str, said: object = None, token: str = ANNA) -> Reply:
        body = None if said is None else json.dumps(said).encode()
        headers = {"Authorization": f"Bearer {token}", "Content_Type": JSON}
        return self.service.ask(method, f"/v1/crawls/test{path}", body, **headers)

    def done(self, method: str, path: str, said: object = None) -> Any:
        reply = self.ask(method, path, said)
        assert reply.status in (200, 202), reply.body
        return reply.json

    def ended(self, job: Any) -> Any:
        while job["state"] in ("waiting", "running"):
            job = self.done("GET", f"/jobs/{job['id']}?wait=10")
        return job

    def offer(self, *urls: str, score: float = 0.5) -> None:
        self.frontier.offer([Offer(url, "a.test", score) for url in urls])

    def state(self, url: str) -> State | None:
        return self.frontier.state(url)


@contextmanager
def steering(folder: Path) -> Iterator[Steered]:
    """Keep the frontier of a crawl in a folder, and serve it."""
    icd = begun(folder)
    tokens = Tokens(
        [Named(ANNA, Caller("anna", frozenset(Role))), Named(BEN, Caller("ben", frozenset({Role.READ, Role.OPERATE})))]
    )
    with running(folder, icd) as frontier:
        settings = ServiceSettings(Catalog([folder]), tokens=tokens, rates=UNLIMITED)
        with serving(settings) as service:
            yield Steered(service, folder, frontier)


@pytest.fixture
def steered(tmp_path: Path) -> Iterator[Steered]:
    with steering(tmp_path) as steered:
        yield steered


@pytest.fixture(scope="module")
def standing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Steered]:
    """Serve a crawl that tests share which change nothing of it."""
    with steering(tmp_path_factory.mktemp("standing")) as steered:
        yield steered


# Pausing


def test_a_crawl_and_its_sites_are_paused_and_go_on(steered: Steered) -> None:
    steered.offer("http://a.test/1")
    assert steered.done("POST", "/pause")["paused"] is True
    assert steered.frontier.lease("w", 1) == ()
    assert steered.done("POST", "/resume")["paused"] is False
    shown = steered.done("POST", "/sites/pause", {"site": "www.a.test"})
    assert (shown["sites"], "all crawls" in shown["detail"]) == (["a.test"], True)
    assert steered.frontier.lease("w", 1) == ()
    assert steered.done("POST", "/sites/resume", {"site": "a.test"})["sites"] == []
    assert [lease.url for lease in steered.frontier.lease("w", 1)] == ["http://a.test/1"]


@pytest.mark.parametrize("site", ["a b", "http://a.test/", "x@a.test", "a.test/x", "?", "[::1", "a" * 300, "\x00"])
def test_what_is_no_site_is_refused(standing: Steered, site: str) -> None:
    reply = standing.ask("POST", "/sites/pause", {"site": site})
    assert (reply.status, reply.json["type"]) == (422, "urn:aahcrawler:problem:invalid-site")


# Rules


def test_rules_are_previewed_put_in_force_and_taken_back(steered: Steered) -> None:
    indexes = steered.folder / "indexes"
    indexes.mkdir()
    line = 'test,a)/ads/{0} 20260101000000 {{"url": "http://a.test/ads/{0}", "filename": "x"}}\n'
    (indexes / "index.cdxj").write_text("".join(line.format(n) for n in (1, 2, 2)) + "damaged\n", "utf-8")
    (indexes / "y.warc.gz.lines").write_text(line.format(3), "utf-8")
    steered.offer(*(f"http://a.test/ads/q{n}" for n in range(12)))
    steered.offer("http://a.test/ads/best", score=0.9)
    steered.offer("http://a.test/page")
    rules = {"rules": [{"kind": "prefix", "text": "http://a.test/ads/"}]}
    job = steered.ended(steered.done("POST", "/exclusions/preview", rules))
    found = job["result"]
    assert (job["state"], job["done"], job["total"]) == ("done", 18, 18)
    assert (found["queued"]["number"], len(found["queued"]["examples"])) == (13, 10)
    assert found["queued"]["examples"][0] == "http://a.test/ads/best"
    assert found["fetched"] == {"number": 3, "examples": [f"http://a.test/ads/{n}" for n in (1, 2, 3)]}
    assert steered.state("http://a.test/ads/q1") is State.QUEUED, "a preview changes nothing"

    assert steered.done("POST", "/exclusions", rules)["blocked"] == 13
    assert steered.state("http://a.test/ads/q1") is State.BLOCKED
    assert [rule["reason"] for rule in steered.done("GET", "/exclusions")["rules"]] == ["prefix http://a.test/ads/"]
    again = steered.ended(steered.done("POST", "/exclusions/preview", rules))["result"]
    assert (again["queued"]["number"], again["blocked"]["number"]) == (0, 13)
    again = steered.done("POST", "/exclusions", rules)
    assert (again["blocked"], len(again["known"])) == (0, 1)

    back = steered.done("DELETE", "/exclusions?kind=prefix&text=http://a.test/ads/")
    assert back["returned"] == 13
    (best,) = steered.frontier.iterate(1)
    assert (best.url, best.score) == ("http://a.test/ads/best", 0.9)
    reply = steered.ask("DELETE", "/exclusions?kind=prefix&text=http://a.test/ads/")
    assert (reply.status, reply.json["type"]) == (404, "urn:aahcrawler:problem:no-such-rule")


@pytest.mark.parametrize(
    ("kind", "text"),
    [("url", "mailto:x"), ("prefix", "ads"), ("host", "a b"), ("pattern", "***"), ("pattern", "host:a.test")],
)
def test_what_names_no_urls_is_no_rule(standing: Steered, kind: str, text: str) -> None:
    for path in ("/exclusions", "/exclusions/preview"):
        reply = standing.ask("POST", path, {"rules": [{"kind": kind, "text": text}]})
        assert (reply.status, reply.json["type"]) == (422, "urn:aahcrawler:problem:invalid-rule")


def test_a_rule_of_a_url_is_in_its_canonical_form(steered: Steered) -> None:
    steered.offer("http://a.test/x")
    (rule,) = steered.done("POST", "/exclusions", {"rules": [{"kind": "url", "text": "HTTP://A.test:80/x#y"}]})["rules"]
    assert rule["text"] == "http://a.test/x"
    assert steered.state("http://a.test/x") is State.BLOCKED


# Single URLs


def test_a_score_is_set_whatever_it_was(steered: Steered) -> None:
    steered.offer("http://a.test/x", score=0.9)
    shown = steered.done("POST", "/rescore", {"url": "http://a.test/x", "score": 0.1})
    assert (shown["changed"], shown["score"]) == (True, 0.1)
    steered.offer("http://a.test/x", score=0.4)
    assert steered.done("POST", "/rescore", {"url": "http://a.test/x", "score": 0.3})["score"] == 0.3
    steered.service.post({"url": "http://a.test/x", "score": 0.8}, Authorization=f"Bearer {ANNA}")
    kept = steered.done("POST", "/rescore", {"url": "http://a.test/x", "score": 0.2})
    assert (kept["score"], "outside" in kept["detail"]) == (0.8, True), "what was posted is not lowered under `max`"
    assert steered.ask("POST", "/rescore", {"url": "http://a.test/never", "score": 0.2}).status == 404
    (lease,) = steered.frontier.lease("w", 1)
    steered.frontier.finish(lease, State.DONE)
    over = steered.done("POST", "/rescore", {"url": "http://a.test/x", "score": 0.2})
    assert (over["changed"], over["state"]) == (False, "done")


def test_a_url_is_fetched_now_and_again(steered: Steered) -> None:
    steered.offer("http://a.test/best", score=1.0)
    steered.offer("http://a.test/low", score=0.1)
    assert steered.done("POST", "/fetch-now", {"url": "http://a.test/low"})["immediate"] is True
    assert steered.done("POST", "/fetch-now", {"url": "http://a.test/new"})["changed"] is True
    (lease,) = steered.frontier.lease("w", 1)
    assert lease.url == "http://a.test/new"
    steered.frontier.finish(lease, State.DONE)
    told = steered.done("POST", "/fetch-now", {"url": "http://a.test/new"})
    assert (told["changed"], "revisit" in told["detail"]) == (False, True)
    due = steered.done("POST", "/revisit", {"url": "http://a.test/new", "seconds": 3600})
    assert (due["changed"], due["state"]) == (True, "due")
    assert steered.done("POST", "/revisit", {"url": "http://a.test/low"})["changed"] is False
    refused = steered.ask("POST", "/fetch-now", {"url": "http://b.test/"})
    assert (refused.status, "other_site" in refused.json["detail"]) == (409, True)


def test_a_url_is_let_go_unless_something_wider_keeps_it(steered: Steered) -> None:
    steered.offer("http://a.test/x", "http://a.test/ads/y", score=0.6)
    steered.done("POST", "/exclusions", {"rules": [{"kind": "url", "text": "http://a.test/x"}]})
    let_go = steered.done("POST", "/unblock", {"url": "http://a.test/x"})
    assert (let_go["changed"], let_go["state"], let_go["score"]) == (True, "queued", 0.6)
    steered.done("POST", "/exclusions", {"rules": [{"kind": "pattern", "text": "/ads/"}]})
    kept = steered.done("POST", "/unblock", {"url": "http://a.test/ads/y"})
    assert (kept["changed"], kept["state"], "'pattern /ads/'" in kept["detail"]) == (False, "blocked", True)


@pytest.mark.parametrize(
    ("scope", "url", "reason"),
    [
        ({}, "http://b.test/x", "other_site"),
        ({"sites": "anywhere", "allow": ["*://a.test/*"]}, "http://b.test/x?q=1", "not_allowed"),
        ({"allow": ["*://a.test/", "*://a.test/in/*"]}, "http://a.test/out", "not_allowed"),
        ({"allow": ["*://a.test/"]}, "http://b.test/x", "other_site"),
    ],
)
def test_what_would_let_a_url_in_lets_it_in_and_no_other(
    tmp_path: Path, scope: dict[str, Any], url: str, reason: str
) -> None:
    icd = begun(tmp_path, scope=scope)
    with serving(ServiceSettings(Catalog([tmp_path]))) as service:
        told = service.get(f"/v1/crawls/test/admission?url={url}").json
        assert (told["admitted"], told["reason"]) == (False, reason)
    changed = begun(
        tmp_path / "changed", scope={**scope, **{k.removeprefix("scope."): v for k, v in told["changes"].items()}}
    )
    then = Admission(changed)

    def refused(text: str, by: Admission) -> str | None:
        target = by.target(text)
        assert not isinstance(target, str)
        return by.refusal(target)

    assert refused(url, then) is None
    for other in ("http://a.test/", "http://a.test/in/1", "http://b.test/y", f"{url}2", "http://c.test/"):
        assert (refused(other, then) is None) == (refused(other, Admission(icd)) is None)


@pytest.mark.parametrize(
    ("scope", "words"), [({"deny": ["/x"]}, "scope.deny"), ({"rules": [{"refuse": {"url": "/x"}}]}, "'rule 1'")]
)
def test_what_no_wider_scope_lets_in_is_told(tmp_path: Path, scope: dict[str, Any], words: str) -> None:
    begun(tmp_path, scope=scope)
    with serving(ServiceSettings(Catalog([tmp_path]))) as service:
        told = service.get("/v1/crawls/test/admission?url=http://a.test/x").json
    assert (told["admitted"], told["changes"], words in told["detail"]) == (False, {}, True)


# What is noted


def test_all_that_is_done_is_noted_with_when_who_what_and_its_effect(steered: Steered) -> None:
    steered.offer("http://a.test/x")
    steered.done("POST", "/pause")
    steered.ask("POST", "/exclusions", {"rules": [{"kind": "host", "text": "A.test"}]}, token=BEN)
    steered.ask("POST", "/rescore", {"url": "mailto:x", "score": 0.1})
    told = steered.done("GET", "/steering")
    assert [(act["by"], act["act"]) for act in told["acts"]] == [("ben", "exclude"), ("anna", "pause")]
    assert told["acts"][0]["arguments"] == {"rules": ["host a.test"]}
    assert told["acts"][0]["effect"] == {"blocked": 1}
    assert told["acts"][0]["at"].startswith("20")
    assert (told["more"], told["kept"]) == (False, True)
    assert steered.done("GET", "/steering?number=1")["more"] is True
    kept = (steered.folder / "steering.jsonl").read_text("utf-8").splitlines()
    assert [json.loads(line)["act"] for line in kept] == ["pause", "exclude"]


def crawl_in(folder: Path) -> Crawl:
    (crawl,) = Catalog([folder]).crawls()
    return crawl


def test_long_notes_are_read_back_from_their_end_and_damage_is_passed_over(tmp_path: Path) -> None:
    begun(tmp_path)
    crawl = crawl_in(tmp_path)
    for n in range(300):
        note(crawl, "anna", f"act-{n}", {"text": "ü" * 500, "long": "x" * 100_000 if n == 299 else n})
    with (tmp_path / "steering.jsonl").open("ab") as file:
        file.write(b'torn {"at"')
    acts = read_acts(crawl, 200)
    assert [act.act for act in acts.acts] == [f"act-{n}" for n in range(299, 99, -1)]
    assert acts.more
    assert len(str(acts.acts[0].arguments["long"])) < 20_000


def test_what_cannot_be_noted_was_done_all_the_same_and_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    begun(tmp_path)
    crawl = crawl_in(tmp_path)
    (tmp_path / "steering.jsonl").symlink_to(tmp_path / "elsewhere")
    note(crawl, "anna", "pause", {})
    assert not (tmp_path / "elsewhere").exists()
    assert "done all the same" in caplog.text
    with caplog.at_level(logging.INFO):
        note(Crawl(None, crawl.icd, crawl.admission, 1), "anna", "resume", {})
    assert '"act": "resume"' in caplog.text
    assert read_acts(Crawl(None, crawl.icd, crawl.admission, 1)).kept is False


# Jobs


def test_jobs_wait_are_cancelled_and_are_forgotten(caplog: pytest.LogCaptureFixture) -> None:
    now, go = [0.0], threading.Event()
    jobs = Jobs(lambda: now[0])

    def endless(progress: Progress) -> JobView:
        while True:
            progress.advance()
            go.wait(0.001)

    def failing(_: Progress) -> JobView:
        raise ValueError("a defect")

    task = Task("test", "crawl", "anna")
    running_jobs = [jobs.begin(task, endless) for _ in range(2)]
    waiting = jobs.begin(task, failing)
    assert jobs.job("crawl", waiting.id).state is JobState.WAITING
    assert jobs.job("crawl", running_jobs[0].id).state is JobState.RUNNING
    with pytest.raises(ProblemError, match="no such job"):
        jobs.job("another", waiting.id)
    assert jobs.cancel("crawl", running_jobs[0].id).state is JobState.CANCELLED
    until(lambda: jobs.job("crawl", waiting.id).state not in UNDER_WAY)
    ended = jobs.job("crawl", waiting.id)
    assert (ended.state, ended.detail) == (JobState.FAILED, "a defect; the service's log says more")
    assert "a defect" in caplog.text
    now[0] = KEPT_SECONDS + 1
    with pytest.raises(ProblemError, match="10 minutes"):
        jobs.job("crawl", waiting.id)
    for _ in range(MAX_JOBS - 1):
        jobs.begin(task, endless)
    with pytest.raises(ProblemError, match="under way"):
        jobs.begin(task, endless)
    began = time.monotonic()
    jobs.close()
    assert time.monotonic() - began < PATIENCE


def test_jobs_that_ended_first_give_way_to_others() -> None:
    now, task = [0.0], Task("test", "crawl", "anna")
    jobs = Jobs(lambda: now[0])
    begun = []
    for _ in range(MAX_JOBS + 2):
        now[0] += 1.0
        begun.append(jobs.begin(task, lambda _: JobView.model_construct()).id)
        jobs.wait("crawl", begun[-1], PATIENCE)
    for name in begun[:2]:
        with pytest.raises(ProblemError, match="no such job"):
            jobs.job("crawl", name)
    assert all(jobs.job("crawl", name).state is JobState.DONE for name in begun[2:])
    jobs.close()


def test_two_operators_at_once_do_not_undo_one_another(steered: Steered) -> None:
    steered.offer(*(f"http://a.test/{n}" for n in range(50)))
    texts = [[f"http://a.test/{n}" for n in range(begin, 50, 2)] for begin in (0, 1)]

    def work(token: str, mine: list[str]) -> None:
        for text in mine:
            assert steered.ask("POST", "/exclusions", {"rules": [{"kind": "url", "text": text}]}, token).status == 200

    threads = [threading.Thread(target=work, args=pair) for pair in zip((ANNA, BEN), texts, strict=True)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert steered.frontier.counts().pages[State.BLOCKED] == 50
    acts = steered.done("GET", "/steering")["acts"]
    assert sorted(act["by"] for act in acts) == ["anna"] * 25 + ["ben"] * 25

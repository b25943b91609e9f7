"""The log of a service: every act is in it before it is done, and with its outcome; lines stay whole."""

import json
import os
import stat
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.layout import POSTED, SERVICE_LOG, STEERING
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.web.entrance import UNLIMITED
from aahcrawler.service.web.noted_acts import (
    MAX_DETAIL_LENGTH,
    MAX_FORMER,
    MAX_REFUSALS,
    Damage,
    NotNotedError,
    ServiceLog,
    read_entries,
)
from aahcrawler.service.web.roles import Caller, Named, Role, Tokens
from tests.crawl.crawling import until
from tests.forking import forked
from tests.service.asking import JSON, Service, begun, running, serving

READER, OPERATOR = "the-secret-of-anna-012345", "the-secret-of-bert-012345"
TOKENS = Tokens(
    (
        Named(READER, Caller("anna", frozenset({Role.READ}))),
        Named(OPERATOR, Caller("bert", frozenset({Role.READ, Role.OPERATE, Role.SCORE}))),
    )
)
Entries = list[Mapping[str, Any]]


def settings(place: Path, log: Path | None = None) -> ServiceSettings:
    noted = ServiceLog(log or place / SERVICE_LOG)
    return ServiceSettings(Catalog([place]), tokens=TOKENS, rates=UNLIMITED, log=noted)


def entries(place: Path) -> Entries:
    found = list(read_entries(place))
    assert not [each for each in found if isinstance(each, Damage)]
    return [each for each in found if not isinstance(each, Damage)]


def ask(service: Service, token: str, method: str, path: str, said: object = None) -> int:
    body = None if said is None else json.dumps(said).encode()
    return service.ask(method, path, body, Authorization=f"Bearer {token}", Content_Type=JSON).status


def test_an_act_is_noted_before_it_is_done_and_with_its_outcome(tmp_path: Path) -> None:
    icd = begun(tmp_path / "crawls" / "test")
    place = tmp_path / "crawls"
    with running(place / "test", icd), serving(settings(place)) as service:
        assert ask(service, OPERATOR, "POST", "/v1/crawls/test/sites/pause", {"site": "a.test"}) == 200
    asked, done = entries(place)
    assert (asked["outcome"], done["outcome"]) == ("asked", "done")
    for each in (asked, done):
        assert (each["by"], each["client"], each["through"]) == ("bert", "127.0.0.1", "service")
        assert each["roles"] == ["operate", "read", "score"]
        assert (each["act"], each["object"]) == ("POST", "/v1/crawls/test/sites/pause")
        assert datetime.fromisoformat(each["at"]).utcoffset() == timedelta(0)
    assert asked["id"] == done["id"]
    assert (done["did"], done["status"]) == (["pause_site test"], 200)


def test_creating_a_crawl_names_it(tmp_path: Path) -> None:
    with serving(settings(tmp_path)) as service:
        text = "id: made\ncontact: a@b.example\nseeds: [http://b.example/]\ntopic: {keywords: [flood]}\n"
        assert ask(service, OPERATOR, "POST", "/v1/crawls", {"definition": text}) == 201
    assert entries(tmp_path)[-1]["did"] == ["create made"]


def test_refused_acts_are_noted_with_who_was_refused_and_why(tmp_path: Path) -> None:
    begun(tmp_path / "test")
    with serving(settings(tmp_path)) as service:
        assert ask(service, READER, "POST", "/v1/crawls/test/pause") == 403
        assert ask(service, f"{OPERATOR}x", "POST", "/v1/crawls/test/pause") == 401
        assert ask(service, f"{OPERATOR}x", "GET", "/v1/crawls") == 401
        assert service.ask("POST", "/v1/crawls/test/pause", b"", Origin="http://other.example").status == 403
    asked, lacking, unknown, looking, elsewhere = entries(tmp_path)
    assert (asked["outcome"], lacking["outcome"], lacking["by"]) == ("asked", "refused", "anna")
    assert "`operate`" in lacking["detail"]
    assert [("by" in each, each["outcome"], each["status"]) for each in (unknown, looking, elsewhere)] == [
        (False, "refused", 401),
        (False, "refused", 401),
        (False, "refused", 403),
    ]
    assert "Bearer" in unknown["detail"]
    assert OPERATOR not in (tmp_path / SERVICE_LOG).read_text()


def test_the_file_is_its_owners_alone_and_holds_no_token(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with serving(settings(tmp_path)) as service:
            ask(service, READER, "GET", "/v1/crawls")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / SERVICE_LOG).stat().st_mode) == 0o600
    assert READER not in (tmp_path / SERVICE_LOG).read_text()


def test_who_reads_and_who_posts_is_noted_once_a_day(tmp_path: Path) -> None:
    icd = begun(tmp_path / "test")
    with running(tmp_path / "test", icd), serving(settings(tmp_path)) as service:
        for _ in range(3):
            assert ask(service, READER, "GET", "/v1/crawls") == 200
            assert ask(service, OPERATOR, "POST", "/v1/crawls/test/urls", {"url": "http://a.test/x", "score": 1}) == 200
    used = [(each["by"], each["act"], each["outcome"]) for each in entries(tmp_path)]
    assert used == [("anna", "GET", "used"), ("bert", "POST", "used")]
    posted = [json.loads(line) for line in (tmp_path / "test" / POSTED).read_text().splitlines()]
    assert [each["by"] for each in posted] == ["bert"]


def test_what_cannot_be_noted_is_not_done(tmp_path: Path) -> None:
    icd = begun(tmp_path / "test")
    log = tmp_path / "log"
    with running(tmp_path / "test", icd), serving(settings(tmp_path, log)) as service:
        log.mkdir()  # Nothing can be written there, whoever runs the tests.
        reply = service.ask("POST", "/v1/crawls/test/pause", b"", Authorization=f"Bearer {OPERATOR}", Content_Type=JSON)
        assert (reply.status, reply.json["type"]) == (503, "urn:aahcrawler:problem:not-noted")
        assert str(log) in reply.json["detail"]
        assert not (tmp_path / "test" / STEERING).exists()
        assert ask(service, OPERATOR, "GET", "/v1/crawls/test/steering") == 200, "looking goes on"
        log.rmdir()
        assert ask(service, OPERATOR, "POST", "/v1/crawls/test/pause") == 200
    (done,) = (tmp_path / "test" / STEERING).read_text().splitlines()
    assert json.loads(done)["effect"] == {"was_paused": False, "paused": True}


def test_refused_strangers_fill_no_disk(tmp_path: Path) -> None:
    with serving(settings(tmp_path)) as service:
        with ThreadPoolExecutor(8) as threads:
            asked = [threads.submit(ask, service, "x" * 5000, "POST", f"/v1/{'y' * 9000}") for _ in range(300)]
        assert {each.result() for each in asked} == {401}
    found = entries(tmp_path)
    assert MAX_REFUSALS <= len(found) <= 2 * MAX_REFUSALS + 1, "a minute may end meanwhile"
    assert max(len(each["object"]) for each in found) <= MAX_DETAIL_LENGTH + 1


KILLED = """
import sys, threading
from pathlib import Path
from aahcrawler.service.web.noted_acts import ServiceLog
log = ServiceLog(Path(sys.argv[1]))
print("ready", flush=True)
def write():
    for number in range(10**6):
        log.note({"by": "x" * 3000, "number": number})
for _ in range(3):
    threading.Thread(target=write, daemon=True).start()
threading.Event().wait()
"""


def grown(path: Path, size: int) -> bool:
    return path.exists() and path.stat().st_size > size


def test_a_killed_process_tears_at_most_the_line_that_it_was_writing(tmp_path: Path) -> None:
    path = tmp_path / SERVICE_LOG
    for _ in range(3):
        with forked(KILLED, path) as one, forked(KILLED, path) as other:
            size = path.stat().st_size if path.exists() else 0
            for process in (one, other):
                assert process.stdout.readline() == "ready\n"
            until(partial(grown, path, size + 20_000))
            for process in (one, other):
                process.kill()
    found = list(read_entries(tmp_path))
    whole = [each for each in found if not isinstance(each, Damage)]
    assert all(isinstance(by := each["by"], str) and len(by) == 3000 for each in whole)
    # The system may end a write between two pages of the file when it kills the process.
    assert len(found) - len(whole) <= 6, "two processes were killed, three times"
    assert len(whole) > 15


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    log = ServiceLog(tmp_path / SERVICE_LOG)
    log.note({"by": "anna"})
    whole = (tmp_path / SERVICE_LOG).read_bytes()
    (tmp_path / SERVICE_LOG).write_bytes(whole + whole[:-9])
    log.note({"by": "bert"})
    first, torn, last = read_entries(tmp_path)
    assert torn == Damage(tmp_path / SERVICE_LOG, 2)
    assert not isinstance(first, Damage)
    assert not isinstance(last, Damage)
    assert (first["by"], last["by"]) == ("anna", "bert")


def test_it_stays_within_its_bounds_and_says_what_was_removed(tmp_path: Path) -> None:
    moments = count()
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    log = ServiceLog(tmp_path / SERVICE_LOG, lambda: begin + timedelta(seconds=next(moments)), largest=2000)

    def write() -> None:
        for number in range(150):
            log.note({"by": "y" * 400, "number": number})

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = sorted(tmp_path.iterdir())
    assert len(files) == MAX_FORMER + 1
    assert all(file.stat().st_size < 3000 for file in files)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    found = entries(tmp_path)
    removed = [each for each in found if each.get("act") == "remove"]
    assert removed
    assert not any((tmp_path / each["object"]).exists() for each in removed)
    assert [each["at"] for each in found] == sorted(each["at"] for each in found)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text("mine\n")
    (tmp_path / SERVICE_LOG).symlink_to(other)
    with pytest.raises(NotNotedError):
        ServiceLog(tmp_path / SERVICE_LOG).note({"by": "anna"})
    assert other.read_text() == "mine\n"


def test_it_is_handed_over_by_a_command(tmp_path: Path) -> None:
    moments = iter(datetime(2026, 3, day, 12, tzinfo=UTC) for day in (1, 2, 3))
    log = ServiceLog(tmp_path / SERVICE_LOG, lambda: next(moments))
    for who in ("anna", "bert", "anna"):
        log.note({"by": who, "outcome": "done", "act": "POST", "object": "/v1/crawls/flood/pause"})
    with (tmp_path / SERVICE_LOG).open("a") as file:
        file.write("[[[\n")

    def told(*options: str) -> list[str]:
        result = CliRunner().invoke(app, ["service-log", str(tmp_path), *options])
        assert result.exit_code == 0, result.output
        assert "line 4: no entry" in result.stderr
        return result.stdout.splitlines()

    assert [json.loads(line)["by"] for line in told()] == ["anna", "bert", "anna"]
    assert [json.loads(line)["at"][:10] for line in told("--by", "anna", "--since", "2026-03-02")] == ["2026-03-03"]
    assert len(told("--until", "2026-03-02T12:00")) == 1
    assert told("--text", "--by", "bert") == [
        "2026-03-02T12:00:00.000+00:00 bert - done: POST /v1/crawls/flood/pause",
    ]
    missing = CliRunner().invoke(app, ["service-log", str(tmp_path / "none")])
    assert missing.exit_code == 2
    assert str(tmp_path / "none") in missing.stderr

"""Units that watch sites together: services in this process, of which one dies, lies, or is not to be asked."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from filelock import BaseFileLock, FileLock
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.rhythms import Due, Past, Turn
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.unit_client import UnitClient, UnitError, asked_together
from aahcrawler.schedule.unit_sharing import Heard, HeardUnit, Sharing, UnitWatch, heard_from
from aahcrawler.schedule.units_file import Units
from aahcrawler.schedule.visit_log import Found, Outcome, VisitLog, Wish
from aahcrawler.service.api.app import ServiceSettings
from aahcrawler.service.catalog.crawl_catalog import Catalog
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.instruments import Instruments
from aahcrawler.service.web.roles import Caller, Named, Role, Tokens
from aahcrawler.service_client import ServiceClient, ServiceError
from online_analysis.icd import IcdError
from tests.crawl.site import Reply, Site
from tests.crawl.site import serving as site_serving
from tests.service.asking import serving
from tests.service.views.test_held_sites import indexed

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
CRAWLS = [f"crawl{number}" for number in range(12)]
TOKEN = "the-token-of-another-unit"  # noqa: S105


@dataclass
class Installation:
    """A unit: a folder with a schedule, and a service that can be ended."""

    name: str
    place: Path
    ending: ExitStack = field(default_factory=ExitStack)
    port: int = 0
    run: BaseFileLock = field(init=False)

    def __post_init__(self) -> None:
        (self.place / "crawls").mkdir(parents=True)
        for name in CRAWLS:
            icd = f"id: {name}\ncontact: a@b.test\nseeds: ['http://www.{name}.example/']\ntopic: {{keywords: [sea]}}\n"
            (self.place / f"{name}.yaml").write_text(icd, "utf-8")
        lines = [f"  {name}: {{definition: {name}.yaml, every: 6 h}}" for name in CRAWLS]
        self.file.write_text("\n".join(["parallel: 4", "crawls:", *lines]), "utf-8")
        catalog = Catalog([self.place / "crawls"])
        tokens = Tokens([Named(TOKEN, Caller("others", frozenset({Role.READ})))])
        instruments = Instruments.of(CrawlRegistry.of(catalog, None), schedule=self.file)
        service = serving(ServiceSettings(catalog, tokens=tokens), instruments=instruments)
        self.port = self.ending.enter_context(service).port
        self.run = FileLock(self.place / ".schedule.yaml.lock")
        self.run.acquire()
        self.ending.callback(self.run.release)

    @property
    def file(self) -> Path:
        return self.place / "schedule.yaml"

    @property
    def schedule(self) -> Schedule:
        return Schedule.load(self.file)

    def visit(self, name: str, at: datetime) -> None:
        with VisitLog.opened(self.file.with_suffix(".sqlite")) as log:
            visit = log.begin(name, Due(at), at, self.place, "")
            log.end(visit.number, at + timedelta(minutes=10), Outcome.ENDED, "", Found(2, pages=9))

    def know(self, others: "dict[str, Installation]", **more: Any) -> Units:
        units = {
            name: {"url": f"http://127.0.0.1:{each.port}", "token": {"env": "UNIT_TOKEN"}}
            for name, each in others.items()
        }
        text = json.dumps({"name": self.name, "allow_private": True, "units": units, **more})
        (self.place / "schedule-units.yaml").write_text(text, "utf-8")
        return Units.load(self.place / "schedule-units.yaml")


@pytest.fixture
def installations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Installation]]:
    monkeypatch.setenv("UNIT_TOKEN", TOKEN)
    made = {name: Installation(name, tmp_path / name) for name in ("north", "south", "west")}
    try:
        yield made
    finally:
        for each in made.values():
            each.ending.close()


def entries(installation: Installation) -> list[tuple[str, Entry]]:
    return list(installation.schedule.crawls.items())


def test_every_crawl_has_two_units_that_take_turns_and_one_that_dies_is_replaced_by_the_other(
    installations: dict[str, Installation], tmp_path: Path
) -> None:
    lists = {name: each.know(installations) for name, each in installations.items()}
    sharings = {
        name: Sharing(units, CrawlFolders(installations[name].place), heard_from(units, Heard(), NOW))
        for name, units in lists.items()
    }
    turns: dict[str, dict[str, Turn]] = {}
    for unit, sharing in sharings.items():
        for name, entry in entries(installations[unit]):
            part = sharing.part(name, entry)
            assert not part.instead
            if part.turn is not None:
                turns.setdefault(name, {})[unit] = part.turn
    assert len(turns) == len(CRAWLS)
    assert all(
        sorted(each.values(), key=lambda turn: turn.number) == [Turn(0, 2), Turn(1, 2)] for each in turns.values()
    )
    assert {unit for each in turns.values() for unit in each} == set(installations)

    installations["south"].ending.close()
    lost = {name for name, each in turns.items() if "south" in each}
    taken: set[str] = set()
    logs = {unit: VisitLog(installations[unit].file.with_suffix(".sqlite")) for unit in ("north", "west")}
    for unit in ("north", "west"):
        folders = CrawlFolders(installations[unit].place)
        watch = UnitWatch(tmp_path / f"{unit}.json", folders)
        watch.follow(lists[unit])
        crawls = installations[unit].schedule.crawls
        told: list[str] = []
        for minutes in (0, 20, 40, 61, 80):
            now = NOW + timedelta(minutes=minutes)
            watch.ask(now)
            watch.wait()
            told += watch.take(crawls, logs[unit]) or ()
            assert bool(told) == (minutes > 60), "an hour of silence is waited for"
        assert watch.sharing is not None
        (why, names), *_ = watch.sharing.taken_over(crawls.items()).items()
        assert why == "south has not answered since 2026-03-02 12:00 UTC"
        assert len(told) == 1
        assert f"{len(names)} crawls are visited here in its place" in told[0]
        assert Heard.load(tmp_path / f"{unit}.json") == watch.sharing.heard
        taken |= set(names)
        # Whoever begins anew with what was kept goes on with it.
        again = UnitWatch(tmp_path / f"{unit}.json", folders)
        again.follow(lists[unit])
        assert again.sharing is not None
        assert again.sharing.taken_over(crawls.items()) == {why: names}
        for name in names:
            assert watch.rhythm(name, crawls[name]).interval(Past(NOW)) == 6 * HOUR
    assert taken == lost


def test_visits_that_two_units_made_while_they_did_not_hear_each_other_are_named(
    installations: dict[str, Installation],
) -> None:
    north, south = installations["north"], installations["south"]
    units = north.know({"north": north, "south": south})
    south.visit("crawl3", NOW - 2 * HOUR + timedelta(minutes=3))
    south.visit("crawl4", NOW - 20 * HOUR)
    for name in ("crawl3", "crawl4"):
        north.visit(name, NOW - 2 * HOUR)
    silent = Heard(units={"south": HeardUnit(asked_at=NOW, failing_since=NOW - 5 * HOUR)})
    assert heard_from(units, Heard(), NOW).units["south"].unheard == ()
    silent.save(north.place / "schedule-units.json")
    watch = UnitWatch(north.place / "schedule-units.json", CrawlFolders(north.place))
    watch.follow(units)
    watch.ask(NOW + HOUR)
    watch.wait()
    with VisitLog.opened(north.file.with_suffix(".sqlite")) as log:
        told = list(watch.take(north.schedule.crawls, log) or ())
        assert watch.sharing is not None
        assert [each.name for each in watch.sharing.heard.units["south"].unheard] == ["crawl3"]
        assert watch.sharing.made_twice(log, north.schedule.crawls) == {"crawl3": 1}
    assert told[-1].startswith("visits that another unit made as well while it could not be heard: crawl3 (1); ")
    said = "south made it as well, at 2026-03-02 10:03:00 UTC, while it could not be heard"

    def output(*arguments: str) -> str:
        return CliRunner().invoke(app, ["schedule", *arguments, "--file", str(north.file)]).output

    assert f"visit 1 of crawl3: {said}" in output("log")
    assert output("log").count("as well") == 1
    assert f"crawl3: its last visit: {said}" in output("list")
    assert json.loads(output("log", "crawl3", "--json"))[0]["beside"] == said
    # Others do not count it again when it is told once more.
    watch.ask(NOW + 2 * HOUR)
    watch.wait()
    with VisitLog.opened(north.file.with_suffix(".sqlite")) as log:
        assert not list(watch.take(north.schedule.crawls, log) or ())


def no_past() -> Any:
    from aahcrawler.schedule.rhythms import Past

    return Past(NOW)


def test_a_unit_that_says_it_does_not_visit_is_replaced_and_one_that_was_asleep_blames_nobody(
    installations: dict[str, Installation],
) -> None:
    north, south = installations["north"], installations["south"]
    both = {"north": north, "south": south}
    units = north.know(both)
    south.visit("crawl3", NOW - HOUR)
    south.visit("crawl4", datetime(2096, 1, 1, tzinfo=UTC))
    with VisitLog.opened(south.file.with_suffix(".sqlite")) as log:
        log.wish(Wish.PAUSE, "crawl5", NOW)
    heard = heard_from(units, Heard(), NOW)
    crawls = heard.units["south"].crawls
    assert crawls["crawl3"].begun_at == NOW - HOUR
    assert crawls["crawl3"].seconds == 600
    assert crawls["crawl4"].begun_at == NOW, "no clock of another unit is believed"
    sharing = Sharing(units, CrawlFolders(north.place), heard)
    assert sharing.taken_over(entries(north)) == {"south does not visit it, as it tells": ["crawl5"]}
    south.ending.close()
    after_sleep = heard_from(units, heard, NOW + 100 * HOUR)
    assert not after_sleep.units["south"].is_silent(HOUR), "it was asked once since"
    assert after_sleep.units["south"].crawls == crawls
    later = heard_from(units, after_sleep, NOW + 101 * HOUR)
    assert later.units["south"].is_silent(HOUR)
    assert len(Sharing(units, CrawlFolders(north.place), later).taken_over(entries(north))) == 1


def test_a_unit_that_answers_and_has_no_run_is_replaced_until_somebody_runs_it(
    installations: dict[str, Installation], tmp_path: Path
) -> None:
    north, south = installations["north"], installations["south"]
    watch = UnitWatch(tmp_path / "heard.json", CrawlFolders(north.place))
    watch.follow(north.know({"north": north, "south": south}))
    crawls, told = north.schedule.crawls, list[str]()
    log = VisitLog(north.file.with_suffix(".sqlite"))

    def hear(*minutes: int) -> None:
        for minute in minutes:
            watch.ask(NOW + timedelta(minutes=minute))
            watch.wait()
            told.extend(watch.take(crawls, log, {"crawl1"}) or ())

    hear(0)
    south.run.release()
    hear(20, 40, 75)
    assert not told
    hear(*range(81, 1000, 60))
    (first,) = told
    assert first.startswith("nobody runs aah schedule run at south since 2026-03-02 12:20 UTC: 11 crawls are visited")
    assert first.endswith("1 crawl is paused here")
    south.run.acquire()
    hear(1080)
    (second,) = told[1:]
    assert second.startswith("no longer: nobody runs aah schedule run at south")
    assert second.endswith("; 12 crawls are visited in turn again")


def test_weights_of_the_list_and_capacities_are_not_mixed(installations: dict[str, Installation]) -> None:
    north, south = installations["north"], installations["south"]
    north.know({"north": north, "south": south})
    south.ending.close()
    told = CliRunner().invoke(app, ["schedule", "divide", "--file", str(north.file)])
    assert told.exit_code == 2
    assert "nobody knows how many crawls run at once at south: the division stays as it is" in told.stdout
    assert "weight:" not in told.stdout


def test_commands_tell_what_units_could_do_and_propose_a_division(installations: dict[str, Installation]) -> None:
    north, south = installations["north"], installations["south"]
    north.know({"north": north, "south": south})
    south.know({"north": north, "south": south})
    for name in CRAWLS[:6]:
        north.visit(name, datetime.now(UTC) - HOUR)
    run = CliRunner().invoke
    shown = run(app, ["schedule", "units", "--file", str(north.file), "--json"])
    assert shown.exit_code == 0, shown.output
    rows = {each["unit"]: each for each in json.loads(shown.stdout)}
    assert rows["north"]["state"] == "this one"
    assert (rows["north"]["parallel"], rows["north"]["crawls"]) == (4, 12)
    assert (rows["south"]["state"], rows["south"]["parallel"], rows["south"]["crawls"]) == ("answers", 4, 12)
    proposal = json.loads(run(app, ["schedule", "divide", "--file", str(north.file), "--json"]).stdout)
    placed = {each["name"]: each for each in proposal["crawls"]}
    assert all(set(each["units"]) == {"north", "south"} for each in placed.values())
    assert placed["crawl0"]["held_by"] == ["north"]
    assert placed["crawl0"]["moves_to"] == ["south"]
    assert placed["crawl0"]["seconds"] == 600
    assert placed["crawl0"]["site"] == "crawl0.example"
    told = run(app, ["schedule", "divide", "--file", str(north.file)]).stdout
    assert "units.south.weight: 4" in told
    assert "12 crawls" in told
    listed = run(app, ["schedule", "list", "--file", str(north.file)])
    assert listed.exit_code == 0
    assert len(listed.stdout.splitlines()) == 13
    assert all(line.endswith("\tin turn with south") for line in listed.stdout.splitlines()[1:])
    indexed(north.place / "crawls", "crawl0", {"http://www.crawl0.example/": [10, 30]})
    north.know({"north": north, "south": south})
    held = run(app, ["schedule", "units", "--url", "http://www.crawl0.example", "--file", str(north.file), "--json"])
    assert held.exit_code == 0, held.output
    (own,) = (each for each in json.loads(held.stdout) if each["unit"] == "north")
    assert (own["crawl"], own["captures"], own["since"]) == ("crawl0", 2, "1970-01-01T00:00:10+00:00")
    south.ending.close()
    dead = run(app, ["schedule", "units", "--file", str(north.file)])
    assert dead.exit_code == 2
    assert "cannot be reached" in dead.stdout
    lacking = run(app, ["schedule", "units", "--file", str(installations["west"].file)])
    assert lacking.exit_code == 2
    assert "write the list of units beside the schedule" in lacking.stderr


LIES: dict[str, Any] = {
    "no JSON": b"<html>",
    "no schedule": {"crawls": 7, "is_paused": False},
    "too many": {"crawls": [{"name": "a", "state": "waits"}] * 201, "is_paused": False},
    "no end": {"crawls": [{"name": "a", "state": "waits"}], "is_paused": False, "next": 1},
    "no number": {"crawls": [{"name": "a", "state": "waits", "seconds": 1e300}], "is_paused": False},
    "no moment": {"crawls": [{"name": "a", "state": "waits", "begun_at": "yesterday"}], "is_paused": False},
    "too deep": b"[" * 100_000,
    "too large": b" " * (5 * 2**20) + b"{}",
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
def test_lies_are_errors_and_what_was_told_before_stays(lie: Any) -> None:
    body = lie if isinstance(lie, bytes) else json.dumps(lie).encode()
    with site_serving(Site(other=Reply(body))) as site:
        unit = {"url": f"http://127.0.0.1:{site.port}"}
        units = Units.parse(json.dumps({"name": "a", "allow_private": True, "units": {"a": unit, "b": unit}}).encode())
        with pytest.raises(UnitError):
            UnitClient(units.units["b"], allow_private=True).schedule(NOW, HOUR)
        before = HeardUnit(asked_at=NOW - HOUR)
        heard = heard_from(units, Heard(units={"b": before}), NOW).units["b"]
    assert heard.problem
    assert (heard.asked_at, heard.failing_since, heard.capacity) == (NOW, NOW, None)


def test_private_addresses_and_plain_text_are_refused_unless_allowed() -> None:
    def listed(url: str, **more: Any) -> Units:
        units = {"a": {"url": "https://a.example"}, "b": {"url": url}}
        return Units.parse(json.dumps({"name": "a", "units": units, **more}).encode())

    for url in ("https://127.0.0.1:1", "https://10.0.0.1", "https://[::1]:1", "https://localhost:1"):
        with pytest.raises(UnitError, match="allow_private"):
            UnitClient(listed(url).units["b"]).capacity()
    with pytest.raises(IcdError, match="plain text"):
        listed("http://b.example")
    assert listed("http://10.0.0.1", allow_private=True).others
    with pytest.raises(IcdError, match="lacks this unit"):
        Units.parse(b"name: c\nunits: {a: {url: 'https://a.example'}}")
    with pytest.raises(IcdError, match=r"schedule-units\.yaml:2: units"):
        Units.parse(b"name: a\nunits: {a: {url: 'https://a.example', weight: 0}}")


def test_the_list_of_units_is_checked_with_the_schedule(
    installations: dict[str, Installation], monkeypatch: pytest.MonkeyPatch
) -> None:
    north = installations["north"]
    north.know({"north": north, "south": installations["south"]}, stand_by=["crawl1", "no-such"])
    monkeypatch.delenv("UNIT_TOKEN")
    checked = CliRunner().invoke(app, ["schedule", "check", "--file", str(north.file)])
    assert checked.exit_code == 2
    assert "names no-such, which is no crawl of the schedule" in checked.stderr
    (told,) = (line for line in checked.stderr.splitlines() if "units.south.token: " in line)
    assert told.startswith(f"{north.place / 'schedule-units.yaml'}:1: ")
    assert "UNIT_TOKEN" in told
    assert "`aah schedule run` needs it" in told


def test_an_answer_that_drips_is_ended() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            connection, _ = server.accept()
            with connection, suppress(OSError):
                connection.sendall(b"HTTP/1.1 200 OK\r\nX-Drips: ")
                while not ended.wait(0.01):
                    connection.sendall(b"x")

        ended = Event()
        Thread(target=drip, daemon=True).start()
        client = ServiceClient(f"http://127.0.0.1:{server.getsockname()[1]}", timeout=60, longest=0.2)
        with pytest.raises(ServiceError):
            client.get("/")
        ended.set()


def test_whoever_does_not_answer_in_time_holds_up_nobody() -> None:

    never = Event()
    found = asked_together({"fast": lambda: 7, "slow": lambda: int(never.wait())}, seconds=0.05)
    never.set()
    assert found["fast"] == 7
    assert isinstance(found["slow"], UnitError)

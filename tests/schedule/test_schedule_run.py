"""The process that looks after a schedule, with a program in the place of `aah` that leaves what a crawl leaves."""

import json
import os
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.schedule import visit_log
from aahcrawler.schedule.child_crawls import Child, CrawlProcesses
from aahcrawler.schedule.division import units_of
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.schedule_run import Place, ScheduleBusyError, ScheduleRun
from aahcrawler.schedule.telling import Teller
from aahcrawler.schedule.unit_sharing import Heard
from aahcrawler.schedule.visit_log import LogError, Outcome, VisitLog
from online_analysis.icd import IcdError
from online_analysis.icd.units import parse_duration

pytestmark = pytest.mark.starts
PROGRAM = """
import json, pathlib, sys
command, definition, *options = sys.argv[1:]
folder = pathlib.Path("crawls", pathlib.Path(definition).stem)
folder.mkdir(parents=True, exist_ok=True)
print("crawled", definition, *options)
told = {"crawl": 1, "state": "finished", "reason": "finished", "started_at": "now", "pages": 3}
(folder / "crawl.json").write_text(json.dumps(told))
"""
ICD = "id: {id}\ncontact: test@example.org\nseeds: [http://site.test/]\ntopic: {{keywords: [harbour]}}\n"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    for name in "ab":
        (tmp_path / f"{name}.yaml").write_text(ICD.format(id=name), "utf-8")
    entries = "  a: {definition: a.yaml, every: day}\n  b: {definition: b.yaml, every: day, pages: {least: 1 h}}\n"
    (tmp_path / "schedule.yaml").write_text(f"crawls:\n{entries}", "utf-8")
    return Place(tmp_path / "schedule.yaml")


def run(place: Place) -> ScheduleRun:
    return ScheduleRun(place, program=(sys.executable, "-c", PROGRAM), is_once=True)


def test_what_is_due_is_crawled_once(place: Place) -> None:
    run(place).run()
    run(place).run()
    with VisitLog.opened(place.log) as log:
        assert sorted((each.entry, each.outcome, each.found.pages) for each in log.visits()) == [
            ("a", Outcome.ENDED, 3),
            ("b", Outcome.ENDED, 3),
        ]
    assert (place.said / "a.log").read_text("utf-8") == "crawled a.yaml\n"
    assert (place.said / "a.log").stat().st_mode & 0o077 == 0
    options = (place.said / "b.log").read_text("utf-8").split(maxsplit=3)
    assert options[:3] == ["crawled", "b.yaml", "--revisits"]
    assert 86_000 < parse_duration(json.loads(options[3])["within"]).total_seconds() <= 86_400


def test_the_second_unit_of_a_site_waits_for_its_turn_and_makes_all_visits_once_the_first_is_silent(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    units = {name: {"url": "http://127.0.0.1:9"} for name in ("here", "there")}
    first, second = units_of("site.test", dict.fromkeys(units, 1.0))
    place.units.write_text(json.dumps({"name": second, "allow_private": True, "units": units}), "utf-8")
    caplog.set_level("WARNING")
    run(place).run()
    with VisitLog.opened(place.log) as log:
        assert log.visits() == []
    heard = Heard.load(place.heard).units[first]
    assert heard.failing_since == heard.asked_at
    assert "cannot be reached" in heard.problem
    assert "in its place" not in caplog.text
    # It was asked again and again, the last time so long ago that it is asked now.
    failing = heard.model_copy(update={"failing_since": datetime.now(UTC) - timedelta(hours=2), "asked_at": None})
    Heard(units={first: failing}).save(place.heard)
    run(place).run()
    with VisitLog.opened(place.log) as log:
        assert sorted(each.entry for each in log.visits()) == ["a", "b"]
    assert f"{first} has not answered since" in caplog.text
    assert "2 crawls are visited here in its place (a, b)" in caplog.text
    place.units.write_text("name: nobody\n", "utf-8")
    with pytest.raises(IcdError, match=r"schedule-units\.yaml"):
        run(place).run()


def test_a_schedule_is_looked_after_by_one_process(place: Place) -> None:
    with (
        FileLock(place.file.with_name(".schedule.yaml.lock")),
        pytest.raises(ScheduleBusyError, match="another process looks after this schedule"),
    ):
        run(place).run()


def test_a_run_that_is_made_once_returns_whose_definitions_have_mistakes(place: Place) -> None:
    (place.folder / "a.yaml").write_text("id: a\n", "utf-8")
    place.file.write_text("crawls: {a: {definition: a.yaml, every: day}}", "utf-8")
    assert run(place).run() == ["a"]
    assert CliRunner().invoke(app, ["schedule", "run", "--once", "--file", str(place.file)]).exit_code == 2


@dataclass
class Disk:
    """A disk that is full from the beginning of the first crawl on."""

    is_full: bool = False
    begun: int = 0


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    found, begin = Disk(), CrawlProcesses.begin

    class OnDisk(sqlite3.Connection):
        def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
            if found.is_full and sql.startswith("BEGIN"):
                full = sqlite3.OperationalError("database or disk is full")
                full.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise full
            return super().execute(sql, *parameters)

    def connection(path: Path) -> sqlite3.Connection:
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, factory=OnDisk)

    def begun(self: CrawlProcesses, name: str, entry: Entry, within: timedelta, ended: Callable[[], None]) -> Child:
        found.is_full, found.begun = True, found.begun + 1
        return begin(self, name, entry, within, ended)

    monkeypatch.setattr(visit_log, "connection", connection)
    monkeypatch.setattr(CrawlProcesses, "begin", begun)
    return found


def visits_of(place: Place) -> list[tuple[str, Outcome | None, int]]:
    with VisitLog.opened(place.log) as log:
        return [(each.entry, each.outcome, each.found.pages) for each in log.visits()]


def test_a_schedule_waits_until_a_full_disk_has_room(
    place: Place, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    tries = iter((True, True, False))

    class UntilRoom(ScheduleRun):
        def _wait_for_room(self, error: Exception, teller: Teller) -> None:
            super()._wait_for_room(error, teller)
            disk.is_full = next(tries)
            self.is_once = not disk.is_full

    place.file.write_text("crawls: {a: {definition: a.yaml, every: day}}", "utf-8")
    UntilRoom(place, program=(sys.executable, "-c", PROGRAM), look_every=0.2).run()
    assert (visits_of(place), disk.begun) == ([("a", Outcome.ENDED, 3)], 1)
    assert caplog.text.count("waits until there is room") == 1
    with VisitLog.opened(place.log) as log:
        (noticed,) = log.notices(place.log.name)
    assert "there is no room on its disk (database or disk is full); make room" in noticed.notice.text


def test_a_run_that_is_made_once_ends_on_a_full_disk_and_the_next_one_goes_on(place: Place, disk: Disk) -> None:
    place.file.write_text("crawls: {a: {definition: a.yaml, every: day}}", "utf-8")
    with pytest.raises(LogError, match=r"disk is full\); make room.*the next run takes them up"):
        run(place).run()
    disk.is_full = False
    run(place).run()
    assert (visits_of(place), disk.begun) == ([("a", Outcome.ENDED, 3)], 1)


def test_a_crawl_whose_parent_is_gone_is_known_by_its_lock(place: Place) -> None:
    waits = "import sys; sys.stdin = open(sys.argv[-1]); sys.stdin.read()"
    pipe = place.folder / "pipe.yaml"
    os.mkfifo(pipe)
    crawls = CrawlProcesses(place.folder, place.said, (sys.executable, "-c", waits))
    entry = Schedule.load(place.file).crawls["a"].model_copy(update={"definition": "pipe.yaml"})
    ended = Event()
    child = crawls.begin("a", entry, timedelta(hours=1), ended.set)
    another = CrawlProcesses(place.folder, place.said)
    orphan = another.running("a", place.folder)
    assert orphan is not None
    assert orphan.poll() is None
    assert another.running("b", place.folder) is None
    pipe.open("w").close()
    assert ended.wait(60)
    assert child.poll() == 0
    assert orphan.poll() == 0
    assert another.running("a", place.folder) is None

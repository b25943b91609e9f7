"""What visits will take, and what does not fit, by how long they took."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from filelock import FileLock
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.layout import CHANGES, DEMAND
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.crawl_time import AROUND
from aahcrawler.revisits.visit_budget import PRICES, Objective
from aahcrawler.revisits.visit_record import VisitRecord, milliseconds
from aahcrawler.schedule.child_crawls import CrawlFolders
from aahcrawler.schedule.page_rhythms import Demand, due_pages
from aahcrawler.schedule.rhythms import Due
from aahcrawler.schedule.schedule_file import Schedule
from aahcrawler.schedule.schedule_plan import (
    expected_seconds,
    fitting_pages,
    fitting_rhythm,
    planned,
    upcoming,
    visit_rows,
    whole_seconds,
    write_plan,
    write_upcoming,
    write_visits,
)
from aahcrawler.schedule.visit_log import ALL, Found, LogError, NoRoomError, Outcome, VisitLog, Wish

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ICD = "id: {}\ncontact: a@b.test\nseeds: ['http://a.test/']\ntopic: {{keywords: [sea]}}\n"
TEXT = b"parallel: 1\ncrawls: {a: {definition: a, every: 1 h}, b: {definition: b, every: 4 h}}"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[VisitLog]:
    with VisitLog.opened(tmp_path / "schedule.sqlite") as log:
        yield log


def visited(log: VisitLog, name: str, at: datetime, minutes: float, crawl: int) -> None:
    visit, seconds = log.begin(name, Due(at), at, Path(), ""), 60 * minutes
    found = Found(crawl, pages=9, changed=1, seconds=seconds - 7)
    log.end(visit.number, at + timedelta(seconds=seconds), Outcome.ENDED, "", found)


def test_a_visit_takes_as_long_as_those_before_it_the_first_one_apart(log: VisitLog) -> None:
    assert expected_seconds(log, "a") is None
    visited(log, "a", START, 600, 1)
    assert expected_seconds(log, "a") == 36_000
    for crawl, minutes in enumerate([10, 14, 90], 2):
        visited(log, "a", START + crawl * HOUR, minutes, crawl)
    assert expected_seconds(log, "a") == 14 * 60


def test_visits_wait_for_one_another_and_those_that_are_too_long_are_told(log: VisitLog) -> None:
    schedule = Schedule.parse(TEXT)
    log.added_at(schedule.crawls, START)
    plan = planned(schedule, log, {"a": 2400.0, "b": 2 * 3600.0}, START, START + 4 * HOUR)
    told = [(each.name, each.begins_at - START, each.fits) for each in plan.visits]
    assert told[:3] == [("a", 0 * HOUR, True), ("b", HOUR * 2 / 3, True), ("a", HOUR * 8 / 3, False)]
    # What was missed meanwhile is made up for by one visit, that of the newest moment.
    assert plan.visits[2].due_at == START + 2 * HOUR
    assert plan.load == pytest.approx(1.0)
    at_ease = planned(schedule, log, {"a": 2400.0, "b": 2 * 3600.0}, START, START + 4 * HOUR, parallel=2)
    assert all(each.fits and each.begins_at == each.due_at for each in at_ease.visits)
    printed = StringIO()
    write_plan(plan, {}, printed)
    row = "a\t2026-03-02 14:00\t2026-03-02 14:40\t2026-03-02 15:20\t40.0\tno: due again at 2026-03-02 15:00\t"
    why = "every 1 h; for 2 due moments that have passed; as soon as another crawl ends: at most 1 at once"
    head, first, *_ = rows = printed.getvalue().splitlines()
    assert row + why in rows
    assert (head.split("\t")[-1], first.split("\t")[-1]) == ("why then", "every 1 h")


def test_visits_of_unknown_length_are_summed_up_by_crawl(log: VisitLog) -> None:
    schedule = Schedule.parse(b"crawls: {a: {definition: a, every: 2 min}, b: {definition: b, every: 1 h}}")
    log.added_at(schedule.crawls, START)

    def printed(**seconds: float | None) -> list[str]:
        out = StringIO()
        write_plan(planned(schedule, log, seconds, START, START + HOUR), {}, out)
        return out.getvalue().splitlines()

    head, a, b, busy = printed(a=None, b=None)
    assert head.startswith("crawl\t")
    assert a.startswith("a: 31 visits; the first is due at 2026-03-02 12:00:00 (every 2 min); nobody knows")
    assert b.startswith("b: 2 visits; ")
    assert "2 crawls at once, busy ?; of 33 nobody knows" in busy
    assert "a\t2026-03-02 12:02:00\t2026-03-02 12:02:00\t2026-03-02 12:02:30\t0.5\tyes\tevery 2 min" in printed(
        a=30.0, b=None
    )


def test_paused_crawls_have_no_visits_to_come_and_are_named(log: VisitLog) -> None:
    schedule = Schedule.parse(TEXT)
    log.added_at(schedule.crawls, START)

    def named() -> tuple[set[str], list[str]]:
        plan, out = planned(schedule, log, {"a": 60.0, "b": 60.0}, START, START + 4 * HOUR), StringIO()
        write_plan(plan, {}, out)
        return {each.name for each in plan.visits}, [line for line in out.getvalue().splitlines() if "paused" in line]

    log.wish(Wish.PAUSE, "b", START)
    assert named() == ({"a"}, ["b: is paused, no visit begins"])
    log.wish(Wish.PAUSE, ALL, START)
    assert named() == (set(), ["a: is paused, no visit begins", "b: is paused, no visit begins"])
    log.wish(Wish.RESUME, "b", START)
    log.wish(Wish.RESUME, ALL, START)
    assert named() == ({"a", "b"}, [])


def test_of_a_dense_rhythm_a_day_is_listed_and_the_others_are_counted(log: VisitLog) -> None:
    schedule = Schedule.parse(b"crawls: {a: {definition: a, every: 2 min}, b: {definition: b, every: 1 h}}")
    log.added_at(schedule.crawls, START)
    out = StringIO()
    write_plan(planned(schedule, log, {"a": 30.0, "b": 60.0}, START, START + HOUR), {}, out)
    _, *rows, others, busy = out.getvalue().splitlines()
    assert [row.split("\t")[0] for row in rows].count("a") == 24
    more = "a: 7 more visits, which --json lists; the last begins at 2026-03-02 13:00:00; too long for their rhythm: 0"
    assert others == more
    assert busy.startswith("visits: 33; ")


def test_names_that_nobody_knows_are_refused_and_a_paused_crawl_has_no_next_visit(tmp_path: Path) -> None:
    file = tmp_path / "schedule.yaml"
    file.write_text("crawls:\n  a: {definition: a.yaml, every: day, pages: {least: 1 h}}\n", "utf-8")

    def said(*arguments: str) -> tuple[int, str]:
        ended = CliRunner().invoke(app, ["schedule", *arguments, "--file", str(file)])
        return ended.exit_code, ended.output

    code, told = said("check")
    assert (code, told.startswith(f"{file}:2: crawls.a.definition: names no file")) == (2, True)
    (tmp_path / "a.yaml").write_text(ICD.format("a"), "utf-8")
    assert said("log", "a")[0] == 0
    code, told = said("log", "nosuch")
    assert (code, "has no crawl nosuch" in told) == (2, True)
    assert "the known pages that are due" in said("now", "a")[1]
    with VisitLog.opened(tmp_path / "schedule.sqlite") as log:
        log.wish(Wish.GRANTED, "a", START)
    said("pause", "a")
    row = next(line for line in said("list")[1].splitlines() if line.startswith("a\t"))
    assert row.split("\t")[1:3] == ["paused", "-"]


def test_a_thousand_crawls_are_planned(log: VisitLog) -> None:
    entries = ", ".join(f"c{n}: {{definition: c{n}, every: 1 day}}" for n in range(1000))
    schedule = Schedule.parse(f"parallel: 10\ncrawls: {{{entries}}}".encode())
    log.added_at(schedule.crawls, START)
    plan = planned(schedule, log, dict.fromkeys(schedule.crawls, 600.0), START, START + 24 * HOUR)
    assert plan.load == pytest.approx(1000 * 600 / (10 * 86_400), rel=0.01)
    assert len({each.name for each in plan.visits}) == 1000


def test_pauses_are_told_as_they_are_and_possible_while_the_file_has_mistakes(tmp_path: Path) -> None:
    file = tmp_path / "schedule.yaml"

    def said(command: str, *arguments: str) -> tuple[int, str]:
        ended = CliRunner().invoke(app, ["schedule", command, *arguments, "--file", str(file)])
        return ended.exit_code, ended.output

    file.write_bytes(b"crawls: {a: {definition: a, every: day}, b: {definition: b, every: day}}")
    with VisitLog.opened(tmp_path / "schedule.sqlite") as log:
        log.added_at({"a": 1, "b": 1}, START)
    assert "nobody looks after this schedule" in said("list")[1]
    with FileLock(tmp_path / ".schedule.yaml.lock"):
        assert "nobody" not in said("list")[1]
    assert said("pause")[1].endswith("is paused\n")
    assert "a goes on when all do, which are paused" in said("pause", "a", "--resume")[1]
    file.write_bytes(b"crawls: {a: {definition: a, evry: day}}")
    code, told = said("pause", "b")
    assert (code, told.splitlines()[-1]) == (0, "b is paused")
    assert "evry" in told
    assert said("pause", "c")[0] == 2
    assert said("pause", "--resume")[1].endswith("goes on; paused still: b\n")


def test_crawls_with_mistakes_end_neither_the_list_nor_the_plan(tmp_path: Path) -> None:
    file = tmp_path / "schedule.yaml"
    (tmp_path / "a.yaml").write_text(ICD.format("a"), "utf-8")
    (tmp_path / "b.yaml").write_text("id: b\n", "utf-8")
    entries = (
        "a: {definition: a.yaml, every: day}, b: {definition: b.yaml, every: day}, c.d: {definition: a, every: 60}"
    )
    file.write_text(f"crawls: {{{entries}}}", "utf-8")
    for command in ("list", "plan"):
        ended = CliRunner().invoke(app, ["schedule", command, "--file", str(file)])
        assert ended.exit_code == 2
        assert any(line.startswith(("a\t", "a: 2 visits; ")) for line in ended.stdout.splitlines())
        assert "b: no visit begins: " in ended.output
        assert "c.d: no visit begins: " in ended.output
    file.write_text("crawls: 7", "utf-8")
    assert CliRunner().invoke(app, ["schedule", "list", "--file", str(file)]).exit_code == 2


def test_of_a_crawl_that_does_not_fit_as_many_pages_are_visited_as_do(tmp_path: Path, log: VisitLog) -> None:
    (tmp_path / "a").write_text(ICD.format("a"), "utf-8")
    entry = Schedule.parse(TEXT).crawls["a"]
    folders = CrawlFolders(tmp_path)
    folder = folders.of(entry)
    (folder / CHANGES).mkdir(parents=True)
    with ChangeLog(folder / CHANGES, "a", 1, lambda: START) as changes:
        for number in range(500):
            at, status = milliseconds(START + number * timedelta(seconds=10)), 404 if number < 10 else 200
            url = f"http://a.test/{number}"
            changes.visited(VisitRecord.model_validate({"url": url, "at": at, "status": status, "payload": "sha1:A"}))
    assert fitting_rhythm(log, "a", entry, folder, HOUR, HOUR) is None, "nobody knows how long it takes"
    visited(log, "a", START - 2 * HOUR, 80, 2)
    rhythm = fitting_rhythm(log, "a", entry, folder, HOUR, HOUR)
    assert rhythm is not None
    assert rhythm.within == HOUR
    assert fitting_rhythm(log, "a", entry, folder, 2 * HOUR, HOUR) is None, "all of it fits"
    assert fitting_rhythm(log, "a", entry.model_copy(update={"workers": 2}), folder, HOUR, HOUR) is None
    assert fitting_rhythm(log, "a", entry, folder, HOUR / 60, 2 * HOUR) is None, "asked for shortly before it is due"
    late = fitting_rhythm(log, "a", entry, folder, HOUR / 60, HOUR)
    assert late is not None
    assert late.within == HOUR / 2
    # A visit that kept to its time says nothing of how long all would take: the log of changes does.
    visited(log, "a", START - HOUR, 50, 3)
    visited(log, "a", START - HOUR, 50, 4)
    visited(log, "a", START - HOUR, 50, 5)
    assert fitting_rhythm(log, "a", entry, folder, HOUR, HOUR) == rhythm
    due = due_pages(folder, 9, rhythm, START + 3 * HOUR)
    assert (due.due, due.left_over) == (360, 140)
    assert "http://a.test/499" in due.resting
    assert "http://a.test/0" not in due.resting
    # Visits begin ten seconds apart, all but those of pages that are gone; nothing else was ever measured but that
    # processes take seven seconds beside their crawls.
    assert whole_seconds(log, folder) == pytest.approx(7 + AROUND + 489 * 10 + 2, abs=0.1)
    schedule = Schedule.parse(TEXT)
    log.added_at(schedule.crawls, START)
    plan = planned(schedule, log, {"a": 4900.0, "b": 60.0}, START + 3 * HOUR, START + 4 * HOUR, parallel=2)
    pages = fitting_pages(plan, schedule.crawls, folders, START + 3 * HOUR)
    assert {name: (each.due, each.left_over) for name, each in pages.items()} == {"a": (360, 140)}
    printed = StringIO()
    write_plan(plan, pages, printed)
    assert "a: 360 of 500 known pages fit, those that waited longest first" in printed.getvalue().splitlines()


def test_a_plan_of_many_visits_ends_where_it_says(log: VisitLog) -> None:
    schedule = Schedule.parse(b"crawls: {a: {definition: a, adaptive: {least: 1 min, first: 2 min, greatest: 1 h}}}")
    log.added_at(schedule.crawls, START)
    plan = planned(schedule, log, {"a": 60.0}, START, START + 24 * HOUR, most=15)
    assert len(plan.visits) == 15
    assert plan.until == START + HOUR / 2
    assert all(each.next_at - each.due_at == HOUR / 30 for each in plan.visits)
    assert plan.load == pytest.approx(0.25)


def test_what_was_done_and_what_comes_is_listed(log: VisitLog) -> None:
    schedule = Schedule.parse(TEXT)
    log.added_at(schedule.crawls, START)
    visited(log, "a", START, 5, 1)
    log.begin("b", Due(START), START, Path(), "")
    assert upcoming(schedule, log, START + HOUR / 60)[0].state == "under way"
    rows = upcoming(schedule, log, START + HOUR / 2)
    assert rows[0].why.endswith("its crawl does not run; `aah schedule run` goes on with it")
    assert [(each.name, each.state, each.due_at) for each in rows] == [
        ("b", "interrupted", START + 4 * HOUR),
        ("a", "waits", START + HOUR),
    ]
    printed = StringIO()
    write_upcoming(rows, printed)
    assert "a\twaits\t2026-03-02 13:00\tevery 1 h\t2026-03-02 12:00\tended\t9\t1\t-\n" in printed.getvalue()
    printed = StringIO()
    write_visits(visit_rows(log, "a", 10), printed)
    row = "1\ta\t2026-03-02 12:00\t1\t2026-03-02 12:00\t2026-03-02 12:05\tended\t0\t9\t0\t1\t0\t293"
    assert row in printed.getvalue().splitlines()


def test_what_tells_a_rhythm_is_listed(log: VisitLog, tmp_path: Path) -> None:
    pages = "a: {definition: a.yaml, every: 1 h, pages: {least: 1 h}}"
    schedule = Schedule.parse(f"crawls:\n  {pages}\n  b: {{definition: b.yaml, adaptive: {{}}}}\n".encode())
    log.added_at(schedule.crawls, START)
    assert {each.name: each.grounds for each in upcoming(schedule, log, START)} == {"a": "", "b": "the first interval"}
    told = Demand(objective=Objective.CHANGES, downloads=(1.0,) * len(PRICES), grounds={"its site": 1200})
    (tmp_path / DEMAND).write_text(told.model_dump_json(), "utf-8")
    log.begin("a", Due(START), START, tmp_path, "")
    assert upcoming(schedule, log, START)[0].grounds == "pages by its site (1,200)"


def test_a_log_that_is_damaged_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").write_bytes(b"no log at all, but long enough to be taken for a file of another kind")
    opened = VisitLog.opened(tmp_path / "x.sqlite")
    with pytest.raises(LogError, match="put back a copy of it, or move it away"), opened:
        pass


def test_a_full_disk_is_no_damage(tmp_path: Path) -> None:
    def fill() -> None:
        with VisitLog.opened(tmp_path / "x.sqlite") as log:
            log._base.execute("PRAGMA max_page_count = 1")  # It has more already, and gets none beyond those.
            log.wish(Wish.NOW, "a" * 100_000, START)

    with pytest.raises(NoRoomError, match="make room") as raised:
        fill()
    assert "move it away" not in str(raised.value)


def test_a_file_that_is_broken_is_a_row_that_says_where_and_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "schedule.yaml"
    file.write_bytes(b"crawls: {a: {definition: a.yaml, every: 10 min}}")
    (tmp_path / "a.yaml").write_text(ICD.format("a"), "utf-8")

    def said() -> tuple[int, list[list[str]], str]:
        ended = CliRunner().invoke(app, ["schedule", "list", "--file", str(file)])
        return ended.exit_code, [line.split("\t") for line in ended.stdout.splitlines()], ended.output

    with VisitLog.opened(tmp_path / "schedule.sqlite") as log:
        log.added_at({"a": 1}, START)
        visited(log, "a", START, 3, 1)
    code, (_, row, *_), _ = said()
    assert (code, row[4], row[5]) == (0, "2026-03-02 12:00:00", "ended")
    units = tmp_path / "schedule-units.yaml"
    units.write_bytes(b"name: north\nunits: {south: {url: https://s.test}}")
    code, (_, of_units, of_crawl, *_), output = said()
    assert (code, of_units[:2], of_crawl[:2]) == (2, ["schedule-units.yaml", "has mistakes"], ["a", "unknown"])
    assert f"{units}:1: lacks this unit; add `north`" in output
    file.write_bytes(b"crawls: [")
    code, (_, of_file, of_crawl, *_), output = said()
    assert (code, of_file[:2], of_crawl[0]) == (2, ["schedule.yaml", "has mistakes"], "a")
    assert of_crawl[5:7] == ["ended", "9"]
    assert f"{file}:2: is no YAML" in output
    units.unlink()
    file.write_bytes(b"crawls: {a: {definition: a.yaml, every: 10 min}}")
    (tmp_path / "schedule.sqlite").write_bytes(b"no database" * 999)
    code, (_, of_log, of_crawl, *_), output = said()
    assert (code, of_log[:2], of_crawl[:2]) == (2, ["schedule.sqlite", "cannot be used"], ["a", "unknown"])
    assert "put back a copy of it" in output


def test_visits_less_than_an_hour_apart_are_told_by_the_second(log: VisitLog) -> None:
    for minutes in (0, 61):
        visited(log, "a", START + timedelta(minutes=minutes), 3, 2)

    def begun() -> list[str]:
        out = StringIO()
        write_visits(visit_rows(log, "a", 9), out)
        return [line.split("\t")[4] for line in out.getvalue().splitlines()[1:]]

    assert begun() == ["2026-03-02 13:01", "2026-03-02 12:00"]
    visited(log, "a", START + timedelta(minutes=70, seconds=7), 3, 2)
    assert begun()[0] == "2026-03-02 13:10:07"

"""One visit for each due moment, or one for several that were missed, whatever ends in between.

Clock and crawls are made up here: crawls take as long as they say, keep what a folder would, and outlive whoever starts
them, as processes do. ``test_killed_schedule`` shows the same of real ones.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.layout import CHANGES, DEMAND
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.visit_budget import PRICES, Objective
from aahcrawler.revisits.visit_record import VisitRecord, milliseconds
from aahcrawler.schedule.child_crawls import Child, CrawlFolders, CrawlTold, SeedTold
from aahcrawler.schedule.page_rhythms import Demand, PageRhythm
from aahcrawler.schedule.schedule_file import Entry, Schedule
from aahcrawler.schedule.visit_log import ALL, Notice, Outcome, Visit, VisitLog, Wish
from aahcrawler.schedule.visit_scheduler import Scheduler

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)
ONE = "crawls: {a: {definition: a.yaml, every: 1 h}}\nattempts: 3"
TWO = "crawls: {a: {definition: a.yaml, every: 1 h}, b: {definition: b.yaml, every: 1 h}}\nparallel: 1"


@dataclass
class MadeUpClock:
    at: datetime = START

    def now(self) -> datetime:
        return self.at

    def seconds_until(self, moment: datetime) -> float:
        return (moment - self.at).total_seconds()


@dataclass
class MadeUpCrawl:
    """A crawl that runs until its end, or that ends with ``code`` and is not over."""

    world: "World"
    name: str
    ends_at: datetime
    code: int = 0
    said: str = "what it said"
    is_asked: bool = False
    is_noted: bool = False

    def poll(self) -> int | None:
        if not self.is_noted and (self.is_asked or self.world.clock.at >= self.ends_at):
            self.is_noted = True
            told = self.world.folders[self.name]
            over = not self.is_asked and self.code in (0, 3)
            state, reason = ("finished", "finished") if over else ("stopped", "shutdown")
            self.world.folders[self.name] = told.model_copy(update={"state": state, "reason": reason})
            self.world.made[self.name] = self.world.made.get(self.name, 0) + over
        return self.code if self.is_noted else None

    def end(self) -> None:
        self.is_asked = True


@dataclass
class World:
    """What outlasts a process that looks after a schedule."""

    place: Path
    text: str = ONE
    clock: MadeUpClock = field(default_factory=MadeUpClock)
    folders: dict[str, CrawlTold] = field(default_factory=dict)
    processes: dict[str, MadeUpCrawl] = field(default_factory=dict)
    made: dict[str, int] = field(default_factory=dict)
    by_others: set[str] = field(default_factory=set)
    codes: list[int] = field(default_factory=list)
    lasts: timedelta = MINUTE
    notices: list[Notice] = field(default_factory=list)
    begun: int = 0
    rhythms: dict[str, PageRhythm | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in "ab":
            icd = f"id: {name}\ncontact: a@b.test\nseeds: [http://a.test/]\ntopic: {{keywords: [sea]}}\n"
            (self.place / f"{name}.yaml").write_text(icd, "utf-8")

    def told(self, folder: Path) -> CrawlTold:
        return self.folders.get(folder.name, CrawlTold())

    def is_used(self, folder: Path) -> bool:
        return folder.name in self.by_others

    def running(self, name: str, folder: Path) -> Child | None:
        assert folder.name == name
        process = self.processes.get(name)
        return process if process is not None and process.poll() is None else None

    def begin(self, name: str, entry: Entry, within: timedelta, ended: Callable[[], None]) -> Child:  # noqa: ARG002
        assert entry.definition == f"{name}.yaml"
        assert MINUTE <= within <= HOUR
        assert self.running(name, Path(name)) is None, "two crawls in one folder"
        self.rhythms[name] = entry.pages
        before, self.begun = self.folders.get(name, CrawlTold()), self.begun + 1
        number = before.crawl + before.is_over if before.crawl else 1
        self.folders[name] = CrawlTold(crawl=number, state="running", started_at=f"{self.begun}", pages=7, changed=2)
        code = self.codes.pop(0) if self.codes else 0
        self.processes[name] = MadeUpCrawl(self, name, self.clock.at + (self.lasts if code in (0, 3) else MINUTE), code)
        return self.processes[name]

    @contextmanager
    def looked_after(self) -> Iterator[Scheduler]:
        schedule = Schedule.parse(self.text.encode())
        with self.log() as log:
            yield Scheduler(schedule, self.crawl_folders, log, self, self.clock, self.notices.append)

    @property
    def crawl_folders(self) -> CrawlFolders:
        return CrawlFolders(self.place)

    def log(self) -> AbstractContextManager[VisitLog]:
        return VisitLog.opened(self.place / "log.sqlite")

    def visits(self, name: str = ALL) -> list[Visit]:
        with self.log() as log:
            return log.visits(name, 1000)[::-1]

    def goes_on(self, scheduler: Scheduler, time: timedelta, step: timedelta = MINUTE) -> None:
        """Let time pass, a step at a time."""
        for _ in range(time // step):
            self.clock.at += step
            scheduler.look()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def outcomes(world: World) -> list[str | None]:
    return [each.outcome for each in world.visits()]


def test_what_is_due_is_visited_and_what_is_next_told(world: World) -> None:
    with world.looked_after() as scheduler:
        scheduler.look()
        world.clock.at += MINUTE
        assert scheduler.look() == START + HOUR
        world.goes_on(scheduler, 3 * HOUR)
    assert [each.due_at for each in world.visits()] == [START + n * HOUR for n in range(4)]
    assert outcomes(world)[:3] == [Outcome.ENDED] * 3
    assert [each.found.crawl for each in world.visits()][:3] == [1, 2, 3]


def test_what_was_missed_is_made_up_for_once(world: World) -> None:
    with world.looked_after() as scheduler:
        scheduler.look()
    world.clock.at += 5.5 * HOUR
    with world.looked_after() as scheduler:
        scheduler.look()
        scheduler.look()
    assert [(each.due_at, each.moments) for each in world.visits()] == [(START, 1), (START + 5 * HOUR, 5)]


def test_a_visit_longer_than_its_interval_overlaps_with_none(world: World) -> None:
    world.lasts = 2.5 * HOUR
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, 6 * HOUR)
    assert [each.moments for each in world.visits()] == [1, 2, 3]
    (told,) = (each for each in world.notices if each.occasion == "attention")
    assert told.text.startswith("a visit takes about 2:30:00, and is due every 1:00:00")


def test_a_visit_that_begins_late_is_not_told_to_be_too_long_for_its_rhythm(world: World) -> None:
    world.lasts = HOUR / 2
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, HOUR / 2)
    world.clock.at += 1.3 * HOUR  # Twelve minutes are left until it is due again.
    with world.looked_after() as scheduler:
        world.goes_on(scheduler, 2 * HOUR)
    assert [each.moments for each in world.visits()] == [1, 1, 1, 1]
    assert not [each for each in world.notices if each.occasion == "attention"]


def test_a_visit_that_was_made_while_nobody_looked_ends_although_its_definition_is_gone(world: World) -> None:
    with world.looked_after() as scheduler:
        scheduler.look()
    world.clock.at += HOUR / 2
    assert world.running("a", Path("a")) is None
    (world.place / "a.yaml").unlink()
    with world.looked_after() as scheduler:
        scheduler.look()
    (visit,) = world.visits()
    assert (visit.outcome, visit.found.pages) == (Outcome.ENDED, 7)


def test_parallel_crawls_are_bounded_and_begin_in_the_order_in_which_they_are_due(world: World) -> None:
    world.text = TWO
    with world.looked_after() as scheduler:
        scheduler.look()
        assert scheduler.running == ["a"]
        world.goes_on(scheduler, MINUTE)
        assert scheduler.running == ["b"]
        world.goes_on(scheduler, 10 * HOUR)
    assert len(world.visits("a")) == len(world.visits("b")) == 11


def test_a_crawl_that_fails_is_tried_again_ever_later_and_given_up_in_the_end(world: World) -> None:
    world.codes = [-9, 1, -9, 1, 0]
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, HOUR / 2)
        (first,) = world.visits()
        assert first.outcome is Outcome.FAILED
        assert "failed 3 times in a row (killed by signal 9)" in first.said
        with world.log() as log:
            waits = [each.ended_at - START for each in log.attempts(first.number)]
        assert waits == [MINUTE, 3 * MINUTE, 6 * MINUTE]
        world.goes_on(scheduler, HOUR)
        assert outcomes(world) == [Outcome.FAILED, Outcome.FAILED]
        world.goes_on(scheduler, HOUR)
    assert outcomes(world) == [Outcome.FAILED, Outcome.FAILED, Outcome.ENDED]
    assert [each.occasion for each in world.notices] == ["failed", "failed"]
    assert world.notices[1].text.startswith("it does not fail any more")


def test_a_crawl_that_somebody_stops_is_left_to_the_next_visit(world: World) -> None:
    with world.looked_after() as scheduler:
        scheduler.look()
        world.processes["a"].end()
        world.goes_on(scheduler, HOUR)
        world.goes_on(scheduler, MINUTE)
    assert outcomes(world) == [Outcome.STOPPED, Outcome.ENDED]
    assert world.folders["a"].crawl == 1


def test_no_crawl_is_begun_where_another_one_runs(world: World) -> None:
    world.by_others.add("a")
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, HOUR)
        assert world.begun == 0
        world.by_others.clear()
        world.goes_on(scheduler, 2 * MINUTE)
    assert [(each.due_at, each.moments) for each in world.visits()] == [(START + HOUR, 2)]


def test_crawls_are_ended_in_good_order_and_go_on_next_time(world: World) -> None:
    with world.looked_after() as scheduler:
        scheduler.look()
        scheduler.end()
        assert scheduler.look() is None
        assert scheduler.running == []
    assert outcomes(world) == [None]
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, MINUTE)
    assert outcomes(world) == [Outcome.ENDED]
    assert (world.begun, world.folders["a"].crawl) == (2, 1)


def test_people_are_told_where_somebody_is_needed(world: World) -> None:
    world.codes = [3]
    with world.looked_after() as scheduler:
        scheduler.look()
        seed = SeedTold(url="http://a.test/", verdict="login failed", advice="look at the password")
        world.folders["a"] = world.folders["a"].model_copy(update={"state": "paused", "reason": "disk full"})
        scheduler.look()
        scheduler.look()
        world.folders["a"] = world.folders["a"].model_copy(update={"seeds": (seed,)})
        world.goes_on(scheduler, MINUTE)
    assert [(each.occasion, each.text.split("\n")[0]) for each in world.notices] == [
        ("attention", "its crawl waits: disk full"),
        ("attention", "7 pages, 0 new, 2 changed, 0 gone"),
    ]
    assert "http://a.test/: login failed; look at the password" in world.notices[1].text


def test_a_visit_changed_what_the_log_of_changes_says(world: World) -> None:
    def kept(crawl: int, at: datetime, status: int) -> None:
        with ChangeLog(world.visits()[-1].folder / CHANGES, "a", crawl, world.clock.now) as log:
            seen = VisitRecord(url="http://a.test/", at=milliseconds(at), status=status, payload="p", template="t")
            log.visited(seen)

    with world.looked_after() as scheduler:
        for crawl, status in enumerate([200, 404, 404], 1):
            scheduler.look()
            told = {"crawl": crawl, "gone": int(crawl > 1), "changed": 0}
            world.folders["a"] = world.folders["a"].model_copy(update=told)
            kept(crawl, world.clock.at, status)
            world.goes_on(scheduler, HOUR, HOUR)
    assert [each.found.has_changed for each in world.visits()[:3]] == [None, True, False]


def test_a_budget_is_shared_by_crawls_as_their_pages_are_worth(world: World) -> None:
    pages = "every: 1 h, pages: {least: 1 h}"
    own = "every: 1 h, pages: {least: 1 h, budget: 7 a day}"
    budget = "budget: 100 a day\nobjective: freshness\n"
    world.text = f"{budget}crawls:\n  a: {{definition: a.yaml, {pages}}}\n  b: {{definition: b.yaml, {pages}}}\n"
    for name, worth in (("a", 900.0), ("b", 300.0)):
        told = Demand(objective=Objective.FRESHNESS, downloads=tuple(worth / price for price in PRICES), grounds={})
        folder = world.crawl_folders.of(Schedule.parse(world.text.encode()).crawls[name])
        folder.mkdir(parents=True)
        (folder / DEMAND).write_text(told.model_dump_json(), "utf-8")
    with world.looked_after() as scheduler:
        scheduler.look()
        begun = dict(world.rhythms)
        scheduler.follow(Schedule.parse(f"{budget}crawls:\n  a: {{definition: a.yaml, {own}}}\n".encode()))
        world.goes_on(scheduler, HOUR)
    assert {name: pages and pages.budget for name, pages in begun.items()} == pytest.approx({"a": 75.0, "b": 25.0})
    assert {pages.objective for pages in begun.values() if pages} == {Objective.FRESHNESS}
    assert world.rhythms["a"] is not None
    assert world.rhythms["a"].budget == 7


def test_mistakes_in_a_definition_are_told_once_and_its_visit_stays_due(world: World) -> None:
    icd = world.place / "a.yaml"
    text = icd.read_text("utf-8")
    icd.write_text("id: a\n", "utf-8")
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, HOUR / 2)
        assert (len(world.visits()), len(world.notices)) == (0, 1)
        assert "contact: is missing" in world.notices[0].text
        scheduler.look()
        icd.write_text(text, "utf-8")
        scheduler.look()
        assert scheduler.running == ["a"], "a mended file is read at once"
        world.goes_on(scheduler, HOUR / 4)
    assert outcomes(world) == [Outcome.ENDED]


def test_people_may_have_visits_made_and_paused(world: World) -> None:
    with world.looked_after() as scheduler, world.log() as asked:
        scheduler.look()
        world.goes_on(scheduler, MINUTE)
        asked.wish(Wish.NOW, "a", world.clock.at)
        world.goes_on(scheduler, 2 * MINUTE)
        assert [each.due_at for each in world.visits()] == [START, None]
        asked.wish(Wish.PAUSE, ALL, world.clock.at)
        world.goes_on(scheduler, 3 * HOUR)
        assert len(world.visits()) == 2
        asked.wish(Wish.NOW, "a", world.clock.at)
        world.goes_on(scheduler, 2 * MINUTE)
        assert len(world.visits()) == 3
        asked.wish(Wish.RESUME, ALL, world.clock.at)
        world.goes_on(scheduler, MINUTE)
    assert sum(each.moments for each in world.visits()) == 4


def test_a_visit_that_fails_is_tried_again_once_for_each_time_that_somebody_wants_it(world: World) -> None:
    world.codes = [1] * 9
    with world.looked_after() as scheduler, world.log() as asked:
        scheduler.look()
        world.goes_on(scheduler, MINUTE)
        asked.wish(Wish.NOW, "a", world.clock.at)
        scheduler.look()
        assert world.begun == 2
        world.goes_on(scheduler, MINUTE)
        scheduler.look()
        assert world.begun == 2
        assert asked.wanted() == frozenset()


def test_a_crawl_that_leaves_the_schedule_is_not_begun_again(world: World) -> None:
    with world.looked_after() as scheduler:
        scheduler.look()
    world.processes["a"].end()
    world.processes["a"].poll()
    world.text = "crawls: {b: {definition: b.yaml, every: 1 h}}"
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, 2 * HOUR)
        scheduler.follow(Schedule.parse(ONE.encode()))
        scheduler.look()
    assert world.visits("a")[0].outcome is Outcome.DROPPED
    assert len(world.visits("a")) == 2
    assert len(world.visits("b")) == 3


@given(st.lists(st.tuples(st.integers(0, 90), st.booleans()), max_size=6), st.integers(1, 100), st.integers(0, 2))
def test_nothing_is_lost_or_doubled_whatever_is_killed(
    tmp_path_factory: pytest.TempPathFactory, kills: list[tuple[int, bool]], lasts: int, failures: int
) -> None:
    world = World(tmp_path_factory.mktemp("world"), TWO, lasts=lasts * MINUTE, codes=[1] * failures)
    for minutes, takes_crawls_along in [*kills, (300, False)]:
        with world.looked_after() as scheduler:
            scheduler.look()
            world.goes_on(scheduler, minutes * MINUTE, 10 * MINUTE)
        if takes_crawls_along:
            for process in world.processes.values():
                if process.poll() is None:
                    process.code, process.ends_at = -9, world.clock.at
        world.clock.at += MINUTE * (minutes % 7)
    for name in "ab":
        visits = world.visits(name)
        told = world.folders[name]
        assert [each.due_at for each in visits] == sorted({each.due_at for each in visits if each.due_at})
        assert len([each for each in visits if each.outcome is Outcome.ENDED]) == len(
            {each.found.crawl for each in visits if each.outcome is Outcome.ENDED}
        )
        ended = sum(each.outcome is Outcome.ENDED for each in visits)
        assert told.crawl == ended + (visits[-1].outcome is None and told.mark != visits[-1].was)
        assert visits[-1].due_at == START + (sum(each.moments for each in visits) - 1) * HOUR


def test_a_rhythm_that_is_changed_has_no_due_moments_before_it_was_known(world: World) -> None:
    world.text = "crawls: {a: {definition: a.yaml, every: 1 h}}"
    with world.looked_after() as scheduler:
        scheduler.look()
        world.goes_on(scheduler, 7 * MINUTE)
        scheduler.follow(Schedule.parse(b"crawls: {a: {definition: a.yaml, every: 2 min}}"))
        world.goes_on(scheduler, 5 * MINUTE)
    # What nobody looked after since is made up for by one visit, which says for how many moments.
    world.clock.at += 10 * MINUTE
    world.text = "crawls: {a: {definition: a.yaml, every: 2 min}}"
    with world.looked_after() as scheduler:
        scheduler.look()
    minutes = [((each.due_at - START) / MINUTE, each.moments) for each in world.visits() if each.due_at]
    assert minutes == [(0, 1), (7, 1), (9, 1), (11, 1), (21, 5)]

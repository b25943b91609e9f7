"""What a person sees of a crawl, in a terminal and elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from aahcrawler.crawl.cluster.supervisor import activity_of, common_pause
from aahcrawler.crawl.reporting.live_display import Activity, Rate, display, facts_of, together
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Counts, State
from aahcrawler.frontier.registry import Doing
from aahcrawler.revisits.time_left import TimeLeft
from online_analysis.icd import Icd

COUNTS = {"pages": 1234, "relevant": 617, "objects": 56_789, "application:phpBB": 900, "application:unknown": 334}


@dataclass
class Crawl:
    """As much of a job as is shown."""

    icd: Icd
    stats: Stats
    counts: Counts = field(default_factory=lambda: Counts({State.QUEUED: 4321}, {}, 3))
    seconds: float = 100.0
    delivery: None = None
    number: int = 1
    pause: str = ""
    activity: Activity | None = None
    time_left: TimeLeft = field(default_factory=lambda: TimeLeft(waiting=700, limit=100))


def crawl(title: str = "Floods", counts: Mapping[str, float] = COUNTS, **limits: str) -> Any:
    said = f"id: t\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {{keywords: [flood]}}\nlimits: {limits}\n"
    return Crawl(Icd.parse(f"title: '{title}'\n{said}".encode()), Stats(counts))


def test_what_became_of_the_pages_is_shown_of_a_crawl_that_knows_former_ones() -> None:
    later = crawl(counts={**COUNTS, "unchanged": 1200, "changed": 30, "new": 4})
    assert "since before" not in facts_of(later, 0.0)
    later.number = 2
    assert facts_of(later, 0.0)["since before"] == "1,200 unchanged, 30 changed, 4 new, 0 gone"


def test_every_fact_is_shown() -> None:
    counts = {**COUNTS, "requisites": 2000, "bytes": 12_345_678, "failed_url:resolve": 1, "failed_url:status 404": 3}
    shown = crawl(counts=counts, pages="2234", bytes="1 GB")
    shown.activity = Activity(["a.test", "b.test"])
    assert facts_of(shown, 10.0) == {
        "now": "fetching from a.test, b.test",
        "pages": "1,234 (10.0 a second)",
        "relevant pages": "617 (50%)",
        "web objects": "56,789",
        "applications": "phpBB 900, unknown 334",
        "images, styles and other files": "2,000",
        "received": "12.3 MB",
        "failures": "4 (not found (404) 3, name not resolved 1)",
        "pages waiting": "4,321",
        "time so far": "0:01:40",
        "time left": "0:01:40 at most",
    }


def test_what_is_fetched_is_not_told_while_nothing_is() -> None:
    shown = crawl()
    shown.activity = Activity(["a.test"])
    shown.pause = "no room; make some"
    assert "now" not in facts_of(shown, 0.0)


def test_of_many_sites_a_few_are_named() -> None:
    assert str(Activity([f"{name}.test" for name in "abcdef"])) == (
        "fetching from a.test, b.test, c.test, d.test and 2 others"
    )


@pytest.mark.parametrize(
    ("activity", "told"),
    [
        (Activity(wait=6.2, next_site="a.test"), "next fetch from a.test in 7 s"),
        (Activity(wait=1200), "next fetch in 1,200 s"),
        (Activity(wait=0.3, next_site="a.test"), "choosing what to fetch next"),
        (Activity(), "choosing what to fetch next"),
    ],
)
def test_a_wait_is_told(activity: Activity, told: str) -> None:
    assert str(activity) == told


def test_a_crew_pauses_when_all_of_it_do() -> None:
    full, away = Doing(pause="no room; make some"), Doing(pause="the server is away")
    assert common_pause([full, away]) == "no room; make some"
    assert common_pause([full, Doing(("a.test",))]) == ""
    assert common_pause([]) == ""


def test_what_a_worker_said_of_its_next_fetch_comes_nearer() -> None:
    soon, late = Doing((), "a.test", 1050.0), Doing((), "b.test", 1500.0)
    assert str(together([activity_of(soon, 1000.0), activity_of(late, 1000.0)])) == "next fetch from a.test in 50 s"
    assert str(activity_of(soon, 1030.0)) == "next fetch from a.test in 20 s"
    assert activity_of(soon, 2000.0).wait == 0.0
    assert activity_of(Doing(), 2000.0).wait is None
    assert together([]) is None


def test_a_pause_is_shown_before_all_else() -> None:
    paused = crawl()
    paused.pause = "no room; make some"
    (name, why), *_ = facts_of(paused, 0.0).items()
    assert (name, why) == ("paused", "no room; make some")


def test_before_the_first_page_there_is_nothing_to_divide_by() -> None:
    facts = facts_of(crawl(counts={}, pages="10"), 0.0)
    assert (facts["pages"], facts["relevant pages"], facts["applications"]) == ("0 (0.0 a second)", "-", "-")


def test_the_rate_is_that_of_the_last_seconds() -> None:
    now = [0.0]
    rate = Rate(lambda: now[0])
    assert rate(100) == 0.0
    rates = []
    for second in range(1, 60):
        now[0] = second
        rates.append(rate(100 + min(second, 30) * 5))
    assert rates[0] == rates[25] == 5.0
    assert 0 < rates[35] < 5
    assert rates[-1] == 0.0


def test_plain_lines_come_at_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("aahcrawler.crawl.reporting.live_display.time", SimpleNamespace(monotonic=lambda: now[0]))
    job, out = crawl("A [b]title[/]"), StringIO()
    with display(Console(file=out, width=40)) as show:
        for _ in range(11):
            show(job)
            now[0] += 1
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0] == (
        "pages: 1,234 (0.0 a second); relevant pages: 617 (50%); web objects: 56,789; "
        "applications: phpBB 900, unknown 334; images, styles and other files: 0; received: 0.0 MB; failures: none; "
        "pages waiting: 4,321; time so far: 0:01:40; time left: 0:01:40 at most"
    )


@pytest.mark.parametrize("title", ["Floods", "Floods [of 1953", "[/] [bold]Floods[/bold] [red", "水害"])
def test_a_terminal_has_a_live_display(title: str) -> None:
    job, out = crawl(title, {**COUNTS, "application:[/odd]": 7}), StringIO()
    with display(Console(file=out, force_terminal=True, width=100)) as show:
        show(job)
        show(job)
    text = out.getvalue()
    assert title in text
    assert "phpBB 900, unknown 334, [/odd] 7" in text
    assert "4,321" in text


def test_names_with_brackets_are_plain_text_in_lines_too() -> None:
    job, out = crawl(counts={**COUNTS, "application:[/odd]": 7}), StringIO()
    with display(Console(file=out)) as show:
        show(job)
    assert "[/odd] 7" in out.getvalue()

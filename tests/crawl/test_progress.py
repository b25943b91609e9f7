"""What a person sees of a crawl, in a terminal and elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import StringIO
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from aahcrawler.crawl.reporting.live_display import Rate, display, facts_of, time_left
from aahcrawler.crawl.stats.collector import Stats
from aahcrawler.frontier.protocol import Counts, State
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


def crawl(title: str = "Floods", counts: Mapping[str, float] = COUNTS, **limits: str) -> Any:
    said = f"id: t\ncontact: a@b.org\nseeds: [http://a.test/]\ntopic: {{keywords: [flood]}}\nlimits: {limits}\n"
    return Crawl(Icd.parse(f"title: '{title}'\n{said}".encode()), Stats(counts))


def test_what_became_of_the_pages_is_shown_of_a_crawl_that_knows_former_ones() -> None:
    later = crawl(counts={**COUNTS, "unchanged": 1200, "changed": 30, "new": 4})
    assert "since before" not in facts_of(later, 0.0)
    later.number = 2
    assert facts_of(later, 0.0)["since before"] == "1,200 unchanged, 30 changed, 4 new, 0 gone"


def test_every_fact_is_shown() -> None:
    assert facts_of(crawl(pages="2234", bytes="1 GB"), 10.0) == {
        "pages": "1,234",
        "pages/s": "10.0",
        "queued": "4,321",
        "web objects": "56,789",
        "harvest ratio": "0.50",
        "applications": "phpBB 900, unknown 334",
        "time left": "0:01:40",
    }


def test_a_pause_is_shown_before_all_else() -> None:
    paused = crawl()
    paused.pause = "no room; make some"
    (name, why), *_ = facts_of(paused, 0.0).items()
    assert (name, why) == ("paused", "no room; make some")


def test_before_the_first_page_there_is_nothing_to_divide_by() -> None:
    facts = facts_of(crawl(counts={}, pages="10"), 0.0)
    assert (facts["pages"], facts["harvest ratio"], facts["applications"]) == ("0", "-", "-")
    assert facts["time left"] == "-"


@pytest.mark.parametrize(
    ("limits", "rate", "left"),
    [
        ({}, 10.0, "no limit"),
        ({"time": "10 min"}, 0.0, "0:08:20"),
        ({"time": "50 s"}, 1.0, "0:00:00"),
        ({"pages": "1234"}, 1.0, "0:00:00"),
        ({"pages": "1000"}, 1.0, "0:00:00"),
        ({"pages": "2234", "time": "10 min"}, 10.0, "0:01:40"),
        ({"bytes": "2 MB"}, 1.0, "0:01:40"),
        ({"bytes": "1 MB"}, 0.0, "0:00:00"),
        ({"pages": str(10**15)}, 0.01, "115740 days, 17:46:40"),
    ],
)
def test_the_time_left_is_that_of_the_first_limit(limits: dict[str, str], rate: float, left: str) -> None:
    assert time_left(crawl(counts={**COUNTS, "bytes": 1_000_000}, **limits), rate) == left


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
        "pages 1,234, pages/s 0.0, queued 4,321, web objects 56,789, harvest ratio 0.50, "
        "applications phpBB 900, unknown 334, time left no limit"
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

"""Each known page is visited at its own rhythm, and none that nobody knows is left alone."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aahcrawler.layout import CHANGES, RESTING
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.visit_record import VisitRecord, milliseconds
from aahcrawler.schedule.page_rhythms import DuePages, PageRhythm, RestingPages, due_pages, series_by
from aahcrawler.schedule.schedule_file import page_rhythm
from knowledge_base.loader import load
from online_analysis.icd import IcdError
from tests.crawl.crawling import aah, rows, summary, write_icd
from tests.crawl.site import Site, html, links, serving

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
RHYTHM = "{least: 6 h, greatest: 100 days, first: 2 days, policy: stormcrawler}"


def known(
    folder: Path,
    visits: Mapping[str, Sequence[tuple[float, str]]],
    template: str = "",
    sitemaps: Mapping[str, Mapping[str, str]] | None = None,
) -> None:
    """Write a log of changes: of each page the days of its visits, and the payload that each saw.

    An empty payload is a visit without an answer, ``gone`` one that found no page. ``sitemaps`` name pages with how
    often they change.
    """
    (folder / CHANGES).mkdir(parents=True)
    with ChangeLog(folder / CHANGES, "test", 1, lambda: START) as log:
        every = sorted((day, url, payload) for url, found in visits.items() for day, payload in found)
        for day, url, payload in every:
            at = milliseconds(START + day * DAY)
            answer: dict[str, object] = {"status": 200, "payload": f"sha1:{payload}"}
            if not payload:
                answer = {"reason": "timeout"}
            if payload == "gone":
                answer = {"status": 404}
            log.visited(VisitRecord.model_validate({"url": url, "at": at, "template": template, **answer}))
        for via, stated in (sitemaps or {}).items():
            log.listed(via, START, {}, stated)


def test_pages_that_change_are_due_and_those_that_do_not_rest(tmp_path: Path) -> None:
    known(
        tmp_path,
        {
            "http://a.test/hot": [(0, "A"), (2, "B"), (3, "C"), (3.5, "D")],
            "http://a.test/cold": [(0, "A"), (2, "A"), (5, "A")],
            "http://a.test/once": [(0, "A")],
            "http://a.test/failed": [(2, "A"), (3, ""), (3.5, "")],
        },
    )
    found = due_pages(tmp_path, 2, page_rhythm(RHYTHM), START + 5.5 * DAY)
    resting = [name for name in ("hot", "cold", "once", "failed") if f"http://a.test/{name}" in found.resting]
    assert resting == ["cold"]
    assert (found.due, found.left_over) == (3, 0)
    # Half a day later the least that the hot page waits, four and a half days after the last visit the cold one.
    later = due_pages(tmp_path, 2, page_rhythm(RHYTHM), START + 9.6 * DAY)
    assert later.due == 4


def test_seeds_and_what_nobody_knows_never_rest(tmp_path: Path) -> None:
    known(tmp_path, {"http://a.test/": [(0, "A")], "http://a.test/x": [(0, "A")]})
    found = due_pages(tmp_path, 2, page_rhythm(RHYTHM), START + DAY, ["http://a.test/"])
    assert "http://a.test/" not in found.resting
    assert "http://a.test/x" in found.resting
    assert "http://a.test/unknown" not in found.resting
    assert due_pages(tmp_path / "no-folder", 1, page_rhythm(RHYTHM), START).resting.pages == frozenset()


def test_what_does_not_fit_before_the_next_run_is_left_over_the_longest_due_first(tmp_path: Path) -> None:
    pages = {f"http://a.test/{n}": [(n / 8640, "A")] for n in range(20)}  # Ten seconds from one to the next.
    known(tmp_path, pages)
    rhythm = page_rhythm("{least: 6 h, within: 65 s}")
    found = due_pages(tmp_path, 2, rhythm, START + 100 * DAY)
    assert (found.due, found.left_over) == (6, 14)
    assert [url for url in pages if url not in found.resting] == [f"http://a.test/{n}" for n in range(6)]
    counted = "known pages that are due: 6, 14 more do not fit before the next run; left alone: 14"
    assert str(found) == f"{counted}; rhythms are told by the first interval (20)"


def resting(found: DuePages, urls: Iterable[str]) -> list[str]:
    return [url.removeprefix("http://a.test/") for url in urls if url in found.resting]


def test_a_page_seen_once_is_due_as_its_siblings_are(tmp_path: Path) -> None:
    often = {f"http://a.test/{n}": [(day, f"{n} {day}") for day in range(20, 30)] for n in range(5)}
    seldom = {f"http://a.test/{n}": [(day, "A") for day in range(0, 30, 7)] for n in range(5)}
    once = {"http://a.test/once": [(28.0, "A")]}
    for name, others in (("often", often), ("seldom", seldom)):
        known(tmp_path / name, {**others, **once}, "a.test news")
    rhythm = page_rhythm("{least: 1 day, greatest: 365 days}")
    found = {name: due_pages(tmp_path / name, 2, rhythm, START + 32 * DAY) for name in ("often", "seldom")}
    assert [name for name, each in found.items() if resting(each, once)] == ["seldom"]
    assert "its own visits (5), pages like it (1)" in str(found["often"])


def test_what_a_sitemap_states_sets_the_first_interval(tmp_path: Path) -> None:
    pages = {f"http://a.test/{name}": [(0.0, "A")] for name in ("daily", "yearly")}
    stated = {url: url.rpartition("/")[2] for url in pages}
    known(tmp_path, pages, sitemaps={"http://a.test/sitemap.xml": stated})
    found = due_pages(tmp_path, 2, page_rhythm("{least: 1 day}"), START + 10 * DAY)
    assert resting(found, pages) == ["yearly"]
    assert found.demand is not None
    assert found.demand.grounds == {"its sitemap": 2}


FORUM = {f"http://a.test/t/5{page}": [(0.0, "A"), (7.0, "A")] for page in ("", "?page=2", "?page=3")}


def thread(url: str, template: str) -> tuple[str, int]:  # noqa: ARG001
    first, _, number = url.partition("?page=")
    return first, int(number or 0)


@pytest.mark.parametrize(
    ("change", "left_alone"),
    [
        ({}, ["t/5", "t/5?page=2"]),
        ({"http://a.test/t/5?page=3": [(0.0, "A"), (8.0, "gone")]}, []),
        ({"http://a.test/t/5": [(0.0, "A"), (7.0, "B")]}, ["t/5?page=2"]),
    ],
)
def test_a_thread_is_due_by_its_last_page(
    tmp_path: Path, change: Mapping[str, Sequence[tuple[float, str]]], left_alone: list[str]
) -> None:
    known(tmp_path, {**FORUM, **change})
    rhythm = page_rhythm("{least: 1 day, greatest: 365 days, policy: stormcrawler}")
    found = due_pages(tmp_path, 2, rhythm, START + 100 * DAY, series_of=thread)
    assert resting(found, FORUM) == left_alone
    whole = due_pages(tmp_path, 2, rhythm, START + 400 * DAY, series_of=thread)
    assert not whole.resting.pages


def test_pages_of_a_thread_are_those_that_differ_in_their_number() -> None:
    series_of = series_by(load())
    pages = [
        series_of(f"http://a.test/viewtopic.php?t=5{number}", "a.test phpBB/thread") for number in ("", "&start=30")
    ]
    assert pages == [("http://a.test/viewtopic.php?t=5", 0), ("http://a.test/viewtopic.php?t=5", 30)]
    assert series_of("http://a.test/viewforum.php?f=5", "a.test phpBB/board") is None
    assert series_of("http://a.test/news", "a.test /news") is None


def test_the_pages_of_a_section_are_due_together_or_none(tmp_path: Path) -> None:
    pages = {f"http://a.test/{n}": [(0.0, "A"), (n, f"{n}")] for n in (1, 4, 9)}
    known(tmp_path, pages, sitemaps={"http://a.test/sitemap.xml": dict.fromkeys(pages, "weekly")})
    rhythm = "{least: 1 day, greatest: 30 days, first: 2 days, policy: stormcrawler, sections: %s}"
    moments = [START + day * DAY for day in (4.5, 9.5)]
    together = [len(due_pages(tmp_path, 2, page_rhythm(rhythm % "yes"), now).resting.pages) for now in moments]
    alone = [len(due_pages(tmp_path, 2, page_rhythm(rhythm % "no"), now).resting.pages) for now in moments]
    assert (together, alone) == ([3, 0], [2, 1])


def test_a_budget_is_kept_and_divided_by_its_objective(tmp_path: Path) -> None:
    fast = {f"http://a.test/fast/{n}": [(day, f"{day}") for day in range(30)] for n in range(10)}
    slow = {f"http://a.test/slow/{n}": [(day, f"{day // 15}") for day in range(30)] for n in range(10)}
    known(tmp_path, {**fast, **slow})
    now = START + 36 * DAY
    found = {
        objective: due_pages(
            tmp_path,
            2,
            page_rhythm(f"{{least: 1 day, greatest: 60 days, budget: 3 a day, objective: {objective}}}"),
            now,
        )
        for objective in ("changes", "freshness")
    }
    assert len(resting(found["changes"], fast)) < len(resting(found["changes"], slow))
    assert len(resting(found["freshness"], fast)) > len(resting(found["freshness"], slow))
    scarce = due_pages(tmp_path, 2, page_rhythm("{least: 1 day, greatest: 2 days, budget: 0.1 a day}"), now)
    assert (scarce.due, scarce.left_over, scarce.beyond_budget) == (4, 0, 16)  # Of 36 days.
    assert "due: 4, 16 more wait for the budget; " in str(scarce)


def test_what_rests_is_kept_for_its_crawl_alone(tmp_path: Path) -> None:
    known(tmp_path, {"http://a.test/x": [(0, "A")]})
    found = due_pages(tmp_path, 2, page_rhythm(RHYTHM), START + DAY)
    (tmp_path / RESTING).write_text(found.resting.content(), "utf-8")
    assert "http://a.test/x" in RestingPages.of(tmp_path, 2)
    assert "http://a.test/x" not in RestingPages.of(tmp_path, 3)
    assert "a.test" not in (tmp_path / RESTING).read_text("utf-8")


def test_a_rhythm_is_read_with_its_mistakes() -> None:
    assert PageRhythm.model_validate_json(page_rhythm(RHYTHM).model_dump_json()) == page_rhythm(RHYTHM)
    with pytest.raises(IcdError, match=r"--revisits:1: revisits.leest: is no field of a rhythm; write `least`"):
        page_rhythm("{leest: 1 h}")
    rhythm = page_rhythm("{budget: 240 an hour, objective: freshness, sections: yes}")
    assert rhythm.budget == 24 * 240
    assert PageRhythm.model_validate_json(rhythm.model_dump_json()) == rhythm
    for wrong in ("budget: 100", "budget: 0 a day", "budget: many a day", "objective: fame"):
        with pytest.raises(IcdError, match=r"--revisits:1: revisits\.(budget|objective)"):
            page_rhythm(f"{{{wrong}}}")


@pytest.mark.starts
@pytest.mark.slow
def test_a_crawl_visits_seeds_and_new_pages_and_leaves_alone_what_is_not_due(tmp_path: Path) -> None:
    site = Site({"/": html("Front", links("/old", "/older")), "/old": html("Old"), "/older": html("Older")})
    with serving(site):
        definition = write_icd(tmp_path, site.url)
        assert aah("crawl", definition).code == 0
        site.pages |= {"/": html("Front", links("/old", "/older", "/new")), "/new": html("New", links("/old"))}
        site.asked.clear()
        ended = aah("crawl", definition, "--revisits", "{least: 1 day}")
    assert ended.code == 0, ended.err
    assert sorted(site.paths()) == ["/", "/new"]
    assert summary(tmp_path / "crawl")["refused"]["not_due"] >= 2
    visited = {row["url"].rpartition("/")[2] for row in rows(tmp_path / "crawl") if row["crawl"] == 2}
    assert visited == {"", "new"}
    assert "known pages that are due: 0; left alone: 2" in (tmp_path / "crawl" / "crawl.log").read_text("utf-8")

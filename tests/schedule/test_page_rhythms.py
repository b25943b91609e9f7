"""Each known page is visited at its own rhythm, and none that nobody knows is left alone."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from aahcrawler.layout import CHANGES, RESTING
from aahcrawler.revisits.change_log import ChangeLog
from aahcrawler.revisits.visit_record import VisitRecord, milliseconds
from aahcrawler.schedule.page_rhythms import PageRhythm, RestingPages, due_pages
from aahcrawler.schedule.schedule_file import page_rhythm
from online_analysis.icd import IcdError
from tests.crawl.crawling import aah, rows, summary, write_icd
from tests.crawl.site import Site, html, links, serving

START = datetime(2026, 3, 2, 12, tzinfo=UTC)
DAY = timedelta(days=1)
RHYTHM = "{least: 6 h, greatest: 100 days, first: 2 days, policy: stormcrawler}"


def known(folder: Path, visits: Mapping[str, Sequence[tuple[float, str]]]) -> None:
    """Write a log of changes: of each page the days of its visits, and the payload that each saw; empty for none."""
    (folder / CHANGES).mkdir()
    with ChangeLog(folder / CHANGES, "test", 1, lambda: START) as log:
        every = sorted((day, url, payload) for url, found in visits.items() for day, payload in found)
        for day, url, payload in every:
            at = milliseconds(START + day * DAY)
            answer = {"status": 200, "payload": f"sha1:{payload}"} if payload else {"reason": "timeout"}
            log.visited(VisitRecord.model_validate({"url": url, "at": at, **answer}))


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
    assert str(found) == "known pages that are due: 6, 14 more do not fit before the next run; left alone: 14; rhythms are told by the first interval (20)"


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

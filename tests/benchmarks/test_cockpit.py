"""The crawl that is made without crawling is one, and its views are measured."""

from pathlib import Path

import pytest

from aahcrawler.frontier.protocol import State
from aahcrawler.objects.reader import page_rows
from aahcrawler.refusals import failures
from benchmarks import cockpit
from benchmarks.cockpit import COCKPIT_PAGES
from benchmarks.cockpit_crawl import fill_frontier, make, running, write_crawl
from benchmarks.cockpit_pages import Shape, invented, queued_url
from tests.crawl.crawling import aah, summary

SHAPE = Shape(120, 300)


def test_what_is_made_is_sound_and_counts_as_what_it_was_made_of(tmp_path: Path) -> None:
    write_crawl(tmp_path, SHAPE)
    checked = aah("archive", "check", tmp_path)
    assert checked.code == 0, checked.out
    pages = list(page_rows(tmp_path))
    made = [invented(SHAPE, at) for at in range(SHAPE.pages)]
    assert [page.url for page in pages] == [page.url for page in made]
    told = summary(tmp_path)
    assert told["pages"] == sum(page.is_page for page in pages)
    assert told["relevant"] == sum(bool(page.relevant) for page in pages if page.is_page)
    assert {each.failed for each in failures(tmp_path / "refused", 1)} == {p.url for p in made if p.status >= 400}


def test_the_frontier_is_that_of_the_end_of_the_crawl(tmp_path: Path) -> None:
    write_crawl(tmp_path, SHAPE)
    with running(tmp_path) as frontier:
        fill_frontier(frontier, SHAPE)
        counts = frontier.counts()
        assert counts.pages[State.QUEUED] == len({queued_url(at) for at in range(SHAPE.queued)})
        ended = counts.pages[State.DONE] + counts.pages.get(State.FAILED, 0)
        assert ended == len({invented(SHAPE, at).url for at in range(SHAPE.pages)})
        assert not counts.pages.get(State.LEASED, 0)


@pytest.mark.soak
def test_every_view_of_a_crawl_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cockpit, "PACE", 0.0)
    make(tmp_path, SHAPE)
    rows = cockpit.measure(tmp_path, SHAPE, 2)
    others = {"index, a page", "cockpit: replay of a capture, marked"}
    jobs = {"studio: a draft", "studio: tried on the archive"}
    assert {row["view"] for row in rows} == {*cockpit.VIEWS, *COCKPIT_PAGES, *cockpit.STUDIO_PAGES} | others | jobs
    assert all(isinstance(row["p50_ms"], float) and row["p50_ms"] > 0 for row in rows)
    assert all(isinstance(row["bytes"], int) and row["bytes"] > 0 for row in rows if row["view"] not in jobs)

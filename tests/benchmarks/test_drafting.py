"""The benchmark of drafting gives a draft the pages it says, and scores what the draft reads of the whole site."""

from pathlib import Path

import pytest

from aahcrawler.editor.drafting.level_plans import Given
from benchmarks import drafting
from benchmarks.drafting import given, measure
from benchmarks.quick import Reading
from benchmarks.recorded import RecordedSite
from tests.benchmarks import tinysite


def counted(_: RecordedSite, reading: Reading) -> dict[str, int | float | str | None]:
    """Stand in for the scorer, which is no part of the project."""
    return {"recall": len(reading.objects)}


def test_the_pages_with_most_objects_and_the_first_lists_are_given(tmp_path: Path) -> None:
    pages = given(tinysite.record(tmp_path), contents=2, lists=1)
    assert [page.url for page in pages.contents] == ["http://tiny.test/topic/1", "http://tiny.test/topic/2"]
    assert [page.url for page in pages.lists] == ["http://tiny.test/"]


def test_what_a_draft_of_one_page_reads_of_all_pages_is_scored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafting, "scores", counted)
    site = tinysite.record(tmp_path)
    row = measure(site, "web-forum", given(site, contents=1, lists=0), tmp_path / "drafted")
    assert row["error"] is None
    assert row["recall"] == sum(map(len, tinysite.POSTS.values()))


def test_a_site_of_which_no_draft_can_be_made_says_why(tmp_path: Path) -> None:
    site = tinysite.record(tmp_path)
    row = measure(site, "web-forum", Given(()), tmp_path / "drafted")
    assert "at least one page" in str(row["error"])
    assert row["recall"] is None

from pathlib import Path

import pytest

from benchmarks.damage import damaged
from benchmarks.quick import Known, Method, Repairs, attempt, costs, wanted
from tests.benchmarks import tinysite


def known(folder: Path) -> Known:
    """Return the invented site as the benchmark knows it."""
    source = tinysite.knowledge_base(folder / "whole")
    return Known(tinysite.record(folder), folder / "trimmed", source)


@pytest.mark.slow
def test_without_repair_a_redesign_costs_objects_and_with_memory_they_are_found_again(tmp_path: Path) -> None:
    of = known(tmp_path)
    whole, _ = attempt(of, of.site, Method.NONE)
    assert len(whole.objects) == sum(map(len, tinysite.POSTS.values()))
    bodies = {str(each.first("body")) for each in whole.objects}
    seed = next(
        seed
        for seed in range(20)
        if not attempt(of, damaged(of.site, tmp_path / "tried", 7, seed), Method.NONE)[0].objects
    )
    copy = damaged(of.site, tmp_path / "copy", 7, seed)
    repaired, repairs = attempt(of, copy, Method.REPAIR, memory=True)
    assert {str(each.first("body")) for each in repaired.objects} & bodies
    assert len(repairs.taken) == len(repairs.learned)
    assert all(taken >= 2 for taken in repairs.taken)


def test_costs_of_learning_are_those_of_a_level_until_the_last_of_its_actions_is_learned(tmp_path: Path) -> None:
    of = known(tmp_path)
    reading, _ = attempt(of, of.site, Method.NONE)
    assert costs(reading, {})["ms_per_page_learning"] is None
    assert costs(reading, {"topic": len(reading.seen)})["ms_per_page_learning"] is not None


def test_pages_on_which_an_action_works_do_not_count_as_pages_of_its_repair(tmp_path: Path) -> None:
    of = known(tmp_path)
    repairs = Repairs(of.trimmed)
    for page in of.pages:
        repairs.assist(page, None)
    assert set(repairs.adapter.failing.values()) <= {0}
    assert repairs.taken == []


def test_objects_and_pages_are_written_as_the_scorer_reads_them(tmp_path: Path) -> None:
    of = known(tmp_path)
    reading, _ = attempt(of, of.site, Method.NONE)
    objects, pages = reading.write(tmp_path)
    first = objects.read_text("utf-8").splitlines()[0]
    assert '"author": "Ada"' in first
    assert '"date": "2024-01-10T10:00:00+00:00"' in first
    assert pages.read_text("utf-8").splitlines()[0] == '{"url": "http://tiny.test/", "level": "intermediate"}'


def test_addresses_that_a_crawl_would_not_fetch_are_not_read(tmp_path: Path) -> None:
    of = known(tmp_path)
    page = of.pages[0]
    more = [
        type(page)(f"http://tiny.test/{path}", 200, page.headers, page.body, page.fetched_at) for path in ("reply", "")
    ]
    assert [each.url for each in wanted((*of.pages[:1], *more), of.application)] == ["http://tiny.test/"]

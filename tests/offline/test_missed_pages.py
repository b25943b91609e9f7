"""Relevant pages that the oracle found and a strategy did not: each has its cause."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.page import Page
from knowledge_base.file_selection import named_folders
from offline.simulation.report import missed_rows
from offline.simulation.sample import read_samples
from offline.simulation.simulation import Cause, Finished, Missed, Missing, Simulation, Watcher, simulate
from tests.offline.simulated_world import COOKING, SOLAR, with_judge, with_reference, write_world
from tests.page.building import page_of


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    world = with_reference(write_world(tmp_path_factory.mktemp("missed")))
    asked = Simulation(world, ("breadth-first",), named_folders(""), judge=with_judge(world), causes=True)
    return simulate(asked, read_samples(world), Watcher())


def test_the_oracle_runs_beside_what_was_named(finished: Finished) -> None:
    assert {order.strategy for order in finished.orders} == {"breadth-first", "oracle"}
    assert [each.strategy for each in finished.missed] == ["breadth-first", "breadth-first"]


def test_each_relevant_page_of_the_oracle_is_found_or_has_a_cause(finished: Finished) -> None:
    orders = {order.strategy: order.pages for order in finished.orders if order.sample.number == 0}
    relevant = {page for page in orders["oracle"] if finished.urls[page].startswith(SOLAR)}
    missed = finished.missed[0]
    assert {page for page, _ in missed.causes} == relevant - set(orders["breadth-first"])
    assert missed.found == len(relevant & set(orders["breadth-first"]))


def test_what_is_queued_was_outranked_and_has_a_rank_and_what_no_page_links_to_is_unlinked(finished: Finished) -> None:
    missed = finished.missed[0]
    causes = {finished.urls[page]: cause for page, cause in missed.causes}
    fetched = next(order.pages for order in finished.orders if order.strategy == "breadth-first")
    numbers = [int(url.rpartition("/")[2]) for page in fetched if (url := finished.urls[page])[-1].isdigit()]
    linked = max(numbers) + 2
    for url, cause in causes.items():
        number = int(url.rpartition("/")[2])
        assert (cause is Cause.UNLINKED) == (number > linked)
    assert Cause.OUTRANKED in causes.values()
    assert Cause.UNLINKED in causes.values()
    queued = [cause for cause in causes.values() if cause in (Cause.OUTRANKED, Cause.UNDERSCORED)]
    assert len(missed.ranks) == len(queued)
    assert min(missed.ranks) >= 1


def test_the_table_adds_up_by_strategy() -> None:
    first = Missed("a#0", "max", 3, ((1, Cause.REFUSED), (2, Cause.OUTRANKED)), (7,))
    second = Missed("a#1", "max", 2, ((4, Cause.UNDERSCORED),), (9,))
    *_, over_all = missed_rows([first, second])
    assert over_all == {
        "strategy": "max",
        "sample": "all",
        "found": 5,
        "unlinked": 0,
        "refused": 1,
        "underscored": 1,
        "outranked": 1,
        "rank": 8,
    }


def test_links_that_are_not_followed_are_told_from_those_that_are_not_there() -> None:
    markup = {0: '<a href="/1">followed</a> <a href="/2">not followed</a>', 1: "<p>no links</p>"}
    targets = {0: (1,), 1: ()}

    class World:
        def page(self, number: int) -> Page:
            return page_of(f"<html><body>{markup[number]}</body></html>", url=f"https://a.test/{number}")

        def number(self, url: str) -> int:
            return int(url.rpartition("/")[2])

    class Visits:
        def visit(self, number: int) -> object:
            return SimpleNamespace(targets=targets[number], score=0.5)

    missing = Missing(cast("Any", World()), cast("Any", Visits()), lambda number: number > 0)
    found = dict(missing.causes((0, 1), (1, 2, 3), ()))
    assert found == {2: Cause.REFUSED, 3: Cause.UNLINKED}


@pytest.mark.parametrize(("score", "cause"), [(0.1, Cause.UNDERSCORED), (0.4, Cause.OUTRANKED)])
def test_a_queued_page_is_underscored_where_what_was_fetched_in_vain_is_worth_as_much(
    score: float, cause: Cause
) -> None:
    scores = {0: 0.2, 1: 0.3, 2: score}

    class Visits:
        def visit(self, number: int) -> object:
            return SimpleNamespace(targets=(1, 2), score=scores[number])

    missing = Missing(cast("Any", None), cast("Any", Visits()), lambda number: number == 2)
    assert dict(missing.causes((0, 1), (2,), ())) == {2: cause}


@pytest.mark.starts
def test_the_command_shows_and_writes_the_causes(tmp_path: Path) -> None:
    world = with_reference(write_world(tmp_path / "world"))
    judge, written = with_judge(world), tmp_path / "out.json"
    arguments = ["simulate", str(world), "--strategies", "breadth-first", "--judge", str(judge), "--causes"]
    shown = CliRunner().invoke(app, [*arguments, "--json", str(written)])
    assert shown.exit_code == 0, shown.output
    assert "underscored" in shown.output
    document = json.loads(written.read_text())
    assert document["causes"][-1]["sample"] == "all"
    assert sum(document["causes"][-1][cause] for cause in Cause) == len(document["missed"])
    assert all(not each["url"].startswith(COOKING) for each in document["missed"])


def test_causes_need_a_judge(tmp_path: Path) -> None:
    world = with_reference(write_world(tmp_path / "world"))
    refused = CliRunner().invoke(app, ["simulate", str(world), "--causes"])
    assert refused.exit_code != 0
    assert "--judge" in refused.output

"""Hostile responses: a seed gives the same mutants, none of which fails to be read; a finding can be read again."""

import random
from pathlib import Path

import pytest

from benchmarks.hostile.fuzzing import Finding, Taken, apart, findings, kept, kept_response, mutant, reader
from benchmarks.hostile.mutations import MUTATIONS, Response, mutated
from benchmarks.hostile.shapes import SHAPES, growth, page_of
from tests.helper.saved_pages import saved_pages

HTML = (("Content-Type", "text/html; charset=utf-8"),)
GIVEN = tuple(Response(each.page.url, 200, HTML, each.page.body) for each in saved_pages()[:12])


def test_a_seed_makes_the_same_mutants_again() -> None:
    assert [mutant(GIVEN, 7, number) for number in range(20)] == [mutant(GIVEN, 7, number) for number in range(20)]
    assert mutant(GIVEN, 7, 1) != mutant(GIVEN, 8, 1)


def test_each_mutation_changes_pages() -> None:
    for name, change in MUTATIONS.items():
        bodies = [change(GIVEN[0].body, random.Random(number), [GIVEN[1].body]) for number in range(30)]
        assert any(body != GIVEN[0].body for body in bodies), name
    assert len({mutated(GIVEN[0], random.Random(number), ())[0].fields for number in range(50)}) > 5


@pytest.mark.slow
@pytest.mark.starts
@pytest.mark.parametrize("number", [6, pytest.param(100, marks=pytest.mark.soak)])
def test_mutants_are_read_without_a_failure(number: int) -> None:
    failed = [each for each in findings(GIVEN, reader(), 39, most=number) if each.kind in {"raised", "ended"}]
    assert [(each.number, each.mutations, each.taken.failed) for each in failed] == []


def test_what_is_found_is_kept_with_how_to_read_it_again(tmp_path: Path) -> None:
    response, names = mutant(GIVEN, 0, 3)
    found = Finding(3, names, Taken(2.0, 100.0), response)
    file = kept(found, tmp_path, 0)
    assert file.name == "slow-0-3.json"
    assert kept_response(file) == response
    assert f"--again {file}" in file.read_text()


@pytest.mark.starts
def test_a_reading_that_stands_is_ended_and_one_that_dies_is_told() -> None:
    def standing() -> Taken:
        while True:
            pass

    def dying() -> Taken:
        raise SystemExit

    assert apart(standing, 0.5).ended
    assert apart(lambda: Taken(1.0, links=3), 60).links == 3
    assert apart(dying, 60).failed


def test_pages_of_each_shape_have_about_their_size() -> None:
    for shape in SHAPES:
        assert 12_000 < len(page_of(shape, 20_000)) < 45_000, shape


@pytest.mark.starts
def test_growth_is_told_by_shape() -> None:
    row = growth("spans", (1_000, 100_000), lambda response: Taken(len(response.body) / 1e5, 80.0))
    assert (row["s at 0.001 MB"], row["s at 0.1 MB"], row["exponent"], row["failed"]) == (0.01, 1.0, 0.99, "")

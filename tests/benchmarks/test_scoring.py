import json
from itertools import islice
from pathlib import Path

import pytest

from benchmarks import results
from benchmarks.scored_pages import TOPIC, generated
from benchmarks.scoring import METHODS, Case, cases, measure


@pytest.fixture(scope="module")
def found() -> list[Case]:
    return cases(generated(3), 18)


@pytest.mark.slow
def test_pages_have_about_a_hundred_units_and_are_the_same_for_a_seed(found: list[Case]) -> None:
    assert len(found) == 18
    assert all(60 <= case.units <= 160 for case in found)
    assert [page.body for page in islice(generated(3), 3)] == [page.body for page in islice(generated(3), 3)]


@pytest.mark.slow
def test_every_way_scores_the_page_and_all_of_its_links(found: list[Case]) -> None:
    texts = [part.text for part in found[0].document.parts]
    for name, make in METHODS.items():
        method = make(TOPIC, texts)
        for case in found[:3]:
            page, *links = method.score(case.document)
            assert len(links) == len(case.document.outlinks), name
            assert all(score is not None and 0 <= score <= 1.000001 for score in (page, *links)), name


@pytest.mark.slow
def test_every_way_finds_pages_about_the_topic(found: list[Case]) -> None:
    for name, make in METHODS.items():
        method = make(TOPIC, ())
        scores = [method.score(case.document)[0] or 0.0 for case in found]
        about = [score for number, score in enumerate(scores, 1) if number % 3 == 0]
        others = [score for number, score in enumerate(scores, 1) if number % 3]
        assert min(about) > max(others), name


@pytest.mark.slow
def test_rows_are_written_by_method(found: list[Case], tmp_path: Path) -> None:
    rows = measure(found, 2)
    results.report(rows, tmp_path / "rows.json")
    written = json.loads((tmp_path / "rows.json").read_text())["rows"]
    assert [row["method"] for row in written] == ["aahcrawler", "hashing_vectorizer", "dict_cosine"]
    assert all(row["pages_per_second"] > 0 and row["parse_ms_per_page"] > 0 for row in written)

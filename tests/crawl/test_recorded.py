"""Recorded sites crawled over HTTP with the shipped defaults, and the least that has to come of each."""

import pytest

from benchmarks import recorded
from benchmarks.sites import measure
from tests.recorded_site import recorded_site

LEAST = {"recall": 0.99, "precision": 0.98, "title": 0.98, "author": 0.98, "date": 0.98, "level_accuracy": 0.98}
MOST = {"duplicate_share": 0.01, "requests_per_needed_page": 1.6, "false_objects": 0.02}


@pytest.mark.parametrize(
    "name",
    [
        "phpbb/prosilver",
        *(pytest.param(name, marks=pytest.mark.soak) for name in ("wordpress/twentytwentyone", "mybb/default")),
    ],
)
def test_a_recorded_site_is_collected_whole_with_few_requests(name: str) -> None:
    row = measure(recorded_site(name), recorded.SHARED / "score.py")
    measured = {field: value for field, value in row.items() if isinstance(value, int | float)}
    assert measured.keys() >= {*LEAST, *MOST}
    assert {field: measured[field] for field, least in LEAST.items() if measured[field] < least} == {}
    assert {field: measured[field] for field, most in MOST.items() if measured[field] > most} == {}

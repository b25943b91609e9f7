"""Recorded sites crawled over HTTP with the shipped defaults, and the least that has to come of each."""

from collections.abc import Mapping, Sequence

import pytest

from benchmarks import recorded, sites
from benchmarks.process_memory import Finished
from tests.crawl.crawling import command, running
from tests.recorded_site import recorded_site

LEAST = {"recall": 0.99, "precision": 0.98, "title": 0.98, "author": 0.98, "date": 0.98, "level_accuracy": 0.98}
MOST = {"duplicate_share": 0.01, "requests_per_needed_page": 1.6, "false_objects": 0.02}


def forked(line: Sequence[str], environment: Mapping[str, str], timeout: float) -> Finished:
    """Run what the benchmark would start, which imports all anew, in a forked process."""
    arguments = line[len(command()) :]
    with running(*arguments, environment=environment) as process:
        ended = process.ended(timeout)
    return Finished(ended.code, 0.0, ended.out)


@pytest.mark.parametrize(
    "name",
    [
        "pelican/simple",
        *(
            pytest.param(name, marks=pytest.mark.soak)
            for name in ("phpbb/prosilver", "wordpress/twentytwentyone", "mybb/default")
        ),
    ],
)
def test_a_recorded_site_is_collected_whole_with_few_requests(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites, "run", forked)
    row = sites.measure(recorded_site(name), recorded.SHARED / "score.py")
    measured = {field: value for field, value in row.items() if isinstance(value, int | float)}
    assert measured.keys() >= {*LEAST, *MOST}
    assert {field: measured[field] for field, least in LEAST.items() if measured[field] < least} == {}
    assert {field: measured[field] for field, most in MOST.items() if measured[field] > most} == {}

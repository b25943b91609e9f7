"""Change points of edit histories that were planted, and answers of the API as they come."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from offline.collections.reference_pages import EditHistory, HistoryError, Revision, change_of, read_history

FIRST = datetime(2015, 12, 2, 20, 15, tzinfo=UTC)


def planted(seed: int, days: int, change: int, before: float, after: float) -> EditHistory:
    """Return a history whose edits a day fall from about ``before`` to about ``after`` at a day."""
    chance = np.random.default_rng(seed)
    counts = [*chance.poisson(chance.gamma(8, before / 8, change)), *chance.poisson(after, days - change)]
    counts[0] += 1
    counts[-1] += 1
    times = [
        FIRST.replace(hour=0, minute=0) + timedelta(days=day, minutes=minute * 7)
        for day, n in enumerate(counts)
        for minute in range(int(n))
    ]
    return EditHistory(tuple(Revision(saved, number) for number, saved in enumerate(times, 1)))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(
    ("days", "change", "before", "after"), [(780, 80, 12, 0.2), (400, 14, 60, 1), (3000, 220, 8, 0.1)]
)
def test_a_planted_change_is_found_within_a_day(seed: int, days: int, change: int, before: float, after: float) -> None:
    found = planted(seed, days, change, before, after).change_point()
    assert found is not None
    midnight = FIRST.replace(hour=0, minute=0)
    assert abs((found + timedelta(seconds=1) - midnight).days - change) <= 1


@pytest.mark.parametrize("seed", range(20))
def test_no_change_is_found_where_none_is(seed: int) -> None:
    counts = np.random.default_rng(seed).poisson(6, 300).astype(np.float64)
    assert change_of(counts) is None


def test_a_page_that_is_edited_ever_more_has_no_version_that_was_whole() -> None:
    history = planted(1, 300, 200, 0.3, 20)
    assert change_of(np.array([0.0] * 200 + [20.0, 24.0] * 50)) == 200
    assert history.change_point() is None


def test_the_change_is_that_of_the_likelihood_worked_out_one_by_one() -> None:
    values = np.random.default_rng(4).poisson([9.0] * 30 + [1.0] * 70).astype(np.float64)

    def cost(part: np.ndarray) -> float:
        return float(len(part) * np.log(max(part.var(), 1 / 12)))

    costs = {place: cost(values[:place]) + cost(values[place:]) for place in range(2, 99)}
    assert change_of(values) == min(costs, key=lambda place: costs[place])


@pytest.mark.parametrize("counts", [[], [3.0], [5.0, 0.0, 0.0], [0.0] * 50])
def test_short_and_even_histories_have_no_change(counts: list[float]) -> None:
    assert change_of(np.array(counts)) is None


def test_the_version_that_was_current_is_the_last_one_saved_before() -> None:
    history = EditHistory(tuple(Revision(FIRST + timedelta(days=day), 100 + day) for day in range(10)))
    assert history.current_at(FIRST + timedelta(days=3, hours=5)) == history.revisions[3]
    assert history.current_at(FIRST - timedelta(seconds=1)) is None


def answer(*revisions: object, version: int) -> str:
    page = {"pageid": 7, "title": "A flood", "revisions": revisions}
    return json.dumps({"query": {"pages": [page] if version == 2 else {"7": page}}, "continue": {"rvcontinue": "x"}})


def test_answers_of_both_formats_are_read_from_several_files_in_any_order(tmp_path: Path) -> None:
    later = answer({"revid": 3, "timestamp": "2013-06-03T10:00:00Z"}, {"revid": 2, "timestamp": "never"}, version=1)
    first = answer({"revid": 1, "timestamp": "2013-06-01T10:00:00Z", "minor": True}, version=2)
    again = answer({"revid": 1, "timestamp": "2013-06-01T10:00:00Z"}, {"timestamp": 5}, version=2)
    (tmp_path / "a.json").write_text(later)
    (tmp_path / "b.json").write_text(f"{first}\n{again}\n")
    history = read_history([tmp_path / "a.json", tmp_path / "b.json"])
    assert [each.number for each in history.revisions] == [1, 3]
    assert history.unread == 2


@pytest.mark.parametrize(
    "content", ["", "{}", "[1, 2", '{"query": []}', '{"query": {"pages": {"1": 5}}}', "[" * 100_000, "\xff"]
)
def test_what_holds_no_revisions_is_refused_by_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "bad.json").write_bytes(content.encode("latin-1"))
    with pytest.raises(HistoryError, match=r"bad\.json"):
        read_history([tmp_path / "bad.json"])

import json
from pathlib import Path

import pytest

from benchmarks.results import report

ROW = {f"column_{number}": f"a value of some length {number}" for number in range(12)}


def test_a_table_that_is_piped_is_as_wide_as_it_needs_to_be(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    report([ROW], None)
    (line,) = (line for line in capsys.readouterr().out.splitlines() if "a value" in line)
    assert [cell.strip() for cell in line.strip("│").split("│")] == list(ROW.values())


def test_a_table_of_a_terminal_keeps_to_its_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    report([{"one": "x" * 100}], None)
    assert "x" * 81 not in capsys.readouterr().out


def test_rows_are_written_with_when_and_where_they_were_measured(tmp_path: Path) -> None:
    report([ROW, {**ROW, "column_0": None}], tmp_path / "rows.json")
    written = json.loads((tmp_path / "rows.json").read_text("utf-8"))
    assert set(written) == {"date", "machine", "rows"}
    assert written["rows"] == [ROW, {**ROW, "column_0": None}]

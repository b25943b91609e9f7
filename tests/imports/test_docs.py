"""``docs/importing.md``: its example runs, and does what it says."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app

PAGE = (Path(__file__).parents[2] / "docs" / "importing.md").read_text("utf-8")


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = PAGE.partition("## An example\n")[2].partition("\n## ")[0]
    (made,), (commands,) = (re.findall(rf"```{kind}\n(.*?)```", example, re.DOTALL) for kind in ("python", "sh"))
    monkeypatch.chdir(tmp_path)
    exec(compile(made, "importing.md", "exec"), {})  # noqa: S102 - the example of the page
    said = [CliRunner().invoke(app, shlex.split(line)[1:]) for line in commands.splitlines()]
    assert [result.exit_code for result in said] == [0, 0, 0]
    for result, promised in zip(said, re.findall(r"\*(kept [^*]*)\*", example), strict=False):
        assert " ".join(promised.split()) in result.output
    assert said[2].output.count("http://dikes.example.org/") == 2

"""``docs/exporting.md``: its example runs, and does what it says; its collection is one."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.crawl_collections import CollectionFile

PAGE = (Path(__file__).parents[2] / "docs" / "exporting.md").read_text("utf-8")


@pytest.mark.slow
def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = PAGE.partition("## An example\n")[2].partition("\n## ")[0]
    (made,), (commands,) = (re.findall(rf"```{kind}\n(.*?)```", example, re.DOTALL) for kind in ("python", "sh"))
    monkeypatch.chdir(tmp_path)
    exec(compile(made, "exporting.md", "exec"), {})  # noqa: S102 - the example of the page
    said = [CliRunner().invoke(app, shlex.split(line)[1:]) for line in commands.splitlines()]
    assert [result.exit_code for result in said] == [0] * 5, said[-1].output
    exported, kept = (" ".join(promised.split()) for promised in re.findall(r"\*([a-z0-9][^*]*\d[^*]*)\*", example))
    assert exported in said[1].output
    assert exported in said[3].output
    assert kept in said[4].output


def test_the_collection_is_one(tmp_path: Path) -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "floods.collection.yaml").write_text(text)
    file = CollectionFile(tmp_path / "floods")
    assert file.read().crawls == ("dikes", "rivers")
    assert list(file.missing(file.read())) == ["dikes", "rivers"]

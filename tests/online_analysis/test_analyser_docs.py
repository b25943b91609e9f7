import re
import sys
import tomllib
from pathlib import Path

import pytest

from online_analysis.aggregation import Scores
from online_analysis.analysers import analysers
from online_analysis.document import Outlink
from online_analysis.icd import DEFAULT_WEIGHTS, PLUGINS, Icd
from online_analysis.topic import build_topic
from tests.online_analysis.definitions import SMALLEST
from tests.online_analysis.documents import page, posts

DOCS = (Path(__file__).parents[2] / "docs" / "analysers.md").read_text("utf-8")


def example(kind: str) -> str:
    (found,) = re.findall(rf"```{kind}\n(.*?)```", DOCS, re.DOTALL)
    return str(found)


def test_the_weights_of_the_table_are_the_defaults() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([\d.]+) \|", DOCS, re.MULTILINE)
    assert {name: float(weight) for name, weight in rows} == DEFAULT_WEIGHTS


def test_the_analyser_of_the_example_can_be_installed_and_scores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    project = tomllib.loads(example("toml"))["project"]
    ((name, target),) = project["entry-points"][PLUGINS].items()
    module = target.partition(":")[0]
    (tmp_path / f"{module}.py").write_text(example("python"))
    info = tmp_path / f"{module}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    (info / "entry_points.txt").write_text(f"[{PLUGINS}]\n{name} = {target}\n")
    icd = Icd.parse((SMALLEST + example("yaml")).encode())
    monkeypatch.delitem(sys.modules, module, raising=False)
    analyser = analysers(icd, build_topic(icd, {}))[-1]
    assert analyser.name == name
    assert analyser.analyse(posts(("ann", ["https://a.test/"]), ("", []))) == Scores("signed", 0.5)
    assert analyser.analyse(page(links=[Outlink("https://a.test/", "")])) == Scores("signed")
    sys.modules.pop(module)

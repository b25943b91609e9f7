"""Apache Spark spreads what goes object by object over machines, and nothing that is said depends on it."""

import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from benchmarks.enrichment_scale import counting_graphs, index_digest, posts, write_crawl
from offline.enrichment.enriching import enrich
from offline.enrichment.steps import chosen_steps
from tests.forking import Forked

STEPS = "language", "keywords"

needs_spark = pytest.mark.skipif(
    not (find_spec("pyspark") and shutil.which("java")), reason="pyspark (the extra spark) or Java is not installed"
)


@needs_spark
@pytest.mark.starts
def test_spark_says_the_same(tmp_path: Path) -> None:
    spread, alone = tmp_path / "spread", tmp_path / "alone"
    for crawl in (spread, alone):
        write_crawl(crawl, posts(70))
    list(enrich(alone, chosen_steps(STEPS)))
    with Forked(["enrich", str(spread), "--steps", ",".join(STEPS), "--spark", "local[2]"], os.environ) as process:
        out, err = process.communicate(300)
        assert process.returncode == 0, err
    assert f"{spread}: language: " in out
    assert counting_graphs(spread) == counting_graphs(alone)
    assert index_digest(spread) == index_digest(alone)


def test_what_spark_lacks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crawl = tmp_path / "crawl"
    write_crawl(crawl, posts(2))
    arguments = ["enrich", str(crawl), "--spark", "local[2]"]
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyspark", None)
        ended = CliRunner().invoke(app, arguments)
        assert (ended.exit_code, "pyspark is not installed; pip install" in ended.stderr) == (2, True)
    if find_spec("pyspark"):
        monkeypatch.setenv("JAVA_HOME", str(tmp_path))
        ended = CliRunner().invoke(app, arguments)
        assert (ended.exit_code, "Spark needs Java, which is not there" in ended.stderr) == (2, True)

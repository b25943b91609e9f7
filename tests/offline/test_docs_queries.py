"""What docs/queries.md shows runs."""

import re
import shlex
from pathlib import Path

import pyoxigraph as ox
import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from offline.store.local import LocalStore
from offline.store.queries import ask, ready_queries
from tests.offline.crawls import write_threads
from tests.offline.endpoints import endpoint

TEXT = (Path(__file__).parents[2] / "docs" / "queries.md").read_text("utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crawl")
    write_threads(folder, range(3))
    return folder


@pytest.mark.parametrize("line", [line for block in blocks("sh") for line in block.splitlines()])
def test_commands_run(crawl: Path, line: str) -> None:
    with endpoint() as stub:
        line = line.replace("crawls/demo", str(crawl)).replace("http://localhost:7878", stub.url)
        result = CliRunner().invoke(app, shlex.split(line)[1:])
        assert result.exit_code == 0, result.output
        assert bool(len(stub.rdf)) == ("--endpoint" in line)


@pytest.mark.parametrize("query", blocks("sparql"))
def test_queries_are_answered(query: str) -> None:
    assert ask(ox.Store(), query) is not None


def test_the_python_runs(crawl: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = blocks("python")
    block = block.replace("crawls/demo", str(crawl)).replace("http://forum.test/thread?id=1", "http://forum.test/t/1")
    exec(compile(block, "docs/queries.md", "exec"), {})  # noqa: S102  (our own documentation)
    assert "http://forum.test/t/1#p1" in capsys.readouterr().out
    with LocalStore(crawl / "store") as store:
        assert len(store.loaded()) == 1


def test_every_ready_made_query_is_in_the_table_with_its_arguments() -> None:
    for query in ready_queries():
        (row,) = re.findall(rf"^\| `{query.name}` \|.*", TEXT, re.MULTILINE)
        for argument in query.arguments:
            shown = f"`{argument.name}`" + (f" ({argument.default})" if argument.default else "")
            assert shown in row

"""``docs/reading-room.md``: its example runs, and finds what it says; the command refuses what it should."""

import csv
import io
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from typer.testing import CliRunner, Result

from aahcrawler.cli import app, main
from aahcrawler.crawl_collections import Collection, CollectionFile
from aahcrawler.layout import DEFINITION
from tests.search.archives import post, running

PAGE = (Path(__file__).parents[2] / "docs" / "reading-room.md").read_text("utf-8")


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    example = PAGE.partition("## An example\n")[2].partition("\n## ")[0]
    (made,), (commands,) = (re.findall(rf"```{kind}\n(.*?)```", example, re.DOTALL) for kind in ("python", "sh"))
    monkeypatch.chdir(tmp_path)
    exec(compile(made, "reading-room.md", "exec"), {})  # noqa: S102 - the example of the page
    said = [CliRunner().invoke(app, shlex.split(line)[1:]) for line in commands.splitlines()]
    assert [result.exit_code for result in said] == [0] * 5, [result.output for result in said]
    _, one, misspelt, saved, new = (result.output for result in said)
    assert "http://dikes.example.org/north" in one
    assert "1 found" in one
    assert "nobody wrote voluntears" in misspelt
    assert "http://dikes.example.org/north" in misspelt
    assert {json.loads(line)["url"] for line in saved.splitlines() if line.startswith("{")} == {
        f"http://dikes.example.org/{name}" for name in ("north", "south")
    }
    assert "2 found, 0 of them new" in new
    assert ET.parse("dikes.xml").getroot().tag == "{http://www.w3.org/2005/Atom}feed"  # noqa: S314 - it is our own


def test_results_are_written_as_tables_and_feeds_whatever_they_say(tmp_path: Path) -> None:
    hostile = '=cmd|calc\x1b[31m "quoted"\n<b>&\u202e\x00 flood'
    with running(tmp_path / "a") as crawl:
        crawl.page("p", "nothing", [post("o", hostile, author="=Jo", title="<&>\x07")])
    feed = tmp_path / "feed.xml"
    shown = CliRunner().invoke(app, ["search", str(tmp_path), "flood", "--feed", str(feed)])
    assert "\x1b" not in shown.output
    assert "\u202e" not in shown.output
    (entry,) = ET.parse(feed).getroot().iterfind("{*}entry")  # noqa: S314 - it is our own
    assert entry.findtext("{*}title") == "<&>"
    table = CliRunner().invoke(app, ["search", str(tmp_path), "flood", "--format", "csv"])
    (row,) = csv.DictReader(io.StringIO(table.stdout, newline=""))
    assert row["author"] == "'=Jo"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["flood"], "name a folder"),
        (["nowhere", "flood"], "is no folder"),
        (["a", "flood", "--feed", "gone/feed.xml"], "there is no folder gone; make it"),
        ([".", "flood"], "holds no crawl"),
        (["a", "colour:red"], "no field"),
        (["a", "flood", "--from", "yesterday"], "no date"),
        (["a", "flood", "--save", "../x"], "cannot be the name"),
        (["a", "flood", "--run", "cat"], "goes with --new"),
        (["a", "flood", "--warc", "x.txt"], "ends in .warc.gz"),
        (["a", "--new", "unknown"], "no search is saved as unknown"),
    ],
)
def test_what_cannot_be_searched_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with running(tmp_path / "a") as crawl:
        crawl.page("p", "the flood")
    empty = tmp_path / "empty"
    empty.mkdir()
    if arguments[0] == ".":
        monkeypatch.chdir(empty)
    result = CliRunner().invoke(app, ["search", *arguments])
    assert result.exit_code == 2
    assert says in result.output


def test_a_query_may_be_longer_than_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(tmp_path) as crawl:
        crawl.page("a", "The flood came by night.")
    monkeypatch.setattr("sys.argv", ["aah", "search", str(tmp_path), "flood " * 60])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "1 found" in capsys.readouterr().err
    wrong = CliRunner().invoke(app, ["search", "x" * 300, "flood"])
    assert wrong.exit_code == 2
    assert isinstance(wrong.exception, SystemExit)


def test_a_collection_is_searched_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        with running(tmp_path / name) as crawl:
            crawl.page(name, f"The flood came to {name}.")
        (tmp_path / name / DEFINITION).write_text("{}")
    file = CollectionFile(tmp_path / "floods")
    file.create(Collection(title="Floods", crawls=("a", "b")))

    def found(*arguments: str) -> tuple[str, list[dict[str, str]]]:
        result = CliRunner().invoke(app, ["search", *arguments, "--format", "csv"])
        assert result.exit_code == 0, result.output
        return result.stderr, [*csv.DictReader(io.StringIO(result.stdout, newline=""))]

    for place in (file.path, tmp_path / "floods"):
        assert {row["folder"] for row in found(str(place), "flood")[1]} == {"a", "b"}
    shutil.rmtree(tmp_path / "b")
    said, rows = found(str(file.path), "flood", "--save", "flood")
    assert "b is in the collection, and gone" in said
    assert (tmp_path / "searches" / "flood.json").is_file()
    # A table without rows has its header all the same, and the folder one is in has a name.
    again = CliRunner().invoke(app, ["search", str(tmp_path / "floods"), "--new", "flood", "--format", "csv"])
    assert again.stdout.startswith("folder,kind,")
    monkeypatch.chdir(tmp_path / "a")
    assert [row["folder"] for row in found(".", "flood")[1]] == [rows[0]["folder"]] == ["a"]


@pytest.mark.starts
def test_a_program_is_given_what_is_new_and_gets_it_again_where_it_fails(tmp_path: Path) -> None:
    got = tmp_path / "it's got.jsonl"
    take = [sys.executable, "-c", "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())", str(got)]

    def looked(command: str) -> Result:
        return CliRunner().invoke(app, ["search", str(tmp_path / "a"), "--new", "flood", "--run", command])

    with running(tmp_path / "a") as crawl:
        crawl.page("one", "The flood came.")
        saved = CliRunner().invoke(app, ["search", str(tmp_path / "a"), "flood", "--save", "flood"])
        assert saved.exit_code == 0, saved.output
        assert looked(shlex.join(take)).exit_code == 0
        assert not got.exists()  # Nothing is new.
        crawl.page("two", "The flood went, and left mud behind.")
        failed = looked(shlex.join([sys.executable, "-c", "raise SystemExit(3)"]))
        assert (failed.exit_code, "ended with the exit code 3" in failed.output) == (2, True)
        absent = looked("no-such-program --at all")
        assert (absent.exit_code, "no-such-program: cannot be run" in absent.output) == (2, True)
        assert looked(shlex.join(take)).exit_code == 0
        assert [json.loads(line)["title"] for line in got.read_text("utf-8").splitlines()] == ["two"]
        got.unlink()
        assert looked(shlex.join(take)).exit_code == 0
        assert not got.exists()
    assert looked("'unclosed").exit_code == 2

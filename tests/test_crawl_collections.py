"""Collections as files: written by commands, edited by people, told where they are wrong."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from aahcrawler.cli import app
from aahcrawler.crawl_collections import MAX_BYTES, Collection, CollectionError, CollectionFile
from aahcrawler.layout import DEFINITION, SUMMARY


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Make a folder with two crawls."""
    for name in ("dikes", "rivers"):
        (tmp_path / name).mkdir()
        (tmp_path / name / DEFINITION).write_text("{}")
    (tmp_path / "dikes" / SUMMARY).write_text('{"pages": 1203, "objects": 7}')
    return tmp_path


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["collection", *map(str, arguments)])


def test_a_collection_is_made_filled_shown_and_deleted(place: Path) -> None:
    named = place / "floods"
    made = run("create", named, place / "dikes", "--title", "The floods", "--creator", "A", "--creator", "B")
    assert (made.exit_code, "1 crawl" in made.output) == (0, True), made.output
    assert run("add", named, place / "rivers", place / "dikes").output == "added: rivers\n"
    assert run("list", place).output == "floods\t2\tThe floods\n"
    shown = run("show", named).output.splitlines()
    assert shown == [
        "title\tThe floods",
        "creator\tA",
        "creator\tB",
        "crawl\tdikes\t1,203 pages, 7 objects",
        "crawl\trivers\t",
    ]
    assert run("remove", named, place / "dikes").exit_code == 0
    assert json.loads(run("show", named, "--json").output)["crawls"] == ["rivers"]
    assert run("delete", named).exit_code == 0
    assert [path.name for path in sorted(place.iterdir())] == ["dikes", "rivers"]
    assert "no such collection" in run("show", named).output


def test_comments_stay_where_commands_change_the_file(place: Path) -> None:
    file = place / "floods.collection.yaml"
    file.write_text(
        "# Made for the exhibition.\ntitle: Floods # of 2024\ndate: 2024-05-01\ncrawls:\n- dikes # the first\n"
    )
    assert run("add", file, place / "rivers").exit_code == 0
    text = file.read_text()
    assert "# Made for the exhibition." in text
    assert "# of 2024" in text
    assert CollectionFile(file).read() == Collection(title="Floods", date="2024-05-01", crawls=("dikes", "rivers"))


def test_crawls_that_are_gone_are_told_and_stay_in_it(place: Path) -> None:
    named = place / "floods"
    run("create", named, place / "dikes", place / "rivers", "--title", "Floods")
    (place / "dikes" / DEFINITION).unlink()
    assert "crawl\tdikes\tgone" in run("show", named).output
    assert run("remove", named, place / "dikes").exit_code == 0
    assert CollectionFile(named).read().crawls == ("rivers",)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("- a list\n", "is no list of fields"),
        ("title: [\n", "cannot be read as YAML"),
        ("description: no title\n", "title: is missing"),
        ("title: A\nlanguage: [a language]\n", "language.0: is no language tag; write a code"),
        ("title: A\ndate: in May\n", "date: is no date; write a year"),
        ("title: A\nmaker: me\n", "maker: is no field of a collection; it has title,"),
        ("title: A\ncrawls: [../secrets]\n", "crawls.0: '../secrets' is no folder beside"),
        ("title: A\ncrawls: [/etc]\n", "crawls.0: '/etc' is no folder beside"),
        ("title: A\ncreator: somebody\n", "creator: "),
        ("title: A\n" + "#" * MAX_BYTES, "no collection is that long"),
        ("a: &a [x]\nb: &b [*a, *a]\ntitle: !!python/object:os.system {}\n", ""),
    ],
)
def test_what_is_wrong_is_told_with_its_field(place: Path, text: str, told: str) -> None:
    file = place / "floods.collection.yaml"
    file.write_text(text)
    with pytest.raises(CollectionError) as raised:
        CollectionFile(file).read()
    assert str(raised.value).startswith(str(file))
    assert told in str(raised.value)
    assert run("add", file, place / "dikes").exit_code == 2
    assert file.read_text() == text


def test_names_and_folders_that_cannot_be_are_refused(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "crawl"
    elsewhere.mkdir()
    (elsewhere / DEFINITION).write_text("{}")
    for name in ("Floods", ".hidden", "a b", "x" * 65):
        assert "cannot be a collection's name" in run("create", place / name, "--title", "A").output
    assert "lies elsewhere" in run("create", place / "floods", elsewhere, "--title", "A").output
    assert "is no folder of a crawl" in run("create", place / "floods", place / ("x" * 300), "--title", "A").output
    assert "is no folder of a crawl" in run("create", place / "floods", place / "none", "--title", "A").output
    assert not list(place.glob("*.yaml"))
    assert "--date: is no date" in run("create", place / "floods", "--title", "A", "--date", "soon").output
    assert run("create", place / "floods", "--title", "A").exit_code == 0
    assert "exists" in run("create", place / "floods", "--title", "B").output
    assert "is not in it" in run("remove", place / "floods", place / "dikes").output


def test_an_alias_bomb_costs_nothing(place: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    (place / "floods.collection.yaml").write_text("\n".join((*lines, "title: A\n")))
    with pytest.raises(CollectionError, match="refers to"):
        CollectionFile(place / "floods").read()

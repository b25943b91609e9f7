"""``aah icd new``: a definition from options and pasted seeds; and ``aah icd schema``."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from online_analysis.icd import Icd, IcdError
from online_analysis.icd.json_schema import SCHEMA_ID
from online_analysis.icd.new_definition import Wish, new_definition, suggested_id

LIST = (
    "Our sites:\n- https://a.example.org/ (the first)\n- me@example.org\n- www.example.net\n- https://a.example.org/\n"
)
GIVEN = ("--contact", "me@example.org", "--keyword", "solar power")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AAH_CONTACT", raising=False)
    return tmp_path


def test_a_definition_from_options_and_a_pasted_list(folder: Path) -> None:
    options = ["--title", "Solar: the “villages”", "--language", "de", "--language", "no", "--entity", "Hermann Scheer"]
    times = ["--from", "2024-05-01", "--to", "2024-05-31", "--anywhere", "--pages", "500", "--operator", "Archive #1"]
    outcome = CliRunner().invoke(app, ["icd", "new", "--seeds", "-", *GIVEN, *options, *times], input=LIST)
    assert outcome.exit_code == 0, outcome.stderr
    assert "-:3: - me@example.org: is a mail address" in outcome.stderr
    assert "is in line 2 already" in outcome.stderr
    icd = Icd.load(folder / "solar-the-villages.yaml")
    assert icd.seeds == ("https://a.example.org/", "https://www.example.net/")
    assert (icd.title, icd.operator, icd.limits.pages) == ("Solar: the “villages”", "Archive #1", 500)
    assert (icd.scope.languages, icd.scope.sites) == (("de", "no"), "anywhere")
    assert icd.event is not None
    assert icd.topic.entities == ("Hermann Scheer",)


def test_nothing_is_written_over(folder: Path) -> None:
    command = ["icd", "new", "mine.yaml", "--seed", "https://a.example.org/", *GIVEN]
    assert CliRunner().invoke(app, command).exit_code == 0
    before = (folder / "mine.yaml").read_text()
    again = CliRunner().invoke(app, command)
    assert again.exit_code == 2
    assert "exists, and is left as it is" in again.stderr
    assert (folder / "mine.yaml").read_text() == before
    shown = CliRunner().invoke(app, ["icd", "new", "-", "--seed", "https://a.example.org/", *GIVEN])
    assert Icd.parse(shown.stdout.encode()).id == "a-example-org"
    assert [path.name for path in folder.iterdir()] == ["mine.yaml"]


def test_without_a_subject_it_takes_whole_sites() -> None:
    options = ["--seed", "https://a.example.org/", "--contact", "me@example.org"]
    shown = CliRunner().invoke(app, ["icd", "new", "-", *options])
    assert Icd.parse(shown.stdout.encode()).relevant_at is None
    refused = CliRunner().invoke(app, ["icd", "new", "-", *options, "--anywhere"])
    assert refused.exit_code == 2
    assert "scope.sites: leads all over the web" in refused.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([*GIVEN], "no seed is given; add --seed URL"),
        (["--seed", "https://a.example.org/", "--keyword", "x y"], "no contact is given"),
        (["--seed", "nonsense", *GIVEN], "--seed: seeds[0]: is no URL"),
        (["--seed", "https://a.example.org/", *GIVEN, "--language", "german"], "is no ISO 639-1 code"),
        (["--seed", "https://a.example.org/", *GIVEN, "--from", "2024-05-01"], "--to: event.end: is missing"),
        (
            ["mine.yaml", "--seed", "https://a.example.org/", *GIVEN, "--from", "2024-03-01", "--to", "März 2024"],
            "\n--to: event.end: is no date; write a date such as",
        ),
        (["--seeds", "nowhere.txt", *GIVEN], "nowhere.txt: cannot be read"),
    ],
)
def test_what_is_missing_or_wrong_is_said_and_nothing_is_asked_without_a_terminal(
    folder: Path, options: list[str], said: str
) -> None:
    outcome = CliRunner().invoke(app, ["icd", "new", *options], input="")
    assert outcome.exit_code == 2
    assert said in f"\n{outcome.stderr}"
    assert ".yaml:" not in outcome.stderr
    assert list(folder.iterdir()) == []


def test_the_comments_of_a_new_definition_are_fields_that_exist() -> None:
    text = new_definition(Wish(("https://a.example.org/",), "me@example.org", ("solar power",)))
    lines = [
        line.replace("# ", "", 1) if line.lstrip().startswith("# ") and ": " in line else line
        for line in text.splitlines()
    ]
    told = [line for line in lines if not line.startswith(("What ", "and `", "The ", "#"))]
    icd = Icd.parse("\n".join(line for line in told if "documents:" not in line).encode())
    assert icd.event is not None
    assert icd.topic.reference_crawl == 200
    assert len(icd.scope.deny) == 3


def test_a_name_for_the_folder_is_always_one() -> None:
    for title in ("Große Straße", "日本語", "", "x" * 200, "a " * 100, "-.-"):
        identifier = suggested_id(title, ["https://例え.jp/"])
        assert Icd.parse(new_definition(Wish(("https://a.example/",), "a@b.example", ("sun",), id=identifier)).encode())
    with pytest.raises(IcdError, match="safe folder name"):
        new_definition(Wish(("https://a.example/",), "a@b.example", ("sun",), id="../x"))


def test_the_schema_is_written() -> None:
    assert json.loads(CliRunner().invoke(app, ["icd", "schema"]).stdout)["$id"] == SCHEMA_ID

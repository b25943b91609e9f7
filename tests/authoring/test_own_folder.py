"""The own folder: entries are saved as a whole, changes are noted, and earlier states come back."""

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.entries import entry_files
from aahcrawler.editor.entries import own_folder as own_folder_module
from aahcrawler.editor.entries.entry_files import ChangeLog, Entry
from aahcrawler.editor.entries.own_folder import BY_HAND, ChangedMeanwhileError, OwnFolder, OwnFolderError
from aahcrawler.editor.entries.staging import staged, write_alone
from aahcrawler.editor.text.file_lines import read_files
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import LoadError

FIRST = b"<application name='Tiny' kind='web-forum'/>"
SECOND = b"<application name='Tiny' kind='web-forum'><!-- mended --></application>"
PAGE = ("topic", b"<html>topic</html>", b"{}")
NOW = datetime(2026, 11, 26, 6, 30, tzinfo=UTC)


class CrashError(Exception):
    """Stands for the end of the process."""


@pytest.fixture
def own(tmp_path: Path) -> OwnFolder:
    return OwnFolder(tmp_path / "mine", lambda: NOW)


def files(own: OwnFolder) -> dict[str, bytes]:
    applications = own.path / "applications"
    found = (file for file in applications.rglob("*") if file.is_file() and "history" not in file.parts)
    return {file.relative_to(applications).as_posix(): file.read_bytes() for file in found}


def test_an_entry_is_saved_with_its_pages_and_comes_back(own: OwnFolder) -> None:
    own.save("tiny", FIRST, [PAGE], "Ada", "begun", licence=b"CC0")
    own.save("tiny", SECOND, [PAGE, ("login", b"<html/>", b"{}")], "Bo", "a comment\x1b[2J\nmore")
    assert own.names() == ("tiny",)
    changes = own.history("tiny")
    assert [(each.number, each.who, each.what) for each in changes] == [
        (1, "Ada", "begun"),
        (2, "Bo", "a comment [2J more"),
    ]
    assert (changes[1].before, changes[0].before) == (changes[0].after, "")
    own.restore("tiny", 1, "Cleo")
    assert files(own) == {
        "tiny.xml": FIRST,
        "pages/tiny/topic.html": PAGE[1],
        "pages/tiny/topic.json": PAGE[2],
        "licences/tiny.txt": b"CC0",
    }
    own.restore("tiny", 2, "Ada")
    entry = own.entry("tiny")
    assert entry is not None
    assert (entry.xml, entry.licence) == (SECOND, b"CC0")
    assert [page.stem for page in entry.pages] == ["login", "topic"]


def test_the_second_of_two_writers_is_told_who_changed_it(own: OwnFolder) -> None:
    base = own.save("tiny", FIRST, [PAGE], "Ada", "begun", expected="").after
    own.save("tiny", SECOND, None, "Bo", "mended the title", expected=base)
    with pytest.raises(ChangedMeanwhileError, match=r"by Bo on 2026-11-26 at 06:30 UTC \(mended the title\)"):
        own.save("tiny", FIRST, None, "Cleo", "mine", expected=base)
    with pytest.raises(ChangedMeanwhileError):
        own.save("tiny", FIRST, None, "Cleo", "new", expected="")
    assert files(own)["tiny.xml"] == SECOND
    (own.path / "applications" / "tiny.xml").write_bytes(FIRST + b"\n")
    with pytest.raises(ChangedMeanwhileError, match="by hand"):
        own.save("tiny", FIRST, None, "Cleo", "mine", expected=base)


def test_of_many_writers_at_once_one_wins(own: OwnFolder) -> None:
    base = own.save("tiny", FIRST, [PAGE], "Ada", "begun").after
    lost: list[ChangedMeanwhileError] = []

    def write(number: int) -> None:
        try:
            OwnFolder(own.path).save("tiny", FIRST + b" " * number, None, str(number), "a blank", expected=base)
        except ChangedMeanwhileError as error:
            lost.append(error)

    threads = [Thread(target=write, args=(number,)) for number in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(lost) == 7
    assert len(own.history("tiny")) == 2


def test_what_was_changed_by_hand_is_noted_and_kept(own: OwnFolder) -> None:
    own.save("tiny", FIRST, [PAGE], "Ada", "begun")
    hand = FIRST + b"<!-- by hand -->"
    (own.path / "applications" / "tiny.xml").write_bytes(hand)
    alone = own.path / "applications" / "pages" / "tiny" / "no-expectation-yet.html"
    alone.write_bytes(b"<html>board</html>")
    own.save("tiny", SECOND, None, "Bo", "mended")
    assert alone.read_bytes() == b"<html>board</html>"
    assert [each.what for each in own.history("tiny")] == ["begun", BY_HAND, "mended"]
    assert own.at("tiny", 2).xml == hand
    assert own.at("tiny", 2).pages[0].html == PAGE[1]


@pytest.mark.parametrize("calls", range(1, 14))
def test_a_crash_leaves_the_old_entry_or_the_new_one(
    own: OwnFolder, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    own.save("tiny", FIRST, [PAGE], "Ada", "begun")
    before, left = files(own), [calls]

    def crashing(function: Callable[..., object]) -> Callable[..., object]:
        def call(*arguments: object) -> object:
            left[0] -= 1
            if not left[0]:
                raise CrashError
            return function(*arguments)

        return call

    with monkeypatch.context() as patched:
        patched.setattr(own_folder_module, "_write", crashing(own_folder_module._write))
        patched.setattr(Path, "replace", crashing(Path.replace))
        patched.setattr(ChangeLog, "append", crashing(ChangeLog.append))
        wanted = [("board", b"<html/>", b"{}"), ("topic", b"<html>new</html>", b"{}")]
        try:
            own.save("tiny", SECOND, wanted, "Bo", "mended")
        except CrashError:
            crashed = True
        else:
            crashed = False
    entry = OwnFolder(own.path).entry("tiny")
    assert entry is not None
    changes = [each.what for each in own.history("tiny")]
    if entry.xml == FIRST:
        assert crashed
        assert (files(own), changes) == (before, ["begun"])
    else:
        assert [page.html for page in entry.pages] == [b"<html/>", b"<html>new</html>"]
        assert changes == ["begun", "mended"]
    assert not list((own.path / "applications" / "history").glob(".saving-*"))


def test_a_torn_line_costs_itself_alone(own: OwnFolder) -> None:
    own.save("tiny", FIRST, [PAGE], "Ada", "begun")
    log = own.path / "applications" / "history" / "tiny.jsonl"
    with log.open("ab") as file:
        file.write(b'{"number": 2, "wh')
    own.save("tiny", SECOND, None, "Bo", "mended")
    assert [each.number for each in own.history("tiny")] == [1, 2]
    assert own.unreadable("tiny") == 1


def test_a_history_stays_within_bounds_and_says_what_it_lost(own: OwnFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_files, "MAX_LOG", 20_000)
    for number in range(60):
        own.save("tiny", b"<a>%d %s</a>" % (number, bytes(range(33, 127)) * (number + 1)), [PAGE], "Ada", str(number))
    log = own.path / "applications" / "history" / "tiny.jsonl"
    assert log.stat().st_size < 40_000
    assert [each.number for each in own.history("tiny")] == list(range(1, 61))
    assert own.at("tiny", 60).pages[0].html == PAGE[1]
    with pytest.raises(OwnFolderError, match="not kept any more"):
        own.at("tiny", 1)
    with pytest.raises(OwnFolderError, match="no change 61"):
        own.restore("tiny", 61, "Ada")


@pytest.mark.parametrize("name", ["../tiny", "", ".tiny", "a/b", "x" * 100, "tiny\n", "a..b"])
def test_names_that_lead_elsewhere_are_refused(own: OwnFolder, name: str) -> None:
    with pytest.raises(OwnFolderError, match="no name"):
        own.save(name, FIRST, [], "Ada", "begun")
    with pytest.raises(OwnFolderError, match="no name"):
        own.save("tiny", FIRST, [(name, b"", b"")], "Ada", "begun")
    with pytest.raises(OwnFolderError, match="no name"):
        own.entry(name)
    assert not own.path.exists()


@pytest.mark.slow
def test_an_entry_is_staged_in_its_temporary_folder_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("temporary", "mine"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path / "mine")
    with pytest.raises(LoadError), staged(Entry("tiny", FIRST), (SHIPPED, Path(".."))):
        pass
    assert list((tmp_path / "temporary").iterdir()) == []


def test_an_entry_is_checked_with_what_it_extends_also_where_both_files_are_called_alike(tmp_path: Path) -> None:
    (tmp_path / "base" / "applications").mkdir(parents=True)
    (tmp_path / "base" / "applications" / "tiny.xml").write_bytes(FIRST)
    mine = FIRST.replace(b"'Tiny'", b"'Mine' extends='Tiny'")
    own = write_alone(Entry("tiny", mine), "Tiny", (tmp_path / "base",), tmp_path / "alone")
    assert own.read_bytes() == mine
    assert {file.name for file in read_files(own.parent.glob("*.xml"))} == {"Mine", "Tiny"}


@pytest.mark.slow
def test_commands_note_who_did_what(tmp_path: Path) -> None:
    from tests.authoring.tinyforum import SITE, board, topic

    (tmp_path / "topic.html").write_text(topic(), "utf-8")
    (tmp_path / "board.html").write_text(board(), "utf-8")
    kb = ("--kb", f"shipped:{tmp_path / 'mine'}")
    found = ("--url", f"{SITE}/topic.php?id=7")
    runner = CliRunner()
    begun = runner.invoke(app, ["kb", "new", "TinyForum", "--from", str(tmp_path / "topic.html"), *found, *kb])
    assert begun.exit_code == 0, begun.output
    captured = ["kb", "capture", str(tmp_path / "topic.html"), *found, "--application", "tinyforum", *kb]
    assert runner.invoke(app, [*captured, "--as-person", "Ada"]).exit_code == 0
    file = tmp_path / "mine" / "applications" / "tinyforum.xml"
    drafted = file.read_bytes()
    file.write_bytes(drafted + b"<!-- mine -->\n")
    assert runner.invoke(app, [*captured, "--as", "again"]).exit_code == 0
    listed = runner.invoke(app, ["kb", "history", "tinyforum", *kb]).output
    assert f"drafted from {SITE}/topic.php?id=7" in listed
    assert "Ada: saved the page thread as a test" in listed
    assert [line.split()[0] for line in listed.splitlines()] == ["1", "2", "3", "4"]
    assert BY_HAND in listed.splitlines()[2]
    restored = runner.invoke(app, ["kb", "restore", "tinyforum", "2", *kb])
    assert restored.exit_code == 0, restored.output
    assert file.read_bytes() == drafted
    assert not (file.parent / "pages" / "tinyforum" / "again.html").exists()
    assert "brought back" in runner.invoke(app, ["kb", "history", *kb]).output
    assert json.loads((file.parent / "history" / "tinyforum.jsonl").read_bytes().splitlines()[-1])["number"] == 5


def test_a_state_that_would_break_the_knowledge_base_is_not_brought_back(tmp_path: Path) -> None:
    own = OwnFolder(tmp_path / "mine")
    own.save("tiny", b"<application", [], "Ada", "a slip")
    own.save("tiny", FIRST, [], "Ada", "mended")
    done = CliRunner().invoke(app, ["kb", "restore", "tiny", "1", "--kb", f"shipped:{own.path}"])
    assert done.exit_code == 2
    assert "mine/applications/tiny.xml" in done.output
    assert len(own.history("tiny")) == 2

"""Archives that an import refers to are never written to; what is taken down in them is hidden."""

from pathlib import Path

from aahcrawler.archive.checking import Tally, check, repair
from aahcrawler.archive.history import History
from aahcrawler.archive.index import rebuild
from aahcrawler.archive.scanning import Problem
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.imports.archive_import import sources_in
from aahcrawler.layout import ARCHIVE, DEFINITION, INDEX, INDEXES
from aahcrawler.replay.recorded_responses import RecordedResponses
from aahcrawler.takedown import answers
from aahcrawler.takedown.removal import WantedRemoval, lift
from tests.imports.archives import arc, imported, members, pages

TAKEN_DOWN = "http://dikes.test/2"


def captured(root: Path) -> list[str]:
    with ArchivedCaptures(root) as source:
        return [capture.target_uri for capture in source.captures()]


def test_files_that_can_be_read_as_they_are_are_linked_and_others_copied(tmp_path: Path) -> None:
    root, records = tmp_path / "crawl", pages(6)
    good, cut, old = (tmp_path / name for name in ("good.warc.gz", "cut.warc.gz", "old.arc"))
    good.write_bytes(members(records[:3]))
    cut.write_bytes(members(records[3:])[:-40])
    old.write_bytes(arc([("http://dikes.test/arc", records[0].block)]))
    counts, _ = imported(root, good, cut, old, by_reference=True)
    links = [path for path in (root / ARCHIVE).iterdir() if path.is_symlink()]
    assert [(path.name, path.resolve()) for path in links] == [("good.warc.gz", good.resolve())]
    assert (counts.kept, counts.lost) == (7, 1)
    assert len(captured(root)) == 6
    assert len((root / INDEXES / INDEX).read_bytes().splitlines()) == 6
    again, _ = imported(root, good, cut, old, by_reference=True)
    assert again.kept == 0
    assert len(captured(root)) == 6


def test_what_is_known_already_is_not_referred_to_once_more(tmp_path: Path) -> None:
    root, first, second = tmp_path / "crawl", tmp_path / "a.warc.gz", tmp_path / "b.warc.gz"
    first.write_bytes(members(pages(2)))
    second.write_bytes(members(pages(3)))
    imported(root, first, second, by_reference=True)
    assert sorted(captured(root)) == [f"http://dikes.test/{number}" for number in (1, 2, 3)]


def test_what_is_taken_down_is_hidden_and_stays_in_the_file(tmp_path: Path) -> None:
    root, path = tmp_path / "crawl", tmp_path / "good.warc.gz"
    path.write_bytes(members(pages(3)))
    before = path.read_bytes()
    imported(root, path, by_reference=True)
    lines, is_whole = answers.removed(root, WantedRemoval(urls=(TAKEN_DOWN,)), "somebody", "asked to")
    assert any("1 file of others" in line for line in lines)
    assert is_whole
    assert (path.read_bytes(), (root / ARCHIVE / path.name).is_symlink()) == (before, True)
    rebuild(root / ARCHIVE, root / INDEXES)
    assert captured(root) == ["http://dikes.test/1", "http://dikes.test/3"]
    # What is hidden, and a file of others without a warcinfo record, are no faults.
    tally = Tally()
    assert Problem.NO_WARCINFO in {finding.problem for finding in check(root, tally)}
    assert tally.faults == 0
    assert RecordedResponses(root).nearest(TAKEN_DOWN, "20110203040506") is None
    history = History(root / ARCHIVE, root / INDEXES)
    assert [history.former(f"http://dikes.test/{number}") is None for number in (1, 2)] == [False, True]
    history.close()
    assert imported(root, path, by_reference=True)[0].kept == 0


def test_what_is_lifted_is_shown_again(tmp_path: Path) -> None:
    root, path = tmp_path / "crawl", tmp_path / "good.warc.gz"
    path.write_bytes(members(pages(3)))
    imported(root, path, by_reference=True)
    list(answers.removed(root, WantedRemoval(urls=(TAKEN_DOWN,)), "somebody", "asked to")[0])
    lift(root, TAKEN_DOWN, "somebody", "asked again")
    assert len(captured(root)) == 3
    assert RecordedResponses(root).nearest(TAKEN_DOWN, "20110203040506") is not None


def test_repairs_leave_files_of_others_alone(tmp_path: Path) -> None:
    root, path = tmp_path / "crawl", tmp_path / "good.warc.gz"
    path.write_bytes(members(pages(3)))
    imported(root, path, by_reference=True)
    path.write_bytes(path.read_bytes()[:-20])
    before = path.read_bytes()
    assert list(repair(root)) == []
    assert path.read_bytes() == before


def test_of_a_folder_of_ours_the_archives_are_imported_without_what_was_taken_down_there(tmp_path: Path) -> None:
    root, path = tmp_path / "crawls" / "first", tmp_path / "good.warc.gz"
    root.parent.mkdir()
    path.write_bytes(members(pages(3)))
    imported(root, path, by_reference=True)
    (root / DEFINITION).write_text("{}")
    (root / "other.sqlite").write_bytes(b"SQLite format 3\0")
    list(answers.removed(root, WantedRemoval(urls=(TAKEN_DOWN,)), "somebody", "asked to")[0])
    sources = [*sources_in([tmp_path / "crawls"])]
    assert sources == [root / ARCHIVE / path.name]
    counts, told = imported(tmp_path / "second", *sources)
    assert (counts.kept, counts.removed, told) == (2, 1, [])
    assert captured(tmp_path / "second") == ["http://dikes.test/1", "http://dikes.test/3"]

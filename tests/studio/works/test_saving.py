"""A work is examined in the background and saved once it is right; reasons against it are told."""

import os
from multiprocessing import active_children
from pathlib import Path
from signal import SIGKILL

import pytest

from aahcrawler.editor.checks.check_findings import Severity
from aahcrawler.editor.drafts import draft_collection
from aahcrawler.editor.drafts import opened_draft as work_module
from aahcrawler.editor.drafts.draft_collection import MAX_EXAMINED, DraftCollection, Progress
from aahcrawler.editor.drafts.draft_state import DraftEditError, NotSavedError, StaleError
from aahcrawler.editor.drafts.entry_examination import WantedExamination, examined
from aahcrawler.editor.drafts.opened_draft import OpenedDraft
from aahcrawler.editor.drafts.page_fetching import reading
from aahcrawler.editor.entries.own_folder import OwnFolder
from aahcrawler.editor.entries.staging import staged
from aahcrawler.editor.pages.saved_pages import read_expectation
from aahcrawler.editor.text.edits import Put, SetAttribute
from aahcrawler.service.catalog.crawl_registry import KnowledgeFolders
from aahcrawler.service.cockpit.studio.open_works import DraftChecker, OpenDrafts
from tests.authoring.tinyforum import BOARD, FORM, TOPIC
from tests.crawl.crawling import PATIENCE, until
from tests.forking import Forked, forked
from tests.studio.works.sailing import DATE, DOUBTS, DRAFT, EXTRACT

pytestmark = pytest.mark.starts
EXAMINING = """
import sys
from pathlib import Path
from aahcrawler.editor.drafts.entry_examination import WantedExamination, examined
from aahcrawler.editor.drafts.draft_collection import DraftCollection

work = DraftCollection(Path(sys.argv[1]), ()).existing("tinyforum")
examined(WantedExamination(1, work.entry(work.now()), work.folders))
"""

SAVING = """
import os, signal, sys
from pathlib import Path
from aahcrawler.editor.drafts import opened_draft as work
from aahcrawler.editor.drafts.draft_collection import DraftCollection

left, fsync, replace = int(sys.argv[2]), os.fsync, Path.replace

def dying(change):
    def changed(*arguments):
        global left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return change(*arguments)
    return changed

os.fsync, Path.replace = dying(fsync), dying(replace)
work.prove = lambda *_, **__: None
held = DraftCollection(Path(sys.argv[1]), ()).existing("tinyforum")
held.save("Bo", held.now().revision, force=True)
"""
"""Saves a work, and is killed right before it forces a file to the disk or moves one for the n-th time."""


@pytest.fixture
def works(tmp_path: Path) -> DraftCollection:
    return DraftCollection(tmp_path / "own", ())


@pytest.fixture
def work(works: DraftCollection) -> OpenedDraft:
    """Begin a work whose pages are expected to be read as they are."""
    work = works.begin_from(DRAFT, DOUBTS, "tinyforum", "Ada")
    with staged(work.entry(work.now()), work.folders) as stage:
        for page, name in ((TOPIC, "topic"), (BOARD, "board"), (FORM, "login")):
            work.add_page(page, reading(page, stage.knowledge_base), "Ada", name)
    return work


def css(place: str, value: str) -> SetAttribute:
    return SetAttribute(place=place, attribute="css", value=value)


@pytest.mark.slow
def test_an_entry_is_saved_with_its_pages_once_nothing_is_against_it(
    works: DraftCollection, work: OpenedDraft, tmp_path: Path
) -> None:
    with pytest.raises(NotSavedError, match="2 guesses") as refused:
        work.save("Ada", 3)
    assert refused.value.can_force
    for number, doubt in enumerate(work.now().doubts):
        work.confirm(doubt, "Bo", 3 + number)
    with pytest.raises(StaleError, match="confirmed"):
        work.save("Bo", 4)
    state = work.save("Bo", 5)
    assert state.is_saved
    own = OwnFolder(tmp_path / "own")
    entry = own.entry("tinyforum")
    assert entry is not None
    assert entry.xml == state.text.data
    assert [page.stem for page in entry.pages] == ["board", "login", "topic"]
    (change,) = own.history("tinyforum")
    assert change.who == "Bo"
    assert "added the page topic" in change.what
    assert "confirmed: the date of a post is .when" in change.what
    # The work goes on, and so does another one once this is discarded.
    assert not work.change([css(f"{EXTRACT}/item", "div.no")], "Ada", "posts are .no", state.revision).is_saved
    with pytest.raises(NotSavedError, match="the page topic is read differently than expected"):
        work.save("Ada", state.revision + 1)
    work.discard()
    again = works.open("tinyforum", "Cleo")
    assert (again.now().text.data, again.now().origin.source) == (entry.xml, "the entry tinyforum")
    assert again.page("topic").expected == read_expectation(tmp_path / "own/applications/pages/tinyforum/topic.json")
    own.save("tinyforum", entry.xml + b"\n", None, "Bo", "a line more")
    with pytest.raises(StaleError, match="a line more"):
        again.save("Cleo", 0, force=True)


@pytest.mark.slow
def test_what_is_wrong_is_told_by_place_and_cannot_be_forced(work: OpenedDraft, tmp_path: Path) -> None:
    work.change([Put(place=f"{DATE}/select[1]", xml='<select css="..when"/>')], "Ada", "the date is ..when", 3)
    found = examined(WantedExamination(4, work.entry(work.now()), work.folders))
    assert found is not None
    (error,) = found.errors
    assert (error.place, error.line, error.severity) == (f"{DATE}/select[1]", 30, Severity.ERROR)
    assert found.at(f"{DATE}/select[1]") == (error,)
    with pytest.raises(NotSavedError, match="line 30") as refused:
        work.save("Ada", 4, force=True)
    assert not refused.value.can_force
    assert not (tmp_path / "own/applications/tinyforum.xml").exists()


@pytest.mark.slow
def test_a_shipped_entry_is_copied_with_its_pages_and_overridden(work: OpenedDraft, tmp_path: Path) -> None:
    work.save("Ada", 3, force=True)
    other = DraftCollection(tmp_path / "other", (tmp_path / "own",))
    copy = other.open("tinyforum", "Cleo")
    assert copy.now().origin.source == "a copy of the entry tinyforum that ships"
    assert sorted(copy.now().pages) == ["board", "login", "topic"]
    assert [doubt.said for doubt in copy.now().doubts] == ["the page says so", "a date stands there"]
    copy.change([SetAttribute(place="level[forum]", attribute="start", value="yes")], "Cleo", "begin at forums", 0)
    copy.save("Cleo", 1, force=True)
    assert b'start="yes"' in (tmp_path / "other/applications/tinyforum.xml").read_bytes()
    # What the folder below has need not be there twice.
    assert not (tmp_path / "other/applications/pages/tinyforum").exists()
    with pytest.raises(DraftEditError, match="neither a work nor an entry"):
        other.open("nothing")


@pytest.mark.slow
def test_progress_is_of_the_newest_revision_and_can_be_ended(
    works: DraftCollection, work: OpenedDraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress(works, "tinyforum")
    assert progress.latest is None
    for number in range(3):
        revision = progress.ask()
        work.change([css(f"{EXTRACT}/field[author]/select", f".no{number}")], "Ada", f"no {number}", revision)
    revision = progress.ask()
    assert progress.is_running
    found = progress.wait(PATIENCE)
    assert found is not None
    assert (found.revision, found.unfinished, progress.fault) == (revision, "", "")
    assert [each.is_guess for each in found.warnings] == [True]
    (failed,) = found.failed
    assert failed.page == "topic"
    assert failed.differences[0].endswith('author: expected "Ada", found nothing')
    work.change([css(f"{EXTRACT}/field[author]/select", ".who a")], "Ada", "mended", revision)
    monkeypatch.setattr(draft_collection, "examined", lambda _, __, is_outdated: until(is_outdated))
    progress.ask()
    progress.close()
    assert progress.wait(0) == found, "it was ended before it came to anything"
    work.discard()
    with pytest.raises(DraftEditError, match="discarded"):
        progress.ask()


def test_whatever_ends_an_examination_is_told(
    works: DraftCollection, work: OpenedDraft, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examined(*_: object) -> None:
        raise TypeError("no such thing")

    monkeypatch.setattr(draft_collection, "examined", examined)
    progress = Progress(works, work.name)
    progress.ask()
    assert progress.wait(PATIENCE) is None
    assert not progress.is_running
    assert "TypeError" in progress.fault


def test_an_examination_that_takes_too_long_is_ended_and_says_so(work: OpenedDraft) -> None:
    found = examined(WantedExamination(1, work.entry(work.now()), work.folders), seconds=0.2)
    assert found is not None
    assert found.unfinished.startswith("it took too long, busy with ")


@pytest.mark.parametrize("after", [*range(1, 15), 1000])
def test_a_kill_while_it_is_saved_leaves_the_old_entry_or_the_new_one(
    work: OpenedDraft, works: DraftCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: int
) -> None:
    """Whatever reached the disk last, the work is there with all its steps, and can be saved again."""
    monkeypatch.setattr(work_module, "prove", lambda *_, **__: None)
    old = work.save("Ada", 3, force=True)
    state = work.change([css(f"{EXTRACT}/item", "div.other")], "Ada", "posts are .other", old.revision)
    with forked(SAVING, tmp_path / "own", after) as process:
        assert process.wait() == (0 if after == 1000 else -SIGKILL), process.stderr.read()
    own = OwnFolder(tmp_path / "own")
    entry = own.entry("tinyforum")
    assert entry is not None
    assert entry.xml in (old.text.data, state.text.data)
    assert entry.xml == state.text.data or after < 1000
    assert sorted(page.stem for page in entry.pages) == ["board", "login", "topic"]
    assert len(own.history("tinyforum")) == (1 if entry.xml == old.text.data else 2)
    again = works.existing("tinyforum")
    assert again.now().steps[: len(state.steps)] == state.steps
    assert again.now().text.data == state.text.data
    assert again.save("Cleo", again.now().revision, force=True).is_saved
    saved = OwnFolder(tmp_path / "own").entry("tinyforum")
    assert saved is not None
    assert saved.xml == state.text.data
    assert own.history("tinyforum")[1].what.endswith("posts are .other")
    assert not list((tmp_path / "own").rglob(".saving-*"))


@pytest.mark.usefixtures("work")
def test_an_examination_whose_process_is_killed_leaves_nothing_behind(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with Forked([str(tmp_path / "own")], {**os.environ, "TMPDIR": str(scratch)}, code=EXAMINING) as process:
        until(lambda: any(scratch.glob("aah-*/*")) or process.poll() is not None)
        assert any(scratch.glob("aah-*/*"))
        process.kill()
    until(lambda: not any(scratch.iterdir()))


def test_all_works_of_a_cockpit_share_a_bound_and_their_examinations_end_with_it(
    work: OpenedDraft, tmp_path: Path
) -> None:
    own = tmp_path / "own"
    opened = OpenDrafts(lambda: KnowledgeFolders((own,), own))
    desk = DraftChecker(opened)
    held = [opened.works.examining.acquire(blocking=False) for _ in range(MAX_EXAMINED + 1)]
    assert held == [*[True] * MAX_EXAMINED, False]
    waiting = desk.checked(work.name)
    assert waiting.wait(0.5) is None
    assert not active_children()
    for _ in range(MAX_EXAMINED):
        opened.works.examining.release()
    until(lambda: bool(active_children()) or not waiting.is_running)
    assert active_children()
    desk.close()
    assert not active_children()
    assert not waiting.is_running


def test_saving_is_given_up_where_nobody_waits_for_it(work: OpenedDraft, tmp_path: Path) -> None:
    with pytest.raises(DraftEditError, match="save again"):
        work.save("Ada", 3, force=True, is_given_up=lambda: True)
    assert OwnFolder(tmp_path / "own").entry("tinyforum") is None

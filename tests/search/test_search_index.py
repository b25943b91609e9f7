"""The index of a folder holds what its segments and WARC files hold, whatever happens to either."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from aahcrawler.captures import ArchivedCaptures
from aahcrawler.derived_index import Standing
from aahcrawler.layout import ARCHIVE, INDEXES, SEARCH, SEARCH_TEXTS, TOMBSTONES
from aahcrawler.search import Question, SearchedFolder, SearchIndex, search
from aahcrawler.search.text_index import TextIndex
from aahcrawler.takedown.removal import WantedRemoval, remove
from aahcrawler.tombstones import Tombstone, write_tombstones
from tests.search.archives import SITE, found, names, post, running, seconds, texts


def test_what_a_running_crawl_adds_is_found_at_the_next_look_and_once(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        for number in range(4):
            crawl.page(f"p{number}", "the dyke holds", [post(f"o{number}", f"seen on day {number}")])
            assert found(tmp_path, "seen", is_folded=False, scope="all").total == number + 1
            assert found(tmp_path, "dyke").facets["kind"] == {"page": number + 1}
    assert found(tmp_path, "seen dyke OR seen", scope="all").facets["kind"] == {"object": 4}


def test_an_object_is_one_result_and_its_versions_are_known(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        for body in ("the first words", "the first words", "other words", "the first words"):
            crawl.page("thread", "a page", [post("o", body)])
        objects = {"filters": {"kind": ["object"]}}
        assert texts(found(tmp_path, "words", **objects)) == ["the first words"]
        assert found(tmp_path, "words", scope="all", **objects).total == 3
        assert found(tmp_path, "words", scope="all", is_folded=True, **objects).hits[0].alike == 2
        assert [texts(found(tmp_path, "words", as_of=seconds(day), **objects)) for day in range(-1, 4)] == [
            [],
            ["the first words"],
            ["the first words"],
            ["other words"],
            ["the first words"],
        ]


def test_what_was_found_gone_is_found_and_marked_and_is_not_there_after_that(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        crawl.page("thread", "a page", [post("o", "soon gone"), post("p", "here to stay")])
        crawl.page("thread", "a page", [post("p", "here to stay")], gone=[f"{SITE}/#o"])
        (gone,) = found(tmp_path, "soon").hits
        assert gone.is_gone
        assert names(found(tmp_path, "soon", as_of=seconds(0))) == ["o"]
        assert names(found(tmp_path, "soon", as_of=seconds(1))) == []
        assert not found(tmp_path, "stay").hits[0].is_gone


class KilledError(Exception):
    """Stands for a kill."""


@pytest.mark.parametrize("after", ["texts", "ledger"])
def test_a_kill_between_the_two_stores_loses_and_doubles_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str
) -> None:
    commit = TextIndex.commit

    def killed(self: TextIndex) -> int:
        if after == "texts":
            commit(self)
        raise KilledError

    with running(tmp_path) as crawl:
        crawl.page("thread", "one page", [post("o", "first words")])
        assert found(tmp_path).total == 2
        crawl.page("thread", "another page", [post("o", "second words"), post("p", "more words")])
        with monkeypatch.context() as patch:
            patch.setattr(TextIndex, "commit", killed)
            with pytest.raises(KilledError), SearchIndex(tmp_path) as index:
                index.step()
        # What the killed step had seen last is a version before what has come in meanwhile.
        crawl.page("thread", "a third page", [post("o", "third words")])
        assert found(tmp_path, scope="all", is_folded=False).total == 7
        assert names(found(tmp_path, "words", as_of=seconds(1), order="captured")) == ["o", "p"]
        assert sorted(texts(found(tmp_path, "page"))) == ["a third page"]


@pytest.mark.parametrize("lost", [SEARCH, SEARCH_TEXTS])
def test_an_index_of_which_a_part_is_lost_is_made_anew(tmp_path: Path, lost: str) -> None:
    with running(tmp_path) as crawl:
        crawl.page("thread", "one page", [post("o", "first words")])
    assert found(tmp_path).total == 2
    path = tmp_path / INDEXES / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert found(tmp_path).total == 2
    assert len([*(tmp_path / INDEXES / SEARCH_TEXTS).iterdir()]) == 1


def test_what_is_taken_down_is_hidden_at_once_and_then_gone_from_the_index(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        crawl.page("kept", "the dyke holds", [post("o", "the dyke holds still")])
        crawl.page("secret", "the dyke is of Mr Smith")
    found(tmp_path)
    asked = SearchedFolder(tmp_path)
    assert len(search([asked.opened()], Question("dyke", is_folded=False)).hits) == 3
    stone = Tombstone(id="1", at="2026-03-05T00:00:00Z", by="me", reason="asked for", urls=(f"{SITE}/secret",))
    write_tombstones(tmp_path, [stone])
    assert not any("Smith" in hit.entry.text for hit in search([asked.opened()], Question("dyke")).hits)
    (tmp_path / TOMBSTONES).unlink()
    remove(tmp_path, WantedRemoval(urls=(f"{SITE}/secret",)), "me", "asked for")
    assert found(tmp_path, "smith").total == 0
    kept = b"".join(path.read_bytes() for path in (tmp_path / INDEXES).rglob("*") if path.is_file())
    assert b"Smith" not in kept


def test_of_a_damaged_file_the_rest_is_found_and_the_damage_is_told(tmp_path: Path) -> None:
    with running(tmp_path) as crawl:
        for number in range(3):
            crawl.page(f"p{number}", "the dyke holds")
    (path,) = (tmp_path / ARCHIVE).glob("*.warc.gz")
    content = bytearray(path.read_bytes())
    with ArchivedCaptures(tmp_path) as source:
        begin = [capture.place.offset for capture in source.captures()][1]
    content[begin + 12 : begin + 40] = b"\xff" * 28
    path.write_bytes(content)
    assert found(tmp_path, "dyke").total == 2
    (told,) = SearchedFolder(tmp_path).opened().reach.damaged
    assert path.name in told
    assert str(begin) in told


def test_an_index_of_another_version_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(tmp_path) as crawl:
        crawl.page("thread", "one page")
    assert found(tmp_path).total == 1
    monkeypatch.setattr(SearchIndex, "version", SearchIndex.version + 1)
    with pytest.raises(sqlite3.Error), SearchIndex(tmp_path).asked():
        pass
    assert found(tmp_path).total == 1
    with SearchIndex(tmp_path) as index:
        assert index.standing(index.base) is Standing.SOUND


def test_in_a_folder_that_cannot_be_written_to_a_search_goes_on_from_what_there_is_of_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(tmp_path) as crawl:
        crawl.page("one", "the dyke holds")
        assert found(tmp_path, "dyke").total == 1
        crawl.page("two", "the dyke has broken")
    for lock in (tmp_path / INDEXES).rglob("*lock"):
        lock.unlink()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / INDEXES).rglob("*")}
    # The tests may be run by root, whom no permission stops.
    monkeypatch.setattr("os.access", lambda path, *_: not Path(path).is_relative_to(tmp_path))
    with SearchIndex(tmp_path).open() as index:
        taken_in = index.base.execute("SELECT sum(covered) FROM segment").fetchone()[0]
        assert index.catch_up()
        index.rest()
        assert search([SearchedFolder(tmp_path, index).opened()], Question("dyke")).total == 2
    assert taken_in > 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / INDEXES).rglob("*")} == before

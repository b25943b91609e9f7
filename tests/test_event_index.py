"""Events are found by full text in the folder of a crawl, whatever became of the index."""

import json
from pathlib import Path

import pytest

from aahcrawler.event_index import EventIndex, EventQuery, EventSearchError, match_expression
from aahcrawler.layout import EVENTS, FORMER, INDEXES, LOG
from tests.crawl.crawling import aah

FIRST = """\
2026-01-01T10:00:00.000Z INFO crawl.startup.factory crawl 1 begun
2026-01-01T10:00:01.000Z WARNING crawl.response.handler http://forum.test/viewtopic.php?t=7 attempt 1: timed out
2026-01-01T10:00:02.000Z INFO crawl.response.handler http://forum.test/viewtopic.php?t=77 200 new
"""
SECOND = """\
2026-02-01T10:00:00.000Z ERROR crawl.core.lifecycle the disk of Zürich is full
2026-02-01T10:00:01.000Z INFO crawl.response.handler http://forum.test/robots.txt timed out | Traceback
"""


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """Return a folder whose second crawl runs: its last event is being written."""
    (tmp_path / FORMER / "1").mkdir(parents=True)
    (tmp_path / FORMER / "1" / "crawl.json").write_text('{"crawl": 1}')
    (tmp_path / FORMER / "1" / LOG).write_text(FIRST)
    (tmp_path / LOG).write_text(SECOND + "2026-02-01T10:00:02.000Z INFO crawl.core half")
    (tmp_path / INDEXES).mkdir()
    return tmp_path


def found(folder: Path, text: str = "", query: EventQuery | None = None) -> list[str]:
    with EventIndex(folder) as index:
        return [f"{event.crawl} {event.message}" for event in index.find(query or EventQuery(text))]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("", 5),
        ("timed out", 2),
        ('"out timed"', 0),
        ("timed -robots", 1),
        ("forum.test/viewtopic.php?t=7", 1),
        ("viewtopic* -attempt", 1),
        ("zurich OR begun", 2),
        ("lifecycle", 1),
    ],
)
def test_events_are_found_by_their_words(crawl: Path, text: str, number: int) -> None:
    assert len(found(crawl, text)) == number


def test_events_are_chosen_by_severity_crawl_and_time(crawl: Path) -> None:
    assert found(crawl, query=EventQuery(levels=("WARNING", "ERROR"), crawl=2)) == ["2 the disk of Zürich is full"]
    assert len(found(crawl, query=EventQuery(since="2026-01-01T10:00:01", until="2026-02-01"))) == 2


def test_what_is_logged_later_is_found_and_nothing_twice(crawl: Path) -> None:
    assert len(found(crawl)) == 5
    with (crawl / LOG).open("a") as log:
        log.write(" an event\n2026-02-01T10:00:03.000Z INFO crawl.core the end\n")
    assert found(crawl)[-2:] == ["2 half an event", "2 the end"]
    (crawl / FORMER / "2").mkdir()
    (crawl / FORMER / "2" / "crawl.json").write_text('{"crawl": 2}')
    (crawl / LOG).rename(crawl / FORMER / "2" / LOG)
    (crawl / LOG).write_text("2026-03-01T10:00:00.000Z INFO crawl.core crawl 3 begun\n")
    assert [len(found(crawl, query=EventQuery(crawl=number))) for number in (1, 2, 3)] == [3, 4, 1]


def test_an_index_that_is_lost_damaged_or_of_another_log_is_made_anew(crawl: Path) -> None:
    before = found(crawl)
    index = crawl / INDEXES / EVENTS
    index.unlink()
    assert found(crawl) == before
    index.write_bytes(b"no database" * 1000)
    assert found(crawl) == before
    (crawl / LOG).write_text("2026-02-01T11:00:00.000Z INFO crawl.core anew\n")
    assert found(crawl, query=EventQuery(crawl=2)) == ["2 anew"]


def test_a_folder_without_a_place_for_an_index_is_searched_all_the_same(crawl: Path) -> None:
    (crawl / INDEXES).rmdir()
    (crawl / INDEXES).write_text("A file where the folder would be.")
    assert len(found(crawl, "timed")) == 2


@pytest.mark.parametrize("text", ["", "-robots", '""', "***", "OR"])
def test_a_search_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(EventSearchError, match="no word to look for"):
        match_expression(text)


@pytest.mark.parametrize("text", ['a"b', "NEAR(a b)", "message:x", "a AND AND b", "{a}", "^a", 'x" OR "y', "a'--"])
def test_no_search_is_an_error_of_the_database(crawl: Path, text: str) -> None:
    found(crawl, text)


def test_the_command_prints_lines_and_json(crawl: Path) -> None:
    ended = aah("events", crawl, "--search", "zürich")
    assert (ended.code, ended.out) == (
        0,
        "2026-02-01T10:00:00.000Z ERROR 2 crawl.core.lifecycle the disk of Zürich is full\n",
    )
    ended = aah("events", crawl, crawl, "--level", "ERROR", "--since", "2026-01-31", "--json")
    assert [json.loads(line)["message"] for line in ended.out.splitlines()] == ["the disk of Zürich is full"] * 2


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (("--search", "-a"), "no word to look for"),
        (("--since", "yesterday"), "is no time"),
        (("--follow",), "folders keep what is over"),
        (("--crawl", "floods"), "takes the number"),
    ],
)
def test_the_command_says_what_is_wrong(crawl: Path, options: tuple[str, ...], complaint: str) -> None:
    ended = aah("events", crawl, *options)
    assert ended.code == 2
    assert complaint in " ".join(ended.err.replace("│", " ").split())
    none = aah("events", crawl / FORMER)
    assert (none.code, "has no crawl.log" in none.err) == (2, True)

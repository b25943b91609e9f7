"""What a crawl learns is kept in its folder, and serves it again after a restart, and its other workers."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from scrapy.settings import Settings

from aahcrawler.crawl.reload.knowledge_reload import LiveKnowledgeBase
from aahcrawler.crawl.scrapy.crawl_settings import ADAPTATION, adapts
from aahcrawler.helper import Assistance
from aahcrawler.page import Page
from tests.adaptation.redesigned import SITE, bodies, new, said, thread
from tests.helper.saved_pages import html_page

FORUM = """<?xml version="1.0"?>
<application name="Harbour Board" kind="web-forum">
  <detect><pattern strength="proof" css=".forum-sign" cite="unproven: made up"/></detect>
  <level name="thread" role="terminal">
    <when css=".topic"/>
    <address path="/thread" parameters="t"/>
    <extract name="posts" type="reply" first-type="post" many="yes" always="yes">
      <item css=".post"/>
      <identity trim="p" prefix="p"><select xpath="@id"/></identity>
      <field name="author" kind="person"><select css=".who"/></field>
      <field name="date" kind="datetime"><select css="time" attribute="datetime"/></field>
      <field name="body"><select css=".said"/></field>
    </extract>
  </level>
</application>
"""

BOARD = """  <level name="board" role="intermediate">
    <when css=".board"/>
    <address path="/board" parameters="b"/>
    <navigate name="threads" to="thread"><select css=".row a"/></navigate>
  </level>
</application>
"""


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, ...]:
    file = tmp_path / "mine" / "applications" / "harbour.xml"
    file.parent.mkdir(parents=True)
    file.write_text(FORUM, "utf-8")
    return (tmp_path / "mine",)


def crawled(folders: tuple[Path, ...], folder: Path | None, *numbers: int) -> list[Assistance]:
    """Read redesigned threads as a crawl does that keeps what it learns in a folder."""
    knowledge = LiveKnowledgeBase(folders)
    if folder is not None:
        knowledge.share(folder)
    return [knowledge.helper.assist(thread(number, new)) for number in numbers]


def test_a_crawl_goes_on_with_what_it_learned_before(folders: tuple[Path, ...], tmp_path: Path) -> None:
    first = crawled(folders, tmp_path / "crawl", 1, 2, 3)
    assert [bodies(each.objects) for each in first] == [said(number) for number in (1, 2, 3)]
    assert first[0].failed_actions
    assert [file.suffix for file in (tmp_path / "crawl" / "learned").glob("*.xml")] == [".xml"]
    (again,) = crawled(folders, tmp_path / "crawl", 4)
    assert (bodies(again.objects), again.failed_actions) == (said(4), ())


def board(number: int) -> Page:
    rows = "".join(f'<p class="subject"><a href="/thread?t={n}">Thread {n}</a></p>' for n in range(number, number + 3))
    return html_page(f"{SITE}/board?b={number}", f'<html><body class="board forum-sign">{rows}</body></html>')


def test_signs_and_navigation_that_one_worker_learned_serve_another(
    folders: tuple[Path, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (folders[0] / "applications" / "harbour.xml").write_text(FORUM.replace("</application>\n", BOARD), "utf-8")
    one, other = LiveKnowledgeBase(folders), LiveKnowledgeBase(folders)
    one.share(tmp_path / "crawl")
    for number in (1, 2, 3):
        one.helper.assist(board(number))
        one.helper.assist(thread(number, new, signs="topic-view forum-sign"))
    other.share(tmp_path / "crawl")
    assert caplog.text == ""
    found = other.helper.assist(board(7))
    assert [link.url for link in found.document.outlinks] == [f"{SITE}/thread?t={n}" for n in (7, 8, 9)]
    assert found.failed_actions == ()
    page = thread(8, new, signs="topic-view forum-sign")
    read = other.helper.assist(replace(page, url=f"{SITE}/rewritten/8"))
    assert (bodies(read.objects), read.failed_actions) == (said(8), ())


def test_what_is_learned_is_logged(folders: tuple[Path, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "aahcrawler.crawl.reload.self_repair"):
        crawled(folders, tmp_path / "crawl", 1, 2)
    (line,) = (record.getMessage() for record in caplog.records)
    assert line.startswith("Harbour Board: thread: posts learned on forum.test")
    assert "6 objects on 2 pages, 0 before" in line


def test_a_folder_that_cannot_be_written_costs_the_file_alone(
    folders: tuple[Path, ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "learned").write_text("a file where a folder should be")
    found = crawled(folders, tmp_path / "crawl", 1, 2, 3)
    assert [bodies(each.objects) for each in found] == [said(number) for number in (1, 2, 3)]
    assert "cannot be kept" in caplog.text


def test_without_adaptation_failures_are_reported_and_nothing_is_learned(
    folders: tuple[Path, ...], tmp_path: Path
) -> None:
    knowledge = LiveKnowledgeBase(folders, adapt=False)
    knowledge.share(tmp_path / "crawl")
    found = [knowledge.helper.assist(thread(number, new)) for number in (1, 2, 3)]
    assert [bodies(each.objects) for each in found] == [[], [], []]
    assert all(each.failed_actions for each in found)
    assert not (tmp_path / "crawl").exists()


@pytest.mark.parametrize(
    ("setting", "environment", "expected"),
    [
        (None, None, True),
        (None, "0", False),
        (None, "1", True),
        ("off", "1", False),
        (0, None, False),
        ("1", "0", True),
    ],
)
def test_adaptation_is_turned_off_by_setting_or_environment(
    setting: str | int | None, environment: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ADAPTATION, raising=False)
    if environment is not None:
        monkeypatch.setenv(ADAPTATION, environment)
    assert adapts(Settings({} if setting is None else {ADAPTATION: setting})) is expected


def test_without_a_folder_what_is_learned_serves_all_the_same(folders: tuple[Path, ...]) -> None:
    found = crawled(folders, None, 1, 2, 3)
    assert [bool(each.failed_actions) for each in found] == [True, False, False]

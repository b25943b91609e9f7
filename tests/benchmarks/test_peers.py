from pathlib import Path

from aahcrawler.page import Page
from benchmarks.peer_runner import objects
from benchmarks.peers import Lesson
from benchmarks.recorded import site_pages
from knowledge_base.loader import load
from knowledge_base.model import Extract
from tests.benchmarks import tinysite


def lesson(folder: Path) -> tuple[Lesson, Page]:
    level = load(tinysite.knowledge_base(folder / "whole")).application("TinyForum").level("topic")
    action = next(each for each in level.actions if isinstance(each, Extract))
    pages = tuple(site_pages(tinysite.record(folder)))[1:]
    return Lesson(action, pages), pages[0]


def test_other_libraries_learn_from_what_the_knowledge_base_finds(tmp_path: Path) -> None:
    found, page = lesson(tmp_path)
    posts = tinysite.POSTS[1]
    assert found.values("author", page) == [author for _, author, _, _ in posts]
    assert found.values("date", page) == [date for _, _, date, _ in posts]
    assert [body.removesuffix("Buy rope") for body in found.values("body", page)] == [body for *_, body in posts]


def test_expressions_that_find_nothing_are_not_learned_from(tmp_path: Path) -> None:
    found, _ = lesson(tmp_path)
    assert len(list(found.selectors("author"))) == 1
    assert list(found.selectors("mood")) == []


def test_work_names_files_that_hold_the_pages(tmp_path: Path) -> None:
    found, page = lesson(tmp_path)
    work = found.work(tmp_path / "work")
    pages = work["pages"]
    assert isinstance(pages, list)
    assert Path(pages[0]["file"]).read_text("utf-8") == page.text
    assert pages[0]["url"] == page.url


def test_authors_belong_to_bodies_where_there_are_as_many() -> None:
    found = {"body": ("one", "two"), "author": ("Ada", "Bo"), "date": ("today",)}
    assert [(each["body"], each["author"], each["date"]) for each in objects("http://tiny.test/", found)] == [
        ("one", "Ada", None),
        ("two", "Bo", None),
    ]

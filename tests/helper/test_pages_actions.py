"""Other pages of the same list or thread, and actions that wait for others to find nothing."""

from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_base.loader import FOLDER, LoadError, load_files
from knowledge_base.model import Action, Application, Navigate, PageLevel
from knowledge_base.url_rules import Paging, PathGlob, UrlRule
from tests.helper.building import application, assist, links, when

PAGES = Navigate("pages", "thread", pages=True)
HERE = "http://site.test/thread?id=1"


def board(*actions: Action) -> Application:
    rule = UrlRule(PathGlob("thread"), present=(("id", "*"),), allowed=frozenset({"page"}))
    paging = (Paging(parameter="page"),)
    return application(
        "board", PageLevel("thread", "terminal", when("main"), actions=actions, addresses=(rule,), paging=paging)
    )


def followed(application_: Application, *hrefs: str, url: str = HERE) -> list[tuple[str, str | None]]:
    anchors = "".join(f'<a class="{"next" if "next" in href else "page"}" href="{href}">x</a>' for href in hrefs)
    found = assist(application_, f"<main>{anchors}</main>", url)
    return [(link.url.removeprefix("http://site.test/"), link.action) for link in found.document.outlinks]


def test_pages_of_this_thread_and_of_no_other() -> None:
    found = followed(board(PAGES), "?id=1&page=2", "?id=2&page=2", "?id=1", "/thread?id=1&page=3#p7", "/about")
    assert found == [("thread?id=1&page=2", "pages"), ("thread?id=1&page=3", "pages")]


def test_the_first_page_is_found_from_a_later_one() -> None:
    assert followed(board(PAGES), "?id=1", "?id=1&page=2", url=f"{HERE}&page=2") == [("thread?id=1", "pages")]


BUTTON = links("button", "thread", "a.next", when_none=("pages",))


@pytest.mark.parametrize("only_itself", [(), ("?id=1",), (HERE, "?id=1#top")])
def test_links_to_the_page_itself_are_no_pages(only_itself: tuple[str, ...]) -> None:
    expected = [("thread?id=1&next=5", "button")]
    assert followed(board(PAGES, BUTTON), *only_itself, "?id=1&next=5") == expected


def test_one_other_page_is_enough() -> None:
    found = followed(board(PAGES, BUTTON), "?id=1", "?id=1&page=2", "?id=1&next=5")
    assert found == [("thread?id=1&page=2", "pages")]


def test_pages_can_wait_for_another_action() -> None:
    waiting = board(links("first", "thread", "a.next"), replace(PAGES, when_none=("first",)))
    assert followed(waiting, "?id=1&page=2", "?id=1&next=5") == [("thread?id=1&next=5", "first")]
    assert followed(waiting, "?id=1&page=2") == [("thread?id=1&page=2", "pages")]


def test_an_action_whose_links_lead_only_here_lets_others_run() -> None:
    waiting = board(links("all", "thread", "a"), replace(PAGES, name="more", when_none=("all",)))
    assert followed(waiting, "?id=1") == []
    assert followed(waiting, "?id=1", "?id=1&page=2") == [("thread?id=1&page=2", "all")]


WRITTEN = """<application name="board" kind="web-forum">
<detect><pattern strength="strong" css="#board-sign"/></detect>
<level name="thread" role="terminal"><when css="main"/><address path="thread" parameters="id" optional="page"/>
<paging parameter="page"/>
<navigate name="first" to="thread"><select css="a.next"/></navigate>
<pages name="pages" when-none="{waits}"/></level></application>"""


def test_files_can_say_what_pages_wait_for(tmp_path: Path) -> None:
    file = tmp_path / "board.xml"
    file.write_text(WRITTEN.format(waits="first"))
    (read,) = load_files([FOLDER / "kinds" / "web-forum.xml"], [file]).applications
    assert followed(read, "?id=1&page=2", "?id=1&next=5") == [("thread?id=1&next=5", "first")]
    assert followed(read, "?id=1&page=2") == [("thread?id=1&page=2", "pages")]
    file.write_text(WRITTEN.format(waits="frist"))
    with pytest.raises(LoadError, match="pages waits for frist"):
        load_files([FOLDER / "kinds" / "web-forum.xml"], [file])

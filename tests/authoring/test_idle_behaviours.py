"""What authors are told of behaviours: what they find on saved pages, and where they find nothing."""

from pathlib import Path

import pytest

from aahcrawler.editor.checks.check_findings import LevelPages
from aahcrawler.editor.checks.fruitless_parts import idle_behaviours
from aahcrawler.editor.explanation.explain import explain
from aahcrawler.editor.pages.saved_pages import Expectation, SavedPage, page_of
from aahcrawler.editor.pages.trial import Trial
from aahcrawler.editor.text.file_lines import FileLines, read_files
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase

FILE = """<application name="Tiny" kind="web-forum">
  <detect><pattern strength="proof" generator="Tiny"/></detect>
  <behaviour name="more posts" level="thread">
    <click css=".more button"{}><words>load more</words></click>
    <scroll/>
  </behaviour>
  <level name="thread" role="terminal"><when css=".post"/></level>
</application>
"""
PAGE = b"""<html><head><meta name=generator content=Tiny></head><body><p class=post>Words</p>
<div class=more><button>Load more</button></div></body></html>"""


def known(folder: Path, said: str = "") -> tuple[KnowledgeBase, FileLines]:
    (folder / "applications").mkdir(exist_ok=True)
    file = folder / "applications" / "tiny.xml"
    file.write_text(FILE.format(said))
    return load(folder), FileLines(read_files([file]))


def saved(body: bytes, **behaviours: int) -> SavedPage:
    named = {name.replace("_", " "): number for name, number in behaviours.items()}
    expected = Expectation(url="http://a.test/", application="Tiny", level="thread", behaviours=named)
    return SavedPage("tiny/thread", Path("thread.html"), page_of(body, expected), expected)


@pytest.mark.parametrize(
    ("body", "cite", "number"),
    [
        (PAGE, "", 0),
        (PAGE.replace(b"class=more", b"class=else"), "", 1),
        (PAGE.replace(b"class=more", b"class=else"), ' cite="more.js, Tiny 1"', 0),
    ],
)
def test_a_step_that_finds_nothing_on_any_page_and_cites_nothing_is_told(
    tmp_path: Path, body: bytes, cite: str, number: int
) -> None:
    knowledge_base, places = known(tmp_path, cite)
    (file,) = places.files
    found = list(idle_behaviours(file, LevelPages(knowledge_base, places, (saved(body),))))
    assert [finding.place.line for finding in found] == [4] * number
    assert all("the behaviour more posts would click nothing" in finding.message for finding in found)


def test_pages_can_say_how_much_there_is_to_act_on(tmp_path: Path) -> None:
    knowledge_base, places = known(tmp_path)
    trial = Trial(knowledge_base)
    assert trial.misreadings(saved(PAGE, more_posts=1)) == ()
    assert trial.misreadings(saved(PAGE, more_posts=2)) == ("behaviour more posts: expected to act on 2, found 1",)
    other = PAGE.replace(b"Load more", b"Log out")
    assert trial.misreadings(saved(other, more_posts=1))[0].endswith("expected to act on 1, found nothing")
    assert "none of this name" in trial.misreadings(saved(PAGE, fewer=1))[0]
    tried = explain(saved(PAGE).page, knowledge_base, places).behaviours
    assert [(each.behaviour, each.act, each.found) for each in tried] == [("more posts", "click", 1)]

"""Trying the knowledge base on saved pages: what differs is said so that it can be acted on."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.pages.saved_pages import Expectation, SavedPage, SavedPageError, read_page
from aahcrawler.editor.pages.trial import Selection, Trial, TrialError, levels_without_page, without_negative_page
from knowledge_base.model import KnowledgeBase
from tests.helper.saved_pages import FOLDER, saved_pages
from tests.shipped import shipped

THREAD = read_page(FOLDER / "phpbb" / "thread-prosilver-3.3.html")
FORM = read_page(FOLDER / "phpbb" / "login-form.html")
FIRST, SECOND = THREAD.expected.objects


@pytest.fixture(scope="module")
def knowledge_base() -> KnowledgeBase:
    return shipped()


@pytest.fixture(scope="module")
def trial(knowledge_base: KnowledgeBase) -> Trial:
    return Trial(knowledge_base)


def changed(saved: SavedPage, **values: object) -> SavedPage:
    expected = Expectation.model_validate(saved.expected.model_dump() | values)
    return SavedPage(saved.name, saved.file, saved.page, expected)


def row(number: int, **values: object) -> dict[str, Any]:
    return THREAD.expected.objects[number].model_dump() | values


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"level": "forum"}, 'level: expected "forum", found "thread"'),
        ({"application": "MyBB"}, 'application: expected "MyBB", found "phpBB"'),
        ({"objects": (row(0), row(1, author="Bo"))}, f'object {SECOND.iri}: author: expected "Bo", found "Visitor"'),
        (
            {"objects": (row(0), row(1, date=None))},
            f'object {SECOND.iri}: date: expected nothing, found "{SECOND.date}"',
        ),
        ({"objects": (row(0),)}, f"object {SECOND.iri}: additional (reply: Re: Which oars?)"),
        ({"objects": (row(1), row(0))}, f"objects come in another order: {FIRST.iri}, {SECOND.iri}"),
        ({"objects": (row(0), row(1, iri="http://x.test/#p1"))}, "object http://x.test/#p1: iri: expected"),
        (
            {"objects": (row(0), row(1), row(1, iri="urn:x", body="New"))},
            "object urn:x: missing (reply: Re: Which oars?)",
        ),
        (
            {"objects": (row(0, more={"tags": ("a",)}), row(1))},
            f'object {FIRST.iri}: tags: expected "a", found nothing',
        ),
        ({"links": THREAD.expected.links | {"http://x.test/": "posts"}}, "link http://x.test/: missing (posts)"),
        ({"links": {}}, "link http://board.example/viewtopic.php?t=11&start=10: additional (next-posts)"),
        ({"refused": {"http://x.test/": "login"}}, "refused http://x.test/: not refused (login)"),
        ({"failed": {"posts": "slow"}}, "action posts: works (slow)"),
    ],
)
def test_each_difference_is_named(trial: Trial, values: dict[str, object], line: str) -> None:
    assert any(told.startswith(line) for told in trial.misreadings(changed(THREAD, **values)))
    assert trial.misreadings(THREAD) == ()


def test_long_texts_are_shown_from_where_they_part(trial: Trial) -> None:
    body = (FIRST.body or "") + " And more."
    (line,) = trial.misreadings(changed(THREAD, objects=(row(0, body=body), row(1))))
    assert 'body: expected "...' in line
    assert "And more." in line
    assert len(line) < 300


def test_levels_that_fit_besides_are_named(trial: Trial) -> None:
    (line,) = trial.misfits(changed(THREAD, application=None, level=None))
    assert line.startswith("level thread of phpBB fits this page too")
    (line,) = trial.misfits(changed(THREAD, level="board"))
    assert '"also": ["thread"]' in line
    assert trial.misfits(changed(THREAD, level="board", also=("thread",))) == ()
    (line,) = trial.misfits(changed(THREAD, level=None))
    assert "which is of none" in line


def test_pages_are_chosen_by_application_file_and_page(knowledge_base: KnowledgeBase) -> None:
    everything = saved_pages()
    names = {page.name for page in everything if page.name.startswith("phpbb/")}
    for name in ("phpBB", "phpbb"):
        assert {page.name for page in Selection(knowledge_base, everything, (name,)).chosen} == names
    assert [page.name for page in Selection(knowledge_base, everything, (FORM.name,)).chosen] == [FORM.name]
    with pytest.raises(TrialError, match="no saved page of phpbbb; there are pages of backdrop, blogger"):
        assert Selection(knowledge_base, everything, ("phpbbb",)).chosen


def test_levels_and_applications_without_pages_are_named(knowledge_base: KnowledgeBase) -> None:
    assert ("phpBB", "thread") in levels_without_page(knowledge_base, [FORM])
    assert ("phpBB", "thread") not in levels_without_page(knowledge_base, [THREAD])
    assert "phpBB" in without_negative_page(knowledge_base, [THREAD])
    assert "phpBB" not in without_negative_page(knowledge_base, [FORM])


def test_pages_do_not_help_one_another(trial: Trial, knowledge_base: KnowledgeBase) -> None:
    """A page without signs of its own is unknown, whatever was recognised on its host before."""
    assert trial.misreadings(THREAD) == ()
    bare = SavedPage("x", FORM.file, FORM.page, Expectation(url=FORM.page.url, application=None, level=None))
    assert trial.misreadings(bare) == Trial(knowledge_base).misreadings(bare)


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("{", "is no JSON"),
        ('{"url": "http://a.test/", "application": null}', "level: this is missing; write it"),
        (
            '{"url": "http://a.test/", "application": null, "level": null, "link": {}}',
            "link: nothing of this name is known",
        ),
        ('{"url": "http://a.test", "application": null, "level": null}', "write http://a.test/"),
        ('{"url": "a.test", "application": null, "level": null}', "starts with http"),
    ],
)
def test_mistakes_in_expectations_are_explained(tmp_path: Path, text: str, advice: str) -> None:
    page = tmp_path / "x.html"
    page.write_text("<p>x</p>")
    with pytest.raises(SavedPageError, match=r"has no x\.json beside it"):
        read_page(page)
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(SavedPageError, match=advice) as caught:
        read_page(page)
    assert str(tmp_path / "x.json") in str(caught.value)


def test_the_command_fails_where_a_page_does(tmp_path: Path) -> None:
    pages = tmp_path / "applications" / "pages" / "phpbb"
    pages.mkdir(parents=True)
    shutil.copy(FOLDER.parent / "phpbb.xml", tmp_path / "applications")
    for saved in (THREAD, FORM):
        shutil.copy(saved.file, pages)
        shutil.copy(saved.file.with_suffix(".json"), pages)
    expected = json.loads((pages / "login-form.json").read_text())
    (pages / "login-form.json").write_text(json.dumps(expected | {"level": "thread"}))
    result = CliRunner().invoke(app, ["kb", "test", "--kb", str(tmp_path)])
    assert result.exit_code == 1
    lines = result.output.splitlines()
    assert lines[0] == "FAILED  phpbb/login-form"
    assert lines[1].strip() == 'level: expected "thread", found nothing'
    assert lines[2].strip().startswith("to see why: aah kb explain ")
    assert "ok      phpbb/thread-prosilver-3.3" in lines
    assert "missing phpBB has no saved page of level board; add one: aah kb capture" in lines
    assert lines[-1] == "2 pages, 1 failed"

"""Saving a page as a test: what is understood is written down, doubts are named, nothing is overwritten."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from aahcrawler.cli import app
from aahcrawler.editor.pages.page_capture import CaptureError, Wish, capture, doubts, problems, told_of
from aahcrawler.editor.pages.page_source import Source, SourceError
from aahcrawler.editor.pages.saved_pages import SavedPage, as_json, read_expectation, read_page
from aahcrawler.editor.text.file_lines import FileLines
from aahcrawler.helper import Assistance, FailedAction, Failure
from aahcrawler.page import Headers, Page
from knowledge_base.loader import load
from knowledge_base.model import KnowledgeBase
from online_analysis.document import Document
from tests.helper.saved_pages import FOLDER, html_page
from tests.shipped import shipped

THREAD = read_page(FOLDER / "phpbb" / "thread-prosilver-3.3.html")
FORM = read_page(FOLDER / "phpbb" / "login-form.html")
LATER = datetime(2027, 1, 2, 3, 4, 5, 678, tzinfo=UTC)


@pytest.fixture(scope="module")
def knowledge_base() -> KnowledgeBase:
    return shipped()


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, ...]:
    (tmp_path / "applications").mkdir()
    phpbb = (FOLDER.parent / "phpbb.xml").read_bytes()
    (tmp_path / "applications" / "phpbb.xml").write_bytes(phpbb)
    return (tmp_path,)


@pytest.mark.slow
def test_a_page_is_saved_with_what_was_understood(folders: tuple[Path, ...], knowledge_base: KnowledgeBase) -> None:
    captured = capture(THREAD.page, knowledge_base, folders, Wish("phpbb", "thread-2"))
    file = folders[0] / "applications" / "pages" / "phpbb" / "thread-2.html"
    assert captured.saved.file == file
    assert captured.misfits == ()
    saved = read_page(file)
    assert saved.page.body == THREAD.page.body
    for name in ("url", "application", "level", "links", "objects"):
        assert getattr(saved.expected, name) == getattr(THREAD.expected, name), name
    assert saved.expected.refused.items() >= THREAD.expected.refused.items()


def test_headers_that_recognition_needs_are_kept_without_secrets(
    folders: tuple[Path, ...], knowledge_base: KnowledgeBase
) -> None:
    fields = (
        ("Content-Type", "text/html; charset=ISO-8859-1"),
        ("Set-Cookie", "phpbb3_x_sid=0123456789abcdef; path=/"),
        ("X-Visitor", "secret"),
    )
    page = Page(THREAD.page.url, 200, Headers(fields), THREAD.page.text.encode("latin-1", "replace"), LATER)
    captured = capture(page, knowledge_base, folders, Wish("phpBB", "latin"))
    saved = read_page(captured.saved.file)
    assert saved.expected.headers == ("Content-Type: text/html; charset=ISO-8859-1", "Set-Cookie: phpbb3_x_sid=")
    assert saved.page.encoding == page.encoding
    assert saved.page.fetched_at == LATER.replace(microsecond=0)


def test_nothing_is_overwritten_unless_that_is_asked_for(
    folders: tuple[Path, ...], knowledge_base: KnowledgeBase
) -> None:
    file = capture(THREAD.page, knowledge_base, folders, Wish("phpbb", "a")).saved.file
    file.with_suffix(".json").write_text("mine")
    with pytest.raises(CaptureError, match="--replace"):
        capture(THREAD.page, knowledge_base, folders, Wish("phpbb", "a"))
    assert file.with_suffix(".json").read_text() == "mine"
    capture(THREAD.page, knowledge_base, folders, Wish("phpbb", "a", replace=True))
    assert read_expectation(file.with_suffix(".json")).level == "thread"


def test_a_page_of_no_level_is_saved_as_such_only_when_asked(
    folders: tuple[Path, ...], knowledge_base: KnowledgeBase
) -> None:
    with pytest.raises(CaptureError, match=r"no level is recognised.*--negative"):
        capture(FORM.page, knowledge_base, folders, Wish("phpbb", "form"))
    saved = capture(FORM.page, knowledge_base, folders, Wish("phpbb", "form", negative=True)).saved
    assert (saved.expected.application, saved.expected.level) == ("phpBB", None)
    with pytest.raises(CaptureError, match="read as phpBB, level thread"):
        capture(THREAD.page, knowledge_base, folders, Wish("phpbb", "no", negative=True))


@pytest.mark.parametrize(
    ("page", "wish", "message"),
    [
        (THREAD.page, Wish("mybb", "a"), "no file describes mybb, only: phpbb"),
        (THREAD.page, Wish("none", "a"), "is recognised as phpBB"),
        (THREAD.page, Wish("phpbb", "../a"), "is no name for a page"),
        (replace(THREAD.page, status=404), Wish("phpbb", "a"), "answers 404"),
        (html_page("http://a.test/", "<p>Nothing</p>"), Wish("phpbb", "a"), "no application is recognised"),
    ],
)
def test_what_cannot_be_saved_is_said(
    folders: tuple[Path, ...], knowledge_base: KnowledgeBase, page: Page, wish: Wish, message: str
) -> None:
    with pytest.raises(CaptureError, match=message):
        capture(page, knowledge_base, folders, wish)
    assert not (folders[0] / "applications" / "pages").exists()


def test_doubts_name_what_is_missing_or_can_be_read_in_two_ways() -> None:
    first, second = THREAD.expected.objects
    told = "\n".join(
        doubts(THREAD.expected.model_copy(update={"objects": (first, second.model_copy(update={"date": None}))}))
    )
    assert "are there 2 objects" in told
    assert f"1 of 2 have no date, the first is {second.iri}" in told
    assert "01 March 2023 08:15 UTC, or are day and month the wrong way round" in told
    assert "no author" not in told


def test_expectations_are_read_as_they_were_written() -> None:
    for saved in (THREAD, FORM):
        assert type(saved.expected).model_validate(json.loads(as_json(saved.expected))) == saved.expected


def test_an_address_of_a_file_is_proposed_from_its_own_words(tmp_path: Path) -> None:
    def refuse(url: str) -> Page:
        raise AssertionError(url)

    source = Source(refuse, LATER)
    file = tmp_path / "x.html"
    file.write_text("<!-- saved from url=(0020)http://a.test/t?id=7 --><p>x</p>")
    with pytest.raises(SourceError, match=r"--url http://a\.test/t\?id=7"):
        source.page(str(file))
    assert source.page(str(file), "http://A.test/b").url == "http://a.test/b"
    with pytest.raises(SourceError, match="belongs to no file"):
        source.pages((str(file),), ("http://a.test/", "http://b.test/"))


def test_the_command_shows_what_it_saved(folders: tuple[Path, ...], tmp_path: Path) -> None:
    arguments = ["--application", "phpBB", "--as", "shown", "--kb", str(folders[0])]
    result = CliRunner().invoke(app, ["kb", "capture", str(THREAD.file), *arguments])
    assert result.exit_code == 0, result.output
    assert "level: thread" in result.output
    assert "links: 2 within the content, 1 next-posts, 1 back-to-forum" in result.output
    assert "please compare" in result.output
    result = CliRunner().invoke(app, ["kb", "test", "--kb", str(folders[0])])
    assert (result.exit_code, "ok      phpbb/shown" in result.output) == (0, True)
    assert isinstance(read_page(tmp_path / "applications/pages/phpbb/shown.html"), SavedPage)


def test_a_page_is_named_after_its_level(folders: tuple[Path, ...], knowledge_base: KnowledgeBase) -> None:
    saved = [capture(THREAD.page, knowledge_base, folders, Wish()).saved.file.name for _ in range(3)]
    assert saved == ["thread.html", "thread-2.html", "thread-3.html"]


def test_of_an_unknown_page_the_application_has_to_be_said(
    folders: tuple[Path, ...], knowledge_base: KnowledgeBase
) -> None:
    with pytest.raises(CaptureError, match="--application NAME"):
        capture(html_page("http://a.test/", "<p>Hello"), knowledge_base, folders, Wish())


def test_what_is_wrong_is_told_once_with_its_place_and_remedy(tmp_path: Path) -> None:
    (tmp_path / "applications").mkdir()
    text = (FOLDER.parent / "phpbb.xml").read_text("utf-8")
    wrong = text
    for css in (".postbody .content", ".content", "[id^=post_content]"):
        assert f'css="{css}"' in text
        wrong = wrong.replace(f'css="{css}"', 'css=".nowhere"')
    (tmp_path / "applications" / "phpbb.xml").write_text(wrong, "utf-8")
    captured = capture(THREAD.page, load(tmp_path), (tmp_path,), Wish("phpbb", "a"))
    said = list(told_of(captured))
    assert "saved although this is wrong; mend the application's file, then capture again with --replace:" in said
    (fault,) = [line for line in said if "body of none" in line]
    assert fault.startswith("  - posts: finds objects but the body of none; mend the select of its field body, ")
    assert f"{tmp_path}/applications/phpbb.xml:" in fault
    assert not [line for line in said if "have no body" in line or line.startswith("failed")]


def test_faults_of_one_cause_are_told_together() -> None:
    failures = [FailedAction("Tiny", "thread", name, Failure.SLOW, "400 million nodes") for name in ("posts", "likes")]
    assistance = Assistance(None, Document("http://a.test/", None, "", (), ()), failed_actions=(*failures, failures[0]))
    (told,) = problems(assistance, FileLines(()))
    assert told.startswith("posts and likes: would take too long on this page and was left out; ")
    assert "(400 million nodes)" in told


def test_a_page_that_two_applications_claim_is_not_saved(tmp_path: Path) -> None:
    (tmp_path / "applications").mkdir()
    for name, sign in (("One", "p"), ("Two", "b")):
        (tmp_path / "applications" / f"{name}.xml").write_text(
            f'<application name="{name}" kind="blog"><detect><pattern strength="strong" css="{sign}" literal="hello"/>'
            '</detect><needs-browser css="#none"/></application>'
        )
    page = html_page("http://a.test/", "<p>Hello <b>you")
    with pytest.raises(CaptureError, match="One and Two claim this page with equal strength"):
        capture(page, load(tmp_path), (tmp_path,), Wish("One", "a"))

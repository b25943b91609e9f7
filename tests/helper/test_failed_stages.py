"""A stage of reading that raises costs its own result only, and is told; odd names cost nothing."""

import pytest
import trafilatura.core

from aahcrawler.helper import ApplicationAwareHelper, Assistance, Failure, generic_reading
from aahcrawler.helper.application.scripted import Scripted
from aahcrawler.helper.assistance import RaisedTally, raised
from aahcrawler.helper.parts import splitting
from aahcrawler.induction import article, article_text, generic_objects
from aahcrawler.page import Page, claims, embedded_markup, generic, requisites, schemaorg
from knowledge_base.model import KnowledgeBase
from tests.helper.building import helper_of
from tests.helper.saved_pages import html_page
from tests.helper.test_attempts import press

WORDS = "The harbour was closed on Tuesday, and nobody in the town knew when it would be opened again by its owners. "
LINKS = ("http://a.test/one", "http://a.test/two")
ODD = ("o:p", "v:shape", "fb:like", "a:b:c", 'a"b', "1x", "a'b", "x:", "x::y", "p\x01q", "é")


def markup(kept: str = "") -> str:
    return (
        "<html><head><title>The harbour</title></head><body><article><h1>The harbour</h1>"
        "<p class=byline>by <a rel=author href=/one>Ann Boyd</a>"
        f" <time datetime=2026-01-02>2 January</time></p><div class=content><p>{WORDS * 2}</p>{kept}<p>{WORDS * 3}"
        "<a href=/two>two</a></p></div></article>"
    )


def read(written: str) -> Assistance:
    return ApplicationAwareHelper(KnowledgeBase(())).assist(html_page("http://a.test/harbour", written))


def urls(found: Assistance) -> tuple[str, ...]:
    return tuple(link.url for link in found.document.outlinks)


@pytest.mark.parametrize("tag", ODD)
@pytest.mark.parametrize("holder", ["div", "h2", "code", "summary", "del", "td", "li", "blockquote"])
def test_names_that_xml_does_not_know_cost_nothing(tag: str, holder: str) -> None:
    kept = f"Opened <{tag} o:href='x' \x02y=1 a:b:c=2>by the women of the town in spring</{tag}> once again."
    found = read(markup(f"<{holder}>{kept}</{holder}>"))
    assert raised(found) == ()
    assert urls(found) == LINKS
    (shown,) = found.objects
    assert str(shown.first("body")).count("nobody in the town knew") == 5


def broken(*_: object, **__: object) -> object:
    raise LookupError("an error that nobody foresaw")


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (trafilatura.core, "bare_extraction"),
        (article_text, "plain_text"),
        (article, "article_text"),
        (article, "main_part"),
        (generic, "extract_plain_text"),
        (generic_objects, "judge"),
        (generic_objects, "records"),
        (generic_objects, "title_of"),
        (claims, "declared"),
        (embedded_markup, "microdata_nodes"),
        (generic, "title"),
        (generic, "published"),
        (generic, "language"),
        (requisites, "of_page"),
        (splitting, "split"),
        (generic_reading, "Contexts"),
        (generic_reading, "References"),
    ],
)
def test_a_stage_that_raises_costs_its_own_result_only(
    module: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, broken)
    if module is embedded_markup:
        monkeypatch.setattr(schemaorg, "_FORMATS", {"microdata": broken})
    if module is generic and name == "extract_plain_text":
        found = read(
            f"<html><head><title>The harbour</title></head><body><p>{WORDS}</p><a href=/one>1</a><a href=/two>2</a>"
        )
    else:
        found = read(markup())
    assert urls(found) == LINKS
    assert "nobody in the town knew" in "".join(part.text for part in found.document.parts)
    failed = raised(found)
    assert failed
    assert all(each.detail.startswith("LookupError: an error that nobody foresaw") for each in failed)


def test_links_are_found_where_nothing_else_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApplicationAwareHelper, "_whole", broken)
    found = read(markup())
    assert urls(found) == LINKS
    assert [(each.action, each.failure) for each in found.failed_actions] == [("read", Failure.RAISED)]


def test_a_page_that_eats_all_memory_keeps_its_links(monkeypatch: pytest.MonkeyPatch) -> None:
    def spent(*_: object) -> object:
        raise MemoryError

    monkeypatch.setattr(generic_objects, "judge", spent)
    found = read(markup())
    assert urls(found) == LINKS
    assert [each.action for each in raised(found)] == ["read"]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), OSError(28, "No space left on device")])
def test_what_is_no_page_s_doing_is_raised(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    def ending(*_: object) -> object:
        raise error

    monkeypatch.setattr(generic_objects, "judge", ending)
    with pytest.raises(type(error)):
        read(markup())


def test_actions_that_cannot_be_run_leave_the_page_to_generic_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    helper = helper_of(press())
    monkeypatch.setattr("aahcrawler.helper.application_aware.ApplicationReading.assistance", broken)
    found = helper.assist(html_page("http://a.test/harbour", markup('<b id="press-sign"></b>')))
    assert found.match is not None
    assert (found.match.application.name, found.document.application) == (press().name, press().name)
    assert found.objects
    assert urls(found) == LINKS
    assert [each.action for each in raised(found)] == ["actions"]


def test_a_page_of_which_nothing_is_told_is_not_scripted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aahcrawler.helper.application_aware.scripted", broken)
    page = html_page("http://a.test/harbour", markup())
    assert ApplicationAwareHelper(KnowledgeBase(())).scripted(page) is Scripted.NO
    assert [each.stage for each in page.failed] == ["scripts"]


def test_the_same_page_tells_the_same_each_time() -> None:
    page: Page = html_page("http://a.test/harbour", markup())
    helper = ApplicationAwareHelper(KnowledgeBase(()))
    assert [page.attempt("a stage", broken, str) for _ in range(2)] == ["", ""]
    first, second = (raised(helper.assist(page)) for _ in range(2))
    assert first == second
    assert [each.action for each in first] == ["a stage"]


def test_a_tally_counts_pages_by_stage_with_an_example(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "title", broken)
    tally = RaisedTally()
    for url in ("http://a.test/1", "http://a.test/2"):
        tally.add(url, raised(read(markup())))
    assert tally.pages["title"] == 2
    assert any(
        "2 pages were read without title, which failed: http://a.test/1: LookupError" in each for each in tally.lines()
    )

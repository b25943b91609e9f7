"""The values of a field on many pages, guesses of its name, and how elements are found by clicking and typing."""

from collections.abc import Mapping

import pytest

from aahcrawler.editor.rules.marked_pages import Role, element_at, numbers_of
from aahcrawler.editor.rules.page_sample import SampledReading
from aahcrawler.editor.rules.stepping_out import around, elements_with, meant
from aahcrawler.editor.rules.values_on_pages import field_guesses, field_values, objects_of
from aahcrawler.replay.page_marks import numbered_elements
from knowledge_base.model import DateFormat, Field, FieldKind
from knowledge_base.selectors import compile_selector
from tests.studio.ropes import PAGES, TRUTH, parsed, sample_of
from tests.studio.test_selector_suggestions import ITEM, marked, on, texts


def test_values_are_read_on_many_pages_beside_what_was_read_before() -> None:
    sample = sample_of()
    selectors = (compile_selector(css="time"),)
    date = Field("date", FieldKind.DATETIME, selectors, date=DateFormat("dmy"))
    pages = field_values(sample, ITEM, date)
    assert [(page.url[-9:], len(page.values)) for page in pages] == [
        (f"/thread/{number}", 2 + number % 4) for number in range(1, 7)
    ]
    first = pages[0].values[0]
    assert (first.raw, first.value, first.before) == (
        "11.2.2024",
        "2024-02-11T01:15:00+00:00",
        "2024-02-11T01:15:00Z",
    )
    assert first.agrees is True
    exact = Field("date", FieldKind.DATETIME, (compile_selector(css="time", attribute="datetime"),))
    assert {value.agrees for page in field_values(sample, ITEM, exact, most=3) for value in page.values} == {True}
    tools = Field("tools", FieldKind.TEXT, (compile_selector(css=".none"), compile_selector(css=".tools")))
    assert {(value.value, value.agrees) for page in field_values(sample, ITEM, tools) for value in page.values} == {
        ("Answer", None)
    }
    title = Field("title", FieldKind.TEXT, (compile_selector(css="h1"),), page=True, first_only=True)
    assert [len(page.values) for page in field_values(sample, ITEM, title)] == [1] * 6
    assert field_values(sample, ITEM, title, groups=[1]) == ()


@pytest.mark.parametrize(
    ("css", "field"),
    [("time", "date"), (".who-name", "author"), (".who-name span", "author"), ("h1", "title"), (".text", "body")],
)
def test_the_name_of_a_field_is_guessed(css: str, field: str) -> None:
    page = on(sample_of(readings={}), "/thread/2")
    assert field_guesses(page, marked(page, css).element)[0].field == field
    read = on(sample_of(), "/thread/2")
    items = tuple(compile_selector(css="div.entry").elements(read.tree))
    known = objects_of(read, items)[0]
    assert field_guesses(read, marked(read, css).element, known)[0].said == f"this is the {field} that was read before"


def test_nothing_is_guessed_of_what_says_nothing() -> None:
    page = on(sample_of(readings={}), "/thread/2")
    assert field_guesses(page, marked(page, ".tools").element) == ()


@pytest.mark.parametrize("readings", [TRUTH, {}])
def test_a_click_within_an_object_means_all_of_it(readings: Mapping[str, SampledReading]) -> None:
    page = on(sample_of(readings=readings), "/thread/2")
    entry = marked(page, "div.entry", 1).element
    for css in ("#entry-22 .text p", "#entry-22 .who-name span", "#entry-22"):
        assert meant(page, marked(page, css).element, Role.ITEM) is entry


def test_a_click_means_what_links_tells_or_holds_the_whole() -> None:
    page = on(sample_of(), "/thread/2")
    items = compile_selector(css="div.entry").elements(page.tree)
    span, paragraph = marked(page, ".who-name span").element, marked(page, ".text p", 1).element
    assert meant(page, span, Role.FIELD, "author", items).get("class") == "who-name"
    assert meant(page, span, Role.LINKS).get("href") == "/sailor/dag"
    assert meant(page, paragraph, Role.FIELD, "body", items).get("class") == "text"
    unread = on(sample_of(readings={}), "/thread/1")
    assert meant(unread, marked(unread, ".text p", 1).element, Role.FIELD, "body").get("class") == "text"
    assert meant(page, paragraph, Role.SIGN) is paragraph


def test_one_can_step_out_of_an_element() -> None:
    page = on(sample_of(), "/thread/2")
    line = around(page, marked(page, ".who-name span").element)
    assert [each.words for each in line] == ["span", "a.who-name", "div.who", "div.entry"]
    assert [(each.alike, each.objects) for each in line] == [(0, 0), (0, 0), (0, 0), (3, 1)]
    assert line[0].text == "Dag"


def test_elements_are_found_by_the_text_that_one_sees() -> None:
    page = parsed("/thread/2")
    assert [each.tag for each in elements_with(page.tree, "  storm ANCHORS")] == ["h1"]
    dag = elements_with(page.tree, "dag")
    assert texts(dag) == ["Dag"]
    across = elements_with(page.tree, "written 11.2.2024")
    assert [each.get("class") for each in across] == ["when"]
    assert elements_with(page.tree, "no such text") == elements_with(page.tree, "a") == ()
    deep = parsed("/thread/1", "<body>" + "<div>x" * 3_000 + "needle")
    assert len(elements_with(deep.tree, "needle")) <= 1


def test_elements_keep_their_numbers() -> None:
    tree = parsed("/thread/2").tree
    elements = list(tree.iter("*"))
    assert numbered_elements(tree) == elements
    assert element_at(tree, 0) is tree
    assert [element_at(tree, number) for number in range(len(elements))] == elements
    assert element_at(tree, len(elements)) is element_at(tree, -1) is None
    foreign = parsed("/thread/1", PAGES["/login"]).tree
    assert numbers_of(tree, [elements[7], foreign, elements[3]]) == {elements[3]: 3, elements[7]: 7}


def test_days_and_months_are_told_apart_as_on_other_pages_of_the_site() -> None:
    pages = {
        f"/t/{day}": f"<body><div class='entry'><b class='when'>{day:02}/04/2024</b><p>What {day} says.</p></div>"
        for day in (25, 3, 5)
    }
    sample = sample_of(pages, readings={})
    on(sample, "/t/25")
    date = Field("date", FieldKind.DATETIME, (compile_selector(css=".when"),))
    read = {page.url[-4:]: page.values[0].value[:10] for page in field_values(sample, ITEM, date)}
    assert read == {"t/25": "2024-04-25", "/t/3": "2024-04-03", "/t/5": "2024-04-05"}

"""Examples and actions are believed for good reasons only."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.adaptation.repair.validation import ExampleDoubt, adds_to, doubt, encloses, loses_nothing, reproduces
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.page import Page
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Person, Value, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from tests.adaptation.redesigned import POSTS, forum, posts
from tests.helper.saved_pages import html_page

URL = "http://forum.test/thread?t=1"
TEXTS = tuple(post.body for post in posts(1, 5))


def page_of(items: Sequence[str], holder: str = "div") -> Page:
    rows = "".join(f'<p class="item"><b>Ann</b><span>{text}</span></p>' for text in items)
    content = "" if holder == "div" else f"<main><p>{TEXTS[0] * 12}</p></main>"
    return html_page(URL, f"<html><body>{content}<{holder}>{rows}</{holder}></body></html>")


def example_of(page: Page, *, method: Method = Method.INDUCED, signed: bool = True, most: int = 99) -> LabelledExample:
    items = page.tree.cssselect(".item")[:most]
    return LabelledExample(page, method, tuple(labelled(item, signed=signed) for item in items), 0.9)


def labelled(item: HtmlElement, *, signed: bool) -> LabelledObject:
    labels = {"body": Label((item[1],), plain_text(item[1]))}
    if signed:
        labels["author"] = Label((item[0],), Person("Ann"))
    return LabelledObject((item,), labels)


def question(page: Page) -> Question:
    application = forum()
    return Question(page, application, application.level("thread"), POSTS)


def doubt_of(example: LabelledExample, *, cautious: bool = False) -> ExampleDoubt | None:
    return doubt(example, question(example.page), cautious=cautious)


@pytest.mark.parametrize("cautious", [False, True])
def test_all_signed_posts_of_a_page_are_believed(cautious: bool) -> None:
    assert doubt_of(example_of(page_of(TEXTS)), cautious=cautious) is None


def test_nothing_is_no_example() -> None:
    assert doubt_of(replace(example_of(page_of(TEXTS)), objects=())) is ExampleDoubt.ABSENT


@pytest.mark.parametrize(("confidence", "rival"), [(0.45, 0.0), (0.9, 0.85)])
def test_what_could_be_something_else_is_not_believed(confidence: float, rival: float) -> None:
    example = replace(example_of(page_of(TEXTS)), confidence=confidence, runner_up=rival)
    assert doubt_of(example) is ExampleDoubt.CLOSE


def test_more_is_asked_where_there_may_be_nothing() -> None:
    example = replace(example_of(page_of(TEXTS)), confidence=0.6, runner_up=0.45)
    assert (doubt_of(example), doubt_of(example, cautious=True)) == (None, ExampleDoubt.CLOSE)


def test_objects_without_texts_are_none() -> None:
    example = example_of(page_of(TEXTS))
    emptied = tuple(replace(each, labels={"author": each.labels["author"]}) for each in example.objects)
    assert doubt_of(replace(example, objects=emptied)) is ExampleDoubt.NO_BODIES


def test_the_same_text_again_and_again_is_a_button() -> None:
    assert doubt_of(example_of(page_of(["Reply to this post"] * 6))) is ExampleDoubt.REPEATED


@pytest.mark.parametrize(("links", "expected"), [(1, None), (12, ExampleDoubt.LINKS)])
def test_the_line_above_a_list_of_links_is_no_article(links: int, expected: ExampleDoubt | None) -> None:
    entries = "".join(f'<li><a href="/{number}">The harbour in {1900 + number}</a>' for number in range(links))
    line = "This list has all that was written about the harbour so far."
    page = html_page(URL, f"<html><body><main><h1>Harbour</h1><p>{line}</p><ul>{entries}</ul></main></body></html>")
    paragraph, main = page.tree.find(".//p"), page.tree.find(".//main")
    assert paragraph is not None
    assert main is not None
    labels = {"body": Label((paragraph,), line)}
    example = LabelledExample(page, Method.INDUCED, (LabelledObject((main,), labels),), 0.9)
    single = replace(question(page), action=replace(POSTS, many=False))
    assert doubt(example, single, cautious=False) is expected


def test_lists_of_links_are_menus() -> None:
    page = page_of([f'<a href="/{n}">{text}</a>' for n, text in enumerate(TEXTS)])
    assert doubt_of(example_of(page)) is ExampleDoubt.LINKS


@pytest.mark.parametrize("holder", ["nav", "aside", "footer"])
def test_what_stands_beside_the_content_is_none(holder: str) -> None:
    assert doubt_of(example_of(page_of(TEXTS, holder), method=Method.RELAXED)) is ExampleDoubt.OUTSIDE


def test_asides_that_hold_nearly_all_that_a_page_says_are_no_asides() -> None:
    rows = "".join(f'<p class="item"><b>Ann</b><span>{text}</span></p>' for text in TEXTS)
    page = html_page(URL, f"<html><body><h1>Board</h1><aside class='w-ba'>{rows}</aside></body></html>")
    assert doubt_of(example_of(page, method=Method.RELAXED)) is None
    page = html_page(URL, f"<html><body><h1>Board</h1><aside class='sidebar'>{rows}</aside></body></html>")
    assert doubt_of(example_of(page, method=Method.RELAXED)) is ExampleDoubt.OUTSIDE


def test_a_form_to_answer_with_is_no_answer() -> None:
    form = "<form><label>Your comment, which we will read before anybody else does</label><input></form>"
    assert doubt_of(example_of(page_of([f"Leave a comment {form}"]))) is ExampleDoubt.OUTSIDE
    assert doubt_of(example_of(page_of([f"{TEXTS[0]} {TEXTS[1]} {form}"]))) is None


def test_headings_are_no_texts() -> None:
    page = html_page(URL, '<html><body><p class="item"><b>Ann</b></p></body></html>')
    item = page.tree.cssselect(".item")[0]
    heading = etree.SubElement(item, "h3")
    heading.text = "Two responses to what was said of the harbour in January"
    assert doubt_of(example_of(page)) is ExampleDoubt.NO_BODIES


def test_an_article_has_a_piece_of_running_text() -> None:
    labels = "<i>Filed under boats</i><i>Ann says:</i><i>January 14, 2022 at 10:05 am</i><a href=/r>Reply to this</a>"
    application = forum(replace(POSTS, many=False))
    for text, found in ((labels, ExampleDoubt.NO_BODIES), (f"{labels}{TEXTS[0]}", None)):
        example = example_of(page_of([text]))
        asked = Question(example.page, application, application.level("thread"), replace(POSTS, many=False))
        assert doubt(example, asked, cautious=False) is found


def test_the_name_of_an_author_is_nothing_that_he_wrote() -> None:
    assert doubt_of(example_of(page_of(["Ann"]))) is ExampleDoubt.NO_BODIES


def test_texts_that_nobody_has_signed_are_believed_of_memory_alone() -> None:
    page = page_of(TEXTS)
    assert doubt_of(example_of(page, signed=False)) is ExampleDoubt.ANONYMOUS
    assert doubt_of(example_of(page, signed=False, method=Method.MEMORY)) is None


def test_some_of_many_alike_are_not_all() -> None:
    assert doubt_of(example_of(page_of(TEXTS), most=3)) is ExampleDoubt.PARTIAL


def test_a_page_about_one_thing_has_one() -> None:
    example = example_of(page_of(TEXTS))
    single = replace(question(example.page), action=replace(POSTS, many=False))
    assert doubt(example, single, cautious=False) is ExampleDoubt.MANY


def extracted(*texts: str, **more: Value) -> tuple[Extracted, ...]:
    properties = {name: (value,) for name, value in more.items()}
    return tuple(
        Extracted(WebObject(f"{URL}#{n}", "reply", URL, {"body": (text,), **properties}), ())
        for n, text in enumerate(texts)
    )


def test_an_action_that_finds_the_same_reproduces_a_example() -> None:
    example = example_of(page_of(TEXTS))
    assert reproduces(extracted(*TEXTS), example)
    assert reproduces(extracted(f"{TEXTS[0]} †", *TEXTS[1:]), example)


@pytest.mark.parametrize("texts", [TEXTS[:4], (*TEXTS, "A sixth."), (), [text[:20] for text in TEXTS]])
def test_an_action_that_finds_less_or_more_does_not(texts: Sequence[str]) -> None:
    assert not reproduces(extracted(*texts), example_of(page_of(TEXTS)))


def test_fields_that_were_read_must_still_be_read() -> None:
    assert loses_nothing(extracted("a", "b", title="T"), extracted("a", "b", title="T", author="A"))
    assert not loses_nothing(extracted("a", "b", title="T"), extracted("a", "b"))


def test_a_example_adds_to_what_it_knows_all_of() -> None:
    example = example_of(page_of(TEXTS))
    assert adds_to(example, extracted(*TEXTS[:3]))
    assert not adds_to(example, extracted(*TEXTS))
    assert not adds_to(example, extracted("Something else.", *TEXTS[:3]))


def test_a_example_may_know_the_whole_of_texts_that_are_cut_short() -> None:
    example = example_of(page_of(TEXTS))
    short = extracted(*(text[:30] for text in TEXTS))
    assert encloses(example, short, frozenset({"author"}))
    assert not encloses(example, short, frozenset({"date"}))
    assert not encloses(example, short[:4], frozenset({"author"}))
    assert not encloses(example, extracted(*TEXTS), frozenset({"author"}))

"""What used to work and does not any more is a failure; what is not there is none."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.adaptation.detection.failure_detection import (
    FEW,
    PageText,
    Shape,
    TrackRecord,
    Trouble,
    bare,
    since,
    trouble,
)
from aahcrawler.helper.assistance import Failure
from aahcrawler.helper.extraction.extraction import Extracted, ExtractionOutcome
from aahcrawler.webobject import Person, Value, WebObject
from tests.adaptation.redesigned import POSTS, new, old, posts, thread
from tests.helper.building import text_field

URL = "http://forum.test/thread?t=1"
ALL = frozenset({"author", "date", "body", "title"})
DATE = datetime(2024, 1, 1, tzinfo=UTC)


def found(*bodies: str, author: str = "Ann", date: datetime | None = DATE) -> ExtractionOutcome:
    """Return an outcome with an object for each body."""
    return ExtractionOutcome(tuple(Extracted(web_object(n, body, author, date), ()) for n, body in enumerate(bodies)))


def web_object(number: int, body: str, author: str = "Ann", date: datetime | None = DATE) -> WebObject:
    given: dict[str, tuple[Value, ...]] = {"body": (body,)}
    if author:
        given["author"] = (Person(author),)
    if date is not None:
        given["date"] = (date,)
    return WebObject(f"{URL}#p{number}", "reply", URL, given, URL)


def record(*shapes: Shape) -> TrackRecord:
    kept = TrackRecord()
    for shape in shapes:
        kept.note(shape)
    return kept


FULL, EMPTY = Shape(5, ALL, 1_500), Shape(0, frozenset(), 0)
NOTHING = ExtractionOutcome()


def after(outcome: ExtractionOutcome, *before: Shape) -> Trouble | None:
    """Say what is wrong with an outcome after pages of these shapes."""
    kept = record(*before, Shape.of(outcome.extracted))
    return trouble(POSTS, outcome, kept)


def test_an_action_that_does_its_work_is_left_alone() -> None:
    assert after(found("One", "Two"), FULL, FULL, FULL) is None


def test_what_the_action_itself_calls_a_failure_is_one() -> None:
    failed = ExtractionOutcome(failure=Failure.NOTHING_FOUND)
    assert after(failed) == Trouble(Failure.NOTHING_FOUND)
    assert after(failed, *[FULL] * FEW) == Trouble(Failure.STOPPED_WORKING, f"it worked on {FEW} pages")


def test_other_failures_are_not_for_adaptation() -> None:
    assert after(ExtractionOutcome(failure=Failure.TOO_MUCH), FULL) is None


def test_a_page_without_objects_among_many_is_just_that() -> None:
    shapes = [FULL, EMPTY] * 10
    assert after(NOTHING, *shapes) is None


def test_too_many_pages_in_a_row_without_objects_are_suspicious() -> None:
    wrong = after(NOTHING, *[FULL] * 10, EMPTY)
    assert wrong is not None
    assert (wrong.failure, wrong.certain) == (Failure.STOPPED_WORKING, False)


def test_an_action_that_has_never_found_anything_here_is_looked_into_and_not_reported() -> None:
    wrong = after(NOTHING, EMPTY, EMPTY)
    assert wrong is not None
    assert (wrong.failure, wrong.certain) == (Failure.NOTHING_FOUND, False)


def test_a_field_that_was_always_there_and_is_gone_everywhere_is_a_change() -> None:
    bare_shape = Shape(5, ALL - {"date"}, 1_500)
    assert after(found("One", date=None), *[FULL] * 9) is None
    wrong = after(found("One", date=None), *[FULL] * 9, bare_shape)
    assert wrong is not None
    assert (wrong.failure, wrong.fields, wrong.certain) == (Failure.CHANGED_SHAPE, frozenset({"date"}), True)


def article(title: str, body: str, of: str = "post") -> Trouble | None:
    """Say what is wrong with the last of some pages with one object each, all with this title and body."""
    action = replace(POSTS, type=of, many=False, fields=(text_field("title", "h1"), text_field("body", "p")))
    kept, outcome = TrackRecord(), ExtractionOutcome()
    for number in range(FEW):
        each = WebObject(
            f"{URL}{number}", of, URL, {"title": (title.format(number, number),), "body": (body.format(number),)}
        )
        outcome = ExtractionOutcome((Extracted(each, ()),))
        kept.note(Shape.of(outcome.extracted))
    return trouble(action, outcome, kept)


def test_the_same_title_page_after_page_is_that_of_the_site() -> None:
    wrong = article("My Site", "A text that is number {}")
    assert wrong is not None
    assert (wrong.fields, wrong.certain) == (frozenset({"title"}), False)
    assert article("Ice {}", "A text that is number {}") is None


def test_messages_of_a_thread_have_its_title_page_after_page() -> None:
    assert article("[list] Ice on the river", "A text that is number {}", of="message") is None
    assert article("[list] Ice {}", "A text that is number {}", of="message") is None


def test_the_same_text_page_after_page_is_none_that_was_looked_for() -> None:
    wrong = article("Ice {}", "Links and feeds of the site")
    assert wrong is not None
    assert (wrong.fields, wrong.certain, wrong.another) == (frozenset(), False, True)


def test_titles_that_all_have_the_same_part_name_the_site_as_well() -> None:
    for title in ("My Site - Ice {}", "Ice {} | My Site"):
        wrong = article(title, "A text that is number {}")
        assert wrong is not None
        assert (wrong.fields, wrong.certain) == (frozenset({"title"}), False)
    assert article("Ice-Age {} - Part {}", "A text that is number {}") is None


def test_texts_that_begin_with_their_titles_hold_too_much() -> None:
    wrong = article("Ice {}", "Ice {}\nA text about the harbour")
    assert wrong is not None
    assert (wrong.fields, wrong.certain) == (frozenset({"body"}), False)


def test_texts_that_all_end_with_the_same_line_hold_what_a_button_says() -> None:
    page = found("One\nReply", "Two\nReply", "Three\nReply")
    assert after(page) is None
    wrong = after(page, Shape.of(page.extracted))
    assert wrong is not None
    assert (wrong.fields, wrong.certain) == (frozenset({"body"}), False)
    assert after(found("One", "Two\nReply", "Three\nReply"), Shape.of(page.extracted)) is None


def test_a_field_that_is_there_now_and_then_may_be_missing() -> None:
    bare_shape = Shape(5, ALL - {"date"}, 1_500)
    assert after(found("One", date=None), *[FULL, bare_shape, bare_shape] * 5) is None


def test_a_field_that_was_never_there_is_looked_into_and_not_reported() -> None:
    bare_shape = Shape(5, ALL - {"date"}, 1_500)
    wrong = after(found("One", date=None), bare_shape)
    assert wrong is not None
    assert (wrong.fields, wrong.certain) == (frozenset({"date"}), False)


def test_bodies_that_shrink_to_a_few_words_are_suspicious() -> None:
    short = Shape(5, ALL, 20)
    assert after(found("Hi"), *[FULL] * 5) is None
    wrong = after(found("Hi"), *[FULL] * 5, short)
    assert wrong is not None
    assert (wrong.failure, wrong.certain) == (Failure.CHANGED_SHAPE, False)


@given(st.lists(st.booleans(), max_size=60))
def test_alternating_pages_never_look_like_a_change(pages: list[bool]) -> None:
    kept = record(*(FULL if full else EMPTY for full in pages), FULL)
    assert not kept.is_unusually_empty()


def known(number: int = 1) -> tuple[WebObject, ...]:
    return tuple(web_object(post.number, post.body, post.author, post.date) for post in posts(number))


def test_former_objects_that_are_on_the_page_and_not_found_are_missed() -> None:
    wrong = since(POSTS, NOTHING, thread(1, new), known())
    assert wrong == Trouble(Failure.STOPPED_WORKING, "3 of 3 former objects are on the page and not found")


def test_former_objects_that_are_deleted_are_not_missed() -> None:
    first, *rest = posts(1)
    assert since(POSTS, NOTHING, thread(1, new, shown=()), known()) is None
    assert since(POSTS, found(first.body), thread(1, new, shown=(first,)), known()) is None
    assert rest


def test_a_part_of_the_former_objects_is_a_change() -> None:
    first = posts(1)[0]
    wrong = since(POSTS, found(first.body), thread(1, new), known())
    assert wrong is not None
    assert wrong.failure is Failure.CHANGED_SHAPE


def test_former_objects_that_were_edited_are_there() -> None:
    edited = [f"{post.body} Edited." for post in posts(1)]
    assert since(POSTS, found(*edited), thread(1, old), known()) is None


def test_bodies_with_much_around_them_are_not_the_former_ones() -> None:
    everything = "".join(post.body for post in posts(1)) + "A sidebar with much to say. " * 5
    wrong = since(POSTS, found(everything), thread(1, new), known())
    assert wrong is not None
    assert wrong.failure is Failure.STOPPED_WORKING


def test_a_former_author_who_is_named_on_the_page_is_missed() -> None:
    bodies = [post.body for post in posts(1)]
    wrong = since(POSTS, found(*bodies, author=""), thread(1, old), known())
    assert wrong is not None
    assert (wrong.fields, wrong.certain) == (frozenset({"author"}), True)


def test_former_dates_may_be_shown_no_more() -> None:
    bodies = [post.body for post in posts(1)]
    wrong = since(POSTS, found(*bodies, date=None), thread(1, old), known())
    assert wrong is not None
    assert (wrong.fields, wrong.certain) == (frozenset({"date"}), False)


def test_objects_of_other_actions_are_none_of_this_one() -> None:
    others = tuple(WebObject(each.iri, "article", URL, each.properties) for each in known())
    assert since(POSTS, NOTHING, thread(1, new), others) is None


@pytest.mark.parametrize(
    ("body", "shown"), [("it to the", True), ("a text that nobody wrote " * 9, False), ("", False)]
)
def test_texts_are_looked_for_without_their_white_space(body: str, shown: bool) -> None:
    assert PageText(thread(0, new)).shows(body) is shown


@given(st.text())
def test_bare_text_has_no_white_space(text: str) -> None:
    assert not any(sign.isspace() for sign in bare(text))

"""Examples that go together, and those that do not: one wrong value does not spoil what the others agree about."""

from dataclasses import dataclass
from datetime import datetime

from aahcrawler.adaptation.adapter import Adaptation
from aahcrawler.adaptation.learned import LearnedAction
from aahcrawler.adaptation.repair.validation import supplemented
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.helper.extraction.extraction import Extracted
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Person, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import KnowledgeBase
from tests.adaptation.redesigned import Post, bodies, forum, said, thread
from tests.helper.saved_pages import html_page

MISTAKEN = "t=1"


def half(post: Post) -> str:
    """Show a post in a skin that renamed the body alone."""
    return (
        f'<div class="post" id="p{post.number}"><b class="who">{post.author}</b> <i class="tool">Find</i>'
        f'<time datetime="{post.date.isoformat()}">then</time><section class="text">{post.body}</section></div>'
    )


@dataclass
class Mistaking:
    """Knows the renamed body, and on one page takes a button for the author."""

    def label(self, question: Question) -> LabelledExample | None:
        mistaken = question.page.url.endswith(MISTAKEN)
        objects = []
        for item in question.page.tree.cssselect(".post"):
            author, body = item.cssselect(".tool" if mistaken else ".who")[0], item.cssselect(".text")[0]
            time = next(item.iter("time"))
            labels = {
                "author": Label((author,), Person(plain_text(author))),
                "date": Label((time,), datetime.fromisoformat(time.get("datetime", "")), "datetime"),
                "body": Label((body,), plain_text(body)),
            }
            objects.append(LabelledObject((item,), labels))
        return LabelledExample(question.page, Method.INDUCED, tuple(objects), 0.6 if mistaken else 0.9)


def test_a_example_with_a_wrong_value_delays_a_repair_by_its_own_page_alone() -> None:
    told: list[LearnedAction] = []
    adapter = Adaptation((Mistaking(),), induce, told.append)
    helper = ApplicationAwareHelper(KnowledgeBase((forum(),)), adapter=adapter)
    read = [helper.assist(thread(number, half)).objects for number in range(4)]
    assert [bodies(objects) for objects in read] == [said(number) for number in range(4)]
    (learned,) = told
    assert learned.pages[-1].endswith("t=2")
    assert all(isinstance(author := each.first("author"), Person) and author.name != "Find" for each in read[3])


URL = "http://forum.test/thread?t=7"
LONG = "The harbour froze over in January and everybody walked across it to the island and back. " * 3


def example_about(*texts: str) -> LabelledExample:
    rows = "".join(f"<article><b>Ann</b><p>{text}</p></article>" for text in texts)
    page = html_page(URL, f"<html><body>{rows}</body></html>")
    items = tuple(page.tree.iter("article"))
    objects = (
        LabelledObject(
            (item,), {"body": Label((item[1],), plain_text(item[1])), "author": Label((item[0],), Person("Ann"))}
        )
        for item in items
    )
    return LabelledExample(page, Method.INDUCED, tuple(objects), 0.9)


def found(*texts: str) -> tuple[Extracted, ...]:
    return tuple(
        Extracted(WebObject(f"{URL}#{number}", "reply", URL, {"body": (text,)}), ())
        for number, text in enumerate(texts)
    )


def test_fields_are_added_to_objects_whose_texts_hold_a_line_more() -> None:
    more = supplemented(found(f"By Ann on Monday. {LONG}"), example_about(LONG), frozenset({"author"}))
    assert more is not None
    assert [each.object.first("author") for each in more] == [Person("Ann")]
    assert [each.object.first("body") for each in more] == [LONG.strip()]


def test_texts_that_hold_more_than_names_of_authors_are_left_alone() -> None:
    text = f"Once upon a time. {LONG}"
    more = supplemented(found(text), example_about(LONG), frozenset({"author"}))
    assert more is not None
    assert [each.object.first("body") for each in more] == [text]


def test_nothing_is_added_to_objects_with_other_texts_or_with_two_that_could_be_meant() -> None:
    fields = frozenset({"author"})
    assert (
        supplemented(found("Something else altogether was said here, at length."), example_about(LONG), fields) is None
    )
    assert supplemented(found(LONG), example_about(LONG[:-8], LONG[:-14]), fields) is None

"""What pages of any template have in common teaches which objects they hold, and when it cannot be told."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aahcrawler.adaptation.repair.structure_induction import StructureStrategy
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.page import Page
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.examples import LabelledExample, Method
from aahcrawler.wrapper_induction.induce import induce
from knowledge_base.model import Application, Extract, FieldKind, Identity, PageLevel
from tests.page.building import PARAGRAPH, page_of
from tests.wrapper_induction.examples_by_hand import AUTHOR, BODY, DATE, NOTHING, TITLE, field_of, posts, read

NAMES = ("Ann Boyd", "Jan Novak", "Olga Petrova", "Bo", "slowpoke")
TEXTS = (
    "We had to break the ice around the hull every single morning that winter, and it was still dark when we began.",
    "The bakery by the pier sold hot soup out of the window, which nobody there has forgotten to this day.",
    "Then the wind turned, and within two days it was all gone as if it had never been there at all.",
    "I still have the photographs somewhere in the attic, and I will look for them when I find the time.",
    "My grandfather told the same of the winter of forty-seven, and I have never quite believed him.",
)
POSTS = posts(TITLE, AUTHOR, DATE, BODY)
COMMENTS = Extract(
    "comments", "comment", (NOTHING,), (AUTHOR, DATE, BODY), many=True, identity=Identity((NOTHING,), ("c",), "c-")
)
ARTICLE = Extract("article", "article", (NOTHING,), (field_of("title"), AUTHOR, DATE, BODY), always=True)
THREAD = PageLevel("thread", "terminal", (), actions=(POSTS,))
ENTRY = PageLevel("entry", "terminal", (), actions=(ARTICLE, COMMENTS))


def label(page: Page, action: Extract, level: PageLevel) -> LabelledExample | None:
    return StructureStrategy().label(Question(page, Application("any", "web-forum", (), ()), level, action))


def one(n: int) -> str:
    return (
        f'<li class="box" id="p{n}"><div><a href="/user/{n % 5}">{NAMES[n % 5]}</a> '
        f'<span>{n % 27 + 1} March 2021, 10:{n % 60:02}</span></div><div class="said">{TEXTS[n % 5]}</div></li>'
    )


def thread(first: int, last: int, more: str = "") -> Page:
    listed = "".join(map(one, range(first, last)))
    return page_of(
        f"<html><head><title>Ice in the harbour - Forum</title></head><body><div id='top'><a href='/'>Forum</a></div>"
        f"<h1>Ice in the harbour</h1><ul>{listed}</ul>{more}</body></html>",
        url=f"http://forum.test/t/{first}",
    )


def blog(comments: str = "", text: str = 3 * f"<p>{PARAGRAPH}</p>") -> Page:
    return page_of(
        "<html><head><title>Ice - Notes</title></head><body><header><a href='/'>Notes</a></header><main><article>"
        "<h1>Ice</h1><p class='by'>by <a rel='author' href='/authors/ann'>Ann Boyd</a>, "
        f"<time datetime='2021-02-03T10:00:00Z'>3 February</time></p><div class='content'>{text}</div></article>"
        f"{comments}</main><footer>Notes since 1999</footer></body></html>"
    )


def answers(first: int, last: int) -> str:
    return "<h2>Answers</h2><ol>" + "".join(map(one, range(first, last))) + "</ol>"


class TestThreads:
    def test_the_records_of_a_thread_are_its_posts(self) -> None:
        example = label(thread(1, 6), POSTS, THREAD)
        assert example is not None
        assert example.method is Method.INDUCED
        assert [each.labels["body"].value for each in example.objects] == [TEXTS[n % 5] for n in range(1, 6)]
        assert example.objects[0].labels["author"].value == Person(NAMES[1], "http://forum.test/user/1")
        assert example.objects[0].labels["date"].value == datetime(2021, 3, 2, 10, 1, tzinfo=UTC)
        assert example.confidence > 0.8
        assert example.runner_up == 0

    def test_the_first_post_has_the_title_of_the_page(self) -> None:
        example = label(thread(1, 6), POSTS, THREAD)
        assert example is not None
        assert [each.labels["title"].value for each in example.objects if "title" in each.labels] == [
            "Ice in the harbour"
        ]

    def test_a_title_may_stand_in_no_heading(self) -> None:
        plain = thread(1, 6).body.replace(b"h1", b"strong")
        example = label(replace(thread(1, 6), body=plain), POSTS, THREAD)
        assert example is not None
        assert example.objects[0].labels["title"].value == "Ice in the harbour"

    def test_dates_that_tell_no_day_are_none(self) -> None:
        shown = thread(1, 6).body
        for day in range(2, 8):
            shown = re.sub(rb"\b%d March 2021, 10:\d\d" % day, b"%d months ago" % (9 - day), shown)
        example = label(replace(thread(1, 6), body=shown), POSTS, THREAD)
        assert example is not None
        assert example.objects[0].labels["author"].value == Person(NAMES[1], "http://forum.test/user/1")
        assert not any("date" in each.labels for each in example.objects)

    def test_a_rival_makes_it_less_sure(self) -> None:
        shouts = "".join(
            f"<div class='shout'><b class='author'>{NAMES[n % 5]}</b> <i>{n + 1} April 2021, 11:{n:02}</i>"
            f"<p>{TEXTS[(n + 2) % 5]}</p></div>"
            for n in range(5)
        )
        alone = label(thread(1, 6), POSTS, THREAD)
        rivalled = label(thread(1, 6, f"<div id='shoutbox'>{shouts}</div>"), POSTS, THREAD)
        assert alone is not None
        assert rivalled is not None
        assert rivalled.confidence - rivalled.runner_up < alone.confidence - alone.runner_up

    def test_one_post_is_less_sure_than_several(self) -> None:
        few, many = label(thread(1, 2), POSTS, THREAD), label(thread(1, 6), POSTS, THREAD)
        assert many is not None
        assert few is None or few.confidence < many.confidence

    def test_a_page_without_records_of_people_teaches_nothing(self) -> None:
        form = "<form><p>Your name <input></p><p>Your text <textarea></textarea></p></form>"
        assert label(page_of(f"<h1>Answer</h1>{form}"), POSTS, THREAD) is None
        assert label(page_of("{}", "application/json"), POSTS, THREAD) is None


class TestArticles:
    def test_the_main_part_of_a_page_is_its_article(self) -> None:
        example = label(blog(), ARTICLE, ENTRY)
        assert example is not None
        (labelled,) = example.objects
        assert labelled.labels["title"].value == "Ice"
        assert labelled.labels["author"].value == Person("Ann Boyd", "http://site.test/authors/ann")
        assert labelled.labels["date"].value == datetime(2021, 2, 3, 10, tzinfo=UTC)
        assert labelled.labels["date"].attribute == "datetime"
        assert labelled.labels["body"].value == "\n".join(3 * [PARAGRAPH.strip()])

    def test_a_body_in_two_parts_is_read_whole(self) -> None:
        parts = f"<div class='a'>{PARAGRAPH}</div><div class='b'>{PARAGRAPH}</div><div class='share'>Share this</div>"
        example = label(blog(text=parts), ARTICLE, ENTRY)
        assert example is not None
        assert example.objects[0].labels["body"].value == f"{PARAGRAPH.strip()}\n{PARAGRAPH.strip()}"

    def test_markup_is_labelled_as_markup(self) -> None:
        action = replace(ARTICLE, fields=(field_of("body", FieldKind.HTML),))
        example = label(blog(), action, replace(ENTRY, actions=(action,)))
        assert example is not None
        assert str(example.objects[0].labels["body"].value).startswith("<p>")

    def test_what_an_article_is_filed_under_is_nobody(self) -> None:
        filed = blog().body.replace(b"rel='author' href='/authors/ann'", b"rel='category tag' href='/category/sea/'")
        example = label(replace(blog(), body=filed), ARTICLE, ENTRY)
        assert example is not None
        assert "author" not in example.objects[0].labels

    def test_a_page_without_text_has_no_article(self) -> None:
        assert label(page_of("<ul><li><a href='/a'>A</a></li><li><a href='/b'>B</a></li></ul>"), ARTICLE, ENTRY) is None


class TestComments:
    def test_the_records_beside_an_article_are_its_comments(self) -> None:
        example = label(blog(answers(1, 5)), COMMENTS, ENTRY)
        assert example is not None
        assert [each.labels["body"].value for each in example.objects] == [TEXTS[n % 5] for n in range(1, 5)]

    def test_an_article_without_any_other_date_has_no_comments(self) -> None:
        example = label(blog(), COMMENTS, ENTRY)
        assert example is not None
        assert example.objects == ()

    @pytest.mark.parametrize(
        "more",
        [
            "<div><p><b>Bo</b> <time datetime='2021-02-05T10:00:00Z'>then</time></p><p>Nice.</p></div>",
            "<article><footer><time datetime='2021-02-05T10:00:00Z'>then</time></footer><p>Nice.</p></article>",
        ],
    )
    def test_where_a_date_may_be_that_of_a_comment_nothing_is_said(self, more: str) -> None:
        example = label(blog(more), COMMENTS, ENTRY)
        assert example is None or example.objects

    def test_comments_that_each_page_has_are_never_absent(self) -> None:
        always = replace(COMMENTS, always=True)
        assert label(blog(), always, replace(ENTRY, actions=(ARTICLE, always))) is None


class TestLearning:
    def objects(self, pages: Sequence[Page], action: Extract, level: PageLevel) -> Sequence[LabelledExample]:
        return [example for page in pages if (example := label(page, action, level)) is not None]

    def test_what_is_labelled_can_be_learned(self) -> None:
        examples = self.objects([thread(1, 6), thread(10, 14), thread(20, 24)], POSTS, THREAD)
        learned = induce(examples, POSTS)
        assert learned is not None
        assert read(learned, thread(30, 35)) == [
            (f"p{n}", NAMES[n % 5], f"{n % 27 + 1:02}.03.2021 10:{n:02}", TEXTS[n % 5]) for n in range(30, 35)
        ]

    def test_comments_are_learned_with_pages_that_have_none(self) -> None:
        examples = self.objects([blog(answers(1, 5)), blog(), blog(answers(7, 11))], COMMENTS, ENTRY)
        assert [len(example.objects) for example in examples] == [4, 0, 4]
        learned = induce(examples, COMMENTS)
        assert learned is not None
        assert learned.support.absent == 1
        assert len(read(learned, blog(answers(20, 23)))) == 3

    def test_both_actions_of_a_page_keep_apart(self) -> None:
        pages = [blog(answers(1, 5)), blog(answers(7, 11), 2 * f"<p>{PARAGRAPH}</p>")]
        learned = induce(self.objects(pages, ARTICLE, ENTRY), ARTICLE)
        assert learned is not None
        bodies = [each[3] for each in read(learned, blog(answers(20, 23)))]
        assert bodies == ["\n".join(3 * [PARAGRAPH.strip()])]

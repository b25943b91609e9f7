"""What pages of any template have in common teaches which objects they hold, and when it cannot be told."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aahcrawler.adaptation.learner.wrappers import learn
from aahcrawler.adaptation.lessons import Lesson, Method
from aahcrawler.adaptation.teachers.induced import InducedTeacher
from aahcrawler.helper.adapter import Question
from aahcrawler.page import Page
from aahcrawler.webobject import Person
from knowledge_base.model import Application, Extract, FieldKind, Identity, PageLevel
from tests.adaptation.lessons_by_hand import AUTHOR, BODY, DATE, NOTHING, TITLE, field_of, posts, read
from tests.page.building import PARAGRAPH, page_of

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


def teach(page: Page, action: Extract, level: PageLevel) -> Lesson | None:
    return InducedTeacher().teach(Question(page, Application("any", "web-forum", (), ()), level, action))


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
        lesson = teach(thread(1, 6), POSTS, THREAD)
        assert lesson is not None
        assert lesson.method is Method.INDUCED
        assert [each.spots["body"].value for each in lesson.examples] == [TEXTS[n % 5] for n in range(1, 6)]
        assert lesson.examples[0].spots["author"].value == Person(NAMES[1], "http://forum.test/user/1")
        assert lesson.examples[0].spots["date"].value == datetime(2021, 3, 2, 10, 1, tzinfo=UTC)
        assert lesson.confidence > 0.8
        assert lesson.runner_up == 0

    def test_the_first_post_has_the_title_of_the_page(self) -> None:
        lesson = teach(thread(1, 6), POSTS, THREAD)
        assert lesson is not None
        assert [each.spots["title"].value for each in lesson.examples if "title" in each.spots] == [
            "Ice in the harbour"
        ]

    def test_a_title_may_stand_in_no_heading(self) -> None:
        plain = thread(1, 6).body.replace(b"h1", b"strong")
        lesson = teach(replace(thread(1, 6), body=plain), POSTS, THREAD)
        assert lesson is not None
        assert lesson.examples[0].spots["title"].value == "Ice in the harbour"

    def test_a_rival_makes_it_less_sure(self) -> None:
        shouts = "".join(
            f"<div class='shout'><b class='author'>{NAMES[n % 5]}</b> <i>{n + 1} April 2021, 11:{n:02}</i>"
            f"<p>{TEXTS[(n + 2) % 5]}</p></div>"
            for n in range(5)
        )
        alone = teach(thread(1, 6), POSTS, THREAD)
        rivalled = teach(thread(1, 6, f"<div id='shoutbox'>{shouts}</div>"), POSTS, THREAD)
        assert alone is not None
        assert rivalled is not None
        assert rivalled.confidence - rivalled.runner_up < alone.confidence - alone.runner_up

    def test_one_post_is_less_sure_than_several(self) -> None:
        few, many = teach(thread(1, 2), POSTS, THREAD), teach(thread(1, 6), POSTS, THREAD)
        assert many is not None
        assert few is None or few.confidence < many.confidence

    def test_a_page_without_records_of_people_teaches_nothing(self) -> None:
        form = "<form><p>Your name <input></p><p>Your text <textarea></textarea></p></form>"
        assert teach(page_of(f"<h1>Answer</h1>{form}"), POSTS, THREAD) is None
        assert teach(page_of("{}", "application/json"), POSTS, THREAD) is None


class TestArticles:
    def test_the_main_part_of_a_page_is_its_article(self) -> None:
        lesson = teach(blog(), ARTICLE, ENTRY)
        assert lesson is not None
        (example,) = lesson.examples
        assert example.spots["title"].value == "Ice"
        assert example.spots["author"].value == Person("Ann Boyd", "http://site.test/authors/ann")
        assert example.spots["date"].value == datetime(2021, 2, 3, 10, tzinfo=UTC)
        assert example.spots["date"].attribute == "datetime"
        assert example.spots["body"].value == "\n".join(3 * [PARAGRAPH.strip()])

    def test_a_body_in_two_parts_is_read_whole(self) -> None:
        parts = f"<div class='a'>{PARAGRAPH}</div><div class='b'>{PARAGRAPH}</div><div class='share'>Share this</div>"
        lesson = teach(blog(text=parts), ARTICLE, ENTRY)
        assert lesson is not None
        assert lesson.examples[0].spots["body"].value == f"{PARAGRAPH.strip()}\n{PARAGRAPH.strip()}"

    def test_markup_is_taught_as_markup(self) -> None:
        action = replace(ARTICLE, fields=(field_of("body", FieldKind.HTML),))
        lesson = teach(blog(), action, replace(ENTRY, actions=(action,)))
        assert lesson is not None
        assert str(lesson.examples[0].spots["body"].value).startswith("<p>")

    def test_what_an_article_is_filed_under_is_nobody(self) -> None:
        filed = blog().body.replace(b"rel='author' href='/authors/ann'", b"rel='category tag' href='/category/sea/'")
        lesson = teach(replace(blog(), body=filed), ARTICLE, ENTRY)
        assert lesson is not None
        assert "author" not in lesson.examples[0].spots

    def test_a_page_without_text_has_no_article(self) -> None:
        assert teach(page_of("<ul><li><a href='/a'>A</a></li><li><a href='/b'>B</a></li></ul>"), ARTICLE, ENTRY) is None


class TestComments:
    def test_the_records_beside_an_article_are_its_comments(self) -> None:
        lesson = teach(blog(answers(1, 5)), COMMENTS, ENTRY)
        assert lesson is not None
        assert [each.spots["body"].value for each in lesson.examples] == [TEXTS[n % 5] for n in range(1, 5)]

    def test_an_article_without_any_other_date_has_no_comments(self) -> None:
        lesson = teach(blog(), COMMENTS, ENTRY)
        assert lesson is not None
        assert lesson.examples == ()

    @pytest.mark.parametrize(
        "more",
        [
            "<div><p><b>Bo</b> <time datetime='2021-02-05T10:00:00Z'>then</time></p><p>Nice.</p></div>",
            "<article><footer><time datetime='2021-02-05T10:00:00Z'>then</time></footer><p>Nice.</p></article>",
        ],
    )
    def test_where_a_date_may_be_that_of_a_comment_nothing_is_said(self, more: str) -> None:
        lesson = teach(blog(more), COMMENTS, ENTRY)
        assert lesson is None or lesson.examples

    def test_comments_that_each_page_has_are_never_absent(self) -> None:
        always = replace(COMMENTS, always=True)
        assert teach(blog(), always, replace(ENTRY, actions=(ARTICLE, always))) is None


class TestLearning:
    def objects(self, pages: Sequence[Page], action: Extract, level: PageLevel) -> Sequence[Lesson]:
        return [lesson for page in pages if (lesson := teach(page, action, level)) is not None]

    def test_what_is_taught_can_be_learned(self) -> None:
        lessons = self.objects([thread(1, 6), thread(10, 14), thread(20, 24)], POSTS, THREAD)
        learned = learn(lessons, POSTS)
        assert learned is not None
        assert read(learned, thread(30, 35)) == [
            (f"p{n}", NAMES[n % 5], f"{n % 27 + 1:02}.03.2021 10:{n:02}", TEXTS[n % 5]) for n in range(30, 35)
        ]

    def test_comments_are_learned_with_pages_that_have_none(self) -> None:
        lessons = self.objects([blog(answers(1, 5)), blog(), blog(answers(7, 11))], COMMENTS, ENTRY)
        assert [len(lesson.examples) for lesson in lessons] == [4, 0, 4]
        learned = learn(lessons, COMMENTS)
        assert learned is not None
        assert learned.support.absent == 1
        assert len(read(learned, blog(answers(20, 23)))) == 3

    def test_both_actions_of_a_page_keep_apart(self) -> None:
        pages = [blog(answers(1, 5)), blog(answers(7, 11), 2 * f"<p>{PARAGRAPH}</p>")]
        learned = learn(self.objects(pages, ARTICLE, ENTRY), ARTICLE)
        assert learned is not None
        bodies = [each[3] for each in read(learned, blog(answers(20, 23)))]
        assert bodies == ["\n".join(3 * [PARAGRAPH.strip()])]

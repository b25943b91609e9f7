"""What is named like the elements that expressions look for is found where the expressions fail."""

import pytest

from aahcrawler.adaptation.lessons import Lesson, Method
from aahcrawler.adaptation.teachers.hints import NameTable, hints, likeness, named
from aahcrawler.adaptation.teachers.relaxing import RelaxingTeacher
from aahcrawler.helper.adapter import Question
from aahcrawler.induction.outline import Outline
from aahcrawler.webobject import Person
from knowledge_base.loader import load
from knowledge_base.model import DateFormat, Extract, Field, FieldKind, Identity
from knowledge_base.selectors import Selector, compile_selector
from tests.page.building import page_of

APPLICATION = load().application("phpBB")
LEVEL = next(level for level in APPLICATION.levels if level.role == "terminal")
TEXTS = (
    "The harbour froze over in January, and everybody in town walked across it at least once.",
    "Nobody believed it at first, least of all the ferry company, which had to stop for a week.",
    "Thanks for the pictures, they are lovely; I wish that I had been there to see it all myself.",
)


def css(selector: str) -> tuple[Selector, ...]:
    return (compile_selector(css=selector),)


POSTS = Extract(
    "posts",
    "reply",
    css("div.post"),
    (
        Field("body", FieldKind.TEXT, css("div.postbody")),
        Field("author", FieldKind.PERSON, css("span.author a")),
        Field("date", FieldKind.DATETIME, css("p.postdate"), date=DateFormat("ymd")),
    ),
    many=True,
    identity=Identity(css("a[id]"), ("p",), "p"),
)
ARTICLE = Extract(
    "article",
    "post",
    css("div.article"),
    (Field("body", FieldKind.TEXT, css("div.entry-content")), Field("title", FieldKind.TEXT, css("h1"))),
)


def lesson(markup: str, action: Extract = POSTS) -> Lesson | None:
    page = page_of(f"<html><head><title>Ice - Forum</title></head><body>{markup}</body></html>")
    return RelaxingTeacher(load()).teach(Question(page, APPLICATION, LEVEL, action))


def posts(item: str, body: str, author: str) -> str:
    tag = item.partition(" ")[0]
    return "".join(
        f'<{item}><{author}><a href="/u/{n}">Ann {name}</a></span><time>2022-01-1{n} 10:05</time>'
        f"<{body}>{text}</div></{tag}>"
        for n, (text, name) in enumerate(zip(TEXTS, ("Boyd", "Costa", "Dahl"), strict=True), 1)
    )


@pytest.mark.parametrize(
    ("item", "body", "author"),
    [
        ('div class="post"', 'div class="post_body"', 'span class="authors"'),
        ('section class="post"', 'div id="postbody"', 'span class="post-author"'),
        ('article class="posting"', 'div class="PostBody"', 'span itemprop="author"'),
        ('li class="blog-post"', 'div class="body-post"', 'span class="author vcard"'),
    ],
)
def test_one_thing_changed_at_a_time_is_bridged(item: str, body: str, author: str) -> None:
    found = lesson(f'<div class="sidebar"><div class="post">A teaser</div></div>{posts(item, body, author)}')
    assert found is not None
    assert found.method is Method.RELAXED
    assert [each.spots["body"].value for each in found.examples] == list(TEXTS)
    assert [each.spots["author"].value for each in found.examples] == [
        Person("Ann Boyd", "http://site.test/u/1"),
        Person("Ann Costa", "http://site.test/u/2"),
        Person("Ann Dahl", "http://site.test/u/3"),
    ]
    assert [each.spots["date"].value.isoformat()[:10] for each in found.examples] == [  # type: ignore[union-attr]
        "2022-01-11",
        "2022-01-12",
        "2022-01-13",
    ]
    assert found.confidence > 0.7
    assert found.confidence - found.runner_up > 0.1


def test_an_article_is_the_largest_of_its_name_with_the_heading_of_the_page() -> None:
    text = " ".join(TEXTS)
    markup = f'<h1>Ice</h1><div class="entry">Short</div><main class="article"><div class="content">{text}</div></main>'
    found = lesson(markup, ARTICLE)
    assert found is not None
    assert [each.spots["body"].value for each in found.examples] == [text]
    assert found.examples[0].spots["title"].value == "Ice"


def test_nothing_is_claimed_where_nothing_is_named_like_it() -> None:
    assert lesson("".join(f"<p>{text}</p>" for text in TEXTS)) is None
    assert lesson('<div class="post"></div>') is None
    assert lesson(f'<nav><div class="post"><div class="postbody">{TEXTS[0]}</div></div></nav>') is None


def test_pages_without_markup_teach_nothing() -> None:
    page = page_of("{}", "application/json")
    assert RelaxingTeacher(load()).teach(Question(page, APPLICATION, LEVEL, POSTS)) is None


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("//div[@class='post']", [("div", "class", "post")]),
        ("//td/span[contains(@id, 'post_body')]/text()", [("span", "id", "post_body")]),
        ("//a[starts-with(@href, '/user/')]", []),
        (".//*[@itemprop='author' or @rel='author']", [("*", "itemprop", "author"), ("*", "rel", "author")]),
        ("//x[contains(concat(' ', @class, ' '), ' aa/bb | cc ')]", [("x", "class", "aa/bb")]),
        ("not an expression [[", []),
    ],
)
def test_hints_are_the_names_in_the_last_step(source: str, expected: list[tuple[str, str, str]]) -> None:
    found = [(hint.tag, hint.name.attribute, hint.name.token) for hint in hints(source)]
    assert found[: len(expected)] == expected
    assert bool(found) == bool(expected)


def test_likeness_falls_with_each_thing_that_differs() -> None:
    hint = hints("//div[@class='postbody']")[0], hints("//div[@class='post_body']")[0]
    same, other = named("class", "post_body"), named("id", "post_body")
    token, stem = named("class", "body"), named("class", "posts-list-x")
    assert same is not None
    assert other is not None
    assert token is not None
    assert stem is not None
    falling = [
        likeness(hint[1], "div", same),
        likeness(hint[1], "td", same),
        likeness(hint[1], "td", other),
        likeness(hint[1], "div", token),
        likeness(hint[1], "div", stem),
    ]
    assert falling == sorted(falling, reverse=True)
    assert falling[0] == 1.0
    assert falling[-1] > 0.0
    unlike = named("class", "signature")
    assert unlike is not None
    assert likeness(hint[1], "div", unlike) == 0.0


def test_elements_are_found_by_a_word_of_their_names() -> None:
    table = NameTable(Outline(page_of('<p class="posts-body">x</p><p class="col-md-8">y</p>').tree))
    assert [name.token for _, name in table.like(hints("//div[@id='post']"))] == ["posts-body"]


ENTRY = Extract(
    "article",
    "post",
    css("div.article"),
    (Field("body", FieldKind.TEXT, css("div.entry-content"), without=css("div.notes")),),
)


@pytest.mark.parametrize("named", ['id="trackbacks"', 'class="entry_comments"', 'class="notes"'])
def test_what_answers_an_article_or_is_left_out_of_it_is_none(named: str) -> None:
    answers = f'<div {named}><div class="entry-content"><p>{TEXTS[0]}</p><p>{TEXTS[1]}</p></div></div>'
    assert lesson(f'<section class="article"><h1>Ice</h1>{answers}</section>', ENTRY) is None

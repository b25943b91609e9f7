"""A redesigned blog whose file documents every address: lists are no articles, what leads to itself is a comment."""

from datetime import date, timedelta

import pytest

from aahcrawler.adaptation.adapter import adaptation
from aahcrawler.adaptation.repair.structure_induction import Structures
from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.induction.record_sets import Nature
from aahcrawler.page import Page
from aahcrawler.webobject import Person
from knowledge_base.model import Application, Extract, Field, FieldKind, Identity, KnowledgeBase, PageLevel
from knowledge_base.url_rules import AvoidRule, AvoidRules, Paging, PathGlob, Reason, UrlRule
from tests.adaptation.redesigned import NAMES, WORDS
from tests.helper.building import css, sign, text_field, when, xpath
from tests.helper.saved_pages import html_page

SITE = "http://blog.test"
WHO_AND_WHEN = (
    text_field("author", ".who", kind=FieldKind.PERSON),
    Field("date", FieldKind.DATETIME, (xpath(".//time/@datetime"),)),
)
ARTICLE = Extract(
    "article",
    "post",
    (css("div.node"),),
    (text_field("title", "h1"), *WHO_AND_WHEN, text_field("body", ".said")),
    always=True,
)
COMMENTS = Extract(
    "comments",
    "comment",
    (css(".comment"),),
    (*WHO_AND_WHEN, text_field("body", ".words")),
    many=True,
    identity=Identity((xpath("@id"),), trims=("c-",), prefix="c-"),
)
ENTRY = PageLevel(
    "node",
    "terminal",
    when("div.node"),
    actions=(ARTICLE, COMMENTS),
    addresses=(UrlRule(PathGlob("**")),),
    paging=(Paging(parameter="page"),),
)
BLOG = Application(
    "blog",
    "blog",
    (sign(".blog-sign"),),
    (ENTRY,),
    avoid=AvoidRules((AvoidRule(UrlRule(PathGlob("comment/*")), Reason.DUPLICATE),)),
)


def text(number: int, lines: int = 4) -> str:
    return " ".join(f"{WORDS[(number + n) % len(WORDS)]} So it was {number} times {n}." for n in range(lines))


def when_written(number: int) -> str:
    day = date(2021, 3, 1) + timedelta(number)
    return f'<time datetime="{day}T10:0{number % 10}:00Z">{day:%d %B %Y}</time>'


def comment(number: int, names: str = "reply") -> str:
    return (
        f'<li class="{names}" id="c-{number}"><b class="who">{NAMES[number % 4]}</b> {when_written(number)}'
        f'<div class="words"><p>{text(number, 2)}</p></div></li>'
    )


def own_view(number: int) -> str:
    """Return a comment whose title leads to another view of it."""
    return (
        f'<article class="reply"><h4><a href="/comment/{number}#x{number}">Reply {number} on ice</a></h4>'
        f"<p><b>{NAMES[number % 4]}</b> {when_written(number)}</p><div><p>{text(number, 2)}</p></div></article>"
    )


def page_at(path: str, body: str, title: str = "Ice") -> Page:
    markup = f"<html><head><title>{title}</title></head><body class='blog-sign'><nav><a href='/'>Home</a></nav>"
    return html_page(f"{SITE}/{path}", f"{markup}{body}<footer>Notes since 1999</footer></body></html>")


def post(number: int, comments: str = "", name: str = "leaf") -> Page:
    said = "".join(f"<p>{text(number + n)}</p>" for n in range(3))
    article = (
        f'<div class="{name}"><h1>On ice {number}</h1><p><b class="who">Ann Boyd</b> {when_written(number)}</p>'
        f'<div class="said">{said}</div></div>'
    )
    return page_at(f"post-{number}", article + comments, f"On ice {number}")


def teaser(number: int) -> str:
    return (
        f'<h2><a href="/post-{number}">On ice {number}</a></h2><p><b>{NAMES[number % 4]}</b> {when_written(number)}</p>'
        f"<div><p>{text(number)}</p></div>"
    )


def entries(*numbers: int) -> str:
    return "".join(f'<article class="brief">{teaser(number)}</article>' for number in numbers)


def flat(*numbers: int) -> str:
    return f'<div class="all">{"".join(map(teaser, numbers))}</div>'


@pytest.mark.parametrize("shown", [entries, flat])
def test_a_list_is_no_article_however_its_entries_are_held(shown: object) -> None:
    assert callable(shown)
    page = page_at("tags/ice", f"<h1>Ice</h1>{shown(1, 2, 3, 4, 5)}")
    assert Structures().of(page, BLOG).is_list


def test_an_article_is_no_list_though_others_are_shown_below_it() -> None:
    page = post(1, f"<section><h3>More</h3>{entries(2, 3, 4)}</section>")
    assert not Structures().of(page, BLOG).is_list
    assert not Structures().of(post(1, f"<ol>{comment(1)}{comment(2)}{comment(3)}</ol>"), BLOG).is_list


def test_what_leads_to_other_views_of_itself_alone_is_a_post() -> None:
    page = post(1, f"<section>{''.join(map(own_view, range(2, 7)))}</section>")
    natures = {each.nature for each in Structures().of(page, BLOG).sets}
    others = {each.nature for each in Structures().of(page, Application("any", "blog", (), ())).sets}
    assert (natures, others) == ({Nature.POSTS}, {Nature.TEASERS})


@pytest.mark.slow
def test_posts_and_their_comments_are_read_between_lists_without_a_sign() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase((BLOG,)), adapter=adaptation(KnowledgeBase((BLOG,))))
    helper.assist(post(0, name="node"))
    found: dict[str, list[str]] = {}
    for number in range(1, 9):
        replies = f"<section>{''.join(own_view(10 * number + n) for n in range(3))}</section>"
        for page in (
            page_at(f"tags/{number}", f"<h1>Tag {number}</h1>{entries(*range(number, number + 5))}"),
            page_at(f"tags/more-{number}", f"<h1>Tag {number}</h1>{flat(*range(number, number + 5))}"),
            post(number, replies),
        ):
            found[page.url] = [each.type for each in helper.assist(page).objects]
    assert not any(types for url, types in found.items() if "/tags/" in url)
    assert [sorted(found[f"{SITE}/post-{number}"]) for number in range(4, 9)] == [
        ["comment", "comment", "comment", "post"]
    ] * 5


def test_the_last_page_of_a_list_is_no_article_though_it_has_one_entry() -> None:
    known = KnowledgeBase((BLOG,))
    helper = ApplicationAwareHelper(known, adapter=adaptation(known))
    for number in range(4):
        helper.assist(post(number, name="node" if number < 2 else "leaf"))
    last = page_at("tags/ice?page=2", flat(9))
    helper.assist(page_at("tags/ice", flat(1, 2, 3, 4)))
    assert not helper.assist(last).objects


def test_what_a_name_says_is_no_part_of_it() -> None:
    helper = ApplicationAwareHelper(KnowledgeBase((BLOG,)), adapter=adaptation(KnowledgeBase((BLOG,))))
    said = comment(1, "comment").replace("</b>", " <i>says:</i></b>")
    (found,) = (each for each in helper.assist(post(1, said, name="node")).objects if each.type == "comment")
    assert found.first("author") == Person(NAMES[1])


@pytest.mark.slow
def test_comments_that_the_file_finds_a_part_of_are_looked_for_where_articles_were_repaired() -> None:
    known = KnowledgeBase((BLOG,))
    helper = ApplicationAwareHelper(known, adapter=adaptation(known))
    counts = []
    for number in range(12):
        names = ["comment", "reply", "reply", "reply"] if number > 2 else ["comment"] * 4
        listed = "".join(comment(10 * number + n, name) for n, name in enumerate(names))
        page = post(number, f"<ol>{listed}</ol>", name="node" if number <= 2 else "leaf")
        counts.append(sum(each.type == "comment" for each in helper.assist(page).objects))
    assert counts[:3] == [4] * 3
    assert counts[-4:] == [4] * 4

"""Microdata and RDFa, read as the items that JSON-LD would make of the same."""

import pytest

from aahcrawler.induction import generic_objects
from aahcrawler.page.schemaorg import items
from aahcrawler.webobject import Person, WebObject
from tests.pace import at_most
from tests.page.building import PARAGRAPH, page_of

HERE = "http://site.test/news/ice"

MICRODATA = f"""<title>Ice</title><body><article itemscope itemtype="https://schema.org/BlogPosting">
<h1 itemprop=headline>The ice</h1><a itemprop=author href="/u/ann">Ann</a>
<time itemprop=datePublished datetime="2022-01-14T10:00:00Z">yesterday</time>
<div itemprop=articleBody><p>{PARAGRAPH}</p></div>
<div id=c1 itemprop=comment itemscope itemtype="http://schema.org/Comment" itemref=d1>
<b itemprop=author itemscope itemtype="http://schema.org/Person"><span itemprop=name>Bob</span></b>
<p itemprop=text>It was thick enough for a horse and a sledge.</p></div></article>
<p id=d1><time itemprop=dateCreated datetime="2022-01-15">today</time></p>"""

RDFA = f"""<title>Ice</title><body vocab="https://schema.org/"><div typeof=Article><h1 property=headline>The ice</h1>
<span property=author typeof=Person><a property=url href="/u/ann"><span property=name>Ann</span></a></span>
<time property=datePublished datetime="2022-01-14T10:00:00Z">yesterday</time>
<div property=articleBody><p>{PARAGRAPH}</p></div></div>
<div about="{HERE}#c1" typeof="sioc:Post sioct:Comment"><span property="dc:date" content="2022-01-15">today</span>
<span rel="sioc:has_creator"><a about="/u/bob" typeof="sioc:UserAccount" property="foaf:name">Bob</a></span>
<div property="content:encoded"><p>It was thick enough for a horse and a sledge.</p></div></div>"""


def read(markup: str) -> tuple[WebObject, ...]:
    return generic_objects.read_objects(page_of(markup)).objects


@pytest.mark.parametrize(("markup", "bob"), [(MICRODATA, None), (RDFA, "http://site.test/u/bob")])
def test_an_article_and_its_comment_are_read_from_markup(markup: str, bob: str | None) -> None:
    article, comment = read(markup)
    assert (article.iri, article.type, article.first("title")) == (HERE, "article", "The ice")
    assert article.first("author") == Person("Ann", "http://site.test/u/ann")
    assert str(article.first("date")).startswith("2022-01-14 10:00")
    assert str(article.first("body")).startswith("The harbour froze")
    assert (comment.iri, comment.type, comment.part_of) == (f"{HERE}#c1", "comment", HERE)
    assert comment.first("author") == Person("Bob", bob)
    assert comment.first("body") == "It was thick enough for a horse and a sledge."
    assert str(comment.first("date")).startswith("2022-01-15")


def test_items_know_their_elements_and_holders() -> None:
    posting, comment, person = items(page_of(MICRODATA))
    assert posting.element is not None
    assert (posting.element.tag, posting.element.get("itemscope")) == ("article", "")
    assert (comment.role, comment.holder) == ("comment", posting)
    assert (person.role, person.types) == ("author", ("Person",))


def test_the_text_of_a_comment_is_without_the_answers_in_it() -> None:
    inner = '<div itemscope itemtype="http://schema.org/Comment"><p itemprop=text>Inner words.</p></div>'
    outer = f'<div itemscope itemtype="http://schema.org/Comment"><div itemprop=text>Outer words. {inner}</div></div>'
    assert [item.lines("text") for item in items(page_of(outer))] == ["Outer words.", "Inner words."]


def test_scripts_come_before_markup_that_says_the_same() -> None:
    script = '<script type="application/ld+json">{"@type": "Article", "headline": "Script"}</script>'
    found = items(page_of(script + MICRODATA))
    assert [(item.types, item.element is None) for item in found] == [
        (("Article",), True),
        (("Comment",), False),
        (("Person",), False),
    ]


@pytest.mark.parametrize("number", [1, 4])
def test_teasers_that_are_marked_up_are_a_list(number: int) -> None:
    teaser = (
        '<article itemscope itemtype="http://schema.org/BlogPosting"><h2 itemprop=headline><a itemprop=url '
        f'href="/post/{{0}}">Day {{0}}</a></h2><time datetime="2022-01-0{{0}}">then</time>'
        f"<div itemprop=articleBody><p>{PARAGRAPH * 3}</p></div></article>"
    )
    assert read("<title>All</title>" + "".join(teaser.format(n) for n in range(1, number + 1))) == ()


def test_a_declared_comment_and_the_record_of_it_are_one() -> None:
    comment = (
        '<li id="comment-{0}"><article itemscope itemtype="http://schema.org/Comment"><b class=author>Reader {1}</b> '
        '<time datetime="2022-01-1{0}T10:00:00Z">then</time><p itemprop=text>The number {1} that I counted on the '
        "ice was a seal, I am sure.</p></article></li>"
    )
    names = ("one", "two", "three")
    post = '<article itemscope itemtype="http://schema.org/BlogPosting"><h1 itemprop=headline>Ice</h1>'
    listed = "".join(comment.format(n, name) for n, name in enumerate(names, 1))
    _, *found = read(f"{post}<div itemprop=articleBody>{PARAGRAPH * 3}</div></article><ol>{listed}</ol>")
    assert [each.iri for each in found] == [f"{HERE}#comment-{n}" for n in (1, 2, 3)]
    assert [each.first("author") for each in found] == [Person(f"Reader {name}") for name in names]
    assert all(each.first("date") for each in found)


HOSTILE = {
    "items in items": '<div itemscope itemprop=comment itemtype="http://schema.org/Comment"><i itemprop=text>x</i>'
    * 20_000,
    "items that refer to themselves": "".join(
        f'<div id=a{n} itemscope itemprop=comment itemref="a{n} a{n - 1} a{n + 1}" '
        f'itemtype="http://schema.org/Comment"></div>'
        for n in range(20_000)
    ),
    "one element that all refer to": "<div id=x>" + "<b itemprop=text>x</b>" * 20_000 + "</div>"
    "<div itemscope itemref=x itemtype='http://schema.org/Comment'></div>" * 20_000,
    "nodes in nodes": "<div vocab='http://schema.org/' typeof=Comment property=comment resource=x>" * 20_000,
    "prefixes": "".join(f"<div typeof=x prefix='{' '.join(f'p{n}x{m}: y' for m in range(50))}'>" for n in range(700)),
    "values": "<div itemscope itemtype='http://schema.org/Comment'>" + "<b itemprop=text></b>" * 50_000,
}


@pytest.mark.slow
@pytest.mark.parametrize("markup", HOSTILE.values(), ids=HOSTILE)
def test_hostile_markup_is_read_in_bounded_time(markup: str) -> None:
    page = page_of(markup)
    assert page.tree.tag == "html"
    with at_most(1.5):
        found = items(page)
        assert len(found) <= 3_000
        assert all(len(item.lines("text", "name")) < 1_000_000 for item in found)

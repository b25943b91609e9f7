"""What fields can be made of: several elements, markup written as text, and what the page declares."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from aahcrawler.helper.extraction.field_reader import as_date
from aahcrawler.page import Headers, Page
from aahcrawler.page.dates import LACKS_YEAR
from aahcrawler.webobject import Person, Reference, Value
from knowledge_base.model import DateFormat, Field, FieldKind, Identity
from tests.helper.building import application, article, assist, comments, css, level, text_field


def values(markup: str, *fields: Field, url: str = "http://site.test/page") -> list[dict[str, tuple[Value, ...]]]:
    found = assist(application("press", level("page", "body", article(*fields, item="main"))), markup, url)
    assert not found.failed_actions
    return [{name: item.properties[name] for name in item.properties if name != "url"} for item in found.objects]


def joined(name: str, *sources: str, kind: FieldKind = FieldKind.TEXT) -> Field:
    return replace(text_field(name, *sources, kind=kind), join=True)


PARAGRAPHS = "<main><p>One <b>and</b></p><div><p>two</p></div><p> </p><p class='ad'>buy</p><p>three</p></main>"


def test_one_value_of_all_elements() -> None:
    body = replace(joined("body", ".missing", "p"), without=(css(".ad"),))
    assert values(PARAGRAPHS, body) == [{"body": ("One and\ntwo\nbuy\nthree",)}]
    without = replace(joined("body", "p:not(.ad)"), without=(css("b"),))
    assert values(PARAGRAPHS, without) == [{"body": ("One\ntwo\nthree",)}]
    html = joined("body", "p:not(.ad)", kind=FieldKind.HTML)
    assert values(PARAGRAPHS, html) == [{"body": ("One <b>and</b>\ntwo\nthree",)}]


def test_more_elements_than_a_single_value_would_be_looked_for_in() -> None:
    (found,) = values("<main>" + "<p>word</p>" * 500 + "</main>", joined("body", "p"))
    assert found == {"body": ("\n".join(["word"] * 500),)}


def test_nothing_is_joined_twice() -> None:
    nested = "<main><div class='t'>a<div class='t'>b</div><i class='t'>c</i></div><div class='t'>d</div></main>"
    assert values(nested, joined("body", ".t")) == [{"body": ("a\nb\nc\nd",)}]


def test_dates_persons_and_numbers_are_made_of_their_parts() -> None:
    markup = """<main><i class="d">3 May 2024</i> <i class="d">09:30</i> <a class="w" href="/ada">Ada</a>
    <b class="w">Lovelace</b> <i class="n">1</i><i class="n">204</i> <a class="l" href="/x">x</a></main>"""
    date = replace(joined("date", ".d", kind=FieldKind.DATETIME), date=DateFormat("dmy", "UTC"))
    fields = (
        date,
        joined("author", ".w", kind=FieldKind.PERSON),
        joined("views", ".n", kind=FieldKind.NUMBER),
        joined("image", ".l", kind=FieldKind.URL),
    )
    assert values(markup, *fields) == [
        {
            "date": (datetime(2024, 5, 3, 9, 30, tzinfo=UTC),),
            "author": (Person("Ada Lovelace", "http://site.test/ada"),),
            "views": (1204,),
            "image": (Reference("http://site.test/x"),),
        }
    ]


def test_links_of_all_joined_elements_are_links_of_the_body() -> None:
    press = application("press", level("page", "main", article(joined("body", "p"), item="main")))
    found = assist(press, '<main><p><a href="http://a.test/">a</a></p>x<p><a href="http://b.test/">b</a></p></main>')
    assert [(link.url, link.part) for link in found.document.outlinks] == [("http://a.test/", 0), ("http://b.test/", 0)]


def test_text_that_is_markup_is_read_as_what_it_describes() -> None:
    written = (
        '&lt;p&gt;One &amp;amp; &lt;b&gt;two&lt;/b&gt;&lt;/p&gt;&lt;p class="sig"&gt;Ada&lt;/p&gt;'
        '&lt;a href="http://a.test/"&gt;a&lt;/a&gt;'
    )
    body = replace(text_field("body", ".raw"), markup=True, without=(css(".sig"),))
    press = application("press", level("page", "main", article(body, item="main")))
    found = assist(press, f'<main><i class="raw">{written}</i></main>')
    assert [item.first("body") for item in found.objects] == ["One & two\na"]
    assert [link.url for link in found.document.outlinks] == ["http://a.test/"]
    attribute = replace(Field("body", FieldKind.TEXT, (css(".raw", "title"),)), markup=True)
    assert values('<main><i class="raw" title="&lt;i&gt;x&lt;/i&gt; y"></i></main>', attribute) == [{"body": ("x y",)}]


BYLINES = """<main><h1 class="t">Storm</h1><p><a href="/42"><time>3 May 2024</time></a></p>
<p>On <time>4 May 2024</time> <b class="w">Ada</b> came.</p><p>She left.</p><p class="w">Ada</p></main>"""
TITLE, BODY = text_field("title", ".t"), text_field("body", "main")
DATE = replace(text_field("date", "time", kind=FieldKind.DATETIME), date=DateFormat("dmy", "UTC"))


def test_a_body_does_not_begin_or_end_with_the_lines_of_other_fields() -> None:
    author = text_field("author", "p.w", kind=FieldKind.PERSON)
    press = application("press", level("page", "main", article(BODY, TITLE, DATE, author, item="body")))
    found = assist(press, BYLINES)
    assert [item.first("body") for item in found.objects] == ["On 4 May 2024 Ada came.\nShe left."]
    assert [item.first("title") for item in found.objects] == ["Storm"]
    assert [link.part for link in found.document.outlinks if link.url.endswith("/42")] == [], (
        "a date's link is no body's"
    )


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<main><p><time>3 May 2024</time>: a storm came.</p></main>", "3 May 2024: a storm came."),
        ("<main><p>One</p><time>3 May 2024</time><p>two</p></main>", "One\n3 May 2024\ntwo"),
        ("<main><time>3 May 2024</time></main>", "3 May 2024"),
        ("<time>3 May 2024</time><main><p>3 May 2024</p><p>a storm</p></main>", "3 May 2024\na storm"),
    ],
    ids=["of the same line", "between", "nothing else", "outside"],
)
def test_what_is_part_of_a_text_stays_in_it(markup: str, text: str) -> None:
    press = application("press", level("page", "main", article(BODY, DATE, item="body")))
    assert [item.first("body") for item in assist(press, markup).objects] == [text]


def declared(name: str, *properties: str, kind: FieldKind = FieldKind.TEXT, many: bool = False) -> Field:
    return Field(name, kind, (css(f".{name}"),), declared=properties, many=many)


FIELDS = (
    declared("title", "headline", "name"),
    declared("author", "author", kind=FieldKind.PERSON),
    declared("date", "datePublished", "dateCreated", kind=FieldKind.DATETIME),
)
ARTICLE = {"@type": "NewsArticle", "headline": "Own", "author": {"name": "Ada"}, "dateCreated": "2024-05-01T09:30Z"}
OTHER = {"@type": "NewsArticle", "headline": "Other", "url": "http://site.test/other"}


def declaring(*items: object, shown: str = "<main></main>") -> str:
    return "".join(f'<script type="application/ld+json">{json.dumps(item)}</script>' for item in items) + shown


def test_what_is_not_shown_is_asked_of_the_main_item() -> None:
    (found,) = values(declaring(ARTICLE), *FIELDS)
    assert found == {
        "title": ("Own",),
        "author": (Person("Ada"),),
        "date": (datetime(2024, 5, 1, 9, 30, tzinfo=UTC),),
    }
    (found,) = values(declaring(ARTICLE, shown='<main><h1 class="title">Shown</h1></main>'), *FIELDS)
    assert found["title"] == ("Shown",)


@pytest.mark.parametrize(
    ("items", "title"),
    [
        ([OTHER, {**ARTICLE, "mainEntityOfPage": {"@id": "https://www.site.test/page/#x"}}], "Own"),
        ([{**ARTICLE, "url": "http://moved.test/1"}], "Own"),
        ([{"@graph": [{"@type": "WebSite", "name": "Site"}, {"@type": "WebPage", "mainEntity": ARTICLE}]}], "Own"),
        ([{"@type": "ItemList", "itemListElement": [OTHER, OTHER]}, {"@type": "WebPage", "name": "P"}], None),
        ([ARTICLE, OTHER], None),
        ([ARTICLE, {"@type": "Product", "name": "Boat", "url": "http://site.test/page"}, OTHER], "Boat"),
        ([{"@type": "Organization", "name": "Press", "url": "http://site.test/"}], None),
        (["no item", {"headline": "untyped"}], None),
    ],
)
def test_which_item_is_the_main_one(items: list[object], title: str | None) -> None:
    (found,) = values(declaring(*items), FIELDS[0])
    assert found.get("title") == ((title,) if title else None)


def test_each_kind_of_value_can_be_declared() -> None:
    item = {
        "@type": "Article",
        "articleBody": "One\ntwo",
        "text": "<p>One</p>",
        "image": ["/a.png", {"@type": "ImageObject", "url": "b.png"}],
        "commentCount": "1,204",
        "keywords": ["x", "y", "x"],
        "author": [{"name": "Ada", "url": "/ada"}, "Ines"],
    }
    (found,) = values(
        declaring(item),
        declared("body", "articleBody"),
        declared("html", "text", kind=FieldKind.HTML),
        declared("image", "image", kind=FieldKind.URL, many=True),
        declared("comments", "commentCount", kind=FieldKind.NUMBER),
        declared("tag", "keywords", many=True),
        declared("author", "creator", "author", kind=FieldKind.PERSON, many=True),
        declared("nothing", "about"),
    )
    assert found == {
        "body": ("One\ntwo",),
        "html": ("<p>One</p>",),
        "image": (Reference("http://site.test/a.png"), Reference("http://site.test/b.png")),
        "comments": (1204,),
        "tag": ("x", "y"),
        "author": (Person("Ada", "http://site.test/ada"), Person("Ines")),
    }


def test_a_declared_body_is_content_too() -> None:
    press = application("press", level("page", "main", article(declared("body", "articleBody"), item="main")))
    found = assist(press, declaring({"@type": "Article", "articleBody": "Herons stand."}))
    assert [(part.role, part.text) for part in found.document.parts] == [("content", "Herons stand.")]
    assert not found.failed_actions


def test_of_several_objects_only_the_first_is_what_the_page_is_about() -> None:
    action = comments(FIELDS[1], identity=Identity((css("i", "id"),)))
    board = application("board", level("thread", "main", replace(action, type="post")))
    shown = '<main><div class="comment"><i id="a">1</i></div><div class="comment"><i id="b">2</i></div></main>'
    found = assist(board, declaring(ARTICLE, shown=shown))
    assert [item.first("author") for item in found.objects] == [Person("Ada"), None]


WHEN = Field("date", FieldKind.DATETIME, (css(".d"),), date=DateFormat("dmy", "UTC"))
EXACT = datetime(2001, 3, 20, 14, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "markup",
    [
        "<i class=d title='20 March 2001 14:05'>Mar 20</i>",
        "<i class=d data-timestamp=0985097100>5 days ago</i>",
        "<i class=d data-time=985097100>2 years ago</i>",
        "<i class=d datetime='2001-03-20T14:05:00Z'>14:05</i>",
        "<i class=d><b title='20 March 2001 14:05'>20 March 2001</b></i>",
        "<u title='20 March 2001 14:05'><i class=d>Mar 20</i></u>",
        "<i class=d>Mar 20</i><time datetime='2001-03-20T14:05:00Z'></time>",
        "<i class=d title='Edited 21 March 2001'>20 March 2001, 14:05</i>",
        "<i class=d data-updated='2001-03-22T10:00:00Z'>20 March 2001, 14:05</i>",
        "<i class=d title='21 March 2001, 10:00'>20 March 2001, 14:05</i>",
    ],
)
def test_a_full_date_in_an_attribute_comes_before_a_short_one(markup: str) -> None:
    assert values(f"<main>{markup}</main>", WHEN) == [{"date": (EXACT,)}]


def test_a_year_that_is_filled_in_is_marked() -> None:
    press = application("press", level("page", "main", article(WHEN, item="main")))
    marked = [assist(press, f"<main><i class=d>{text}</i></main>").objects[0] for text in ("20 March", "20 March 2001")]
    assert [each.inferred for each in marked] == [{"date": LACKS_YEAR}, {}]


def test_a_date_beside_another_of_another_day_is_not_its_own() -> None:
    (found,) = values("<main><i class=d>Mar 20</i><time datetime='2001-04-02T14:05:00Z'></time></main>", WHEN)
    assert found["date"] != (datetime(2001, 4, 2, 14, 5, tzinfo=UTC),)


@pytest.mark.parametrize(
    ("language", "written", "day"),
    [
        ("ja", "01/03/20 14:05", "2001-03-20"),
        ("ja", "05/12/10", "2005-12-10"),
        ("zh-CN", "01/03/20", "2001-03-20"),
        ("hu", "01.03.20.", "2001-03-20"),
        ("ja", "20/03/2001", "2001-03-20"),
        ("de", "01.03.20", "2020-03-01"),
    ],
)
def test_a_language_in_which_the_year_is_first_comes_before_the_order_of_a_form(
    language: str, written: str, day: str
) -> None:
    headers = Headers((("Content-Type", "text/html"),))
    body = f"<html lang={language}><p>{written}".encode()
    page = Page("http://site.test/", 200, headers, body, datetime(2026, 11, 28, tzinfo=UTC))
    read = as_date(written, DateFormat("dmy"), page)
    assert read is not None
    assert read.date().isoformat() == day

import json
from datetime import UTC, datetime

import pytest

from aahcrawler.induction.generic_objects import read_objects
from aahcrawler.page import Page, generic
from aahcrawler.page.text import fold
from aahcrawler.webobject import Person, Reference, WebObject
from tests.pace import at_most
from tests.page.building import NOW, PARAGRAPH, page_of

ARTICLE = f"""<!DOCTYPE html><html lang="en"><head><title>The harbour froze - Harbour Post</title>
<meta name="author" content="Ann Boyd"><meta property="og:title" content="The harbour froze">
<meta property="article:published_time" content="2022-01-14T10:00:00+01:00">
<link rel="canonical" href="/news/ice"></head><body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/news">News</a></li>
<li><a href="/contact">Contact</a></li></ul></nav>
<article><h1>The harbour froze</h1><p>{PARAGRAPH * 2}</p><p>{PARAGRAPH * 2} See <a href="/news/snow">the snow</a>.</p>
<p>{PARAGRAPH}</p></article><footer>Imprint <a href="/imprint">here</a></footer></body></html>"""


DATED = '<script type="application/ld+json">{"@type": "Article", "datePublished": "2022-01-13"}</script>'


def page_with(item: object, body: str = f"<p>{PARAGRAPH * 3}</p>", url: str = "http://site.test/news/ice") -> Page:
    script = f'<script type="application/ld+json">{json.dumps(item)}</script>'
    return page_of(f"<html><head><title>Ice</title>{script}</head><body>{body}</body></html>", url=url)


def test_links_are_absolute_and_come_once_in_order() -> None:
    page = page_of(
        '<a href="/b">B</a><a href="http://OTHER.test">O</a><a href="/b#part">again</a><a href="mailto:x@y.test">m</a>'
        '<a name="x">no</a><map><area href="/map" alt="The map"></map><a href="javascript:x()">j</a>'
    )
    found = generic.links(page)
    assert [(link.url, link.anchor) for link in found] == [
        ("http://site.test/b", "B"),
        ("http://other.test/", "O"),
        ("http://site.test/map", "The map"),
    ]


def test_the_anchor_with_text_is_preferred() -> None:
    page = page_of(
        '<a href="/x"><img alt="picture"></a> <p>Read <a href="/x">The <b>whole</b>\n story</a></p><a href="/x">z</a>'
    )
    (link,) = generic.links(page)
    assert (link.anchor, link.context) == ("The whole story", "Read The whole story")
    assert link.element.getparent().tag == "p"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("markup", "anchor"),
    [
        ('<a href=/x><img src=i alt=" An  image "></a>', "An image"),
        ('<a href=/x title="Title"><i class=icon></i></a>', "Title"),
        ('<a href=/x aria-label="Label"></a>', "Label"),
        ("<a href=/x></a>", ""),
    ],
)
def test_links_without_text_are_labelled(markup: str, anchor: str) -> None:
    assert [link.anchor for link in generic.links(page_of(markup))] == [anchor]


def test_context_is_the_block_around_the_link() -> None:
    page = page_of("<div>outside<ul><li>one <a href=/1>first</a> tail</li><li><a href=/2>second</a></li></ul></div>")
    assert [link.context for link in generic.links(page)] == ["one first tail", "second"]


def test_context_in_a_long_block_is_the_neighbourhood() -> None:
    page = page_of(
        f"<div>{PARAGRAPH * 20}<br>right before <a href=/1>the link</a> right behind<br>{PARAGRAPH * 20}</div>"
    )
    (link,) = generic.links(page)
    assert "right before the link right behind" in link.context
    assert len(link.context) <= generic.MAX_CONTEXT


def test_nofollow_holds_if_every_link_says_so() -> None:
    page = page_of("<a href=/1 rel='ugc nofollow'>x</a><a href=/2 rel=nofollow>y</a><a href=/2>z</a><a href=/3>w</a>")
    assert [link.nofollow for link in generic.links(page)] == [True, False, False]


@pytest.mark.slow
@pytest.mark.parametrize(
    "markup",
    [
        "".join(f"<p>text <a href=/{number}>link</a> more</p>" for number in range(30_000)),
        "<p>" + "".join(f"<a href=/{number}>link</a> more " for number in range(30_000)),
        "".join(f"<div><a href=/{number}>x</a>{PARAGRAPH}" for number in range(2_000)),
        "<a href=/x></a>" * 30_000,
    ],
)
def test_many_links_take_linear_time(markup: str) -> None:
    page = page_of(markup)
    with at_most(2.5):
        found = generic.links(page)
    assert len(found) == min(generic.MAX_LINKS, len({link.url for link in found}))


def test_main_content_leaves_boilerplate_out() -> None:
    content = generic.main_content(page_of(ARTICLE))
    assert "The harbour froze in the second week" in content
    assert "Imprint" not in content
    assert "Contact" not in content
    assert all(line.strip() for line in content.split("\n"))


def test_main_content_of_a_page_that_has_none_is_its_text() -> None:
    assert generic.main_content(page_of("<p>Only this.</p>")) == "Only this."
    assert generic.main_content(page_of("")) == ""
    assert generic.main_content(page_of("words", "text/plain")) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "markup",
    ["<div>" * 1900 + "<p>x</p>" * 20_000, "<div>" * 100_000 + "x", "<p>words and words</p>" * 80_000],
)
def test_main_content_of_hostile_pages_takes_seconds_at_most(markup: str) -> None:
    page = page_of(markup)
    assert page.tree.tag == "html"
    with at_most(3):
        content = generic.main_content(page)
    assert len(content) <= generic.MAX_CONTENT


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (PARAGRAPH, "en"),
        ("Der Hafen ist in der zweiten Januarwoche zugefroren, und alle gingen über das Eis.", "de"),
        ("Le port a gelé pendant la deuxième semaine de janvier, et tout le monde marchait.", "fr"),
        ("Το λιμάνι πάγωσε τη δεύτερη εβδομάδα του Ιανουαρίου και όλοι περπατούσαν.", "el"),
        ("港口在一月的第二个星期结冰了，人们第一次从冰上走到灯塔。没有人测量过冰的厚度。", "zh"),
        ("Reply", None),
        ("1234567890 1234567890 1234567890", None),
        ("", None),
    ],
)
def test_language(text: str, code: str | None) -> None:
    assert generic.language(text) == code


_GERMAN = (
    "Gestern haben wir das Boot aus dem Wasser geholt und den Rumpf von Muscheln befreit. Am Abend kam der "
    "Hafenmeister vorbei und erzählte, wie die Flut vor vierzig Jahren bis an die Fenster seines Hauses gestiegen ist."
)
_ENGLISH = (
    "Yesterday we took the boat out of the water and scraped the mussels off the hull. In the evening the harbour "
    "master came by and told us how the flood had risen up to the windows of his house forty years ago."
)


@pytest.mark.parametrize("declared", ["", "de", "en", "no", "xx"])
@pytest.mark.parametrize(
    ("text", "code"),
    [(_GERMAN, "de"), (_ENGLISH, "en"), (f"{_GERMAN} {_GERMAN[:60]} {_ENGLISH[:90]}", "de"), ("Das Boot.", None)],
)
def test_what_a_page_declares_is_believed_where_its_text_agrees(text: str, declared: str, code: str | None) -> None:
    assert generic.language(text, declared) == code


def test_a_declaration_that_the_text_confirms_spares_a_closer_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generic, "identifier", lambda: pytest.fail("looked closely"))
    assert generic.language(_ENGLISH, "en") == "en"
    assert generic.language("boat a harbour the and water " * 9, "en", believed=True) == "en"


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> A \n title </title><h1>H</h1>", "A title"),
        ('<meta property="og:title" content="From OpenGraph"><h1>H</h1>', "From OpenGraph"),
        ("<h1> </h1><h1>The <i>heading</i></h1>", "The heading"),
        ("<p>x", ""),
    ],
)
def test_title(markup: str, title: str) -> None:
    assert generic.title(page_of(markup)) == title


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        (
            '<meta property="article:published_time" content="2022-01-14T10:00:00Z">',
            datetime(2022, 1, 14, 10, tzinfo=UTC),
        ),
        ('<meta name="DC.date" content="2022-01-14">', datetime(2022, 1, 14, tzinfo=UTC)),
        ('<article><time datetime="2022-01-14T10:00">x</time></article>', datetime(2022, 1, 14, 10, tzinfo=UTC)),
        ('<aside><time datetime="2022-01-14">x</time></aside>', None),
        ('<meta name="date" content="2099-01-14">', None),
        ('<meta name="date" content="soon">', None),
        (DATED + '<meta name="date" content="2022-01-14">', datetime(2022, 1, 13, tzinfo=UTC)),
    ],
)
def test_published(markup: str, expected: datetime | None) -> None:
    assert generic.published(page_of(f"<html><body>{markup}"), NOW) == expected


def test_an_article_that_declares_little() -> None:
    page = page_of(ARTICLE, url="http://site.test/news/ice?utm_source=x")
    (found,) = objects(page)
    assert (found.iri, found.type, found.source_url) == ("http://site.test/news/ice", "article", page.url)
    assert found.first("title") == "The harbour froze"
    assert found.first("author") == Person("Ann Boyd")
    assert found.first("date") == datetime(2022, 1, 14, 9, tzinfo=UTC)
    assert found.first("url") == Reference("http://site.test/news/ice")
    assert "walked across it" in str(found.first("body"))


def test_a_canonical_address_on_another_site_is_not_believed() -> None:
    page = page_of(ARTICLE.replace('href="/news/ice"', 'href="http://elsewhere.test/"'))
    assert [found.iri for found in objects(page)] == ["http://site.test/news/ice"]


LISTS = {
    "links": "<ul>"
    + "".join(f"<li><a href=/{number}>Story number {number} of the day</a></li>" for number in range(60))
    + "</ul>",
    "short": "<h1>Hello</h1><p>Nothing to read here.</p>",
    "form": "<form><label>Name <input></label><label>Password <input type=password></label></form>",
    "": "",
}


@pytest.mark.parametrize("name", LISTS)
def test_pages_that_are_no_article_yield_nothing(name: str) -> None:
    assert objects(page_of(f"<title>T</title>{LISTS[name]}")) == ()


def test_a_front_page_is_an_article_only_if_it_has_a_text_of_some_length() -> None:
    silent = ARTICLE.replace('<link rel="canonical" href="/news/ice">', "").replace("article:published_time", "x")
    short = silent.replace(f"<p>{PARAGRAPH * 2}</p>", "<time>13 January 2022</time>").replace(
        f"{PARAGRAPH * 2} See", ""
    )
    assert objects(page_of(silent, url="http://site.test/")) != ()
    assert objects(page_of(short, url="http://site.test/")) == ()
    assert objects(page_of(short, url="http://site.test/ice")) != ()


def test_other_media_yield_nothing() -> None:
    assert objects(page_of(ARTICLE, "text/plain")) == ()


def test_json_ld_article_and_main_content_are_one_object() -> None:
    page = page_with(
        {
            "@context": "https://schema.org",
            "@graph": [
                {"@type": "WebSite", "name": "Harbour Post", "url": "http://site.test/"},
                {
                    "@type": ["NewsArticle", "Thing"],
                    "@id": "http://site.test/news/ice#article",
                    "mainEntityOfPage": {"@type": "WebPage", "@id": "http://site.test/news/ice"},
                    "headline": "Ice &amp; snow",
                    "datePublished": "2022-01-14T13:18:28+01:00",
                    "author": [{"@id": "#ann"}, "Bob"],
                    "image": {"@type": "ImageObject", "url": "/ice.jpg"},
                },
                {"@type": "Person", "@id": "#ann", "name": " Ann  Boyd ", "url": "/ann"},
                {"@type": "ImageObject", "@id": "#logo", "url": "/logo.png"},
            ],
        }
    )
    (found,) = objects(page)
    assert (found.iri, found.type) == ("http://site.test/news/ice", "article")
    assert found.first("title") == "Ice & snow"
    assert found.first("date") == datetime(2022, 1, 14, 12, 18, 28, tzinfo=UTC)
    assert found.properties["author"] == (Person("Ann Boyd", "http://site.test/ann"), Person("Bob"))
    assert "lighthouse" in str(found.first("body"))


def test_a_body_in_the_metadata_is_used() -> None:
    (found,) = objects(page_with({"@type": "BlogPosting", "articleBody": "<p>One</p><p>two &lt;3</p>"}, body=""))
    assert found.first("body") == "One\ntwo <3"


def test_a_discussion_and_its_comments() -> None:
    page = page_with(
        {
            "@type": "DiscussionForumPosting",
            "headline": "Is the ice safe?",
            "text": "I would like to walk to the lighthouse.",
            "author": {"@type": "Person", "name": "Carla", "url": "http://site.test/u/carla"},
            "datePublished": "2022-01-14T08:00:00Z",
            "comment": [
                {
                    "@type": "Comment",
                    "@id": "http://site.test/news/ice#c1",
                    "text": "No.",
                    "author": {"name": "Dan"},
                    "dateCreated": "2022-01-14T09:00:00Z",
                },
                {
                    "@type": "Comment",
                    "text": "Yes.",
                    "author": "Eve",
                    "comment": {"@type": "Comment", "text": "Really?"},
                },
                {"@type": "Comment", "text": ""},
            ],
        },
        body="",
    )
    post, first, second, reply = objects(page)
    assert (post.type, post.first("body")) == ("post", "I would like to walk to the lighthouse.")
    assert (first.type, first.iri, first.part_of) == ("comment", "http://site.test/news/ice#c1", post.iri)
    assert first.properties["author"] == (Person("Dan"),)
    assert first.first("date") == datetime(2022, 1, 14, 9, tzinfo=UTC)
    assert second.part_of == post.iri
    assert reply.part_of == second.iri
    assert len({found.iri for found in (post, first, second, reply)}) == 4


def test_comments_keep_their_identity_when_their_order_changes() -> None:
    comments = [{"@type": "Comment", "text": text} for text in ("a", "b", "c")]
    there = {found.iri: found.first("body") for found in objects(page_with({"@type": "Article", "comment": comments}))}
    back = {
        found.iri: found.first("body") for found in objects(page_with({"@type": "Article", "comment": comments[::-1]}))
    }
    assert there == back


def test_a_list_of_declared_articles_claims_none() -> None:
    items = [{"@type": "NewsArticle", "headline": f"Story {number}", "url": f"/story/{number}"} for number in range(3)]
    assert objects(page_with(items, body="x")) == ()
    assert objects(page_with({"@type": "Blog", "blogPost": items}, body="x")) == ()
    assert objects(page_with({"@type": "NewsArticle", "headline": "x", "url": "/elsewhere"}, body="x")) == ()


def test_videos_and_images() -> None:
    video = {
        "@type": "VideoObject",
        "name": "Ice",
        "contentUrl": "/ice.mp4",
        "uploadDate": "2022-01-14",
        "description": "D",
    }
    (found,) = objects(page_with(video, body="<h1>Ice</h1>"))
    assert (found.type, found.first("title"), found.first("body")) == ("video", "Ice", "D")
    assert found.first("url") == Reference("http://site.test/ice.mp4")
    assert found.first("media") == Reference("http://site.test/ice.mp4")
    sound = {"@type": "AudioObject", "name": "Ice", "contentUrl": "/ice.mp3", "embedUrl": "/player"}
    (found,) = objects(page_with(sound, body="<h1>Ice</h1>"))
    assert (found.type, found.first("media")) == ("audio", Reference("http://site.test/ice.mp3"))
    image = {"@type": "ImageObject", "name": "Floe", "contentUrl": "/floe.jpg", "author": "Ann"}
    (found,) = objects(page_with(image, body="<h1>Floe</h1>"))
    assert (found.type, found.first("author")) == ("image", Person("Ann"))
    assert objects(page_with({"@graph": [image, {"@type": "WebPage"}]}, body="x")) == ()


@pytest.mark.parametrize(
    "script",
    [
        "{",
        "",
        "null",
        "[[[[]]]]",
        '"text"',
        '{"@type": 5}',
        '{"@type": "Article", "author": {"@id": "#a"}, "@id": "#a"}',
        "[" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        '{"@type": "Comment", "text": {"@value": true}}',
        '{"@type": "Article", "headline": [null, {}, []], "datePublished": 5, "author": [[], null, 3]}',
        '{"@type": ["Comment", null], "text": "&#x110000; <b", "url": ["http://[", {}]}',
    ],
)
def test_malformed_metadata_is_tolerated(script: str) -> None:
    page = page_of(
        f'<html><head><script type="application/ld+json">{script}</script></head><body><p>x</p></body></html>'
    )
    assert isinstance(objects(page), tuple)
    assert generic.published(page, NOW) is None


def test_wrapped_and_repeated_metadata() -> None:
    item = '{"@type": "Comment", "text": "said\nonce"}'
    script = f'<script type="application/ld+json">//<![CDATA[\n{item};\n//]]></script>'
    found = objects(page_of(f"<html><head>{script}{script}</head><body>x</body></html>"))
    assert [each.first("body") for each in found] == ["said\nonce"]


def test_metadata_is_bounded() -> None:
    comments = [{"@type": "Comment", "text": f"comment {number}"} for number in range(5_000)]
    with at_most(5):
        assert len(objects(page_with({"@type": "Article", "comment": comments}))) == 1_000


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["<a", "&amp;", "<p>", "<b>", "-->  ", "//  "])
def test_hostile_markup_in_metadata_takes_seconds_at_most(piece: str) -> None:
    flood = "<p " + " ".join(f"a{number}=1" for number in range(50_000)) + ">said</p>"
    with at_most(5):
        objects(page_with({"@type": "Comment", "text": piece * (400_000 // len(piece)) + flood}))


def objects(page: Page) -> tuple[WebObject, ...]:
    return read_objects(page).objects


def test_markup_that_was_escaped_twice_is_markup() -> None:
    text = f"&lt;p&gt;{PARAGRAPH}&lt;/p&gt;&lt;p&gt;Caf&amp;eacute; &amp;lt;b&amp;gt; {PARAGRAPH}&lt;/p&gt;"
    item = {"@type": "NewsArticle", "headline": "Ice", "articleBody": text, "url": "/news/ice"}
    [post] = objects(page_with(item, body="<p>For subscribers.</p>"))
    assert post.first("body") == f"{fold(PARAGRAPH)}\nCaf\u00e9 <b> {fold(PARAGRAPH)}"

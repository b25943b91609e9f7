"""Feeds lead to the pages of their entries and hold no objects themselves."""

import json

import pytest

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.page import Headers, Page, feeds
from tests.helper.saved_pages import FOLDER as PAGES
from tests.helper.saved_pages import NOW, html_page
from tests.pace import at_most
from tests.shipped import shipped

HERE = "http://news.example/all.xml"

RSS = """<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://news.example/</link>
<item><title>The ice &amp;amp; the pier</title><link>/2022/ice</link><description>&lt;p&gt;It &lt;b&gt;froze&lt;/b&gt;.
&lt;/p&gt;</description></item>
<item><title>Snow</title><guid>http://news.example/2022/snow</guid><description>It fell.</description></item>
<item><title>Log in</title><link>http://news.example/login.php</link></item></channel></rss>"""
RDF = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">
<channel rdf:about="/"><title>News</title></channel>
<item><title>The ice &amp;amp; the pier</title><link>http://news.example/2022/ice</link>
<description>It froze.</description></item>
<item><title>Snow</title><link>http://news.example/2022/snow</link><description>It fell.</description></item>
</rdf:RDF>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://news.example/2022/"><title>News</title>
<link href="/"/><entry><title type="html">The ice &amp;amp; the pier</title><link rel="self" href="/x"/>
<link rel="alternate" href="ice"/><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml">It <b>froze</b>.
</div></content></entry><entry><title>Snow</title><link href="snow"/><summary>It fell.</summary></entry></feed>"""
JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "title": "News",
        "items": [
            {"url": "/2022/ice", "title": "The ice & the pier", "content_html": "<p>It <b>froze</b>.</p>"},
            {"url": "/2022/snow", "title": "Snow", "summary": "It fell."},
            {"title": "nowhere"},
            7,
        ],
    }
)


def answer(body: str, media_type: str = "application/xml", url: str = HERE, status: int = 200) -> Page:
    return Page(url, status, Headers((("Content-Type", media_type),)), body.encode(), NOW)


def read(page: Page) -> Assistance:
    return ApplicationAwareHelper(shipped()).assist(page)


@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (RSS, "application/rss+xml"),
        (RSS, "text/xml"),
        (RDF, "application/rdf+xml"),
        (ATOM, "application/atom+xml"),
        (JSON, "application/feed+json"),
        (JSON, "application/json"),
        (RSS, "text/html; charset=utf-8"),
        (RSS, "text/plain"),
        (RDF, "application/octet-stream"),
        (ATOM, "application/json"),
        (JSON, "text/plain"),
        (RSS, ""),
    ],
)
def test_entries_are_links_with_their_titles_and_summaries(body: str, media_type: str) -> None:
    assistance = read(answer(body, media_type))
    document = assistance.document
    assert [(link.url, link.anchor, link.context) for link in document.outlinks] == [
        ("http://news.example/2022/ice", "The ice & the pier", "The ice & the pier It froze."),
        ("http://news.example/2022/snow", "Snow", "Snow It fell."),
    ]
    assert document.title == "News"
    assert [part.role for part in document.parts] == ["navigation"]
    assert assistance.objects == ()


def test_junk_that_a_feed_names_is_refused() -> None:
    assert [(each.url, each.reason.value) for each in read(answer(RSS)).refused] == [
        ("http://news.example/login.php", "login")
    ]


@pytest.mark.parametrize(
    "page",
    [
        answer(RSS, url="http://news.example/comments/feed/"),
        answer(RSS, url="http://news.example/?feed=comments-rss2"),
        answer(ATOM.replace('href="ice"', 'href="ice#comment-1"').replace('href="snow"', 'href="ice#comment-2"')),
        answer(RSS, status=404),
        answer("<sitemap/>"),
        answer("<rss", "application/rss+xml"),
        answer("", "application/rss+xml"),
        answer("[1]", "application/json"),
        answer('{"version": 2}', "application/json"),
        answer(RSS, "image/png"),
        answer(RSS.replace("<rss", "&lt;rss"), "text/plain"),
    ],
)
def test_other_answers_lead_nowhere(page: Page) -> None:
    assert read(page).document.outlinks == ()


def test_a_feed_that_the_application_of_its_site_avoids_leads_nowhere() -> None:
    helper = ApplicationAwareHelper(shipped())
    thread = (PAGES / "phpbb" / "thread-prosilver-3.3.html").read_text(encoding="utf-8")
    helper.assist(html_page("http://news.example/viewtopic.php?t=11", thread))
    assert helper.assist(answer(ATOM)).document.outlinks != ()
    assert helper.assist(answer(ATOM, url="http://news.example/feed.php")).document.outlinks == ()


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))


@pytest.mark.slow
@pytest.mark.parametrize(
    "body",
    [
        f'<!DOCTYPE rss [<!ENTITY e0 "boom">{BOMB}]><rss><item><title>&e8;</title><link>/a</link></item></rss>',
        '<!DOCTYPE rss [<!ENTITY f SYSTEM "file:///etc/passwd">]><rss><item><title>&f;</title><link>/a</link></item></rss>',
        "<rss>" + "<item>" * 50_000,
        "<rss>" + "<item><link>/a</link></item>" * 30_000,
        "<rss><item><link>/a</link><description>" + "<b>x" * 60_000,
    ],
    ids=["entities", "file", "deep", "many", "long"],
)
def test_hostile_feeds_are_read_safely(body: str) -> None:
    with at_most(1):
        feed = feeds.read_feed(answer(body))
    for entry in feed.entries if feed is not None else ():
        assert "root:" not in entry.title + entry.summary
        assert "boom" not in entry.title
        assert len(entry.summary) <= feeds.MAX_SUMMARY


def entries(*inner: str, head: str = "") -> list[str]:
    feed = feeds.read_feed(answer(f"{head}<rss><channel><title>A & B</title>{''.join(inner)}</channel></rss>"))
    assert feed is not None
    assert feed.title == "A & B"
    return [entry.url for entry in feed.entries]


FIRST, LAST = "<item><link>/first</link></item>", "<item><link>/last</link></item>"


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("<item><link>/commit?id=7&h=main</link></item>", "/commit?id=7&h=main"),
        ("<item><title>A & B < C</title><link>/b?x=1&copy=2</link></item>", "/b?x=1&copy=2"),
        ("<item><title>e&nbsp;x</title><link>/caf&eacute;</link></item>", "/caf%C3%A9"),
        ("<item><link><![CDATA[ http://news.example/b?a=1&b=2\n]]></link></item>", "/b?a=1&b=2"),
        ("<item><title>One<link>/b</link></item>", "/b"),
        ("<item><title>One</titel><link>/b</lnk><pubDate>x</pubDate></item>", "/b"),
        ("<item><description>text <b>of<p>ours<link>/x</b></description><link>/b</link></item>", "/b"),
        ("<item rdf:about=/x><a:link rel=alternate href=/b?c=1&d=2/></item>", "/b?c=1&d=2"),
        ("<item><title>c\x0b\x00</title><link>/b</link>", "/b"),
        ("<item><guid isPermaLink=true>http://news.example/b</guid></item>", "/b"),
        ("<item><link>/caf\ufffd</link><guid>http://news.example/b</guid></item>", "/b"),
    ],
)
def test_mistakes_in_an_entry_are_mended(item: str, expected: str) -> None:
    here = "http://news.example"
    assert entries(FIRST, item, LAST) == [f"{here}/first", f"{here}{expected}", f"{here}/last"]


@pytest.mark.parametrize(
    "item",
    [
        "<item><link>/caf\ufffd</link></item>",
        "<item><link>/a\x01b</link></item>",
        "<item><link>see our page</link></item>",
        "<item><link>/b<b>c</b></link></item>",
        "<item><title>an episode without a page</title></item>",
    ],
)
def test_an_entry_that_cannot_be_mended_is_left_out_alone(item: str) -> None:
    assert entries(FIRST, item, LAST) == ["http://news.example/first", "http://news.example/last"]


def test_a_feed_that_is_cut_has_no_half_addresses() -> None:
    feed = feeds.read_feed(answer(f"<rss><channel>{FIRST}<item><title>x</title><link>/2022/i"))
    assert feed is not None
    assert [entry.url for entry in feed.entries] == ["http://news.example/first"]
    assert feed.mistakes.dropped == 1


def test_what_a_document_type_declares_is_in_no_address() -> None:
    subset = "<!DOCTYPE rss [<!ENTITY own 'http://evil.test'><!ENTITY nbsp '&#160;'>]>"
    assert entries("<item><title>&nbsp;</title><link>&own;/x</link></item>", LAST, head=subset) == [
        "http://news.example/last"
    ]
    external = (
        '<?xml version="1.0"?><!DOCTYPE rss PUBLIC "-//Netscape//DTD RSS 0.91//EN" "http://my.netscape.com/x.dtd">'
    )
    assert entries(FIRST, head=external) == ["http://news.example/first"]


def test_a_feed_is_read_in_its_encoding() -> None:
    body = RSS.replace('"1.0"?', '"1.0" encoding="windows-1251"?').replace("Snow", "Снег").encode("windows-1251")
    for field in ("application/rss+xml", "text/html", "text/plain"):
        feed = feeds.read_feed(Page(HERE, 200, Headers((("Content-Type", field),)), body, NOW))
        assert feed is not None
        assert feed.entries[1].title == "Снег"


def test_each_element_has_its_own_base() -> None:
    atom = ATOM.replace('<link href="snow"/>', '<link xml:base="old/" href="snow"/>')
    feed = feeds.read_feed(answer(atom))
    assert feed is not None
    assert [entry.url for entry in feed.entries] == [
        "http://news.example/2022/ice",
        "http://news.example/2022/old/snow",
    ]

"""What the helper promises beyond the templates: memory, canonical forms, failures, bounds."""

from dataclasses import replace
from pathlib import Path

import pytest

from aahcrawler.helper import ApplicationAwareHelper, Failure
from aahcrawler.helper.site_memory import Sites, site_of
from aahcrawler.page import Headers, Page
from knowledge_base.loader import FOLDER, load_files
from knowledge_base.matching import Detector
from online_analysis.document import Document
from tests.helper.saved_pages import FOLDER as PAGES
from tests.helper.saved_pages import NOW, html_page
from tests.pace import at_most
from tests.shipped import shipped

THREAD = "http://board.example/viewtopic.php?t=11"
MARKUP = (PAGES / "phpbb" / "thread-prosilver-3.3.html").read_text(encoding="utf-8")

TWO_OF_A_KIND = """<application name="{name}" kind="web-forum">
<detect><pattern strength="strong" css="#{name}"/></detect>
<level name="any" role="terminal"><when css="body"/>
<extract name="posts" type="post" many="yes"><item xpath="{item}"/><identity><select xpath="@id"/></identity>
<field name="body"><select xpath="."/></field></extract></level></application>"""


@pytest.fixture
def helper() -> ApplicationAwareHelper:
    return ApplicationAwareHelper(shipped())


def test_one_post_under_two_addresses_is_one_object(helper: ApplicationAwareHelper) -> None:
    thread = helper.assist(html_page(THREAD, MARKUP))
    for url in ("?f=2&t=11&sid=00ff", "?p=31", "?t=11&p=31"):
        again = helper.assist(html_page("http://board.example/viewtopic.php" + url, MARKUP))
        assert [item.iri for item in again.objects] == [item.iri for item in thread.objects]


def test_links_to_known_sites_take_their_canonical_form(helper: ApplicationAwareHelper) -> None:
    url = "http://board.example/viewtopic.php?f=2&t=11&start=0&hilit=oar"
    assert helper.canonical(url) == url
    helper.assist(html_page(THREAD, MARKUP))
    assert helper.canonical(url) == THREAD
    elsewhere = f'<p>words</p><a href="{url}">x</a><a href="http://board.example/ucp.php?mode=login">in</a>'
    assistance = helper.assist(html_page("http://other.example/", elsewhere))
    assert [link.url for link in assistance.document.outlinks] == [THREAD]
    assert [refused.reason.value for refused in assistance.refused] == ["login"]


def test_a_known_site_is_verified_not_searched(helper: ApplicationAwareHelper, monkeypatch: pytest.MonkeyPatch) -> None:
    helper.assist(html_page(THREAD, MARKUP))
    monkeypatch.setattr(Detector, "detect", lambda *_: pytest.fail("searched again"))
    match = helper.assist(html_page(THREAD + "&start=10", MARKUP)).match
    assert match is not None
    assert match.application.name == "phpBB"


def test_another_application_on_the_same_host_is_noticed(helper: ApplicationAwareHelper) -> None:
    helper.assist(html_page(THREAD, MARKUP))
    blog = (PAGES / "wordpress" / "article-block.html").read_text(encoding="utf-8")
    match = helper.assist(html_page("http://board.example/blog/", blog)).match
    assert match is not None
    assert match.application.name == "WordPress"
    assert helper.assist(html_page("http://board.example/plain.html", "<p>nothing</p>")).match is None


def test_the_memory_of_sites_is_bounded() -> None:
    sites, application = Sites(most_hosts=3), shipped().applications[0]
    for number in range(5):
        sites.remember(f"http://h{number}.test/", application, ())
        sites.recall("http://h0.test/")
    known = [number for number in range(5) if sites.application(f"http://h{number}.test/")]
    assert known == [0, 3, 4]
    assert site_of("http://www.h.test:81/x") == "h.test:81"


@pytest.mark.parametrize("status", [301, 403, 404, 500])
def test_error_pages_claim_no_level_and_lead_nowhere(helper: ApplicationAwareHelper, status: int) -> None:
    page = html_page(THREAD, MARKUP, status)
    leading = replace(page, headers=Headers((*page.headers.fields, ("Location", "/elsewhere"))))
    assistance = helper.assist(leading)
    assert assistance.match is not None
    assert assistance.match.level is None
    assert assistance.document == Document(THREAD, None, "", (), ())
    assert assistance.objects == ()


def test_a_redirect_that_names_no_place_is_read(helper: ApplicationAwareHelper) -> None:
    named = helper.assist(html_page(THREAD, MARKUP, 200))
    unnamed = helper.assist(html_page(THREAD, MARKUP, 301))
    assert unnamed.objects == named.objects != ()


def test_what_is_no_html_is_left_alone(helper: ApplicationAwareHelper) -> None:
    image = Page("http://a.test/a.png", 200, Headers((("Content-Type", "image/png"),)), b"\x89PNG\r\n\x1a\n\0", NOW)
    assert helper.assist(image).document.outlinks == ()
    css = Page("http://a.test/s/a.css", 200, Headers((("Content-Type", "text/css"),)), b"p{background:url(b.png)}", NOW)
    assert helper.assist(css).requisites == ("http://a.test/s/b.png",)


def test_an_unknown_page_is_read_generically(helper: ApplicationAwareHelper) -> None:
    text = "A walk along the river, with a long look at the herons that stand there in the morning. " * 6
    markup = f"""<html lang="en"><head><title>Herons</title><script type="application/ld+json">
    {{"@type": "Article", "headline": "Herons", "articleBody": "{text}", "author": "Ada",
      "datePublished": "2024-05-01T10:00:00Z"}}</script></head>
    <body><nav><a href="/">Home</a></nav><article><h1>Herons</h1><p>{text}</p>
    <a href="b.html">More</a></article></body>"""
    assistance = helper.assist(html_page("http://birds.example/herons.html", markup))
    assert assistance.match is None
    assert [item.first("title") for item in assistance.objects] == ["Herons"]
    assert {link.url for link in assistance.document.outlinks} == {
        "http://birds.example/",
        "http://birds.example/b.html",
    }
    assert "herons that stand there" in assistance.document.parts[0].text
    assert (assistance.document.language, assistance.document.title) == ("en", "Herons")
    assert assistance.document.published is not None


def test_parts_and_links_of_a_thread_belong_together(helper: ApplicationAwareHelper) -> None:
    document = helper.assist(html_page(THREAD, MARKUP)).document
    assert [part.role for part in document.parts] == ["content", "content"]
    outlink = next(link for link in document.outlinks if link.url == "https://oars.example/list?x=1")
    assert (outlink.part, outlink.anchor, outlink.action) == (0, "this list", None)
    assert outlink.context.startswith("Which oars are lightest?")
    assert document.title == "Which oars?"
    assert document.published is not None


def test_a_changed_template_is_a_failure_with_a_reason(helper: ApplicationAwareHelper) -> None:
    without_posts = helper.assist(html_page(THREAD, MARKUP.replace('id="p3', 'id="entry-3')))
    assert [(f.action, f.failure) for f in without_posts.failed_actions] == [("posts", Failure.NOTHING_FOUND)]
    renamed = MARKUP.replace('class="content"', 'class="message"').replace('id="post_content', 'id="message')
    without_bodies = helper.assist(html_page(THREAD, renamed))
    assert [(f.action, f.failure) for f in without_bodies.failed_actions] == [("posts", Failure.INCOMPLETE)]


def two_applications(tmp_path: Path, item: str) -> ApplicationAwareHelper:
    files = []
    for name in ("aaa", "bbb"):
        files.append(tmp_path / f"{name}.xml")
        files[-1].write_text(TWO_OF_A_KIND.format(name=name, item=item))
    return ApplicationAwareHelper(load_files([FOLDER / "kinds" / "web-forum.xml"], files))


def test_equal_claims_are_reported_and_read_generically(tmp_path: Path) -> None:
    helper = two_applications(tmp_path, "//p")
    assistance = helper.assist(html_page("http://a.test/", '<p id="aaa">one</p><p id="bbb">two</p>'))
    assert assistance.match is None
    assert [f.failure for f in assistance.failed_actions] == [Failure.CONFLICT]


def test_an_expression_that_fails_on_a_page_is_no_crash(tmp_path: Path) -> None:
    helper = two_applications(tmp_path, "//p[count('x')]")
    assistance = helper.assist(html_page("http://a.test/", '<p id="aaa">one</p>'))
    assert assistance.objects == ()
    assert [(f.action, f.failure) for f in assistance.failed_actions] == [("posts", Failure.ERROR)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "".join(f'<a href="/viewtopic.php?t={n}">{n}</a>' for n in range(20_000)),
        "".join(f'<div id="p{n}"><div class="postbody"><div class="content">' for n in range(5_000)),
        "".join(f'<div id="p{n}"><div class="postbody"><div class="content">x</div></div></div>' for n in range(5_000)),
        f'<div id="p1"><div class="postbody"><div class="content">{"word " * 300_000}</div></div></div>',
        '<div id="p1"><div class="postbody"><div class="content">' + '<a href="&#0;http://[">x</a>' * 5_000,
        "<b>" * 50_000,
    ],
    ids=["links", "nested posts", "many posts", "long post", "bad links", "deep"],
)
def test_hostile_pages_stay_bounded(helper: ApplicationAwareHelper, hostile: str) -> None:
    page = html_page(THREAD, f'<html><body id="phpbb" class="section-viewtopic"><div class="postbody"></div>{hostile}')
    assert page.tree is not None
    with at_most(3):
        assistance = helper.assist(page)
    assert len(assistance.objects) <= 2_000
    assert len(assistance.document.outlinks) <= 10_000


def test_incomplete_pages_are_read_as_far_as_they_go(helper: ApplicationAwareHelper) -> None:
    page = replace(html_page(THREAD, MARKUP[: MARKUP.index("<blockquote>")]), complete=False)
    assert [item.first("title") for item in helper.assist(page).objects] == ["Which oars?", "Re: Which oars?"]

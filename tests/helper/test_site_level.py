"""Applications of single sites, and applications that have their hosts for themselves."""

from dataclasses import replace

from aahcrawler.helper import ApplicationAwareHelper
from knowledge_base.url_rules import AvoidRule, AvoidRules, DropRule, DropRules, PathGlob, Reason, UrlRule
from tests.helper.building import application, article, helper_of, host, level, links, sign, text_field
from tests.helper.saved_pages import html_page

SOFTWARE = application(
    "software",
    level("post", "article", article()),
    level("list", "ul", links("posts", "post", "a"), role="intermediate"),
)
SITE = replace(
    application(
        "site",
        level("story", "article.story", article(text_field("body", ".lead")), links("more", "story", "a.more")),
        patterns=(host("news.test"), host("*.news.test")),
    ),
    drops=DropRules([DropRule(UrlRule(), parameter="ref")]),
    avoid=AvoidRules([AvoidRule(UrlRule(PathGlob("login")), Reason.LOGIN)]),
)
STORY = (
    '<i id="software-sign"></i><article class="story"><p class="body">body</p><p class="lead">lead</p></article>'
    '<a class="more" href="/2?ref=top">more</a><a class="more" href="/login">in</a>'
)
PAGE = '<i id="software-sign"></i><article><p class="body">body</p></article>'


def seen(helper: ApplicationAwareHelper, url: str, markup: str, status: int = 200) -> tuple[str, str] | None:
    match = helper.assist(html_page(url, markup, status)).match
    return (match.application.name, match.level.name if match.level else "") if match else None


def test_the_file_of_the_site_comes_first_where_one_of_its_levels_fits() -> None:
    helper = helper_of(SOFTWARE, SITE)
    for url in ("http://news.test/1", "https://www.news.test/1", "http://world.news.test/1"):
        assert seen(helper, url, STORY) == ("site", "story")
        assert seen(helper, url, PAGE) == ("software", "post")
        assert seen(helper, url, STORY) == ("site", "story")
    assert seen(helper, "http://other.test/1", STORY) == ("software", "post")
    assert seen(helper, "http://news.test/1", STORY, status=404) == ("software", "")


def test_links_are_judged_by_the_application_that_read_the_page() -> None:
    helper = helper_of(SOFTWARE, SITE)
    found = helper.assist(html_page("http://news.test/1", STORY))
    assert [link.url for link in found.document.outlinks] == ["http://news.test/2"]
    assert [refused.url for refused in found.refused] == ["http://news.test/login"]
    listed = '<i id="software-sign"></i><ul><a href="/2?ref=top">2</a></ul>'
    found = helper.assist(html_page("http://news.test/", listed))
    assert [link.url for link in found.document.outlinks] == ["http://news.test/2?ref=top"]


def test_addresses_of_a_described_host_are_canonical_before_any_page_was_seen() -> None:
    helper = helper_of(SOFTWARE, SITE)
    assert helper.canonical("http://a.news.test/2?ref=x") == "http://a.news.test/2"
    assert helper.canonical("http://other.test/2?ref=x") == "http://other.test/2?ref=x"


def test_hosts_are_no_evidence_against_what_a_page_shows() -> None:
    rival = application("rival", level("page", "body"), patterns=(sign("#software-sign"),))
    plain = application("plain", level("nothing", ".nothing"), patterns=(host("news.test"),))
    assert seen(helper_of(SOFTWARE, plain), "http://news.test/1", PAGE) == ("software", "post")
    found = helper_of(SOFTWARE, rival, plain).assist(html_page("http://news.test/1", PAGE))
    assert [failure.application for failure in found.failed_actions] == ["rival and software"]


def test_the_nearer_host_comes_first() -> None:
    parent = application("parent", level("any", "body"), patterns=(host("*.test"),))
    assert seen(helper_of(parent, SITE), "http://news.test/1", STORY) == ("site", "story")
    assert seen(helper_of(parent, SITE), "http://news.test/1", PAGE) == ("parent", "any")


def test_pages_without_a_sign_belong_to_the_application_that_has_the_whole_host() -> None:
    whole = replace(SOFTWARE, whole_host=True)
    bare = "<article><p class='body'>body</p></article>"
    helper = helper_of(whole)
    assert seen(helper, "http://a.test/2", bare) is None
    assert seen(helper, "http://a.test/1", PAGE) == ("software", "post")
    assert seen(helper, "http://a.test/2", bare) == ("software", "post")
    assert seen(helper, "http://a.test/3", "<p>about us</p>") is None
    assert seen(helper, "http://b.test/2", bare) is None
    shared = helper_of(SOFTWARE)
    assert seen(shared, "http://a.test/1", PAGE) == ("software", "post")
    assert seen(shared, "http://a.test/2", bare) is None


def test_another_application_on_a_whole_host_is_noticed() -> None:
    other = application("other", level("page", "main"))
    helper = helper_of(replace(SOFTWARE, whole_host=True), other)
    assert seen(helper, "http://a.test/1", PAGE) == ("software", "post")
    assert seen(helper, "http://a.test/shop", '<main id="other-sign">x</main>') == ("other", "page")

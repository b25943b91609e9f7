"""Links at or within ignored elements are never chosen."""

from dataclasses import replace

from knowledge_base.model import Application, LinkSource, Navigate, PageLevel
from knowledge_base.url_rules import PathGlob, UrlRule
from tests.helper.building import application, article, assist, css, level, links, when, xpath

MARKUP = """<article><p class="body">See <a href="/a">a</a>, <a class="new" href="/b">b</a> and
<a class="new" href="http://other.test/c">c</a>.</p></article>
<nav><a href="/d">d</a> <b class="new"><i><a href="/e">e</a></i></b>
<a class="new" href="/f">f</a> <a href="/f">F</a></nav>"""
WIKI = application(
    "wiki",
    PageLevel("page", "terminal", when("article"), actions=(article(), links("pages", "page", "nav a"))),
)
ADDRESSED = replace(WIKI.levels[0], addresses=(UrlRule(PathGlob("*")),), start=True)


def addresses(wiki: Application, markup: str = MARKUP) -> list[str]:
    found = assist(wiki, markup).document.outlinks
    return [link.url.removeprefix("http://site.test/") for link in found]


def test_neither_in_navigation_nor_in_the_content() -> None:
    everything = replace(WIKI, levels=(ADDRESSED,))
    assert addresses(everything) == ["a", "b", "http://other.test/c", "d", "e", "f"]
    assert addresses(replace(everything, ignored=(css(".new"),))) == ["a", "d", "f"]


def test_no_starting_points() -> None:
    ignoring = replace(WIKI, levels=(replace(ADDRESSED, when=when("main")),), ignored=(css("article"), css(".new")))
    assert addresses(ignoring) == ["d", "f"]


def test_addresses_found_in_attributes_have_no_element_of_their_own() -> None:
    by_attribute = Navigate("pages", "page", (LinkSource(xpath("//nav//a/@href")),))
    ignoring = replace(WIKI, levels=(level("page", "article", by_attribute),), ignored=(css(".new"),))
    assert addresses(ignoring) == ["d", "f"]
    data = Navigate("pages", "page", (LinkSource(css("[data-page]", "data-page")),))
    ignoring = replace(WIKI, levels=(level("page", "article", data),), ignored=(css(".new"),))
    assert addresses(
        ignoring, '<article></article><i data-page="/x"></i><b class="new"><i data-page="/y"></i></b>'
    ) == ["x"]


def test_what_cannot_be_evaluated_ignores_nothing() -> None:
    plain = assist(WIKI, MARKUP)
    broken = assist(replace(WIKI, ignored=(xpath("//a[count('x')]"),)), MARKUP)
    assert broken.document.outlinks == plain.document.outlinks
    assert [failure.action for failure in broken.failed_actions] == ["ignore"]

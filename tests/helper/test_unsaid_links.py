"""Links of which a known application says nothing: people gave these pages their addresses."""

from dataclasses import replace

import pytest

from knowledge_base.model import Application, PageLevel
from knowledge_base.url_rules import AvoidRule, AvoidRules, PathGlob, Reason, UrlRule
from tests.helper.building import application, article, assist, links, when

ALIASES = ("/about/history", "/institute", "/reports/2024.pdf")


def journal(*, has_lone_pages: bool = True, addresses: bool = True) -> Application:
    documented = (UrlRule(PathGlob("posts/*")),) if addresses else ()
    tags = (UrlRule(PathGlob("tags/*")),) if addresses else ()
    levels = (
        PageLevel("post", "terminal", when("article"), actions=(article(),), addresses=documented),
        PageLevel("tag", "intermediate", when(".tag"), actions=(links("posts", "post", "h2 a"),), addresses=tags),
    )
    avoid = AvoidRules((AvoidRule(UrlRule(PathGlob("session/*")), Reason.LOGIN),))
    return replace(application("journal", *levels), has_lone_pages=has_lone_pages, avoid=avoid)


def followed(of: Application, *paths: str) -> list[str]:
    anchors = "".join(f'<li><a href="{path}">Where this leads</a></li>' for path in paths)
    page = f'<ul id="menu">{anchors}</ul><article><p class="body">The tide came in.</p></article>'
    found = assist(of, page, "http://site.test/posts/1")
    return [link.url.removeprefix("http://site.test") for link in found.document.outlinks]


def test_aliases_are_followed_from_a_menu_that_no_action_expects() -> None:
    assert followed(journal(), *ALIASES) == list(ALIASES)


@pytest.mark.parametrize("path", ["/tags/sea", "/posts/2", "/session/new", "/photo.jpg", "/search.php", "/x?page=2"])
def test_what_the_application_names_or_makes_is_left_to_its_actions(path: str) -> None:
    assert followed(journal(), path) == []


def test_software_without_pages_of_their_own_or_without_addresses_says_all_or_nothing() -> None:
    assert followed(journal(has_lone_pages=False), *ALIASES) == []
    assert followed(journal(addresses=False), *ALIASES) == []


def test_such_a_link_keeps_the_text_around_it_and_no_action() -> None:
    page = '<article><p class="body">See <a href="/institute">our institute</a> by the sea.</p></article>'
    [link] = assist(journal(), page, "http://site.test/posts/1").document.outlinks
    assert (link.anchor, link.context, link.action) == ("our institute", "See our institute by the sea.", None)


def test_a_post_whose_actions_lead_to_no_list_leads_to_where_the_application_begins() -> None:
    begins = (UrlRule(PathGlob("/")), UrlRule(PathGlob("start")))
    front = PageLevel("front", "intermediate", when(".front"), addresses=begins, start=True)
    whole = journal()
    begun = replace(whole, levels=(*whole.levels, front))
    assert followed(begun, "/", "/start", "/tags/sea") == ["/", "/start"]
    home = links("home", "front", "#home")
    chosen = replace(begun, levels=(replace(whole.levels[0], actions=(article(), home)), *begun.levels[1:]))
    page = '<a id="home" href="/">Home</a><article><p class="body">The tide.</p></article><a href="/start">Top</a>'
    [link] = assist(chosen, page, "http://site.test/posts/1").document.outlinks
    assert (link.url, link.action) == ("http://site.test/", "home")

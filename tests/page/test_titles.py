"""What the one text of a page is called."""

import pytest

from aahcrawler.page.titles import parts, subject_of, title_of, without_number
from tests.page.building import page_of

SITE = '<meta property="og:site_name" content="Harbour News">'


def _page(head: str, body: str) -> str:
    return f"<html><head>{head}</head><body>{body}</body></html>"


@pytest.mark.parametrize(
    ("head", "body", "found", "title"),
    [
        pytest.param(
            "<title>The ice broke early - Harbour News</title>" + SITE,
            "<h1>Winter The ice broke early</h1>",
            "Winter The ice broke early",
            "The ice broke early",
            id="a kicker within the heading is not declared",
        ),
        pytest.param(
            "<title>Ferries: The ice broke early</title>",
            '<h1><span class="article__kicker">Ferries</span>: <span>The ice broke early</span></h1>',
            "Ferries: The ice broke early",
            "The ice broke early",
            id="the markup sets a kicker over the heading",
        ),
        pytest.param(
            "<title>The ice broke early - Harbour News</title>" + SITE,
            "<h1>Ferries stay: The ice broke early</h1>",
            "Ferries stay: The ice broke early",
            "Ferries stay: The ice broke early",
            id="what a colon joins to a title is a part of it",
        ),
        pytest.param(
            "<title>Harbour News | The ice broke early</title>" + SITE,
            "<h2>The ice broke early</h2>",
            "Harbour News | The ice broke early",
            "The ice broke early",
            id="the site stands before the declared title",
        ),
        pytest.param(
            "<title>Why did the ice break? - Harbour News</title>"
            '<meta property="og:title" content="The ice broke early">',
            "<h1>The ice broke early</h1><h2>Why did the ice break?</h2>",
            "Why did the ice break?",
            "The ice broke early",
            id="the page's first heading before others",
        ),
        pytest.param(
            "<title>The ice broke early - Harbour News</title>",
            "<h1>The ice broke early</h1><h2>Who sold the lighthouse?</h2>",
            "Who sold the lighthouse?",
            "The ice broke early",
            id="what was found is the heading of something else",
        ),
        pytest.param(
            "<title>The ice broke early | Harbour Stories</title>",
            "<h1>Harbour Stories</h1><h2>The ice broke early</h2>",
            "The ice broke early",
            "The ice broke early",
            id="a heading that was found and agrees as well as that of the site",
        ),
        pytest.param(
            "<title>The ice broke early | Harbour Stories</title>",
            '<h1><a href="/">Harbour Stories</a></h1><p>Text.</p>',
            "The ice broke early",
            "The ice broke early",
            id="a heading that leads to the front page",
        ),
        pytest.param(
            "<title>The ice broke early — The Eve Frost Review</title>",
            '<a href="/"><img src="logo.png" alt="The Eve Frost Review"></a><p>Text.</p>',
            "The ice broke early — The Eve Frost Review",
            "The ice broke early",
            id="the logo that leads to the front page names the site",
        ),
        pytest.param(
            "<title>The ice broke early » site.test | all the news</title>",
            "<p>Text.</p>",
            "The ice broke early » site.test | all the news",
            "The ice broke early",
            id="what follows the name of the site belongs to that",
        ),
        pytest.param(
            f"<title>site.test</title>{SITE}",
            "<h1>Harbour News</h1><p>Text.</p>",
            "Harbour News",
            "",
            id="the name of the site is no title",
        ),
        pytest.param(
            "<title>the ice broke early » harbour.example | all the news</title>"
            '<meta property="og:title" content="the ice broke early">',
            "<p>Text.</p>",
            "the ice broke early » harbour.example | all the news",
            "the ice broke early",
            id="no heading, but a part of the title is declared",
        ),
        pytest.param(
            "<title>Early ice: what ferries should know about ice in spring</title>",
            "<h1>What ferries know about early ice</h1>",
            "Early ice: what ferries should know about ice in spring",
            "What ferries know about early ice",
            id="the only heading says most of it in other words",
        ),
        pytest.param(
            "<title>Harbour</title>",
            "<h1>Fish</h1><h1>Ropes</h1>",
            "The ice broke early",
            "The ice broke early",
            id="nothing agrees",
        ),
    ],
)
def test_the_title_is_what_the_page_shows_and_declares_alike(head: str, body: str, found: str, title: str) -> None:
    assert title_of(page_of(_page(head, body)), found) == title


def test_what_all_titles_of_a_site_share_is_no_part_of_any() -> None:
    page = page_of(_page("<title>Stories of the sea – The ice broke early</title>", "<h2>Fish</h2>"))
    found = "Stories of the sea – The ice broke early"
    assert title_of(page, found) == found
    assert title_of(page.of_site(None, frozenset(parts("Stories of the sea"))), found) == "The ice broke early"


@pytest.mark.parametrize(
    ("title", "subject"),
    [
        ("The ice broke early - Ports - Boats and ports", "The ice broke early"),
        ("Boats and ports » Ports » The ice broke early", "The ice broke early"),
        ("The ice broke early - Topic - Ports | Boats and ports", "The ice broke early"),
        ("The ice broke early - a tale - Boats and ports", "The ice broke early - a tale"),
        ("Ports - Boats and ports", "Ports"),
        ("The ice broke early", "The ice broke early"),
    ],
)
def test_a_subject_has_no_names_of_the_lists_that_it_lies_in(title: str, subject: str) -> None:
    links = '<a href="/">Boats and ports</a><a href="/f/2">Ports</a><a href="/t/7?page=2">The ice broke early</a>'
    page = page_of(_page(f"<title>{title}</title>", links), url="http://a.test/t/7")
    assert subject_of(page.of_site(None, frozenset(parts("Topic"))), title) == subject


@pytest.mark.parametrize(
    ("url", "title", "told"),
    [
        ("http://site.test/bug/7", "Bug 7: The ice broke early", "The ice broke early"),
        ("http://site.test/issue7", "Issue 7 - The ice broke early", "The ice broke early"),
        ("http://site.test/7-the-ice", "#7: The ice broke early", "The ice broke early"),
        ("http://site.test/2012/part-7-the-ice", "Part 7: The ice broke early", "Part 7: The ice broke early"),
        ("http://site.test/12/chapter_7", "Chapter 7 - The ice broke early", "Chapter 7 - The ice broke early"),
    ],
)
def test_a_number_is_no_title_where_the_page_is_known_by_it_alone(url: str, title: str, told: str) -> None:
    page = page_of(_page(f"<title>{title}</title>", "<p>The ice broke early</p>"), url=url)
    assert without_number(page, title) == told


def test_a_name_like_that_of_the_host_is_no_title_where_no_heading_has_it() -> None:
    head = "<title>Harbour films Ltd</title>"
    url = "http://harbourfilms.test/about"
    assert title_of(page_of(_page(head, "<h2>Live</h2>"), url=url), "Harbour films Ltd") == ""
    assert title_of(page_of(_page(head, "<h1>Harbour films Ltd</h1>"), url=url), "") == "Harbour films Ltd"

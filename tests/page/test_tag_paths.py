"""Where links stand in the markup of their page."""

from aahcrawler.page import Page
from aahcrawler.page.text import MAX_TAG_PATH_LENGTH, TagPaths
from tests.pace import at_most
from tests.page.building import page_of


def places(page: Page) -> list[str]:
    known = TagPaths()
    return [known.of(element) for element in page.tree.iter("a")]


def test_a_place_is_the_path_of_tags_without_numbers() -> None:
    page = page_of(
        '<div class="post post-12 odd" id="x"><p><a href="/1">1</a></p></div>'
        '<div class="post post-13"><p><a href="/2">2</a></p></div><div id="menu3"><a class=" " href="/3">3</a></div>'
    )
    assert places(page) == ["html/body/div.post/p/a", "html/body/div.post/p/a", "html/body/div.menu/a"]


def test_equal_places_are_one_string() -> None:
    first, second = places(page_of('<p><a href="/1">1</a><a href="/2">2</a></p>'))
    assert first is second


def test_long_places_keep_what_is_nearest_to_the_link() -> None:
    deep = "".join(f'<div class="{"long" * 30}"><div class="inner">' for _ in range(50))
    (place,) = places(page_of(f'{deep}<p class="last"><a href="/">x</a>'))
    assert place.endswith("/div.inner/p.last/a")
    assert place.startswith("div.")
    assert MAX_TAG_PATH_LENGTH - 60 < len(place) <= MAX_TAG_PATH_LENGTH
    assert all(len(step) <= 44 for step in place.split("/"))


def test_deep_pages_with_many_links_cost_little() -> None:
    page = page_of("<div>" * 2_000 + '<p class="x"><a href="/">x</a></p>' * 10_000)
    assert page.tree is not None
    with at_most(2):
        assert len(set(places(page))) == 1

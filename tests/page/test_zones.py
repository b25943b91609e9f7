"""Which stretches of a page are sidebars and which are boilerplate."""

import pytest

from aahcrawler.page.zones import Zone, Zones
from tests.pace import at_most
from tests.page.building import page_of


def zone(markup: str, *, lists: bool = False) -> Zone:
    """Return the zone of the one link of a page."""
    tree = page_of(markup).tree
    (link,) = tree.iter("a")
    return Zones(tree, lists=lists).of(link)


LINK = '<a href="/x">x</a>'


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<div><p>{}</p></div>", Zone.OPEN),
        ("<main><p>{}</p></main>", Zone.MAIN),
        ('<div role="main"><ul><li>{}</li></ul></div>', Zone.MAIN),
        ("<aside><ul><li>{}</li></ul></aside>", Zone.SIDE),
        ('<div role="complementary">{}</div>', Zone.SIDE),
        ("<aside><nav><ul><li>{}</li></ul></nav></aside>", Zone.SIDE),
        ("<nav>{}</nav>", Zone.MENU),
        ('<ul role="menubar"><li>{}</li></ul>', Zone.MENU),
        ("<header><div>{}</div></header>", Zone.MENU),
        ("<article><header><h2>{}</h2></header></article>", Zone.OPEN),
        ("<main><article><header><h2>{}</h2></header></article></main>", Zone.MAIN),
        ("<footer>{}</footer>", Zone.DROPPED),
        ('<div role="contentinfo">{}</div>', Zone.DROPPED),
        ("<article><footer>{}</footer></article>", Zone.OPEN),
        ("<aside><footer>{}</footer></aside>", Zone.DROPPED),
        ('<aside><div class="ad-slot">{}</div></aside>', Zone.DROPPED),
        ('<div class="cookie-notice"><aside>{}</aside></div>', Zone.SIDE),
        ('<dialog><div class="widget">{}</div></dialog>', Zone.DROPPED),
    ],
)
def test_tags_and_roles_tell(markup: str, expected: Zone) -> None:
    assert zone(markup.format(LINK)) is expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("sidebar", Zone.SIDE),
        ("left-sidebar col-3", Zone.SIDE),
        ("rightSidebar", Zone.SIDE),
        ("widget widget_recent_entries", Zone.SIDE),
        ("related-posts", Zone.SIDE),
        ("yarpp-related", Zone.SIDE),
        ("tagcloud", Zone.SIDE),
        ("blogroll", Zone.SIDE),
        ("archives", Zone.SIDE),
        ("navbar navbar-dark", Zone.MENU),
        ("breadcrumb", Zone.MENU),
        ("pagination", Zone.MENU),
        ("site-footer", Zone.DROPPED),
        ("footer", Zone.DROPPED),
        ("ad ad-300", Zone.DROPPED),
        ("share-buttons", Zone.DROPPED),
        ("cookie_consent", Zone.DROPPED),
        ("shadow adapted loaded", Zone.OPEN),
        ("elementor-widget", Zone.OPEN),
        ("post category-sidebar tag-footer", Zone.OPEN),
        ("correlation", Zone.OPEN),
        ("shareholder-news", Zone.OPEN),
        ("legal-news", Zone.OPEN),
        ("search-results", Zone.OPEN),
        ("tab-content", Zone.OPEN),
        ("tabs-content", Zone.OPEN),
        ("lang-en language-python", Zone.OPEN),
        ("printableArea", Zone.OPEN),
        ("has-sidebar no-footer", Zone.OPEN),
        ("tabs", Zone.MENU),
        ("language-switcher", Zone.DROPPED),
        ("page-header", Zone.MENU),
    ],
)
@pytest.mark.parametrize("attribute", ["class", "id"])
def test_names_tell(attribute: str, names: str, expected: Zone) -> None:
    assert zone(f'<div {attribute}="{names}"><p>{LINK}</p></div>') is expected


def test_what_holds_the_heading_of_the_page_is_no_sidebar() -> None:
    assert zone(f'<div class="with sidebar"><h1>Frost</h1><p>{LINK}</p></div>') is Zone.OPEN
    assert zone(f'<div class="widget archives"><main><p>{LINK}</p></main></div>') is Zone.MAIN


def test_the_header_of_a_site_may_hold_its_name() -> None:
    assert zone(f'<div id="header"><h1>{LINK}</h1></div>') is Zone.MENU
    assert zone(f'<div id="header"><main><h1>{LINK}</h1></main></div>') is Zone.MAIN
    assert zone(f'<div class="post"><div class="header"><h2>{LINK}</h2></div></div>') is Zone.OPEN


def test_what_holds_content_is_no_boilerplate_whatever_it_is_called() -> None:
    markup = f'<aside class="footer"><div id="post"><p>{LINK}</p></div><p><b><a href="/y">y</a></b></p></aside>'
    tree = page_of(markup).tree
    within, beside = tree.iter("a")
    zones = Zones(tree, tree.xpath("//div[@id='post']"))
    assert (zones.of(within), zones.of(beside)) == (Zone.CONTENT, Zone.OPEN)


def test_entries_of_a_list_may_be_called_archives() -> None:
    listed = f'<main><div class="archives"><p>{LINK}</p></div></main>'
    assert zone(listed) is Zone.SIDE
    assert zone(listed, lists=True) is Zone.MAIN
    assert zone(f'<main><div class="sidebar">{LINK}</div></main>', lists=True) is Zone.SIDE


def test_a_sidebar_is_known_by_its_topmost_element() -> None:
    tree = page_of(f'<div id="page"><aside><div class="widget"><p>{LINK}</p></div></aside></div>').tree
    zones = Zones(tree)
    (link,) = tree.iter("a")
    assert zones.of(link) is Zone.SIDE
    assert zones.sidebar(link).tag == "aside"
    (page,) = tree.xpath("//div[@id='page']")
    assert zones.sidebar(page) is page


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "<div class='widget'>" * 2_000 + LINK * 10_000,
        "<aside><div class='ads'>" * 1_000 + LINK * 10_000,
        f'<div class="{"a-" * 100_000}footer">{LINK}</div>' * 20,
        "".join(f"<div class='c{n}'><p>{LINK}</p></div>" for n in range(30_000)),
        "<h1>" * 30_000 + LINK,
    ],
    ids=["deep", "alternating", "long names", "many names", "headings"],
)
def test_hostile_pages_stay_bounded(hostile: str) -> None:
    tree = page_of(hostile).tree
    with at_most(3):
        zones = Zones(tree)
        assert all(zones.of(link) for link in tree.iter("a"))

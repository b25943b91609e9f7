"""Blocks of links beside the content of a page."""

import pytest

from aahcrawler.page import Page
from aahcrawler.page.zones import MAX_SIDEBAR_LENGTH, MAX_SIDEBARS, Sidebar, Zones, sidebars
from tests.pace import at_most
from tests.page.building import page_of


def found(page: Page, *, signed: bool = False) -> list[tuple[str, list[str]]]:
    """Return the sidebars of a page as texts and addresses."""
    blocks = all_of(page, signed=signed)
    return [(block.text.replace("\n", " "), [link.get("href") or "" for link in block.links]) for block in blocks]


def all_of(page: Page, *, signed: bool = False) -> tuple[Sidebar, ...]:
    return sidebars(page.tree.iter("a"), Zones(page.tree), signed=signed)


def items(*names: str) -> str:
    return "".join(f'<li><a href="/{name}">{name}</a></li>' for name in names)


def test_a_sidebar_is_split_into_its_blocks() -> None:
    page = page_of(
        f"""<aside><section class="widget"><h2>Recent</h2><ul>{items("a", "b")}</ul></section>
        <section class="widget"><h2>Tags</h2><div><a href="/ice">ice</a><a href="/frost">frost</a></div></section>
        <section class="widget"><h2>About</h2><p>Written <a href="/me">by me</a>.</p></section></aside>"""
    )
    assert found(page) == [("Recent a b", ["/a", "/b"]), ("Tags ice frost", ["/ice", "/frost"])]


def test_lists_below_their_headings_are_blocks() -> None:
    page = page_of(
        f'<div id="sidebar"><h3>Archive</h3><ul>{items("2021", "2022")}</ul>'
        f"<h3>Friends</h3><ul>{items('u', 'v')}</ul></div>"
    )
    assert found(page) == [("Archive 2021 2022", ["/2021", "/2022"]), ("Friends u v", ["/u", "/v"])]


def test_entries_of_one_block_are_not_torn_apart() -> None:
    entries = "".join(
        f'<div class="item"><a href="/{n}"><img alt=""></a><h4><a href="/t{n}">Ice {n}</a></h4></div>' for n in "ab"
    )
    page = page_of(f'<div class="related"><h3>Related</h3><div class="row">{entries}</div></div>')
    assert found(page) == [("Related Ice a Ice b", ["/a", "/ta", "/b", "/tb"])]


def test_menus_footers_and_advertising_are_no_sidebars() -> None:
    page = page_of(
        f"<nav><ul>{items('Home', 'Blog', 'Contact')}</ul></nav><footer><ul>{items('Terms', 'Privacy')}</ul></footer>"
        f'<div class="advertisement"><ul>{items("Buy one", "Buy another")}</ul></div>'
        f'<aside><div class="social"><ul>{items("Like", "Share")}</ul></div></aside>'
    )
    assert found(page) == []


def test_a_block_of_running_text_is_no_sidebar() -> None:
    page = page_of(f"<aside><p>{'The ice held for a week. ' * 40}</p><ul>{items('a', 'b')}</ul></aside>")
    assert found(page) == []


def test_what_is_not_seen_is_no_text() -> None:
    page = page_of(f"<aside><script>var x;</script><style>p</style><!-- y --><ul>{items('a', 'b')}</ul></aside>")
    assert found(page) == [("a b", ["/a", "/b"])]


def test_links_as_long_as_titles_are_a_block_without_any_sign() -> None:
    titles = ("How the harbour froze in one night", "Who measured the ice of the harbour", "Skating to the lighthouse")
    page = page_of(f"<table><tr><td><ul>{items(*titles)}</ul></td></tr></table><ul>{items('Up', 'Down', 'Top')}</ul>")
    assert found(page) == [(" ".join(titles), [f"/{title}" for title in titles])]
    assert found(page, signed=True) == []


def test_each_run_of_text_is_a_line() -> None:
    page = page_of('<h2>May</h2><aside><a href="/a">Ice</a><b>12</b> <a href="/b">Cold\nsnow</a></aside>')
    assert [block.text for block in all_of(page)] == ["May\nIce\n12\nCold snow"]


def test_only_the_links_asked_for_make_a_block() -> None:
    page = page_of(f"<aside><ul>{items('a', 'b', 'c')}</ul></aside>")
    first, second, _ = page.tree.iter("a")
    zones = Zones(page.tree)
    assert [block.links for block in sidebars((first, second), zones)] == [(first, second)]
    assert sidebars((first,), zones) == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        f"<aside><ul>{items(*map(str, range(10_000)))}</ul></aside>",
        "".join(f'<div class="widget"><ul>{items("a", "b")}</ul></div>' for _ in range(5_000)),
        "<aside><div class='ads'>" * 900 + f"<ul>{items('a', 'b')}</ul>" + "</div><a href='/n'>n</a></aside>" * 900,
        "<aside>" + "<div>" * 1_900 + "<i>x</i>" * 60_000 + items("a", "b"),
        "<aside>" + f"<div><p>x</p><div><ul>{items('a', 'b')}</ul></div>" * 1_000,
        f"<aside>{'<b>' * 60_000}{items('a', 'b')}</aside>",
        f"<div>{'<i>x</i>' * 60_000}<a href='/a'>a</a><a href='/b'>b</a></div>" * 3,
        f"<aside><ul>{items('a' * 400_000, 'b' * 400_000)}</ul></aside>",
    ],
    ids=["links", "blocks", "alternating", "late links", "nested", "deep", "few links", "long texts"],
)
def test_hostile_pages_stay_bounded(hostile: str) -> None:
    page = page_of(hostile)
    assert page.tree is not None
    with at_most(3):
        blocks = all_of(page)
    assert len(blocks) <= MAX_SIDEBARS
    assert all(len(block.text) <= MAX_SIDEBAR_LENGTH for block in blocks)

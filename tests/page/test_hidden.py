"""What a page hides from its readers by its own markup."""

import pytest

from aahcrawler.page.zones import Hidden
from tests.pace import at_most
from tests.page.building import page_of


def hidden(attributes: str) -> bool:
    tree = page_of(f'<div {attributes}><p><a href="/x">x</a></p></div>').tree
    (link,) = tree.iter("a")
    return Hidden(tree).covers(link)


@pytest.mark.parametrize(
    "attributes",
    [
        "hidden",
        'style="display:none"',
        'style="color: red; DISPLAY : none !important"',
        'style="visibility: hidden;"',
        'style="opacity:0"',
        'style="opacity: .0;"',
        'style="font-size:0px"',
        'style="position:absolute; left:-9999px"',
        'style="text-indent: -999em"',
    ],
)
def test_attributes_and_styles_hide_what_is_within(attributes: str) -> None:
    assert hidden(attributes)


@pytest.mark.parametrize(
    "attributes",
    [
        "",
        'aria-hidden="true" class="hidden"',
        'style="display:block"',
        'style="opacity:0.5"',
        'style="font-size:0.9em"',
        'style="left:-10px"',
        'style="background:url(display:none.png)"',
        'style="padding-left:-9999px"',
    ],
)
def test_others_do_not(attributes: str) -> None:
    assert not hidden(attributes)


def test_only_what_lies_within_is_hidden() -> None:
    tree = page_of('<p style="display:none"><a href="/a">a</a></p><p style="x"><a href="/b">b</a></p>').tree
    known = Hidden(tree)
    assert [known.covers(link) for link in tree.iter("a")] == [True, False]


def test_hostile_pages_stay_bounded() -> None:
    style = "left:" * 100_000
    tree = page_of(f'<i style="{style}">x</i>' * 20 + "<div hidden>" * 2_000 + '<a href="/x">x</a>' * 10_000).tree
    with at_most(2):
        known = Hidden(tree)
        assert all(known.covers(link) for link in tree.iter("a"))

"""The text that a heading or a term announces."""

import pytest

from aahcrawler.page.generic import links
from aahcrawler.page.text import MAX_TEASER_LENGTH, teaser
from tests.pace import at_most
from tests.page.building import page_of


def below(markup: str) -> str:
    """Return the teaser of the block that holds the first link."""
    (link, *_) = page_of(markup).tree.iter("a")
    block = link.getparent()
    assert block is not None
    return teaser(block)


LINK = '<a href="/ice">Ice</a>'


@pytest.mark.parametrize(
    "markup",
    [
        f"<h2>{LINK}</h2><p>The harbour froze.</p>",
        f"<dl><dt>{LINK}</dt><dd>The harbour froze.</dd></dl>",
        f"<article><header><h3>{LINK}</h3></header><div><p>The <b>harbour</b> froze.</p></div></article>",
        f"<div><div><h4>{LINK}</h4></div></div><p>The harbour froze.</p>",
    ],
)
def test_text_follows_a_heading(markup: str) -> None:
    assert below(markup) == "The harbour froze."


@pytest.mark.parametrize(
    "markup",
    [
        f"<p>{LINK}</p><p>The harbour froze.</p>",
        f"<h1>{LINK}</h1><p>The harbour froze.</p>",
        f"<h2>{LINK}</h2><h2>Frost</h2><p>It was cold.</p>",
        f"<div><h2>{LINK}</h2></div><div><h2>Frost</h2><p>It was cold.</p></div>",
        f"<dl><dt>{LINK}</dt><dt>Frost</dt><dd>It was cold.</dd></dl>",
        f"<h2>{LINK}</h2>",
    ],
)
def test_other_text_is_not_its_own(markup: str) -> None:
    assert below(markup) == ""


def test_teasers_are_part_of_what_is_around_a_link() -> None:
    (link,) = links(page_of(f"<h2>{LINK}</h2><p>{'Cold. ' * 1_000}</p>"))
    assert link.anchor == "Ice"
    assert link.context.startswith("Ice Cold. Cold.")
    assert MAX_TEASER_LENGTH - 10 < len(link.context) <= MAX_TEASER_LENGTH + 4


def test_hostile_pages_stay_bounded() -> None:
    page = page_of(f"<h6>{LINK}</h6><div>{'<i>x</i>' * 50}" * 2_000)
    assert page.tree is not None
    with at_most(2):
        assert len([teaser(block) for block in page.tree.iter("h6")]) > 1_000

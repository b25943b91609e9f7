"""What stands around the links that a list is made of."""

from collections.abc import Sequence

import pytest
from lxml.html import HtmlElement, fromstring

from aahcrawler.page.text import MAX_PARAGRAPH_LENGTH, entries, lines_of, paragraphs
from tests.pace import at_most


def found(markup: str, apart: str = "none") -> list[str]:
    tree: HtmlElement = fromstring(f"<body>{markup}</body>")
    links: Sequence[HtmlElement] = tree.findall(".//a")
    each = entries(links, tree, list(tree.iter(apart)))
    return [" ".join(lines_of(entry)) for entry in each.values()]


@pytest.mark.parametrize(
    "markup",
    [
        "<ul><li><a>Ice</a> froze<li><a>Thaw</a> came</ul>",
        "<div><div><h2><a>Ice</a></h2><p>froze</p></div><div><h2><a>Thaw</a></h2><p>came</p></div></div>",
        "<h2><a>Ice</a></h2><p>froze</p><h2><a>Thaw</a></h2><p>came</p>",
        "<dl><dt><a>Ice</a></dt><dd>froze</dd><dt><a>Thaw</a></dt><dd>came</dd></dl>",
        "<table><tr><td><a>Ice</a></td><td>froze</td></tr><tr><td><a>Thaw</a></td><td>came</td></tr></table>",
        "<table><tr><td><a>Ice</a></tr><tr><td>froze</tr><tr><td><a>Thaw</a></tr><tr><td>came</tr></table>",
        "<p><article><a>Ice</a><p>froze</p></article></p><p><article><a>Thaw</a> came</article></p>",
    ],
    ids=["items", "blocks", "headings", "terms", "rows", "pairs of rows", "articles"],
)
def test_each_link_has_its_entry(markup: str) -> None:
    assert found(f"<div>{markup}</div>") == ["Ice froze", "Thaw came"]


def test_behind_the_last_entry_no_more_is_its_own_than_behind_the_others() -> None:
    markup = "<p><a>Ice</a></p><p>froze</p><p><a>Thaw</a></p><p>came</p><p>All rights reserved</p>"
    assert found(markup) == ["Ice froze", "Thaw came"]


def test_a_single_entry_ends_where_something_stands_apart() -> None:
    assert found("<div><h1>Winter</h1><div><div><a>Ice</a></div><p>froze</p></div></div>", "h1") == ["Ice froze"]
    assert found("<h1>Winter</h1><h2><a>Ice</a></h2><p>froze</p><h2>More</h2><p>else</p>", "h1") == ["Ice froze"]


def test_paragraphs_are_bounded_and_lose_nothing() -> None:
    lines = ["ice " * 100, "x" * 2_500, "", "thaw " * 300]
    joined = list(paragraphs(filter(None, map(str.strip, lines))))
    assert max(map(len, joined)) <= MAX_PARAGRAPH_LENGTH
    assert "".join("".join(joined).split()) == "".join("".join(lines).split())


def test_many_links_take_time_in_proportion() -> None:
    with at_most(4):
        assert len(found("<div>" * 50 + "<p><a>Ice</a> froze</p>" * 10_000)) == 10_000

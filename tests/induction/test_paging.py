"""Which pages go on with a thread that began on another."""

import pytest

from aahcrawler.induction.paging import is_continued
from tests.page.building import page_of

PAGER = '<ul class="pagination"><li><a href="/t/7">1</a></li><li class="{}">{}</li></ul>'


@pytest.mark.parametrize(
    ("url", "head", "body", "expected"),
    [
        ("http://a.test/t/7?page=2", "", "", True),
        ("http://a.test/t/7?page=1", "", "", False),
        ("http://a.test/t.php?id=7&start=20", "", "", True),
        ("http://a.test/t.php?id=7&start=0", "", "", False),
        ("http://a.test/t/7/page/3/", "", "", True),
        ("http://a.test/t/7/page-3", "", "", True),
        ("http://a.test/t/7/landing-page-ideas", "", "", False),
        ("http://a.test/?p=7", "", "", False),
        ("http://a.test/t/7/2", '<link rel="prev" href="/t/7/1">', "", True),
        ("http://a.test/i.php?topic=7.15", '<link rel="prev" href="/i.php?topic=7.0">', "", True),
        ("http://a.test/t/7/more", '<link rel="prev" href="/t/7/">', "", True),
        ("http://a.test/t/7", '<link rel="prev" href="/t/6">', "", False),
        ("http://a.test/i.php?topic=7.0", '<link rel="prev" href="/i.php?topic=7.0;prev_next=prev">', "", False),
        ("http://a.test/knots", '<link rel="prev" href="/ropes">', "", False),
        ("http://a.test/x", "", PAGER.format("active", 2), True),
        ("http://a.test/x", "", PAGER.format("active", 1), False),
        ("http://a.test/x", "", PAGER.format("", 2), False),
        ("http://a.test/x", "", '<ul class="rating pages"><li class="current_rating">3</li></ul>', False),
    ],
)
def test_a_later_page_is_told_by_its_address_its_links_or_its_paginator(
    url: str, head: str, body: str, expected: bool
) -> None:
    assert is_continued(page_of(f"<html><head>{head}</head><body>{body}</body></html>", url=url)) is expected

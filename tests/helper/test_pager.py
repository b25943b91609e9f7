"""Pagers of lists that several orders are offered for."""

import pytest

from aahcrawler.helper.links.junk_urls import paged_in_order

OWN = "http://a.test/q/7"


@pytest.mark.parametrize(
    ("own", "urls", "found"),
    [
        (OWN, ["?page=2&sort=old", "?page=3&sort=old", "?sort=new"], ["?page=2&sort=old", "?page=3&sort=old"]),
        (f"{OWN}?page=2&sort=old", ["?page=3&sort=old", "?sort=new"], ["?page=3&sort=old"]),
        (f"{OWN}?sort=new", ["?page=3&sort=old"], []),
        (OWN, ["?page=2&sort=old", "?page=2&sort=new"], []),
        (OWN, ["?page=2", "?page=2&sort=old"], []),
        (OWN, ["?page=1&sort=old", "?page=None&sort=old", "?sort=old"], []),
        (OWN, [], []),
    ],
    ids=["its order", "a further page", "another order", "two orders", "none needed", "no further page", "no links"],
)
def test_pages_of_the_only_order_are_found(own: str, urls: list[str], found: list[str]) -> None:
    assert sorted(paged_in_order(own, [OWN + each for each in urls])) == [OWN + each for each in found]
    assert not paged_in_order(own, [each for url in urls if (each := f"http://a.test/other{url}")])

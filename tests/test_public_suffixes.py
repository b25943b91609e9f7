"""Domains that are registered, by the public suffix list, private suffixes and hosts of sites among them."""

import pytest

from aahcrawler.urls import registered_domain


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("forums.bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("uk", "uk"),
        ("localhost", "localhost"),
        ("a.b.unheard", "b.unheard"),
        ("someone.github.io", "someone.github.io"),
        ("www.someone.wordpress.com", "someone.wordpress.com"),
        ("a.www.ck", "www.ck"),
        ("a.b.c.ck", "b.c.ck"),
        ("a.kobe.jp", "a.kobe.jp"),
        ("x.y.city.kobe.jp", "city.kobe.jp"),
        ("a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"),
    ],
)
def test_the_domain_is_what_was_registered(name: str, domain: str) -> None:
    assert registered_domain(name) == domain

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tldextract import TLDExtract

from aahcrawler.public_suffixes import _HOSTING_SUFFIXES, _suffixes, registered_domain

THEIRS = TLDExtract(
    suffix_list_urls=(), cache_dir=None, include_psl_private_domains=True, extra_suffixes=_HOSTING_SUFFIXES
)
RULES = sorted(_suffixes().rules)


def by_package(name: str) -> str:
    found = THEIRS.extract_str(name)
    return found.top_domain_under_public_suffix or (name if found.suffix else ".".join(name.split(".")[-2:]))


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("forums.bbc.co.uk", "bbc.co.uk"),
        ("co.uk", "co.uk"),
        ("uk", "uk"),
        ("localhost", "localhost"),
        ("a.b.unheard", "b.unheard"),
        ("www.someone.wordpress.com", "someone.wordpress.com"),
        ("a.www.ck", "www.ck"),
        ("a.b.c.ck", "b.c.ck"),
        ("a.kobe.jp", "a.kobe.jp"),
        ("x.y.city.kobe.jp", "city.kobe.jp"),
        ("a.b.xn--55qx5d.cn", "b.xn--55qx5d.cn"),
        ("A.B.CO.UK", "B.CO.UK"),
    ],
)
def test_the_domain_is_what_was_registered(name: str, domain: str) -> None:
    assert registered_domain(name) == domain


@given(st.sampled_from(RULES), st.lists(st.sampled_from(["a", "www", "co", "com", "xn--55qx5d", "1"]), max_size=3))
def test_it_is_that_which_the_package_of_the_list_tells(rule: str, before: list[str]) -> None:
    for name in (".".join([*before, rule.lstrip("!*.")]), ".".join([*before, *rule.lstrip("!*.").split(".")[1:]])):
        if name:
            assert registered_domain(name) == by_package(name)

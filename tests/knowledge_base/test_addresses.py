"""URL rules: globs over segments, parameters, canonical forms, pages of one thing."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_base.addresses import Address, Paging, PathGlob, UrlRule
from knowledge_base.loader import load


def canonical(application: str, url: str) -> str:
    return load().application(application).canonical(Address.parse(url)).url


@pytest.mark.parametrize(
    ("application", "url", "expected"),
    [
        ("phpBB", "http://a.test/f/index.php", "http://a.test/f/"),
        ("phpBB", "http://a.test/index.php?sid=1f", "http://a.test/"),
        ("phpBB", "http://a.test/viewtopic.php?f=2&t=3&start=0&sid=1f", "http://a.test/viewtopic.php?t=3"),
        ("phpBB", "http://a.test/viewtopic.php?t=3&p=9", "http://a.test/viewtopic.php?t=3"),
        ("phpBB", "http://a.test/viewtopic.php?p=9", "http://a.test/viewtopic.php?p=9"),
        ("phpBB", "http://a.test/viewtopic.php?f=1&t=5&view=unread", "http://a.test/viewtopic.php?t=5"),
        ("MyBB", "http://a.test/showthread.php?tid=3&page=1", "http://a.test/showthread.php?tid=3"),
        ("MyBB", "http://a.test/showthread.php?tid=3&pid=8", "http://a.test/showthread.php?tid=3"),
        ("MyBB", "http://a.test/showthread.php?tid=3&action=lastpost", "http://a.test/showthread.php?tid=3"),
        ("MyBB", "http://a.test/showthread.php?mode=threaded&tid=3&pid=8", "http://a.test/showthread.php?tid=3"),
        ("WordPress", "http://a.test/x/?replytocom=5#respond", "http://a.test/x/"),
        ("WordPress", "http://a.test/?utm_source=a&p=3", "http://a.test/?p=3"),
    ],
)
def test_one_address_for_one_page(application: str, url: str, expected: str) -> None:
    assert canonical(application, url) == expected
    assert canonical(application, expected) == expected


@pytest.mark.parametrize(
    ("paging", "url", "first"),
    [
        (Paging(parameter="start"), "http://a.test/v?t=3&start=20", "http://a.test/v?t=3"),
        (Paging(part="/page/#"), "http://a.test/page/2/", "http://a.test/"),
        (Paging(part="/page/#"), "http://a.test/c/page/12", "http://a.test/c"),
        (Paging(part="/page/#"), "http://a.test/page/two/", "http://a.test/page/two/"),
        (Paging(part="-page-#"), "http://a.test/thread-3-page-2.html", "http://a.test/thread-3.html"),
    ],
)
def test_pages_of_one_thing_share_their_first(paging: Paging, url: str, first: str) -> None:
    assert paging.strip(Address.parse(url)).url == first


def by_definition(glob: str, path: str) -> bool:
    """Match the slow way: a regular expression over the segments, each ended by a sign that stands nowhere else."""
    parts = ["(?:[^\0]*\0)*" if part == "**" else part.replace("*", "[^\0]*") + "\0" for part in glob.split("/")]
    return re.fullmatch("".join(parts), "".join(segment + "\0" for segment in path.split("/"))) is not None


@given(
    st.lists(st.sampled_from(["**", "*", "a", "b", "a*", "*b", ""]), min_size=1, max_size=6).map("/".join),
    st.lists(st.sampled_from(["a", "b", "ab", "aab", ""]), min_size=1, max_size=8).map("/".join),
)
def test_globs_do_what_they_say(glob: str, path: str) -> None:
    if not glob.startswith("/"):
        assert PathGlob(glob).matches(Address("http://a.test", "/" + path)) == by_definition(glob, path)


def test_hostile_addresses_cost_little() -> None:
    rule = UrlRule(PathGlob("**/a*a*a*a*b/**/a*a*b/**/c"), (("x", "*a*a*a*b"),))
    start = time.perf_counter()
    assert not rule.matches(Address.parse("http://a.test" + "/" + "a" * 4000 + "/a" * 1500 + "?x=" + "a" * 2000))
    assert not rule.matches(Address.parse("http://a.test/" + "a/" * 1_000_000))
    assert time.perf_counter() - start < 1


@given(st.lists(st.sampled_from(["sid=1", "t=2", "f=3", "p=4", "start=0", "start=10", "view=unread", "x"]), max_size=6))
def test_canonical_forms_are_stable(parameters: list[str]) -> None:
    application = KNOWLEDGE_BASE.application("phpBB")
    once = application.canonical(Address.parse("http://a.test/viewtopic.php?" + "&".join(parameters)))
    assert application.canonical(Address.parse(once.url)) == once


KNOWLEDGE_BASE = load()

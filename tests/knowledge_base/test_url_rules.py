"""URL rules: globs over segments, parameters, canonical forms, pages of one thing."""

import fnmatch
import re
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_base.model import KnowledgeBase
from knowledge_base.url_rules import (
    AvoidRule,
    AvoidRules,
    BadGlobError,
    Paging,
    ParsedUrl,
    PathGlob,
    QueryGlob,
    Reason,
    UrlRule,
    glob_test,
)
from tests.pace import at_most
from tests.shipped import shipped


@cache
def knowledge_base() -> KnowledgeBase:
    return shipped()


def canonical(application: str, url: str) -> str:
    return knowledge_base().application(application).canonical(ParsedUrl.parse(url)).url


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
        (
            Paging(part="/page/#"),
            "http://a.test/i.php?/t/3-x/page/2/&a=/page/2",
            "http://a.test/i.php?/t/3-x/&a=/page/2",
        ),
        (Paging(part="page-#"), "http://a.test/i.php?page-2", "http://a.test/i.php"),
    ],
)
def test_pages_of_one_thing_share_their_first(paging: Paging, url: str, first: str) -> None:
    assert paging.strip(ParsedUrl.parse(url)).url == first


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
        assert PathGlob(glob).matches(ParsedUrl("http://a.test", "/" + path)) == by_definition(glob, path)


def number_by_definition(glob: str) -> re.Pattern[str]:
    """Write a glob of ``*``, ``#`` and plain signs as a regular expression that may try every way to fit."""
    signs = {"*": ".*", "#": "(?<![0-9])[0-9]+(?![0-9])"}
    return re.compile("".join(signs.get(sign, re.escape(sign)) for sign in glob), re.DOTALL)


@given(st.text("*#ab-.", max_size=8), st.text("ab-.017", max_size=12))
def test_a_number_is_a_run_of_digits_as_long_as_it_goes(glob: str, text: str) -> None:
    if "##" in glob:
        with pytest.raises(BadGlobError):
            glob_test(glob)
    else:
        assert bool(glob_test(glob)(text)) == (number_by_definition(glob).fullmatch(text) is not None)


@given(st.text("*?ab12[]!-", max_size=8), st.text("ab-120", max_size=8))
def test_other_globs_are_those_of_the_shell(glob: str, text: str) -> None:
    try:
        expected = re.match(fnmatch.translate(glob), text) is not None
    except re.error:
        return
    try:
        assert bool(glob_test(glob)(text)) == expected
    except BadGlobError:
        assert "[" in glob


@given(st.text("ab-/.", max_size=10), st.integers(0, 10**12))
def test_any_number_fits(around: str, number: int) -> None:
    assert glob_test(f"{around}#-*")(f"{around}{number}-x")
    assert not glob_test(f"{around}#-*")(f"{around}{number}x-x")


@pytest.mark.parametrize("glob", ["1#", "#1", "##", "[z-a]", "[a--z]"])
def test_globs_that_cannot_be_meant_are_refused(glob: str) -> None:
    for make in (glob_test, PathGlob, QueryGlob):
        with pytest.raises(BadGlobError):
            make(glob)


@pytest.mark.parametrize(
    ("glob", "query", "rest"),
    [
        ("topic/*", "topic/12-x/", ()),
        ("topic/*", "topic/12-x/&page=2", ("page=2",)),
        ("topic/#-*", "topic/x-12/", None),
        ("topic/*", "page=2&topic/12-x/", None),
        ("topic/*", "", None),
        ("/topic/*/?do=*", "/topic/12-x/?do=print", ()),
        ("do=*&id=#", "do=a&id=1&x", ("x",)),
        ("do=*&id=#", "do=a", None),
        ("do=*", "do=a%26b", ()),
    ],
)
def test_a_query_is_compared_from_its_start(glob: str, query: str, rest: tuple[str, ...] | None) -> None:
    assert QueryGlob(glob).rest(ParsedUrl.parse(f"http://a.test/index.php?{query}").query) == rest


def test_what_the_query_glob_covers_needs_no_leave() -> None:
    rule = UrlRule(PathGlob("**/index.php"), (("page", "#"),), frozenset({"do"}), frozenset({"x"}), QueryGlob("t/*"))
    fits = ["t/1&page=2", "t/1&x=1&page=2"]
    fits_not = ["t/1", "t/1&page=b", "t/1&page=2&y=1", "t/1&page=2&do=a", "page=2&t/1", "page=2"]
    assert [rule.matches(ParsedUrl.parse(f"http://a.test/index.php?{query}")) for query in fits] == [True] * len(fits)
    assert not any(rule.matches(ParsedUrl.parse(f"http://a.test/index.php?{query}")) for query in fits_not)


def test_a_star_in_the_name_of_a_parameter_stands_for_anything() -> None:
    rule = UrlRule(PathGlob("**"), (("wap*", "*"), ("ids[]", "#")), allowed=frozenset({"x"}))
    fits = {"wap&ids[]=1": True, "wap2=a&ids[]=1&x=1": True, "wap=1&ids[]=a": False, "swap=1&ids[]=1": False}
    fits |= {"wap2&ids[]=1&y=1": False, "ids[]=1": False}
    assert {query: rule.matches(ParsedUrl.parse(f"http://a.test/?{query}")) for query in fits} == fits


def test_rules_are_values() -> None:
    one, same, other = (UrlRule(query=QueryGlob(glob)) for glob in ("a/*", "a/*", "b/*"))
    assert one == same
    assert hash(one) == hash(same)
    assert repr(one) == repr(same) != repr(other)
    assert one != other


RULES = st.builds(
    lambda path, present, query: AvoidRule(
        UrlRule(PathGlob(path) if path else None, present, query=QueryGlob(query) if query else None), Reason.EDIT
    ),
    st.sampled_from(
        ["", "**/a-#.php", "**/a-1.php", "**/a-*.php", "**/#", "**/2", "**/", "**", "**/x/#/", "**/a-?.php"]
    ),
    st.sampled_from([(), (("t", "#"),), (("t", "*"), ("u*", "*")), (("u*", "*"), ("v", "1"))]),
    st.sampled_from(["", "t=*", "x/#"]),
)
SEGMENTS = st.sampled_from(["x", "1", "22", "a-1.php", "a-22.php", "a-b.php", "a-#.php", ""])


@given(
    st.lists(RULES, max_size=7),
    st.lists(SEGMENTS, min_size=1, max_size=3),
    st.lists(st.sampled_from(["t=1", "t=a", "u=1", "u2", "v=1", "x/3"]), max_size=3),
)
def test_the_first_rule_counts_wherever_it_is_kept(
    rules: list[AvoidRule], segments: list[str], query: list[str]
) -> None:
    address = ParsedUrl("http://a.test", "/" + "/".join(segments), tuple(query))
    expected = next((rule for rule in rules if rule.rule.matches(address)), None)
    assert AvoidRules(rules).first(address) is expected


def test_hostile_addresses_cost_little() -> None:
    rule = UrlRule(PathGlob("**/a*a*a*a*b/**/a*a*b/**/c"), (("x", "*a*a*a*b"),))
    numbers = UrlRule(PathGlob("**/*#*#-#*#x"), (("x", "*#*#*#b"),))
    with at_most(1):
        assert not rule.matches(ParsedUrl.parse("http://a.test" + "/" + "a" * 4000 + "/a" * 1500 + "?x=" + "a" * 2000))
        assert not rule.matches(ParsedUrl.parse("http://a.test/" + "a/" * 1_000_000))
        for hostile in ("1" * 8000, "1-" * 4000, "1" * 4000 + "-" + "1" * 4000, "1x" * 4000):
            assert not numbers.matches(ParsedUrl.parse(f"http://a.test/{hostile}-x"))
            assert not glob_test("*#*#*#b")(hostile)


@given(st.lists(st.sampled_from(["sid=1", "t=2", "f=3", "p=4", "start=0", "start=10", "view=unread", "x"]), max_size=6))
def test_canonical_forms_are_stable(parameters: list[str]) -> None:
    application = knowledge_base().application("phpBB")
    once = application.canonical(ParsedUrl.parse("http://a.test/viewtopic.php?" + "&".join(parameters)))
    assert application.canonical(ParsedUrl.parse(once.url)) == once

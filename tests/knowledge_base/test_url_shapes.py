"""Addresses of one shape are judged alike: checked over the rules that ship, and over addresses made of their words."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.helper.site_memory import Verdicts, _verdict
from knowledge_base.file_selection import SHIPPED
from knowledge_base.loader import load
from knowledge_base.matching import Shapes
from knowledge_base.model import Application
from knowledge_base.url_rules import ParsedUrl


@cache
def applications() -> tuple[Application, ...]:
    return load(SHIPPED).applications


NAMES = ("t", "p", "f", "start", "mode", "sid", "view", "action", "topic", "page", "s", "hilit", "do", "q", "id")
VALUES = ("1", "22", "quote", "login", "print", "next", "", "a%20b", "x+y", "unread", "desc")
PATHS = (
    "/",
    "/index.php",
    "/viewtopic.php",
    "/forum/viewforum.php",
    "/memberlist.php",
    "/a/b/",
    "/topic/1",
    "/search/x",
)
ADDRESSES = st.builds(
    lambda path, query: f"http://a.test{path}" + ("?" + "&".join(query) if query else ""),
    st.sampled_from(PATHS),
    st.lists(
        st.builds(
            lambda name, sep, value: name + sep + value,
            st.sampled_from(NAMES),
            st.sampled_from(("=", "=", "")),
            st.sampled_from(VALUES),
        ),
        max_size=4,
    ),
)


@pytest.mark.slow
@given(st.lists(ADDRESSES, min_size=2, max_size=40))
def test_what_is_known_of_a_shape_holds_for_each_of_its_addresses(urls: list[str]) -> None:
    verdicts = Verdicts()
    for application in applications():
        for url in urls:
            assert verdicts.of(application, url) == _verdict(application, ParsedUrl.parse(url))


@pytest.fixture(scope="module")
def board() -> Application:
    return next(each for each in applications() if each.name == "phpBB")


def test_numbers_of_posts_make_no_shapes_and_modes_do(board: Application) -> None:
    shapes = Shapes(board)

    def shape(target: str) -> object:
        return shapes.of(ParsedUrl.parse(f"http://a.test/{target}"))

    assert shape("viewtopic.php?p=1") == shape("viewtopic.php?p=2")
    assert shape("viewtopic.php?p=1") != shape("viewtopic.php?t=1")
    assert shape("memberlist.php?mode=viewprofile") != shape("memberlist.php?mode=group")


def test_addresses_that_rules_leave_alone_for_their_length_have_no_shape(board: Application) -> None:
    assert Shapes(board).of(ParsedUrl.parse("http://a.test/viewtopic.php?t=" + 9000 * "1")) is None

"""URLs of a site that are alike make one group, whose shape fits all of them and none of another group."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aahcrawler.editor.drafting.address_groups import address_groups, group_of
from aahcrawler.editor.drafting.url_generalisation import shape_of
from aahcrawler.urls import canonicalize
from knowledge_base.url_rules import Paging, ParsedUrl

FORUM = (
    *("forum/1-music-2/", "forum/3-the-arts-4/", "forum/2-film/", "topic/5-hello/", "topic/6-why-7-x/"),
    *("user/login/", "user/register/", "user/3/ada/", "user/4/bo-jones/", "comment/history/12/", "comment/publish/12/"),
)


def shapes(*paths: str, paging: tuple[Paging, ...] = ()) -> dict[str, int]:
    groups = address_groups([f"http://a.test/{path}" for path in paths], paging)
    return {" ".join(group.shape.attributes().values()): len(group.urls) for group in groups}


def test_a_forum_with_numbers_and_titles_in_its_urls() -> None:
    assert shapes(*FORUM) == {
        "**/forum/#-*/": 3,
        "**/topic/#-*/": 2,
        "**/user/#/*/": 2,
        "**/comment/history/#/": 1,
        "**/comment/publish/#/": 1,
        "**/user/login/": 1,
        "**/user/register/": 1,
    }


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["boats.html", "wet-ropes.html", "12-knots.html", "about.html"], {"/*.html": 3, "**/about.html": 1}),
        (["topic.php?id=1", "topic.php?id=22", "board.php?id=1"], {"**/topic.php id": 2, "**/board.php id": 1}),
        (["i.php?action=login", "i.php?action=post;t=1", "i.php?t=2"], None),
        (["tag/question/", "tag/users/", "tag/sea/"], {"**/tag/*/": 3}),
        (["2024/05/wet-ropes/", "2023/11/virtualization/", "2023/11/"], {"/#/#/*/": 2, "/#/#/": 1}),
        (["sea/wet-ropes", "sport/long-race", "books/old-book", "films/new-film"], {"/*/*": 4}),
        (["news/wet-ropes", "sport/long-race"], {"**/news/*": 1, "**/sport/*": 1}),
        (["?/topic/1-a-b/", "?/topic/2-c-d/"], {"/ /topic/#-*/": 2}),
    ],
)
def test_what_varies_is_left_open_and_few_words_are_not(paths: list[str], expected: dict[str, int] | None) -> None:
    found = shapes(*paths)
    if expected is None:
        assert len(found) == len(paths)
    else:
        assert found == expected


def test_page_numbers_are_no_part_of_a_shape() -> None:
    found = shapes("topic/1-a-b/", "topic/2-c-d/?page=3", "topic/2-c-d/", paging=(Paging(parameter="page"),))
    assert found == {"**/topic/#-*/": 3}


def test_the_order_of_urls_changes_no_shape() -> None:
    assert shapes(*FORUM) == shapes(*reversed(FORUM))


@given(st.lists(st.lists(st.text(max_size=10), min_size=1, max_size=4), max_size=12))
def test_every_url_fits_the_shape_of_its_group(paths: list[list[str]]) -> None:
    written = ["http://a.test/" + "/".join(quote(part) for part in path) for path in paths]
    urls = [url for each in written if (url := canonicalize(each)) is not None]
    groups = address_groups(urls)
    for url in urls:
        group = group_of(url, groups)
        assert group is not None
        assert group.shape.rule.matches(ParsedUrl.parse(url)), (url, group.shape)


def test_a_list_beside_pages_that_stand_alone_keeps_its_word() -> None:
    beside = [ParsedUrl.parse(f"http://a.test/{name}/") for name in ("about", "contact", "rules", "links")]
    assert shape_of(ParsedUrl.parse("http://a.test/archives/"), beside).path == "/archives/"
    assert shape_of(ParsedUrl.parse("http://a.test/harbours/"), beside).path == "/*/"

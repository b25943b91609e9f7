"""What would take too much work is left out and reported, on any machine; regular documents never trip a limit."""

import re
from copy import deepcopy
from dataclasses import replace
from itertools import chain, count, repeat

import pytest
from lxml.html import document_fromstring, tostring

from aahcrawler.helper import ApplicationAwareHelper, Failure
from aahcrawler.helper.detection import Attempts, Watchdog
from aahcrawler.page.page import PageGivenUpError
from knowledge_base.model import Application, Condition, LinkSource, Navigate, PageLevel, Variant
from tests.helper.building import application, article, helper_of, level, links, text_field, xpath
from tests.helper.saved_pages import html_page, saved_pages
from tests.shipped import shipped

SLOW = xpath("//i[count(//i[count(//i) > 1]) > 1]")
"""Its time grows with the cube of the number of elements."""

MARKUP = (
    '<b id="press-sign"></b><article><p class="body">words</p></article><a href="/2">2</a><p>'
    + "<i></i>" * 1200
    + "</p>"
)
QUICK_ONES = (article(), links("more", "page", "a"))
SLOW_FIELD = replace(text_field("title"), selectors=(SLOW,))


def press(*levels: PageLevel) -> Application:
    return application("press", *levels, level("page", "article", *QUICK_ONES))


SLOW_PARTS = {
    "posts": press(level("page", "article", *QUICK_ONES, replace(article(), name="posts", items=(SLOW,)))),
    "titles": press(level("page", "article", *QUICK_ONES, replace(article(SLOW_FIELD), name="titles"))),
    "next": press(level("page", "article", Navigate("next", "page", (LinkSource(SLOW),)), *QUICK_ONES)),
    "level": press(PageLevel("slow", "terminal", (Condition(xpath(f"{SLOW.source}/nothing")),))),
    "own": press(replace(level("page", "article", *QUICK_ONES), own=(SLOW,))),
    "ignore": replace(press(), ignored=(SLOW,)),
    "variant 4": press(
        level(
            "page",
            "article",
            *QUICK_ONES,
            variants=(Variant("4", (Condition(xpath(f"{SLOW.source}/nothing")),), QUICK_ONES),),
        )
    ),
}


@pytest.mark.parametrize(("name", "slow"), SLOW_PARTS.items(), ids=SLOW_PARTS.keys())
def test_a_costly_part_is_left_out_and_the_others_go_on(name: str, slow: Application) -> None:
    helper = helper_of(slow)
    for host in "ab":
        found = helper.assist(html_page(f"http://{host}.test/1", MARKUP))
        assert [(failure.action, failure.failure) for failure in found.failed_actions] == [(name, Failure.SLOW)]
        assert SLOW.source in found.failed_actions[0].detail
        if name not in ("titles", "posts"):
            assert [item.first("body") for item in found.objects if item.first("body")] == ["words"]
        assert [link.action for link in found.document.outlinks] == ["more"]


def test_a_costly_part_does_its_work_on_smaller_pages() -> None:
    helper = helper_of(SLOW_PARTS["next"])
    helper.assist(html_page("http://a.test/1", MARKUP))
    small = helper.assist(html_page("http://a.test/2", MARKUP.replace("<i></i>" * 1200, "<i></i>" * 2)))
    assert small.failed_actions == ()
    assert small.objects


def test_a_costly_sign_of_scripts_is_left_out_too() -> None:
    empty = replace(application("press", level("page", "article")), needs_browser=(Condition(SLOW),))
    found = helper_of(empty).assist(html_page("http://a.test/", MARKUP)).failed_actions
    assert [failure.failure for failure in found] == [Failure.SLOW]


@pytest.mark.parametrize("seconds", [0.0, 7.0])
def test_what_is_read_does_not_depend_on_the_clock(seconds: float) -> None:
    now, application = count(0.0, seconds), press()
    slow, quick = helper_of(application, watchdog=Watchdog(lambda: next(now))), helper_of(application)
    for number in range(3):
        page = html_page(f"http://a.test/{number}", MARKUP)
        late, early = slow.assist(page), quick.assist(html_page(page.url, MARKUP))
        assert early.objects
        assert replace(late, match=None) == replace(early, match=None)


def test_a_page_that_takes_minutes_is_given_up_and_the_next_one_is_read() -> None:
    ticks = chain((0.0, 0.0, 301.0), repeat(302.0))
    helper = helper_of(press(), watchdog=Watchdog(lambda: next(ticks)))
    given_up, read = (helper.assist(html_page(f"http://a.test/{number}", MARKUP)) for number in (1, 2))
    assert [(failure.action, failure.failure) for failure in given_up.failed_actions] == [("read", Failure.SLOW)]
    assert given_up.objects == ()
    assert [link.url for link in given_up.document.outlinks] == ["http://a.test/2"]
    assert read.failed_actions == ()
    assert read.objects


def test_what_fails_is_reported_and_a_page_given_up_is_not_a_failure_of_a_part() -> None:
    ticks = iter((0.0, 1.0, 400.0))
    attempts = Attempts(html_page("http://a.test/", ""), "press", Watchdog(lambda: next(ticks)))
    assert attempts.attempt(lambda: int("x"), level="page", action="posts") is None
    with pytest.raises(PageGivenUpError, match="300 seconds"):
        attempts.attempt(lambda: 1, action="more")
    assert [failure.failure for failure in attempts.failures] == [Failure.ERROR]


def enlarged(markup: str, item: str, size: int) -> bytes:
    """Return a page on which the last of some elements is repeated, each time under another number, up to a size."""
    tree = document_fromstring(markup)
    last = tree.cssselect(item)[-1]
    place = last.getparent()
    assert place is not None
    for number in range(10_000, 10_000 + size // len(tostring(last))):
        twin = deepcopy(last)
        for element in twin.iter("*"):
            if element.get("id"):
                element.set("id", re.sub(r"\d+", str(number), element.get("id", "")))
        place.append(twin)
    return tostring(tree)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "item"),
    [
        ("phpbb/thread-prosilver-3.3", "div.post"),
        pytest.param("mybb/thread", "#posts > *", marks=pytest.mark.soak),
        pytest.param("wordpress/article-block", "li.comment", marks=pytest.mark.soak),
        ("mediawiki/article-vector", ".mw-parser-output > p"),
    ],
)
@pytest.mark.parametrize("size", [500_000, pytest.param(2_500_000, marks=pytest.mark.soak)])
def test_large_regular_documents_are_quick_enough(name: str, item: str, size: int) -> None:
    (saved,) = (saved for saved in saved_pages() if saved.name == name)
    page = html_page(saved.page.url, enlarged(saved.page.text, item, size))
    found = ApplicationAwareHelper(shipped()).assist(page)
    assert found.objects
    assert {failure.failure for failure in found.failed_actions} <= {Failure.TOO_MUCH}

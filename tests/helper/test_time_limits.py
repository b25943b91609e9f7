"""What takes too long is switched off and reported once; regular documents never trip the limit."""

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace

import pytest
from lxml.html import document_fromstring, tostring

from aahcrawler.helper import ApplicationAwareHelper, Failure
from aahcrawler.helper.detection.time_limits import REGULAR_BYTES, Attempts, Stopwatch
from knowledge_base.model import Application, Condition, LinkSource, Navigate, PageLevel, Variant
from tests.helper.building import application, article, helper_of, level, links, text_field, xpath
from tests.helper.saved_pages import html_page, saved_pages
from tests.shipped import shipped

SLOW = xpath("//i[count(//i[count(//i) > 1]) > 1]")
"""Its time grows with the cube of the number of elements."""

MARKUP = (
    '<b id="press-sign"></b><article><p class="body">words</p></article><a href="/2">2</a><p>'
    + "<i></i>" * 320
    + "</p>"
)
QUICK = 0.05
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
def test_a_slow_part_is_reported_once_and_the_others_go_on(name: str, slow: Application) -> None:
    helper = helper_of(slow, stopwatch=Stopwatch(seconds=QUICK))
    first, second = (helper.assist(html_page(f"http://{host}.test/1", MARKUP)) for host in "ab")
    slow_ones = [failure for failure in first.failed_actions if failure.failure is Failure.SLOW]
    assert [failure.action for failure in slow_ones] == [name]
    assert slow_ones[0].detail.endswith(" seconds")
    assert second.failed_actions == ()
    for found in (first, second):
        assert [item.first("body") for item in found.objects if item.first("body")] == ["words"]
        assert [link.action for link in found.document.outlinks] == ["more"]


def test_a_slow_sign_of_scripts_is_switched_off_too() -> None:
    empty = replace(application("press", level("page", "article")), needs_browser=(Condition(SLOW),))
    helper = helper_of(empty, stopwatch=Stopwatch(seconds=QUICK))
    found = [helper.assist(html_page(f"http://a.test/{page}", MARKUP)).failed_actions for page in (1, 2)]
    assert [[failure.failure for failure in failures] for failures in found] == [
        [Failure.SLOW, Failure.NEEDS_BROWSER],
        [],
    ]


def clock(*steps: float) -> Iterator[float]:
    now = 0.0
    for step in steps:
        yield now
        now += step
        yield now


def test_large_pages_are_given_more_time() -> None:
    page = html_page("http://a.test/", b" " * 3 * REGULAR_BYTES)
    ticks = clock(5.9, 6.1, 0.1)
    attempts = Attempts(page, "press", Stopwatch(lambda: next(ticks)))
    assert attempts.attempt("part", lambda: 1, action="quick enough") == 1
    assert attempts.attempt("part", lambda: 2, action="too slow") == 2
    assert attempts.attempt("part", lambda: 3, action="off") is None
    assert attempts.attempt("other", lambda: 4, action="another") == 4
    assert [(failure.action, failure.detail) for failure in attempts.failures] == [("too slow", "6.1 seconds")]


def test_what_fails_late_is_reported_for_both() -> None:
    ticks = clock(9)
    attempts = Attempts(html_page("http://a.test/", ""), "press", Stopwatch(lambda: next(ticks)))
    assert attempts.attempt("part", lambda: int("x"), level="page", action="posts") is None
    assert [failure.failure for failure in attempts.failures] == [Failure.ERROR, Failure.SLOW]


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
        ("mybb/thread", "#posts > *"),
        ("wordpress/article-block", "li.comment"),
        ("mediawiki/article-vector", ".mw-parser-output > p"),
    ],
)
def test_regular_documents_of_megabytes_are_quick_enough(name: str, item: str) -> None:
    (saved,) = (saved for saved in saved_pages() if saved.name == name)
    page = html_page(saved.page.url, enlarged(saved.page.text, item, 2_500_000))
    found = ApplicationAwareHelper(shipped()).assist(page)
    assert found.objects
    assert {failure.failure for failure in found.failed_actions} <= {Failure.TOO_MUCH}

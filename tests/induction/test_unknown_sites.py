"""Pages of three small sites of differing make, read without knowing anything of their software."""

from collections.abc import Iterator

import pytest

from aahcrawler.induction import generic_objects
from aahcrawler.page import Page
from aahcrawler.page.text import fold
from aahcrawler.webobject import Person, WebObject
from tests.induction.unknown_sites import Said, Shown, blog, news, questions
from tests.page.building import page_of

UNSEEN = "questions 2"
"""A short question that nobody has answered: its site has to be known to tell it from a notice."""

PAGES = tuple(each for site in (blog, news, questions) for each in site() if each.name != UNSEEN)

LINE = "The ferry did not run on Monday, because nobody had cleared the snow from the pier in time."


def read(page: Page) -> list[WebObject]:
    return [each for each in generic_objects.read_objects(page).objects if each.first("body")]


def told(found: WebObject) -> tuple[str, str, str]:
    author, date = found.first("author"), found.first("date")
    return (
        fold(str(found.first("body"))),
        author.name if isinstance(author, Person) else "",
        str(date).replace(" ", "T"),
    )


def wanted(said: Said) -> Iterator[tuple[str, str, str]]:
    for each in said.all():
        yield fold(each.text), each.author, each.day


@pytest.mark.parametrize("shown", PAGES, ids=[each.name for each in PAGES])
def test_what_was_said_is_found_with_its_author_and_day(shown: Shown) -> None:
    expected = sorted(each for said in shown.said for each in wanted(said))
    found = sorted(map(told, read(shown.page)))
    assert [each[:2] for each in found] == [each[:2] for each in expected]
    assert all(one[2].startswith(other[2]) for one, other in zip(found, expected, strict=True))


@pytest.mark.parametrize("shown", [each for each in PAGES if each.said], ids=lambda each: each.name)
def test_the_text_of_a_page_comes_first_under_its_title(shown: Shown) -> None:
    first = read(shown.page)[0]
    assert (first.first("title"), first.first("body")) == (shown.said[0].title, shown.said[0].text)


def test_comments_that_quote_the_text_leave_it_whole() -> None:
    remarks = "".join(
        f"<div class=remark id=r{number}><p class=head><b>{name}</b> remarked on <a href='#r{number}'>{number} May "
        f"2021, 10:00</a></p><div class=said><blockquote><p>{LINE}</p></blockquote><p>{answer}</p></div></div>"
        for number, name, answer in ((1, "Ann Boyd", "So it was."), (2, "mo_fi", "I swam."))
    )
    page = page_of(
        f"<title>Snow</title><h1>Snow</h1><div class=words><p>{LINE}</p></div><div class=talk>"
        f"<h3>2 remarks</h3>{remarks}</div>"
    )
    whole, *others = read(page)
    assert whole.first("body") == LINE
    assert [told(each)[:2] for each in others] == [(f"{LINE} So it was.", "Ann Boyd"), (f"{LINE} I swam.", "mo_fi")]


@pytest.mark.parametrize(("ago", "date"), [("2 years, 3 months ago", None), ("3 days ago", "2022-01-12")])
def test_a_comment_has_no_date_that_its_page_does_not_tell(ago: str, date: str | None) -> None:
    comments = "".join(
        f"<div id=comment-{number} class=comment><h4>{name} <small>{ago}</small></h4><p>{LINE} {number}</p></div>"
        for number, name in ((7, "Ann Boyd"), (8, "Carl Ness"), (9, "mo_fi"))
    )
    page = page_of(
        f"<title>Snow</title><h1>Snow</h1><p>{LINE} {LINE}</p><div id=comments><h3>Comments</h3>{comments}</div>"
    )
    found = [each for each in read(page) if each.type == "comment"]
    assert [told(each)[1] for each in found] == ["Ann Boyd", "Carl Ness", "mo_fi"]
    assert {each.first("date") and str(each.first("date"))[:10] for each in found} == {date}

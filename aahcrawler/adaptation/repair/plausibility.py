"""Tell values that do not behave like what they stand for: a member's date, a site's title, an owner's name.

Dates that go up and down below one another are not those of posts either, which are listed by them.

What a repair finds by likeness alone may be another thing of the same form. It shows on several objects together: when
somebody joined is the same date on all of that member's posts. Values that memory confirms need no such look.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import pairwise

from aahcrawler.page import Page
from aahcrawler.page.text import fold
from aahcrawler.page.titles import head_title
from aahcrawler.webobject import Person, Value

_ANSWER = re.compile(r"^(?:(?:re|aw|sv|vs|ref)(?:\[\d+\])?\s?[:：]\s*)+")
AUTHOR, DATE, TITLE = "author", "date", "title"
FEW_PAGES = 3
"""Pages from which one title on all of them is not theirs; a long thread has the same on two."""
FEW_OBJECTS = 6
"""Objects of several pages from which one author of all of them is not theirs."""
FEW_OF_MEMBERS = 4
"""Objects of authors with several, at least two authors, from which one date for each is the member's."""
FEW_STEPS = 6
"""Pairs of neighbouring posts with different dates from which their order tells anything."""
ASTRAY = 0.25
"""The share of such pairs of a page against the order of the others from which its dates are in none."""
CLOCKS = timedelta(days=1)
"""The most by which a site's clock and zone may be ahead."""

Values = Mapping[str, Value]
"""The values of one object by the names of their fields."""


@dataclass(frozen=True, slots=True)
class PageObjects:
    """The objects that one page tells of, when it was fetched, and the title that it declares.

    ``by_date`` says that pages list such objects by their dates, one below the other: posts, but no answers to vote on.
    """

    objects: Sequence[Values]
    fetched_at: datetime
    title: str = ""
    by_date: bool = False

    @classmethod
    def of(cls, page: Page, objects: Sequence[Values], *, by_date: bool = False) -> "PageObjects":
        """Return what a page tells of objects."""
        return cls(objects, page.fetched_at, head_title(page), by_date)


def misbehaving(pages: Sequence[PageObjects], *, many: bool) -> frozenset[str]:
    """Return the fields of a way of reading pages whose values are not those of the objects.

    ``many`` says that a page may have several such objects, by several people.
    """
    objects = [each for page in pages for each in page.objects]
    checks = {
        DATE: any(map(_is_ahead, pages)) or _is_of_members(objects) or _is_of_months(objects) or _is_astray(pages),
        TITLE: _is_of_site(pages),
        AUTHOR: (many and len(pages) > 1 and _is_of_owner(objects)) or _is_of_threads(pages),
    }
    return frozenset(name for name, found in checks.items() if found)


def _is_ahead(page: PageObjects) -> bool:
    dates = (each[DATE] for each in page.objects if DATE in each)
    return any(isinstance(date, datetime) and date > page.fetched_at + CLOCKS for date in dates)


def _is_of_members(objects: Sequence[Values]) -> bool:
    """Return whether all posts of an author have one date, and authors have several posts."""
    by_author: defaultdict[str, list[Value]] = defaultdict(list)
    for each in objects:
        author = each.get(AUTHOR)
        if isinstance(author, Person) and DATE in each:
            by_author[author.name].append(each[DATE])
    several = [dates for dates in by_author.values() if len(dates) > 1]
    counted = sum(map(len, several)) >= FEW_OF_MEMBERS and len(several) > 1
    return counted and all(len(set(dates)) == 1 for dates in several) and len({dates[0] for dates in several}) > 1


def _is_of_months(objects: Sequence[Values]) -> bool:
    """Return whether all dates are those of months: people join in a month, and write on a day."""
    dates = [date for each in objects if isinstance(date := each.get(DATE), datetime)]
    if len(dates) < FEW_OBJECTS or len(set(dates)) < FEW_PAGES:
        return False
    return all(date.day == 1 and date.time() == time.min for date in dates)


def _is_astray(pages: Sequence[PageObjects]) -> bool:
    """Return whether on most pages the dates of posts are in no order, or in another than on the others."""
    steps = [_steps(page) for page in pages if page.by_date]
    steps = [(rising, falling) for rising, falling in steps if rising + falling > 1]
    if sum(map(sum, steps)) < FEW_STEPS:
        return False
    oldest_first = sum(falling <= ASTRAY * (rising + falling) for rising, falling in steps)
    newest_first = sum(rising <= ASTRAY * (rising + falling) for rising, falling in steps)
    return 2 * max(oldest_first, newest_first) < len(steps)


def _steps(page: PageObjects) -> tuple[int, int]:
    """Return how often a date is later, and how often it is earlier, than that of the post before."""
    dates = [date for each in page.objects if isinstance(date := each.get(DATE), datetime)]
    return sum(a < b for a, b in pairwise(dates)), sum(a > b for a, b in pairwise(dates))


def _is_of_site(pages: Sequence[PageObjects]) -> bool:
    titles = [titled[0] for page in pages if (titled := [str(each[TITLE]) for each in page.objects if TITLE in each])]
    return len(titles) >= FEW_PAGES and len({fold(title).casefold() for title in titles}) == 1


def _is_of_threads(pages: Sequence[PageObjects]) -> bool:
    """Return whether the authors of a page are all one, and called like the page: they are the subjects of answers.

    A page with one author alone says nothing: people name their sites after themselves.
    """
    named = [(page, names) for page in pages if (names := _names(page))]
    alike = all(len(set(names)) == 1 and names[0] in fold(page.title).casefold() for page, names in named)
    return alike and any(len(names) > 1 for _, names in named)


def _names(page: PageObjects) -> list[str]:
    """Return the names of a page's authors without the mark of an answer."""
    authors = (author.name for each in page.objects if isinstance(author := each.get(AUTHOR), Person))
    return [_ANSWER.sub("", fold(name).casefold()) for name in authors]


def _is_of_owner(objects: Sequence[Values]) -> bool:
    names = [author.name for each in objects if isinstance(author := each.get(AUTHOR), Person)]
    return len(names) >= FEW_OBJECTS and len(set(names)) == 1

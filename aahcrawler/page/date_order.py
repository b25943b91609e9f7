"""Which of two small numbers of a date is the day: what a page shows of it, for all pages of its site."""

import re

from aahcrawler.page import Page, dates
from aahcrawler.page.dates import Order

MOST = 300
"""Dates of one page that are looked at."""

_SHOWN = re.compile(rb">([^<>]{0,40}?(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\3(?:\d{4}|\d{2})(?![\d/-])[^<>]{0,40})<")


def shown_order(page: Page) -> Order | None:
    """Return the order of the numeric dates that a page shows, None where nothing tells or two things contradict.

    A number over 12 tells, and so does a weekday that only one order agrees with.
    """
    found: set[Order] = set()
    for match, _ in zip(_SHOWN.finditer(page.body), range(MOST), strict=False):
        first, second = int(match[2]), int(match[4])
        if first > 12 >= second:
            found.add("dmy")
        elif second > 12 >= first:
            found.add("mdy")
        elif first != second and min(first, second) >= 1 and max(first, second) <= 12:
            found |= _by_weekday(match[1].decode(page.encoding, "replace"), page)
    return next(iter(found)) if len(found) == 1 else None


def ambiguous_days(page: Page) -> frozenset[frozenset[int]]:
    """Return the pairs of numbers of the dates that a page shows whose day and month could be exchanged."""
    shown = ((int(match[2]), int(match[4])) for match, _ in zip(_SHOWN.finditer(page.body), range(MOST), strict=False))
    return frozenset(frozenset(pair) for pair in shown if pair[0] != pair[1] and max(pair) <= 12)


def _by_weekday(text: str, page: Page) -> set[Order]:
    orders: tuple[Order, ...] = ("dmy", "mdy")
    read = {dates.parse(text, order=order, now=page.fetched_at, language=page.language) for order in orders}
    if len(read) != 1 or None in read:
        return set()
    day = next(iter(read))
    numbers = re.findall(r"\d{1,2}", text)
    return {"dmy"} if day is not None and int(numbers[0]) == day.day else {"mdy"}

"""Find out from the dates on a page whether day or month comes first, for all pages of its site."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from aahcrawler.page import Page, dates
from aahcrawler.page.dates import Order
from aahcrawler.page.datewords import order_of
from aahcrawler.page.text import excerpt

MOST = 300
"""The most dates of one page that are examined."""

MIN_IN_A_ROW = 5
"""Different days that follow one another in one order of day and month alone; fewer do so by chance."""

_HINTS = (re.compile(rb"/\d{1,2}/\d\d"), re.compile(rb"-(?<!\d\d\d-)\d{1,2}-\d\d"))
"""What a page with numeric dates has; dates that begin with the year do not count. To look for it costs little."""
_SHOWN = re.compile(rb">([^<>]{0,40}?(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\3(\d{4}|\d{2})(?![\d/-])[^<>]{0,40})<")
_IN_TEXT = re.compile(r"(?<![\d./-])(\d{1,2})([/-])(\d{1,2})\2(?:\d{4}|\d{2})(?![\d/-])")
_MACHINE = re.compile(r"\s*\d{4}-(\d{2})-(\d{2})")


class NumericDates:
    """The dates of a page whose day and month could be exchanged, and what they tell of the order of both."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._is_there = any(hint.search(page.body) for hint in _HINTS)
        self._shown = list(islice(_SHOWN.finditer(page.body), MOST)) if self._is_there else []

    def shown_order(self) -> Order | None:
        """Return the order of the dates that the page shows, None if nothing decides it or two dates contradict.

        A number over 12 decides, and so does a weekday that agrees with one order only.
        """
        found: set[Order] = set()
        for match in self._shown:
            first, second = int(match[2]), int(match[4])
            if len(match[5]) == 2 and (first > 31 or self._begins_with_year(match[3].decode())):
                found |= {"ymd"} if first > 31 else set()
            elif first > 12 >= second:
                found.add("dmy")
            elif second > 12 >= first:
                found.add("mdy")
            elif first != second and min(first, second) >= 1 and max(first, second) <= 12:
                found |= _by_weekday(match[1].decode(self._page.encoding, "replace"), self._page)
        return next(iter(found)) if len(found) == 1 else None

    def _begins_with_year(self, separator: str) -> bool:
        """Return whether three numbers of two digits begin with the year in the language of the page."""
        order = order_of(self._page.language)
        return order is not None and order.fields == "ymd" and separator in order.separators

    def _open(self) -> Iterator[re.Match[bytes]]:
        """Yield the dates that begin with the day or the month."""
        for match in self._shown:
            if len(match[5]) == 4 or not self._begins_with_year(match[3].decode()):
                yield match

    def implied_order(self) -> Order | None:
        """Return the likely order where nothing is certain, None if nothing suggests one.

        The first clue is a series of dates down the page that is ascending or descending in one order alone, the second
        ``time`` elements that give the same day in machine-readable form.
        """
        return self._by_sequence() or (_by_time_elements(self._page) if self._is_there else None)

    def ambiguous_days(self) -> frozenset[frozenset[int]]:
        """Return the pairs of numbers whose day and month could be exchanged."""
        shown = ((int(match[2]), int(match[4])) for match in self._open())
        return frozenset(frozenset(pair) for pair in shown if pair[0] != pair[1] and max(pair) <= 12)

    def _by_sequence(self) -> Order | None:
        found = [(int(match[5]), int(match[2]), int(match[4])) for match in self._open()]
        if len(set(found)) < MIN_IN_A_ROW or any(max(pair[1:]) > 12 for pair in found):
            return None
        day_first, month_first = [(year, two, one) for year, one, two in found], found
        in_order = {"dmy": _is_monotone(day_first), "mdy": _is_monotone(month_first)}
        if in_order["dmy"] == in_order["mdy"]:
            return None
        return "dmy" if in_order["dmy"] else "mdy"


def _is_monotone(days: Sequence[tuple[int, int, int]]) -> bool:
    steps = list(pairwise(days))
    return all(one <= other for one, other in steps) or all(one >= other for one, other in steps)


def _by_time_elements(page: Page) -> Order | None:
    found: set[Order] = set()
    for element in islice(page.tree.iter("time"), MOST):
        machine = _MACHINE.match(element.get("datetime") or "")
        match = _IN_TEXT.search(excerpt(element, 80)) if machine is not None else None
        if machine is None or match is None:
            continue
        month, day, first, second = int(machine[1]), int(machine[2]), int(match[1]), int(match[3])
        if (first, second) == (day, month) != (month, day):
            found.add("dmy")
        elif (first, second) == (month, day) != (day, month):
            found.add("mdy")
    return next(iter(found)) if len(found) == 1 else None


def _by_weekday(text: str, page: Page) -> set[Order]:
    orders: tuple[Order, ...] = ("dmy", "mdy")
    read = {dates.parse(text, order=each, now=page.fetched_at, language=page.language, ahead=True) for each in orders}
    if len(read) != 1 or None in read:
        return set()
    day = next(iter(read))
    numbers = re.findall(r"\d{1,2}", text)
    return {"dmy"} if day is not None and int(numbers[0]) == day.day else {"mdy"}

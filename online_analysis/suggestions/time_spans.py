"""The span of time that a text is about, where most of its dates lie close together."""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import timedelta
from itertools import islice
from typing import Final

from online_analysis.analysers.date_hints import Span, date_in_anchor
from online_analysis.suggestions.evidence import SuggestedSpan, around

_FEWEST: Final = 4
"""Dates that a span is suggested for at least."""
_SHARE: Final = 0.75
"""The share of all dates that have to lie in it."""
_LONGEST: Final = timedelta(days=2 * 366)
_MOST_DATES: Final = 5000
_MOST_YEARS: Final = 20_000
_YEAR = re.compile(r"(?<!\d)(?:19[89]|20\d)\d(?!\d)")
_BEFORE, _AFTER = 24, 6
"""Characters beside a year in which the month and the day stand."""
_SHORT = timedelta(days=45)
"""A date that tells the year alone says too little."""


def dominant_span(text: str) -> SuggestedSpan | None:
    """Return the shortest span that holds three quarters of a text's dates; None where no span of two years does.

    Only dates with a month count, from 1980 on.
    """
    dates = sorted(_dates(text), key=lambda found: (found[0].first, found[0].last, found[1]))
    needed = max(_FEWEST, math.ceil(len(dates) * _SHARE))
    if len(dates) < needed:
        return None
    windows = ((dates[n : n + needed], n) for n in range(len(dates) - needed + 1))
    spans = [(max(span.last for span, _, _ in window) - window[0][0].first, n) for window, n in windows]
    length, begin = min(spans)
    if length > _LONGEST:
        return None
    start = dates[begin][0].first
    end = max(span.last for span, _, _ in dates[begin : begin + needed])
    inside = [found for found in dates if start <= found[0].first and found[0].last <= end]
    _, at, to = min(inside, key=lambda found: found[1])
    return SuggestedSpan(start.date(), end.date(), len(inside), len(dates), around(text, at, to))


def _dates(text: str) -> Iterator[tuple[Span, int, int]]:
    """Yield the dates of a text with their places."""
    number = 0
    for start, clause in _clauses(text):
        span = date_in_anchor(clause)
        if span is not None and span.last - span.first < _SHORT:
            yield span, start, start + len(clause)
            number += 1
            if number >= _MOST_DATES:
                return


def _clauses(text: str) -> Iterable[tuple[int, str]]:
    """Yield stretches of text around each year, none of them long, each with its place."""
    for found in islice(_YEAR.finditer(text), _MOST_YEARS):
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _BEFORE)
        end = found.end() + _AFTER
        line_end = text.find("\n", found.end(), end)
        yield start, text[start : end if line_end < 0 else line_end]

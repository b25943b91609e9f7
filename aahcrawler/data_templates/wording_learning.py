"""Learn how a text that differs from page to page is made of the values of their data."""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Final
from urllib.parse import quote

from aahcrawler.data_templates.page_data import Scope, ValuePath, shown
from aahcrawler.data_templates.template_nodes import Wording
from aahcrawler.page import dates

_NOWS: Final = (datetime(2030, 1, 1, tzinfo=UTC), datetime(2041, 6, 20, tzinfo=UTC))
"""Two moments at which no relative date, and none without a year, names the same day."""
_BLANKS: Final = re.compile(r"\s+")
_MOST_VALUES: Final = 6
"""No text is made of more."""
_MOST_TRIED: Final = 40
_LONGEST: Final = 2_000
"""Longer texts are looked up as a whole, and not for values within."""


def learned_wording(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool = False) -> Wording | None:
    """Return what makes each text of the data beside it, None where nothing does.

    A text that is the same everywhere is itself. One that is a date may be made of a value that names the same day.
    """
    folded = [_BLANKS.sub(" ", text) for text in texts]
    if len(folded) == 1:
        return _alone(folded[0], scopes[0], in_url=in_url)
    found = _split(folded, scopes, in_url=in_url, left=_MOST_VALUES)
    return found if found is not None or in_url else _dated(folded, scopes)


def _alone(text: str, scope: Scope, *, in_url: bool) -> Wording:
    """Return the wording of a text that stands on one page alone: a value where it is one, else the text."""
    wanted = text.strip()
    path = next((path for path, value in scope.leaves.items() if value == wanted), None) if len(wanted) > 1 else None
    if path is None:
        return Wording((text,))
    before, _, after = text.partition(wanted)
    return Wording((before, after), (path,), in_url)


def _split(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool, left: int) -> Wording | None:
    if len(set(texts)) == 1:
        return Wording((texts[0],), (), in_url)
    if not left:
        return None
    for path in _within(texts, scopes, in_url=in_url):
        values = [_as_in(scope, path, in_url=in_url) for scope in scopes]
        cut = [text.partition(value) for text, value in zip(texts, values, strict=True)]
        before = _split([each[0] for each in cut], scopes, in_url=in_url, left=left - 1)
        if before is None:
            continue
        after = _split([each[2] for each in cut], scopes, in_url=in_url, left=left - 1 - len(before.values))
        if after is not None:
            return Wording((*before.pieces, *after.pieces), (*before.values, path, *after.values), in_url)
    return None


def _within(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool) -> Iterator[ValuePath]:
    """Yield the paths whose values stand in all texts, those of the longest first."""
    first, scope = texts[0], scopes[0]
    if len(first) > _LONGEST:
        possible = [path for path, value in scope.leaves.items() if shown(value) == first.strip()]
    else:
        possible = [path for path in scope.leaves if _as_in(scope, path, in_url=in_url) in first]
    possible.sort(key=lambda path: -len(scope.leaves[path]))
    for path in possible[:_MOST_TRIED]:
        values = [_as_in(each, path, in_url=in_url) for each in scopes]
        if all(value and value in text for value, text in zip(values, texts, strict=True)):
            yield path


def _as_in(scope: Scope, path: ValuePath, *, in_url: bool) -> str:
    text = scope.leaves.get(path, "")
    return quote(text, safe="") if in_url else shown(text)


def _dated(texts: Sequence[str], scopes: Sequence[Scope]) -> Wording | None:
    """Return the value that names the days which texts name, None where they name none, or nothing else does."""
    days = [_day(text) for text in texts]
    if None in days:
        return None
    for path in scopes[0].leaves:
        if all(_day(scope.leaves.get(path, "")) == day for scope, day in zip(scopes, days, strict=True)):
            return Wording(("", ""), (path,))
    return None


def _day(text: str) -> date | None:
    """Return the day that a text names in full, whenever it is read."""
    if not any(map(str.isdigit, text)) or len(text) > dates.MAX_LENGTH:
        return None
    named = {found.date() if (found := dates.parse(text, now=now)) else None for now in _NOWS}
    return named.pop() if len(named) == 1 else None

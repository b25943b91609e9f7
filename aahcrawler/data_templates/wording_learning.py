"""Learn how a text that differs from page to page is made of the values of their data."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final
from urllib.parse import quote

from aahcrawler.data_templates.data_scopes import Scope, ValuePath, shown
from aahcrawler.data_templates.template_nodes import Moment, Wording, moment_of

_BLANKS: Final = re.compile(r"\s+")
_MOST_VALUES: Final = 6
"""No text is made of more."""
_MOST_TRIED: Final = 40
_LONGEST: Final = 2_000
"""Longer texts are looked up as a whole, and not for values within."""


def learned_wording(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool = False) -> Wording | None:
    """Return what makes each text of the data beside it, None where nothing does.

    A text that is the same everywhere is itself.
    """
    folded = [_BLANKS.sub(" ", text) for text in texts]
    if len(folded) == 1:
        return _alone(folded[0], scopes[0], in_url=in_url)
    return _split(folded, scopes, in_url=in_url, left=_MOST_VALUES)


def _alone(text: str, scope: Scope, *, in_url: bool) -> Wording | None:
    """Return the wording of a text that stands on one page alone: a value where it is one.

    Any other might be of that page alone, unless it says nothing.
    """
    wanted = text.strip()
    path = next((path for path, value in scope.leaves.items() if value == wanted), None) if len(wanted) > 1 else None
    if path is None:
        return None if any(map(str.isalnum, text)) else Wording((text,))
    before, _, after = text.partition(wanted)
    return Wording((before, after), (path,), in_url)


def _split(texts: Sequence[str], scopes: Sequence[Scope], *, in_url: bool, left: int) -> Wording | None:
    if len(set(texts)) == 1:
        return _same(texts[0], scopes, in_url=in_url)
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


def _same(text: str, scopes: Sequence[Scope], *, in_url: bool) -> Wording:
    """Return the wording of a text that all pages show: a value that they have in common by chance, else the text."""
    wanted = text.strip()
    for path, value in scopes[0].leaves.items() if len(wanted) > 1 else ():
        if value == wanted and all(scope.leaves.get(path) == wanted for scope in scopes):
            before, _, after = text.partition(wanted)
            return Wording((before, after), (path,), in_url)
    return Wording((text,), (), in_url)


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


def learned_moment(texts: Sequence[str], scopes: Sequence[Scope]) -> Moment | None:
    """Return the value that names the moments which texts name, None where they name none, or nothing else does."""
    shown_at = [moment_of(text) for text in texts]
    if None in shown_at or len(set(shown_at)) == 1:
        return None
    has_time = any(each and (each.hour or each.minute) for each in shown_at)
    for path in scopes[0].leaves:
        values = [moment_of(scope.leaves.get(path, "")) for scope in scopes]
        if all(_is_at(value, at, has_time=has_time) for value, at in zip(values, shown_at, strict=True)):
            return Moment(path, has_time)
    return None


def _is_at(value: datetime | None, at: datetime | None, *, has_time: bool) -> bool:
    if value is None or at is None:
        return False
    return value.replace(second=0, microsecond=0) == at.replace(second=0) if has_time else value.date() == at.date()

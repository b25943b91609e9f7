"""Hold the data of a page, and read values from it by paths of names."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from lxml import etree, html

MOST_LEAVES: Final = 2_000
"""The most values of one scope that are looked at."""
DEEPEST: Final = 12

Keys = tuple[str, ...]


class MissingDataError(LookupError):
    """The data lack what those of all pages had from which the template was learned: they are of another kind."""


@dataclass(frozen=True, slots=True)
class ValuePath:
    """The way to a value: how many scopes outwards it begins, and the names that lead on from there."""

    outwards: int
    keys: Keys


@dataclass(frozen=True)
class Scope:
    """A value of JSON from which paths begin: all answers of a page, or one item of a list within an outer scope."""

    data: Any
    outer: "Scope | None" = None

    def value(self, path: ValuePath) -> Any:
        """Return what a path leads to, None where it leads nowhere."""
        scope: Scope | None = self
        for _ in range(path.outwards):
            scope = scope.outer if scope is not None else None
        found = scope.data if scope is not None else None
        for key in path.keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found

    def text(self, path: ValuePath) -> str:
        """Return the value at a path as it is written; raise ``MissingDataError`` where none is to be written."""
        text = written(self.value(path))
        if not text.strip():
            raise MissingDataError(".".join(path.keys))
        return text

    @cached_property
    def leaves(self) -> Mapping[ValuePath, str]:
        """The values that can be written, by their paths, those of this scope before those of outer ones."""
        found: dict[ValuePath, str] = {}
        for path, value in self._values():
            if text := written(value).strip():
                found[path] = text
            if len(found) == MOST_LEAVES:
                break
        return found

    @cached_property
    def lists(self) -> Mapping[ValuePath, Sequence[Any]]:
        """The lists by their paths."""
        return {path: value for path, value in self._values() if isinstance(value, list)}

    def _values(self) -> Iterator[tuple[ValuePath, Any]]:
        scope: Scope | None = self
        outwards = 0
        while scope is not None:
            yield from ((ValuePath(outwards, keys), value) for keys, value in _within(scope.data, ()))
            scope, outwards = scope.outer, outwards + 1


def _within(value: Any, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    if isinstance(value, Mapping) and len(keys) < DEEPEST:
        for key, each in value.items():
            yield from _within(each, (*keys, str(key)))
    else:
        yield keys, value


def written(value: Any) -> str:
    """Return a string or a number as it is written, of a list how many items it has; empty for all else.

    >>> written(3.0), written("a"), written([1, 2]), written(True)
    ('3', 'a', '2', '')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return str(len(value))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def shown(text: str) -> str:
    """Return the text that a browser shows of a value, which may be HTML, its blanks folded."""
    if "<" not in text and "&" not in text:
        return folded(text)
    try:
        return folded(str(html.fragment_fromstring(text, create_parent="div").text_content()))
    except (ValueError, etree.ParserError):
        return folded(text)


def folded(text: str) -> str:
    """Return a text with its blanks folded."""
    return " ".join(text.split())

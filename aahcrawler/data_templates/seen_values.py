"""Tell whether the data of a page are of a kind that was seen before, or say something that no page before did."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from aahcrawler.data_templates.template_nodes import DEEPEST, Keys

MAX_VALUES: Final = 50_000
"""Values of one page beyond which nothing is known of it."""
_ITEMS: Final = "[]"
_VARIES: Final = object()


@dataclass(frozen=True)
class SeenValues:
    """What the data of some pages had in common: by path, the types of values, and the one value where there was one.

    All items of a list have one path. A page whose value at a path was the same on all pages, and is another one now,
    may show what no page showed: it has further pages, it is closed, nobody may read it.
    """

    types: Mapping[Keys, frozenset[str]] = field(default_factory=dict)
    constants: Mapping[Keys, Any] = field(default_factory=dict)

    def know(self, data: Any) -> bool:
        """Return whether data hold nothing but what was seen, or what was seen to vary, and lack nothing."""
        here = dict[Keys, None]()
        for number, (path, value) in enumerate(_values(data, ())):
            here[path] = None
            constant = self.constants.get(path, _VARIES)
            is_known = _kind(value) in self.types.get(path, ()) and (constant is _VARIES or constant == value)
            if not is_known or number == MAX_VALUES:
                return False
        return all(path in here for path in self.types if _ITEMS not in path)

    def with_page(self, data: Any) -> "SeenValues":
        """Return what is seen with the data of one more page."""
        types, constants = dict(self.types), dict(self.constants)
        for path, value in _values(data, ()):
            is_new = path not in types
            types[path] = types.get(path, frozenset()) | {_kind(value)}
            if is_new:
                constants[path] = value
            elif path in constants and constants[path] != value:
                constants[path] = _VARIES
        return SeenValues(types, constants)

    @classmethod
    def of(cls, pages: Iterable[Any]) -> "SeenValues":
        """Return what the data of pages have in common.

        >>> seen = SeenValues.of([{"id": 1, "pages": 1}, {"id": 2, "pages": 1}])
        >>> seen.know({"id": 3, "pages": 1}), seen.know({"id": 3, "pages": 2}), seen.know({"id": 3})
        (True, False, False)
        """
        seen = cls()
        for data in pages:
            seen = seen.with_page(data)
        return seen


def _values(value: Any, keys: Keys) -> Iterator[tuple[Keys, Any]]:
    """Yield what is no list or mapping with its path, and of each list whether it has items."""
    if isinstance(value, Mapping) and len(keys) < DEEPEST:
        for key, each in value.items():
            yield from _values(each, (*keys, str(key)))
    elif isinstance(value, list) and len(keys) < DEEPEST:
        yield keys, bool(value)
        for each in value:
            yield from _values(each, (*keys, _ITEMS))
    else:
        yield keys, value


def _kind(value: Any) -> str:
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__

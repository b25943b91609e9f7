"""Convert a section to a mapping from paths to values as JSON text, and back.

A path consists of the names of fields and the keys of mappings, separated by dots. Keys, such as hosts, may contain
dots: the end of a key is found by the fields of the value it maps to. A mapping of mappings has a path for each of its
keys.
"""

import json
from collections.abc import Iterator, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import PlainSerializer

from online_analysis.icd.mistakes import Section

IN_ORDER = "in order"
"""Marks the type of a list whose order has a meaning."""


def flat(kind: Any, value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the path and JSON text of each value in the dump of a section, or of a field of that type.

    Lists contain their entries as JSON texts, sorted unless their order has a meaning (``IN_ORDER``).
    """
    if not (isinstance(value, dict) and value):
        yield path, _text(value, in_order=_is_in_order(kind))
    elif (section := _section(kind)) is not None:
        kinds = _fields(section)
        for name, inner in value.items():
            yield from flat(kinds[name], inner, _below(path, name))
    elif (mapped := _mapped(kind)) is not None and _mapped(mapped) is None:
        for key, inner in value.items():
            yield from flat(mapped, inner, _below(path, key))
    elif mapped is not None:
        yield from (
            (_below(path, key), json.dumps(inner, ensure_ascii=False, sort_keys=True)) for key, inner in value.items()
        )
    else:
        yield path, _text(value)


def nested(section: type[Section], meaning: Mapping[str, str]) -> dict[str, object]:
    """Return the data of a section, given the texts of its paths. Raises ValueError if a path names no field."""
    fields: dict[str, object] = {}
    for path, text in meaning.items():
        names = _names(section, path)
        if names is None:
            raise ValueError(f"{path} is no field")
        _put(fields, names, _value(text))
    return fields


def _names(kind: Any, path: str) -> list[str] | None:
    """Split a path into names and keys; None where it is invalid."""
    section, mapped = _section(kind), _mapped(kind)
    if section is not None:
        name, dot, rest = path.partition(".")
        inner = _fields(section).get(name)
        if inner is None or not dot:
            return None if inner is None else [name]
        below = _names(inner, rest)
        return None if below is None else [name, *below]
    if mapped is None:
        return None
    if _section(mapped) is None:
        return [path]
    dots = (at for at, character in enumerate(path) if character == ".")
    splits = ((path[:at], _names(mapped, path[at + 1 :])) for at in dots)
    return next(([key, *below] for key, below in splits if below is not None), None)


def _put(fields: dict[str, object], path: list[str], value: object) -> None:
    for name in path[:-1]:
        inner = fields.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ValueError(f"{'.'.join(path)} lies in what is no section")
        fields = inner
    fields[path[-1]] = value


def _fields(section: type[Section]) -> dict[str, Any]:
    return {
        field.alias or name: Annotated[field.annotation, IN_ORDER] if IN_ORDER in field.metadata else field.annotation
        for name, field in section.model_fields.items()
    }


def _is_in_order(kind: Any) -> bool:
    return get_origin(kind) is Annotated and IN_ORDER in get_args(kind)


def _section(kind: Any) -> type[Section] | None:
    """Return the section as which values of a type are dumped; None if they are dumped in another form."""
    found = _bare(kind)
    return found if isinstance(found, type) and issubclass(found, Section) else None


def _mapped(kind: Any) -> Any:
    """Return the type of a mapping's values; None for other types."""
    found = _bare(kind)
    return get_args(found)[1] if get_origin(found) is Mapping else None


def _bare(kind: Any) -> Any:
    """Return a type without annotations and without None."""
    if get_origin(kind) is Annotated:
        plain, *notes = get_args(kind)
        return str if any(isinstance(note, PlainSerializer) for note in notes) else _bare(plain)
    if get_origin(kind) in {Union, UnionType}:
        (*some,) = (each for each in get_args(kind) if each is not NoneType)
        return _bare(some[0]) if len(some) == 1 else kind
    return kind


def _below(path: str, name: object) -> str:
    return f"{path}.{name}" if path else str(name)


def _text(value: object, *, in_order: bool = False) -> str:
    if isinstance(value, list):
        entries = [json.dumps(item, ensure_ascii=False) for item in value]
        value = entries if in_order else sorted(entries)
    return json.dumps(value, ensure_ascii=False)


def _value(text: str) -> object:
    value = json.loads(text)
    return [json.loads(entry) for entry in value] if isinstance(value, list) else value

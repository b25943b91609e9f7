"""Edits the text of an ICD by field, keeping comments, order, quotes and blank lines as they are."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from pydantic import BaseModel
from yaml import YAMLError

from online_analysis.icd.definition import Icd
from online_analysis.icd.explanations import model_in
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, field_name
from online_analysis.icd.splicing import Ranks, SplicingError, with_value
from online_analysis.icd.yaml_source import DEEPEST, Source, Value, read_source
from online_analysis.icd.yaml_writing import plain_value

_STEP: Final = re.compile(r'(?:^|\.)([^.\[\]"]+)|\[(\d{1,9})\]|\["((?:[^"\\]|\\["\\])*)"\]')
_BY_HAND: Final = "change it in the YAML itself"
_BOM: Final = "\ufeff"


def steps(name: str) -> FieldPath:
    r"""Return the path of a field from how it is written; raise ValueError where it is none.

    Dots part names, ``[0]`` is an entry of a list, and ``["example.org"]`` a name that holds dots.

    >>> steps("scope.deny[2]"), steps('politeness.domains["example.org"].delay')
    (('scope', 'deny', 2), ('politeness', 'domains', 'example.org', 'delay'))
    """
    path: list[str | int] = []
    place = 0
    while place < len(name):
        found = _STEP.match(name, place)
        if not found or found.end() == place:
            break
        plain, entry, quoted = found.groups()
        path.append(int(entry) if entry else plain or re.sub(r"\\(.)", r"\1", quoted or ""))
        place = found.end()
    if not path or place < len(name) or len(path) > DEEPEST or isinstance(path[0], int):
        raise ValueError(f"{name[:100]!r} is no name of a field")
    return tuple(path)


def path_text(path: FieldPath) -> str:
    """Return a path as ``steps`` reads it.

    >>> path_text(("politeness", "domains", "example.org", "delay")), path_text(("seeds", 0))
    ('politeness.domains["example.org"].delay', 'seeds[0]')
    """
    return "".join(map(_written_step, path)).removeprefix(".")


def _written_step(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if step and not set(step) & set('.[]"'):
        return f".{step}"
    quotable = step.replace("\\", "\\\\").replace('"', '\\"')
    return f'["{quotable}"]'


def edited(text: str, changes: Mapping[str, object], file: str = "icd.yaml") -> str:
    """Return the text of an ICD with fields set to values, named as ``steps`` parses them; None removes a field.

    A mapping or a list is set as a whole, and its unchanged parts keep their text. Entries of lists are counted as in
    ``text``; the number after the last one adds an entry. Everything else stays byte for byte. Whether values are valid
    is left to the checker. Raises IcdError where the text is no YAML of an ICD, contains a field twice, or cannot be
    changed in this way, and ValueError for an invalid name.
    """
    bom, body = (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)
    source = read_source(body.encode("utf-8", "surrogatepass"), file)
    if source.mistakes:
        raise IcdError(source.mistakes)
    expected: Value = source.data
    for path, value in _in_order(changes):
        try:
            expected = _with(expected, path, value)
            body = with_value(body, path, value, field_order())
        except (SplicingError, YAMLError) as error:
            raise IcdError([source.mistake(path, _problem(error), _BY_HAND)]) from None
    _prove(body, expected, source, changes)
    return bom + body


def _problem(error: Exception) -> str:
    return str(error) if isinstance(error, SplicingError) else "cannot be changed along with the others"


def _in_order(changes: Mapping[str, object]) -> Iterator[tuple[FieldPath, Value]]:
    """Yield changes in a safe order: values before removals, and entries of a list from the last to the first."""
    read = [(steps(name), None if value is None else plain_value(value)) for name, value in changes.items()]
    yield from (each for each in read if each[1] is not None)
    removed = [each for each in read if each[1] is None]
    yield from sorted(removed, key=lambda each: [(isinstance(step, int), str(step).zfill(9)) for step in each[0]])[::-1]


def _with(data: Value, path: FieldPath, value: Value) -> Value:
    """Return plain data with a value set or removed, for comparison with the edited text."""
    if not path:
        return value
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return _with_entry(data, step, rest, value)
    if data is not None and not isinstance(data, dict):
        raise SplicingError("is no field of what stands there")
    fields = dict(data or {})
    if value is None and step not in fields:
        return data
    inner = _with(fields.get(step), rest, value)
    fields[step] = inner
    if value is None and (not rest or (inner == {} and isinstance(rest[-1], str))):
        del fields[step]
    return fields


def _with_entry(data: Value, place: int, rest: FieldPath, value: Value) -> Value:
    if data is not None and not isinstance(data, list):
        raise SplicingError("holds no list")
    entries = list(data or [])
    if place >= len(entries):
        if value is None:
            return data
        if place > len(entries):
            raise SplicingError(f"is entry {place} of a list that has {len(entries)}")
        return [*entries, _with(None, rest, value)]
    if value is None and not rest:
        return entries[:place] + entries[place + 1 :]
    entries[place] = _with(entries[place], rest, value)
    return entries


def _prove(body: str, expected: Value, source: Source, changes: Mapping[str, object]) -> None:
    """Raise IcdError where the edited text does not have the expected meaning."""
    if read_source(body.encode("utf-8", "surrogatepass"), source.file).data != expected:
        path = steps(next(iter(changes)))
        problem = "cannot be changed here without changing something else"
        raise IcdError([Mistake(source.file, source.line(path), field_name(path), problem, _BY_HAND)])


@cache
def field_order() -> Ranks:
    """Return the order of the fields in every section, which is that of docs/icd.md."""
    return Ranks(dict(_orders(Icd, ())))


def _orders(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    yield path, tuple(field.alias or name for name, field in model.model_fields.items())
    for name, field in model.model_fields.items():
        inner = model_in(field)
        if inner is not None and inner is not model and len(path) < DEEPEST:
            yield from _orders(inner, (*path, field.alias or name))

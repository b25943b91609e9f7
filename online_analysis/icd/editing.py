"""Edit the text of an ICD by field, keeping comments, order, quotes and blank lines unchanged.

Libraries that write YAML with its comments reformat unchanged parts, and lose comments within lists.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache
from itertools import takewhile
from typing import Final

import yaml
from pydantic import BaseModel
from yaml import YAMLError

from online_analysis.icd.definition import Icd
from online_analysis.icd.explanations import model_in
from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, field_name
from online_analysis.icd.yaml_source import (
    LOADER,
    MAX_DEPTH,
    NOTHING,
    WIDEST,
    Layout,
    Source,
    Splice,
    Value,
    after_dash,
    after_name,
    in_flow,
    is_flow,
    plain_value,
    quoted,
    quotes,
    read_source,
    scalar,
)

_MAX_COMPARED: Final = 2000
"""The most differing entries of two lists that are compared with one another; longer parts are replaced."""


class SplicingError(ValueError):
    """Raised when a value cannot be set; the message continues a sentence that begins with the field."""


@dataclass(frozen=True, slots=True)
class _Slot:
    """A value's node, where the separator before it begins, its column, and whether it is in a flow collection."""

    node: yaml.Node
    after: int
    column: int
    name: str
    in_flow: bool


class Ranks:
    """The order of fields in each section."""

    def __init__(self, fields: Mapping[tuple[str, ...], tuple[str, ...]]) -> None:
        self._fields = fields

    def before(self, section: FieldPath, name: str, present: Sequence[str]) -> int:
        """Return after how many of the present fields to insert a new one: after all, if it has no rank."""
        order = self._fields.get(tuple(map(str, section)), ())
        if name not in order:
            return len(present)
        earlier = set(order[: order.index(name)])
        return max((place for place, each in enumerate(present, 1) if each in earlier), default=0)


def with_value(text: str, path: FieldPath, value: Value, ranks: Ranks) -> str:
    """Return an ICD's text with one value set, or removed if it is None; the text must be readable.

    ``ranks`` gives the position of a new field. Raises ``SplicingError``.
    """
    pieces, done = [], 0
    for splice in sorted(_Splicing(text, ranks).of(path, value), key=lambda each: (each.start, each.end)):
        pieces += [text[done : splice.start], splice.new]
        done = max(done, splice.end)
    return "".join((*pieces, text[done:]))


def _data(node: yaml.Node) -> Value:
    if isinstance(node, yaml.MappingNode):
        return {key.value: _data(inner) for key, inner in node.value}
    if isinstance(node, yaml.SequenceNode):
        return [_data(inner) for inner in node.value]
    return None if not quotes(node) and node.value in NOTHING else str(node.value)


@dataclass(frozen=True, slots=True)
class _Stretch:
    """A matching part of two lists: ``both`` entries from ``old`` and from ``new`` on correspond, ``more`` are new.

    Entries of the old list in no such part are removed.
    """

    old: int
    new: int
    both: int
    more: int
    differs: bool


def _stretches(old: Sequence[Value], new: Sequence[Value]) -> list[_Stretch]:
    """Match two lists; entries that differ are matched by their order."""
    before, after = list(map(repr, old)), list(map(repr, new))
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False)))
    most = min(len(before), len(after)) - head
    tail = sum(1 for _ in takewhile(lambda n: before[-1 - n] == after[-1 - n], range(most)))
    inner, outer = before[head : len(before) - tail], after[head : len(after) - tail]
    if max(len(inner), len(outer)) > _MAX_COMPARED:
        steps = [("replace", 0, len(inner), 0, len(outer))]
    else:
        steps = list(SequenceMatcher(None, inner, outer, autojunk=False).get_opcodes())
    found = [_Stretch(0, 0, head, 0, differs=False)]
    for kind, i1, i2, j1, j2 in steps:
        both = min(i2 - i1, j2 - j1)
        found.append(_Stretch(head + i1, head + j1, both, j2 - j1 - both, differs=kind != "equal"))
    return [*found, _Stretch(len(before) - tail, len(after) - tail, tail, 0, differs=False)]


def _wrapped(path: FieldPath, value: Value) -> Value:
    for step in reversed(path):
        if isinstance(step, int):
            if step:
                raise SplicingError("is an entry of a list that has fewer")
            value = [value]
        else:
            value = {step: value}
    return value


class _Splicing:
    """The text replacements for one change of one text."""

    def __init__(self, text: str, ranks: Ranks) -> None:
        self._layout = Layout(text)
        self._ranks = ranks
        root = yaml.compose(text, Loader=LOADER)
        if not isinstance(root, yaml.MappingNode):
            raise SplicingError("is in a text that holds no fields")
        self._root = root

    def of(self, path: FieldPath, value: Value) -> list[Splice]:
        start = self._root.start_mark
        slot = _Slot(self._root, start.index, start.column - 2, "", is_flow(self._root))
        for depth in range(len(path)):
            inner = self._inner(slot, path[: depth + 1])
            if inner is None:
                return [] if value is None else self._added(slot, path, depth, value)
            if value is None and depth + 1 == len(path):
                return self._removed(path)
            if _data(inner.node) is None and depth + 1 < len(path):
                rest = path[depth + 1 :]
                return [] if value is None else self._replaced(inner, _wrapped(rest, value), path[: depth + 1])
            slot = inner
        return [] if value is None else self._replaced(slot, value, path)

    def _inner(self, slot: _Slot, path: FieldPath) -> _Slot | None:
        """Return the slot of a field or entry within another one; None if there is none."""
        node, step = slot.node, path[-1]
        if isinstance(node, yaml.MappingNode) and isinstance(step, str):
            place = next((n for n, (key, _) in enumerate(node.value) if key.value == step), None)
            return None if place is None else self._slots(slot)[place]
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            return self._slots(slot)[step] if step < len(node.value) else None
        raise SplicingError("holds no list" if isinstance(step, int) else "is no field of what stands there")

    def _slots(self, slot: _Slot) -> list[_Slot]:
        node = slot.node
        flow, column = slot.in_flow or is_flow(node), node.start_mark.column
        if isinstance(node, yaml.MappingNode):
            return [
                _Slot(value, self._layout.after_key(key), column, str(key.value), flow) for key, value in node.value
            ]
        return [
            _Slot(inner, inner.start_mark.index if flow else self._layout.dash(inner) + 1, column, "", flow)
            for inner in node.value
        ]

    # Replacing

    def _replaced(self, slot: _Slot, value: Value, path: FieldPath) -> list[Splice]:
        old = _data(slot.node)
        if old == value:
            return []
        if isinstance(slot.node, yaml.MappingNode) and slot.node.value and isinstance(value, dict) and value:
            return self._mapping(slot, value, path)
        if isinstance(slot.node, yaml.SequenceNode) and slot.node.value and isinstance(value, list) and value:
            return self._list(slot, value, path)
        node = slot.node
        is_inline = isinstance(node, yaml.ScalarNode) and quotes(node) not in {"|", ">"}
        if is_inline and isinstance(value, str) and node.start_mark.index < node.end_mark.index:
            new = quoted(value) if quotes(node) else scalar(value)
            return [Splice(node.start_mark.index, node.end_mark.index, new)]
        return [self._anew(slot, value)]

    def _anew(self, slot: _Slot, value: Value) -> Splice:
        if slot.in_flow:
            space = "" if slot.after == slot.node.start_mark.index else " "
            return Splice(slot.after, max(self._layout.end(slot.node), slot.after), space + in_flow(value))
        if slot.name or slot.node is self._root:
            new = after_name(slot.name, value, slot.column)
        else:
            new = after_dash(value, slot.column)
        return Splice(slot.after, max(self._layout.end(slot.node), slot.after), self._layout.written(new))

    def _mapping(self, slot: _Slot, value: dict[str, Value], path: FieldPath) -> list[Splice]:
        """Change what differs between two mappings."""
        names = [str(key.value) for key, _ in slot.node.value]
        kept = [place for place, name in enumerate(names) if name in value]
        if not kept:
            return [self._anew(slot, value)]
        splices = self._layout.cuts(slot.node, kept)
        slots = self._slots(slot)
        for place in kept:
            splices += self._replaced(slots[place], value[names[place]], (*path, names[place]))
        new = {name: inner for name, inner in value.items() if name not in names}
        return [*splices, *(self._new_pair(slot, name, inner, kept[-1] + 1) for name, inner in new.items())]

    def _list(self, slot: _Slot, value: list[Value], path: FieldPath) -> list[Splice]:
        """Change what differs between two lists; entries that stay keep their comments."""
        stretches = _stretches([_data(inner) for inner in slot.node.value], value)
        kept = {each.old + n for each in stretches for n in range(each.both)}
        if not kept:
            return [self._anew(slot, value)]
        splices = self._layout.cuts(slot.node, kept)
        slots = self._slots(slot)
        for each in stretches:
            for n in range(each.both if each.differs else 0):
                splices += self._replaced(slots[each.old + n], value[each.new + n], (*path, each.old + n))
            if each.more:
                begin = each.new + each.both
                splices.append(self._new_entries(slot, value[begin : begin + each.more], each.old + each.both))
        return splices

    # Removing

    def _removed(self, path: FieldPath) -> list[Splice]:
        """Cut a field or an entry; a section that would become empty is cut as well."""
        while len(path) > 1:
            parent = self._at(path[:-1])
            if len(parent.node.value) > 1:
                break
            if isinstance(parent.node, yaml.SequenceNode):
                return [self._anew(parent, [])]
            path = path[:-1]
        parent = self._at(path[:-1])
        node = parent.node
        if isinstance(node, yaml.SequenceNode):
            place = int(path[-1])
        else:
            place = next(n for n, (key, _) in enumerate(node.value) if key.value == path[-1])
        return self._layout.cuts(node, set(range(len(node.value))) - {place})

    def _at(self, path: FieldPath) -> _Slot:
        start = self._root.start_mark
        slot = _Slot(self._root, start.index, start.column - 2, "", is_flow(self._root))
        for depth in range(len(path)):
            inner = self._inner(slot, path[: depth + 1])
            assert inner is not None  # noqa: S101 - it has been found before
            slot = inner
        return slot

    # Adding

    def _added(self, slot: _Slot, path: FieldPath, depth: int, value: Value) -> list[Splice]:
        step, rest = path[depth], _wrapped(path[depth + 1 :], value)
        node = slot.node
        if isinstance(step, int):
            if step > len(node.value):
                raise SplicingError(f"is entry {step} of a list that has {len(node.value)}")
            return [self._new_entries(slot, [rest], step) if node.value else self._anew(slot, [rest])]
        if not node.value:
            return [self._anew(slot, {step: rest})]
        present = [str(key.value) for key, _ in node.value]
        return [self._new_pair(slot, step, rest, self._ranks.before(path[:depth], step, present))]

    def _new_pair(self, slot: _Slot, name: str, value: Value, place: int) -> Splice:
        """Return the replacement that inserts a field into a mapping after ``place`` of its fields."""
        node = slot.node
        first = node.value[0][0].start_mark
        if slot.in_flow or is_flow(node):
            pair = f"{scalar(name)}: {in_flow(value)}"
            ends = [max(self._layout.end(inner), key.end_mark.index) for key, inner in node.value]
            return self._in_flow(node, [pair], place, [key.start_mark.index for key, _ in node.value], ends)
        column = first.column
        pair = self._layout.written(f"{scalar(name)}:{after_name(name, value, column)}")
        if not place:
            gap = self._layout.newline if self._is_section(pair, column) else ""
            return Splice(first.index, first.index, f"{pair}{self._layout.newline}{gap}{' ' * column}")
        key, inner = node.value[place - 1]
        at = self._layout.line_end(max(self._layout.end(inner), self._layout.after_key(key)))
        if self._is_section(pair, column):
            follows = self._layout.text[at:].removeprefix("\r").removeprefix("\n")
            gap = "" if not follows or not follows.split("\n", 1)[0].strip() else self._layout.newline
            return Splice(at, at, f"{self._layout.newline}{self._layout.newline}{pair}{gap}")
        return Splice(at, at, f"{self._layout.newline}{' ' * column}{pair}")

    def _is_section(self, pair: str, column: int) -> bool:
        """Return whether to put blank lines around a new field of the whole definition, as other fields have."""
        return column == 0 and "\n" in pair and f"{self._layout.newline}{self._layout.newline}" in self._layout.text

    def _new_entries(self, slot: _Slot, values: Sequence[Value], place: int) -> Splice:
        """Return the replacement that inserts entries into a list after ``place`` of its entries."""
        node = slot.node
        if slot.in_flow or is_flow(node):
            ends = [self._layout.end(inner) for inner in node.value]
            starts = [inner.start_mark.index for inner in node.value]
            return self._in_flow(node, [in_flow(value) for value in values], place, starts, ends)
        column = node.start_mark.column
        entries = [self._layout.written(f"-{after_dash(value, column)}") for value in values]
        margin = f"{self._layout.newline}{' ' * column}"
        if not place:
            at = node.start_mark.index
            return Splice(at, at, "".join(f"{entry}{margin}" for entry in entries))
        last = node.value[place - 1]
        at = self._layout.line_end(max(self._layout.end(last), self._layout.dash(last) + 1))
        return Splice(at, at, "".join(f"{margin}{entry}" for entry in entries))

    def _in_flow(
        self, node: yaml.Node, pieces: Sequence[str], place: int, starts: Sequence[int], ends: Sequence[int]
    ) -> Splice:
        if not place:
            return Splice(starts[0], starts[0], "".join(f"{piece}, " for piece in pieces))
        at = ends[place - 1]
        margin = f"{self._layout.newline}{' ' * (self._layout.indentation(node.start_mark.index) + 4)}"
        return Splice(at, at, "".join(self._broken(pieces, at - self._layout.line_start(at), margin)))

    def _broken(self, pieces: Sequence[str], column: int, margin: str) -> Iterator[str]:
        for piece in pieces:
            breaks = column + len(piece) + 3 > WIDEST
            column = (len(margin) if breaks else column + 2) + len(piece)
            yield f",{margin if breaks else ' '}{piece}"


_STEP: Final = re.compile(r'(?:^|\.)([^.\[\]"]+)|\[(\d{1,9})\]|\["((?:[^"\\]|\\["\\])*)"\]')
_BY_HAND: Final = "change it in the YAML itself"
_BOM: Final = "\ufeff"


def steps(name: str) -> FieldPath:
    r"""Parse the written path of a field. Raises ``ValueError`` if it is invalid.

    Dots separate names, ``[0]`` is an entry of a list, and ``["example.org"]`` a name that contains dots.

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
    if not path or place < len(name) or len(path) > MAX_DEPTH or isinstance(path[0], int):
        raise ValueError(f"{name[:100]!r} is no name of a field")
    return tuple(path)


def path_text(path: FieldPath) -> str:
    """Return a path in the form that ``steps`` parses.

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
    is left to the checker. Raises IcdError if the text is no YAML of an ICD, contains a field twice, or cannot be
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
    """Raise IcdError unless the edited text has the expected meaning."""
    if read_source(body.encode("utf-8", "surrogatepass"), source.file).data != expected:
        path = steps(next(iter(changes)))
        problem = "cannot be changed here without changing something else"
        raise IcdError([Mistake(source.file, source.line(path), field_name(path), problem, _BY_HAND)])


@cache
def field_order() -> Ranks:
    """Return the order of the fields in every section, as in docs/icd.md."""
    return Ranks(dict(_orders(Icd, ())))


def _orders(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    yield path, tuple(field.alias or name for name, field in model.model_fields.items())
    for name, field in model.model_fields.items():
        inner = model_in(field)
        if inner is not None and inner is not model and len(path) < MAX_DEPTH:
            yield from _orders(inner, (*path, field.alias or name))

"""An ICD file as text: its values with their places, and how values are written as YAML.

YAML's own guesses at types are ignored: the field decides the type of a value. So ``languages: [no]`` is Norwegian, and
``title: 2024`` is a title.
"""

import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any, Final, NoReturn

import yaml
import yaml as loader
from ruamel.yaml import YAML
from ruamel.yaml.resolver import VersionedResolver

from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, field_name
from online_analysis.icd.units import format_duration

Value = str | None | list["Value"] | dict[str, "Value"]

MAX_DEFINITION_LENGTH = 4_000_000
MAX_DEPTH = 24
LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NOTHING = {"", "~", "null", "Null", "NULL"}


@dataclass(slots=True)
class Source:
    """The content of one ICD file. ``data`` maps field names to strings, lists, mappings, or None for no value.

    ``what`` is its name in messages; other files that are written like ICDs are read as well.
    """

    file: str
    data: dict[str, Value] = field(default_factory=dict)
    lines: dict[FieldPath, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)
    what: str = "an ICD"

    def line(self, path: FieldPath) -> int:
        """Return the line of a field, or that of the nearest field around it."""
        return next((self.lines[path[:n]] for n in range(len(path), 0, -1) if path[:n] in self.lines), 1)

    def mistake(self, path: FieldPath, problem: str, advice: str) -> Mistake:
        """Return a mistake at the place of a field in the file."""
        return Mistake(self.file, self.line(path), field_name(path), problem, advice)


def read_source(
    content: bytes, file: str, what: str = "an ICD", begin: str = "`id`, `contact`, `seeds`, `topic`"
) -> Source:
    """Read an ICD's bytes. Raises IcdError if they cannot be read as YAML.

    Mistakes that leave the rest readable, such as a field given twice, are collected in ``Source.mistakes``.
    """
    text = _decode(content, file)
    source = Source(file, what=what)
    try:
        data = _Builder(source).document(iter(yaml.parse(text, Loader=LOADER)))
    except yaml.MarkedYAMLError as error:
        raise IcdError([_syntax_mistake(error, text, file)]) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise IcdError([Mistake(file, 1, "", "is no YAML", f"check the file: {error}")]) from error
    if not data:
        raise IcdError([Mistake(file, 1, "", "is empty", f"write {what}: begin with {begin}")])
    if not isinstance(data, dict):
        raise IcdError([Mistake(file, 1, "", "holds no fields", "write `name: value` lines, such as `id: my-crawl`")])
    source.data = data
    return source


def _decode(content: bytes, file: str) -> str:
    if len(content) > MAX_DEFINITION_LENGTH:
        advice = "keep long lists in files of their own (scoring.spam_hosts)"
        raise IcdError([Mistake(file, 1, "", f"is larger than {MAX_DEFINITION_LENGTH:,} bytes", advice)])
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise IcdError([Mistake(file, line, "", "is not UTF-8 text", "save the file as UTF-8")]) from None
    if found := _UNREADABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        problem = f"holds the control character U+{ord(found[0]):04X}"
        raise IcdError([Mistake(file, line, "", problem, "remove it")])
    return text


def _syntax_mistake(error: yaml.MarkedYAMLError, text: str, file: str) -> Mistake:
    mark = error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    lines = text.splitlines()
    shown = lines[line - 1] if line <= len(lines) else ""
    if re.match(r" *\t", shown) or "\\t" in (error.problem or ""):
        return Mistake(file, line, "", "holds a tab", "indent with spaces")
    advice = "check the indentation, that a space follows each `:`, and that quotes and brackets are closed"
    return Mistake(file, line, "", f"is no YAML ({error.problem or error.context})", advice)


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


class _Builder:
    """Builds values from YAML events, remembering lines. Nesting, and so recursion, is bounded."""

    def __init__(self, source: Source) -> None:
        self._source = source

    def document(self, events: Iterator[yaml.Event]) -> Value:
        value: Value = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._fail(event, (), "holds a second document (`---`)", "keep one ICD a file")
            elif isinstance(event, yaml.NodeEvent):
                value = self._node(event, events, ())
        return value

    def _node(self, event: yaml.NodeEvent, events: Iterator[yaml.Event], path: FieldPath) -> Value:
        if path not in self._source.lines:
            self._source.lines[path] = _line(event)
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            self._fail(event, path, "uses an alias (`&` or `*`)", "write the value out, or put it in quotes")
        if len(path) > MAX_DEPTH:
            self._fail(event, path, "is nested too deeply", "compare with the example in docs/icd.md")
        if getattr(event, "tag", None) not in (None, "!"):
            self._fail(event, path, "has a tag (`!`)", "write the plain value, or put it in quotes")
        if isinstance(event, yaml.SequenceStartEvent):
            return self._list(events, path)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(events, path)
        return self._scalar(event, path)

    def _scalar(self, event: yaml.NodeEvent, path: FieldPath) -> str | None:
        value, plain = getattr(event, "value", ""), not getattr(event, "style", None)
        if _UNREADABLE.search(value):
            self._fail(event, path, "holds a control character", "remove the escape sequence")
        return None if plain and value in NOTHING else value

    def _list(self, events: Iterator[yaml.Event], path: FieldPath) -> list[Value]:
        values: list[Value] = []
        for event in events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            if isinstance(event, yaml.NodeEvent):
                values.append(self._node(event, events, (*path, len(values))))
        return values

    def _mapping(self, events: Iterator[yaml.Event], path: FieldPath) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for key in events:
            if isinstance(key, yaml.MappingEndEvent):
                break
            if not isinstance(key, yaml.ScalarEvent) or key.anchor is not None:
                self._fail(key, path, "has a name that is no plain word", "write `name: value`")
            name = str(getattr(key, "value", ""))
            line = _line(key)
            place = (*path, name)
            if name in values:
                advice = f"keep one of them (the other is in line {self._source.lines[place]})"
                self._source.mistakes.append(
                    Mistake(self._source.file, line, field_name(place), "is given twice", advice)
                )
            self._source.lines[place] = line
            values[name] = self._value(events, place)
        return values

    def _value(self, events: Iterator[yaml.Event], path: FieldPath) -> Value:
        event = next(events)
        return self._node(event, events, path) if isinstance(event, yaml.NodeEvent) else None

    def _fail(self, event: yaml.Event, path: FieldPath, problem: str, advice: str) -> NoReturn:
        line = _line(event)
        raise IcdError([Mistake(self._source.file, line, field_name(path), problem, advice)])


WIDEST: Final = 110
"""Columns of a line; longer lists are written with an entry per line."""
_ALWAYS_IN_LINES: Final = frozenset({"seeds"})
_PLAIN: Final = re.compile(r"[^\W_][\w'’./?=&+~%@-]*(?::?[ :/]?[\w'’./?=&+~%@-]+)*")
"""Texts that every parser reads as text."""


class _Texts(VersionedResolver):
    """A resolver that reads every plain scalar as text, as the loader of ICDs does."""

    @property
    def versioned_resolver(self) -> Any:
        """Resolves no types from the look of scalars."""
        return {}


def plain_value(value: object) -> Value:
    """Return a value in the form of an ICD that was read: texts, lists and mappings. Raises TypeError for others.

    >>> plain_value({"pages": 10, "time": timedelta(hours=2), "forms": True})
    {'pages': '10', 'time': '7200 s', 'forms': 'true'}
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, timedelta):
        return format_duration(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): plain_value(inner) for name, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [plain_value(inner) for inner in value]
    raise TypeError(f"no ICD holds a {type(value).__name__}")


def scalar(text: str) -> str:
    """Return a text in a form that the loader reads as this text at any place, quoted if necessary.

    >>> scalar("solar power"), scalar("200"), scalar("null"), scalar("*://example.org/*"), scalar("a: b")
    ('solar power', '200', '"null"', '"*://example.org/*"', '"a: b"')
    """
    return text if _is_plain(text) else quoted(text)


def quoted(text: str) -> str:
    """Return a text in double quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\x7f")


def _is_plain(text: str) -> bool:
    if text in NOTHING:
        return False
    if _PLAIN.fullmatch(text) and ": " not in text:
        return True
    yaml = YAML()
    yaml.Resolver, yaml.width = _Texts, 10**9
    yaml.default_flow_style = True
    written = io.StringIO()
    yaml.dump([text], written)
    return written.getvalue() == f"[{text}]\n" and _is_read_back(f"- {text}", text) and _is_read_back(f"[{text}]", text)


def _is_read_back(yaml_text: str, text: str) -> bool:
    """Return whether the loader of ICDs reads a list with one plain text as that text."""
    try:
        node = loader.compose(yaml_text, Loader=LOADER)
    except loader.YAMLError:
        return False
    entries = node.value if isinstance(node, loader.SequenceNode) else []
    return [(entry.value, quotes(entry)) for entry in entries] == [(text, "")]


def in_flow(value: Value) -> str:
    """Return a value on one line.

    >>> in_flow({"name": "near", "require": {"any": ["a", "b"]}})
    '{name: near, require: {any: [a, b]}}'
    """
    if isinstance(value, dict):
        return f"{{{', '.join(f'{scalar(name)}: {in_flow(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_flow, value))}]"
    return "" if value is None else scalar(value)


def after_name(name: str, value: Value, column: int) -> str:
    r"""Return what follows ``name:`` in a block whose names begin in ``column``; each line ends with a line feed.

    >>> after_name("pages", "10", 2), after_name("seeds", ["http://a.test/"], 0)
    (' 10', '\n  - http://a.test/')
    """
    flow = in_flow(value)
    is_section = isinstance(value, dict) and value and column == 0
    is_list = isinstance(value, list) and value and name in _ALWAYS_IN_LINES
    if not isinstance(value, dict | list) or not value or not (is_section or is_list or _is_wide(flow, column, name)):
        return f" {flow}"
    inner = column + 2
    if isinstance(value, dict):
        lines = (f"{scalar(key)}:{after_name(key, each, inner)}" for key, each in value.items())
    else:
        lines = (f"-{after_dash(each, inner)}" for each in value)
    return "".join(f"\n{' ' * inner}{line}" for line in lines)


def after_dash(value: Value, column: int) -> str:
    """Return what follows the dash of a list entry whose dash is in ``column``."""
    flow = in_flow(value)
    if not isinstance(value, dict) or not value or not _is_wide(flow, column, ""):
        return f" {flow}"
    inner = column + 2
    lines = (f"{scalar(key)}:{after_name(key, each, inner)}" for key, each in value.items())
    return " " + f"\n{' ' * inner}".join(lines)


def _is_wide(flow: str, column: int, name: str) -> bool:
    return column + len(name) + 2 + len(flow) > WIDEST


@dataclass(frozen=True, slots=True)
class Splice:
    """A range of the text, and its replacement."""

    start: int
    end: int
    new: str


def is_flow(node: yaml.Node) -> bool:
    """Return whether a list or mapping is written in brackets."""
    return bool(getattr(node, "flow_style", False))


def quotes(node: yaml.Node) -> str:
    """Return the sign with which a scalar begins, a quote or that of a block of lines; empty for a plain one."""
    return getattr(node, "style", None) or ""


class Layout:
    """A text of YAML; nodes must be those of PyYAML's composer for exactly this text, without anchors and tags."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def after_key(self, key: yaml.Node) -> int:
        """Return the index after the colon of a field."""
        return self.text.find(":", key.end_mark.index) + 1 or key.end_mark.index

    def dash(self, node: yaml.Node) -> int:
        """Return the index of the dash before an entry of a list."""
        return self.text.rfind("-", 0, node.start_mark.index)

    def end(self, node: yaml.Node) -> int:
        """Return the index after the content of a node, without comments and blank lines that follow."""
        if isinstance(node, yaml.ScalarNode):
            end = int(node.end_mark.index)
            return len(self.text[:end].rstrip()) if quotes(node) in {"|", ">"} else end
        if is_flow(node) or not node.value:
            return int(node.end_mark.index)
        last = node.value[-1]
        if isinstance(node, yaml.SequenceNode):
            return max(self.end(last), self.dash(last) + 1)
        return max(self.end(last[1]), self.after_key(last[0]))

    def line_start(self, index: int) -> int:
        """Return the index at which the line of an index begins."""
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """Return the index at which the line of an index ends, before its line feed."""
        found = self.text.find("\n", index)
        if found < 0:
            return len(self.text)
        return found - self.text.endswith("\r", index, found)

    def written(self, text: str) -> str:
        """Return lines with the line ends of the text."""
        return text.replace("\n", self.newline)

    def cuts(self, node: yaml.Node, kept: Collection[int]) -> list[Splice]:
        """Return the replacements that remove the fields or entries of a node that are not ``kept``; one must be."""
        spans = [self._span(node, each) for each in node.value]
        gone = [place for place in range(len(spans)) if place not in kept]
        if not is_flow(node):
            return [self._cut(spans, place) for place in gone]
        last = max(kept)
        return [self._cut_in_flow(spans, place, is_last=place > last) for place in gone]

    def _span(self, node: yaml.Node, each: "yaml.Node | tuple[yaml.Node, yaml.Node]") -> tuple[int, int]:
        if isinstance(each, tuple):
            key, value = each
            return key.start_mark.index, max(self.end(value), key.end_mark.index)
        start = each.start_mark.index
        return start if is_flow(node) else self.dash(each), max(self.end(each), start)

    def _cut(self, spans: Sequence[tuple[int, int]], place: int) -> Splice:
        start, end = spans[place]
        line = self.line_start(start)
        if self.text[line:start].strip():  # It stands behind the dash of an entry.
            return Splice(start, spans[place + 1][0] if place + 1 < len(spans) else end, "")
        after = min(self.line_end(end) + len(self.newline), len(self.text))
        if after == len(self.text) and not self.text.endswith("\n"):
            line = max(line - len(self.newline), 0)
        follows_blank = line == 0 or self.is_blank(line - 1)
        while follows_blank and after < len(self.text) and self.is_blank(after):
            after = min(self.line_end(after) + len(self.newline), len(self.text))
        return Splice(line, after, "")

    def _cut_in_flow(self, spans: Sequence[tuple[int, int]], place: int, *, is_last: bool) -> Splice:
        """Cut an entry with the comma after it, or with the one before it if no kept entry follows."""
        start, end = spans[place]
        if not is_last:
            return Splice(start, spans[place + 1][0], "")
        begin = spans[place - 1][1] if place else start
        return Splice(start if "#" in self.text[begin:start] else begin, end, "")

    def is_blank(self, index: int) -> bool:
        """Return whether the line of an index is blank."""
        return not self.text[self.line_start(index) : self.line_end(index)].strip()

    def indentation(self, index: int) -> int:
        """Return with how many spaces the line of an index begins."""
        line = self.text[self.line_start(index) : self.line_end(index)]
        return len(line) - len(line.lstrip(" "))

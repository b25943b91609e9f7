"""An ICD file as text: its values, all of them strings, and the line on which each stands.

YAML's own guesses at types are ignored: the field decides the type of a value. So ``languages: [no]`` is Norwegian, and
``title: 2024`` is a title.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NoReturn

import yaml

from online_analysis.icd.mistakes import FieldPath, IcdError, Mistake, field_name

Value = str | None | list["Value"] | dict[str, "Value"]

LARGEST = 4_000_000
DEEPEST = 24
LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NOTHING = {"", "~", "null", "Null", "NULL"}


@dataclass(slots=True)
class Source:
    """The content of one ICD file. ``data`` maps field names to strings, lists, mappings, or None for no value.

    ``what`` is what messages call it; other files that are written like ICDs are read as well.
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
        """Place a problem in the file."""
        return Mistake(self.file, self.line(path), field_name(path), problem, advice)


def read_source(
    content: bytes, file: str, what: str = "an ICD", begin: str = "`id`, `contact`, `seeds`, `topic`"
) -> Source:
    """Read an ICD's bytes. Raises IcdError where they are not readable as YAML.

    Mistakes that leave the rest readable (a field given twice) are collected in ``Source.mistakes``.
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
    if len(content) > LARGEST:
        advice = "keep long lists in files of their own (scoring.spam_hosts)"
        raise IcdError([Mistake(file, 1, "", f"is larger than {LARGEST:,} bytes", advice)])
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
    """Turns YAML events into values, remembering lines. Nesting is bounded, so is the recursion."""

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
        if len(path) > DEEPEST:
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

"""Writes values as YAML for an ICD: texts in quotes only where needed, lists on one line where they fit."""

import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Final

import yaml
import yaml as loader
from ruamel.yaml import YAML
from ruamel.yaml.resolver import VersionedResolver

from online_analysis.icd.units import format_duration
from online_analysis.icd.yaml_source import LOADER, NOTHING, Value

WIDEST: Final = 110
"""Columns of a line; longer lists are written an entry a line."""
_ALWAYS_IN_LINES: Final = frozenset({"seeds"})
_PLAIN: Final = re.compile(r"[^\W_][\w'’./?=&+~%@-]*(?::?[ :/]?[\w'’./?=&+~%@-]+)*")
"""Texts of which no parser thinks anything but that they are texts."""


class _Texts(VersionedResolver):
    """A resolver that treats every plain scalar as text, as the loader of ICDs does."""

    @property
    def versioned_resolver(self) -> Any:
        """Resolves no types from the look of scalars."""
        return {}


def plain_value(value: object) -> Value:
    """Return a value as an ICD is read: texts, lists and mappings. Raise TypeError for one that no ICD has.

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
    """Return a text so that the loader reads it back in any position, in quotes where necessary.

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
    """Return whether the loader of ICDs reads a list of one plain text, beside what YAML 1.2 says of it."""
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
    r"""Return what follows ``name:`` in a block whose names stand in a column; lines end with a line feed each.

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
    """Return what follows the dash of an entry of a list, where dashes stand in a column."""
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
    """Return whether a list or mapping stands between brackets."""
    return bool(getattr(node, "flow_style", False))


def quotes(node: yaml.Node) -> str:
    """Return the sign that a scalar begins with, a quote or that of a block of lines; empty for a plain one."""
    return getattr(node, "style", None) or ""


class Layout:
    """A text of YAML; nodes are those of PyYAML's composer for that very text, without anchors and tags."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.newline = "\r\n" if "\r\n" in text else "\n"

    def after_key(self, key: yaml.Node) -> int:
        """Return where the colon of a field ends."""
        return self.text.find(":", key.end_mark.index) + 1 or key.end_mark.index

    def dash(self, node: yaml.Node) -> int:
        """Return where the dash is behind which an entry of a list stands."""
        return self.text.rfind("-", 0, node.start_mark.index)

    def end(self, node: yaml.Node) -> int:
        """Return where the content of a node ends, without comments and blank lines that follow."""
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
        """Return where the line of an index begins."""
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """Return where the line of an index ends, before its line feed."""
        found = self.text.find("\n", index)
        if found < 0:
            return len(self.text)
        return found - self.text.endswith("\r", index, found)

    def written(self, text: str) -> str:
        """Return lines that end as those of the text do."""
        return text.replace("\n", self.newline)

    def cuts(self, node: yaml.Node, kept: Collection[int]) -> list[Splice]:
        """Return what cuts the fields or entries of a node that are not kept, of which there is one at least."""
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
        """Cut an entry with the comma after it, or with the one before it where no entry that is kept follows."""
        start, end = spans[place]
        if not is_last:
            return Splice(start, spans[place + 1][0], "")
        begin = spans[place - 1][1] if place else start
        return Splice(start if "#" in self.text[begin:start] else begin, end, "")

    def is_blank(self, index: int) -> bool:
        """Return whether nothing stands on the line of an index."""
        return not self.text[self.line_start(index) : self.line_end(index)].strip()

    def indentation(self, index: int) -> int:
        """Return how many spaces the line of an index begins with."""
        line = self.text[self.line_start(index) : self.line_end(index)]
        return len(line) - len(line.lstrip(" "))

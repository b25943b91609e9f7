"""The layout of an ICD's text: where fields and entries begin and end in it, and how they are cut out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import yaml


@dataclass(frozen=True, slots=True)
class Splice:
    """A stretch of text, and what is to stand in its place."""

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

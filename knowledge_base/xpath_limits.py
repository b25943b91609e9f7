"""Refuses to evaluate expressions that would take too much work on a page; the same ones on every machine."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from lxml import etree
from lxml.html import HtmlElement

from knowledge_base.xpath_cost import BYTES_OF_NODE, DEEP, MAX_WORK, Form, Length, Shape, form_of
from knowledge_base.xpath_syntax import Call, Expression, Literal, Operation, Path, XPathStep

_size = etree.XPath("count(descendant-or-self::*)")
_part = etree.XPath(f"count(descendant-or-self::*) + string-length() div {BYTES_OF_NODE}")
_deep = etree.XPath("boolean(self::*" + DEEP * "/*" + ")")


class TooCostlyError(etree.XPathError):
    """Raised, before it is evaluated, for an expression that would take too much work on a page."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """A page that was measured: its shape, and its numbers of elements by name, class word and id."""

    shape: Shape
    names: Counter[str]
    classes: Counter[str]
    ids: Counter[str]

    def most(self, step: XPathStep) -> int | None:
        """Return how many elements a step can find, None where neither a name nor a condition limits it."""
        known = [] if step.test.endswith(("*", "()")) else [self.names[step.test]]
        for predicate in step.predicates:
            known += self._asked(predicate)
        return min(known, default=None)

    def _asked(self, predicate: Expression) -> Iterable[int]:
        """Yield the number of elements with each class or id that a condition requires."""
        match predicate:
            case Operation("and", left, right):
                yield from self._asked(left)
                yield from self._asked(right)
            case Operation("=", Path((XPathStep("attribute", "id", ()),), False, None), Literal(value)):
                yield self.ids[value]
            case Call("contains", (Call("concat", (Literal(" "), _, Literal(" "))), Literal(word))) if _is_word(word):
                if _reads_class(predicate):
                    yield self.classes[word[1:-1]]


def _bytes(text: str | None) -> int:
    """Return the length of a text in UTF-8, which the engine uses."""
    if not text:
        return 0
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _is_word(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == " " and " " not in text[1:-1]


def _reads_class(test: Call) -> bool:
    """Return whether a test for a word is one of the words of the context node's class."""
    match test.arguments[0]:
        case Call("concat", (_, Call("normalize-space", (read,)), _)) | Call("concat", (_, read, _)):
            match read:
                case Path((XPathStep("attribute", "class", ()),), False, None, ()):
                    return True
    return False


class Limits:
    """Decides whether expressions may be evaluated on one page. The page is measured when that is first in doubt."""

    def __init__(self, root: HtmlElement, length: int = 0) -> None:
        """Take the document element, and the length of the page's source in bytes."""
        self._root = root
        self._length = length
        self._size = 0
        self._is_deep = False
        self._measured: _Measured | None = None
        self._worked: dict[tuple[str, int], int] = {}

    def check(self, source: str, context: HtmlElement) -> None:
        """Raise ``TooCostlyError`` where an expression must not be evaluated at an element of the page."""
        size = self._size or self._sized()
        form = form_of(source)
        if size <= max(form.few, form.least) or (size <= form.shallow and not self._is_deep):
            return
        work = self._work(source, form, context)
        if work > MAX_WORK:
            raise TooCostlyError(f"may look at {work:,} nodes, of {MAX_WORK:,}: {source[:200]}")

    def work(self, source: str, context: HtmlElement) -> int:
        """Return the maximum number of nodes that an expression visits when evaluated at an element of the page."""
        return self._work(source, form_of(source), context)

    def _work(self, source: str, form: Form, context: HtmlElement) -> int:
        within = self._within(form, context)
        if (source, within) not in self._worked:
            self._worked[source, within] = form.work(self._shape(within))
        return self._worked[source, within]

    def _sized(self) -> int:
        self._size = int(_size(self._root)) + self._length // BYTES_OF_NODE
        self._is_deep = bool(_deep(self._root))
        return self._size

    def _within(self, form: Form, context: HtmlElement) -> int:
        """Return the number of nodes reachable from a context, rounded up; 0 for the whole page."""
        if context is self._root or not form.is_downward:
            return 0
        return 1 << int(_part(context)).bit_length()

    def _shape(self, within: int) -> Shape:
        self._measured = self._measured or _measured(self._root, self._length // BYTES_OF_NODE)
        shape = replace(self._measured.shape, count=self._measured.most)
        return shape.part(within) if within else shape


def _measured(root: HtmlElement, texts: int) -> _Measured:
    """Measure all elements of a page; ``texts`` is the number of nodes that its text counts for."""
    names, classes, ids = Counter[str](), Counter[str](), Counter[str]()
    values, longest = Counter[str](), dict[str, int]()
    text = text_depths = 0
    children = [0]
    depths = beside = deepest = siblings = 0
    for event, element in etree.iterwalk(root, events=("start", "end")):
        if event == "end":
            number = children.pop()
            beside, siblings = beside + number * number, max(siblings, number)
            continue
        if not isinstance(element.tag, str):
            children.append(0)
            behind = _bytes(element.tail)
            text, text_depths = text + behind, text_depths + behind * len(children)
            continue
        for attribute, value in element.items():
            length = _bytes(value)
            values[attribute] += length
            if length > longest.get(attribute, 0):
                longest[attribute] = length
            if attribute == "class":
                for word in set(value.split()):
                    classes[word] += 1
        inside, behind = _bytes(element.text), _bytes(element.tail)
        text += inside + behind
        text_depths += inside * len(children) + behind * (len(children) - 1)
        names[element.tag] += 1
        ids[element.get("id") or ""] += 1
        children[-1] += 1
        depths += len(children)
        deepest = max(deepest, len(children))
        children.append(0)
    size, name = names.total(), max(map(_bytes, names), default=0)
    whole = Length(values.total(), max(longest.values(), default=0))
    shape = Shape(
        size + texts,
        deepest,
        siblings,
        depths + texts * depths // max(1, size),
        beside + texts * max(1, siblings),
        Length(text_depths, text),
        Length(name * size, name),
        lambda named: whole if named == "*" else Length(values[named], longest.get(named, 0)),
    )
    return _Measured(shape, names, classes, ids)

"""Refuses to evaluate expressions that would take too much work on a page; the same ones on every machine."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import accumulate
from typing import Final

from lxml import etree
from lxml.html import HtmlElement

from knowledge_base.literals import MAX_REMEMBERED
from knowledge_base.xpath_syntax import Call, Expression, Literal, Number, Operation, Path, XPathStep, parse

SEARCHES: Final = frozenset({"contains", "substring-before", "substring-after"})
PRODUCTS: Final = SEARCHES | {"concat", "translate"}
"""Functions whose work is a product of the lengths of texts."""

_TRANSLATED: Final = 3
"""Characters of the second text of ``translate`` that a character of the first is compared with in a unit of work."""
_COPIED: Final = 24
"""Bytes that ``concat`` passes over in a unit: it looks for the end of what there is before it adds each part."""
_SEARCHED: Final = 10
"""Bytes that are compared in a unit where a search has begun to match."""
_ALIKE: Final = 16
"""Bytes of texts that begin alike which are compared in a unit."""
_NUMBER: Final = 32
"""Bytes of a number or a truth value as text."""
_MAX_CHARACTER_LENGTH: Final = 4
_LIKE_FIRST: Final = frozenset({"string", "normalize-space", "substring", "substring-before", "substring-after"})


@dataclass(frozen=True, slots=True)
class TextBytes:
    """Texts that result from an expression: bytes for all contexts together, and ``most`` for one of them.

    ``literal`` is the text where it is always the same.
    """

    total: int
    most: int
    literal: str | None = None

    @classmethod
    def of_literal(cls, value: str, contexts: int) -> "TextBytes":
        """Return a constant text for all contexts."""
        size = len(value.encode("utf-8", "surrogatepass"))
        return cls(size * contexts, size, value)

    @classmethod
    def of_number(cls, contexts: int) -> "TextBytes":
        """Return the text of a number or a truth value."""
        return cls(_NUMBER * contexts, _NUMBER)


def product(name: str, texts: Sequence[TextBytes]) -> int:
    """Return the units of work of calls of a function, as the product of the lengths of its texts."""
    if len(texts) < 2:
        return 0
    if name == "concat":
        return sum(accumulate(each.total for each in texts)) // _COPIED
    if name == "translate":
        return texts[0].total * texts[1].most // _TRANSLATED
    return texts[0].total * _begun(texts[1], texts[0].most) // _SEARCHED if name in SEARCHES else 0


def compared(left: TextBytes, lefts: int, right: TextBytes, rights: int) -> int:
    """Return the units of work to compare each left text with each right one, assuming that they begin alike."""
    return min(left.total * rights, right.total * lefts) // _ALIKE


def result(name: str, texts: Sequence[TextBytes], contexts: int) -> TextBytes:
    """Return the text that results from calls of a function."""
    if name == "concat":
        return TextBytes(sum(each.total for each in texts), sum(each.most for each in texts))
    if name in _LIKE_FIRST and texts:
        return TextBytes(texts[0].total, texts[0].most)
    if name == "translate" and texts:
        into = texts[-1].literal
        longer = 1 if into is not None and into.isascii() else _MAX_CHARACTER_LENGTH
        return TextBytes(longer * texts[0].total, longer * texts[0].most)
    return TextBytes.of_number(contexts)


def _begun(sought: TextBytes, most: int) -> int:
    """Return at how many places at once a search may have begun to match; each compares the same byte again."""
    if sought.literal is not None:
        return sought.literal.count(sought.literal[:1]) if sought.literal else 0
    return min(sought.most, most)


MAX_WORK: Final = 100_000_000
"""Nodes that one evaluation may look at: one to two seconds on a common machine, for which an event loop may wait."""

BYTES_OF_NODE: Final = 64
"""Bytes of a page's source that count as one more node: long texts take time as well."""

FEW_NODES: Final = 300
"""Nodes of a page on which anything may be evaluated that does not multiply texts."""

DEEP: Final = 50
"""The depth of elements beyond which a page is deep."""

COMPARISONS: Final = 16
"""Comparisons of nodes that take as long as one look at a node."""

_SIZES: Final = tuple(round(500 * 1.5**power) for power in range(20))
"""The sizes of pages for which an expression's worst case is worked out; the smallest is that of few elements."""

_VALUES: Final = frozenset({"attribute", "namespace"})
_DISTINCT: Final = _VALUES | {"self", "child"}
"""The axes whose nodes are different ones for different context nodes."""

_DOWNWARD: Final = _DISTINCT | {"descendant", "descendant-or-self"}

_OF_TEXTS: Final = frozenset(
    (
        *("string", "concat", "starts-with", "contains", "substring-before", "substring-after", "substring", "number"),
        *("string-length", "normalize-space", "translate", "sum", "floor", "ceiling", "round"),
    )
)
"""Functions that read the whole text of the nodes they are given."""
_OF_CONTEXT: Final = frozenset({"string", "string-length", "normalize-space", "number"})
"""Functions that read the context node's text if they are given nothing."""
_COMPARED: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})


_NAMES: Final = frozenset({"name", "local-name", "namespace-uri"})


@dataclass(frozen=True, slots=True)
class Length:
    """The length in bytes of the texts of some nodes: of all nodes, each once (``total``), and of the longest."""

    total: int
    longest: int


def _unknown(_: XPathStep) -> int | None:
    return None


@dataclass(frozen=True, slots=True)
class PageShape:
    """The properties of a page, or of a subtree, on which the cost of expressions depends.

    ``size`` is the number of nodes, ``depth`` the greatest depth, ``siblings`` the most children of a node; ``depths``
    is the sum of the depths of all nodes, ``beside`` that of the numbers of their siblings. ``texts`` is the length of
    what elements contain, ``names`` that of their names, and ``values`` returns that of the attributes of a name.
    ``count`` returns how many nodes on the page a step can find at most, None where that is not known.
    """

    size: int
    depth: int
    siblings: int
    depths: int
    beside: int
    texts: Length
    names: Length
    values: Callable[[str], Length]
    count: Callable[[XPathStep], int | None] = field(default=_unknown)

    @classmethod
    def worst(cls, size: int, depth: int) -> "PageShape":
        """Return the shape of a page of which only size and depth are known, assuming the worst."""
        whole = Length(BYTES_OF_NODE * size, BYTES_OF_NODE * size)
        texts = Length(BYTES_OF_NODE * size * depth, BYTES_OF_NODE * size)
        return cls(size, depth, size, size * depth, size * size, texts, whole, lambda _: whole)

    def part(self, size: int) -> "PageShape":
        """Return the shape of a part of the page with so many nodes."""
        size = min(size, self.size)
        depth, siblings = min(size, self.depth), min(size, self.siblings)
        depths, beside = min(self.depths, size * depth), min(self.beside, size * siblings)
        longest = min(self.texts.longest, BYTES_OF_NODE * size)
        texts = Length(min(self.texts.total, longest * depth), longest)
        return PageShape(size, depth, siblings, depths, beside, texts, self.names, self.values, self.count)


@dataclass(frozen=True, slots=True)
class _Nodes:
    """Nodes that result from an expression for all of its contexts together.

    ``number`` counts a node once for each context that it results from, at most ``times``. Only attributes have texts
    of known length, which is ``values``.
    """

    number: int
    times: int
    values: Length | None = None


@dataclass(frozen=True, slots=True)
class _Contexts:
    """The nodes at which an expression is evaluated; none of them more than ``times``."""

    number: int
    times: int


class _Meter:
    """Adds up the work of an expression on a page of some shape."""

    def __init__(self, shape: PageShape) -> None:
        self._shape = shape
        self.work = 0
        self.products = 0
        """How much of the work is that of functions that multiply the lengths of texts."""

    def read(self, expression: Expression, at: _Contexts) -> _Nodes | TextBytes:
        """Add the work of an expression; return its nodes, or its text where its value is no node set."""
        match expression:
            case Path():
                return self._path(expression, at)
            case Operation():
                return self._operation(expression, at)
            case Call():
                return self._call(expression, at)
            case Literal(value):
                return TextBytes.of_literal(value, at.number)
        return TextBytes.of_number(at.number)

    def _path(self, path: Path, at: _Contexts) -> _Nodes:
        nodes = _Nodes(at.number, at.number if path.absolute else at.times)
        if path.base is not None:
            base = self.read(path.base, at)
            nodes = base if isinstance(base, _Nodes) else nodes
            for predicate in path.chosen:
                nodes = self._filtered(nodes, predicate, at.number)
        steps = path.steps
        if path.absolute and steps and steps[0].axis == "child":
            nodes, steps = self._root(steps[0], nodes), steps[1:]
        for step in steps:
            nodes = self._step(step, nodes, at.number)
        return nodes

    def _root(self, step: XPathStep, nodes: _Nodes) -> _Nodes:
        """Add the work of a first step to the document element, of which there is one."""
        self.work += nodes.number
        for predicate in step.predicates:
            nodes = self._filtered(nodes, predicate, nodes.number)
        return nodes

    def _step(self, step: XPathStep, nodes: _Nodes, contexts: int) -> _Nodes:
        shape = self._shape
        looked, times = self._axis(step.axis, nodes)
        self.work += looked
        known = shape.count(step) if step.axis not in _VALUES else None
        size = shape.size if known is None else known
        values = shape.values(step.test) if step.axis in _VALUES else None
        found = _Nodes(min(looked, nodes.number * size, times * size), times, values)
        if step.axis in _VALUES and step.test != "*":
            found = _Nodes(nodes.number, nodes.times, values)
        for predicate in step.predicates:
            found = self._filtered(found, predicate, nodes.number)
        if nodes.number <= contexts or step.axis in _DISTINCT:
            return found
        united = min(found.number, contexts * size)
        self.work += found.number * min(united, size) // COMPARISONS
        return _Nodes(united, min(found.times, contexts), found.values)

    def _axis(self, axis: str, nodes: _Nodes) -> tuple[int, int]:
        """Return how many nodes are visited from given ones, and how often each at most."""
        shape, number, times = self._shape, nodes.number, nodes.times
        match axis:
            case "self" | "parent":
                return number, min(number, times if axis == "self" else times * shape.siblings)
            case "attribute" | "namespace":
                return 8 * number, 8 * times
            case "child":
                return min(number * shape.siblings, times * shape.size), times
            case "descendant" | "descendant-or-self":
                return number + min(number * shape.size, times * shape.depths), min(number, times * shape.depth)
            case "ancestor" | "ancestor-or-self":
                return number + min(number * shape.depth, times * shape.depths), number
            case "following-sibling" | "preceding-sibling":
                looked = min(number * shape.siblings, times * shape.beside)
                return looked, min(number, times * shape.siblings)
        return number * shape.size, number

    def _filtered(self, nodes: _Nodes, predicate: Expression, sources: int) -> _Nodes:
        """Add the work of a predicate at nodes found from ``sources`` others; return the nodes that may remain."""
        if isinstance(predicate, Number) or (isinstance(predicate, Call) and predicate.name == "last"):
            return _Nodes(min(nodes.number, sources), min(nodes.times, sources), nodes.values)
        self.work += nodes.number
        self.read(predicate, _Contexts(nodes.number, nodes.times))
        return nodes

    def _operation(self, operation: Operation, at: _Contexts) -> _Nodes | TextBytes:
        left, right = self.read(operation.left, at), self.read(operation.right, at)
        texts = [self._read(each) for each in (left, right)] if operation.operator in _COMPARED else []
        if not isinstance(left, _Nodes) or not isinstance(right, _Nodes) or not at.number:
            return TextBytes.of_number(at.number)
        if operation.operator == "|":
            self.work += left.number * right.number // at.number // COMPARISONS
            number, times = left.number + right.number, left.times + right.times
            return _Nodes(number, min(times, at.number), _longer(left.values, right.values))
        if texts:
            self.work += left.number * right.number // at.number
            self._multiply(compared(texts[0], left.number, texts[1], right.number) // at.number)
        return TextBytes.of_number(at.number)

    def _call(self, call: Call, at: _Contexts) -> _Nodes | TextBytes:
        given = [self.read(argument, at) for argument in call.arguments]
        if call.name in _OF_CONTEXT and not given:
            given = [_Nodes(at.number, at.times)]
        texts: list[TextBytes] = []
        if call.name in _OF_TEXTS:
            texts = [self._read(each if call.name == "sum" else _first(each, at)) for each in given]
        self._multiply(product(call.name, texts))
        if call.name == "id":
            return _Nodes(at.number, at.number)
        if call.name in _NAMES:
            return TextBytes(at.number * self._shape.names.longest, self._shape.names.longest)
        return result(call.name, texts, at.number)

    def _multiply(self, units: int) -> None:
        self.products += units
        self.work += units

    def _read(self, value: _Nodes | TextBytes) -> TextBytes:
        """Return the texts of nodes, and add the work of reading them."""
        if isinstance(value, TextBytes):
            return value
        length = value.values or self._shape.texts
        below = min(value.number * self._shape.size, value.times * self._shape.depths)
        self.work += value.number + (below if value.values is None else 0)
        return TextBytes(min(value.number * length.longest, value.times * length.total), length.longest)


def _longer(one: Length | None, other: Length | None) -> Length | None:
    """Return the length of attributes of either name, None where some nodes are not attributes."""
    if one is None or other is None:
        return None
    return Length(one.total + other.total, max(one.longest, other.longest))


def _first(value: _Nodes | TextBytes, at: _Contexts) -> _Nodes | TextBytes:
    """Return one node for each context: the first, as conversion to text uses only that."""
    if isinstance(value, TextBytes):
        return value
    return _Nodes(min(value.number, at.number), min(value.times, at.number), value.values)


def evaluation_cost(expression: Expression, shape: PageShape) -> int:
    """Return the maximum number of nodes visited by evaluating an expression at one node of a page."""
    meter = _Meter(shape)
    meter.read(expression, _Contexts(1, 1))
    return meter.work


@dataclass(frozen=True, slots=True)
class ExpressionForm:
    """What the form of an expression alone tells of its cost: ``expression`` is None where that is nothing.

    The expression may be evaluated on pages of any shape up to ``least`` nodes, and on pages that are not deep up to
    ``shallow`` nodes; on pages of ``few`` nodes it always may.
    """

    expression: Expression | None
    least: int
    shallow: int
    few: int = 0

    @property
    def is_downward(self) -> bool:
        """Return whether only the context node and its descendants are visited."""
        return self.expression is not None and _is_downward(self.expression)

    def work(self, shape: PageShape) -> int:
        """Return the maximum number of nodes that the expression visits on a page."""
        return shape.size**2 if self.expression is None else evaluation_cost(self.expression, shape)


def _is_downward(expression: Expression) -> bool:
    match expression:
        case Path(steps, absolute, base, chosen):
            inner = (*chosen, *(each for step in steps for each in step.predicates), base)
            down = not absolute and all(step.axis in _DOWNWARD for step in steps)
            return down and all(each is None or _is_downward(each) for each in inner)
        case Operation(_, left, right):
            return _is_downward(left) and _is_downward(right)
        case Call(name, arguments):
            return name != "id" and all(map(_is_downward, arguments))
    return True


@lru_cache(MAX_REMEMBERED)
def form_of(source: str) -> ExpressionForm:
    """Return the form of an expression.

    >>> [form_of(source).least for source in ("//a[@href]", "//a//b", "//a[count(//b[//c]) > 1]")]
    [1108419, 1125, 0]
    """
    try:
        expression = parse(source)
    except ValueError:
        expression = None
    unlimited = ExpressionForm(expression, 0, 0)
    few = FEW_NODES if expression is None or _products(expression) <= MAX_WORK else 0
    return ExpressionForm(expression, _largest(unlimited, lambda size: size), _largest(unlimited, lambda _: DEEP), few)


def _products(expression: Expression) -> int:
    """Return the maximum work of multiplying lengths of texts on a page of few nodes."""
    meter = _Meter(PageShape.worst(FEW_NODES, FEW_NODES))
    meter.read(expression, _Contexts(1, 1))
    return meter.products


def _largest(form: ExpressionForm, depth: Callable[[int], int]) -> int:
    """Return the largest of some page sizes up to which an expression may be evaluated, 0 if there is none."""

    def is_too_much(size: int) -> bool:
        return form.work(PageShape.worst(size, min(depth(size), size))) > MAX_WORK

    number = bisect_left(_SIZES, True, key=is_too_much)
    return _SIZES[number - 1] if number else 0


_size = etree.XPath("count(descendant-or-self::*)")
_part = etree.XPath(f"count(descendant-or-self::*) + string-length() div {BYTES_OF_NODE}")
_deep = etree.XPath("boolean(self::*" + DEEP * "/*" + ")")


class TooCostlyError(etree.XPathError):
    """Raised, before it is evaluated, for an expression that would take too much work on a page."""


@dataclass(frozen=True, slots=True)
class _Measured:
    """A page that was measured: its shape, and its numbers of elements by name, class word and id."""

    shape: PageShape
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

    def _work(self, source: str, form: ExpressionForm, context: HtmlElement) -> int:
        within = self._within(form, context)
        if (source, within) not in self._worked:
            self._worked[source, within] = form.work(self._shape(within))
        return self._worked[source, within]

    def _sized(self) -> int:
        self._size = int(_size(self._root)) + self._length // BYTES_OF_NODE
        self._is_deep = bool(_deep(self._root))
        return self._size

    def _within(self, form: ExpressionForm, context: HtmlElement) -> int:
        """Return the number of nodes reachable from a context, rounded up; 0 for the whole page."""
        if context is self._root or not form.is_downward:
            return 0
        return 1 << int(_part(context)).bit_length()

    def _shape(self, within: int) -> PageShape:
        self._measured = self._measured or _measured(self._root, self._length // BYTES_OF_NODE)
        shape = replace(self._measured.shape, count=self._measured.most)
        return shape.part(within) if within else shape


def _measured(root: HtmlElement, texts: int) -> _Measured:
    """Measure all elements of a page; ``texts`` is the number of nodes that its text counts for."""
    tags, words, keys = list[str](), list[str](), list[str]()
    given = dict[str, list[int]]()
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
            length = len(value) if value.isascii() else _bytes(value)
            if attribute in given:
                given[attribute].append(length)
            else:
                given[attribute] = [length]
            if attribute == "class":
                words += set(value.split())
            elif attribute == "id":
                keys.append(value)
        inside, behind = _bytes(element.text), _bytes(element.tail)
        text += inside + behind
        text_depths += inside * len(children) + behind * (len(children) - 1)
        tags.append(element.tag)
        children[-1] += 1
        depths += len(children)
        deepest = max(deepest, len(children))
        children.append(0)
    names, classes, ids = Counter(tags), Counter(words), Counter(keys)
    ids[""] += len(tags) - len(keys)
    values = {attribute: Length(sum(lengths), max(lengths)) for attribute, lengths in given.items()}
    size, name = len(tags), max(map(_bytes, names), default=0)
    whole = Length(
        sum(each.total for each in values.values()), max((each.longest for each in values.values()), default=0)
    )
    shape = PageShape(
        size + texts,
        deepest,
        siblings,
        depths + texts * depths // max(1, size),
        beside + texts * max(1, siblings),
        Length(text_depths, text),
        Length(name * size, name),
        lambda named: whole if named == "*" else values.get(named, Length(0, 0)),
    )
    return _Measured(shape, names, classes, ids)

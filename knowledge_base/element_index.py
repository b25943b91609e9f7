"""Index the elements of a page by their classes and ids, and evaluate expressions where such elements are."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count, islice, pairwise

from lxml import etree
from lxml.html import HtmlElement

from knowledge_base.literals import MAX_REMEMBERED, branches, masked, predicates, without_negations
from knowledge_base.xpath_limits import Limits

MAX_INDEXED = 50_000
"""Elements of a document beyond which it has no index: hostile or broken, and searched within bounds by others."""

CLASS, ID = "class", "id"
_BLANKS = re.compile("[ \t\r\n]+")
"""The separators between the words of an attribute in XPath; other white space is part of a word."""


_MAX_KEPT_LENGTH = 200
"""Characters of a class whose words are remembered: pages of a site have the same few."""


def _split(value: str) -> frozenset[str]:
    return frozenset(_BLANKS.split(value))


_words = lru_cache(16_384)(_split)
_size = etree.XPath("count(descendant-or-self::*)")


class Elements:
    """An index of the elements of one document by the words of their class and by their id.

    The document is scanned once, at the first look-up; it must not change after that.
    """

    def __init__(self, root: HtmlElement, length: int = 0) -> None:
        """Take the document element, and the length of the page's source in bytes."""
        self._root = root
        self.limits = Limits(root, length)
        self._spans: dict[HtmlElement, tuple[int, int] | None] = {}
        self._ends: dict[HtmlElement, int] = {}
        self._found: dict[tuple[str, str], Sequence[int]] = {}

    @cached_property
    def _all(self) -> list[HtmlElement]:
        found = list(islice(self._root.iter("*"), MAX_INDEXED + 1))
        return found if len(found) <= MAX_INDEXED else []

    @cached_property
    def _places(self) -> dict[HtmlElement, int]:
        return dict(zip(self._all, count(), strict=False))

    @cached_property
    def _values(self) -> dict[str, dict[str, list[int]]]:
        """The places of elements by attribute and its value as written."""
        found: dict[str, dict[str, list[int]]] = {CLASS: {}, ID: {}}
        for attribute, places in found.items():
            for place, value in enumerate([element.get(attribute) for element in self._all]):
                if value is None:
                    continue
                if value in places:
                    places[value].append(place)
                else:
                    places[value] = [place]
        return found

    def size(self, element: HtmlElement) -> int:
        """Return the number of elements in a subtree, its root included."""
        span = self._spans[element] if element in self._spans else self._spanned(element)
        return int(_size(element)) if span is None else span[1] - span[0] + 1

    @cached_property
    def _words(self) -> dict[str, list[str]]:
        """The class values that contain each word."""
        found: dict[str, list[str]] = {}
        for value in self._values[CLASS]:
            for word in _words(value) if len(value) <= _MAX_KEPT_LENGTH else _split(value):
                found.setdefault(word, []).append(value)
        return found

    def may_hold(self, attribute: str, value: str) -> bool:
        """Return whether some element may have a class word, or an id; always True for large documents."""
        return not self._all or bool(self._of(attribute, value))

    def order(self, found: Sequence[HtmlElement]) -> list[HtmlElement] | None:
        """Return elements in document order, each once; None where one is not in the document."""
        places = self._places
        if any(element not in places for element in found):
            return None
        return sorted(set(found), key=places.__getitem__)

    def within(self, context: HtmlElement, attribute: str, value: str) -> Sequence[HtmlElement] | None:
        """Return the descendants of an element with a class word or an id, in document order.

        None where the element is not in the document.
        """
        span = self._spans[context] if context in self._spans else self._spanned(context)
        if span is None:
            return None
        places = self._of(attribute, value)
        if not places:
            return ()
        first, end = bisect_left(places, span[0]), bisect_left(places, span[1])
        return [self._all[place] for place in places[first:end]]

    def anywhere(self, context: HtmlElement, attribute: str, value: str) -> Sequence[HtmlElement] | None:
        """Return all elements of the document with a class word or an id.

        None where the context is not in the document.
        """
        return [self._all[place] for place in self._of(attribute, value)] if context in self._places else None

    def are_apart(self, found: Sequence[HtmlElement]) -> bool:
        """Return whether none of some elements contains another; they must be in document order."""
        spans = [self._spans[each] if each in self._spans else self._spanned(each) for each in found]
        return all(a is not None and b is not None and a[1] < b[0] for a, b in pairwise(spans))

    def _of(self, attribute: str, value: str) -> Sequence[int]:
        found = self._found.get((attribute, value))
        if found is None:
            values = self._values[attribute]
            if attribute == ID:
                found = values.get(value, ())
            else:
                held = self._words.get(value, ())
                found = values[held[0]] if len(held) == 1 else sorted(place for each in held for place in values[each])
            self._found[attribute, value] = found
        return found

    def _spanned(self, context: HtmlElement) -> tuple[int, int] | None:
        """Return the places of the first descendant of an element and of the first element after it."""
        start = self._places.get(context)
        span = (start + 1, self._end(context)) if start is not None else None
        self._spans[context] = span
        return span

    def _end(self, element: HtmlElement) -> int:
        """Return the place of the first element after an element's subtree; each result is computed once."""
        last: list[HtmlElement] = []
        step: HtmlElement | None = element
        end = len(self._all)
        while step is not None:
            if step in self._ends:
                end = self._ends[step]
                break
            following = _behind(step)
            if following is not None:
                end = self._ends[step] = self._places[following]
                break
            last.append(step)
            step = step.getparent()
        self._ends.update(dict.fromkeys(last, end))
        return end


def _behind(element: HtmlElement) -> HtmlElement | None:
    """Return the next sibling element, skipping comments."""
    following = element.getnext()
    while following is not None and not isinstance(following.tag, str):
        following = following.getnext()
    return following


Node = HtmlElement | str

_FIRST = re.compile(r"\s*(descendant::|\.//|//)(\*|[a-z][a-z0-9]*)(?=\[)")
_PATH = re.compile(r"(?:/{1,2}(?:[a-z-]+::)?@?(?:\*|[\w-]+(?:\(\))?|\.\.?))*")
_DOWNWARD = re.compile(
    r"(?:/{1,2}(?:(?:child|descendant|descendant-or-self|self|attribute)::)?@?(?:\*|[\w-]+(?:\(\))?|\.))*"
)
_CLASS = r"contains\(concat\(' ', normalize-space\(@class\), ' '\), ' (?P<word>[^\s']+) '\)"
_ID = r"@id ?= ?(?:'(?P<single>[^']*)'|\"(?P<double>[^\"]*)\")"
_CLASS_TEST = re.compile(_CLASS)
_PLAIN_CLASS = re.compile(rf"(?:@class and contains\(@class, '(?P<same>[^\s']+)'\) and )?{_CLASS}")
_PLAIN_ID = re.compile(_ID)
_PART = re.compile(rf"(?:^|\band\s|(?<![\w-])\()\s*(?:{_CLASS}|{_ID})(?=\s*(?:$|\)|and\b))")
"""A test for a class or an id that has to hold for the whole predicate to hold."""

_OWN = re.compile(r"\s*(?:\./)?@([a-z][\w-]*)\s*", re.ASCII)
_BELOW = re.compile(r"//((?:\*|[A-Za-z_][\w-]*)(?=\[))")
_COMPARED = re.compile(r"\)\s*[=<>!]")
_UNDECIDED = re.compile(r"\bor\b|\||!=|[<>]")
_COUNTS = re.compile(r"\b(?:position|last)\s*\(")
_BRACKETED = re.compile(r"\([^()]*\)")
_ARITHMETIC = re.compile(r"[+]|\s-|\b(?:div|mod)\b|[^/:@\s(]\s*\*")
_OPERATED = re.compile(r"\s(?:and|or)\s|[=<>]")
_TRUE_OR_FALSE = re.compile(r"(?:contains|starts-with|not|boolean|true|false|lang)#")
_NODE = r"(?:[a-z-]+::)?@?(?:text#|node#|\*|[A-Za-z_][\w-]*|\.\.?)"
_NODES = re.compile(rf"/{{0,2}}{_NODE}(?:/{{1,2}}{_NODE})*")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A path whose first step finds elements by a word of their class or by their id.

    ``tag`` is the required name of the elements, where the step has no other condition. ``rest`` goes on from them,
    beginning with the other conditions of the first step; None where they are the result. ``downward`` says that the
    rest finds nothing outside of them.
    """

    attribute: str
    value: str
    tag: str
    absolute: bool
    rest: etree.XPath | None
    downward: bool

    def found(self, context: HtmlElement, elements: Elements) -> Sequence[Node] | None:
        """Return the result of the path, None where it has to be evaluated in another way."""
        where = elements.anywhere if self.absolute else elements.within
        begun = where(context, self.attribute, self.value)
        if not begun:
            return begun
        if self.tag != "*":
            begun = [element for element in begun if element.tag == self.tag]
        if self.rest is None:
            return begun
        if len(begun) == 1:
            found: list[Node] = self.rest(begun[0])
            return found
        if not self.downward or not elements.are_apart(begun):
            return None
        return [node for element in begun for node in self.rest(element)]


@dataclass(frozen=True, slots=True)
class OwnAttribute:
    """A path to an attribute of the context node, which needs no engine."""

    name: str

    def found(self, context: HtmlElement, _: Elements) -> Sequence[Node]:
        """Return the value of the attribute; nothing where the node has none."""
        value = context.get(self.name)
        return () if value is None else (value,)


def look_up(source: str, context: HtmlElement, elements: Elements) -> list[Node] | None:
    """Return the result of an expression, None where it has to be evaluated in another way.

    Raises `lxml.etree.XPathError` for an expression that fails on this page.
    """
    ways = _ways(source)
    if not ways:
        return None
    found: list[Sequence[Node]] = []
    for way in ways:
        if isinstance(way, etree.XPath):
            nodes = way(context)
        else:
            nodes = way.found(context, elements)
            if nodes is None:
                return None
        if nodes:
            found.append(nodes)
    if len(found) == 1:
        return list(found[0])
    return _united(found, elements) if found else []


@lru_cache(MAX_REMEMBERED)
def first_asked(source: str) -> tuple[tuple[str, str] | None, ...]:
    """Return, for each branch of an expression, the attribute and value that it asks for first, None for neither.

    Empty where no branch asks for any.
    """
    return tuple((way.attribute, way.value) if isinstance(way, Lookup) else None for way in _ways(source))


def _united(found: Iterable[Sequence[Node]], elements: Elements) -> list[Node] | None:
    united: list[HtmlElement] = []
    for nodes in found:
        for node in nodes:
            if not isinstance(node, HtmlElement):
                return None
            united.append(node)
    ordered = elements.order(united)
    return list(ordered) if ordered is not None else None


@lru_cache(MAX_REMEMBERED)
def _ways(source: str) -> tuple[Lookup | OwnAttribute | etree.XPath, ...]:
    """Return the way to evaluate each branch of an expression; empty where no branch can be looked up."""
    own = _OWN.fullmatch(source)
    if own is not None:
        return (OwnAttribute(own[1]),)
    ways = [_way(branch.strip()) or branch for branch in branches(source)]
    if not any(isinstance(way, Lookup) for way in ways):
        return ()
    return tuple(compiled(way) if isinstance(way, str) else way for way in ways)


def _way(branch: str) -> Lookup | None:
    """Return the lookup of one path, None where its first step does not name a class or an id."""
    first = _FIRST.match(branch)
    if first is None:
        return None
    hidden = masked(branch)
    spans = predicates(hidden)
    own = _own(spans, first.end())
    end = own[-1][1] + 1
    flat = _flat(hidden, spans, end)
    if _PATH.fullmatch(flat) is None or not all(_is_truth(hidden[a:b]) for a, b in own):
        return None
    key = next(filter(None, (_key(branch[a:b], hidden[a:b]) for a, b in own)), None)
    if key is None:
        return None
    rest, asked = branch[end:], branch[own[0][0] - 1 : end]
    alone = len(own) == 1 and _is_plain(branch[own[0][0] : own[0][1]])
    path = (f".{rest}" if rest else "") if alone else f"self::{first[2]}{asked}{rest}"
    tag = first[2] if alone else "*"
    downward = _DOWNWARD.fullmatch(flat) is not None
    return Lookup(*key, tag, first[1] == "//", compiled(path) if path else None, downward)


def _own(spans: Iterable[tuple[int, int]], start: int) -> list[tuple[int, int]]:
    """Return those of all predicates that are of the first step."""
    own: list[tuple[int, int]] = []
    for begin, end in spans:
        if begin - 1 != start:
            break
        own.append((begin, end))
        start = end + 1
    return own


def _flat(hidden: str, spans: Iterable[tuple[int, int]], end: int) -> str:
    """Return the rest of a path without its predicates."""
    kept, at = "", end
    for begin, close in spans:
        if begin > at:
            kept += hidden[at : begin - 1]
            at = close + 1
    return kept + hidden[at:]


def _is_truth(hidden: str) -> bool:
    """Return whether a predicate is a truth value independent of the element's position; False in doubt."""
    if _COUNTS.search(hidden):
        return False
    top = _without_nested(hidden).replace("[]", "")
    while (without := _BRACKETED.sub("#", top)) != top:
        top = without
    if _ARITHMETIC.search(top):
        return False
    return any((_OPERATED.search(top), _TRUE_OR_FALSE.fullmatch(top.strip()), _NODES.fullmatch(top.strip())))


def _key(shown: str, hidden: str) -> tuple[str, str] | None:
    """Return the attribute and the class or id that a predicate asks for; None where it asks for none."""
    bare, text = without_negations(hidden, shown)
    for begin, end in reversed(predicates(bare)):
        bare, text = bare[:begin] + bare[end:], text[:begin] + text[end:]
    if _UNDECIDED.search(bare) or _COMPARED.search(bare):
        return None
    part = _PART.search(text)
    if part is None:
        return None
    return (CLASS, part["word"]) if part["word"] else (ID, part["single"] or part["double"] or "")


def _is_plain(predicate: str) -> bool:
    """Return whether a predicate asks for only one class or id."""
    test = _PLAIN_CLASS.fullmatch(predicate)
    return _PLAIN_ID.fullmatch(predicate) is not None or (test is not None and test["same"] in (None, test["word"]))


def _without_nested(hidden: str) -> str:
    for begin, end in reversed(predicates(hidden)):
        hidden = hidden[:begin] + hidden[end:]
    return hidden


@lru_cache(MAX_REMEMBERED)
def compiled(expression: str) -> etree.XPath:
    """Compile an XPath 1.0 expression. Raises `lxml.etree.XPathSyntaxError`."""
    written = _in_one_step(_CLASS_TEST.sub(_asked_cheaply_first, expression))
    return etree.XPath(written, regexp=False, smart_strings=False)


def _in_one_step(expression: str) -> str:
    """Write ``//a[...]`` as ``/descendant::a[...]`` wherever the conditions do not depend on a position.

    The engine does so by itself where there is no condition. Where there is one, it collects all nodes below each
    element first, and takes minutes for elements that are nested in one another.
    """
    if "//" not in expression:
        return expression
    hidden = masked(expression)

    def written(found: re.Match[str]) -> str:
        rest = hidden[found.end() :]
        own = _own(predicates(rest), 0)
        is_one = bool(own) and all(_is_truth(rest[begin:end]) for begin, end in own)
        return f"/descendant::{found[1]}" if is_one else found[0]

    pieces, at = [], 0
    for found in _BELOW.finditer(hidden):
        pieces += [expression[at : found.start()], written(found)]
        at = found.end()
    return "".join((*pieces, expression[at:]))


def _asked_cheaply_first(test: re.Match[str]) -> str:
    """Test whether a class holds the letters of a word before its words are split."""
    cheap = f"contains(@class, '{test['word']}') and "
    return test[0] if test.string.endswith(cheap, 0, test.start()) else f"({cheap}{test[0]})"

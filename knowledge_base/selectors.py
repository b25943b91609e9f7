"""The compiled XPath and CSS expressions of the knowledge base, and the literals that a matching page must contain."""

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from cssselect import SelectorError
from cssselect.xpath import HTMLTranslator
from lxml import etree
from lxml.html import HtmlElement

from knowledge_base.element_index import Elements, Node, compiled, first_asked, look_up
from knowledge_base.literals import MAX_REMEMBERED, MIN_LITERAL_LENGTH, branches, required_literals, safe_literal

MAX_RESULTS = 20_000
"""Nodes of one result that are looked at; a page that holds more is hostile or broken."""

MAX_CHOICES = 64
"""Unions of branches kept compiled for one expression."""

__all__ = [
    "MAX_RESULTS",
    "MIN_LITERAL_LENGTH",
    "BadExpressionError",
    "Node",
    "Selector",
    "SourceLiterals",
    "compile_selector",
    "css_to_xpath",
    "required_literals",
    "safe_literal",
]


class BadExpressionError(ValueError):
    """Raised for an expression that cannot be used; the message says what to write instead."""


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """A compiled expression.

    ``source`` is its XPath. ``cite`` names the documentation of the structure it looks for; ``css`` is the original
    where that was CSS.
    """

    source: str
    xpath: etree.XPath
    attribute: str = ""
    cite: str = ""
    css: str = ""
    _narrowed: dict[tuple[bool, ...], "Selector"] = field(default_factory=dict, repr=False)

    @property
    def literals(self) -> tuple[str, ...]:
        """Texts of which every page with a result contains at least one in its source, in any case.

        Empty where no such texts are known.
        """
        return required_literals(self.source)

    def branches(self, wanted: tuple[bool, ...]) -> "Selector":
        """Return the union of the branches that are ``wanted``, in their order; compiled once for each choice."""
        if wanted not in self._narrowed:
            source = " | ".join(branch for branch, keep in zip(branches(self.source), wanted, strict=True) if keep)
            if len(self._narrowed) >= MAX_CHOICES:
                self._narrowed.clear()
            self._narrowed[wanted] = Selector(source, compiled(source), self.attribute, self.cite)
        return self._narrowed[wanted]

    def nodes(self, context: HtmlElement, elements: Elements | None = None) -> list[Node]:
        """Return elements and attribute or text values in document order; with ``attribute``, its values.

        The ``elements`` of the document do not change the result, but make it faster in most cases.

        Raises `lxml.etree.XPathError` for an expression that fails on this page and, with ``elements``, also where it
        would take too much work there (``TooCostlyError``).
        """
        found = self.found(context, elements)
        if not self.attribute:
            return found
        values = (node.get(self.attribute) for node in found if isinstance(node, HtmlElement))
        return [value for value in values if value is not None]

    def found(self, context: HtmlElement, elements: Elements | None = None) -> list[Node]:
        """Return the nodes of the expression itself, without regard to ``attribute``."""
        if elements is not None:
            elements.limits.check(self.source, context)
        known = look_up(self.source, context, elements) if elements is not None else None
        result: Any = known if known is not None else self.xpath(context)
        return result[:MAX_RESULTS] if isinstance(result, list) else [str(result)]

    def elements(self, context: HtmlElement, elements: Elements | None = None) -> list[HtmlElement]:
        """Return the elements of the result."""
        return [node for node in self.found(context, elements) if isinstance(node, HtmlElement)]

    def holds(self, context: HtmlElement, elements: Elements | None = None) -> bool:
        """Return whether the expression finds anything. Raises as `nodes` does."""
        if elements is not None:
            elements.limits.check(self.source, context)
        result = self.xpath(context)
        return bool(result)

    def shows(self, document: HtmlElement, elements: Elements | None = None) -> bool:
        """Return whether the expression finds anything on a page, given its document element.

        Mostly faster than ``holds``.

        Raises as `nodes` does.
        """
        if elements is not None:
            elements.limits.check(self.source, document)
        known = look_up(self.source, document, elements) if elements is not None else None
        if known is not None:
            return bool(known)
        shortcut = _shortcut(self.source)
        if shortcut is not None and shortcut(document):
            return True
        needed = _needed(self.source)
        return (needed is None or bool(needed(document))) and self.holds(document)


def compile_selector(*, xpath: str = "", css: str = "", attribute: str = "", cite: str = "") -> Selector:
    """Compile an XPath 1.0 expression or a CSS selector.

    CSS is relative: it finds descendants of the context element. Raises `BadExpressionError`.
    """
    source = xpath or css_to_xpath(css)
    if "re:" in source and re.search(r"\bre:(test|match|replace)\s*\(", source):
        raise BadExpressionError("regular expressions can take seconds; use contains() or starts-with() instead")
    try:
        expression = compiled(source)
    except etree.XPathSyntaxError as error:
        raise BadExpressionError(f"this is no XPath 1.0 expression ({error}): {xpath or css}") from error
    unknown = next((name for name in _called(xpath) if name not in _CALLABLE), None) if xpath else None
    if unknown is not None:
        raise BadExpressionError(
            f"XPath 1.0 has no function {unknown}(); use contains(), starts-with() or another of its own: {xpath}"
        )
    return Selector(source, expression, attribute, cite, "" if xpath else css)


_TEXT = re.compile(r"'[^']*'|\"[^\"]*\"")
_CALL = re.compile(r"([A-Za-z_][\w.:-]*)\s*\(")
_CALLABLE = frozenset(
    (
        *("last", "position", "count", "id", "local-name", "namespace-uri", "name", "string", "concat", "starts-with"),
        *("contains", "substring-before", "substring-after", "substring", "string-length", "normalize-space"),
        *("translate", "boolean", "not", "true", "false", "lang", "number", "sum", "floor", "ceiling", "round"),
        *("text", "node", "comment", "processing-instruction", "and", "or", "div", "mod"),
    )
)
"""The functions and node tests of XPath 1.0 (sections 4 and 2.3), and the operators that a bracket may follow.

The compiler takes any name; without this check an expression would fail on the first page it meets.
"""


def _called(xpath: str) -> list[str]:
    return [name.rpartition("::")[2] for name in _CALL.findall(_TEXT.sub("''", xpath))]


@lru_cache(MAX_REMEMBERED)
def css_to_xpath(css: str) -> str:
    """Translate a CSS selector to an XPath expression relative to the context node.

    >>> css_to_xpath("#posts")
    "descendant::*[@id = 'posts']"
    """
    try:
        return HTMLTranslator().css_to_xpath(css, prefix="descendant::")
    except SelectorError as error:
        raise BadExpressionError(f"this is no CSS selector ({error}): {css}") from error
    except RecursionError:
        raise BadExpressionError(f"this CSS selector has too many parts; write a shorter one: {css[:100]}...") from None


_STEP = re.compile(r"\s*(?:descendant::|\.?//)(\*|[a-z][a-z0-9]*)((?:\[|/|$).*)", re.DOTALL)
_ID = re.compile(r"\[@id ?= ?('[^']+'|\"[^\"]+\")\]")
_COUNTING = re.compile(r"\[\s*\d|\blast\s*\(|\bposition\s*\(")
_IN_HEAD = frozenset({"meta", "link", "script", "title", "style", "base"})


@lru_cache(MAX_REMEMBERED)
def _shortcut(expression: str) -> etree.XPath | None:
    """Return a faster expression that finds a part of the result on a whole page, None if there is none.

    The parser keeps an index of ids, and the head's elements come first, so only a part of the page is visited.
    """
    found = [nearer for branch in branches(expression) if (nearer := _nearer(branch))]
    return compiled(" | ".join(found)) if found else None


def _nearer(branch: str) -> str:
    step = None if _COUNTING.search(branch) else _STEP.fullmatch(branch)
    if step is None:
        return ""
    tag, rest = step.groups()
    if tag == "body":
        return f"child::body{rest}"
    if tag in _IN_HEAD:
        return f"child::head/child::{tag}{rest}"
    identity = _ID.match(rest)
    return f"id({identity[1]})[self::{tag}][parent::*]{rest}" if identity else ""


_STEPS = re.compile(r"/\*(?:/{1,2}(?:[a-z-]+::)?@?[\w*.-]+)+")
"""A path from the document element, its predicates apart."""


@lru_cache(MAX_REMEMBERED)
def _needed(expression: str) -> etree.XPath | None:
    """Return an expression without conditions on the page as a whole that finds something wherever this one does.

    ``/*[not(//a)]/descendant-or-self::form`` visits every element of a page before it looks for a form, which most
    pages do not have. None where nothing would be saved.
    """
    parts = branches(expression)
    found = [_unconditional(branch) for branch in parts]
    return compiled(" | ".join(found)) if found != list(parts) else None


def _unconditional(branch: str) -> str:
    """Return a path without the conditions on the document element at its beginning; unchanged if it has none."""
    path = branch.strip()
    steps, depth, quote, begins = "", 0, "", 0
    for at, sign in enumerate(path):
        if quote:
            quote = "" if sign == quote else quote
        elif depth and sign in "'\"":
            quote = sign
        elif sign in "[]":
            depth += 1 if sign == "[" else -1
            begins = at + 1 if steps == "/*" and not depth else begins
        elif not depth:
            steps += sign
    return f"/*{path[begins:]}" if begins and _STEPS.fullmatch(steps) else branch


class SourceLiterals:
    """Tells from a page's source, as lower-case bytes, which expressions cannot find anything on the page."""

    def __init__(self, source: bytes | None) -> None:
        """Take the whole source, or None where it is unknown: then every expression may find something."""
        self._source = source
        self._held: dict[str, bool] = {}

    def narrow(self, selector: Selector, elements: Elements | None = None) -> Selector | None:
        """Return the expression without the branches of its union that cannot find anything; None where none is left.

        With the ``elements`` of the page, the result is valid for this document only.
        """
        if self._source is None:
            return selector
        literals = required_literals(selector.source)
        asked = first_asked(selector.source) if elements is not None else ()
        held: list[bool] = []  # For each branch, whether it may find something; empty where none can be judged.
        for place in range(len(asked) or len(literals)):
            key = asked[place] if asked else None
            if key is not None and elements is not None:
                held.append(elements.may_hold(*key))
            else:
                held.append(not literals or self._holds(literals[place]))
        if all(held):
            return selector
        return selector.branches(tuple(held)) if any(held) else None

    def _holds(self, literal: str) -> bool:
        held = self._held.get(literal)
        if held is None:
            held = self._held[literal] = self._source is None or literal.encode() in self._source
        return held

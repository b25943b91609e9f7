"""XPath and CSS expressions of the knowledge base, compiled once, and the literals a page must hold to match them."""

import re
from dataclasses import dataclass, field
from typing import cast

from cssselect import SelectorError
from cssselect.xpath import HTMLTranslator
from lxml import etree
from lxml.html import HtmlElement

MOST_RESULTS = 20_000
"""Nodes of one result that are looked at; a page that holds more is hostile or broken."""

SHORTEST_LITERAL = 3
"""Shorter literals stand on most pages and tell nothing."""

MOST_CHOICES = 64
"""Unions of branches kept compiled for one expression."""

Node = HtmlElement | str


class BadExpressionError(ValueError):
    """An expression cannot be used; the message says what to write instead."""


@dataclass(frozen=True, slots=True, eq=False)
class Selector:
    """A compiled expression.

    ``cite`` says where the structure it looks for is documented. The source of a page on which it finds anything
    holds one of ``literals`` in some case of letters; without literals nothing can be told.
    """

    source: str
    xpath: etree.XPath
    attribute: str = ""
    cite: str = ""
    literals: tuple[str, ...] = ()
    _narrowed: dict[tuple[bool, ...], "Selector"] = field(default_factory=dict, repr=False)

    def branches(self, wanted: tuple[bool, ...]) -> "Selector":
        """Return the union of the branches that are marked, in their order; compiled once for each choice."""
        if wanted not in self._narrowed:
            source = " | ".join(branch for branch, keep in zip(_branches(self.source), wanted, strict=True) if keep)
            if len(self._narrowed) >= MOST_CHOICES:
                self._narrowed.clear()
            self._narrowed[wanted] = Selector(source, _compile(source), self.attribute, self.cite)
        return self._narrowed[wanted]

    def nodes(self, context: HtmlElement) -> list[Node]:
        """Return elements and attribute or text values in document order; with ``attribute``, its values.

        Raises `lxml.etree.XPathError` for an expression that fails on this page.
        """
        found = self.found(context)
        if not self.attribute:
            return found
        values = (node.get(self.attribute) for node in found if isinstance(node, HtmlElement))
        return [value for value in values if value is not None]

    def found(self, context: HtmlElement) -> list[Node]:
        """Return what the expression itself finds, whatever ``attribute`` says."""
        result = self.xpath(context)
        return cast("list[Node]", result[:MOST_RESULTS] if isinstance(result, list) else [str(result)])

    def elements(self, context: HtmlElement) -> list[HtmlElement]:
        """Return the elements of the result."""
        return [node for node in self.found(context) if isinstance(node, HtmlElement)]

    def holds(self, context: HtmlElement) -> bool:
        """Say whether anything is there."""
        result = self.xpath(context)
        return bool(result)


def compile_selector(*, xpath: str = "", css: str = "", attribute: str = "", cite: str = "") -> Selector:
    """Compile an XPath 1.0 expression or a CSS selector.

    CSS is relative: it finds descendants of the context element. Raises `BadExpressionError`.
    """
    source = xpath or css_to_xpath(css)
    if "re:" in source and re.search(r"\bre:(test|match|replace)\s*\(", source):
        raise BadExpressionError("regular expressions can take seconds; use contains() or starts-with() instead")
    try:
        compiled = _compile(source)
    except etree.XPathSyntaxError as error:
        raise BadExpressionError(f"this is no XPath 1.0 expression ({error}): {xpath or css}") from error
    return Selector(source, compiled, attribute, cite, required_literals(source))


def _compile(source: str) -> etree.XPath:
    return etree.XPath(source, regexp=False, smart_strings=False)


def css_to_xpath(css: str) -> str:
    """Translate a CSS selector to an XPath expression relative to the context node.

    >>> css_to_xpath("#posts")
    "descendant::*[@id = 'posts']"
    """
    try:
        return HTMLTranslator().css_to_xpath(css, prefix="descendant::")
    except SelectorError as error:
        raise BadExpressionError(f"this is no CSS selector ({error}): {css}") from error


class SourceLiterals:
    """Tells from a page's source, lower-case bytes, which expressions cannot find anything on the page."""

    def __init__(self, source: bytes | None) -> None:
        """Take the whole source, or None where it is not known as a whole: then every expression may find something."""
        self._source = source
        self._held: dict[str, bool] = {}

    def narrow(self, selector: Selector) -> Selector | None:
        """Return the expression without the branches of its union that find nothing; None where none is left."""
        if self._source is None or not selector.literals:
            return selector
        held = tuple(map(self._holds, selector.literals))
        if all(held):
            return selector
        return selector.branches(held) if any(held) else None

    def _holds(self, literal: str) -> bool:
        held = self._held.get(literal)
        if held is None:
            held = self._held[literal] = self._source is None or literal.encode() in self._source
        return held


_STRING = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_UNSAFE = re.compile(r"""[&<>"'\s\x00-\x1f]|[^\x00-\x7f]""")
_UNDECIDED = re.compile(
    r"""\bor\b|!=|\b(?:translate|substring-before|substring-after|count|boolean|string-length|false)\s*\(
    |\bconcat\s*\([^()]*'_+[^()]*""",
    re.VERBOSE,
)
"""What makes the texts of a predicate say nothing of the page."""

_PATH = re.compile(r"\(*\s*(?:\.|/|@|\*|[\w-]+::|[\w-]+\s*(?:[/\[)]|$))")


def safe_literal(text: str) -> str:
    """Return the longest stretch of a text that stands in markup byte for byte: no escapes, no other letters.

    >>> safe_literal("MyBB & friends")
    'friends'
    """
    return max(_UNSAFE.split(text), key=len, default="").lower()


def required_literals(expression: str) -> tuple[str, ...]:
    """Return literals of which a matching page holds at least one; none where the expression does not tell.

    Only what every match needs counts: predicates that hold alternatives, negations or computed texts tell nothing.

    >>> required_literals("//body[@id='phpbb'] | //a[contains(@href,'viewtopic.php')]")
    ('phpbb', 'viewtopic.php')
    >>> required_literals("//a[@id='one' or @class='two']")
    ()
    >>> required_literals("//a[@rel='author'][not(ancestor::div[@id='comments'])]")
    ('author',)
    """
    literals = []
    for branch in _branches(expression):
        best = max(map(safe_literal, _decided_texts(branch)), key=len, default="")
        if len(best) < SHORTEST_LITERAL:
            return ()
        literals.append(best)
    return tuple(literals)


def _decided_texts(branch: str) -> list[str]:
    """Return the texts of a path that every element it finds needs, from its predicates that can be decided."""
    masked = _masked(branch)
    if not _PATH.match(masked.strip()):
        return []
    texts: list[str] = []
    for start, end in _predicates(masked):
        inner, shown = _without_negations(masked[start:end], branch[start:end])
        if not _UNDECIDED.search(inner):
            texts += [single or double for single, double in _STRING.findall(shown)]
    return texts


def _masked(text: str) -> str:
    """Replace the letters within strings, so that signs in them are not taken for syntax; blanks stay blanks."""
    return _STRING.sub(lambda match: "'" + re.sub(r"\S", "_", match.group()[1:-1]) + "'", text)


def _predicates(masked: str) -> list[tuple[int, int]]:
    """Return the stretches of the outermost predicates."""
    depth, start, found = 0, 0, []
    for index, sign in enumerate(masked):
        if sign == "[":
            depth += 1
            start = index + 1 if depth == 1 else start
        elif sign == "]":
            depth -= 1
            if depth == 0:
                found.append((start, index))
    return found


def _without_negations(masked: str, text: str) -> tuple[str, str]:
    """Cut every ``not(...)`` out of a predicate and of its masked form, which are equally long."""
    while (negation := re.search(r"\bnot\s*\(", masked)) is not None:
        depth, end = 1, negation.end()
        while end < len(masked) and depth:
            depth += (masked[end] == "(") - (masked[end] == ")")
            end += 1
        start = negation.start()
        masked, text = masked[:start] + masked[end:], text[:start] + text[end:]
    return masked, text


def _branches(expression: str) -> list[str]:
    """Split a union; a sign within a string or a predicate does not count."""
    masked = _masked(expression)
    depth, start, branches = 0, 0, []
    for index, sign in enumerate(masked):
        depth += (sign in "([") - (sign in ")]")
        if sign == "|" and depth == 0:
            branches.append(expression[start:index])
            start = index + 1
    return [*branches, expression[start:]]

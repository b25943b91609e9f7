"""Records the parts of a file of the knowledge base that find anything on the pages of a site.

Every expression of the file is evaluated on every page, each branch of its unions for itself: signs, levels' conditions
and items on the page, fields within every element that an item of their action finds, parts to leave out within the
results of the field's expressions. It does not matter which level a page has and whether an earlier alternative would
have won: an expression that finds nothing is unused on the site, and all others are used.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import main_item
from aahcrawler.helper.extraction.runs import run_items
from aahcrawler.page import Page, markup
from knowledge_base.matching import Sight, literals_of
from knowledge_base.model import Pattern, Run, Signal
from knowledge_base.parsing.attributes import Notes, has_expression, names_url, text, url_rule, words, yes
from knowledge_base.parsing.detection_patterns import pattern
from knowledge_base.selectors import Node, Selector, SourceLiterals, compile_selector
from knowledge_base.url_rules import UrlRule

_OPENING, _CLOSING = "([", ")]"

Keep = Callable[[str], bool]
"""Decides on an expression that has one branch in place of a union: whether the branch is kept."""


def pruned(expression: str, sign: str, keep: Keep) -> str:
    """Return an expression without the branches of its unions that are not kept, empty if none is left.

    ``sign`` separates the branches: ``|`` in XPath, ``,`` in CSS. If nothing of a union within brackets would be left,
    all of it is kept.

    >>> pruned("//a | (//b | //c)[1]", "|", lambda branch: "c" in branch)
    '(//c)[1]'
    """
    return _pruned(expression, sign, keep).strip()


def alternatives(expression: str, sign: str) -> tuple[str, ...]:
    """Return the expressions to try for `pruned`, each once.

    >>> alternatives("//a | (//b | //c)[1]", "|")
    ('//a', '(//b | //c)[1]', '(//b)[1]', '(//c)[1]')
    """
    asked: dict[str, None] = {}

    def note(branch: str) -> bool:
        asked[branch] = None
        return True

    pruned(expression, sign, note)
    return tuple(asked)


def _pruned(expression: str, sign: str, keep: Keep) -> str:
    kept = [branch for branch in _split(expression, sign) if keep(branch.strip())]
    joint = ", " if sign == "," else f" {sign} "
    return joint.join(_inside(branch.strip(), sign, keep) for branch in kept)


def _inside(branch: str, sign: str, keep: Keep) -> str:
    """Prune the unions within the brackets of one branch, from its end to its start."""
    for start, end in reversed(list(_brackets(branch))):
        inner = branch[start:end]
        if sign not in inner:
            continue
        before, after = branch[:start], branch[end:]
        parts = _split(inner, sign)

        def whole(part: str, before: str = before, after: str = after) -> bool:
            return keep(f"{before}{part}{after}")

        left = _pruned(inner, sign, whole) if len(parts) > 1 else _inside(inner, sign, whole)
        branch = before + (left or inner) + after
    return branch


def _split(text: str, sign: str) -> list[str]:
    """Split at a separator outside of brackets and strings."""
    found, start = [], 0
    for place, character, depth in _signs(text):
        if character == sign and depth == 0 and text[place + 1 : place + 2] != "=":
            found.append(text[start:place])
            start = place + 1
    return [*found, text[start:]]


def _brackets(text: str) -> Iterator[tuple[int, int]]:
    """Yield the insides of the outermost brackets."""
    start = 0
    for place, character, depth in _signs(text):
        if character in _OPENING and depth == 0:
            start = place + 1
        elif character in _CLOSING and depth == 1:
            yield start, place


def _signs(text: str) -> Iterator[tuple[int, str, int]]:
    """Yield each character outside of strings with its place and the number of open brackets before it."""
    depth, quote = 0, ""
    for place, character in enumerate(text):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            yield place, character, depth
            depth += (character in _OPENING) - (character in _CLOSING)


_ON_PAGE = "ignore own instead select value form"
_SIGNS = ("when", "unless", "needs-browser")


@dataclass
class View:
    """A page under examination; an expression that several parts evaluate on the whole page is evaluated once."""

    page: Page
    _found: dict[tuple[str, str], bool] = field(default_factory=dict)

    @cached_property
    def sight(self) -> Sight:
        """The page as signs are evaluated on it."""
        return Sight(self.page)

    @cached_property
    def literals(self) -> SourceLiterals:
        """An index of the page's texts, by which expressions that cannot match are skipped."""
        return literals_of(self.page)

    @cached_property
    def declared(self) -> frozenset[str]:
        """The schema.org properties that the page declares of its main item."""
        item = main_item(self.page, (self.page.url,))
        return frozenset(item.node) if item is not None else frozenset()

    def holds(self, selector: Selector) -> bool:
        """Return whether an expression finds anything on the page."""
        key = (selector.source, selector.attribute)
        if key not in self._found:
            able = self.literals.narrow(selector) is not None
            self._found[key] = able and finds(selector, self.page.tree)
        return self._found[key]


def nodes(selector: Selector, context: HtmlElement) -> list[Node]:
    """Return the nodes that an expression finds, none if it fails on this page."""
    try:
        return selector.nodes(context)
    except etree.XPathError:
        return []


def finds(selector: Selector, context: HtmlElement) -> bool:
    """Return whether an expression finds an element, or a text that is not empty."""
    return any(not isinstance(node, str) or node.strip() for node in nodes(selector, context))


class Expression:
    """The expression of one XML element, with each of its alternatives."""

    def __init__(self, element: etree._Element) -> None:
        self.element = element
        self.language = "xpath" if text(element, "xpath") else "css"
        self.sign = "|" if self.language == "xpath" else ","
        self.written = text(element, self.language)
        self.selector = self._compiled(self.written)
        self.used: set[str] = set()
        self.pending = {source: self._compiled(source) for source in alternatives(self.written, self.sign)}

    def _compiled(self, source: str) -> Selector:
        attribute = text(self.element, "attribute")
        if self.language == "xpath":
            return compile_selector(xpath=source, attribute=attribute)
        return compile_selector(css=source, attribute=attribute)

    def look_at(self, view: View) -> None:
        """Record which alternatives find something on the page."""
        self._note(source for source, selector in self.pending.items() if view.holds(selector))

    def look_within(self, contexts: Iterable[HtmlElement], literals: SourceLiterals | None) -> None:
        """Record which alternatives find something within elements; ``literals`` are those of the elements' page."""
        able = {
            source: selector
            for source, selector in self.pending.items()
            if literals is None or literals.narrow(selector) is not None
        }
        for context in contexts if able else ():
            found = [source for source, selector in able.items() if finds(selector, context)]
            for source in found:
                del able[source]
            self._note(found)

    def _note(self, sources: Iterable[str]) -> None:
        for source in tuple(sources):
            self.used.add(source)
            del self.pending[source]

    def elements(self, contexts: Iterable[HtmlElement]) -> list[HtmlElement]:
        """Return the elements that it finds within others, each once."""
        found = (node for context in contexts for node in nodes(self.selector, context))
        return list(dict.fromkeys(node for node in found if isinstance(node, HtmlElement)))


@dataclass
class _Sign:
    """A sign of an application or a level."""

    element: etree._Element
    expression: Expression | None
    rule: UrlRule | None = None
    pattern: Pattern | None = None

    def look_at(self, view: View) -> bool:
        if self.rule is not None and not self.rule.matches(view.sight.parsed_url):
            return False
        if self.expression is None:
            return self.pattern is None or view.sight.shows(self.pattern)
        self.expression.look_at(view)
        return bool(self.expression.used)


RunParts = tuple[tuple[Expression, ...], tuple[Expression, ...], tuple[Expression, ...], tuple[Expression, ...]]
"""Blocks, signatures, stops and headings."""


@dataclass
class _Action:
    """An extraction action; for that of a variant, with the action of its level that it changes."""

    items: tuple[Expression, ...]
    run: RunParts | None
    within: tuple[Expression, ...]
    fields: tuple["_Field", ...]

    def look_at(self, view: View) -> None:
        for item in self.items:
            item.look_at(view)
        tree = view.page.tree
        found = [element for item in self.items if view.holds(item.selector) for element in item.elements((tree,))]
        if not found:
            return
        literals: SourceLiterals | None = view.literals
        if self.run is not None:
            found, literals = self._runs(self.run, found, view), None
        for expression in self.within:
            expression.look_within(found, literals)
        for each in self.fields:
            each.look_at(view, found, literals)

    def _runs(self, run: RunParts, containers: list[HtmlElement], view: View) -> list[HtmlElement]:
        blocks, signatures, stops, headings = run
        for expression in (*blocks, *stops, *headings):
            expression.look_within(containers, view.literals)
        within = [element for block in blocks for element in block.elements(containers)]
        for expression in signatures:
            expression.look_within(within, view.literals)
        whole = Run(*(tuple(each.selector for each in part) for part in run))
        return run_items(containers, whole, view.page.fetched_at)


@dataclass
class _Field:
    selects: tuple[Expression, ...]
    without: tuple[Expression, ...]
    page: bool
    markup: bool
    declared: dict[str, bool]

    def look_at(self, view: View, items: Sequence[HtmlElement], literals: SourceLiterals | None) -> None:
        contexts = (view.page.tree,) if self.page else items
        for select in self.selects:
            select.look_within(contexts, view.literals if self.page else literals)
        if not all(self.declared.values()):
            self.declared.update({name: True for name in self.declared if name in view.declared})
        if any(each.pending for each in self.without):
            values = [value for select in self.selects for value in self._values(select, contexts)]
            for each in self.without:
                each.look_within(values, None)

    def _values(self, select: Expression, contexts: Iterable[HtmlElement]) -> Iterator[HtmlElement]:
        if not self.markup:
            yield from select.elements(contexts)
            return
        for element in select.elements(contexts):
            yield markup.parse("".join(element.itertext()).encode("utf-8", "replace"))


class Usage:
    """The parts of one file that a site uses. All of its pages must be examined first."""

    def __init__(self, root: etree._Element, file: Path) -> None:
        self.root = root
        self._notes = Notes(file)
        self._expressions: dict[etree._Element, Expression] = {}
        self._used: set[etree._Element] = set()
        self._patterns = [self._pattern(element) for element in root.iterfind("detect/pattern")]
        self._signs: list[_Sign] = []
        self._on_page: list[Expression] = []
        self._actions: list[_Action] = []
        self._declared: dict[etree._Element, dict[str, bool]] = {}

    def look_for_patterns(self, view: View) -> None:
        """Record whether the page shows signs of the application."""
        self._look_for(self._patterns, view)

    @property
    def is_shown(self) -> bool:
        """Return whether any page showed a sign of the application."""
        return any(sign.element in self._used for sign in self._patterns)

    def prepare(self) -> None:
        """Parse the rest of the file."""
        self._signs = [self._sign(element) for element in self.root.iter(*_SIGNS)]
        self._on_page = [
            self._expression(element)
            for element in self.root.iter(*_ON_PAGE.split())
            if has_expression(element)
            and (element.tag == "instead" or next(element.iterancestors("extract"), None) is None)
        ]
        self._actions = [self._action(element) for element in self.root.iter("extract")]

    def look_at(self, view: View) -> None:
        """Evaluate all expressions but the patterns on a page."""
        self._look_for(self._signs, view)
        for expression in self._on_page:
            expression.look_at(view)
        for action in self._actions:
            action.look_at(view)

    def of(self, element: etree._Element) -> Expression | None:
        """Return the expression of an XML element, None if it has none."""
        return self._expressions.get(element)

    def is_used(self, element: etree._Element) -> bool:
        """Return whether a sign held on any page, or the expression of another element found something."""
        expression = self._expressions.get(element)
        return element in self._used or (expression is not None and bool(expression.used))

    def declared(self, field: etree._Element) -> tuple[str, ...]:
        """Return the schema.org properties that a field asks for and any page declares."""
        return tuple(name for name, found in self._declared.get(field, {}).items() if found)

    def _look_for(self, signs: Iterable[_Sign], view: View) -> None:
        for sign in signs:
            done = sign.element in self._used and (sign.expression is None or not sign.expression.pending)
            if not done and sign.look_at(view):
                self._used.add(sign.element)

    def _expression(self, element: etree._Element) -> Expression:
        return self._expressions.setdefault(element, Expression(element))

    def _expressions_of(self, parent: etree._Element | None, tag: str) -> tuple[Expression, ...]:
        return tuple(self._expression(child) for child in parent.iterchildren(tag)) if parent is not None else ()

    def _pattern(self, element: etree._Element) -> _Sign:
        found = pattern(element, self._notes)
        return _Sign(element, self._expression(element) if found.signal is Signal.SELECTOR else None, pattern=found)

    def _sign(self, element: etree._Element) -> _Sign:
        expression = self._expression(element) if has_expression(element) else None
        return _Sign(element, expression, url_rule(element, self._notes) if names_url(element) else None)

    def _action(self, element: etree._Element) -> _Action:
        same = [element, *_counterparts(element)]
        run = next((part for action in same if (part := action.find("run")) is not None), None)
        within = [part for tag in ("identity", "parent") if (part := element.find(tag)) is not None]
        return _Action(
            tuple(item for action in same for item in self._expressions_of(action, "item")),
            None if run is None else self._run(run),
            tuple(select for part in within for select in self._expressions_of(part, "select")),
            tuple(self._field(child) for child in element.iterchildren("field")),
        )

    def _run(self, element: etree._Element) -> RunParts:
        return (
            self._expressions_of(element, "block"),
            self._expressions_of(element, "signature"),
            self._expressions_of(element, "stop"),
            self._expressions_of(element, "heading"),
        )

    def _field(self, element: etree._Element) -> _Field:
        selects, without = self._expressions_of(element, "select"), self._expressions_of(element, "without")
        declared = self._declared[element] = dict.fromkeys(words(element, "declared"), False)
        return _Field(selects, without, yes(element, "page"), yes(element, "markup"), declared)


def _counterparts(action: etree._Element) -> Iterator[etree._Element]:
    """Yield the actions of the same name of the level and its variants, which complete one another."""
    level = next(action.iterancestors("level"))
    name = text(action, "name")
    return (other for other in level.iter("extract") if other is not action and text(other, "name") == name)

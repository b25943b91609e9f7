"""Parses what several elements have in common: expressions, URL rules, and conditions."""

from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from knowledge_base.model import Condition
from knowledge_base.selectors import BadExpressionError, Selector, compile_selector
from knowledge_base.url_rules import BadGlobError, PathGlob, QueryGlob, UrlRule, glob_test


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A mistake in a file of the knowledge base, in words its author can act on."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass
class Notes:
    """Collects the problems of one file."""

    file: Path
    problems: list[Problem] = field(default_factory=list)

    def add(self, element: etree._Element, message: str) -> None:
        """Record a mistake at an element."""
        self.problems.append(Problem(str(self.file), element.sourceline or 0, message))


def text(element: etree._Element, attribute: str) -> str:
    """Return an attribute without surrounding blanks, empty where it is missing."""
    return (element.get(attribute) or "").strip()


def words(element: etree._Element, attribute: str) -> tuple[str, ...]:
    """Return the words of an attribute."""
    return tuple(text(element, attribute).split())


def yes(element: etree._Element, attribute: str) -> bool:
    """Return whether an attribute is present and true."""
    return element.get(attribute) == "yes"


def child_or_self(element: etree._Element, name: str) -> etree._Element:
    """Return the child with a name, else the element itself, as the place to report a mistake at."""
    return next((child for child in element.iterchildren("*") if text(child, "name") == name), element)


def has_expression(element: etree._Element) -> bool:
    """Return whether an element has a CSS selector or an XPath expression."""
    return bool(text(element, "css") or text(element, "xpath"))


def selector(element: etree._Element, notes: Notes) -> Selector:
    """Compile the expression of an element; an invalid one is recorded, and replaced by one that finds nothing."""
    xpath, css = text(element, "xpath"), text(element, "css")
    try:
        if bool(xpath) == bool(css):
            raise BadExpressionError("write either css or xpath")
        return compile_selector(xpath=xpath, css=css, attribute=text(element, "attribute"), cite=text(element, "cite"))
    except BadExpressionError as error:
        notes.add(element, str(error))
        return compile_selector(xpath="/..")


def selectors(element: etree._Element, tag: str, notes: Notes) -> tuple[Selector, ...]:
    """Compile the expressions of all children of one name."""
    return tuple(selector(child, notes) for child in element.iterchildren(tag))


def names_url(element: etree._Element) -> bool:
    """Return whether an element has any URL rule."""
    return any(text(element, name) for name in ("path", "query", "parameters", "absent"))


def url_rule(element: etree._Element, notes: Notes, optional: frozenset[str] | None = None) -> UrlRule:
    """Parse the URL rule of an element; with ``optional``, no other parameters may be present."""
    path, query = text(element, "path"), text(element, "query")
    present = tuple(_parameter(word) for word in words(element, "parameters"))
    if query.startswith("?"):
        notes.add(element, f"query is what stands after the question mark; take the first sign out: {query[1:]}")
    if "=" in path.partition("?")[2]:
        message = "a path ends before the question mark; what comes after it goes into parameters or query"
        notes.add(element, f'{message}: parameters="{path.partition("?")[2].replace("&", " ")}"')
    try:
        for _, value in present:
            glob_test(value)
        return UrlRule(
            PathGlob(path) if path else None,
            present,
            frozenset(words(element, "absent")),
            optional,
            QueryGlob(query) if query else None,
        )
    except BadGlobError as error:
        notes.add(element, str(error))
        return UrlRule()


def _parameter(word: str) -> tuple[str, str]:
    name, sign, value = word.partition("=")
    return name, value if sign else "*"


def condition(element: etree._Element, notes: Notes) -> Condition:
    """Parse a condition: an expression, a rule for the page's URL, or both."""
    expressed, addressed = has_expression(element), names_url(element)
    if not expressed and not addressed:
        notes.add(element, "this sign is empty; write css, xpath, path, query, parameters or absent")
    return Condition(
        selector(element, notes) if expressed else None,
        url_rule(element, notes) if addressed else None,
        text(element, "cite"),
    )


def conditions(element: etree._Element, tag: str, notes: Notes) -> tuple[Condition, ...]:
    """Parse the conditions in all children of one name."""
    return tuple(condition(child, notes) for child in element.iterchildren(tag))

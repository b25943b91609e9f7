"""Partial matches of an expression on a page: its beginnings, each longer by a step, with their numbers of results."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lxml import etree

from knowledge_base.selectors import BadExpressionError, css_to_xpath

_OPENING, _CLOSING = "([", ")]"
_COMBINATORS = frozenset(" \t\r\n>+~")


@dataclass(frozen=True, slots=True)
class Step:
    """A beginning of an expression and the number of things it finds."""

    expression: str
    count: int

    def __str__(self) -> str:
        return f"{self.expression}  finds {self.count}"


def narrowed(css: str, xpath: str, context: etree._Element) -> tuple[Step, ...]:
    """Return the beginnings of the alternative that gets farthest, up to the first that finds nothing.

    >>> page = etree.fromstring("<body><div class='post'/></body>")
    >>> [(step.expression, step.count) for step in narrowed("div.post a, p", "", page)]
    [('div', 1), ('div.post', 1), ('div.post a', 0)]
    """
    written = css or xpath
    cut = _css_cuts if css else _xpath_cuts
    ways = [
        tuple(_steps(dict.fromkeys(cut(branch)), bool(css), context))
        for branch in _branches(written, "," if css else "|")
    ]
    return max(ways, key=lambda steps: sum(step.count > 0 for step in steps), default=())


def _steps(beginnings: Iterable[str], is_css: bool, context: etree._Element) -> Iterator[Step]:
    for beginning in beginnings:
        try:
            found = etree.XPath(css_to_xpath(beginning) if is_css else beginning, regexp=False)(context)
        except (BadExpressionError, etree.XPathError):
            continue
        step = Step(beginning, len(found) if isinstance(found, list) else int(bool(found)))
        yield step
        if not step.count:
            return


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """Yield the signs outside of brackets and strings, and the outermost opening brackets."""
    depth, quote = 0, ""
    for index, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"":
            quote = sign
        else:
            if depth == 0:
                yield index, sign
            depth += (sign in _OPENING) - (sign in _CLOSING)


def _branches(text: str, separator: str) -> list[str]:
    cuts = [index for index, sign in _outside(text) if sign == separator]
    starts = [0, *(cut + 1 for cut in cuts)]
    return [text[start:end].strip() for start, end in zip(starts, [*cuts, len(text)], strict=True)]


def _xpath_cuts(path: str) -> Iterator[str]:
    """Yield the beginnings of a path that end before a step or a predicate."""
    for index, sign in _outside(path):
        before = path[:index].rstrip()
        if sign in "/[" and before.strip("./") and not before.endswith(("/", "::", "@")):
            yield before
    yield path


def _css_cuts(selector: str) -> Iterator[str]:
    """Yield the beginnings of a selector that end before a combinator or another condition on the same element."""
    last = ""
    for index, sign in _outside(selector):
        before = selector[:index].rstrip()
        starts = sign in _COMBINATORS or (sign in ".#[:" and last not in _COMBINATORS and last != ":")
        if starts and before and before[-1] not in _COMBINATORS and before[-1] != ":":
            yield before
        last = sign
    yield selector

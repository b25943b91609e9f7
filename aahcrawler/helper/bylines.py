"""What stands above or below the text of an object and is a field of its own: its title, its author, its date.

Templates that an expression was not written for may have no element that holds the text alone.
"""

from collections.abc import Iterable

from lxml.html import HtmlElement

from aahcrawler.page.text import plain_text


def bylines(body: HtmlElement, shown: str, fields: Iterable[HtmlElement]) -> tuple[HtmlElement, ...]:
    """Return which elements of other fields are lines of their own at the beginning or the end of a body.

    Each is returned with what lies around it and shows nothing else, such as the link of a date. ``shown`` is the plain
    text of the body. What would leave nothing of it is no byline, and neither is what begins or ends a line with other
    text.
    """
    found: list[HtmlElement] = []
    waiting = [(field, plain_text(field)) for field in fields if field is not body and body in field.iterancestors()]
    while (outer := next((pair for pair in waiting if _is_outer(shown, pair[1])), None)) is not None:
        field, line = outer
        waiting.remove(outer)
        shown = shown.removeprefix(line + "\n") if shown.startswith(line + "\n") else shown.removesuffix("\n" + line)
        found.append(_alone(field, line, body))
    return tuple(found)


def _is_outer(shown: str, line: str) -> bool:
    return bool(line) and (shown.startswith(line + "\n") or shown.endswith("\n" + line))


def _alone(field: HtmlElement, line: str, body: HtmlElement) -> HtmlElement:
    """Return the outermost element within a body that shows nothing but a field."""
    around = field.getparent()
    while around is not None and around is not body and plain_text(around) == line:
        field, around = around, around.getparent()
    return field

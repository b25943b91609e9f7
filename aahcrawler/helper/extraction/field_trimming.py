"""Find lines above or below a text that are fields of their own: its title, its author, its date.

In templates that an expression was not written for, the text may have no element of its own.
"""

from collections.abc import Iterable

from lxml.html import HtmlElement

from aahcrawler.page.text import plain_text


def boundary_fields(body: HtmlElement, shown: str, fields: Iterable[HtmlElement]) -> tuple[HtmlElement, ...]:
    """Return the elements of other fields that are whole lines at the beginning or the end of a body.

    Each is returned with the elements around it that show nothing else, such as the link of a date. ``shown`` is the
    plain text of the body. An element is left out if nothing of the body would remain without it, or if its line has
    other text.
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

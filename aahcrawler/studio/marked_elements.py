"""Elements that people mark on a page, by their number, which page and library share."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from lxml.html import HtmlElement

MOST_NUMBERED = 100_000
"""Elements of a page that can be marked."""


@dataclass(frozen=True, slots=True)
class Mark:
    """An element of a page: the id of the capture's record, and the element's number."""

    record: str
    element: int


def element_at(tree: HtmlElement, number: int) -> HtmlElement | None:
    """Return the element of a number: elements are counted from 0 in document order, the root being 0.

    Comments do not count. None where the page has no such element.
    """
    if not 0 <= number < MOST_NUMBERED:
        return None
    return next(islice(tree.iter("*"), number, None), None)


def numbers_of(tree: HtmlElement, elements: Iterable[HtmlElement]) -> dict[HtmlElement, int]:
    """Return the number of each of some elements of a page, in document order; those of other pages are left out."""
    wanted = set(elements)
    found: dict[HtmlElement, int] = {}
    for number, element in enumerate(islice(tree.iter("*"), MOST_NUMBERED)):
        if len(found) == len(wanted):
            break
        if element in wanted:
            found[element] = number
    return found

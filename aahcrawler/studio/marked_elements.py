"""Elements that people mark on a page, by the numbers that `aahcrawler.replay.element_numbers` writes into it."""

from collections.abc import Iterable
from itertools import islice

from lxml.html import HtmlElement


def element_at(tree: HtmlElement, number: int) -> HtmlElement | None:
    """Return the element of a number: elements are counted from 0 in document order, the root being 0.

    Comments do not count. None where the page has no such element.
    """
    return next(islice(tree.iter("*"), number, None), None) if number >= 0 else None


def numbers_of(tree: HtmlElement, elements: Iterable[HtmlElement]) -> dict[HtmlElement, int]:
    """Return the number of each of some elements of a page, in document order; those of other pages are left out."""
    wanted = set(elements)
    found: dict[HtmlElement, int] = {}
    for number, element in enumerate(tree.iter("*")):
        if len(found) == len(wanted):
            break
        if element in wanted:
            found[element] = number
    return found

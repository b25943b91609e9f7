"""Finds the elements of a page that hold a text: for people who type what they see, where others click."""

from lxml.html import HtmlElement

from aahcrawler.page.text import UNSEEN, fold, plain_text

MOST_FOUND = 50
MOST_READ = 6_000_000
"""Characters of text that one search reads; markup that is nested deeply holds the same text many times."""
SHORTEST = 2


def elements_with(tree: HtmlElement, text: str, most: int = MOST_FOUND) -> tuple[HtmlElement, ...]:
    """Return the innermost elements whose text holds a text, those with the least text first.

    Case and white space do not matter. A text of a single character finds nothing.
    """
    wanted = fold(text).casefold()
    if len(wanted) < SHORTEST:
        return ()
    left = MOST_READ
    found: list[tuple[int, int, HtmlElement]] = []
    open_elements = [tree]
    while open_elements and left > 0:
        element = open_elements.pop()
        within: list[HtmlElement] = []
        for child in element:
            if not isinstance(child.tag, str) or child.tag in UNSEEN:
                continue
            held = fold(plain_text(child)).casefold()
            left -= len(held) + 1
            if wanted in held:
                within.append(child)
            if left <= 0:
                break
        open_elements += reversed(within)
        if not within and element is not tree:
            found.append((len(plain_text(element)), len(found), element))
    return tuple(element for _, _, element in sorted(found, key=lambda each: each[:2])[:most])

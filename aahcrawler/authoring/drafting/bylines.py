"""Finds the elements of the author and the date of an object by their names, and by the words before them."""

import re
from collections.abc import Iterator
from typing import cast

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.induction.byline_words import names_nobody
from aahcrawler.page import Page, dates
from aahcrawler.page.text import fold, plain_text

LONGEST_NAME, LONGEST_DATE = 60, 120
LONGEST_LINE = 240
"""Characters of the element around a name up to which it is no running text."""
MOST_WORDS_BEFORE = 3

_AUTHOR = re.compile(r"author|byline|username|user-name|poster|vcard|creator|\bby\b", re.IGNORECASE)
_DATE = re.compile(r"date|time|posted|published", re.IGNORECASE)
_LEADS_TO_NAME = re.compile(
    r"(?:^|\s)(?:by|von|par|por|di|door|av|af|przez|oleh|autor|auteur|autore|author|от|автор|από)\W*$", re.IGNORECASE
)


def date_in(item: HtmlElement, page: Page) -> HtmlElement | None:
    """Return the first element of an item that is named a date and shows one, alone or beside icons."""
    times = list(_html(item.iter("time")))
    named = (each for each in _html(item.iter()) if _DATE.search(_names(each)) and not _holds_text_within(each))
    for element in (*times, *named):
        shown = element.get("datetime") or element.get("title") or plain_text(element)
        if shown and len(shown) <= LONGEST_DATE and dates.read(shown, now=page.fetched_at) is not None:
            return element
    return None


def author_in(item: HtmlElement) -> HtmlElement | None:
    """Return the element of an item that is named its author, else a link in a short line after a word such as by."""
    named = [element for element in _html(item.iter()) if _AUTHOR.search(_names(element))]
    short = [element for element in named if 0 < len(plain_text(element)) <= LONGEST_NAME]
    return next(_html(short[0].iter("a")), short[0]) if short else _introduced(item)


def _introduced(item: HtmlElement) -> HtmlElement | None:
    """Return the first link that follows a word which leads to a name."""
    before = ""
    for element in item.iter():
        if not isinstance(element.tag, str):
            continue
        if element.tag == "a" and _leads_to_name(before) and _is_name(_html_of(element)):
            return _html_of(element)
        before = fold(element.text or "") or before
        for closed in _closed_at(element, item):
            before = fold(closed.tail or "") or before
    return None


def _closed_at(element: Element, item: Element) -> Iterator[Element]:
    """Yield the elements within an item that end where an element without children does, the innermost first."""
    if len(element):
        return
    current: Element | None = element
    while current is not None and current is not item:
        yield current
        if current.getnext() is not None:
            return
        current = current.getparent()


def _leads_to_name(text: str) -> bool:
    words = text.split()
    return len(words) <= MOST_WORDS_BEFORE and _LEADS_TO_NAME.search(text) is not None and names_nobody(text)


def _is_name(link: HtmlElement) -> bool:
    shown = plain_text(link)
    above = link.getparent()
    if not 0 < len(shown) <= LONGEST_NAME or not any(map(str.isalpha, shown)) or above is None:
        return False
    return len(plain_text(above)) <= LONGEST_LINE


def _holds_text_within(element: HtmlElement) -> bool:
    """Return whether a child of an element holds text; icons hold none."""
    return any(isinstance(child.tag, str) and plain_text(child) for child in element)


def _names(element: HtmlElement) -> str:
    return " ".join(element.get(name) or "" for name in ("class", "rel", "itemprop"))


def _html(elements: Iterator[Element]) -> Iterator[HtmlElement]:
    return (cast("HtmlElement", element) for element in elements if isinstance(element.tag, str))


def _html_of(element: Element) -> HtmlElement:
    return cast("HtmlElement", element)

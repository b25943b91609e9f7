"""Read the text of a field as the kind of value that it is."""

import re
from collections.abc import Collection
from datetime import datetime
from zoneinfo import ZoneInfo

from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import Page, dates, text
from aahcrawler.webobject import Person
from knowledge_base.model import DateFormat
from knowledge_base.selectors import Node

LONGEST_DATE = 200
_BLANK = " \t\r\n\xa0"
_NUMBER = re.compile(r"[-+]?\d[\d\s.,'’]*")
_GROUPING = re.compile(r"[\s,'’]")


def shown(node: Node, without: Collection[HtmlElement], strip: str) -> str:
    """Return the plain text of a node without some of its parts, and without ``strip`` at its ends."""
    plain = text.fold(node) if isinstance(node, str) else text.plain_text(node, without)
    return stripped(plain, strip)


def stripped(written: str, strip: str) -> str:
    """Return a text without blanks and without the characters of ``strip`` at its ends."""
    return written.strip(strip + _BLANK) if strip else written.strip()


def as_person(node: Node, name: str, base: str) -> Person | None:
    """Return the person that a node names: the URL is that of the node's link, or of the first one within it."""
    name = text.fold(name)
    if not name:
        return None
    if isinstance(node, str):
        return Person(name)
    link = node if node.tag == "a" else next(node.iter("a"), None)
    href = link.get("href") if link is not None else None
    return Person(name, urls.resolve(base, href) if href else None)


def as_date(written: str, form: DateFormat, page: Page) -> datetime | None:
    """Return the date and time in a text of a page, aware; None if it is not a date.

    The date order of the site's pages comes before the form, and no date lies after the capture of its page.
    """
    if not written or len(written) > LONGEST_DATE:
        return None
    order, zone, now = page.order or form.order, ZoneInfo(form.zone), page.fetched_at
    found = dates.parse(written, order=order, zone=zone, now=now, language=page.language, format=form.format)
    return found if found is not None and found <= now + dates.TOLERANCE else None


def as_number(written: str) -> int | float | None:
    """Return the first number of a text; points, commas and spaces between its digits group them.

    >>> as_number("1,204 views"), as_number("4.5 of 5"), as_number("none")
    (1204, 4.5, None)
    """
    found = _NUMBER.search(written)
    if found is None:
        return None
    digits = _GROUPING.sub("", found.group()).rstrip(".")
    try:
        return float(digits) if "." in digits else int(digits[:30])
    except ValueError:
        return None

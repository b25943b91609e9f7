"""What selectors give on a page: texts as values, where the page is on its site, which expressions cannot match it."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

from lxml.etree import _Element
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import Page, dates, jsontree, text
from aahcrawler.page.date_grammar import Reading
from aahcrawler.page.dates import date_attributes
from aahcrawler.page.datewords import order_of
from aahcrawler.webobject import Person
from knowledge_base.matching import literals_of
from knowledge_base.model import Application, DateFormat, PageLevel
from knowledge_base.selectors import Node, SourceLiterals
from knowledge_base.url_rules import ParsedUrl

MAX_DATE_LENGTH = 200
MAX_WITHIN = 12
"""The most elements within one that shows a date whose attributes are looked at."""

MAX_APART = timedelta(days=2)
"""The most by which a time and the same time told in days, in any zone, may differ."""

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
    """Return the date and time in a text of a page as ``read_date`` does, without what of it is a guess."""
    found = read_date(written, form, page)
    return None if found is None else found.moment


def read_date(written: str, form: DateFormat, page: Page) -> Reading | None:
    """Return the date and time in a text of a page, aware; None if it is not a date or names no day.

    The order of the site's dates comes before that of the form, and so does a language in which the year is first: what
    the form knows is how its application comes.
    """
    if not written or len(written) > MAX_DATE_LENGTH:
        return None
    usual = order_of(page.language)
    order = page.order or (None if usual is not None and usual.fields == "ymd" else form.order)
    zone, now = ZoneInfo(form.zone), page.fetched_at
    found = dates.read_date(written, order=order, zone=zone, now=now, language=page.language, format=form.format)
    return None if found is None or found.vague else found


def exact_date(element: HtmlElement, told: Reading | None, form: DateFormat, page: Page) -> Reading | None:
    """Return the full date in the attributes of an element that shows a date, else what its text told.

    Attributes within the element are believed, those of its parent and beside it only if they agree with the text.
    """
    if told is not None and told.names_day and told.timed:
        return told
    plain = DateFormat(form.order, form.zone)
    for each in islice(element.iter(), MAX_WITHIN):
        if (read := _of_attributes(each, plain, page)) is not None and read.timed >= (told is not None and told.timed):
            return read
    beside = (element.getparent(), element.getprevious(), element.getnext())
    for near in beside if told is not None else ():
        read = _of_attributes(near, plain, page) if near is not None else None
        if told is not None and read is not None and _agree(read, told):
            return read
    return told


def _of_attributes(element: _Element, form: DateFormat, page: Page) -> Reading | None:
    read = (read_date(text.fold(value), form, page) for _, value in date_attributes(element))
    return next((each for each in read if each is not None and each.names_day), None)


def _agree(exact: Reading, told: Reading) -> bool:
    """Return whether a full date is one that a page may show as another, for which the year or the time is missing."""
    if told.lacks_year:
        return (exact.moment.month, exact.moment.day) == (told.moment.month, told.moment.day)
    return exact.timed >= told.timed and abs(exact.moment - told.moment) <= MAX_APART


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


class Owners:
    """Finds for any element the nearest item that it is or lies within; each element is visited once."""

    def __init__(self, items: Iterable[HtmlElement]) -> None:
        self._owner: dict[Element, HtmlElement | None] = {item: item for item in items}

    def of(self, node: Element) -> HtmlElement | None:
        """Return the nearest item, None outside of all of them."""
        path: list[Element] = []
        current: Element | None = node
        while current is not None and current not in self._owner:
            path.append(current)
            current = current.getparent()
        owner = self._owner[current] if current is not None else None
        self._owner.update(dict.fromkeys(path, owner))
        return owner


def nesting(items: Sequence[HtmlElement]) -> Owners | None:
    """Return the owners of elements if some items lie within others, else None."""
    owners = Owners(items)
    above = (item.getparent() for item in items)
    return owners if any(parent is not None and owners.of(parent) is not None for parent in above) else None


MAX_TRIES = 16
"""Nodes of one selector that are tried for a value; the right one is among the first."""


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The location of a page: ``own`` is the URL of the first page, by which the whole is named."""

    page: Page
    url: str
    own: ParsedUrl
    is_first: bool
    literals: SourceLiterals

    @classmethod
    def of(
        cls,
        page: Page,
        application: Application,
        level: PageLevel,
        literals: SourceLiterals,
        own: ParsedUrl | None = None,
    ) -> "PageLocation":
        """Say where a page stands; ``own`` is the URL by which it names itself, None where it does not."""
        here = application.canonical(ParsedUrl.parse(page.url))
        own = own or level.first_page(here)
        is_first = (here.path, here.query) == (own.path, own.query)
        return cls(page, here.url, own, is_first, literals)


def named_address(page: Page, application: Application, level: PageLevel) -> ParsedUrl | None:
    """Find out under which URL of its site the page names itself; None where it tells none of its level."""
    host = _host_of(ParsedUrl.parse(page.url))
    for selector in level.own:
        for node in selector.nodes(page.tree, page.elements)[:MAX_TRIES]:
            address = _address(node, page, application, level)
            if address is not None and _host_of(address) == host:
                return address
    return None


def address_text(node: Node) -> str:
    """Return the reference in a node, as written: an element's ``href``, the text of a value of JSON.

    For a body, that is its first link: in JSON it was text.
    """
    if isinstance(node, str):
        return node
    if node.get("href") is None and node.getroottree().getroot().tag == jsontree.ROOT:
        return (node.text or "").strip()
    link = node if node.tag != "body" else next(node.iter("a"), node)
    return link.get("href") or ""


def _address(node: Node, page: Page, application: Application, level: PageLevel) -> ParsedUrl | None:
    url = urls.resolve(page.base_url, address_text(node))
    address = level.first_page(application.canonical(ParsedUrl.parse(url))) if url else None
    return address if address is not None and _is_meant(address, page, application, level) else None


def _is_meant(address: ParsedUrl, page: Page, application: Application, level: PageLevel) -> bool:
    """Say whether a page may go by a URL: one of its level, and for JSON that of the page it stands for."""
    if page.is_json:
        return application.level_of(address) is not None
    return not level.addresses or level.documents(address)


def _host_of(address: ParsedUrl) -> str:
    return address.prefix.partition("://")[2].removeprefix("www.")


def literals_on(page: Page) -> SourceLiterals:
    """Index the texts of one page; JSON can spell its texts in other ways, so that no expression is skipped."""
    return SourceLiterals(None) if page.is_json else literals_of(page)

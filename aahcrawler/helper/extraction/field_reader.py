"""Reads the fields of objects: finds their nodes, and makes texts, persons, dates and numbers of what these show."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from html import escape
from itertools import islice
from typing import NamedTuple
from zoneinfo import ZoneInfo

from lxml.etree import _Element
from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.page import Page, dates, jsontree, markup, text
from aahcrawler.page.date_grammar import DateReading
from aahcrawler.page.date_parts import order_of
from aahcrawler.page.dates import date_attributes
from aahcrawler.page.schemaorg import Item, items
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Person, Reference, Value
from knowledge_base.element_index import Elements
from knowledge_base.matching import literals_of
from knowledge_base.model import Application, DateFormat, Field, FieldKind, PageLevel
from knowledge_base.selectors import Node, Selector, SourceLiterals
from knowledge_base.url_rules import ParsedUrl

MAX_DATE_LENGTH = 200
MAX_WITHIN = 12
"""The most elements whose attributes are read for a date: the element that shows it, and those within it."""

MAX_APART = timedelta(days=2)
"""The most by which two dates of one moment may differ if both are in any zone and without a time of day."""

_BLANK = " \t\r\n\xa0"
_NUMBER = re.compile(r"[-+]?\d[\d\s.,'’]*")
_GROUPING = re.compile(r"[\s,'’]")


def shown(node: Node, without: Collection[HtmlElement], strip: str) -> str:
    """Return the plain text of a node without some of its parts, and without ``strip`` at its ends."""
    plain = text.fold(node) if isinstance(node, str) else text.plain_text(node, without)
    return stripped(plain, strip) if strip else plain


def stripped(written: str, strip: str) -> str:
    """Return a text without blanks and without the characters of ``strip`` at its ends."""
    return written.strip(strip + _BLANK) if strip else written.strip()


def as_person(node: Node, name: str, base: str) -> Person | None:
    """Return the person that a node names; their URL is that of the node's link, or of the first link within it."""
    name = text.fold(name)
    if not name:
        return None
    if isinstance(node, str):
        return Person(name)
    link = node if node.tag == "a" else next(node.iter("a"), None)
    href = link.get("href") if link is not None else None
    return Person(name, urls.resolve(base, href) if href else None)


def as_date(written: str, form: DateFormat, page: Page) -> datetime | None:
    """Return the date in a text of a page as ``read_date`` does, without the parts of it that are guesses."""
    found = read_date(written, form, page)
    return None if found is None else found.moment


def read_date(written: str, form: DateFormat, page: Page) -> DateReading | None:
    """Return the date in a text of a page, aware; None if it is no date or names no day.

    The order of day, month and year that the site's pages have shown precedes that of ``form``, which is only the usual
    one of the application. So does the order of a language in which the year comes first.
    """
    if not written or len(written) > MAX_DATE_LENGTH:
        return None
    usual = order_of(page.language)
    order = page.order or (None if usual is not None and usual.fields == "ymd" else form.order)
    zone, now = ZoneInfo(form.zone), page.fetched_at
    found = dates.read_date(written, order=order, zone=zone, now=now, language=page.language, format=form.format)
    return None if found is None or found.vague else found


def exact_date(element: HtmlElement, told: DateReading | None, form: DateFormat, page: Page) -> DateReading | None:
    """Return the full date in the attributes of an element that shows a date, else the date in its text.

    Attributes within the element are trusted; those of its parent and siblings only if they agree with the text.
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
        if told is not None and read is not None and _agrees_with_shown(read, told):
            return read
    return told


def _of_attributes(element: _Element, form: DateFormat, page: Page) -> DateReading | None:
    read = (read_date(text.fold(value), form, page) for _, value in date_attributes(element))
    return next((each for each in read if each is not None and each.names_day), None)


def _agrees_with_shown(exact: DateReading, told: DateReading) -> bool:
    """Return whether a full date may be what a page shows without the year or the time."""
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
    """Finds the nearest item that is or contains an element; each element is visited once."""

    def __init__(self, items: Iterable[HtmlElement]) -> None:
        self._owner: dict[Element, HtmlElement | None] = {item: item for item in items}

    def of(self, node: Element) -> HtmlElement | None:
        """Return the nearest item, None for an element outside of all items."""
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
"""The most nodes of one selector from which a value is read; the right one is among the first."""


@dataclass(frozen=True, slots=True)
class PageLocation:
    """The URLs of a page: ``own`` is that of the first page of its thread or list, by which the whole is named."""

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
        """Return the location of a page; ``own`` is the URL by which the page names itself, None where it does not."""
        here = application.canonical(ParsedUrl.parse(page.url))
        own = own or level.first_page(here)
        is_first = (here.path, here.query) == (own.path, own.query)
        return cls(page, here.url, own, is_first, literals)


def named_address(page: Page, application: Application, level: PageLevel) -> ParsedUrl | None:
    """Return the URL of its site by which a page names itself; None where it names none of its level."""
    host = _host_of(ParsedUrl.parse(page.url))
    for selector in level.own:
        for node in selector.nodes(page.tree, page.elements)[:MAX_TRIES]:
            address = _address(node, page, application, level)
            if address is not None and _host_of(address) == host:
                return address
    return None


def address_text(node: Node) -> str:
    """Return the URL in a node as written: the ``href`` of an element, the text of a JSON value.

    In an extracted body, which was text in JSON, it is the first link.
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
    """Return whether a URL may be a page's own: one of its level, and for JSON that of the page it stands for."""
    if page.is_json:
        return application.level_of(address) is not None
    return not level.addresses or level.documents(address)


def _host_of(address: ParsedUrl) -> str:
    return address.prefix.partition("://")[2].removeprefix("www.")


def literals_on(page: Page) -> SourceLiterals:
    """Return an index of the texts of one page, by which expressions that cannot match are skipped.

    JSON can spell its texts in several ways, so that on such a page no expression is skipped.
    """
    return SourceLiterals(None) if page.is_json else literals_of(page)


_Located = tuple[HtmlElement | None, Node]
"""A node, and the element that it is or belongs to, None if that is unknown."""

_WRITTEN = frozenset({FieldKind.TEXT, FieldKind.HTML})


class FoundValues(NamedTuple):
    """The values of a field, the elements that the first value was read from, and the parts of these left out.

    Without a value, the elements are those that should have held it: a text may consist of pictures alone.
    """

    values: tuple[Value, ...] = ()
    elements: tuple[HtmlElement, ...] = ()
    without: tuple[HtmlElement, ...] = ()
    lacks_year: bool = False
    """Whether the first value is a date that the page shows without a year."""


_NOTHING = FoundValues()


@dataclass(frozen=True, slots=True)
class _Plan:
    """The expressions of a field that can find anything on this page."""

    selectors: tuple[Selector, ...]
    without: tuple[Selector, ...]


class FieldReader:
    """Reads fields on one page. ``budget`` is the number of characters that may still be read."""

    def __init__(self, location: PageLocation, budget: int) -> None:
        self.budget = budget
        self._location = location
        self._plans: dict[Field, _Plan] = {}
        self._on_page: dict[Field, FoundValues] = {}

    def read(self, wanted: Field, item: HtmlElement, owners: Owners | None) -> FoundValues:
        """Return the values of the first selector that finds any, within an item or on the page.

        With ``owners``, the content of objects within the item is not read as the item's own.
        """
        if not wanted.page:
            return self._read(wanted, item, owners)
        found = self._on_page.get(wanted)
        if found is None:
            found = self._on_page[wanted] = self._read(wanted, self._location.page.tree, None)
        return found

    def _read(self, wanted: Field, context: HtmlElement, owners: Owners | None) -> FoundValues:
        plan = self._plans.get(wanted) or self._plan(wanted)
        blank, elements = _NOTHING, self._location.page.elements
        for selector in plan.selectors:
            nodes = _located(wanted, selector, context, owners, elements)
            found = self._joined(wanted, plan, _outermost(nodes)) if wanted.join else self._singly(wanted, plan, nodes)
            if found.values:
                return found
            blank = blank if blank.elements else found
        return blank

    def without_bylines(self, wanted: Field, found: FoundValues, fields: Iterable[HtmlElement]) -> FoundValues:
        """Return a body without lines at its beginning and end that are elements of other fields."""
        if wanted.kind is not FieldKind.TEXT or len(found.elements) != 1 or wanted.many:
            return found
        body, shown_text = found.elements[0], str(found.values[0])
        left_out = boundary_fields(body, shown_text, fields)
        if not left_out:
            return found
        without = (*found.without, *left_out)
        return FoundValues((_text(wanted, body, without),), found.elements, without)

    def declared(self, wanted: Field) -> FoundValues:
        """Return the value that the page declares for its main item."""
        item = self._main_item
        values = declared_values(item, wanted, self._location.page) if item is not None else ()
        self.budget -= sum(len(value) for value in values if isinstance(value, str))
        return FoundValues(values)

    @cached_property
    def _main_item(self) -> Item | None:
        page = self._location.page
        return main_item(page, (self._location.own.url, self._location.url, page.url))

    def keep_whole(self, fields: Iterable[Field]) -> None:
        """Read these fields with all of their expressions, since their items have markup that the source lacks."""
        self._plans.update({wanted: _Plan(wanted.selectors, wanted.without) for wanted in fields})

    def narrowed(self, selectors: Iterable[Selector]) -> Iterator[Selector]:
        """Yield those of the expressions that can match on the page."""
        return self._narrowed(selectors, self._location.page.elements)

    def _narrowed(self, selectors: Iterable[Selector], elements: Elements | None) -> Iterator[Selector]:
        narrow = self._location.literals.narrow
        for given in selectors:
            if (selector := narrow(given, elements)) is not None:
                yield selector

    def _plan(self, wanted: Field) -> _Plan:
        # Markup given as text on the page has elements of its own.
        elements = None if wanted.markup else self._location.page.elements
        plan = _Plan(tuple(self.narrowed(wanted.selectors)), tuple(self._narrowed(wanted.without, elements)))
        self._plans[wanted] = plan
        return plan

    def _singly(self, wanted: Field, plan: _Plan, nodes: Iterable[_Located]) -> FoundValues:
        if wanted.kind is FieldKind.DATETIME:
            return self._dates(wanted, plan, nodes)
        values: list[Value] = []
        elements: tuple[HtmlElement, ...] = ()
        left_out: tuple[HtmlElement, ...] = ()
        for element, node in islice(nodes, MAX_TRIES):
            without = _without(plan, node, self._location.page.elements)
            value = self._value(wanted, _text(wanted, node, without), node)
            if not values and (value is not None or not elements):
                elements, left_out = ((element,), without) if element is not None else ((), ())
            if value is None:
                continue
            if value not in values:
                values.append(value)
            if not wanted.many:
                break
        return FoundValues(tuple(values), elements, left_out)

    def _dates(self, wanted: Field, plan: _Plan, nodes: Iterable[_Located]) -> FoundValues:
        """Read dates; a full date in an attribute precedes the date that is shown."""
        page = self._location.page
        read: dict[datetime, bool] = {}
        elements: tuple[HtmlElement, ...] = ()
        for element, node in islice(nodes, MAX_TRIES):
            told = read_date(_text(wanted, node, _without(plan, node, page.elements)), wanted.date, page)
            told = told if isinstance(node, str) else exact_date(node, told, wanted.date, page)
            if not read and (told is not None or not elements):
                elements = (element,) if element is not None else ()
            if told is not None:
                read.setdefault(told.moment, told.lacks_year)
                if not wanted.many:
                    break
        return FoundValues(tuple(read), elements, (), any(islice(read.values(), 1)))

    def _joined(self, wanted: Field, plan: _Plan, nodes: Iterable[_Located]) -> FoundValues:
        """Join the texts of all nodes into one value; of nodes within each other, the outer one counts."""
        texts: list[str] = []
        parts: list[_Located] = []
        without: list[HtmlElement] = []
        blank: list[HtmlElement] = []
        for element, node in nodes:
            left_out = _without(plan, node, self._location.page.elements)
            text_of_part = _text(wanted, node, left_out)
            without += left_out
            if text_of_part:
                texts.append(text_of_part)
                parts.append((element, node))
            elif element is not None:
                blank.append(element)
        if not parts:
            return FoundValues((), tuple(blank), tuple(without))
        whole = ("\n" if wanted.kind in _WRITTEN else " ").join(texts)
        value = self._value(wanted, stripped(whole, wanted.strip), parts[0][1])
        elements = tuple(element for element, _ in parts if element is not None)
        return FoundValues((value,), elements, tuple(without)) if value is not None else FoundValues()

    def _value(self, wanted: Field, found: str, node: Node) -> Value | None:
        page = self._location.page
        match wanted.kind:
            case FieldKind.PERSON:
                return as_person(node, found, page.base_url)
            case FieldKind.URL:
                written = address_text(node)
                url = urls.resolve(page.base_url, written) if written else None
                return Reference(url) if url else None
            case FieldKind.DATETIME:
                read = read_date(found, wanted.date, page)
                return None if read is None else read.moment
            case FieldKind.NUMBER:
                return as_number(found)
        self.budget -= len(found)
        return found or None


def _without(plan: _Plan, node: Node, elements: Elements) -> tuple[HtmlElement, ...]:
    if isinstance(node, str) or not plan.without:
        return ()
    return tuple(part for selector in plan.without for part in selector.elements(node, elements))


def _text(wanted: Field, node: Node, without: tuple[HtmlElement, ...]) -> str:
    if isinstance(node, str):
        return node.strip() if wanted.kind is FieldKind.HTML else shown(node, (), wanted.strip)
    if wanted.kind is FieldKind.HTML:
        return text.inner_html(node, without).strip()
    return shown(node, without, wanted.strip)


def _located(
    wanted: Field, selector: Selector, context: HtmlElement, owners: Owners | None, elements: Elements
) -> Iterator[_Located]:
    """Yield the nodes that belong to the context and to no object within it, each with its element if known."""
    for node in selector.found(context, elements):
        if isinstance(node, str):
            yield _unfolded(node) if wanted.markup else (None, node)
            continue
        if owners is not None and owners.of(node) is not context:
            continue
        value = node.get(selector.attribute) if selector.attribute else node
        if value is None:
            continue
        if wanted.markup:
            yield _unfolded(value if isinstance(value, str) else "".join(value.itertext()))
        else:
            yield node, value


def _unfolded(written: str) -> _Located:
    """Return the element that a page describes by markup in a text."""
    root = markup.parse(written.encode("utf-8", "replace"))
    body = next(root.iter("body"), root)
    return body, body


def _outermost(nodes: Iterable[_Located]) -> Iterator[_Located]:
    """Yield nodes, given in document order, that lie within no other one."""
    within: set[object] = set()
    for element, node in nodes:
        if element is None:
            yield element, node
        elif element not in within:
            within = set(element.iterdescendants())
            yield element, node


def boundary_fields(body: HtmlElement, shown: str, fields: Iterable[HtmlElement]) -> tuple[HtmlElement, ...]:
    """Return the elements of other fields that are whole lines at the beginning or the end of a body.

    Each is returned with the elements around it that show nothing else, such as the link around a date. ``shown`` is
    the plain text of the body. An element is left out if nothing of the body would remain without it, or if its line
    has other text.
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


_ARTICLE_LIKE = re.compile(r"\w*Article|(?:Blog|LiveBlog|SocialMedia|DiscussionForum)Posting|Report|Question|\w*Review")
_NAMED_BY = ("mainEntityOfPage", "url", "@id")
_MAIN_ROLES = frozenset({"", "mainEntity"})


def main_item(page: Page, own: Sequence[str]) -> Item | None:
    """Return the item that the page declares as its main one, None if it declares none.

    ``own`` are the page's URLs. An article, post or the like with one of them comes first, then the only one that is
    declared for the page itself and not as a part of something, then any other item with the page's URL.
    """
    found = page.once(items)
    addresses = frozenset(map(_bare, own))
    works = [item for item in found if any(map(_ARTICLE_LIKE.fullmatch, item.types))]
    named = (item for item in works if _is_at(item, addresses, page))
    only = [item for item in works if item.role in _MAIN_ROLES]
    others = (item for item in found if _is_at(item, addresses, page))
    return next(named, None) or (only[0] if len(only) == 1 else next(others, None))


def declared_values(item: Item, wanted: Field, page: Page) -> tuple[Value, ...]:
    """Return the values of the first of a field's properties that has any; only one, unless the field takes several."""
    for name in wanted.declared:
        singly = (replace(item, node={name: value}) for value in item.values(name))
        values = tuple(dict.fromkeys(value for single in singly for value in _values(single, name, wanted, page)))
        if values:
            return values if wanted.many else values[:1]
    return ()


def _values(item: Item, name: str, wanted: Field, page: Page) -> Iterator[Value]:
    value: Value | None
    match wanted.kind:
        case FieldKind.PERSON:
            yield from item.people(page.base_url, name)
            return
        case FieldKind.URL:
            url = item.url(page.base_url, name)
            value = Reference(url) if url else None
        case FieldKind.DATETIME:
            # The field's format describes text for readers; text for machines does not follow it.
            form = DateFormat(wanted.date.order, wanted.date.zone)
            value = as_date(item.text(name), form, page)
        case FieldKind.NUMBER:
            value = as_number(item.text(name))
        case FieldKind.HTML:
            raw = item.node[name]
            value = raw if isinstance(raw, str) and "<" in raw else escape(item.lines(name), quote=False)
        case FieldKind.TEXT:
            value = item.lines(name)
    if value not in (None, ""):
        yield value


def _is_at(item: Item, addresses: frozenset[str], page: Page) -> bool:
    urls = (item.url(page.base_url, name) for name in _NAMED_BY)
    return any(_bare(url) in addresses for url in urls if url)


def _bare(url: str) -> str:
    """Return a URL without the parts by which spellings of one URL differ: scheme, ``www.``, closing slash."""
    return url.partition("://")[2].removeprefix("www.").rstrip("/")

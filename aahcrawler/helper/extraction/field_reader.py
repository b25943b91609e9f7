"""Reads the fields of objects from their elements."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from html import escape
from itertools import islice

from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.helper.extraction.field_values import (
    MAX_TRIES,
    Owners,
    PageLocation,
    address_text,
    as_date,
    as_number,
    as_person,
    exact_date,
    read_date,
    shown,
    stripped,
)
from aahcrawler.page import Page, markup, text
from aahcrawler.page.schemaorg import Item, items
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Reference, Value
from knowledge_base.element_index import Elements
from knowledge_base.model import DateFormat, Field, FieldKind
from knowledge_base.selectors import Node, Selector

_Located = tuple[HtmlElement | None, Node]
"""A node, and the element that it is or belongs to, None if that is not known."""

_WRITTEN = frozenset({FieldKind.TEXT, FieldKind.HTML})


@dataclass(frozen=True, slots=True)
class Found:
    """The values of a field, the elements that the first value was read from, and the parts of these left out.

    Without a value, the elements are those that should have held it: a text may consist of pictures alone.
    """

    values: tuple[Value, ...] = ()
    elements: tuple[HtmlElement, ...] = ()
    without: tuple[HtmlElement, ...] = ()
    lacks_year: bool = False
    """Whether the first value is a date that the page shows without a year."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """The expressions of a field that can find anything on this page."""

    selectors: tuple[Selector, ...]
    without: tuple[Selector, ...]


class FieldReader:
    """Reads fields on one page. ``budget`` is the number of characters of text that may still be read."""

    def __init__(self, location: PageLocation, budget: int) -> None:
        self.budget = budget
        self._location = location
        self._plans: dict[Field, _Plan] = {}
        self._on_page: dict[Field, Found] = {}

    def read(self, wanted: Field, item: HtmlElement, owners: Owners | None) -> Found:
        """Return the result of the first selector that yields anything, within an item or on the page.

        With ``owners``, the content of objects within the item is not read as the item's own.
        """
        if not wanted.page:
            return self._read(wanted, item, owners)
        found = self._on_page.get(wanted)
        if found is None:
            found = self._on_page[wanted] = self._read(wanted, self._location.page.tree, None)
        return found

    def _read(self, wanted: Field, context: HtmlElement, owners: Owners | None) -> Found:
        plan = self._plans.get(wanted) or self._plan(wanted)
        blank, elements = Found(), self._location.page.elements
        for selector in plan.selectors:
            nodes = _located(wanted, selector, context, owners, elements)
            found = self._joined(wanted, plan, _outermost(nodes)) if wanted.join else self._singly(wanted, plan, nodes)
            if found.values:
                return found
            blank = blank if blank.elements else found
        return blank

    def without_bylines(self, wanted: Field, found: Found, fields: Iterable[HtmlElement]) -> Found:
        """Return a body without the elements of other fields that are lines above or below it."""
        if wanted.kind is not FieldKind.TEXT or len(found.elements) != 1 or wanted.many:
            return found
        body, shown_text = found.elements[0], str(found.values[0])
        left_out = boundary_fields(body, shown_text, fields)
        if not left_out:
            return found
        without = (*found.without, *left_out)
        return Found((_text(wanted, body, without),), found.elements, without)

    def declared(self, wanted: Field) -> Found:
        """Return the value that the page declares for its main item."""
        item = self._main_item
        values = declared_values(item, wanted, self._location.page) if item is not None else ()
        self.budget -= sum(len(value) for value in values if isinstance(value, str))
        return Found(values)

    @cached_property
    def _main_item(self) -> Item | None:
        page = self._location.page
        return main_item(page, (self._location.own.url, self._location.url, page.url))

    def keep_whole(self, fields: Iterable[Field]) -> None:
        """Read these with all of their expressions: their items hold markup that is not in the source of the page."""
        self._plans.update({wanted: _Plan(wanted.selectors, wanted.without) for wanted in fields})

    def narrowed(self, selectors: Iterable[Selector]) -> Iterator[Selector]:
        """Yield those of the expressions that can find anything on the page."""
        return self._narrowed(selectors, self._location.page.elements)

    def _narrowed(self, selectors: Iterable[Selector], elements: Elements | None) -> Iterator[Selector]:
        narrow = self._location.literals.narrow
        return (selector for given in selectors if (selector := narrow(given, elements)) is not None)

    def _plan(self, wanted: Field) -> _Plan:
        # Markup given as text on the page has elements of its own.
        elements = None if wanted.markup else self._location.page.elements
        plan = _Plan(tuple(self.narrowed(wanted.selectors)), tuple(self._narrowed(wanted.without, elements)))
        self._plans[wanted] = plan
        return plan

    def _singly(self, wanted: Field, plan: _Plan, nodes: Iterable[_Located]) -> Found:
        if wanted.kind is FieldKind.DATETIME:
            return self._dates(wanted, plan, nodes)
        values: list[Value] = []
        first = Found()
        for element, node in islice(nodes, MAX_TRIES):
            without = _without(plan, node, self._location.page.elements)
            value = self._value(wanted, _text(wanted, node, without), node)
            if not values and (value is not None or not first.elements):
                first = Found((), (element,), without) if element is not None else Found()
            if value is None:
                continue
            if value not in values:
                values.append(value)
            if not wanted.many:
                break
        return Found(tuple(values), first.elements, first.without)

    def _dates(self, wanted: Field, plan: _Plan, nodes: Iterable[_Located]) -> Found:
        """Read dates; one that is full in an attribute comes before the one that is shown."""
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
        return Found(tuple(read), elements, (), any(islice(read.values(), 1)))

    def _joined(self, wanted: Field, plan: _Plan, nodes: Iterable[_Located]) -> Found:
        """Join all nodes that have text into one value; a node within another one counts once."""
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
            return Found((), tuple(blank), tuple(without))
        whole = ("\n" if wanted.kind in _WRITTEN else " ").join(texts)
        value = self._value(wanted, stripped(whole, wanted.strip), parts[0][1])
        elements = tuple(element for element, _ in parts if element is not None)
        return Found((value,), elements, tuple(without)) if value is not None else Found()

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
    if isinstance(node, str):
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
    """Yield nodes that belong to the context and to no object within it, each with its element if that is known."""
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
    """Parse markup that is given as text on a page into the element it describes."""
    root = markup.parse(written.encode("utf-8", "replace"))
    body = next(root.iter("body"), root)
    return body, body


def _outermost(nodes: Iterable[_Located]) -> Iterator[_Located]:
    """Leave out nodes within others: in document order, those within the last node yielded."""
    within: set[object] = set()
    for element, node in nodes:
        if element is None:
            yield element, node
        elif element not in within:
            within = set(element.iterdescendants())
            yield element, node


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


_ARTICLE_LIKE = re.compile(r"\w*Article|(?:Blog|LiveBlog|SocialMedia|DiscussionForum)Posting|Report|Question|\w*Review")
_NAMED_BY = ("mainEntityOfPage", "url", "@id")
_MAIN_ROLES = frozenset({"", "mainEntity"})


def main_item(page: Page, own: Sequence[str]) -> Item | None:
    """Return the item that the page declares as its main one, None if it declares none.

    ``own`` are the page's URLs. An article, post or the like with one of them comes first, then the only one that
    the page declares in its own right, then any other item with the page's URL.
    """
    found = page.once(items)
    addresses = frozenset(map(_bare, own))
    works = [item for item in found if any(map(_ARTICLE_LIKE.fullmatch, item.types))]
    named = (item for item in works if _is_at(item, addresses, page))
    only = [item for item in works if item.role in _MAIN_ROLES]
    others = (item for item in found if _is_at(item, addresses, page))
    return next(named, None) or (only[0] if len(only) == 1 else next(others, None))


def declared_values(item: Item, wanted: Field, page: Page) -> tuple[Value, ...]:
    """Return the values of the first of a field's properties that has any; one, unless the field has many."""
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
    """Return a URL without the parts in which spellings of one URL differ: scheme, ``www.``, closing slash."""
    return url.partition("://")[2].removeprefix("www.").rstrip("/")

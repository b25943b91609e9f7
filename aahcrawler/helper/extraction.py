"""Runs the extraction actions of a page level: from elements to web objects."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from lxml import etree
from lxml.html import HtmlElement

from aahcrawler import urls
from aahcrawler.helper.assistance import Failure
from aahcrawler.page import Page, dates, text
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.addresses import Address
from knowledge_base.model import Application, Extract, Field, FieldKind, Identity, PageLevel
from knowledge_base.selectors import Node, Selector, SourceLiterals

MOST_OBJECTS = 2_000
"""Objects of one action on one page; no template shows as many."""

MOST_TRIES = 16
"""Nodes of one selector that are tried for a value; the right one is among the first."""

MOST_NESTING = 12
MOST_ELEMENTS = 400_000
"""Elements looked at for the objects of one action, those within several objects counted for each."""

BODY = "body"
_size = etree.XPath("count(descendant-or-self::*)")
_NUMBER = re.compile(r"[-+]?\d[\d\s.,'’]*")


@dataclass(frozen=True, slots=True)
class Extracted:
    """An object and the element its body was read from, None where it has none."""

    object: WebObject
    body: HtmlElement | None


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Which page of what is being read: ``own`` is the first page's address, by which the whole is named."""

    page: Page
    url: str
    own: Address
    is_first: bool
    literals: SourceLiterals

    @classmethod
    def of(cls, page: Page, application: Application, level: PageLevel, literals: SourceLiterals) -> "Whereabouts":
        """Find out under which address the page names itself."""
        here = application.canonical(Address.parse(page.url))
        own = _own_address(page, application, level) or level.first_page(here)
        is_first = (here.path, here.query) == (own.path, own.query)
        return cls(page, here.url, own, is_first, literals)


def _own_address(page: Page, application: Application, level: PageLevel) -> Address | None:
    host = Address.parse(page.url).prefix.partition("://")[2].removeprefix("www.")
    for selector in level.own:
        for node in selector.nodes(page.tree)[:MOST_TRIES]:
            url = urls.resolve(page.base_url, _address_text(node))
            address = level.first_page(application.canonical(Address.parse(url))) if url else None
            if address is None or address.prefix.partition("://")[2].removeprefix("www.") != host:
                continue
            if not level.addresses or level.documents(address):
                return address
    return None


def _address_text(node: Node) -> str:
    return node if isinstance(node, str) else node.get("href") or ""


@dataclass
class Extraction:
    """One extraction action on one page. ``failure`` is set once `objects` has been read to its end."""

    action: Extract
    where: Whereabouts
    budget: int
    failure: Failure | None = None
    detail: str = ""
    _owners: "_Owners | None" = None

    def objects(self) -> Iterator[Extracted]:
        """Yield the objects in document order; the same IRI comes once."""
        seen: set[str] = set()
        bodies = 0
        allowance = _allowance(self.where.page.tree)
        for number, item in enumerate(self._find_items()):
            allowance -= int(_size(item))
            if self.budget < 0 or allowance < 0 or number >= MOST_OBJECTS:
                self.failure, self.detail = Failure.TOO_MUCH, f"after {number} objects"
                return
            extracted = self._read(item, first=number == 0 and self.where.is_first)
            if extracted is not None and extracted.object.iri not in seen:
                seen.add(extracted.object.iri)
                bodies += extracted.body is not None
                yield extracted
        if not seen and self.action.always:
            self.failure = Failure.NOTHING_FOUND
        elif seen and not bodies and any(wanted.name == BODY for wanted in self.action.fields):
            self.failure = Failure.INCOMPLETE

    def _find_items(self) -> list[HtmlElement]:
        for selector in self._narrowed(self.action.items):
            items = selector.elements(self.where.page.tree)
            if items:
                items = items if self.action.many else items[:1]
                self._owners = _nesting(items)
                return items
        return []

    def _read(self, item: HtmlElement, *, first: bool) -> Extracted | None:
        fragment = _fragment(self.action.identity, item)
        if self.action.identity is not None and fragment is None:
            return None
        properties: dict[str, tuple[Value, ...]] = {}
        body: HtmlElement | None = None
        for wanted in self.action.fields:
            if wanted.name in properties or (wanted.first_only and not first):
                continue
            values, element = self._values(wanted, item)
            if values:
                properties[wanted.name] = values
                body = element if wanted.name == BODY else body
        own = self.where.own.url
        properties["url"] = (Reference(f"{self.where.url}#{fragment}" if fragment else own),)
        parent = _fragment(self.action.parent, item)
        if parent is not None:
            properties["parent"] = (Reference(f"{own}#{parent}"),)
        iri = f"{own}#{fragment}" if fragment else own
        part_of = own if fragment else None
        return Extracted(WebObject(iri, self._type(first), self.where.page.url, properties, part_of), body)

    def _type(self, first: bool) -> str:
        if first and self.action.first_type:
            return self.action.first_type
        tree = self.where.page.tree
        return next((type_ for type_, sign in self.action.instead if sign.holds(tree)), self.action.type)

    def _values(self, wanted: Field, item: HtmlElement) -> tuple[tuple[Value, ...], HtmlElement | None]:
        """Return the values of the first selector that yields any, and the element of the first value."""
        context = self.where.page.tree if wanted.page else item
        for selector in self._narrowed(wanted.selectors):
            found: list[Value] = []
            first: HtmlElement | None = None
            for element, node in self._nodes(selector, context, item):
                value = self._value(wanted, node)
                if value is None:
                    continue
                first = element if not found else first
                if value not in found:
                    found.append(value)
                if not wanted.many:
                    break
            if found:
                return tuple(found), first
        return (), None

    def _nodes(
        self, selector: Selector, context: HtmlElement, item: HtmlElement
    ) -> Iterator[tuple[HtmlElement | None, Node]]:
        """Yield nodes that belong to the item and to no object within it."""
        for tried, node in enumerate(selector.found(context)):
            if tried >= MOST_TRIES:
                return
            if isinstance(node, str):
                yield None, node
            elif self._owners is None or context is not item or self._owners.of(node) is item:
                value = node.get(selector.attribute) if selector.attribute else None
                if not selector.attribute:
                    yield node, node
                elif value is not None:
                    yield node, value

    def _left_out(self, wanted: Field, element: HtmlElement) -> list[HtmlElement]:
        return [part for selector in self._narrowed(wanted.without) for part in selector.elements(element)]

    def _narrowed(self, selectors: Iterable[Selector]) -> Iterator[Selector]:
        return (selector for given in selectors if (selector := self.where.literals.narrow(given)) is not None)

    def _value(self, wanted: Field, node: Node) -> Value | None:
        without = [] if isinstance(node, str) else self._left_out(wanted, node)
        match wanted.kind:
            case FieldKind.PERSON:
                return _person(node, without, wanted.strip, self.where.page)
            case FieldKind.URL:
                url = urls.resolve(self.where.page.base_url, _address_text(node))
                return Reference(url) if url else None
            case FieldKind.HTML:
                return (node if isinstance(node, str) else text.inner_html(node, without)).strip() or None
        shown = _shown(node, without, wanted.strip)
        if wanted.kind is FieldKind.DATETIME:
            return _date(shown, wanted, self.where.page.fetched_at)
        if wanted.kind is FieldKind.NUMBER:
            return _number(shown)
        self.budget -= len(shown)
        return shown or None


def _shown(node: Node, without: list[HtmlElement], strip: str) -> str:
    plain = text.fold(node) if isinstance(node, str) else text.plain_text(node, without)
    return plain.strip(strip + " \t\r\n\xa0") if strip else plain.strip()


def _person(node: Node, without: list[HtmlElement], strip: str, page: Page) -> Person | None:
    name = text.fold(_shown(node, without, strip))
    if not name:
        return None
    if isinstance(node, str):
        return Person(name)
    link = node if node.tag == "a" else next(node.iter("a"), None)
    href = link.get("href") if link is not None else None
    return Person(name, urls.resolve(page.base_url, href) if href else None)


def _date(shown: str, wanted: Field, now: datetime) -> datetime | None:
    if not shown or len(shown) > 200:
        return None
    form = wanted.date
    return dates.parse(shown, order=form.order, zone=ZoneInfo(form.zone), now=now, format=form.format)


def _number(shown: str) -> int | float | None:
    found = _NUMBER.search(shown)
    if found is None:
        return None
    digits = re.sub(r"[\s,'’]", "", found.group()).rstrip(".")
    try:
        return float(digits) if "." in digits else int(digits[:30])
    except ValueError:
        return None


def _fragment(identity: Identity | None, item: HtmlElement) -> str | None:
    if identity is None:
        return None
    for selector in identity.selectors:
        for node in selector.nodes(item)[:1]:
            fragment = identity.fragment(node if isinstance(node, str) else text.fold(text.plain_text(node)))
            if fragment is not None:
                return fragment
    return None


class _Owners:
    """Tells for any element the nearest item that it is or lies within; each element is looked at once."""

    def __init__(self, items: Iterable[HtmlElement]) -> None:
        self._owner: dict[etree._Element, HtmlElement | None] = {item: item for item in items}

    def of(self, node: etree._Element) -> HtmlElement | None:
        """Return the nearest item, None outside of all of them."""
        path: list[etree._Element] = []
        current: etree._Element | None = node
        while current is not None and current not in self._owner:
            path.append(current)
            current = current.getparent()
        owner = self._owner[current] if current is not None else None
        self._owner.update(dict.fromkeys(path, owner))
        return owner


def _nesting(items: list[HtmlElement]) -> _Owners | None:
    """Return who owns what where some items lie within others, None where none does."""
    owners = _Owners(items)
    above = (item.getparent() for item in items)
    return owners if any(parent is not None and owners.of(parent) is not None for parent in above) else None


def _allowance(tree: HtmlElement) -> int:
    """Return how many elements may be looked at: items may lie within one another, but not all in all others."""
    size = int(_size(tree))
    return min(MOST_NESTING * size, max(MOST_ELEMENTS, 2 * size))

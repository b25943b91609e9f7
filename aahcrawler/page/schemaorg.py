"""Read what a page declares in the vocabulary of schema.org: JSON-LD, microdata, RDFa, microformats."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import unescape

from lxml.html import HtmlElement

from aahcrawler.page import Page, embedded_markup, markup
from aahcrawler.page.embedded_markup import ElementText
from aahcrawler.page.text import fold, plain_text
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person

MAX_SCRIPT = 1_000_000
"""A script of more characters is not read."""

MAX_ITEMS = 1_000
"""The most items of one page that are read."""

MAX_DEPTH = 12
"""The depth to which items inside items are searched for."""

_WRAPPING = re.compile(r"^\s*(?:<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[)|(?://\s*)?(?:-->|\]\]>)\s*$")
_MARKUP = re.compile(r"</?[a-zA-Z][^<>]{0,500}>|&[a-zA-Z#]\w{1,9};")
_ESCAPED = re.compile(r"&lt;/(?:p|div|li|h[1-6])&gt;", re.IGNORECASE)
"""Ends a block of markup that was escaped once more than it had to be."""
_MAX_NAME_LENGTH = 200
_WORK = re.compile(r"\w*Article|\w*Posting|Report|Question")
_SAID = frozenset({"Comment", "UserComments", "Answer"})

Json = object


@dataclass(frozen=True, slots=True)
class Item:
    """A typed node. ``role`` is the property that holds it in ``holder``; both are empty for one at the top.

    ``known`` finds nodes by their ``@id``.
    """

    types: tuple[str, ...]
    node: Mapping[str, Json]
    known: Mapping[str, Mapping[str, Json]]
    role: str = ""
    holder: "Item | None" = None
    listed: bool = False
    """Whether it was one of several, in a graph or a list."""

    @property
    def element(self) -> HtmlElement | None:
        """The element of the item, None if it was declared in a script."""
        found = self.node.get("@element")
        return found if isinstance(found, HtmlElement) else None

    def values(self, name: str) -> Iterator[Json]:
        """Yield the values of a property in order, references to other nodes followed."""
        value = self.node.get(name)
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, Mapping) and len(one) <= 2 and isinstance(one.get("@id"), str):
                yield self.known.get(str(one["@id"]), one)
            elif one is not None:
                yield one

    def text(self, *names: str) -> str:
        """Return the first of these properties that has text, in one line, without markup."""
        return fold(self.lines(*names))

    def lines(self, *names: str) -> str:
        """Return the first of these properties that has text, a line for each block of its markup."""
        for name in names:
            for value in self.values(name):
                found = plain(value)
                if found:
                    return found
        return ""

    def url(self, base: str, *names: str) -> str | None:
        """Return the first of these properties that is a URL."""
        for name in names:
            for value in self.values(name):
                given = value.get("url") or value.get("@id") if isinstance(value, Mapping) else value
                if isinstance(given, str) and given.strip() and (url := resolve(base, given)):
                    return url
        return None

    def people(self, base: str, *names: str) -> tuple[Person, ...]:
        """Return the people named by the first of these properties that is present."""
        for name in names:
            people = tuple(person for value in self.values(name) if (person := _person(value, base)))
            if people:
                return people
        return ()


def items(page: Page) -> tuple[Item, ...]:
    """Return the typed nodes that a page declares, each before those inside it, in document order.

    JSON-LD comes first, then microdata, RDFa and microformats. If an earlier format declares works, comments or things
    of another kind, those of the same kind in later formats are left out: pages declare the same thing in several ways.
    Scripts that are not JSON are ignored, and so are the comment marks that some systems put around JSON.
    """
    found: list[Item] = []
    told: set[str] = set()
    for name, nodes in _FORMATS.items() if page.is_html else (("JSON-LD", _in_scripts),):
        declared = page.attempt(name, partial(_declared, page, nodes), tuple[Item, ...])
        further = [item for item in declared if told.isdisjoint(map(_sort, item.types))]
        told.update(_sort(name) for item in further for name in item.types)
        found.extend(further)
    return tuple(found)


def _declared(page: Page, nodes: Callable[[HtmlElement], Sequence[Json]]) -> tuple[Item, ...]:
    return _read(nodes(page.tree))


def _read(roots: Sequence[Json]) -> tuple[Item, ...]:
    known: dict[str, Mapping[str, Json]] = {}
    _index(roots, known)
    found: list[Item] = []
    for root in roots:
        found.extend(_typed(root, known, MAX_ITEMS - len(found)))
    return tuple(found)


def _sort(name: str) -> str:
    """Return the group of some types: all works are one group, and so are all comments."""
    if _WORK.fullmatch(name):
        return "work"
    return "comment" if name in _SAID else name


def _scripts(tree: HtmlElement) -> Iterator[str]:
    for script in tree.iter("script"):
        kind = (script.get("type") or "").partition(";")[0].strip().lower()
        if kind == "application/ld+json" and script.text and len(script.text) <= MAX_SCRIPT:
            yield script.text


def _in_scripts(tree: HtmlElement) -> Sequence[Json]:
    return [root for script in _scripts(tree) if (root := _loaded(script)) is not None]


_FORMATS: Mapping[str, Callable[[HtmlElement], Sequence[Json]]] = {
    "JSON-LD": _in_scripts,
    "microdata": embedded_markup.microdata_nodes,
    "RDFa": embedded_markup.rdfa_nodes,
    "microformats": embedded_markup.microformat_nodes,
}
"""The readers of formats by their names, in the order in which they are believed."""


def _loaded(script: str) -> Json:
    try:
        return json.loads(_WRAPPING.sub("", script).rstrip().rstrip(";"), strict=False)
    except (ValueError, RecursionError):
        return None


def _children(value: Json) -> Iterator[tuple[str, Json]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping | list):
                yield str(name), inner
    elif isinstance(value, list):
        for inner in value:
            if isinstance(inner, Mapping | list):
                yield "", inner


def _index(roots: Sequence[Json], known: dict[str, Mapping[str, Json]]) -> None:
    """Index the nodes that have an ``@id`` and properties."""
    stack = [(root, 0) for root in reversed(roots)]
    while stack:
        value, depth = stack.pop()
        if isinstance(value, Mapping) and len(value) > 2 and isinstance(value.get("@id"), str):
            known.setdefault(str(value["@id"]), value)
        if depth < 2 * MAX_DEPTH:
            stack.extend((inner, depth + 1) for _, inner in _children(value))


def _typed(root: Json, known: Mapping[str, Mapping[str, Json]], limit: int) -> Iterator[Item]:
    """Walk a document depth first; lists and ``@graph`` hold nothing themselves."""
    stack: list[tuple[Json, str, Item | None, bool, int]] = [(root, "", None, False, 0)]
    while stack and limit > 0:
        value, role, holder, listed, depth = stack.pop()
        item = holder
        if isinstance(value, Mapping) and (types := _types(value)):
            item = Item(types, value, known, role, holder, listed)
            limit -= 1
            yield item
        if depth < MAX_DEPTH:
            inner_role = "" if item is not holder else role
            stack.extend(
                (
                    inner,
                    inner_role if name in ("", "@graph") else name,
                    item,
                    listed or name == "@graph" or (isinstance(value, list) and len(value) > 1),
                    depth + 1,
                )
                for name, inner in reversed(tuple(_children(value)))
            )


def _types(node: Mapping[str, Json]) -> tuple[str, ...]:
    given = node.get("@type")
    names = given if isinstance(given, list) else [given]
    return tuple(name.rpartition("/")[2].rpartition(":")[2] for name in names if isinstance(name, str))


def plain(value: Json) -> str:
    """Return the text of a value, a line for each block of its markup; empty if it has none."""
    if isinstance(value, Mapping):
        value = value.get("@value") or value.get("name") or value.get("text")
        value = value[0] if isinstance(value, list) and value else value
    if isinstance(value, ElementText):
        return value.text()
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = str(value)
    if "<" not in text and _ESCAPED.search(text):
        text = unescape(text)
    if _MARKUP.search(text):
        text = plain_text(markup.parse(f"<div>{text}</div>".encode("utf-8", "replace")))
    return "\n".join(line for line in map(fold, text.split("\n")) if line)


def _person(value: Json, base: str) -> Person | None:
    name = fold(plain(value))
    if not name or len(name) > _MAX_NAME_LENGTH or "://" in name:
        return None
    given = value.get("url") if isinstance(value, Mapping) else None
    address = given[0] if isinstance(given, list) and given else given
    return Person(name, resolve(base, address) if isinstance(address, str) and address.strip() else None)


KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "Dataset": ("dataset", ("description",)),
    "Event": ("event", ("description",)),
    "FAQPage": ("faq", ("mainEntity",)),
    "HowTo": ("how-to", ("description", "supply", "tool", "step")),
    "Product": ("product", ("description",)),
    "Recipe": ("recipe", ("description", "recipeIngredient", "ingredients", "recipeInstructions")),
    "Review": ("review", ("reviewBody", "description")),
}
"""By schema.org type: the object type, and the properties that hold its text, in the order of the text."""

MAX_LINES = 2_000
MAX_TEXT_DEPTH = 6

_SAYING = ("name", "text", "description")
_HOLDING = ("itemListElement", "step", "acceptedAnswer", "suggestedAnswer", "item")


def kind_of(item: Item) -> str:
    """Return the object type of a described thing, or "" if it is none."""
    return next((KINDS[name][0] for name in item.types if name in KINDS), "")


def described_text(item: Item) -> str:
    """Return the text of a described thing, a line for each ingredient, step, question and answer."""
    names = next((KINDS[name][1] for name in item.types if name in KINDS), ())
    lines: dict[str, None] = {}
    for name in names:
        for value in item.values(name):
            for text in _texts(value, 0):
                lines.update(dict.fromkeys(text.split("\n")))
                if len(lines) >= MAX_LINES:
                    return "\n".join(filter(None, lines))
    return "\n".join(filter(None, lines))


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _texts(each, depth)
    elif isinstance(value, Mapping) and depth < MAX_TEXT_DEPTH:
        texts = [plain(part) for name in _SAYING if (part := value.get(name)) is not None]
        for number, text in enumerate(texts):
            if text and not any(text in other for other in texts[number + 1 :]):
                yield text
        for name in _HOLDING:
            yield from _texts(value.get(name), depth + 1)
    elif value is not None and not isinstance(value, Mapping):
        yield plain(value)

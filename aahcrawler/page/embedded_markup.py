"""Microdata, microformats and RDFa of a page, as nodes in the vocabulary of schema.org."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lxml.etree import XPath, iterwalk
from lxml.html import HtmlElement

from aahcrawler.page.text import plain_text

MAX_NODES = 1_000
"""The most nodes of one format that are read from a page."""

MAX_VALUES = 20_000
"""The most values that all nodes of one format have together."""

Node = dict[str, object]

_SPOKEN = re.compile(r"Comment|UserComments|Answer|Question|\w*Posting|\w*Article|Report")


@dataclass(frozen=True, slots=True)
class ElementText:
    """The text of an element, without the comments and other works that lie in it and are declared themselves."""

    element: HtmlElement
    apart: set[HtmlElement]

    def text(self) -> str:
        """Return the plain text, a line for each block."""
        return plain_text(self.element, self.apart - {self.element})


@dataclass(slots=True)
class Collection:
    """The nodes of one format on one page, in document order."""

    roots: list[Node] = field(default_factory=list)
    apart: set[HtmlElement] = field(default_factory=set)
    _nodes: int = 0
    _values: int = 0

    def node(self, element: HtmlElement, types: list[str]) -> Node | None:
        """Return a new node for an element; None if the page has ``MAX_NODES`` already."""
        if self._nodes >= MAX_NODES:
            return None
        self._nodes += 1
        if any(map(_SPOKEN.fullmatch, types)):
            self.apart.add(element)
        return {"@type": types, "@element": element}

    def add(self, holder: Node, name: str, value: object) -> None:
        """Append a value to a property of a node; ignore it if the page has ``MAX_VALUES`` already."""
        self._values += 1
        if self._values <= MAX_VALUES and not name.startswith("@"):
            values = holder.setdefault(name, [])
            if isinstance(values, list):
                values.append(value)

    def written(self, element: HtmlElement) -> ElementText:
        """Return the text of an element as a value."""
        return ElementText(element, self.apart)

    def linked(self, element: HtmlElement, address: str) -> Node:
        """Return a link as a value, with its URL and, if it has text, a name."""
        return {"url": address, "name": self.written(element)}


def attribute_value(element: HtmlElement) -> str | None:
    """Return the value that an element states in an attribute other than that of a link, None if it does not."""
    if (content := element.get("content")) is not None:
        return content
    if (moment := element.get("datetime")) is not None:
        return moment
    match element.tag:
        case "img" | "audio" | "video" | "source" | "embed" | "iframe" | "track":
            return element.get("src")
        case "object":
            return element.get("data")
        case "data" | "meter":
            return element.get("value")
        case "link":
            return element.get("href")
    return None


MAX_REFERENCED = 50_000
"""The most elements that are visited because ``itemref`` names them or an ancestor."""

_ADDRESSES = frozenset({"url", "mainEntityOfPage", "sameAs", "image", "thumbnailUrl", "contentUrl", "embedUrl"})
_has_items = XPath("boolean(//@itemscope)")


def microdata_nodes(tree: HtmlElement) -> list[Node]:
    """Return the items that are not a property of another item, in document order.

    An item belongs to the first one that refers to it, so that no item contains itself. Time is linear in the size of
    the page, ``itemref`` bounded by ``MAX_REFERENCED``. Unlike the standard, a link that is a property other than an
    URL keeps its text beside its URL, and ``content`` and ``datetime`` are read on any element, since pages are
    written that way.
    """
    if not _has_items(tree):
        return []
    reading = _MicrodataReading(Collection())
    reading.walk(tree)
    reading.refer(tree)
    return [node for node in reading.found.roots if id(node) not in reading.held]


@dataclass(slots=True)
class _MicrodataReading:
    found: Collection
    nodes: dict[HtmlElement, Node] = field(default_factory=dict)
    held: set[int] = field(default_factory=set)

    def walk(self, tree: HtmlElement) -> None:
        open_items: list[tuple[HtmlElement, Node | None]] = []
        for event, element in iterwalk(tree, events=("start", "end")):
            if event == "end":
                if open_items and open_items[-1][0] is element:
                    open_items.pop()
                continue
            holder = open_items[-1][1] if open_items else None
            node = self._item(element) if element.get("itemscope") is not None else None
            if holder is not None:
                self._properties(element, holder, node)
            if node is not None and id(node) not in self.held:
                self.found.roots.append(node)
            if element.get("itemscope") is not None:
                open_items.append((element, node))

    def refer(self, tree: HtmlElement) -> None:
        """Add the properties that lie outside of their items."""
        referring = [(node, element.get("itemref", "").split()) for element, node in self.nodes.items()]
        referring = [(node, names) for node, names in referring if names]
        wanted = {name for _, names in referring for name in names}
        if not wanted:
            return
        by_id: dict[str, HtmlElement] = {}
        for element in tree.iter("*"):
            if (name := element.get("id")) in wanted:
                by_id.setdefault(name, element)
        left = MAX_REFERENCED
        for node, names in referring:
            for name in dict.fromkeys(names[:MAX_NODES]):
                if name in by_id and left > 0:
                    left -= self._referred(by_id[name], node, left)

    def _referred(self, root: HtmlElement, holder: Node, limit: int) -> int:
        seen = 0
        walk = iterwalk(root, events=("start",))
        for _, element in walk:
            seen += 1
            if seen > limit:
                break
            inner = self.nodes.get(element)
            if inner is holder:
                walk.skip_subtree()
                continue
            self._properties(element, holder, inner)
            if element.get("itemscope") is not None:
                walk.skip_subtree()
        return seen

    def _item(self, element: HtmlElement) -> Node | None:
        types = [name for given in _split(element.get("itemtype")) if (name := _type(given))]
        node = self.found.node(element, types)
        if node is not None:
            self.nodes[element] = node
            if identity := (element.get("itemid") or "").strip():
                node["@id"] = identity
        return node

    def _properties(self, element: HtmlElement, holder: Node, node: Node | None) -> None:
        names = _split(element.get("itemprop"))
        if not names or (element.get("itemscope") is not None and node is None):
            return
        if node is not None:
            if id(node) in self.held:
                return
            self.held.add(id(node))
        for name in names:
            self.found.add(holder, _name(name), node if node is not None else self._value(element, _name(name)))

    def _value(self, element: HtmlElement, name: str) -> object:
        stated = attribute_value(element)
        if stated is not None:
            return stated
        address = element.get("href") if element.tag in ("a", "area") else None
        if address is None:
            return self.found.written(element)
        return address if name in _ADDRESSES else self.found.linked(element, address)


def _split(given: str | None) -> list[str]:
    return given.split()[:20] if given else []


def _type(given: str) -> str:
    """Return the name of a type of schema.org, empty for those of other vocabularies."""
    vocabulary, _, name = given.rpartition("/")
    return name if vocabulary.partition("://")[2].removeprefix("www.").rstrip("/") == "schema.org" else ""


def _name(given: str) -> str:
    """Return a property without the vocabulary it may be written with."""
    return given.rpartition("/")[2] if "://" in given else given


_ROOTS = {
    "h-entry": "BlogPosting",
    "h-cite": "CreativeWork",
    "h-card": "Person",
    "vcard": "Person",
}
_OF_WORKS = {
    "p-name": "headline",
    "e-content": "text",
    "p-author": "author",
    "dt-published": "datePublished",
    "u-url": "url",
    "p-comment": "comment",
    "u-comment": "comment",
}
_OF_PEOPLE = {"p-name": "name", "u-url": "url"}
_has_roots = XPath(f"boolean(//@class[{' or '.join(f'contains(., {name!r})' for name in _ROOTS)}])")
_OF_CLASSIC_PEOPLE = {"fn": "name", "url": "url"}


def microformat_nodes(tree: HtmlElement) -> list[Node]:
    """Return the entries, comments and people that are not a property of another item, in document order.

    An ``h-entry`` or ``h-cite`` that is the comment of another is a comment; items with neither title nor text are left
    out. Within a format only its own classes count, since themes use the others for styling. Time is linear.
    """
    if not _has_roots(tree):
        return []
    reading = _MicroformatsReading(Collection())
    reading.walk(tree)
    return [node for node in reading.found.roots if "headline" in node or "text" in node]


@dataclass(slots=True)
class _MicroformatsReading:
    found: Collection
    _open: list[tuple[HtmlElement, Node | None, dict[str, str]]] = field(default_factory=list)

    def walk(self, tree: HtmlElement) -> None:
        for event, element in iterwalk(tree, events=("start", "end")):
            if event == "end":
                if self._open and self._open[-1][0] is element:
                    self._open.pop()
                continue
            given = element.get("class")
            if given:
                self._element(element, given.split()[:100])

    def _element(self, element: HtmlElement, classes: list[str]) -> None:
        holder, known = self._open[-1][1:] if self._open else (None, {})
        names = list(dict.fromkeys(known[each] for each in classes if each in known)) if holder is not None else []
        root = next((each for each in classes if each in _ROOTS), None)
        if root is not None:
            self._root(element, root, names, holder)
        elif holder is not None:
            for name in names if "text" not in names else ["text"]:
                self.found.add(holder, name, self._value(element, name))

    def _root(self, element: HtmlElement, root: str, names: list[str], holder: Node | None) -> None:
        is_comment = "comment" in names
        node = self.found.node(element, ["Comment" if is_comment else _ROOTS[root]])
        is_person = _ROOTS[root] == "Person"
        known = _known(root, is_person)
        self._open.append((element, node, known))
        if node is None:
            return
        if is_person and not element.xpath("boolean(.//*[contains(@class, 'p-name') or contains(@class, 'fn')])"):
            self.found.add(node, "name", self.found.written(element))
        if is_person and element.tag == "a" and (address := element.get("href")):
            self.found.add(node, "url", address)
        if holder is not None and names:
            self.found.add(holder, names[0], node)
        elif not is_person:
            self.found.roots.append(node)

    def _value(self, element: HtmlElement, name: str) -> object:
        if name == "url":
            return element.get("href") or element.get("value") or self.found.written(element)
        if name == "datePublished":
            inner = next(element.iter("time", "abbr"), element)
            return inner.get("datetime") or inner.get("title") or self.found.written(element)
        address = element.get("href") if name == "author" and element.tag == "a" else None
        return self.found.linked(element, address) if address else self.found.written(element)


def _known(root: str, is_person: bool) -> dict[str, str]:
    if root == "vcard":
        return _OF_CLASSIC_PEOPLE
    return _OF_PEOPLE if is_person else _OF_WORKS


SCHEMA = "schema.org/"
MAX_PREFIXES = 200
"""The most prefixes that are known within one element."""

_has_types = XPath("boolean(//@typeof)")
_DC = "purl.org/dc/terms/"
_SIOC = "rdfs.org/sioc/ns#"
_SIOC_TYPES = "rdfs.org/sioc/types#"
_FOAF = "xmlns.com/foaf/0.1/"
_CONTENT = "purl.org/rss/1.0/modules/content/"

_PREFIXES: Mapping[str, str] = MappingProxyType(
    {
        "schema": SCHEMA,
        "dc": _DC,
        "dcterms": _DC,
        "sioc": _SIOC,
        "sioct": _SIOC_TYPES,
        "foaf": _FOAF,
        "content": _CONTENT,
    }
)
_TYPES = {
    _SIOC + "Post": "",
    _SIOC + "Item": "Article",
    _SIOC + "UserAccount": "Person",
    _FOAF + "Person": "Person",
    _FOAF + "Agent": "Person",
    _SIOC_TYPES + "Comment": "Comment",
    _SIOC_TYPES + "BlogPost": "BlogPosting",
    _SIOC_TYPES + "BoardPost": "DiscussionForumPosting",
    _SIOC_TYPES + "Question": "Question",
    _SIOC_TYPES + "Answer": "Answer",
}
_PROPERTIES = {
    _DC + "title": "headline",
    _DC + "creator": "author",
    _DC + "date": "datePublished",
    _DC + "created": "datePublished",
    _DC + "issued": "datePublished",
    _DC + "modified": "dateModified",
    _DC + "description": "description",
    "purl.org/dc/elements/1.1/title": "headline",
    "purl.org/dc/elements/1.1/creator": "author",
    "purl.org/dc/elements/1.1/date": "datePublished",
    _SIOC + "has_creator": "author",
    _SIOC + "content": "text",
    _SIOC + "name": "name",
    _SIOC + "reply_of": "parentItem",
    _FOAF + "maker": "author",
    _FOAF + "name": "name",
    _CONTENT + "encoded": "text",
}
_RDFA_ADDRESSES = frozenset({"url", "mainEntityOfPage", "sameAs", "image", "contentUrl", "embedUrl"})
_CONTEXT = ("vocab", "prefix")


@dataclass(frozen=True, slots=True)
class _Context:
    """The context within an element: vocabulary, prefixes, the node that properties belong to, relation to it."""

    vocabulary: str = ""
    prefixes: Mapping[str, str] = field(default_factory=lambda: _PREFIXES)
    holder: Node | None = None
    relations: tuple[str, ...] = ()


def rdfa_nodes(tree: HtmlElement) -> list[Node]:
    """Return the typed nodes that are no property of another one, in document order. Time is linear."""
    if not _has_types(tree):
        return []
    reading = _RdfaReading(Collection())
    reading.walk(tree)
    return reading.found.roots


@dataclass(slots=True)
class _RdfaReading:
    found: Collection
    by_name: dict[str, Node] = field(default_factory=dict)

    def walk(self, tree: HtmlElement) -> None:
        contexts: list[tuple[HtmlElement | None, _Context]] = [(None, _Context())]
        for event, element in iterwalk(tree, events=("start", "end")):
            if event == "end":
                if contexts[-1][0] is element:
                    contexts.pop()
                continue
            before = contexts[-1][1]
            context = self._within(element, before)
            if context is not before:
                contexts.append((element, context))

    def _within(self, element: HtmlElement, context: _Context) -> _Context:
        if any(element.get(name) is not None for name in _CONTEXT):
            context = _declared(element, context)
        types = [name for given in (element.get("typeof") or "").split()[:20] if (name := _rdfa_type(given, context))]
        names = [name for given in (element.get("property") or "").split()[:20] if (name := _property(given, context))]
        relations = tuple(
            name
            for given in (element.get("rel") or "").split()[:20]
            if ":" in given and (name := _property(given, context))
        )
        if element.get("typeof") is not None:
            return self._node(element, types, (*names, *relations), context)
        about = self.by_name.get(element.get("about") or "", context.holder)
        if about is None:
            return context
        for name in names:
            self.found.add(about, name, self._value(element, name))
        return self._related(element, relations, context, about)

    def _related(self, element: HtmlElement, relations: tuple[str, ...], context: _Context, about: Node) -> _Context:
        """Add the targets of ``rel``; without a URL of its own, the target is the content of the element."""
        address = element.get("resource") or element.get("href")
        if relations and address is not None:
            for name in relations:
                self.found.add(about, name, self.found.linked(element, address))
        elif relations or about is not context.holder:
            return replace(context, holder=about, relations=relations)
        return context

    def _node(self, element: HtmlElement, types: list[str], names: tuple[str, ...], context: _Context) -> _Context:
        node = self.found.node(element, types)
        if node is None:
            return replace(context, holder=None, relations=())
        identity = element.get("resource") or element.get("about") or element.get("href") or ""
        if identity and not identity.startswith(("_:", "[")):
            node["@id"] = identity
            self.by_name.setdefault(identity, node)
        roles = context.relations or names
        if names and element.get("about") is not None:
            roles = context.relations
            for name in names:
                self.found.add(node, name, attribute_value(element) or self.found.written(element))
        if context.holder is not None and roles:
            for name in roles[:1]:
                self.found.add(context.holder, name, node)
        else:
            self.found.roots.append(node)
        if "Person" in types:
            self._person(element, node, identity)
        return replace(context, holder=node, relations=())

    def _person(self, element: HtmlElement, node: Node, identity: str) -> None:
        """Name a person by the text of the element for it, as links to user accounts do."""
        if identity:
            self.found.add(node, "url", identity)
        if element.get("property") and element.get("content") is None and not len(element):
            self.found.add(node, "name", self.found.written(element))

    def _value(self, element: HtmlElement, name: str) -> object:
        stated = attribute_value(element)
        if stated is not None:
            return stated
        address = element.get("resource") or element.get("href")
        if address is None:
            return self.found.written(element)
        return address if name in _RDFA_ADDRESSES else self.found.linked(element, address)


def _declared(element: HtmlElement, context: _Context) -> _Context:
    vocabulary = element.get("vocab")
    words = (element.get("prefix") or "").split()[:100]
    room = MAX_PREFIXES - len(context.prefixes)
    pairs = {name[:-1]: _bare(iri) for name, iri in zip(words[::2], words[1::2], strict=False) if name.endswith(":")}
    return replace(
        context,
        vocabulary=context.vocabulary if vocabulary is None else _bare(vocabulary),
        prefixes={**context.prefixes, **pairs} if pairs and room >= len(pairs) else context.prefixes,
    )


def _bare(iri: str) -> str:
    """Return a URL of a vocabulary without its scheme, with the sign at its end that names follow."""
    bare = iri.partition("://")[2].removeprefix("www.") if "://" in iri else iri
    return bare if not bare or bare.endswith(("/", "#")) else f"{bare}/"


def _expanded(given: str, context: _Context) -> str:
    if "://" in given:
        return given.partition("://")[2].removeprefix("www.")
    prefix, colon, name = given.partition(":")
    if colon:
        return context.prefixes.get(prefix, "") + name if prefix in context.prefixes else ""
    return context.vocabulary + given if context.vocabulary else ""


def _rdfa_type(given: str, context: _Context) -> str:
    iri = _expanded(given, context)
    return iri[len(SCHEMA) :] if iri.startswith(SCHEMA) else _TYPES.get(iri, "")


def _property(given: str, context: _Context) -> str:
    iri = _expanded(given, context)
    return iri[len(SCHEMA) :] if iri.startswith(SCHEMA) else _PROPERTIES.get(iri, "")

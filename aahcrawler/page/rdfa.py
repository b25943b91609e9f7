"""Read the RDFa of a page (RDFa Lite 1.1, and the RDFa 1.0 of Drupal and others) as schema.org's vocabulary.

The Dublin Core, SIOC and FOAF terms for posts and comments are read as the equivalent terms of schema.org.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from lxml.etree import XPath, iterwalk
from lxml.html import HtmlElement

from aahcrawler.page.markup_nodes import Collection, Node, attribute_value

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
_ADDRESSES = frozenset({"url", "mainEntityOfPage", "sameAs", "image", "contentUrl", "embedUrl"})
_CONTEXT = ("vocab", "prefix")


@dataclass(frozen=True, slots=True)
class _Context:
    """The context within an element: vocabulary, prefixes, the node that properties belong to, relation to it."""

    vocabulary: str = ""
    prefixes: Mapping[str, str] = field(default_factory=lambda: _PREFIXES)
    holder: Node | None = None
    relations: tuple[str, ...] = ()


def nodes(tree: HtmlElement) -> list[Node]:
    """Return the typed nodes that are no property of another one, in document order. Time is linear."""
    if not _has_types(tree):
        return []
    reading = _Reading(Collection())
    reading.walk(tree)
    return reading.found.roots


@dataclass(slots=True)
class _Reading:
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
        types = [name for given in (element.get("typeof") or "").split()[:20] if (name := _type(given, context))]
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
        return address if name in _ADDRESSES else self.found.linked(element, address)


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


def _type(given: str, context: _Context) -> str:
    iri = _expanded(given, context)
    return iri[len(SCHEMA) :] if iri.startswith(SCHEMA) else _TYPES.get(iri, "")


def _property(given: str, context: _Context) -> str:
    iri = _expanded(given, context)
    return iri[len(SCHEMA) :] if iri.startswith(SCHEMA) else _PROPERTIES.get(iri, "")

"""Microdata of a page (HTML Living Standard, chapter 5) in the vocabulary of schema.org."""

from dataclasses import dataclass, field

from lxml.etree import XPath, iterwalk
from lxml.html import HtmlElement

from aahcrawler.page.markup_nodes import MAX_NODES, Collection, Node, attribute_value

MAX_REFERENCED = 50_000
"""The most elements that are visited because ``itemref`` names them or an ancestor."""

_ADDRESSES = frozenset({"url", "mainEntityOfPage", "sameAs", "image", "thumbnailUrl", "contentUrl", "embedUrl"})
_has_items = XPath("boolean(//@itemscope)")


def nodes(tree: HtmlElement) -> list[Node]:
    """Return the items that are not a property of another item, in document order.

    An item belongs to the first one that refers to it, so that no item contains itself. Time is linear in the size of
    the page, ``itemref`` bounded by ``MAX_REFERENCED``. Unlike the standard, a link that is a property other than an
    URL keeps its text beside its URL, and ``content`` and ``datetime`` are read on any element, since pages are
    written that way.
    """
    if not _has_items(tree):
        return []
    reading = _Reading(Collection())
    reading.walk(tree)
    reading.refer(tree)
    return [node for node in reading.found.roots if id(node) not in reading.held]


@dataclass(slots=True)
class _Reading:
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

"""Microformats of a page (h-entry, h-cite, h-card) as schema.org's vocabulary."""

from dataclasses import dataclass, field

from lxml.etree import XPath, iterwalk
from lxml.html import HtmlElement

from aahcrawler.page.markup_nodes import Collection, Node

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


def nodes(tree: HtmlElement) -> list[Node]:
    """Return the entries, comments and people that are not a property of another item, in document order.

    An ``h-entry`` or ``h-cite`` that is the comment of another is a comment; items with neither title nor text are left
    out. Within a format only its own classes count, since themes use the others for styling. Time is linear.
    """
    if not _has_roots(tree):
        return []
    reading = _Reading(Collection())
    reading.walk(tree)
    return [node for node in reading.found.roots if "headline" in node or "text" in node]


@dataclass(slots=True)
class _Reading:
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

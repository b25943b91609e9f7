"""Links that lead nowhere: those at or within the elements that an application says to ignore."""

from collections.abc import Iterable
from functools import cached_property

from lxml.etree import _Element as Element
from lxml.html import HtmlElement


class Ignored:
    """The ignored elements of one page; every element of the page is looked at once."""

    def __init__(self, tree: HtmlElement | None = None, elements: Iterable[HtmlElement] = ()) -> None:
        self._tree = tree
        self._known: dict[Element, bool] = dict.fromkeys(elements, True)
        self._any = bool(self._known)

    def covers(self, element: Element) -> bool:
        """Say whether an element is ignored or lies within one that is."""
        if not self._any:
            return False
        path: list[Element] = []
        current: Element | None = element
        while current is not None and current not in self._known:
            path.append(current)
            current = current.getparent()
        covered = current is not None and self._known[current]
        self._known.update(dict.fromkeys(path, covered))
        return covered

    def covers_reference(self, reference: str) -> bool:
        """Say whether an address, as written, stands in ignored elements and in no link outside of them.

        That is for addresses whose element is not known, such as those that an expression finds in attributes.
        """
        return self._any and reference in self._references

    @cached_property
    def _references(self) -> frozenset[str]:
        within: set[str] = set()
        outside: set[str] = set()
        for element in self._tree.iter("*") if self._tree is not None else ():
            if self.covers(element):
                within.update(map(str, element.attrib.values()))
            elif href := element.get("href"):
                outside.add(href)
        return frozenset(within - outside)

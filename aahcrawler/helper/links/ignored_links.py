"""Recognise ignored links: those at or within the elements that an application declares to be ignored."""

from collections.abc import Iterable
from functools import cached_property

from lxml.html import HtmlElement

from aahcrawler.page.subtrees import Subtrees


class Ignored(Subtrees):
    """The ignored elements of one page."""

    def __init__(self, tree: HtmlElement | None = None, elements: Iterable[HtmlElement] = ()) -> None:
        self._tree = tree
        super().__init__(elements)

    def covers_reference(self, reference: str) -> bool:
        """Return whether a URL, as written, occurs in ignored elements and in no link outside of them.

        This serves URLs whose element is not known, such as those that an expression finds in attributes.
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

"""Test whether elements lie within some elements of a page."""

from collections.abc import Iterable

from lxml.etree import _Element as Element


class Subtrees:
    """Elements with all of their descendants; each element that is looked up is visited once."""

    def __init__(self, elements: Iterable[Element]) -> None:
        self._known: dict[Element, bool] = dict.fromkeys(elements, True)
        self._any = bool(self._known)

    def covers(self, element: Element) -> bool:
        """Return whether an element is one of them or lies within one."""
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

"""Find the object that an element belongs to on a page whose objects are nested."""

from collections.abc import Iterable, Sequence

from lxml.etree import _Element as Element
from lxml.html import HtmlElement


class Owners:
    """Finds for any element the nearest item that it is or lies within; each element is visited once."""

    def __init__(self, items: Iterable[HtmlElement]) -> None:
        self._owner: dict[Element, HtmlElement | None] = {item: item for item in items}

    def of(self, node: Element) -> HtmlElement | None:
        """Return the nearest item, None outside of all of them."""
        path: list[Element] = []
        current: Element | None = node
        while current is not None and current not in self._owner:
            path.append(current)
            current = current.getparent()
        owner = self._owner[current] if current is not None else None
        self._owner.update(dict.fromkeys(path, owner))
        return owner


def nesting(items: Sequence[HtmlElement]) -> Owners | None:
    """Return the owners of elements if some items lie within others, else None."""
    owners = Owners(items)
    above = (item.getparent() for item in items)
    return owners if any(parent is not None and owners.of(parent) is not None for parent in above) else None

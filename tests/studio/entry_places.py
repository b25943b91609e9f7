"""The places of a file, as the text of an entry names them."""

from collections import Counter
from collections.abc import Iterator

from lxml import etree


class FilePlaces:
    """The elements of a file by their places."""

    def __init__(self, data: bytes) -> None:
        self._root = etree.fromstring(data, etree.XMLParser(remove_comments=True))
        self._places = dict(_places(self._root, ""))

    def places(self) -> Iterator[str]:
        """Yield all places."""
        return iter(self._places)

    def element(self, place: str) -> etree._Element | None:
        """Return the element at a place."""
        return self._places.get(place)


def _places(element: etree._Element, place: str) -> Iterator[tuple[str, etree._Element]]:
    yield place, element
    names = Counter((child.tag, child.get("name")) for child in element.iterchildren("*"))
    numbers: Counter[str] = Counter()
    for child in element.iterchildren("*"):
        tag = str(child.tag)
        numbers[tag] += 1
        name = child.get("name")
        key = name if name and names[child.tag, name] == 1 else str(numbers[tag])
        yield from _places(child, f"{place}/{tag}[{key}]".lstrip("/"))

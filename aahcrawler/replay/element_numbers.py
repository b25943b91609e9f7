"""The numbers of a page's elements, by which a marked page, whoever chooses on it and the studio name them alike."""

from typing import Final

from lxml.etree import _Element as Element

ATTRIBUTE: Final = "data-aah-n"
"""The attribute of a marked page that holds the number of an element."""
LABEL: Final = f"{ATTRIBUTE}-label"
"""The attribute of labels, which are no elements of the page."""
_OWN: Final = "data-aah"


def numbered_elements(tree: Element) -> list[Element]:
    """Return the elements of a document in their order, comments left out: the place in the list is the number.

    The tree must be as it was parsed. Keep the list as long as the elements are compared: lxml makes new objects else.
    """
    return list(tree.iter("*"))


def write_numbers(tree: Element) -> list[Element]:
    """Write the number of each element into it, and take out what the page itself says in such attributes."""
    elements = numbered_elements(tree)
    for number, element in enumerate(elements):
        for name in [name for name in element.attrib if str(name).lower().startswith(_OWN)]:
            del element.attrib[name]
        element.set(ATTRIBUTE, str(number))
    return elements

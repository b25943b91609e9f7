"""The text of links and the text around them."""

from lxml.etree import _Element as Element

from aahcrawler.page import text
from aahcrawler.page.hidden import Hidden
from aahcrawler.page.tag_paths import TagPaths
from aahcrawler.page.teasers import teaser

MOST_CONTEXT = 1_000
MOST_ANCHOR = 300

_AROUND = text.BLOCKS | {"td", "th"}


class Contexts:
    """Reads the context of links on one page; the text around several links of one block is read once."""

    def __init__(self, tree: Element) -> None:
        self._read: dict[Element, str] = {}
        self.places = TagPaths()
        self.hidden = Hidden(tree)

    def around(self, element: Element) -> str:
        """Return the plain text of the nearest block that holds the element, cut to ``MOST_CONTEXT`` characters.

        A heading or term is followed by the beginning of the text below it.
        """
        block = element.getparent()
        while block is not None and block.tag not in _AROUND:
            block = block.getparent()
        if block is None:
            return ""
        if block not in self._read:
            self._read[block] = f"{text.excerpt(block, MOST_CONTEXT)} {teaser(block)}".strip()
        return self._read[block]


def anchor_text(element: Element) -> str:
    """Return the clickable text of a link: its text, else the alternative text of its image, else its title."""
    shown = text.excerpt(element, MOST_ANCHOR, text.OtherLinks(element))
    if not shown:
        images = (image.get("alt") or image.get("title") or "" for image in element.iter("img"))
        shown = text.fold(next((name for name in images if name.strip()), element.get("title") or ""))
    return shown[:MOST_ANCHOR]

"""The text of links and the text around them."""

from lxml.html import HtmlElement

from aahcrawler import text

MOST_CONTEXT = 1_000
MOST_ANCHOR = 300

_AROUND = text.BLOCKS | {"td", "th"}


class Contexts:
    """Reads contexts on one page; the text around several links of one block is read once."""

    def __init__(self) -> None:
        self._read: dict[HtmlElement, str] = {}

    def around(self, element: HtmlElement) -> str:
        """Return the plain text of the nearest block that holds the element, cut to ``MOST_CONTEXT`` characters."""
        block = element.getparent()
        while block is not None and block.tag not in _AROUND:
            block = block.getparent()
        if block is None:
            return ""
        if block not in self._read:
            self._read[block] = text.fold(text.plain_text(block))[:MOST_CONTEXT]
        return self._read[block]


def anchor_text(element: HtmlElement) -> str:
    """Return what a reader clicks on: the link's text, else the alternative text of its image, else its title."""
    shown = text.fold(text.plain_text(element))
    if not shown:
        images = (image.get("alt") or image.get("title") or "" for image in element.iter("img"))
        shown = text.fold(next((name for name in images if name.strip()), element.get("title") or ""))
    return shown[:MOST_ANCHOR]

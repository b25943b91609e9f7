"""Find the text of a page that its document lacks, where that is most of it."""

from collections.abc import Iterable, Iterator

from lxml import etree
from lxml.etree import _Element as Element

from aahcrawler.helper.parts.list_entries import LONGEST_REST
from aahcrawler.page.text import plain_text
from aahcrawler.page.zones import Zones

_LEAST_KEPT = 0.5
"""The share of the visible text, without boilerplate and sidebars, that a document has of most pages."""
_MOST_LINES = 2_000
"""The lines of a page that are compared with its document."""
_all_text = etree.XPath("string()", smart_strings=False)


def lost_text(page: Element, zones: Zones, texts: Iterable[str]) -> str:
    """Return the visible text that a document with some texts lacks, "" if it has half of it or more.

    A page with an introduction and a long list of contents is read as a short article: its list is what it is about.
    Menus, footers, advertising and sidebars do not count. At most ``LONGEST_REST`` characters of 2,000 lines are
    returned.
    """
    kept = "\n".join(texts)
    body = page.find("body")
    region = page if body is None else body
    if len(kept) >= _LEAST_KEPT * len(_all_text(region)):
        return ""
    sides, boilerplate = zones.apart(region)
    visible = plain_text(region, frozenset((*sides, *boilerplate)))
    if len(kept) >= _LEAST_KEPT * len(visible):
        return ""
    return "\n".join(_missing(visible.split("\n")[:_MOST_LINES], kept))[:LONGEST_REST].rstrip()


def _missing(lines: Iterable[str], kept: str) -> Iterator[str]:
    length = 0
    for line in lines:
        if length > LONGEST_REST:
            return
        if line not in kept:
            length += len(line) + 1
            yield line

"""The links of a page, each with its element."""

from collections.abc import Iterator
from itertools import islice

from lxml.html import HtmlElement

from aahcrawler.page import Page
from aahcrawler.urls import resolve

MOST_LINKS = 3_000


def page_links(page: Page) -> Iterator[tuple[HtmlElement, str]]:
    """Yield the links of a page in document order, at most 3,000, with their URLs; empty for links to no page."""
    base = page.base_url
    for element in islice(page.tree.iter("a", "area"), MOST_LINKS):
        href = element.get("href")
        if href is not None:
            within = href.startswith(("#", "javascript:"))
            yield element, "" if within else resolve(base, href) or ""

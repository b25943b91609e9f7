"""Understand a page: what it is of, what it shows, and where it leads."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from aahcrawler.helper import ApplicationAwareHelper, Assistance
from aahcrawler.helper.site_memory.link_judge import LinkJudge
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from online_analysis.document import Document, Outlink

Spelling = Callable[[str], str]
"""Returns the one form of a URL that a crawl knows it by, after the application that it belongs to has."""


def understand(
    page: Page,
    helper: ApplicationAwareHelper,
    spelling: Spelling,
    former: Metadata | None = None,
    judge: LinkJudge | None = None,
) -> Assistance:
    """Return what the helper makes of a page, whose links have the spelling of the crawl.

    It is deterministic for a given state of the helper and of what the crawl knows of links (``judge``), and the same
    for pages from the network and from an archive. A page of no known application goes the same way: its document is
    its main content and all of its links. ``former`` is what an earlier crawl understood at the same URL.
    """
    assistance = helper.assist(page, former, judge)
    return replace(assistance, document=respelled(assistance.document, spelling))


def understand_list(
    page: Page, helper: ApplicationAwareHelper, spelling: Spelling, judge: LinkJudge | None = None
) -> Iterator[Assistance]:
    """Yield where a sitemap or a feed leads, some of its entries at a time."""
    for assistance in helper.listed(page, judge):
        yield replace(assistance, document=respelled(assistance.document, spelling))


def respelled(document: Document, spelling: Spelling) -> Document:
    """Return a document whose links have other URLs; none leads to the document itself, nor to one place twice."""
    own = {document.url, spelling(document.url)}
    found: dict[str, Outlink] = {}
    for link in document.outlinks:
        url = spelling(link.url)
        if url not in own:
            found.setdefault(url, link if url == link.url else replace(link, url=url))
    return replace(document, outlinks=tuple(found.values()))

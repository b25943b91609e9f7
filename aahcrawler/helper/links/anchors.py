"""The text of links and the text around them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from lxml.etree import _Element as Element

from aahcrawler.helper.assistance import Refused
from aahcrawler.helper.links.junk_urls import refusal
from aahcrawler.helper.links.navigation import Chosen
from aahcrawler.helper.site_memory import Sites
from aahcrawler.page import generic, text
from aahcrawler.page.hidden import Hidden
from aahcrawler.page.link_surroundings import TagPaths, teaser
from online_analysis.document import Outlink

MAX_CONTEXT = 1_000
MAX_ANCHOR = 300

_AROUND = text.BLOCKS | {"td", "th"}


class Contexts:
    """Reads the context of links on one page; the text around several links of one block is read once."""

    def __init__(self, tree: Element) -> None:
        self._read: dict[Element, str] = {}
        self.places = TagPaths()
        self.hidden = Hidden(tree)

    def around(self, element: Element) -> str:
        """Return the plain text of the nearest block that holds the element, cut to ``MAX_CONTEXT`` characters.

        A heading or term is followed by the beginning of the text below it.
        """
        block = element.getparent()
        while block is not None and block.tag not in _AROUND:
            block = block.getparent()
        if block is None:
            return ""
        if block not in self._read:
            self._read[block] = f"{text.excerpt(block, MAX_CONTEXT)} {teaser(block)}".strip()
        return self._read[block]


def anchor_text(element: Element) -> str:
    """Return the clickable text of a link: its text, else the alternative text of its image, else its title."""
    shown = text.excerpt(element, MAX_ANCHOR, text.OtherLinks(element))
    if not shown:
        images = (image.get("alt") or image.get("title") or "" for image in element.iter("img"))
        shown = text.fold(next((name for name in images if name.strip()), element.get("title") or ""))
    return shown[:MAX_ANCHOR]


def outlink_of(
    link: Chosen, part: int | None, contexts: Contexts, entries: Mapping[Element, str] | None = None
) -> Outlink:
    """Describe a chosen link by its text and the text around it, which is that of its entry in a list, if any."""
    if link.element is None:
        return Outlink(link.url, "", part=part, action=link.action)
    anchor = anchor_text(link.element)
    entry = entries.get(link.element) if entries else None
    return Outlink(
        link.url,
        anchor,
        entry or contexts.around(link.element) or anchor,
        part,
        link.action,
        contexts.places.of(link.element),
        hidden=contexts.hidden.covers(link.element),
        nofollow=generic.is_nofollow(link.element),
    )


@dataclass
class LinkCollector:
    """Collects links in the canonical form of the application of their site, if known, each once.

    Junk is refused: URLs that the application calls junk, else those whose words suggest it.
    """

    sites: Sites
    outlinks: dict[str, Outlink] = field(default_factory=dict)
    refused: dict[str, Refused] = field(default_factory=dict)

    def add(self, link: Outlink) -> None:
        """Take a link, or refuse it."""
        url = self.sites.judge.without_id(link.url)
        application = self.sites.application(url)
        verdict = self.sites.verdict(application, url) if application is not None else None
        url = url if verdict is None else verdict.url
        reason = refusal(url, self.sites.judge) if verdict is None else verdict.reason
        if reason is not None:
            self.refused.setdefault(url, Refused(url, reason))
        elif url not in self.outlinks:
            self.outlinks[url] = link if url == link.url else replace(link, url=url)

"""Describe links by their text, the text around them and their place in the markup."""

from collections.abc import Mapping

from lxml.etree import _Element as Element

from aahcrawler.helper.links.anchors import Contexts, anchor_text
from aahcrawler.helper.links.navigation import Chosen
from aahcrawler.page import generic
from online_analysis.document import Outlink


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

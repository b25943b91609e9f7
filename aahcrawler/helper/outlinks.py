"""Describes links by their text, by the text around them and by where they stand."""

from aahcrawler.helper.anchors import Contexts, anchor_text
from aahcrawler.helper.navigation import Chosen
from online_analysis.document import Outlink


def outlink_of(link: Chosen, part: int | None, contexts: Contexts) -> Outlink:
    """Describe a chosen link by its text and the text around it."""
    if link.element is None:
        return Outlink(link.url, "", part=part, action=link.action)
    anchor = anchor_text(link.element)
    return Outlink(
        link.url,
        anchor,
        contexts.around(link.element) or anchor,
        part,
        link.action,
        contexts.places.of(link.element),
        hidden=contexts.hidden.covers(link.element),
    )

"""The title of the one text of a page: what an action reads there may be more than that, or that of something else."""

from collections.abc import Sequence
from dataclasses import replace

from aahcrawler.helper.completion import WHOLES
from aahcrawler.helper.extraction import Extracted
from aahcrawler.page import Page
from aahcrawler.page.titles import title_of

SOURCE = "what the page shows and declares alike"


def titled(page: Page, extracted: Sequence[Extracted]) -> tuple[Extracted, ...]:
    """Return the objects of a page with another title of the only one that is a whole, where the page knows better."""
    wholes = [each for each in extracted if each.object.type in WHOLES and each.object.part_of is None]
    title = wholes[0].object.first("title") if len(wholes) == 1 else None
    better = title_of(page, title) if isinstance(title, str) else None
    if not better or better == title:
        return tuple(extracted)
    return tuple(_with_title(each, better) if each is wholes[0] else each for each in extracted)


def _with_title(each: Extracted, title: str) -> Extracted:
    found = each.object
    properties, inferred = {**found.properties, "title": (title,)}, {**found.inferred, "title": SOURCE}
    return replace(each, object=replace(found, properties=properties, inferred=inferred))

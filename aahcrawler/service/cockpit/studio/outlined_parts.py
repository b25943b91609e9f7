"""What is marked on a page in the studio: the elements that the parts of an entry match, and the fates of its links."""

from collections.abc import Iterator
from typing import Final

from lxml.html import HtmlElement

from aahcrawler.replay.mark_outlines import Mark, MarkKind
from aahcrawler.service.cockpit.studio.entry_words import short
from aahcrawler.studio.entry_parts import EntryParts, Part
from aahcrawler.studio.link_fates import Fate, LinkFate
from aahcrawler.studio.marked_elements import numbers_of
from aahcrawler.studio.part_matches import PageMatches

KINDS: Final = {
    "pattern": MarkKind.SIGN,
    "when": MarkKind.SIGN,
    "unless": MarkKind.SIGN,
    "item": MarkKind.ITEM,
    "field": MarkKind.FIELD,
    "without": MarkKind.LEFT_OUT,
    "ignore": MarkKind.LEFT_OUT,
}
"""How what a part matches is marked; other parts are not, or by the links that they choose."""
_FATES: Final = {Fate.LEADS: MarkKind.LINK, Fate.AVOIDED: MarkKind.AVOID}
_MOST: Final = 1_500


def marks_of(tree: HtmlElement, matches: PageMatches, parts: EntryParts, chosen: int | None = None) -> tuple[Mark, ...]:
    """Return the marks of a page, the chosen element before all others."""
    found = list(_elements(matches, parts))[:_MOST]
    numbers = numbers_of(tree, [element for element, _, _ in found])
    marks = [Mark(numbers[element], kind, label) for element, kind, label in found if element in numbers]
    own = [Mark(chosen, MarkKind.CHOSEN, "chosen")] if chosen is not None else []
    return tuple(dict.fromkeys([*own, *marks]))


def mark_kind(part: Part) -> MarkKind | None:
    """Return how what a part matches is marked, None for a part that marks nothing."""
    return KINDS.get(part.tag)


def _elements(matches: PageMatches, parts: EntryParts) -> Iterator[tuple[HtmlElement, MarkKind, str]]:
    for match in matches.parts:
        part, kind = parts.at(match.place), KINDS.get(match.tag)
        if part is None or kind is None or not match.counts or _is_elsewhere(part, matches, parts):
            continue
        label = short(part, parts)
        for finding in match.findings:
            if finding.element is not None:
                number = f" {finding.item + 1}" if finding.item is not None and kind is MarkKind.ITEM else ""
                yield finding.element, kind, f"{label}{number}"
    for link in matches.links:
        kind = _FATES.get(link.fate)
        if kind is not None:
            yield link.element, kind, _link_label(link)


def _is_elsewhere(part: Part, matches: PageMatches, parts: EntryParts) -> bool:
    """Return whether a part is a sign of a level that the page is not of."""
    level = parts.around(part, "level") if part.tag in ("when", "unless") else None
    return level is not None and (level.text("name") != matches.level or part.tag == "unless")


def _link_label(link: LinkFate) -> str:
    if link.fate is Fate.LEADS:
        return f"→ {link.level or 'further page'}"
    return link.said.partition(",")[0].replace("avoided because", "avoid:")

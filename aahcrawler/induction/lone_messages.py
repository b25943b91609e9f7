"""Find the message of a page that shows one: what follows the labels of its sender and its date."""

import re
from collections.abc import Collection, Sequence

from aahcrawler.induction.field_labels import FieldLabel, has_labels
from aahcrawler.induction.outline import Outline
from aahcrawler.urls import resolve

_HIGHEST = 3
_LONGEST_ENTRY = 100
_COLUMNS = 3
_LISTS = frozenset({"ul", "ol", "dl", "table"})
_TABLES = frozenset({"table", "tbody", "ul", "dl"})
"""Where the header fields of a message stand; the byline of an article is a line."""
_ENDS = frozenset({"form", "nav", "footer", "aside"})
_NUMBERS = re.compile(r"\d+")


def message(outline: Outline, block: int, base: str, own: Collection[str]) -> tuple[int, ...]:
    """Return the places of the elements of a message whose labels are a block; none if it has no sender, date or text.

    It ends before lists of other messages with the words that announce these, before forms and menus, and before a rule
    with short lines and links alone behind it. ``base`` and ``own`` are the base of the page's
    references and its URLs.
    """
    if outline.tags[block] not in _TABLES or not has_labels(outline, block, (FieldLabel.AUTHOR, FieldLabel.DATE)):
        return ()
    first = block
    for _ in range(_HIGHEST):
        found = _followed(outline, first, base, own)
        if any(outline.free(place) for place in found):
            return (first, *found)
        if outline.parents[first] <= 0 or outline.tags[outline.parents[first]] == "main":
            break
        first = outline.parents[first]
    return ()


def _followed(outline: Outline, first: int, base: str, own: Collection[str]) -> list[int]:
    found: list[int] = []
    siblings = [place for place in outline.children(outline.parents[first]) if place > first]
    for number, place in enumerate(siblings):
        if outline.tags[place] in _ENDS or _is_of_others(outline, place, base, own) or _is_log(outline, place):
            break
        if outline.tags[place] == "hr" and any(map(outline.free, found)) and _are_notes(outline, siblings[number:]):
            break
        found.append(place)
    while found and (outline.tags[found[-1]] in ("hr", "br") or _announces(outline, found[-1])):
        found.pop()
    return found


def _are_notes(outline: Outline, places: Sequence[int]) -> bool:
    """Return whether elements show short lines, links among them: what an archive says of each of its messages."""
    pieces = [piece for place in places for piece in outline.pieces_of(place)]
    return any(piece.linked for piece in pieces) and all(piece.weight <= _LONGEST_ENTRY for piece in pieces)


def _announces(outline: Outline, place: int) -> bool:
    """Return whether an element is a few words with a colon, which announce what follows it."""
    pieces = list(outline.pieces_of(place))
    return len(pieces) == 1 and pieces[0].weight <= _LONGEST_ENTRY and pieces[0].text.endswith((":", "\uff1a"))


def _is_of_others(outline: Outline, place: int, base: str, own: Collection[str]) -> bool:
    """Return whether a list leads to messages like this one: all of its entries have links, one to such an address."""
    if outline.tags[place] not in _LISTS or not outline.linked(place):
        return False
    if any(piece.weight > _LONGEST_ENTRY and not piece.linked for piece in outline.pieces_of(place)):
        return False
    entries = [each for each in outline.children(place) if outline.tags[each] in ("li", "tr", "dd", "dt")]
    if not entries or not all(outline.linked(each) for each in entries):
        return False
    shapes = {_NUMBERS.sub("#", url) for url in own}
    hrefs = (
        outline.elements[each].get("href") for each in range(place, outline.ends[place]) if outline.tags[each] == "a"
    )
    targets = {(resolve(base, href) or "").partition("#")[0] for href in hrefs if href}
    return any(_NUMBERS.sub("#", url) in shapes and url not in own for url in targets)


def _is_log(outline: Outline, place: int) -> bool:
    """Return whether a table has a row that heads at least three columns: a list of changes, of files, of votes."""
    if outline.tags[place] != "table":
        return False
    rows = [each for each in range(place, outline.ends[place]) if outline.tags[each] == "tr"]
    return any(sum(outline.tags[each] == "th" for each in outline.children(row)) >= _COLUMNS for row in rows)

"""Finds the elements of a page that hold a stretch of its words."""

from collections.abc import Sequence
from dataclasses import dataclass

from aahcrawler.adaptation.repair.alignment import Stretch, WordTable, outside, within
from aahcrawler.induction.outline import Outline

FOREIGN = 0.15
"""The share of other words among a text's own up to which one element holds it."""
FEW_FOREIGN = 3


@dataclass(frozen=True, slots=True)
class Held:
    """Places whose elements contain a text, without the elements in ``without``; ``place`` is the one around all."""

    place: int
    places: tuple[int, ...]
    without: tuple[int, ...] = ()


def held(table: WordTable, stretch: Stretch, others: Sequence[Stretch] = ()) -> Held:
    """Return the container of a stretch: one element, without the foreign ones in it, else several adjacent ones.

    Several are used if one would contain ``others`` as well, or foreign words that no element of their own contains.
    """
    outline = table.outline
    place = outline.common(table.owners[stretch.first], table.owners[stretch.last - 1])
    for position in stretch.matched:
        place = outline.common(place, table.owners[position])
    place = _widest(table, max(place, 0))
    own = [child for child in outline.children(place) if _share(table, child, stretch) > 0]
    positions = table.positions(place)
    without = _foreign(table, (place,), stretch)
    foreign = outside(positions, stretch.first, stretch.last)
    stands_in_it = any(table.owners[position] == place for position in stretch.matched)
    if not stands_in_it and own and foreign > max(FEW_FOREIGN, FOREIGN * len(stretch.matched)):
        loose = foreign - sum(outside(table.positions(part), stretch.first, stretch.last) for part in without)
        shared = any(within(positions, other.first, other.last) for other in others)
        if shared or loose > max(FEW_FOREIGN, FOREIGN * len(stretch.matched)):
            return Held(place, tuple(own), _foreign(table, own, stretch))
    return Held(place, (place,), without)


def _widest(table: WordTable, place: int) -> int:
    """Climb to the outermost element that has a class and the same words, else the outermost with these words."""
    outline = table.outline
    size = len(table.positions(place))
    chosen = place
    classed = place if outline.tokens[place] else -1
    for above in outline.ancestors(place):
        if above == 0 or len(table.positions(above)) != size:
            break
        chosen = above
        classed = above if outline.tokens[above] else classed
    return classed if classed >= 0 else chosen


def _share(table: WordTable, place: int, stretch: Stretch) -> float:
    positions = table.positions(place)
    return sum(position in stretch.matched for position in positions) / len(positions) if positions else 0.0


def _foreign(table: WordTable, places: Sequence[int], stretch: Stretch) -> tuple[int, ...]:
    """Return the outermost elements within places that contain no words of the stretch.

    A single word within the stretch was edited and is not foreign, unless its element has attributes, as
    labels have.
    """
    outline: Outline = table.outline
    found: list[int] = []
    for place in places:
        inner = place + 1
        while inner < outline.ends[place]:
            positions = table.positions(inner)
            plain = len(positions) == 1 and not outline.elements[inner].attrib
            amidst = plain and stretch.first < positions[0] < stretch.last
            if positions and not amidst and not any(position in stretch.matched for position in positions):
                found.append(inner)
                inner = outline.ends[inner]
            else:
                inner += 1
    return tuple(found)

"""Find the cell that each picture of a grid stands in, with what is written beside it."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from lxml.etree import _Element as Element

from aahcrawler.induction.captions import Line, attribute_lines, lines_of
from aahcrawler.induction.outline import Outline, Piece
from aahcrawler.induction.pictures import Picture

MOST_TEXTS: Final = 100
"""The runs of text of one cell that are read."""

_CELLS: Final = frozenset({"td", "th"})
_MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Cell:
    """A picture, the places of the elements of its cell, and the numbers of the first and behind the last of its texts.

    ``base`` is the element that holds the texts.
    """

    picture: Picture
    roots: tuple[int, ...]
    base: int
    first: int
    end: int

    def elements(self, outline: Outline) -> tuple[Element, ...]:
        """Return the elements of the cell."""
        return tuple(outline.elements[place] for place in self.roots)

    def pieces(self, outline: Outline) -> Iterator[Piece]:
        """Yield the texts of the cell."""
        for piece in outline.pieces[self.first : self.end]:
            if outline.contains(self.base, piece.owner):
                yield piece

    def lines(self, outline: Outline) -> list[Line]:
        """Return the texts beside the picture, and those of its attributes."""
        pieces = islice(self.pieces(outline), MOST_TEXTS)
        return [*lines_of(outline, pieces, self.base), *attribute_lines(outline, self.picture)]


def cells(outline: Outline, found: Sequence[Picture]) -> list[Cell]:
    """Return the cells of several pictures: the largest elements that hold one each.

    Where pictures stand side by side in one element, what follows each belongs to it. Where the cells of a table hold
    nothing else, the cells of the row below belong to them.
    """
    places = sorted(each.place for each in found)
    roots = [_root(outline, each, places) for each in found]
    if sum(_is_flat(outline, root) for root in roots) > _MOSTLY * len(roots):
        return _followed(outline, found, roots)
    if sum(not _has_text(outline, root) for root in roots) > _MOSTLY * len(roots):
        below = [_below(outline, root) for root in roots]
        if sum(each is not None and _has_text(outline, each) for each in below) > _MOSTLY * len(roots):
            pairs = zip(found, roots, below, strict=True)
            return [_cell(outline, picture, root, base) for picture, root, base in pairs]
    return [_cell(outline, picture, root, None) for picture, root in zip(found, roots, strict=True)]


def _root(outline: Outline, picture: Picture, places: Sequence[int]) -> int:
    root = picture.link if picture.link is not None else picture.place
    for above in outline.ancestors(root):
        if above == 0 or bisect_left(places, outline.ends[above]) - bisect_left(places, above) > 1:
            break
        root = above
    return root


def _is_flat(outline: Outline, root: int) -> bool:
    """Return whether a cell is nothing but the picture and its link."""
    return outline.tags[root] in ("a", "img", "dt")


def _has_text(outline: Outline, root: int) -> bool:
    return outline.free(root) + outline.linked(root) > 0


def _number(outline: Outline, place: int) -> int:
    """Return the number of the first text at or behind a place."""
    low, high = 0, len(outline.pieces)
    while low < high:
        middle = (low + high) // 2
        if outline.pieces[middle].before < place:
            low = middle + 1
        else:
            high = middle
    return low


def _cell(outline: Outline, picture: Picture, root: int, below: int | None) -> Cell:
    base = root if below is None else below
    return Cell(
        picture,
        (root,) if below is None else (root, below),
        base,
        _number(outline, base + 1),
        _number(outline, outline.ends[base] + 1),
    )


def _followed(outline: Outline, found: Sequence[Picture], roots: Sequence[int]) -> list[Cell]:
    """Return cells that begin with a picture each and go on up to the next one, all within one element."""
    ordered = sorted(roots)
    made: list[Cell] = []
    for picture, root in zip(found, roots, strict=True):
        parent = outline.parents[root]
        number = bisect_right(ordered, root)
        following = ordered[number] if number < len(ordered) else len(outline.tags)
        end = min(following, outline.ends[parent])
        beside: list[int] = []
        place = root
        while place < end:
            beside.append(place)
            place = outline.ends[place]
        made.append(Cell(picture, tuple(beside), parent, _number(outline, root + 1), _number(outline, end + 1)))
    return made


def _below(outline: Outline, root: int) -> int | None:
    """Return the cell below one in a table, None where there is none."""
    row = outline.parents[root]
    if outline.tags[root] not in _CELLS or row < 0 or outline.tags[row] != "tr":
        return None
    column = [each for each in outline.children(row) if outline.tags[each] in _CELLS].index(root)
    following = outline.ends[row]
    if following >= len(outline.tags) or outline.parents[following] != outline.parents[row]:
        return None
    if outline.tags[following] != "tr":
        return None
    beneath = [each for each in outline.children(following) if outline.tags[each] in _CELLS]
    return beneath[column] if column < len(beneath) else None

"""Find texts that have a label themselves, among values that have: ``Description`` in the table of a ticket."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aahcrawler.induction.field_labels import (
    HEADINGS,
    LABEL_MARKS,
    LONGEST_LABEL,
    FieldLabel,
    field_of,
    is_text_label,
    split_label,
)
from aahcrawler.induction.outline import Outline

_CELLS = frozenset({"td", "th", "dt"})
_LINES = HEADINGS | {"dt", "th", "legend", "label", "strong", "b", "p", "div", "span", "summary"}
_FEWEST, _FEWEST_OTHER = 2, 3
"""The known labels beside a text, and those where none is that of an author, a date or a title."""


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A table or list of values of which one is a text; ``labels`` are the places of all that is none of it."""

    place: int
    labels: tuple[int, ...]
    told: frozenset[FieldLabel]


def labelled_texts(outline: Outline) -> tuple[LabelledText, ...]:
    """Return the tables and lists of terms in which a text stands among values with known labels, in document order."""
    found: list[LabelledText] = []
    tried: set[int] = set()
    for piece in outline.pieces:
        if piece.linked or not is_text_label(piece.text):
            continue
        cell = next((at for at in (piece.owner, *outline.ancestors(piece.owner)) if outline.tags[at] in _CELLS), -1)
        if cell < 0 or outline.free(cell) + outline.linked(cell) > LONGEST_LABEL:
            continue
        block = _block(outline, cell)
        if block < 0 or block in tried:
            continue
        tried.add(block)
        if (text := _among(outline, block, cell)) is not None:
            found.append(text)
    return tuple(sorted(found, key=lambda each: each.place))


def text_headings(outline: Outline) -> Iterator[int]:
    """Yield elements that consist of words that announce a text: headings, and lines set off."""
    for piece in outline.pieces:
        if piece.linked or not is_text_label(piece.text):
            continue
        place = piece.owner
        while outline.parents[place] > 0 and _shown(outline, outline.parents[place]) == piece.weight:
            place = outline.parents[place]
        if outline.tags[place] in _LINES and _shown(outline, place) == piece.weight:
            yield place


def text_below(outline: Outline, heading: int) -> tuple[int, int]:
    """Return the extent of what follows an element that announces a text, up to the next heading; (0, 0) for nothing.

    A heading may stand in a box of its own, beside that of its text.
    """
    place = heading
    while outline.parents[place] > 0 and _shown(outline, outline.parents[place]) == _shown(outline, heading):
        place = outline.parents[place]
    first, end = outline.ends[place], outline.ends[outline.parents[place]]
    following = next((each for each in range(first, end) if outline.tags[each] in HEADINGS), end)
    return (first, following) if first < following else (0, 0)


def _shown(outline: Outline, place: int) -> int:
    return outline.free(place) + outline.linked(place)


def _block(outline: Outline, cell: int) -> int:
    """Return the table or list that a cell belongs to, -1 if it belongs to none."""
    wanted = "dl" if outline.tags[cell] == "dt" else "table"
    return next((above for above in outline.ancestors(cell) if outline.tags[above] == wanted), -1)


def _among(outline: Outline, block: int, cell: int) -> LabelledText | None:
    rows = list(_rows(outline, block))
    at = next((number for number, row in enumerate(rows) if cell in row), None)
    if at is None or (at + 1 < len(rows) and _is_header(outline, rows[at], rows[at + 1])):
        return None
    text = [each for each in rows[at] if each > cell and _shown(outline, each)]
    is_open = not text  # The text stands in the rows below its label.
    labels: list[int] = [cell]
    told: list[FieldLabel] = []
    said: set[str] = set()
    for number, row in enumerate(rows):
        if number == at:
            labels += [each for each in row if each < cell]
            continue
        labelled = {each: field for each in row if (field := _field(outline, each)) is not None}
        known = list(labelled.values())
        words = [_first_words(outline, each) for each in labelled]
        if not said.isdisjoint(words):
            return None  # Each of several posts has such a value.
        said.update(words)
        is_of_values = bool(known) or (number > 0 and number < at and _is_header(outline, rows[number - 1], row))
        if is_of_values or not any(_shown(outline, each) for each in row):
            labels += row
            told += known
        elif number < at or not is_open:
            labels += row
    least = _FEWEST if any(field is not FieldLabel.OTHER for field in told) else _FEWEST_OTHER
    return LabelledText(block, tuple(sorted(labels)), frozenset(told)) if len(told) >= least else None


def _rows(outline: Outline, block: int) -> Iterator[Sequence[int]]:
    """Yield the cells of the rows of a table, or each term of a list with what follows it."""
    if outline.tags[block] == "dl":
        row: list[int] = []
        for child in outline.children(block):
            if outline.tags[child] == "dt" and row and outline.tags[row[-1]] != "dt":
                yield row
                row = []
            row.append(child)
        if row:
            yield row
        return
    place = block + 1
    while place < outline.ends[block]:
        if outline.tags[place] == "table":
            place = outline.ends[place]
            continue
        if outline.tags[place] == "tr":
            yield list(outline.children(place))
        place += 1


def _field(outline: Outline, cell: int) -> FieldLabel | None:
    """Return what the label that a cell is, or begins with, says of a value."""
    if outline.tags[cell] not in _CELLS or _shown(outline, cell) > 4 * LONGEST_LABEL:
        return None
    text = " ".join(piece.text for piece in outline.pieces_of(cell))
    return field_of(text) or split_label(text)[0]


def _first_words(outline: Outline, cell: int) -> str:
    """Return the label that a cell is or begins with."""
    piece = next(outline.pieces_of(cell))
    return piece.text.partition(":")[0].strip(LABEL_MARKS).casefold()


def _is_header(outline: Outline, above: Sequence[int], row: Sequence[int]) -> bool:
    """Return whether a row of cells lies below one that heads each of them."""
    return len(above) == len(row) > 1 and all(outline.tags[each] == "th" for each in above)

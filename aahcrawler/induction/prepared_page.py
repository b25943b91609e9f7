"""What induction computes once for each page."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lxml.etree import _Element as Element

from aahcrawler.induction.comment_sections import CommentSection, comment_sections
from aahcrawler.induction.field_labels import (
    HEADINGS,
    LABEL_MARKS,
    MAX_LABEL_LENGTH,
    FieldLabel,
    field_of,
    is_text_label,
    label_blocks,
    split_label,
)
from aahcrawler.induction.headings import Names, headed_places, headings
from aahcrawler.induction.outline import Extents, Outline
from aahcrawler.induction.shown_dates import DateReader, ShownDate, shown_dates
from aahcrawler.page import Page
from aahcrawler.page.record_shape import RecordShape
from aahcrawler.page.zones import Hidden

MUCH_OF_TEXT, NEARLY_ALL = 0.3, 0.8
"""If asides have this share of a page's running text, they are its content: with the page's heading, and without."""

_SIDES = r"(?<!with-)(?<!has-)(?<!no-)side[-_]?bar|(?:^|[-_])(?:nav|navigation|menu|footer|related|recent)(?:$|[-_])"
SIDE = re.compile(rf"{_SIDES}|widget", re.IGNORECASE)
"""Names of elements beside the content; but some software calls each box of its content a widget."""
SURELY_SIDE = re.compile(_SIDES, re.IGNORECASE)
"""Names of elements that are never content."""


def asides_hold_content(outline: Outline, names: Names) -> bool:
    """Return whether the main content of the page is in elements with the tag ``aside``.

    It is if the heading that repeats the page's title is in one and not outside, with much of the text, or if nearly
    all text is in them. Headings that lead to the front page are the site's, and asides that are named sidebars are
    sidebars.
    """
    asides = _outermost(outline)
    if not asides:
        return False
    named = [each.place for each in headings(outline, names, ()) if each.rank[0]]
    headed = bool(named) and all(any(outline.contains(aside, place) for aside in asides) for place in named)
    mains = [place for place, tag in enumerate(outline.tags) if tag == "main"]
    if not headed and mains and not any(outline.contains(aside, place) for aside in asides for place in mains):
        return False
    return sum(map(outline.running, asides)) > (MUCH_OF_TEXT if headed else NEARLY_ALL) * outline.running(0)


def _outermost(outline: Outline) -> list[int]:
    found: list[int] = []
    for place, tag in enumerate(outline.tags):
        if tag == "aside" and (not found or place >= outline.ends[found[-1]]) and not _is_named_so(outline, place):
            found.append(place)
    return found


def _is_named_so(outline: Outline, place: int) -> bool:
    return any(SIDE.search(word) for word in (*outline.tokens[place], outline.elements[place].get("id") or ""))


_CELLS = frozenset({"td", "th", "dt"})
_LINES = HEADINGS | {"dt", "th", "legend", "label", "strong", "b", "p", "div", "span", "summary"}
_MIN_LABELS, _MIN_OTHER = 2, 3
"""The known labels beside a text, and those where none is that of an author, a date or a title."""


@dataclass(frozen=True, slots=True)
class LabelledText:
    """A table or list of values, one of which is a text; ``labels`` are the places of everything else in it."""

    place: int
    labels: tuple[int, ...]
    told: frozenset[FieldLabel]


def labelled_texts(outline: Outline) -> tuple[LabelledText, ...]:
    """Return the tables and lists of terms that contain a text among values with known labels, in document order."""
    found: list[LabelledText] = []
    tried: set[int] = set()
    for piece in outline.pieces:
        if piece.linked or not is_text_label(piece.text):
            continue
        cell = next((at for at in (piece.owner, *outline.ancestors(piece.owner)) if outline.tags[at] in _CELLS), -1)
        if cell < 0 or outline.free(cell) + outline.linked(cell) > MAX_LABEL_LENGTH:
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

    A heading may be in a box of its own, beside that of its text.
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
    """Return the table or list to which a cell belongs; -1 if there is none."""
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
    least = _MIN_LABELS if any(field is not FieldLabel.OTHER for field in told) else _MIN_OTHER
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
    """Return the field named by the label that a cell is, or begins with."""
    if outline.tags[cell] not in _CELLS or _shown(outline, cell) > 4 * MAX_LABEL_LENGTH:
        return None
    text = " ".join(piece.text for piece in outline.pieces_of(cell))
    return field_of(text) or split_label(text)[0]


def _first_words(outline: Outline, cell: int) -> str:
    """Return the label that a cell is or begins with."""
    piece = next(outline.pieces_of(cell))
    return piece.text.partition(":")[0].strip(LABEL_MARKS).casefold()


def _is_header(outline: Outline, above: Sequence[int], row: Sequence[int]) -> bool:
    """Return whether a row of cells is below a row with a header for each of them."""
    return len(above) == len(row) > 1 and all(outline.tags[each] == "th" for each in above)


_DIALOG = re.compile(r"(?:^|[\s_-])(?:modal|dialog|popup|overlay|lightbox)(?:$|[\s_-])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PreparedPage:
    """The common input of induction: a page's outline, the dates it shows, a reader for other dates, and its names.

    ``writing`` is the place of the element with the first text area, None if there is none; text areas that are hidden
    or in dialogs do not count. ``shapes`` are those of the records of the page's site, ``sections`` the parts of the
    page with comments, ``labels`` the places of blocks of labels and values, and of the labels of texts beside them,
    ``texts`` the tables with a text among values, ``headed`` the places of the headings that could name the subject of
    the page.
    """

    outline: Outline
    dates: DateReader
    shown: tuple[ShownDate, ...]
    names: Names
    writing: int | None
    shapes: tuple[RecordShape, ...] = ()
    sections: tuple[CommentSection, ...] = ()
    labels: tuple[int, ...] = ()
    texts: tuple[LabelledText, ...] = ()
    headed: tuple[int, ...] = ()

    @classmethod
    def of(cls, page: Page) -> "PreparedPage":
        """Prepare an HTML page."""
        outline = Outline(page.tree)
        dates = DateReader(outline, page.fetched_at, page.language, page.order)
        shown = shown_dates(outline, dates)
        names = Names.of(page)
        if asides_hold_content(outline, names):
            outline.rename("aside", "div")
        headed = headed_places(outline, names)
        sections = comment_sections(outline, shown, headed)
        texts = labelled_texts(outline)
        labels = _labels(outline, texts)
        writing, shapes = _writing(page, outline), page.record_shapes
        return cls(outline, dates, shown, names, writing, shapes, sections, labels, texts, headed)

    def section_of(self, elements: Iterable[Element]) -> CommentSection | None:
        """Return the section of comments that contains all of the elements; None if there is none."""
        places = [self.outline.places[each] for each in elements if each in self.outline.places]
        holding = (each for each in self.sections if places and all(map(each.covers, places)))
        return next(holding, None)


def _labels(outline: Outline, texts: Sequence[LabelledText]) -> tuple[int, ...]:
    """Return the places of blocks of labels and values; if there are any, also of the labels of texts."""
    within = Extents((each.place, outline.ends[each.place]) for each in texts)
    blocks = [each for each in label_blocks(outline) if not within.cover(each)]
    blocks += [place for each in texts for place in each.labels]
    held = Extents((place, outline.ends[place]) for place in blocks)
    headings = (each for each in text_headings(outline) if not held.cover(each)) if blocks else ()
    return tuple(sorted((*blocks, *headings)))


def _writing(page: Page, outline: Outline) -> int | None:
    for area in page.tree.iter("textarea"):
        around = tuple(area.iterancestors())
        if page.once(Hidden.of).covers(area) or any(map(_opens_later, around)):
            continue
        for above in around:
            if above in outline.places:
                return outline.places[above]
    return None


def _opens_later(element: Element) -> bool:
    """Return whether an element is a dialog, which is hidden until it is opened."""
    if element.tag == "dialog" or element.get("role") == "dialog" or element.get("aria-hidden") == "true":
        return True
    return _DIALOG.search(element.get("class") or "") is not None

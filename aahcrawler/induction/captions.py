"""Extract the captions of pictures: titles, descriptions, photographers and dates."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from itertools import islice
from typing import Final

from lxml.etree import _Element as Element
from lxml.html import fragment_fromstring

from aahcrawler.induction.field_labels import FieldLabel, field_of, name_in, split_label
from aahcrawler.induction.outline import Outline, TextPiece
from aahcrawler.induction.pictures import Picture, is_file_name
from aahcrawler.induction.shown_dates import ShownDate, is_of_change
from aahcrawler.page.text import bare, fold, plain_text

MAX_TITLE_LENGTH: Final = 120
"""The greatest mean weight of texts at one place that may be titles."""

MAX_FACT_LENGTH: Final = 60
"""The greatest weight of a text that consists of a date or a measure."""

MOSTLY: Final = 0.6
"""If this share of pictures have the same text, or the same label, at a place, the text there is no caption."""

_INLINE: Final = frozenset(
    {"a", "abbr", "b", "bdi", "big", "cite", "em", "font", "i", "small", "span", "strong", "time", "tt", "u"}
)
_HEADS: Final = frozenset({"b", "strong", "dt", "figcaption", "h1", "h2", "h3", "h4", "h5", "h6", "legend", "th"})
_TITLE_NAME: Final = re.compile(r"title|name|head|label", re.IGNORECASE)
_BODY_NAME: Final = re.compile(r"caption|desc|comment|note|legend|text|body|info", re.IGNORECASE)
_TITLE_ATTRIBUTES: Final = ("alt",)
_BODY_ATTRIBUTES: Final = (
    "data-caption", "data-title", "data-sub-html", "data-description", "data-desc", "data-footer",
    "data-lightbox-title", "data-fancybox-caption", "data-glightbox", "title",
)  # fmt: skip
_SENTENCE: Final = re.compile(r"[.!?…。！？]['\"”’)\]]*$")
_NUMBERS: Final = re.compile(r"\d+")
_FACT: Final = re.compile(
    r"\W*(?:\d[\d.,]*\s*(?:x|×|by)\s*\d[\d.,]*(?:\s*(?:px|pixels?))?|\d[\d.,]*\s*(?:[kmg]i?b|bytes?|octets)|"
    r"\d+\s*(?:/|of|von|de|sur|van|di|из)\s*\d+|#?\d+|\d[\d.,]*\s*(?:views?|hits?|comments?|likes?|votes?|downloads?|times))"
    r"(?:\W+(?:\d[\d.,]*\s*(?:x|×)\s*\d[\d.,]*|\d[\d.,]*\s*(?:[kmg]i?b|bytes?|octets|px|pixels?)|views?|hits?))*\W*",
    re.IGNORECASE,
)
_FACTS_WITHIN: Final = re.compile(
    r"\b\d{2,5}\s?[x×]\s?\d{2,5}\b|\b\d[\d.,]*\s?[km]i?b\b|=\s?\S+\.(?:jpe?g|png|gif)\b", re.IGNORECASE
)
_LABEL: Final = re.compile(r"([^\W\d_][^:：\n]{0,28})\s?[:：]\s?(.*)", re.DOTALL)
_CAPTIONS_CALLED: Final = """
title caption description comment comments note notes titel beschreibung bildunterschrift kommentar titre légende
descripción título didascalia titolo descrizione onderschrift omschrijving opis заголовок описание
"""
_CAPTION_LABELS: Final = frozenset(_CAPTIONS_CALLED.split())
_MAKER: Final = re.compile(
    r"owner|owned by|uploader|uploaded by|photographer|photo(?:graph)? by|photo|besitzer(?:in)?|fotograf(?:in)?|foto|"
    r"propriétaire|photographe|propietario|fotógrafo|fotografo|eigenaar|fotograaf|ägare|ejer|eier",
    re.IGNORECASE,
)
"""Labels of the author of an album or a photograph; the owner of a ticket did not write it."""
_MAX_ATTRIBUTE_LENGTH: Final = 5_000
_MAX_NAMES: Final = 6
_BY: Final = re.compile(
    r"(?:(?:photo(?:graph(?:ed|s)?)?|picture|image|pic|taken|uploaded|foto|bild|aufnahme)s?\s*)?"
    r"(?:by|von|par|por|da|door|av|af|©|\(c\)|(?<=foto):|(?<=photo):)\s+(\S.*)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CaptionLine:
    """A text beside a picture. ``slot`` names its position, the same for all pictures of a template.

    ``place`` is that of its element; None if the text is in an attribute.
    """

    slot: tuple[str, ...]
    text: str
    place: int | None = None

    @property
    def is_sentence(self) -> bool:
        """Whether it ends as sentences do, or is too long for a title."""
        return len(self.text) > 2 * MAX_TITLE_LENGTH or (_SENTENCE.search(self.text) is not None and " " in self.text)


@dataclass(frozen=True, slots=True)
class Caption:
    """The caption of a picture; unknown fields are empty or None."""

    title: str = ""
    body: str = ""
    author: str = ""
    date: datetime | None = None


def lines_of(outline: Outline, pieces: Iterable[TextPiece], base: int) -> list[CaptionLine]:
    """Return runs of text as lines, in document order; the path from the element ``base`` to a line is its slot."""
    read = list(pieces)
    if not read:
        return []
    start = read[0].before
    breaks = [place for place in range(start, read[-1].before) if outline.tags[place] == "br"]
    found: dict[tuple[int, int], CaptionLine] = {}
    for piece in read:
        place = _holder(outline, piece.owner, base, read[0].owner)
        number = bisect_left(breaks, piece.before) - bisect_left(breaks, max(place, start))
        slot = (*_path(outline, place, base), *([f"br{number}"] if number else ()))
        known = found.get((place, number))
        found[place, number] = CaptionLine(
            slot, fold(f"{known.text} {piece.text}" if known is not None else piece.text), place
        )
    return list(found.values())


def _holder(outline: Outline, place: int, base: int, first: int) -> int:
    """Return the element whose line a run of text is: a block, or an inline element used like one.

    Bold text at the beginning of a block, or of all texts (``first``), is a line of its own: a title.
    """
    while place != base and outline.tags[place] in _INLINE:
        above = outline.parents[place]
        if outline.tags[place] in _HEADS and place in (first, outline.once(above, _first_owner)):
            return place
        if outline.tokens[place] and not outline.once(above, _has_own_text):
            return place
        place = above
    return place


def _first_owner(outline: Outline, place: int) -> int:
    return next((piece.owner for piece in outline.pieces_of(place)), -1)


def _has_own_text(outline: Outline, place: int) -> bool:
    return any(piece.owner == place for piece in outline.pieces_of(place))


def _path(outline: Outline, place: int, root: int) -> tuple[str, ...]:
    steps: list[str] = []
    while place > root:
        steps.append(".".join((outline.tags[place], *outline.tokens[place][:2])))
        place = outline.parents[place]
    return tuple(reversed(steps))


def tells_facts(text: str) -> bool:
    r"""Return whether each line of a text is a measure, or a label with its value, as with facts about a file.

    >>> tells_facts("Filename: tower.jpg\nDisplayed: 7 times"), tells_facts("The tower: seven times higher!")
    (True, False)
    """
    return all(
        _FACT.fullmatch(line) or split_label(line)[0] is not None or field_of(line) is not None
        for line in text.split("\n")
    )


def attribute_lines(outline: Outline, picture: Picture) -> Iterator[CaptionLine]:
    """Yield the texts in attributes of a picture, of its link and of the elements around it."""
    around = [picture.place, *([picture.link] if picture.link is not None else [])]
    around += [outline.parents[around[-1]]] if outline.parents[around[-1]] > 0 else []
    for place in around:
        element = outline.elements[place]
        for name in (*_BODY_ATTRIBUTES, *_TITLE_ATTRIBUTES):
            value = (element.get(name) or "")[:_MAX_ATTRIBUTE_LENGTH]
            text = _markup_text(value)
            if text and not (value.startswith((".", "#")) and " " not in value):
                yield CaptionLine((f"@{name}", outline.tags[place]), text)


def _markup_text(value: str) -> str:
    """Return the text of an attribute, whose value may be markup that a script shows."""
    if "<" not in value:
        return fold(value)
    try:
        return fold(plain_text(fragment_fromstring(value, create_parent="div")))
    except (ValueError, AssertionError):
        return fold(value)


@dataclass
class Captions:
    """The captions of pictures of one template, read from the ``lines`` of each."""

    lines: Sequence[Sequence[CaptionLine]]
    shown: Mapping[int, ShownDate]
    outline: Outline
    _facts: dict[int, dict[str, str | datetime]] = field(default_factory=dict)

    def read(self) -> list[Caption]:
        """Return the caption of each picture, in their order."""
        kept = [[each for each in lines if self._is_caption(number, each)] for number, lines in enumerate(self.lines)]
        kept = [_once(lines) for lines in kept]
        title = self._title_slot(kept)
        return [self._caption(number, lines, title) for number, lines in enumerate(kept)]

    def kept(self, number: int) -> tuple[list[CaptionLine], Caption]:
        """Return the lines of one picture that may be its caption, and the author and date from its other lines."""
        kept = [each for each in self.lines[number] if self._is_caption(number, each)]
        facts = self._facts.get(number, {})
        date = facts.get("date")
        return kept, Caption(author=str(facts.get("author", "")), date=date if isinstance(date, datetime) else None)

    @cached_property
    def _by_slot(self) -> Mapping[tuple[str, ...], Sequence[str]]:
        found: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for lines in self.lines:
            for each in lines:
                found[each.slot].append(each.text)
        return found

    @cached_property
    def _constant(self) -> Mapping[tuple[str, ...], Collection[str]]:
        """The texts, or labels with a colon, that many pictures have at the same place, without their numbers."""
        found: dict[tuple[str, ...], Collection[str]] = {}
        least = max(2, MOSTLY * len(self.lines) / 2)
        for slot, texts in self._by_slot.items():
            skeletons = Counter(_NUMBERS.sub("#", text) for text in texts)
            labels = Counter(label[1].strip() for text in texts if (label := _LABEL.fullmatch(text)))
            usual = {text for text, times in skeletons.items() if times >= least}
            found[slot] = usual | {f"{label}:" for label, times in labels.items() if times >= least}
        return found

    def _is_caption(self, number: int, line: CaptionLine) -> bool:
        """Return whether a text may belong to a caption; if not, note the author or the date in it."""
        text, facts = line.text, self._facts.setdefault(number, {})
        if len(text) <= MAX_FACT_LENGTH and (date := self._date(line)) is not None:
            facts.setdefault("date", date)
            return False
        if not any(map(str.isalpha, text)) or is_file_name(text) or _FACT.fullmatch(text):
            return False
        label, value = split_label(text)
        called, mark, named = text.partition(":")
        if mark and _MAKER.fullmatch(called.strip()):
            label, value = FieldLabel.AUTHOR, named.strip()
        if label is FieldLabel.AUTHOR and len(value.split()) <= _MAX_NAMES:
            facts.setdefault("author", name_in(value) or value)
            return False
        by = _BY.fullmatch(text)
        if by and len(by[1].split()) <= _MAX_NAMES // 2 and not line.is_sentence:
            facts.setdefault("author", by[1])
            return False
        if label in (FieldLabel.OTHER, FieldLabel.DATE) and not line.is_sentence:
            return False
        constant = self._constant[line.slot]
        if _NUMBERS.sub("#", text) in constant:
            return False
        found = _LABEL.fullmatch(text)
        if found and f"{found[1].strip()}:" in constant and found[1].strip().casefold() not in _CAPTION_LABELS:
            return False
        return not (_FACTS_WITHIN.search(text) and not line.is_sentence)

    def _date(self, line: CaptionLine) -> datetime | None:
        if line.place is None:
            return None
        for place in range(line.place, self.outline.ends[line.place]):
            shown = self.shown.get(place)
            if shown is not None and not shown.unread and not is_of_change(self.outline, shown):
                read = shown.read
                return None if read.vague or read.lacks_year or not read.names_day else read.moment
        return None

    def _title_slot(self, kept: Sequence[Sequence[CaptionLine]]) -> tuple[str, ...] | None:
        """Return the slot of titles: texts that are short and no sentences, preferably in a heading or named titles."""
        texts: dict[tuple[str, ...], list[CaptionLine]] = defaultdict(list)
        for lines in kept:
            for each in lines:
                texts[each.slot].append(each)
        ranked: list[tuple[float, int, tuple[str, ...]]] = []
        for order, (slot, found) in enumerate(texts.items()):
            mean = sum(len(each.text) for each in found) / len(found)
            if mean > MAX_TITLE_LENGTH or sum(each.is_sentence for each in found) > len(found) / 2:
                continue
            ranked.append((_rank(slot) + len(found) / (len(kept) or 1), -order, slot))
        return max(ranked)[2] if ranked else None

    def _caption(self, number: int, lines: Sequence[CaptionLine], title_slot: tuple[str, ...] | None) -> Caption:
        head = next((each for each in lines if each.slot == title_slot), None)
        title = head.text if head is not None else ""
        rest = [each for each in lines if each is not head]
        shown = [each for each in rest if each.place is not None]
        # Attributes repeat what is shown, or tell what a script shows.
        told = [each for each in rest if each.place is None and each.slot[0] not in ("@alt", "@title")] or [
            each for each in rest if each.place is None and each.slot[0] == "@title"
        ]
        told = told or [each for each in rest if each.place is None and not title]
        sentences = any(each.is_sentence for each in shown)
        body = shown if sentences or not told else [*shown, *told]
        facts = self._facts.get(number, {})
        author, date = facts.get("author", ""), facts.get("date")
        text = "\n".join(each.text for each in body) or title
        return Caption(title, text, str(author), date if isinstance(date, datetime) else None)


def _rank(slot: tuple[str, ...]) -> float:
    """Return how likely the texts of a slot are titles."""
    last = slot[-1] if slot and not slot[-1].startswith("br") else slot[-2] if len(slot) > 1 else ""
    if slot and slot[0].startswith("@"):
        return -1.0 if slot[0] == "@alt" else -2.0
    tag, _, names = last.partition(".")
    named = 2.0 if _TITLE_NAME.search(names) else -1.0 if _BODY_NAME.search(names) else 0.0
    return named + (1.0 if tag in _HEADS else 0.0)


def _once(lines: Sequence[CaptionLine]) -> list[CaptionLine]:
    """Return lines without those that repeat another one or a part of it; visible ones are preferred."""
    kept: list[CaptionLine] = []
    for each in sorted(lines, key=lambda line: line.place is None):
        said = bare(each.text)
        if not any(said == bare(other.text) or (each.place is None and said in bare(other.text)) for other in kept):
            kept.append(each)
    return kept


MAX_TEXTS: Final = 100
"""How many runs of text of one cell are read."""

_CELLS: Final = frozenset({"td", "th"})
_MOSTLY: Final = 0.5


@dataclass(frozen=True, slots=True)
class Cell:
    """A picture, the elements of its cell, the number of the cell's first text and the number after its last.

    ``base`` is the element that contains the texts.
    """

    picture: Picture
    roots: tuple[int, ...]
    base: int
    first: int
    end: int

    def elements(self, outline: Outline) -> tuple[Element, ...]:
        """Return the elements of the cell."""
        return tuple(outline.elements[place] for place in self.roots)

    def pieces(self, outline: Outline) -> Iterator[TextPiece]:
        """Yield the texts of the cell."""
        for piece in outline.pieces[self.first : self.end]:
            if outline.contains(self.base, piece.owner):
                yield piece

    def lines(self, outline: Outline) -> list[CaptionLine]:
        """Return the texts beside the picture, and those of its attributes."""
        pieces = islice(self.pieces(outline), MAX_TEXTS)
        return [*lines_of(outline, pieces, self.base), *attribute_lines(outline, self.picture)]


def cells(outline: Outline, found: Sequence[Picture]) -> list[Cell]:
    """Return the cells of several pictures: for each, the largest element that contains no other picture.

    If pictures are side by side in one element, what follows each belongs to it. If the cells of a table contain
    nothing else, the cells of the row below belong to them.
    """
    places = sorted(each.place for each in found)
    roots = [_root(outline, each, places) for each in found]
    # Cells that are no more than a picture and its link: their texts follow them.
    if sum(outline.tags[root] in ("a", "img", "dt") for root in roots) > _MOSTLY * len(roots):
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


def _has_text(outline: Outline, root: int) -> bool:
    return outline.free(root) + outline.linked(root) > 0


def _cell(outline: Outline, picture: Picture, root: int, below: int | None) -> Cell:
    base = root if below is None else below
    return Cell(
        picture,
        (root,) if below is None else (root, below),
        base,
        outline.number_of_piece(base),
        outline.number_of_piece(outline.ends[base]),
    )


def _followed(outline: Outline, found: Sequence[Picture], roots: Sequence[int]) -> list[Cell]:
    """Return cells that begin with a picture each and extend to the next one, all within one element."""
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
        made.append(Cell(picture, tuple(beside), parent, outline.number_of_piece(root), outline.number_of_piece(end)))
    return made


def _below(outline: Outline, root: int) -> int | None:
    """Return the cell below this one in a table; None if there is none."""
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

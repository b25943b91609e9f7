"""Find the photographs of a page: those of an album, or the one that a page is about."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from itertools import islice
from typing import Final
from urllib.parse import urlsplit

from lxml.etree import _Element as Element

from aahcrawler.induction.captions import (
    Caption,
    CaptionLine,
    Captions,
    Cell,
    attribute_lines,
    cells,
    lines_of,
    tells_facts,
)
from aahcrawler.induction.outline import Extents, Outline, TextPiece
from aahcrawler.induction.paging import is_continued
from aahcrawler.induction.pictures import Picture, is_file_name, pictures, stem
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_sets import Nature, Record, RecordSet
from aahcrawler.page import Page, claims, requisites
from aahcrawler.page.text import bare, excerpt, fold
from aahcrawler.page.titles import title_of
from aahcrawler.page.zones import Zone, Zones
from aahcrawler.urls import queue_of, resolve

MIN_PICTURES: Final = 3
"""The fewest pictures with a file, or a page, of their own that make a page a gallery."""

MIN_CALLED: Final = 2
"""The fewest if names of elements, or the URL, call the page a gallery."""

MOSTLY: Final = 0.8
"""If this share of records begin with a picture each, the records are the cells of a gallery."""

TEXT_OF_PICTURE: Final = 150
TEXT_OF_GALLERY: Final = 400
"""The most weight of running text outside of a gallery's cells: as a fixed amount, and for each picture."""

MAX_TEXT: Final = 800
"""The most weight of running text outside of the cells if all pictures of an album lead to pages."""

MAX_LABEL_LENGTH: Final = 120
"""The greatest mean weight of a cell's texts that are only names."""

MAX_CELL_LENGTH: Final = 600
"""The greatest mean weight of a cell's texts; longer ones are articles with a picture each."""

_GALLERY: Final = re.compile(
    r"galler|photo|picture|album|lightbox|fancybox|pswp|swipebox|colorbox|thumbnail|thumbs?(?:$|[\W_\d])|slide|"
    r"(?:^|[\W_])(?:pics?|images?|imgs?|fotos?|foto|bild(?:er)?|imagen(?:es)?|immagin[ei]|kuva|zdj|obraz)|"
    r"display_?media|showimage|galerie|galeri",
    re.IGNORECASE,
)
_ALBUM: Final = re.compile(
    r"galler|galerie|galeri|album|photo|lightbox|fancybox|swipebox|colorbox|pswp|slide-?show|picture|display_?media|"
    r"showimage|(?:^|[\W_])(?:fotos?|bilder|im[aá]genes|immagini|kuvat|zdjęcia|фото\w*)(?:$|[\W_])",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(
    r"\W*(?:(?:go to |see |view |show )?(?:the )?(?:next|prev(?:ious)?|first|last|newer|older)"
    r"(?: (?:photo|picture|image|file|item|slide|page|one))?|"
    r"weiter|zurück|vor|nächst\w+|vorig\w+|vorherig\w+|suivant\w?|précédent\w?|siguiente|anterior|volgende|vorige|"
    r"avanti|indietro|successiv\w|precedente|nästa|föregående|neste|forrige|næste|seuraava|edellinen|następn\w+|"
    r"poprzedni\w*|далее|назад|вперёд|следующ\w+|предыдущ\w+|próxim[ao]|下一[张頁页]|上一[张頁页]|次へ?|前へ?)"
    r"(?: \w+)?\W*|[«»‹›<>←→⟨⟩\s]+",
    re.IGNORECASE,
)
_COUNTER: Final = re.compile(
    r"(?<!\d)(\d{1,4})\s?(?:/|of|von|de|sur|van|di|из|av|af|z|sur)\s?(\d{1,4})(?!\d)", re.IGNORECASE
)
_CAMERA: Final = re.compile(
    r"\bexif\b|\bf/\d|\biso\b|\d\s?mm\b|\b1/\d+\s?s|canon|nikon|olympus|panasonic|pentax|\d{3,4}\s?[x×]\s?\d{3,4}|"
    r"\bfile ?size\b|\bdimensions\b|\d\s?kb\b",
    re.IGNORECASE,
)
_NUMBERS: Final = re.compile(r"\d+")
_OPEN: Final = frozenset({Zone.OPEN, Zone.MAIN, Zone.CONTENT})
_CALLED_TEXT: Final = re.compile(r"caption|desc|note|legend", re.IGNORECASE)
_MIN_SENTENCE: Final = 25
_MIN_WORDS: Final = 3
_MAX_LINKS: Final = 2_000
_LONG: Final = 40
_MIN_TITLE: Final = 3
_MAX_TITLE_LENGTH: Final = 200
_LARGE: Final = 250
_MIN_SIGNS, _CERTAIN = 3, 5
_MAX_OWN_TEXT: Final = 2_500


@dataclass(frozen=True, slots=True)
class Photograph:
    """A photograph or film on a page: its picture, the elements that show it, and its caption."""

    picture: Picture
    elements: tuple[Element, ...]
    caption: Caption


@dataclass(frozen=True, slots=True)
class Gallery:
    """What a page of photographs shows.

    ``photographs`` are those of an album whose files the page names; ``own`` is the one that the page is about, None
    for an album. ``about`` is what is written about the album; None if nothing is. ``comments`` are records that people
    wrote about it; ``sets`` are these, the lists of the page, and its cells as one set.
    """

    photographs: tuple[Photograph, ...] = ()
    own: Photograph | None = None
    about: Caption | None = None
    comments: tuple[RecordSet, ...] = ()
    sets: tuple[RecordSet, ...] = ()

    @property
    def has_objects(self) -> bool:
        """Whether it has web objects, rather than being a list of pages."""
        return bool(self.photographs) or self.own is not None or self.about is not None


def gallery(page: Page, prepared: PreparedPage, sets: Sequence[RecordSet]) -> Gallery | None:
    """Return the photographs of a page; None if it is not a gallery.

    Pictures within posts and comments, and those between the paragraphs of an article, do not count.
    """
    if not any(tag == "img" for tag in prepared.outline.tags):
        return None
    reading = _Reading(page, prepared, sets)
    if not reading.pictures:
        return None
    return reading.photograph(_CERTAIN) or reading.album() or reading.photograph(_MIN_SIGNS)


@dataclass
class _Reading:
    page: Page
    prepared: PreparedPage
    sets: Sequence[RecordSet]

    @cached_property
    def outline(self) -> Outline:
        return self.prepared.outline

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The pictures outside of posts and comments."""
        found = pictures(self.page, self.outline)
        taken = self._extents(self._contributions(found))
        covered = Extents((*taken, *((each.first, each.end) for each in self.prepared.sections)))
        return tuple(each for each in found if not covered.cover(each.place))

    def _contributions(self, found: Sequence[Picture]) -> Sequence[RecordSet]:
        """Return the sets of posts that are not cells of a gallery: not each of them begins with a picture."""
        posts = filter(None, (_written(each) for each in self.sets if each.nature is Nature.POSTS))
        return [each for each in posts if len(each.records) < MIN_PICTURES or not self._are_cells(each, found)]

    def _are_cells(self, each: RecordSet, found: Sequence[Picture]) -> bool:
        """Return whether most records begin with one picture whose file is known, or its page if no author is."""
        covered = Extents(self._extents([each]))
        inside = [picture for picture in found if covered.cover(picture.place)]
        starts = {self.outline.places[record.element] for record in each.records}
        held = Counter(self._record_of(starts, picture.place) for picture in inside)
        if sum(times == 1 for times in held.values()) < MOSTLY * len(each.records):
            return False
        if any(picture.file is None and picture.target is None for picture in inside):
            return False
        signed = any(record.author is not None for record in each.records)
        first = all(not self._text_before(starts, picture.place) for picture in inside)
        return first and (all(picture.file is not None for picture in inside) or not signed)

    def _record_of(self, starts: Collection[int], place: int) -> int:
        return next((above for above in (place, *self.outline.ancestors(place)) if above in starts), place)

    def _text_before(self, starts: Collection[int], place: int) -> bool:
        """Return whether a record shows text before its picture."""
        first = next(self.outline.pieces_of(self._record_of(starts, place)), None)
        return first is not None and first.before <= place

    def _extents(self, sets: Sequence[RecordSet]) -> list[tuple[int, int]]:
        outline = self.outline
        elements = (element for each in sets for record in each.records for element in record.elements)
        return [
            (place, outline.ends[place]) for element in elements if (place := outline.places.get(element)) is not None
        ]

    # Albums

    def album(self) -> Gallery | None:
        """Return what an album shows: photographs with their files, or entries that lead to pages."""
        filed = _distinct([each for each in self.pictures if each.file is not None], lambda each: each.file)
        led = [each for each in self.pictures if each.target is not None and self._is_here(each.target)]
        led = _distinct(led, lambda each: each.target)
        grids = [cells(self.outline, each) for each in (filed, led) if len(each) >= MIN_CALLED]
        grids = [each for each in grids if self._is_grid(each)]
        if not grids:
            return None
        entries = [cell for grid in grids for cell in grid]
        anchor = reduce(self.outline.common, (cell.roots[0] for cell in entries))
        shown = [cell for cell in entries if cell.picture.file is not None]
        is_called = self._is_called(anchor, entries)
        if not is_called and not (len(shown) >= MIN_PICTURES or (not shown and self._is_contact_sheet(entries))):
            return None
        taken = Extents((place, self.outline.ends[place]) for cell in entries for place in cell.roots)
        outside = self._own_text(taken, Extents((cell.first, cell.end) for cell in entries))
        running = sum(piece.weight for piece in outside if _is_running(piece))
        most = TEXT_OF_PICTURE * len(shown) + TEXT_OF_GALLERY if shown else MAX_TEXT
        if running > most or _is_interleaved(entries, outside):
            return None
        captions = self._captions([cell.lines(self.outline) for cell in shown])
        photographs = tuple(
            Photograph(cell.picture, cell.elements(self.outline), caption)
            for cell, caption in zip(shown, captions, strict=True)
            if caption.body
        )
        if 2 * len(photographs) < len(shown):
            return None
        about = self._described(outside, anchor, None) if not is_continued(self.page) else Caption()
        comments = self._comments(entries[0].roots[0])
        lists = (*comments, *self._lists(taken), self._entries(anchor, entries))
        return Gallery(photographs, None, about if about.title and about.body else None, comments, lists)

    def _is_called(self, anchor: int, entries: Sequence[Cell]) -> bool:
        """Return whether the page's URL or title, or names of elements around its cells, indicate pictures."""
        parts = urlsplit(self.page.url)
        outline = self.outline
        around = {anchor, *islice(outline.ancestors(anchor), 3), 0, entries[0].roots[0], entries[0].picture.place}
        around |= {each.picture.link for each in entries[:1] if each.picture.link is not None}
        names = " ".join(_names(outline.elements[place]) for place in around)
        return _ALBUM.search(f"{parts.path} {parts.query} {self.prepared.names.title} {names}") is not None

    def _is_contact_sheet(self, entries: Sequence[Cell]) -> bool:
        """Return whether entries are small pictures of one size with few words, linking to pages numbered alike."""
        shapes = {_shape(each.picture.target or "") for each in entries}
        sizes = {(each.picture.width, each.picture.height) for each in entries}
        words = sum(piece.weight for cell in entries for piece in cell.pieces(self.outline))
        is_small = len(sizes) <= 2 and max(max(size) for size in sizes) <= _LARGE
        return (
            len(entries) > MIN_PICTURES
            and len({one for one, _ in shapes}) == 1
            and is_small
            and words <= (MAX_LABEL_LENGTH * len(entries))
        )

    def _is_here(self, url: str) -> bool:
        return queue_of(url) == queue_of(self.page.url) and url != self.page.url

    def _is_grid(self, grid: Sequence[Cell]) -> bool:
        """Return whether cells have one shape and little text each, without a long text before the picture."""
        outline = self.outline
        shapes = Counter((outline.tags[cell.roots[0]], outline.tokens[cell.roots[0]][:1]) for cell in grid)
        if 2 * shapes.most_common(1)[0][1] < len(grid):
            return False
        weights = [sum(piece.weight for piece in cell.pieces(outline)) for cell in grid]
        before = [
            sum(piece.weight for piece in cell.pieces(outline) if piece.before <= cell.picture.place) for cell in grid
        ]
        return sum(weights) <= MAX_CELL_LENGTH * len(grid) and sum(before) <= max(_LONG * len(grid), sum(weights) / 2)

    # The photograph of a page

    def photograph(self, least: int) -> Gallery | None:
        """Return the photograph that a page is about, if at least ``least`` signs indicate one.

        A later page of a list is not about one, nor is a page on which people wrote above its picture.
        """
        picture = None if is_continued(self.page) else self._main_picture()
        written = [record.element for each in self._contributions(self.pictures) for record in each.records]
        if picture is None or any(self.outline.places[each] < picture.place for each in written):
            return None
        comments = self._comments(picture.place)
        taken = Extents(self._extents(comments))
        outside = self._own_text(taken)
        signs = self._signs(picture, outside)
        if signs < least:
            return None
        running = sum(piece.weight for piece in outside if _is_running(piece))
        if running > (_MAX_OWN_TEXT if signs >= _CERTAIN else _MAX_OWN_TEXT / 5):
            return None
        caption = self._described(outside, picture.place, picture)
        if not caption.body:
            return None
        largest = requisites.largest_of(self.outline.elements[picture.place])
        file = picture.file or (resolve(self.page.base_url, largest) if largest else None) or picture.shown
        own = Photograph(replace(picture, file=file), (self.outline.elements[picture.place],), caption)
        return Gallery(own=own, comments=comments, sets=comments)

    def _main_picture(self) -> Picture | None:
        """Return the one large picture of the page; None if there are several, or if it leads elsewhere."""
        free = [each for each in self.pictures if each.target is None or self._is_sibling(each.target)]
        if not free:
            return None
        areas = {each.place: each.width * each.height for each in free}
        largest = max(free, key=lambda each: (areas[each.place], each.target is None or each.file is not None))
        others = [each for each in free if each.place != largest.place and each.shown != largest.shown]
        if areas[largest.place]:
            if max(largest.width, largest.height) < _LARGE:
                return None
            rivals = [each for each in others if 2 * areas[each.place] >= areas[largest.place] or not areas[each.place]]
            return largest if not [each for each in rivals if each.target is None] else None
        alone = [each for each in free if each.target is None]
        return alone[0] if len(alone) == 1 else free[0] if len(free) == 1 else None

    @cached_property
    def _shape(self) -> tuple[str, str]:
        return _shape(self.page.url)

    def _is_sibling(self, url: str) -> bool:
        """Return whether a URL differs from that of the page only in numbers, or in the name of its file."""
        if url == self.page.url or not self._is_here(url):
            return False
        return any(one == other for one, other in zip(_shape(url), self._shape, strict=True))

    def _signs(self, picture: Picture, outside: Sequence[TextPiece]) -> int:
        """Count the signs that a page is about a photograph."""
        outline = self.outline
        path = urlsplit(self.page.url)
        near = [outline.elements[place] for place in (picture.place, *islice(outline.ancestors(picture.place), 4))]
        names = " ".join(map(_names, near))
        texts = " ".join(piece.text for piece in outside if piece.weight < 300)
        thumbs = sum(each.target is not None and self._is_sibling(each.target) for each in self.pictures)
        alt = bare(outline.elements[picture.place].get("alt") or "")
        own = stem(self.page.url)
        counter = any(0 < int(each[1]) <= int(each[2]) > 1 for each in _COUNTER.finditer(texts))
        signs = 2 * self._has_neighbours
        signs += 2 * (thumbs > 0)
        signs += counter
        signs += _GALLERY.search(f"{path.path} {path.query}") is not None
        signs += _GALLERY.search(names) is not None
        signs += len(own) > _MIN_TITLE and (own in stem(picture.shown) or stem(picture.shown) in own)
        signs += picture.file is not None
        signs += _CAMERA.search(texts) is not None
        signs += len(alt) > _MIN_TITLE and alt in bare(self.prepared.names.title)
        signs -= any(each.tag in ("article", "p") for each in near) and not self._has_neighbours
        return signs

    @cached_property
    def _has_neighbours(self) -> bool:
        """Whether links called next and previous lead to pages like this one."""
        for link in islice(self.page.tree.iter("a", "link"), _MAX_LINKS):
            url = resolve(self.page.base_url, link.get("href") or "")
            if url is None or not self._is_sibling(url):
                continue
            relations = (link.get("rel") or "").lower().split()
            if not {"next", "prev", "previous"}.isdisjoint(relations):
                return True
            image = next(link.iter("img"), None)
            words = [excerpt(link, _LONG * 2), link.get("title"), image.get("alt") if image is not None else None]
            words += [image.get("title") if image is not None else None, link.get("aria-label")]
            if any(text and _NEXT.fullmatch(fold(text)) for text in words):
                return True
        return False

    # Texts

    def _own_text(self, taken: Extents, texts: Extents | None = None) -> list[TextPiece]:
        """Return the texts of the page's content without those in some elements, in posts, comments and forms.

        ``texts`` are ranges of numbers of texts that are left out, too.
        """
        outline = self.outline
        zones = Zones(self.page.tree)
        covered = Extents(self._extents(self._contributions(self.pictures)))
        sections = Extents((each.first, each.end) for each in self.prepared.sections)
        forms = Extents(
            (place, outline.ends[place]) for place, tag in enumerate(outline.tags) if tag in ("form", "option")
        )
        return [
            piece
            for number, piece in enumerate(outline.pieces)
            if (texts is None or not texts.cover(number))
            and not any(each.cover(piece.owner) for each in (taken, covered, sections, forms))
            and zones.of(outline.elements[piece.owner]) in _OPEN
        ]

    def _captions(self, lines: Sequence[Sequence[CaptionLine]]) -> list[Caption]:
        shown = {each.place: each for each in self.prepared.shown}
        return Captions(lines, shown, self.outline).read()

    def _described(self, pieces: Sequence[TextPiece], anchor: int, picture: Picture | None) -> Caption:
        """Return what the page says about the photograph at a place, or about the album whose entries begin there."""
        outline = self.outline
        lines = lines_of(outline, [piece for piece in pieces if not piece.linked], 0)
        attributes = list(attribute_lines(outline, picture)) if picture is not None else []
        title = self._title(lines, attributes)
        told = [line for line in lines if bare(line.text) != bare(title)]
        shown = {each.place: each for each in self.prepared.shown}
        facts = Captions([told], shown, outline)
        kept, caption = facts.kept(0)
        texts = [line for line in kept if line.place is not None and self._is_text(line)]
        depths = [outline.depths[outline.common(anchor, line.place or 0)] for line in texts]
        deepest = max(depths, default=0)
        body = "\n".join(line.text for line, depth in zip(texts, depths, strict=True) if depth == deepest)
        if not body and picture is not None:
            body = next((line.text for line in attributes if line.is_sentence and len(line.text) >= _LONG), "") or title
        return replace(caption, title=title, body=body)

    def _is_text(self, line: CaptionLine) -> bool:
        words = len(line.text.split())
        if line.is_sentence and len(line.text) >= _MIN_SENTENCE and words > _MIN_WORDS:
            return True
        names = _names(self.outline.elements[line.place or 0])
        return _CALLED_TEXT.search(names) is not None and words >= _MIN_WORDS

    def _title(self, lines: Sequence[CaptionLine], attributes: Sequence[CaptionLine]) -> str:
        """Return the title: the longest text that the page's title repeats, else the last heading."""
        named = fold(self.prepared.names.title).casefold()
        sites = claims.site_names(self.page)
        texts = [line.text for line in (*lines, *attributes) if _MIN_TITLE <= len(line.text) <= _MAX_TITLE_LENGTH]
        texts = [text for text in texts if not is_file_name(text) and any(map(str.isalpha, text))]
        repeated = [text for text in texts if text.casefold() in named and bare(text) not in sites]
        if repeated:
            return max(repeated, key=len)
        headings = [line.text for line in lines if line.slot and line.slot[-1].partition(".")[0] in ("h1", "h2", "h3")]
        headings = [text for text in headings if text in texts and bare(text) not in sites]
        alternative = next((line.text for line in attributes if line.slot[0] == "@alt" and line.text in texts), "")
        found = headings[0] if len(headings) == 1 else alternative
        return found if found and attributes else title_of(self.page, found)

    def _comments(self, place: int) -> tuple[RecordSet, ...]:
        """Return the records after the first picture that people wrote."""
        kept = self._contributions(self.pictures)
        return tuple(
            each
            for each in kept
            if not each.alone and all(self.outline.places[record.element] > place for record in each.records)
        )

    def _lists(self, taken: Extents) -> list[RecordSet]:
        """Return the lists that have no cell as an entry."""
        lists = [each for each in self.sets if each.nature is Nature.TEASERS]
        return [each for each in lists if not any(taken.cover(place) for place, _ in self._extents([each]))]

    def _entries(self, anchor: int, entries: Sequence[Cell]) -> RecordSet:
        """Return the cells as entries of a list, so that their text does not count as the page's."""
        made = (Record(each.elements(self.outline), target=each.picture.target) for each in entries)
        return RecordSet(self.outline.elements[anchor], tuple(made), Nature.TEASERS, 1.0)


def _written(each: RecordSet) -> RecordSet | None:
    """Return records without those that give facts about a file, such as its size; None if no other record is left."""
    kept = tuple(record for record in each.records if record.body is None or not tells_facts(record.body.plain()))
    if len(kept) == len(each.records) or any(record.parent is not None for record in each.records):
        return each
    return replace(each, records=kept) if kept else None


def _names(element: Element) -> str:
    return f"{element.get('class') or ''} {element.get('id') or ''} {element.get('rel') or ''}"


def _is_interleaved(entries: Sequence[Cell], outside: Sequence[TextPiece]) -> bool:
    """Return whether paragraphs are between the cells, so that the pictures belong to an article."""
    starts = sorted(cell.roots[0] for cell in entries)
    between = [piece.owner for piece in outside if starts[0] < piece.owner < starts[-1] and _is_running(piece)]
    return len({bisect_right(starts, owner) for owner in between}) > len(entries) / 4


def _is_running(piece: TextPiece) -> bool:
    return not piece.linked and piece.weight >= _LONG


def _shape(url: str) -> tuple[str, str]:
    """Return the URL without its numbers, and the folder with the ending of its file.

    >>> _shape("http://a.test/day1/img_2.html")
    ('http://a.test/day#/img_#.html', 'http://a.test/day1/.html')
    """
    parts = urlsplit(url)
    folder, _, name = parts.path.rpartition("/")
    _, dot, ending = name.rpartition(".")
    key = f"{parts.scheme}://{parts.netloc}{folder}/{dot}{ending}" if dot and not parts.query else url
    return _NUMBERS.sub("#", url), key


def _distinct(found: Sequence[Picture], key: Callable[[Picture], str | None]) -> list[Picture]:
    """Return the first picture of each file, or of each page."""
    kept: dict[str | None, Picture] = {}
    for each in found:
        kept.setdefault(key(each), each)
    return list(kept.values())

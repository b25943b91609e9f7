"""Extract the text of a page's article, combining the best libraries with the page's structure.

Trafilatura's text is used. If it misses most of the content that both resiliparse and the structure of the page give,
or is several times as long, their text is used instead. Lines that consist of links, and the page's heading, are left
out; the standfirst between heading and text is included.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import dropwhile, groupby, islice, takewhile

from lxml.etree import XPath
from lxml.etree import _Element as Element

from aahcrawler.induction.field_labels import is_text_label
from aahcrawler.induction.main_part import MainPart
from aahcrawler.induction.outline import MAX_DEPTH, Extents, Outline, TextPiece, weight
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.text_lines import (
    QUOTES,
    RUNNING,
    SENTENCE,
    SearchedText,
    TextLines,
    digest,
    letters,
    line_key,
)
from aahcrawler.page import Page, generic
from aahcrawler.page.claims import LONG_LINE
from aahcrawler.page.markup import as_xml_allows
from aahcrawler.page.text import BLOCKS, fold, plain_text
from aahcrawler.page.zones import Zone, Zones

AGREED = 0.8
"""Two readings agree if each contains this share of the other's running text."""

MISSED = 0.5
"""A reading is wrong if it has less than this share of the text on which others agree."""

MIN_AGREED = 150
"""The least weight of running text on which others must agree."""

MIN_SHARED, MAX_FORGOTTEN = 400, 0.3
"""If resiliparse and the structure have at least this weight of running text in common, and trafilatura read less, with
less than this share of the common text, it read something else."""

DUMPED = 4
"""A reading with this many times the structure's running text is a dump of the page's whole text."""

MAX_READ = 20_000
"""The most elements of a page that trafilatura reads, because its time grows faster than the page."""

DIGESTED = 30
"""How many lines at the beginning and at the end of a text are compared with what the site repeats."""

MIN_OWN = 0.3
"""If a smaller share of a text than this is in no other text of the site, the text is a copy."""

_too_deep = XPath("boolean(self::*" + MAX_DEPTH * "/*" + ")")
_FIRST_LINES = 8
_LINKED, _FREE = 0.9, 0.3
_MAX_WAY = 40
_MIN_LINK, _MANY_LINKS, _MAX_LINKS = 4, 4, 200
_LISTS = frozenset({"ul", "ol", "dl"})
_COUNT = re.compile(r"\s*[(\[]\s*\d[\d.,\s]*[)\]]\s*")
_LETTER = re.compile(r"\w")
_STATEMENT = tuple(".!…。！।॥۔။።།")
_ENDED = re.compile(r"\w\w[.!?…](?:\W|$)|[。！？।॥۔؟։።។။།]|[\u0e00-\u0eff]{25}")
"""A sentence, by the sign at its end in any script; Thai and Lao have none, and no spaces between words either."""
_GOES_ON = re.compile(r"\w[,–—-]?$")
"""The end of a line that breaks within a sentence, which the next line goes on with in a small letter."""
_NO_LEAD = frozenset(
    {"nav", "aside", "footer", "figure", "figcaption", "form", "label", "table", "ul", "ol", "address", "h1"}
)
_ANNOUNCING = frozenset({"h1", "h2", "h3", "h4", "h5", "h6", "strong", "b", "dt"})
_HTML = {"head": "h2", "item": "li", "list": "ul", "row": "tr", "cell": "td", "lb": "br", "quote": "blockquote"}
"""The HTML element for each element of trafilatura's output."""


@dataclass(frozen=True, slots=True)
class ArticleText:
    """The lines of an article's text, beginning with its standfirst.

    The first ``lead`` lines are the standfirst, ``running`` is the weight of the running text, ``whole`` has all lines,
    including those that consist of links. ``agreed`` is True if resiliparse and the structure agree on the text, False
    if trafilatura read it.
    """

    lines: tuple[str, ...]
    lead: int
    running: int
    whole: tuple[str, ...]
    agreed: bool = False

    def holds(self, texts: Iterable[str]) -> bool:
        """Return whether the text contains most of the running lines of given texts."""
        own = SearchedText("".join(map(line_key, self.lines)))
        long = [key for text in texts for line in text.split("\n") if len(key := line_key(line)) >= RUNNING]
        return bool(long) and sum(len(key) for key in long if own.has(key)) >= MISSED * sum(map(len, long))

    @property
    def sentences(self) -> int:
        """Return the weight of the lines that contain a sentence, or whose sentence continues in the lines below."""
        found = begun = 0
        for line in self.lines:
            own = weight(line_key(line))
            begun = begun if line[:1].islower() else 0
            if _ENDED.search(line) and (begun or own >= RUNNING):
                found, begun = found + begun + own, 0
            elif 2 * own >= RUNNING and _GOES_ON.search(line):
                begun += own
            else:
                begun = 0
        return found

    @property
    def letters(self) -> int:
        """Return the number of letters of the text."""
        return letters(self.plain)

    @property
    def linked(self) -> int:
        """Return the number of letters in lines that consist of links."""
        return letters("\n".join(self.whole)) - self.letters

    @property
    def plain(self) -> str:
        """The text, a line for each block."""
        return "\n".join(self.lines)

    @property
    def digests(self) -> tuple[int, ...]:
        """The digests of the first and the last lines, to recognise lines repeated on other pages of the site."""
        first, last = self.lines[:DIGESTED], self.lines[DIGESTED:][-DIGESTED:]
        return tuple(digest(key) for line in (*first, *last) if (key := line_key(line)))

    def apart_from_repeated(self, repeated: AbstractSet[int]) -> "ArticleText":
        """Return the text without the lines whose digests are those of other texts of the site.

        Running lines are left out anywhere, short ones only at the beginning and the end, because a heading such as
        "Ingredients" is above a different text each time. A text that mostly repeats others is a copy, and is kept.
        """
        if not repeated:
            return self
        shared = [digest(line_key(line)) in repeated for line in self.lines]
        first = shared.index(False) if False in shared else len(shared)
        last = len(shared) - shared[::-1].index(False) if False in shared else 0
        kept = [
            number
            for number, line in enumerate(self.lines)
            if not shared[number] or (first <= number < last and weight(line_key(line)) < RUNNING)
        ]
        found = tuple(self.lines[number] for number in kept)
        if letters("\n".join(found)) < MIN_OWN * self.letters:
            return self
        left = {line_key(line) for line in self.lines} - {line_key(line) for line in found}
        whole = tuple(line for line in self.whole if line_key(line) not in left)
        return replace(self, lines=found, lead=sum(number < self.lead for number in kept), whole=whole)

    def agreed_with(self, declared: str, *, shown: bool) -> str:
        """Return the text, corrected by the text that the page declares.

        ``shown`` is True if the declaration is part of the page's markup.

        If the declaration contains nearly all of the text, the result is what both contain. If the text misses much of
        a declaration that is not in the markup, or contains nothing of it, the result is the declaration. An excerpt is
        ignored.
        """
        declared_key = line_key(declared)
        declares = SearchedText(declared_key)
        keys = [line_key(line) for line in self.lines]
        long = [key for key in keys if len(key) >= RUNNING]
        shared = sum(len(key) for key in long if declares.has(key))
        if not shown and not shared and declared_key[:RUNNING] not in "".join(keys):
            return declared
        if shared < AGREED * sum(map(len, long)):
            covers = shared >= MISSED * sum(map(len, long)) and shared >= AGREED * len(declared_key)
            if not covers:
                return self.plain if long else declared
        elif shared < AGREED * len(declared_key) and not shown:
            return declared
        kept = (number < self.lead or declares.has(key) for number, key in enumerate(keys))
        return "\n".join(line for line, is_kept in zip(self.lines, kept, strict=True) if is_kept)


def article_text(page: Page, prepared: PreparedPage, part: MainPart | None) -> ArticleText:
    """Return the text of the article that an HTML page would be; without lines if it has no text at all.

    ``part`` is the article by the structure of the page. Deterministic; no part of it depends on a time limit.
    """
    shown = prepared.outline.once(0, _shown)
    read = TextLines(page.attempt("text by trafilatura", lambda: _trafilatura(page), list[str]), shown.linked)
    structure = TextLines(part.body.plain().split("\n") if part is not None else (), shown.linked)
    lines, agreed = _agreed(page, read, structure, shown)
    if not agreed:
        other = TextLines(page.once(generic.main_content).split("\n"), shown.linked)
        lines = _without_lone(_with_lists(lines, structure, shown), (structure, other))
    return _finished(prepared, part, shown, lines, agreed=agreed)


def structure_text(prepared: PreparedPage, part: MainPart) -> ArticleText:
    """Return the text of an article by the structure of the page alone."""
    shown = prepared.outline.once(0, _shown)
    return _finished(prepared, part, shown, part.body.plain().split("\n"), agreed=True)


def _finished(
    prepared: PreparedPage, part: MainPart | None, shown: "_Shown", lines: Sequence[str], *, agreed: bool
) -> ArticleText:
    """Return lines as a text, without the page's heading and byline, but with the standfirst above them."""
    title = shown.headings | {line_key(prepared.names.title)} | {line_key(part.title) if part is not None else ""}
    begun = _below_heading(shown, lines, part)
    whole = tuple(dropwhile(_announces_text, _without_byline(_without_title(begun, title), part)))
    lead = tuple(_lead(shown, part, whole))
    unlinked = [_without_mark(shown, line) for line in whole if line_key(line) not in shown.linked]
    own = _without_frame(shown, unlinked)
    found = TextLines((*lead, *own), shown.linked)
    running = shown.weight_of(found.long)
    return ArticleText(tuple(found.lines), len(lead), running, (*lead, *whole), agreed)


def apart_from(text: ArticleText, outline: Outline, taken: Sequence[tuple[int, int]]) -> ArticleText:
    """Return the text without the lines that the page shows only in given extents, each a first place and an end.

    A line that is also shown elsewhere, such as one quoted by a comment, is kept as often as it occurs there.
    """
    if not taken:
        return text
    blocks = outline.once(0, _shown).blocks
    reach = Extents(taken)
    kept = _outside(text.lines, blocks, reach)
    lines, lead = tuple(text.lines[number] for number in kept), sum(number < text.lead for number in kept)
    if lines == text.lines:
        return text
    running = sum(own for line in lines if (own := weight(line_key(line))) >= RUNNING)
    whole = tuple(text.whole[number] for number in _outside(text.whole, blocks, reach))
    return replace(text, lines=lines, lead=lead, running=running, whole=whole)


def _outside(lines: Iterable[str], blocks: Sequence["_Block"], taken: Extents) -> list[int]:
    """Return the numbers of lines shown outside of extents; a line shown nowhere is treated like the one before it."""
    within = {each.key for each in blocks if taken.cover(each.pieces[0].owner)}
    free = Counter(each.key for each in blocks if not taken.cover(each.pieces[0].owner))
    found: list[int] = []
    kept = True
    for number, line in enumerate(lines):
        key = line_key(line)
        if free[key] > 0 or key in within:
            kept = free[key] > 0
            free[key] -= kept
        if kept:
            found.append(number)
    return found


def entries_of(text: ArticleText, outline: Outline) -> tuple[int, int]:
    """Return how many lines of a text consist mostly of a link, and the number of letters in them."""
    linked = {each.key for each in outline.once(0, _shown).blocks if each.linked >= _FREE and not each.says}
    found = [len(key) for key in map(line_key, text.lines) if key in linked]
    return len(found), sum(found)


def _below_heading(shown: "_Shown", lines: Sequence[str], part: MainPart | None) -> Sequence[str]:
    """Return lines without the first short ones that the page shows only above the heading of its text."""
    heading = part.heading if part is not None else None
    if heading is None or part is None or heading > part.place:
        return lines
    above = {each.key for each in shown.blocks if each.pieces[0].owner < heading}
    below = {each.key for each in shown.blocks if each.pieces[0].owner >= heading}
    alone = above - below
    first = takewhile(lambda line: len(line) < LONG_LINE and line_key(line) in alone, lines)
    return lines[len(tuple(first)) :]


def _agreed(page: Page, read: TextLines, structure: TextLines, shown: "_Shown") -> tuple[Sequence[str], bool]:
    """Return the lines on which most extractions agree, and whether they are those of the structure."""
    if read.is_dump_of(structure) or shown.runs_together(read.lines):
        return structure.lines, True
    if read.agrees_with(structure, MISSED):
        return read.without_end(structure), False
    other = TextLines(page.once(generic.main_content).split("\n"), shown.linked)
    if structure.agrees_with(other, AGREED) and structure.running >= MIN_AGREED:
        return structure.lines_of((other, read)), True
    if _forgets(read, structure, other):
        return structure.lines_of((other, read)), True
    if read.is_shown_in(shown.keys) or (read.running and 2 * read.running > max(structure.running, other.running)):
        alone = max(structure.running, other.running) < MIN_SHARED
        if read.running <= DUMPED * structure.running or read.is_shown_in(shown.keys) or alone:
            return read.without_end(structure), False
        return structure.lines, True
    best = structure if structure.agrees_with(other, MISSED) else max(structure, other, key=lambda each: each.running)
    return (best.lines, True) if best.running else (read.lines, False)


def _forgets(read: TextLines, structure: TextLines, other: TextLines) -> bool:
    """Return whether trafilatura found little, and little of what resiliparse and the structure have in common.

    What they have in common must be at least half of the structure's text.
    """
    shared = [key for key in structure.long if other.keys.has(key)]
    size = sum(map(weight, shared))
    if size < max(MIN_SHARED, MISSED * structure.running) or read.running >= MIN_SHARED:
        return False
    return sum(weight(key) for key in shared if read.keys.has(key)) < MAX_FORGOTTEN * size


def _with_lists(lines: Sequence[str], structure: TextLines, shown: "_Shown") -> Sequence[str]:
    """Return lines with the lists inserted that were left out between them, but are in the structure's text.

    Such a list follows a line in the same element, contains running text and no links, and is followed by another line
    of the text, unless each of its own lines ends a sentence.
    """
    has = set(map(line_key, lines))
    known = dict(zip(structure.letters, structure.lines, strict=True))
    if has.issuperset(structure.long):
        return lines
    found = list(lines)
    for place, first, end in shown.lists():
        blocks = shown.blocks[first:end]
        keys = [each.key for each in blocks]
        if not has.isdisjoint(keys) or not all(key in known for key in keys) or max(map(len, keys)) < RUNNING:
            continue
        before, after = shown.blocks[first - 1 : first], shown.blocks[end : end + 1]
        if any(each.linked > _FREE for each in blocks) or shown.pictures_in(place):
            continue
        if not _stands_beside(shown, before, place, has):
            continue
        ended = all(known[key].rstrip(QUOTES).endswith(SENTENCE) for key in keys)
        if ended or _stands_beside(shown, after, place, has):
            at = next(number for number, line in enumerate(found) if line_key(line) == before[0].key)
            found[at + 1 : at + 1] = [known[key] for key in keys]
    return found


def _stands_beside(shown: "_Shown", blocks: Sequence["_Block"], place: int, has: Collection[str]) -> bool:
    """Return whether one of the given lines has the same parent as the element at ``place``."""
    outline = shown.outline
    return any(
        each.key in has and outline.common(each.pieces[0].owner, place) == outline.parents[place] for each in blocks
    )


def _trafilatura(page: Page) -> list[str]:
    """Return the lines that trafilatura reads; none if the page is too large or nested too deeply for it."""
    if int(page.tree.xpath("count(//*)")) > MAX_READ or _too_deep(page.tree):
        return []
    # It takes as long to import as a site's first pages to read, and many sites have no page that needs it.
    from trafilatura.core import bare_extraction  # noqa: PLC0415
    from trafilatura.settings import Document  # noqa: PLC0415

    for tree in as_xml_allows(page.tree):
        found = bare_extraction(tree, fast=True, include_comments=False)
        if isinstance(found, Document):
            for element in found.body.iter(*_HTML):
                element.tag = _HTML[str(element.tag)]
            return plain_text(found.body).split("\n")
    return []


@dataclass(frozen=True)
class _Block:
    """A line that the page shows: its pieces, and its letters."""

    pieces: tuple[TextPiece, ...]
    key: str

    @property
    def says(self) -> bool:
        """Whether it has running text besides its links."""
        return sum(piece.weight for piece in self.pieces if not piece.linked) >= RUNNING

    @cached_property
    def linked(self) -> float:
        """The share of its text in links, ignoring words before a headline that is a link ("Read more:").

        A number in brackets counts the items behind a link, and is ignored.
        """
        whole = sum(piece.weight for piece in self.pieces if piece.linked or _says(piece.text))
        linked = sum(piece.weight for piece in self.pieces if piece.linked)
        if linked >= RUNNING and self.pieces[0].text.endswith(":"):
            whole -= self.pieces[0].weight
        return linked / (whole or 1)


class _Shown:
    """The lines that a page shows, in document order."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self._holders = _holders(outline)
        self.blocks = [
            _Block(pieces, line_key("".join(piece.text for piece in pieces)))
            for pieces in _by_block(outline, self._holders)
            if pieces
        ]

    @cached_property
    def keys(self) -> frozenset[str]:
        """The letters of each line."""
        return frozenset(each.key for each in self.blocks)

    def weight_of(self, keys: Collection[str]) -> int:
        """Return the weight of those of the lines ``keys`` that the page shows, alone or in preformatted text."""
        shown = self.keys.intersection(keys)
        kept = SearchedText(*self._preformatted)
        return sum(weight(key) for key in dict.fromkeys(keys) if key in shown or (self._preformatted and kept.has(key)))

    @cached_property
    def _preformatted(self) -> tuple[str, ...]:
        places = [place for place, tag in enumerate(self.outline.tags) if tag == "pre"]
        inside = Extents((place, self.outline.ends[place]) for place in places)
        return tuple(each.key for each in self.blocks if inside.cover(each.pieces[0].owner))

    @cached_property
    def linked(self) -> frozenset[str]:
        """The letters of lines that consist of links, over the whole page."""
        of_links = [each for each in self.blocks if each.linked > _LINKED]
        linked = {each.key for each in of_links}
        linked |= {line_key(piece.text) for each in of_links for piece in each.pieces}
        return frozenset(linked.difference(each.key for each in self.blocks if each.linked <= _LINKED))

    @cached_property
    def marks(self) -> Mapping[str, str]:
        """The signs shown by links at the beginning or the end of a line, by the letters of the line."""
        ends = ((each.key, each.pieces[at].text) for each in self.blocks for at in (0, -1) if each.pieces[at].linked)
        return {key: text for key, text in ends if key and not _LETTER.search(text)}

    @cached_property
    def headings(self) -> frozenset[str]:
        """The letters of first-level headings."""
        inside = self.outline.is_within
        return frozenset(each.key for each in self.blocks if inside(each.pieces[0].owner, ("h1",)))

    def framing(self, keys: Collection[str]) -> Iterator[str]:
        """Yield those of the lines ``keys`` that everywhere belong to a frame, or are short and only above links."""
        for key in keys:
            numbers = self._numbers.get(key, ())
            if numbers and all(self._is_framing(number) for number in numbers):
                yield key

    @cached_property
    def _numbers(self) -> Mapping[str, Sequence[int]]:
        found: dict[str, list[int]] = {}
        for number, each in enumerate(self.blocks):
            found.setdefault(each.key, []).append(number)
        return found

    @cached_property
    def _zones(self) -> Zones:
        return Zones(self.outline.elements[0])

    def _is_framing(self, number: int) -> bool:
        block = self.blocks[number]
        owner = block.pieces[0].owner
        if self.outline.is_within(owner, ("figcaption",)):
            return True
        if self._zones.of(self.outline.elements[owner]) in (Zone.DROPPED, Zone.MENU):
            return True
        if len(block.key) >= RUNNING or not self._announces(block):
            return False
        following = next((each for each in islice(self.blocks, number + 1, None) if each.key), None)
        return following is not None and following.linked > _LINKED

    def _announces(self, block: _Block) -> bool:
        """Return whether a line is marked up as a heading or is no sentence: "Read also:", "More about it?", "Tags"."""
        is_heading = self.outline.is_within(block.pieces[0].owner, _ANNOUNCING)
        return is_heading or not block.pieces[-1].text.rstrip(QUOTES).endswith(_STATEMENT)

    def runs_together(self, lines: Sequence[str]) -> bool:
        """Return whether the text is a single line that contains several of the page's links: the page's whole text."""
        key = line_key("".join(lines)) if len(lines) == 1 else ""
        if not key or key in self.keys:
            return False
        whole = SearchedText(key)
        links = (each.key for each in self.blocks if each.linked > _LINKED and len(each.key) >= _MIN_LINK)
        return sum(map(whole.has, islice(links, _MAX_LINKS))) >= _MANY_LINKS

    def lists(self) -> Iterator[tuple[int, int, int]]:
        """Yield the place of each outermost list, the number of its first line and the number after its last."""
        within = [
            next((at for at in reversed(self._around(each)) if self.outline.tags[at] in _LISTS), -1)
            for each in self.blocks
        ]
        for place, numbers in groupby(range(len(within)), lambda number: within[number]):
            if place >= 0:
                first, *others = numbers
                yield place, first, (others or [first])[-1] + 1

    def pictures_in(self, place: int) -> bool:
        """Return whether an element contains pictures, so that its lines may be captions."""
        return next(self.outline.elements[place].iter("img", "picture", "figure"), None) is not None

    def _around(self, block: _Block) -> Sequence[int]:
        owner = block.pieces[0].owner
        return (owner, *self.outline.ancestors(owner))

    def element(self, block: _Block) -> Element:
        """Return the element whose text a line is."""
        return self.outline.elements[self._holders[block.pieces[0].owner]]


def _shown(outline: Outline, _: int) -> _Shown:
    """Return the lines of a page. Call this by ``Outline.once``, so that they are found once."""
    return _Shown(outline)


def _by_block(outline: Outline, holders: Sequence[int]) -> Iterator[tuple[TextPiece, ...]]:
    """Yield the pieces of each line. Blocks and line breaks separate lines."""
    pieces: list[TextPiece] = []
    holder, seen = -1, 0
    for piece in outline.pieces:
        own = holders[piece.owner]
        broken = any(outline.tags[place] in BLOCKS for place in range(seen, piece.before))
        if pieces and (own != holder or broken):
            yield tuple(pieces)
            pieces = []
        pieces.append(piece)
        holder, seen = own, piece.before
    yield tuple(pieces)


def _holders(outline: Outline) -> Sequence[int]:
    """Return for each element the innermost block that it is or lies in, or the outermost element if there is none."""
    found: list[int] = []
    for place, above in enumerate(outline.parents):
        found.append(place if outline.tags[place] in BLOCKS or above < 0 else found[above])
    return found


def _without_lone(lines: Sequence[str], others: Sequence[TextLines]) -> Sequence[str]:
    """Return lines without short ones that no other extraction has: labels, counts, texts of buttons."""
    return [
        line for line in lines if len(key := line_key(line)) >= RUNNING or any(each.flow.has(key) for each in others)
    ]


def _without_frame(shown: "_Shown", lines: Sequence[str]) -> Sequence[str]:
    """Return lines without those that the page shows only around a text or between its paragraphs.

    These are captions, lines in menus, footers, advertising and notices, and short lines only above links that are no
    sentences, such as "Read also". If they are half of the text, they are kept.
    """
    left = frozenset(shown.framing({line_key(line) for line in lines}))
    kept = [line for line in lines if line_key(line) not in left]
    return kept if 2 * letters("\n".join(kept)) >= letters("\n".join(lines)) else lines


def _without_title(lines: Sequence[str], titles: Collection[str]) -> Iterator[str]:
    """Yield lines, except first ones that are the page's title, alone or with an addition after a separator."""
    for number, line in enumerate(lines):
        if number >= _FIRST_LINES or line_key(line) not in titles:
            yield line


def _without_byline(lines: Iterable[str], part: MainPart | None) -> Iterator[str]:
    """Yield lines except those before the running text that give author and date."""
    signature = () if part is None else (part.author and part.author.name, part.date and plain_text(part.date.element))
    names = [key for name in signature if name and (key := line_key(name))]
    begun = False
    for line in lines:
        begun = begun or len(line_key(line)) >= LONG_LINE
        if begun or not any(name in line_key(line) for name in names):
            yield line


def _without_mark(shown: _Shown, line: str) -> str:
    """Return a line without the link to itself that shows only a sign: ``The winch¶``."""
    marks = shown.marks.get(line_key(line), "")
    return line.strip(marks + " ") if marks else line


def _announces_text(line: str) -> bool:
    """Return whether a line above a text is a label of it, such as "Description", or consists of signs."""
    return not line_key(line) or is_text_label(line)


def _lead(shown: _Shown, part: MainPart | None, lines: Sequence[str]) -> Iterator[str]:
    """Yield the standfirst: sentences between the page's heading and its text."""
    text = {key for line in lines if len(key := line_key(line)) >= RUNNING}
    before = list(takewhile(lambda block: block.key not in text, shown.blocks))
    if len(before) == len(shown.blocks):
        return
    heading = part.heading if part is not None and part.heading is not None else None
    headed = [number for number, each in enumerate(before) if _is_heading(shown.outline, each, heading)]
    if not headed or len(before) - headed[-1] > _MAX_WAY:
        return
    for block in before[headed[-1] + 1 :]:
        element = shown.element(block)
        line = fold(plain_text(element))
        outside = shown.outline.is_within(block.pieces[0].owner, _NO_LEAD)
        whole = line_key(line) == block.key and block.linked <= _FREE and not outside
        if whole and len(line) >= LONG_LINE and line.rstrip(QUOTES).endswith(SENTENCE):
            yield line


def _is_heading(outline: Outline, block: _Block, heading: int | None) -> bool:
    owner = block.pieces[0].owner
    return outline.contains(heading, owner) if heading is not None else outline.is_within(owner, ("h1",))


def _says(text: str) -> bool:
    """Return whether a text has letters, and is not a count such as ``(12)``."""
    return _LETTER.search(text) is not None and not _COUNT.fullmatch(text)

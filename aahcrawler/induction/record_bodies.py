"""Find the text of one record, or of an article: which elements in it are the body, and which are not."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from aahcrawler.induction.field_labels import is_byline_word, names_nobody
from aahcrawler.induction.outline import CONTROLS, Extents, Outline, TextPiece, weight
from aahcrawler.page.text import excerpt

Slot = tuple[str, ...]

_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_NOISY_TAGS = CONTROLS | {"nav", "footer", "aside", "time"}
_BESIDE = re.compile(
    r"(?:^|[-_])(?:sig|signature|meta|metadata|postmeta|footer|author|byline|avatar|profile|share|sharing|social|sociable|tags|"
    r"tagged|categories|related|breadcrumbs?|pagination|pager|paging|rating|votes?|buttons?|toolbar|actions|controls|"
    r"reply|toc|editsection|noprint|navigation|nav|sharedaddy|jp-relatedposts|addtoany|userinfo|poster|statistics|"
    r"widget|sidebar|ad|ads|advert|advertisement|newsletter|subscribe|comments|printfooter|catlinks)(?:$|[-_])",
    re.IGNORECASE,
)
_TEXTUAL = frozenset({"p", "ul", "ol", "dl", "pre", "blockquote", "table", "figure", "h2", "h3", "h4", "h5", "h6"})
_CONTENT = re.compile(
    r"(?:^|[-_])(?:content|contents|entry|story|prose|markdown|text|body|articlebody|postbody|message)(?:$|[-_])",
    re.IGNORECASE,
)
_ROWS = frozenset({"table", "tbody", "tr"})
_CELLS = frozenset({"tr", "td", "th", "dt", "dd", "div"})
_BREAKS = frozenset({"br", "hr", "wbr", "img"})
_SHORT = 25
_HALF = 0.5
_MAX_CONTROL_LENGTH = 40
_MAX_CONTROLS_LENGTH = 200
MAX_A_RECORD = 1_500
"""The most text of one record that counts, so that one long post does not decide alone."""
_MAX_CONTROLS = 10
"""The most elements that are left out as links with which all records end."""
_MOSTLY, _OUTWEIGHS = 0.8, 2.0
"""The share of records that have text above their byline, and its ratio to that below from which the latter is none."""
_MIN_SIGNED = 3
"""The fewest equal elements at the ends of records that count as signatures."""


@dataclass
class RecordPart:
    """One record while it is read: its elements, and the records within it that do not belong to it."""

    roots: tuple[int, ...]
    holes: frozenset[int] = frozenset()

    def places(self, outline: Outline) -> Iterator[int]:
        """Yield the places of its elements, except those of records within it."""
        extents: list[range] = []
        for root in self.roots:
            start, end = root, outline.ends[root]
            for hole in sorted(self.holes):
                if start <= hole < end:
                    extents.append(range(start, hole))
                    start = outline.ends[hole]
            extents.append(range(start, end))
        return chain.from_iterable(extents)

    def places_among(self, outline: Outline, places: Sequence[int]) -> Iterator[int]:
        """Yield those of some sorted places that belong to it."""
        holes = Extents((hole, outline.ends[hole]) for hole in self.holes)
        for root in self.roots:
            within = places[bisect_left(places, root) : bisect_left(places, outline.ends[root])]
            yield from (place for place in within if not holes.cover(place)) if self.holes else within

    def pieces(self, outline: Outline) -> Iterator[TextPiece]:
        """Yield its text, except that of records within it."""
        holes = Extents((hole, outline.ends[hole]) for hole in self.holes) if self.holes else None
        for root in self.roots:
            yield from outline.pieces_of(root, holes)


@dataclass
class Content:
    """The amount of readable content within each element of a set of parts.

    Short pieces count little. Pieces that most parts share, the text of links, dates (in ``dated`` places), words of
    bylines and blocks of ``labels`` (``Author: X``, ``Status: new``) count nothing. A class that ``shared`` of the
    parts or more have distinguishes places.
    """

    outline: Outline
    parts: Sequence[RecordPart]
    dated: frozenset[int] = frozenset()
    labels: frozenset[int] = frozenset()
    shared: float = 0.8
    weights: dict[int, float] = field(default_factory=dict)
    slots: dict[int, Slot] = field(default_factory=dict)

    def __post_init__(self) -> None:
        common = self._common()
        least = max(2, int(self.shared * len(self.parts))) if len(self.parts) > 1 else 1
        labelled = Extents((place, self.outline.ends[place]) for place in self.labels)
        names: dict[tuple[str, tuple[str, ...]], str] = {}
        for part in self.parts:
            self._weigh(part, common, labelled)
            self._name(part, least, names)

    def _common(self) -> frozenset[str]:
        if len(self.parts) < 3:
            return frozenset()
        counted: Counter[str] = Counter()
        for part in self.parts:
            counted.update({piece.text for piece in part.pieces(self.outline) if len(piece.text) <= 60})
        return frozenset(text for text, times in counted.items() if times >= 0.5 * len(self.parts))

    def _weigh(self, part: RecordPart, common: frozenset[str], labelled: Extents) -> None:
        roots = frozenset(part.roots)
        for piece in part.pieces(self.outline):
            if piece.linked or piece.text in common or (len(self.parts) == 1 and self._is_byline(piece)):
                continue
            if labelled.cover(piece.owner):
                continue
            size = _size_beside_date(piece) if piece.owner in self.dated else piece.weight
            value = size if size >= _SHORT else 0.3 * size
            above = piece.owner
            while above >= 0:
                self.weights[above] = self.weights.get(above, 0.0) + value
                above = -1 if above in roots else self.outline.parents[above]

    def _is_byline(self, piece: TextPiece) -> bool:
        """Return whether a piece is a date or the words around it; needed if there is only one part."""
        return piece.weight < _SHORT and (piece.owner in self.dated or names_nobody(piece.text))

    def _name(self, part: RecordPart, least: int, names: dict[tuple[str, tuple[str, ...]], str]) -> None:
        """Compute the trail of names from each record to each of its elements; ``names`` caches those found so far."""
        outline = self.outline
        for number, root in enumerate(part.roots):
            self.slots[root] = (f"{outline.tags[root]}{number}",)
        for place in part.places(outline):
            if place in self.slots:
                continue
            above = self.slots.get(outline.parents[place], ())
            if len(above) > 20:
                continue
            named = outline.tags[place], outline.tokens[place]
            name = names.get(named)
            if name is None:
                words = (word for word in named[1] if outline.frequency[word] >= least)
                name = names[named] = ".".join((named[0], *words))
            is_bare = name in _CELLS
            self.slots[place] = (*above, f"{name}{self._ordinal(place)}" if is_bare else name)

    def _ordinal(self, place: int) -> int:
        """Return the position of an element among its siblings with the same tag; all beyond the third count alike."""
        outline = self.outline
        number = 0
        for sibling in outline.children(outline.parents[place]):
            if sibling == place or number == 3:
                break
            number += outline.tags[sibling] == outline.tags[place]
        return number

    def weight(self, place: int) -> float:
        """Return the weight of the content within an element."""
        return self.weights.get(place, 0.0)


def _size_beside_date(piece: TextPiece) -> int:
    """Return the weight of the words beside a date, without those with digits and those of bylines."""
    words = (word for word in piece.text.split() if not any(map(str.isdigit, word)) and not is_byline_word(word))
    return min(piece.weight, sum(weight(word) + 1 for word in words))


class FoundBody(NamedTuple):
    """The body within one part: its elements, and which places in them do not belong to it."""

    elements: tuple[int, ...]
    without: tuple[int, ...]


def bodies(content: Content, beside: Mapping[int, frozenset[int]]) -> list[FoundBody | None]:
    """Find the body of each part at one and the same place in all of them.

    ``beside`` gives, by the number of each part, the places of its date, its author and its title.
    """
    frontier: list[tuple[int, ...]] = [part.roots for part in content.parts]
    return _Descent(content, beside).run(frontier)


@dataclass
class _Descent:
    """Descends from the records to their bodies, as long as one child contains nearly all of the content."""

    content: Content
    beside: Mapping[int, frozenset[int]]

    def run(self, frontier: list[tuple[int, ...]]) -> list[FoundBody | None]:
        for _ in range(40):
            noisy = self._noisy_slots(frontier)
            labels, slots = self.content.labels, self.content.slots
            kept = [
                [place for place in places if slots.get(place, ()) not in noisy and place not in labels]
                for places in frontier
            ]
            if not any(kept):
                return [None for _ in frontier]
            single = self._dominant(kept)
            if single is not None:
                kept = [[place for place in places if self._slot(place) == single] for places in kept]
            if all(len(places) <= 1 for places in kept):
                inner = [self._inside(places[0], number) if places else () for number, places in enumerate(kept)]
                if self._goes_on(kept, inner):
                    frontier = inner
                    continue
            kept = self._without_signatures(self._without_controls(kept))
            return [self._found(number, places) for number, places in enumerate(kept)]
        return [self._found(number, list(places)) for number, places in enumerate(frontier)]

    def _without_controls(self, kept: list[list[int]]) -> list[list[int]]:
        """Leave out the last of several elements while most records end with the same links, and nothing else."""
        for _ in range(_MAX_CONTROLS):
            last = {number: self._links(places[-1]) for number, places in enumerate(kept) if len(places) > 1}
            shared = Counter(filter(None, last.values()))
            common = {text for text, times in shared.items() if times >= max(2, 0.5 * len(kept))}
            if not common:
                break
            kept = [places[:-1] if last.get(number) in common else places for number, places in enumerate(kept)]
        return kept

    def _without_signatures(self, kept: list[list[int]]) -> list[list[int]]:
        """Leave out what follows the text of several records without belonging to it.

        That is what follows the byline, if most of the text is above it, and an element at the end that is equal in
        other records.
        """
        split = [self._split(number, places) for number, places in enumerate(kept)]
        if len(kept) > 1 and sum(bool(above) for above, _ in split) >= _MOSTLY * len(kept):
            held, behind = (
                sum(min(sum(map(self.content.weight, each[side])), MAX_A_RECORD) for each in split) for side in (0, 1)
            )
            if held >= _OUTWEIGHS * behind:
                kept = [above or below for above, below in split]
        last = {number: places[-1] for number, places in enumerate(kept) if len(places) > 1}
        first = {self._slot(places[0]) for places in kept if places}
        slots = Counter(self._slot(place) for place in last.values()).keys() - first
        signed = {slot for slot in slots if self._repeats(slot, last)}
        return [
            places[:-1] if number in last and self._slot(last[number]) in signed else places
            for number, places in enumerate(kept)
        ]

    def _split(self, number: int, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the elements of a record above its last date, author or title, and those below."""
        last = max(self.beside.get(number, ()), default=-1)
        return [place for place in places if place < last], [place for place in places if place > last]

    def _repeats(self, slot: Slot, last: Mapping[int, int]) -> bool:
        """Return whether half of the elements of a slot, at least three, have the same text as another one."""
        outline = self.content.outline
        texts = Counter(
            excerpt(outline.elements[place], _MAX_CONTROLS_LENGTH)
            for place in last.values()
            if self._slot(place) == slot
        )
        repeated = sum(times for text, times in texts.items() if times > 1 and text)
        return texts.total() >= _MIN_SIGNED and 2 * repeated >= texts.total()

    def _links(self, place: int) -> str:
        """Return the text of an element that shows only links; empty if it also shows other text."""
        outline = self.content.outline
        return "" if outline.free(place) else excerpt(outline.elements[place], _MAX_CONTROLS_LENGTH)

    def _slot(self, place: int) -> Slot:
        return self.content.slots.get(place, ())

    def _inside(self, place: int, number: int) -> tuple[int, ...]:
        holes, children = self.content.parts[number].holes, tuple(self.content.outline.children(place))
        return tuple([child for child in children if child not in holes]) if holes else children

    def _goes_on(self, kept: Sequence[Sequence[int]], inner: Sequence[Sequence[int]]) -> bool:
        """Return whether the children have to be examined: some are beside the body, or one child is the body."""
        outline = self.content.outline
        whole = held = 0.0
        for places, children in zip(kept, inner, strict=True):
            if not places:
                continue
            whole += self.content.weight(places[0])
            held += sum(map(self.content.weight, children))
        if whole <= 0 or held < 0.6 * whole:
            return False
        noisy = self._noisy_slots(inner)
        left = Counter(self._slot(place) for children in inner for place in children if self._slot(place) not in noisy)
        if noisy and any(self._slot(place) in noisy for children in inner for place in children):
            return held >= 0.9 * whole or any(outline.tags[places[0]] in ("tr", "table") for places in kept if places)
        if held >= 0.95 * whole and all(
            outline.tags[places[0]] in ("tr", "tbody", "table") for places in kept if places
        ):
            return self._dominant(inner) is not None
        if held < 0.95 * whole:
            return False
        if len(left) == 1 and self._once(inner):
            return True
        return self._hold_marks(kept) and (self._dominant(inner) is not None or self._end_with_marks(inner))

    def _end_with_marks(self, inner: Sequence[Sequence[int]]) -> bool:
        """Return whether records mostly consist of a text and, as their last element, its author and date."""
        signed = sum(
            len(places) > 1 and self._is_signature(number, places[-1]) and not self._is_marked(number, places[0])
            for number, places in enumerate(inner)
        )
        return signed > 0.5 * len(inner)

    def _is_marked(self, number: int, place: int) -> bool:
        """Return whether an element has the date, the author or the title of a record."""
        end = self.content.outline.ends[place]
        return any(place <= mark < end for mark in self.beside.get(number, ()))

    def _is_signature(self, number: int, place: int) -> bool:
        """Return whether an element has the date, the author or the title of a record, and hardly any other text."""
        return self._is_marked(number, place) and self.content.weight(place) < _SHORT

    def _hold_marks(self, kept: Sequence[Sequence[int]]) -> bool:
        """Return whether several elements hold dates, authors or titles, so that none of them is a body as a whole."""
        marked = sum(self._is_marked(number, places[0]) for number, places in enumerate(kept) if places)
        return len(kept) > 1 and marked > 0.5 * len(kept)

    def _once(self, inner: Sequence[Sequence[int]]) -> bool:
        outline = self.content.outline
        return all(len(children) <= 1 for children in inner) and all(
            outline.tags[children[0]]
            not in ("p", "span", "b", "strong", "em", "i", "code", "pre", "blockquote", "ul", "ol")
            for children in inner
            if children
        )

    def _dominant(self, kept: Sequence[Sequence[int]]) -> Slot | None:
        """Return the slot that contains nearly all content and occurs at most once in a record."""
        outline = self.content.outline
        sums: dict[Slot, float] = defaultdict(float)
        repeated: set[Slot] = set()
        names: dict[Slot, str] = {}
        slots, weights = self.content.slots, self.content.weights
        for places in kept:
            met: set[Slot] = set()
            for place in places:
                slot = slots.get(place, ())
                (repeated if slot in met else met).add(slot)
                sums[slot] += min(weights.get(place, 0.0), MAX_A_RECORD)
                names[slot] = outline.tags[place]
        whole = sum(sums.values())
        if len(sums) < 2 or whole <= 0:
            return None
        slot = max(sums, key=lambda each: sums[each])
        is_body = sums[slot] >= 0.9 * whole and slot not in repeated and names[slot] not in ("p", "ul", "pre")
        return slot if is_body else None

    def _noisy_slots(self, frontier: Sequence[Sequence[int]]) -> frozenset[Slot]:
        """Return the slots beside the body: those of dates, authors, links, controls, and similar elements."""
        places_of: dict[Slot, list[tuple[int, int]]] = defaultdict(list)
        slots, weights, whole = self.content.slots, self.content.weights, 0.0
        for number, places in enumerate(frontier):
            for place in places:
                places_of[slots.get(place, ())].append((number, place))
                whole += min(weights.get(place, 0.0), MAX_A_RECORD)
        return frozenset(slot for slot, places in places_of.items() if self._is_beside(places, whole, len(frontier)))

    def _is_beside(self, places: Sequence[tuple[int, int]], whole: float, records: int) -> bool:
        outline, weights = self.content.outline, self.content.weights
        held = sum([min(weights.get(place, 0.0), MAX_A_RECORD) for _, place in places])
        share = held / whole if whole else 0.0
        tags = {outline.tags[place] for _, place in places}
        if tags == {"tr"} and share < _HALF and all(self._is_caption(place) for _, place in places):
            return True
        if tags <= _NOISY_TAGS and (share < 0.5 or not tags.isdisjoint(CONTROLS)):
            return True
        if share < 0.5 and sum([self._holds_mark(number, place) for number, place in places]) >= 0.5 * len(places):
            return True
        if share < 0.5 and sum([self._holds_form(place) for _, place in places]) >= 0.5 * len(places):
            return True
        if tags <= _BREAKS:
            return False
        named = any(_BESIDE.search(word) for _, place in places[:3] for word in self._names(place))
        if named and share < 0.4:
            return True
        if tags <= _HEADINGS:
            return False
        if tags == {"a"} and not held and len(places) > 2:
            holders = {outline.parents[place] for _, place in places}
            beside_text = all(outline.elements[holder].find("p") is not None for holder in holders)
            return (
                beside_text and len({excerpt(outline.elements[place], _MAX_CONTROL_LENGTH) for _, place in places}) == 1
            )
        if share >= 0.2 or len(places) < 0.5 * records or not tags.isdisjoint({"p", "a"}):
            return False
        linked = sum([outline.linked(place) for _, place in places])
        return linked > 0 and linked > 2 * sum([outline.free(place) for _, place in places])

    def _is_caption(self, place: int) -> bool:
        """Return whether a row has only header cells."""
        cells = {self.content.outline.tags[each] for each in self.content.outline.children(place)}
        return cells == {"th"}

    def _is_entry(self, place: int) -> bool:
        """Return whether an element is a post of a thread in a table that is read as one part."""
        return len(self.content.parts) == 1 and is_entry(self.content.outline, place)

    def _holds_form(self, place: int) -> bool:
        forms = self.content.outline.once(0, _form_places)
        following = bisect_left(forms, place)
        return following < len(forms) and forms[following] < self.content.outline.ends[place]

    def _holds_mark(self, number: int, place: int) -> bool:
        """Return whether an element holds the date or the author of a record, and is no entry of a list."""
        return self._is_marked(number, place) and not self._is_entry(place)

    def _names(self, place: int) -> Iterable[str]:
        element = self.content.outline.elements[place]
        return (*self.content.outline.tokens[place], element.get("id") or "")

    def _called_content(self, places: list[int]) -> list[int]:
        """Keep only elements named as content, if they hold a good part of the text and other elements are boxes."""
        outline, content = self.content.outline, self.content
        called = [place for place in places if any(_CONTENT.search(word) for word in self._names(place))]
        if not called or any(outline.tags[place] in _TEXTUAL for place in places if place not in called):
            return places
        held, whole = sum(map(content.weight, called)), sum(map(content.weight, places))
        return called if held >= 0.4 * whole else places

    def _found(self, number: int, places: list[int]) -> FoundBody | None:
        places = self._called_content(self._trimmed(number, places))
        if not places:
            return None
        ends = self.content.outline.ends
        whole, inner = (Extents((place + beyond, ends[place]) for place in places) for beyond in (0, 1))
        without = set(filter(whole.cover, self.content.parts[number].holes))
        without.update(filter(inner.cover, (*self.beside.get(number, ()), *self.content.labels)))
        return FoundBody(tuple(places), tuple(sorted(without)))

    def _speaks(self, number: int, place: int) -> bool:
        """Return whether an element has most of its text beside its children, which show the author and the date."""
        outline, marks = self.content.outline, self.beside.get(number, frozenset())
        if any(outline.parents[mark] != place for mark in marks if outline.contains(place, mark)):
            return False
        own = sum(
            piece.weight for piece in outline.pieces_of(place) if piece.owner == place and not names_nobody(piece.text)
        )
        return own > 0 and 2 * own >= outline.free(place) - sum(map(outline.free, marks))

    def _trimmed(self, number: int, places: list[int]) -> list[int]:
        """Leave out headings and empty elements at the beginning, and empty ones at the end."""
        outline = self.content.outline
        marks = self.beside.get(number, frozenset())
        if not places:
            return []
        several = len(places) > 1 or len(self.content.parts) > 1 or bool(self.content.parts[number].holes)
        several = several or any(outline.tags[mark] in _HEADINGS for mark in marks if outline.contains(places[0], mark))
        first, last = 0, len(places)
        while first < last and (
            outline.tags[places[first]] in _HEADINGS
            or not (outline.free(places[first]) + outline.linked(places[first]))
            or (
                several
                and self._is_marked(number, places[first])
                and not (self._is_entry(places[first]) or self._speaks(number, places[first]))
            )
        ):
            first += 1
        if first == last:
            return []
        while last > first and (
            not (outline.free(places[last - 1]) + outline.linked(places[last - 1]))
            or (several and last - 1 > first and self._is_signature(number, places[last - 1]))
        ):
            last -= 1
        return places[first:last]


def _form_places(outline: Outline, _: int) -> Sequence[int]:
    return [place for place, tag in enumerate(outline.tags) if tag in ("form", "input")]


def is_entry(outline: Outline, place: int) -> bool:
    """Return whether an element is one of several rows with running text in one cell and other cells beside it.

    Posts of a thread in a table are such rows: a name in the row does not make it a byline.
    """
    if outline.tags[place] != "tr":
        return False
    cells = list(outline.children(place))
    if len(cells) < 2 or sum(outline.running(cell) > 0 for cell in cells) != 1:
        return False
    rows = outline.children(outline.parents[place])
    return any(row != place and outline.tags[row] == "tr" and outline.running(row) for row in rows)

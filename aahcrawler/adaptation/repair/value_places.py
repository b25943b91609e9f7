"""Find the places of known texts and values on a page that may look different now, and the way to read them."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time
from functools import cached_property
from itertools import pairwise

from aahcrawler.helper.extraction.field_reader import as_date
from aahcrawler.induction.outline import Outline
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page import Page
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value
from knowledge_base.model import Extract, FieldKind

SHINGLE = 4
"""The number of words in a row that identify a text."""
MAX_MATCHES = 60
"""The number of places on a page from which a row of words identifies nothing."""
MAX_PLACES = 12
"""The most places of one text that are told apart."""
MAX_RUNS = 300
"""The most runs of the same words that a text's places are made of."""
MIN_SLACK = 12
"""Words between two runs of one text at least, such as a line about an edit; half of a long text may be."""
MIN_SHARE = 0.5
"""The share of a text's words that has to be found together."""
MAX_WORDS = 20_000
"""The most words of one text that are looked for."""

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")


def words(text: str) -> list[str]:
    """Return the words of a text as they are compared; each Chinese or Japanese character is one.

    >>> words("Ice, 12 cm thick!"), words("港口 ok")
    (['ice', '12', 'cm', 'thick'], ['港', '口', 'ok'])
    """
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


@dataclass(frozen=True, slots=True)
class Stretch:
    """Words ``first`` up to before ``last`` of a page, which contain ``share`` of the wanted text.

    ``matched`` are the positions of the words that belong to it.
    """

    first: int
    last: int
    share: float
    matched: frozenset[int]

    def apart(self, others: Iterable["Stretch"]) -> "Stretch | None":
        """Return the part of a stretch beside others; None if that is too little of the text."""
        first, last = self.first, self.last
        for other in others:
            if other.first <= first < other.last:
                first = other.last
            elif first < other.first < last:
                behind = last - other.last > other.first - first
                first, last = (other.last, last) if behind else (first, other.first)
        if (first, last) == (self.first, self.last):
            return self
        left = frozenset(position for position in self.matched if first <= position < last)
        share = self.share * len(left) / len(self.matched)
        return Stretch(min(left), max(left) + 1, share, left) if left and share >= MIN_SHARE else None


class WordTable:
    """The words of a page in document order; each lies in a piece of text of the outline."""

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.words: list[str] = []
        self.owners: list[int] = []
        for piece in outline.pieces:
            for word in words(piece.text):
                self.words.append(word)
                self.owners.append(piece.owner)
        self._rows: dict[int, Mapping[tuple[str, ...], list[int]]] = {}
        self._by_owner: dict[int, list[int]] = defaultdict(list)
        for position, owner in enumerate(self.owners):
            self._by_owner[owner].append(position)

    def positions(self, place: int) -> list[int]:
        """Return the positions of the words within an element, in order."""
        end = self.outline.ends[place]
        found = [position for owner in range(place, end) for position in self._by_owner.get(owner, ())]
        found.sort()
        return found

    def find(self, text: str) -> tuple[Stretch, ...]:
        """Return the places of a text, the best one first, without those that overlap a better one.

        A place is a chain of runs of words that the text and the page have in the same order: sentences that other
        texts share are found there, and are no place of this one.
        """
        sought = words(text)[:MAX_WORDS]
        runs = self._runs(sought)
        found: list[Stretch] = []
        while runs and len(found) < MAX_PLACES:
            chain = _best_chain(runs, max(MIN_SLACK, len(sought) // 2))
            stretch = _stretch(chain, len(sought))
            if stretch.share < MIN_SHARE:
                break
            found.append(stretch)
            runs = [run for run in runs if run.end <= stretch.first or run.position >= stretch.last]
        return tuple(found)

    def _runs(self, sought: Sequence[str]) -> list["_Run"]:
        """Return the longest rows of words that a text and the page have in common, in the order of the page."""
        if not sought:
            return []
        size = min(SHINGLE, len(sought))
        rows = self._rows_of(size)
        seen: set[tuple[int, int]] = set()
        runs: list[_Run] = []
        for number in range(len(sought) - size + 1):
            found = rows.get(tuple(sought[number : number + size]), ())
            if len(found) > MAX_MATCHES and len(sought) > SHINGLE:
                continue
            for position in found:
                if (position, number) not in seen:
                    run = self._extended(sought, position, number, size)
                    seen.update((run.position + step, run.number + step) for step in range(run.length))
                    runs.append(run)
        longest = sorted(runs, key=lambda run: (-run.length, run.position, run.number))[:MAX_RUNS]
        return sorted(longest, key=lambda run: (run.position, run.number))

    def _extended(self, sought: Sequence[str], position: int, number: int, size: int) -> "_Run":
        """Return the whole row around some words that are the same."""
        first, last = 0, size
        while min(position, number) > -first and self.words[position + first - 1] == sought[number + first - 1]:
            first -= 1
        most = min(len(self.words) - position, len(sought) - number)
        while last < most and self.words[position + last] == sought[number + last]:
            last += 1
        return _Run(position + first, number + first, last - first)

    def _rows_of(self, size: int) -> Mapping[tuple[str, ...], list[int]]:
        if size not in self._rows:
            rows: dict[tuple[str, ...], list[int]] = defaultdict(list)
            for position in range(len(self.words) - size + 1):
                rows[tuple(self.words[position : position + size])].append(position)
            self._rows[size] = rows
        return self._rows[size]


@dataclass(frozen=True, slots=True)
class _Run:
    """The same ``length`` words from ``position`` of a page and from ``number`` of a text."""

    position: int
    number: int
    length: int

    @property
    def end(self) -> int:
        """The position behind the last word."""
        return self.position + self.length


def _best_chain(runs: Sequence[_Run], slack: int) -> Sequence[_Run]:
    """Return the runs with the most words that follow one another on the page as in the text, at most ``slack`` apart.

    What two of them share counts once. ``runs`` are in the order of the page.
    """
    worth: list[int] = []
    before: list[int] = []
    for at, run in enumerate(runs):
        best, previous = run.length, -1
        for earlier in range(at):
            gain = _gain(runs[earlier], run, slack)
            if gain > 0 and worth[earlier] + gain > best:
                best, previous = worth[earlier] + gain, earlier
        worth.append(best)
        before.append(previous)
    chain: list[_Run] = []
    at = max(range(len(runs)), key=lambda place: (worth[place], -place))
    while at >= 0:
        chain.append(runs[at])
        at = before[at]
    return tuple(reversed(chain))


def _gain(earlier: _Run, run: _Run, slack: int) -> int:
    """Return the number of words that a run adds behind another one; none where it is elsewhere or of another order."""
    if not earlier.position < run.position or not earlier.number < run.number or run.position - earlier.end > slack:
        return 0
    shared = max(0, earlier.end - run.position, earlier.number + earlier.length - run.number)
    return run.length - shared


def _stretch(chain: Sequence[_Run], sought: int) -> Stretch:
    matched: dict[int, int] = {}
    number = 0
    for run in chain:
        for step in range(run.length):
            if run.number + step >= number:
                matched.setdefault(run.position + step, run.number + step)
        number = max(number, run.number + run.length)
    return Stretch(min(matched), max(matched) + 1, len(set(matched.values())) / sought, frozenset(matched))


def placed(candidates: Sequence[Sequence[Stretch]], lengths: Sequence[int]) -> tuple[Stretch | None, ...]:
    """Choose for each of several texts, given in their former order, one of its places; no two overlap.

    Long texts are placed first, so that what they quote is theirs; one with several places goes between its
    neighbours, in either order of the page.
    """
    chosen: list[Stretch | None] = [None] * len(candidates)
    for number in sorted(range(len(candidates)), key=lambda each: -lengths[each]):
        others = [each for each in chosen if each is not None]
        free = [part for each in candidates[number] if (part := each.apart(others)) is not None]
        if free:
            most = max(each.share for each in free)
            best = [stretch for stretch in free if stretch.share >= most - 0.1]
            chosen[number] = min(best, key=lambda each: _strain(each, number, chosen))
    return tuple(chosen)


def _strain(stretch: Stretch, number: int, chosen: Sequence[Stretch | None]) -> tuple[int, int]:
    """Return the number of texts on the wrong side of a place, and the distance of the nearest neighbour."""
    known = [(other, each.first) for other, each in enumerate(chosen) if each is not None]
    if not known:
        return (0, stretch.first)
    falls = _falls(known)
    wrong = sum((other < number) != (first < stretch.first) for other, first in known)
    nearest = min(known, key=lambda each: abs(each[0] - number))
    return (len(known) - wrong if falls else wrong, abs(nearest[1] - stretch.first))


def _falls(known: Sequence[tuple[int, int]]) -> bool:
    """Return whether the page shows the last of the texts first."""
    firsts = [first for _, first in sorted(known)]
    steps = list(pairwise(firsts))
    return sum(one > other for one, other in steps) > len(steps) / 2


def within(positions: Sequence[int], first: int, last: int) -> int:
    """Return the number of sorted positions from ``first`` up to before ``last``.

    >>> within([1, 4, 5, 9], 4, 9)
    2
    """
    return bisect_left(positions, last) - bisect_left(positions, first) if positions else 0


def outside(positions: Sequence[int], first: int, last: int) -> int:
    """Return the number of sorted positions elsewhere.

    >>> outside([1, 4, 5, 9], 4, 9)
    2
    """
    return len(positions) - (bisect_right(positions, last - 1) - bisect_left(positions, first))


FOREIGN = 0.15
"""The share of other words among a text's own up to which one element holds it."""
FEW_FOREIGN = 3


@dataclass(frozen=True, slots=True)
class Held:
    """Places whose elements contain a text, without the elements in ``without``; ``place`` is the one around all."""

    place: int
    places: tuple[int, ...]
    without: tuple[int, ...] = ()


def held_words(table: WordTable, stretch: Stretch, others: Sequence[Stretch] = ()) -> Held:
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


MAX_VALUE_LENGTH = 400
"""The most characters of a value in one element, except for bodies."""
MAX_AROUND_LENGTH = 25
"""The most characters behind a name in its text."""
_TELLING = frozenset({"title", "alt", "aria-label"})
_DATE_ATTRIBUTES = ("datetime", "title", "data-time", "data-timestamp", "data-utime", "data-date", "content")


Showing = tuple[int, str, Value]
"""A place, the attribute of its element that holds a value, empty for its text, and the value as it is read there."""


class ShownValues:
    """The values that a page shows, as the fields of an action read them."""

    def __init__(self, page: Page, prepared: PreparedPage, action: Extract) -> None:
        self._page = page
        self._prepared = prepared
        self._outline = prepared.outline
        self._action = action

    def showing(self, name: str, value: Value) -> Iterator[Showing]:
        """Yield the places that show a value of a field, with the attribute that holds it and the way to read it."""
        match value:
            case Person(text, _):
                return self._of_person(value, text)
            case datetime():
                return self._of_date(name, value)
            case Reference(url):
                return self._of_address(value, url)
            case _:
                return self._of_text(value, str(value))

    def _of_person(self, value: Person, text: str) -> Iterator[Showing]:
        places = dict.fromkeys((*self._places_of(text), *self._beside_little(text)))
        yield from ((place, "", self._person(place, text)) for place in places)
        if not places:
            yield from ((place, attribute, value) for place, attribute in self._attributed(text))

    def _of_date(self, name: str, value: datetime) -> Iterator[Showing]:
        for shown in self._prepared.shown:
            moment = self._moment(name, shown, value)
            if moment is not None:
                attribute = self._date_attribute(shown.place, shown.text) if shown.piece < 0 else ""
                yield shown.place, attribute, moment

    def _of_address(self, value: Reference, url: str) -> Iterator[Showing]:
        for place, element in enumerate(self._outline.elements):
            for attribute in ("href", "src"):
                given = element.get(attribute)
                if given and resolve(self._prepared.names.base, given) == url:
                    yield place, attribute, value

    def _of_text(self, value: Value, text: str) -> Iterator[Showing]:
        places = self._places_of(text)
        attributed = self._attributed(text)
        if not places and not attributed:
            places = list(dict.fromkeys(self._beside_little(text)))
        yield from ((place, "", value) for place in places)
        yield from ((place, attribute, value) for place, attribute in attributed)

    def _beside_little(self, text: str) -> list[int]:
        """Return the elements of short texts that begin or end with others: ``Ann Boyd on``, ``by Ann Boyd``."""
        sought = words(text)
        if not sought:
            return []
        near = (piece for piece in self._outline.pieces if len(piece.text) <= len(text) + MAX_AROUND_LENGTH)
        told = ((piece.owner, words(piece.text)) for piece in near)
        size = len(sought)
        return [owner for owner, found in told if found[:size] == sought or found[-size:] == sought]

    def _attributed(self, text: str) -> Sequence[tuple[int, str]]:
        """Return the elements with an attribute that is this text."""
        return self._attributes.get(fold(text).casefold(), ())

    @cached_property
    def _attributes(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """The elements by the texts of their attributes that readers see or that hold data."""
        found: dict[str, list[tuple[int, str]]] = {}
        for place, element in enumerate(self._outline.elements):
            for name, given in map(_as_text, element.attrib.items()):
                if len(given) <= MAX_VALUE_LENGTH and (name in _TELLING or name.startswith("data-")):
                    found.setdefault(fold(given).casefold(), []).append((place, name))
        return found

    def _person(self, place: int, name: str) -> Person:
        element = self._outline.elements[place]
        above = (element, *element.iterancestors("a"))
        href = next((each.get("href") for each in above if each.tag == "a"), None)
        return Person(name, resolve(self._prepared.names.base, href) if href else None)

    def _moment(self, name: str, shown: ShownDate, moment: datetime) -> datetime | None:
        """Return a date as the rules for its field read it, None if it is another day, or another time of it."""
        forms = [field.date for field in self._action.fields if field.name == name and field.kind is FieldKind.DATETIME]
        own = None if shown.read.vague else shown.moment
        for read in (*(as_date(shown.text, form, self._page) for form in forms), own):
            if read is not None and _agree(read, moment, whole_day=not shown.read.timed):
                return read
        return None

    def _date_attribute(self, place: int, text: str) -> str:
        element = self._outline.elements[place]
        return next((name for name in _DATE_ATTRIBUTES if fold(element.get(name) or "") == text), "")

    def _places_of(self, text: str) -> Sequence[int]:
        """Return the innermost elements whose whole text is this one."""
        found = self._texts.get(fold(text).casefold(), ())
        inner = [
            place
            for number, place in enumerate(found)
            if number + 1 == len(found) or not self._outline.contains(place, found[number + 1])
        ]
        return inner if fold(text) else ()

    @cached_property
    def _texts(self) -> Mapping[str, Sequence[int]]:
        """The elements by their whole texts, short ones alone."""
        found: dict[str, list[int]] = {}
        outline = self._outline
        for place, element in enumerate(outline.elements):
            if 0 < outline.free(place) + outline.linked(place) <= 3 * MAX_VALUE_LENGTH:
                found.setdefault(fold(excerpt(element, MAX_VALUE_LENGTH + 1)).casefold(), []).append(place)
        return found

    def read(self, place: int, like: Value | None) -> Value | None:
        """Return the value at a place, of the same kind as that of another object."""
        element = self._outline.elements[place]
        match like:
            case Person():
                name = fold(excerpt(element, MAX_VALUE_LENGTH))
                return Person(name, resolve(self._prepared.names.base, element.get("href") or "")) if name else None
            case datetime():
                exact = (
                    shown.moment for shown in self._prepared.shown if shown.place == place and not shown.read.vague
                )
                return next(exact, None)
            case str():
                return fold(excerpt(element, MAX_VALUE_LENGTH)) or None
            case _:
                return None


def _as_text(attribute: tuple[str | bytes, str | bytes]) -> tuple[str, str]:
    return str(attribute[0]), str(attribute[1])


def _agree(read: datetime, moment: datetime, *, whole_day: bool) -> bool:
    """Return whether two dates are the same one, as exactly as both are written."""
    if whole_day or moment.time() == time.min:
        return read.date() == moment.date()
    if not (read.second and moment.second):
        return read.replace(second=0, microsecond=0) == moment.replace(second=0, microsecond=0)
    return read == moment

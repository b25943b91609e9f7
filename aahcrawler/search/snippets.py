"""The part of a text that best shows what was searched for, with the words marked."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Final

from aahcrawler.page.generic import language as language_of
from aahcrawler.search.query_language import MAX_QUERY_LENGTH, Node, QueryError, Words, leaves, parse
from aahcrawler.search.text_index import stems_of, unspaced, words_of

LENGTH: Final = 240
"""The most characters of a snippet."""
_PART: Final = 60_000
"""How many characters of a text are searched at once; further parts follow until all words are found."""
_WORD: Final = re.compile(r"[^\W_]+")
_MAX_PLACES: Final = 50
"""How many places of a word in each part of a text are considered."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a snippet; ``is_marked`` means that it was searched for."""

    text: str
    is_marked: bool = False


@dataclass(frozen=True, slots=True)
class _Place:
    begin: int
    end: int
    what: int


class Marker:
    """Finds the words of a query in texts, including misspelt ones as far as the query allows.

    A phrase is found where a text has its words in a row. In a text that has them nowhere in a row, each of its words
    is found by itself.
    """

    def __init__(self, node: Node | None, *, is_lenient: bool) -> None:
        asked = [leaf for leaf in leaves(node) if isinstance(leaf, Words)]
        self._runs = [run for leaf in asked for run in unspaced(leaf.text)]
        self._words: dict[str, int] = {}
        self._beginnings: list[tuple[str, int]] = []
        self._near: list[tuple[str, int, int]] = []
        self._texts = [leaf.text for leaf in asked if not leaf.is_prefix]
        alone = {word for leaf in asked if not _is_row(leaf) for word in words_of(leaf.text)}
        rows = (tuple(words_of(leaf.text)) for leaf in asked if _is_row(leaf))
        self._rows = {row: {*row} - alone for row in dict.fromkeys(rows) if len(row) > 1}
        for leaf in asked:
            for word in words_of(leaf.text):
                number = self._words.setdefault(word, len(self._words))
                if leaf.is_prefix:
                    self._beginnings.append((word, number))
                elif leaf.distance or (is_lenient and not leaf.is_phrase and len(word) > 3):
                    self._near.append((word, leaf.distance or (2 if len(word) > 7 else 1), number))

    def snippet(self, text: str, language: str) -> tuple[Piece, ...]:
        """Return the best part of a text in one line, or its beginning if it has none of the words."""
        places = self._places(text, language)
        begin, end = _window(text, places)
        pieces, at = list[Piece](), begin
        for place in places:
            if at <= place.begin < end:
                pieces += [
                    Piece(text[at : place.begin]),
                    Piece(text[place.begin : min(place.end, end)], is_marked=True),
                ]
                at = min(place.end, end)
        pieces.append(Piece(text[at:end]))
        shown = [Piece(re.sub(r"\s+", " ", each.text), each.is_marked) for each in pieces if each.text]
        before, after = "… " if begin else "", " …" if end < len(text) else ""
        return tuple(each for each in (Piece(before), *shown, Piece(after)) if each.text)

    def spans(self, text: str, language: str) -> list[tuple[int, int]]:
        """Return where the words are in a text, in order, without overlaps."""
        found: list[tuple[int, int]] = []
        for place in self._places(text, language, most=len(text)):
            if not found or place.begin >= found[-1][1]:
                found.append((place.begin, place.end))
        return found

    def _places(self, text: str, language: str, most: int = _MAX_PLACES) -> list[_Place]:
        """Return places of words: in each part at most ``most`` per word, until all words have been found."""
        rows, in_rows = self._row_places(text, most)
        wanted = {word: number for word, number in self._words.items() if word not in in_rows}
        stems = {stem: wanted[word] for word, stem in self._stems(language) if word in wanted}
        seen, numbers = set[str](), dict[str, int]()
        found = [*self._unspaced_places(text, most), *rows]
        missing = {*wanted.values()}
        for begin, end in _parts(text):
            if not missing and most <= _MAX_PLACES:
                break
            words = {*_WORD.findall(text, begin, end)}
            numbers.update(self._numbered(sorted(words - seen), wanted, stems, language, missing))
            if not words.isdisjoint(numbers):
                found += _first_ones(text, begin, end, numbers, most)
                missing -= {numbers[word] for word in words & numbers.keys()}
            seen |= words
        return sorted(found, key=lambda place: place.begin)

    def _row_places(self, text: str, most: int) -> tuple[list[_Place], set[str]]:
        """Return places of phrases, in each part at most ``most`` of each, and the words to look for nowhere else."""
        found, missing = list[_Place](), {*self._rows}
        for begin, end in _parts(text) if missing else ():
            spans = [match.span() for match in _WORD.finditer(text, begin, end + MAX_QUERY_LENGTH)]
            words = [text[first:last] for first, last in spans]
            forms = dict(zip(distinct := sorted({*words}), _each(distinct, words_of), strict=True))
            joined = f" {' '.join(forms[word] for word in words)} "
            for number, row in enumerate(self._rows, len(self._words)):
                for first in islice(_starts(joined, f" {' '.join(row)} "), most):
                    if spans[first][0] >= end:
                        break
                    found.append(_Place(spans[first][0], spans[first + len(row) - 1][1], number))
                    missing.discard(row)
            if not missing and most <= _MAX_PLACES:
                break
        return found, {word for row, words in self._rows.items() if row not in missing for word in words}

    def _stems(self, language: str) -> Iterator[tuple[str, str]]:
        """Yield the words that are searched in all their forms, each with its stem."""
        for asked in self._texts:
            yield from zip(words_of(asked), stems_of(asked, language), strict=False)

    def _numbered(
        self,
        words: Sequence[str],
        wanted: Mapping[str, int],
        stems: Mapping[str, int],
        language: str,
        missing: Container[int],
    ) -> Iterator[tuple[str, int]]:
        """Yield the words of a text that are searched, each with the number of the word of the query that it matches.

        Misspelt words count only for words of the query that are still ``missing``.
        """
        near = [each for each in self._near if each[2] in missing]
        folded = _each(words, words_of)
        if near or self._beginnings:
            for word, form in zip(words, folded, strict=True):
                begun = (n for beginning, n in self._beginnings if form.startswith(beginning))
                spelt = (n for each, most, n in near if _is_near(form, each, most))
                if (number := next(chain(begun, spelt), None)) is not None:
                    yield word, number
        if stems:
            forms = _each(words, partial(stems_of, language=language))
            yield from ((word, stems[form]) for word, form in zip(words, forms, strict=True) if form in stems)
        yield from ((word, wanted[form]) for word, form in zip(words, folded, strict=True) if form in wanted)

    def _unspaced_places(self, text: str, most: int) -> Iterator[_Place]:
        for number, run in enumerate(self._runs):
            at = text.find(run)
            for _ in range(most):
                if at < 0:
                    break
                yield _Place(at, at + len(run), -1 - number)
                at = text.find(run, at + len(run))


def words_in(query: str, text: str) -> list[tuple[int, int]]:
    """Return where a text has the words of a query, as ``spans`` does; places of similar words if it has none."""
    try:
        node = parse(query)
    except QueryError:
        return []
    told = language_of(text[:_PART], "") or ""
    exact = Marker(node, is_lenient=False).spans(text, told)
    return exact or Marker(node, is_lenient=True).spans(text, told)


def _is_row(leaf: Words) -> bool:
    """Return whether the words of a leaf stand in a row wherever it is found, each as it is written."""
    return leaf.is_phrase and not leaf.is_prefix and not leaf.slop


def _parts(text: str) -> Iterator[tuple[int, int]]:
    """Yield the parts of a text that are searched at once, cut at spaces where there are any."""
    begin = 0
    while begin < len(text):
        space = text.find(" ", begin + _PART, begin + _PART + LENGTH)
        end = space if space >= 0 else begin + _PART
        yield begin, end
        begin = end


def _starts(joined: str, row: str) -> Iterator[int]:
    """Yield the numbers of the words, joined by spaces, at which a row of words begins; the rows do not overlap."""
    at, number = 0, 0
    while (found := joined.find(row, at)) >= 0:
        number += joined.count(" ", at, found)
        yield number
        at, number = found + len(row) - 1, number + row.count(" ") - 1


def _each(words: Sequence[str], terms_of: Callable[[str], list[str]]) -> list[str]:
    """Return the term of each word; empty if it has none."""
    terms = terms_of(" ".join(words))
    return terms if len(terms) == len(words) else [next(iter(terms_of(word)), "") for word in words]


def _first_ones(text: str, begin: int, end: int, numbers: Mapping[str, int], most: int) -> Iterator[_Place]:
    """Yield the places of words in a part of a text, the first ones of each number."""
    counts: Counter[int] = Counter()
    for match in _WORD.finditer(text, begin, end):
        number = numbers.get(match[0])
        if number is not None and counts[number] < most:
            counts[number] += 1
            yield _Place(match.start(), match.end(), number)


def _window(text: str, places: Sequence[_Place]) -> tuple[int, int]:
    """Return the part of a text with the most different words, with whole words at its ends."""
    best, begin = 0, 0
    for number, place in enumerate(places):
        within = set[int]()
        for at in range(number, len(places)):
            other = places[at]
            if other.end > place.begin + LENGTH * 3 // 4 and at > number:
                break
            within.add(other.what)
        if len(within) > best:
            best, begin = len(within), place.begin
    begin = max(0, begin - LENGTH // 4)
    if begin:
        space = text.find(" ", begin, begin + 30)
        begin = space + 1 if space >= 0 else begin
    end = min(len(text), begin + LENGTH)
    if end < len(text):
        space = text.rfind(" ", end - 30, end)
        end = space if space > begin else end
    return begin, end


def _is_near(one: str, other: str, distance: int) -> bool:
    """Return whether a few changed, added, omitted or swapped letters make one word the other (OSA distance)."""
    if abs(len(one) - len(other)) > distance or len(one) > 40 or len(set(one) ^ set(other)) > 2 * distance:
        return False
    before: list[int] = []
    row = list(range(len(other) + 1))
    for n, letter in enumerate(one, 1):
        new = [n]
        for m, beside in enumerate(other, 1):
            cost = min(row[m] + 1, new[m - 1] + 1, row[m - 1] + (letter != beside))
            if n > 1 and m > 1 and letter == other[m - 2] and one[n - 2] == beside:
                cost = min(cost, before[m - 2] + 1)
            new.append(cost)
        if min(new) > distance:
            return False
        before, row = row, new
    return row[-1] <= distance

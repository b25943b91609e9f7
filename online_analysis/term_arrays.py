"""Texts as counts of terms: of one document by unit, or of many pieces of text in one go.

The text analyser, page notes and batch prioritisation read the same ``CountedDocument``, so that a page is split into
words and stemmed once (the units are those of ARCOMEM, section 4.2: the document, the paragraph around a link, its
anchor).

A page has about a hundred pieces of a few words each, and most of its words were met before. So all pieces are put
behind one another as bytes, of which a table makes small letters and blanks; a word is a stretch between blanks. Each
has a hash, a polynomial of its bytes: of sums over the whole text the difference of two gives it, for all words at
once. Terms are looked up by these hashes of 64 bits. Only words that were never met are looked at one by one.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from online_analysis.document import Document
from online_analysis.terms import Language, Lexicon, tokenize

Terms = tuple[str, ...]
"""The stems of a piece of text in its order, without stop words."""
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
_Hashes = NDArray[np.uint64]

MAX_WORDS = 100_000
"""Words that are remembered of a language, but for those of a last page."""

_MAX_WORD_LENGTH = 64
"""Bytes of an ASCII word that says something."""
_MAX_TERMS = 32
"""The most terms of a chunk that is remembered: other scripts write long texts without blanks."""
_SLOT_BITS, _CODE_BITS = 17, 18
_NO_TERM, _SEVERAL = -1, -3
_TO_SLOT, _TO_REST = np.uint64(64 - _SLOT_BITS), np.uint64(_SLOT_BITS)
_MAX_CODES = (1 << _CODE_BITS) - 1
_CODE = np.uint64(_MAX_CODES)
_FREE = ~_CODE
_SEPARATOR = "\0"
_BETWEEN = b"\n"
_FOLDING = bytes(
    code if not code or code >= 128 else ord(chr(code).lower()) if chr(code).isalnum() else ord(" ")
    for code in range(256)
)
_PARTING_ROWS = (b"\xc2", b"\xe2\x80", b"\xe3\x80", b"\xef\xbc")
"""First bytes of the frequent marks beyond ASCII, such as quotes, dashes, bullets and ideographic commas."""
_BASE = 0x9E3779B97F4A7C15
_CYCLE = 1 << 16
_POWERS: _Hashes = np.full(_CYCLE, _BASE, np.uint64).cumprod(dtype=np.uint64)
_INVERSES: _Hashes = np.full(_CYCLE, pow(_BASE, -1, 1 << 64), np.uint64).cumprod(dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Units:
    """The terms of pieces of text: ``terms`` are numbers in order, ``bounds`` where each piece begins, and the end.

    ``names`` has the term of each number.
    """

    terms: Integers
    bounds: Integers
    names: Sequence[str]

    def __len__(self) -> int:
        return len(self.bounds) - 1

    @property
    def owners(self) -> Integers:
        """Return the number of the piece that each term belongs to."""
        return np.arange(len(self)).repeat(self.bounds[1:] - self.bounds[:-1])

    def of(self, start: int, end: int) -> Terms:
        """Return the terms of some pieces together: of those from ``start`` on, up to ``end``."""
        numbers = self.terms[self.bounds[start] : self.bounds[end]]
        return tuple(map(self.names.__getitem__, numbers.tolist()))


class Vocabulary:
    """Numbers the terms of a language, and caches the terms of each word.

    Equal texts have equal terms, whatever was read before. Not thread-safe.
    """

    def __init__(self, language: Language) -> None:
        self._language = language
        self.names: list[str] = []
        self._numbers: dict[str, int] = {"": _NO_TERM}
        self._words: dict[int, int | tuple[int, ...]] = {}
        # Most words are found here, by the first bits of their hashes; of two that share these only one is. Each slot
        # has the other bits of a hash, but for the last one, and one more than the code: a page meets a thousand slots,
        # each in another line of the processor's cache.
        self._slots: _Hashes = np.full(1 << _SLOT_BITS, _FREE, np.uint64)
        self._idf: Floats = np.zeros(1 << 12)
        self._worded: Floats = np.zeros(1 << 12)
        self._filled = 0

    @property
    def is_full(self) -> bool:
        """Return whether the vocabulary is to be replaced by a new one."""
        return len(self._words) >= MAX_WORDS

    @property
    def idf(self) -> Floats:
        """The idf of each term by its number, followed by unused entries."""
        self._fill()
        return self._idf

    @property
    def worded(self) -> Floats:
        """1 for each term that is not only digits and 0 for others, by its number, followed by unused entries."""
        self._fill()
        return self._worded

    def _fill(self) -> None:
        new = self.names[self._filled :]
        if not new:
            return
        start, self._filled = self._filled, len(self.names)
        if self._filled > len(self._idf):
            self._idf = np.concatenate([self._idf, np.zeros(self._filled)])
            self._worded = np.concatenate([self._worded, np.zeros(self._filled)])
        self._idf[start : self._filled] = list(map(self._language.idf.__getitem__, new))
        self._worded[start : self._filled] = [not term.isdigit() for term in new]

    def number(self, term: str) -> int:
        """Return the number of a term, another one if it is new."""
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = len(self.names)
            self.names.append(term)
        return number

    def read(self, texts: Sequence[str]) -> Units:
        """Split pieces of text, at least one, into their terms."""
        data = _bytes_of(texts)
        letters = np.frombuffer(data, np.uint8)
        is_word = letters > ord(" ")
        edges = (is_word[1:] != is_word[:-1]).nonzero()[0]
        before, last = edges[::2], edges[1::2]
        hashes = _hashes_of(letters, before, last)
        slots = self._slots.take((hashes >> _TO_SLOT).view(np.int64))
        codes = (slots & _CODE).view(np.int64)
        codes -= 1
        missing = (slots ^ (hashes << _TO_REST) > _CODE).nonzero()[0]
        several = self._look_up(missing, codes, hashes, (data, before, last)) if len(missing) else {}
        firsts = np.zeros(len(texts) + 1, np.intp)  # The first word of each piece.
        firsts[1:-1] = before.searchsorted((letters == 0).nonzero()[0])
        firsts[-1] = len(codes)
        if several:
            return _with_several(codes, several, firsts, self.names)
        kept = (codes >= 0).nonzero()[0]
        return Units(codes.take(kept), kept.searchsorted(firsts), self.names)

    def _look_up(
        self, places: Integers, codes: Integers, hashes: _Hashes, words: tuple[bytes, Integers, Integers]
    ) -> Mapping[int, tuple[int, ...]]:
        """Find the codes of words one by one; return the terms of those that have several by their places.

        ``words`` are all bytes, and where the one before each word is, and its last one.
        """
        data, before, last = words
        keys, known = hashes.take(places).tolist(), self._words
        new = {key: place for key, place in zip(keys, places.tolist(), strict=True) if key not in known}
        if new:
            at = list(new.values())
            edges = zip((before.take(at) + 1).tolist(), (last.take(at) + 1).tolist(), strict=True)
            if data.isascii():
                text = data.decode()
                met: Sequence[int | tuple[int, ...]] = self._codes_of([text[start:end] for start, end in edges])
            else:
                met = self._meet([data[start:end] for start, end in edges])
            known.update(zip(new, met, strict=True))
            self._put(hashes.take(at), np.array(_single(met)))
        found = list(map(known.__getitem__, keys))
        codes[places] = singles = _single(found)
        if singles is found:
            return {}
        several = {place: code for place, code in zip(places.tolist(), found, strict=True) if isinstance(code, tuple)}
        for place, terms in several.items():
            if len(terms) > _MAX_TERMS:
                known.pop(int(hashes[place]), None)
        return several

    def _meet(self, words: Sequence[bytes]) -> Sequence[int | tuple[int, ...]]:
        """Return the codes of words that are new."""
        text = _BETWEEN.join(words)
        if text.isascii():
            return self._codes_of(text.decode().split(_BETWEEN.decode()))
        plain = [word for word in words if word.isascii()]
        known = dict(zip(plain, self._codes_of([word.decode() for word in plain]), strict=True))
        return [known[word] if word in known else self._code_of(word) for word in words]

    def _codes_of(self, words: Sequence[str]) -> list[int]:
        """Return the codes of ASCII words, each of which is one term or none."""
        terms = self._language.stems([word if 1 < len(word) <= _MAX_WORD_LENGTH else "" for word in words])
        numbers, names = self._numbers, self.names
        new = [term for term in dict.fromkeys(terms) if term not in numbers]
        numbers.update(zip(new, range(len(names), len(names) + len(new)), strict=True))
        names += new
        return list(map(numbers.__getitem__, terms))

    def _code_of(self, word: bytes) -> int | tuple[int, ...]:
        numbers = tuple(map(self.number, self._language.terms_of(word.decode("utf-8", "replace"))))
        return numbers if len(numbers) > 1 else numbers[0] if numbers else _NO_TERM

    def _put(self, keys: _Hashes, codes: Integers) -> None:
        """Have words of one term or none found by their hashes, where their slot is free."""
        slots = (keys >> _TO_SLOT).view(np.int64)
        is_short = (codes != _SEVERAL) & (codes < _MAX_CODES)
        free = (is_short & (self._slots.take(slots) == _FREE)).nonzero()[0]
        codes_up = (codes.take(free) + 1).view(np.uint64)
        self._slots[slots.take(free)] = keys.take(free) << _TO_REST & ~_CODE | codes_up


def _single(codes: Sequence[int | tuple[int, ...]]) -> Sequence[int | tuple[int, ...]]:
    """Return codes with a mark in place of those that are of several terms; the very same where none is."""
    return (
        [_SEVERAL if isinstance(code, tuple) else code for code in codes] if tuple in set(map(type, codes)) else codes
    )


def _bytes_of(texts: Sequence[str]) -> bytes:
    """Return texts as folded bytes with zeros between them, and a blank at both ends."""
    joined = _SEPARATOR.join(texts)
    if joined.count(_SEPARATOR) >= len(texts):
        joined = _SEPARATOR.join([text.replace(_SEPARATOR, " ") for text in texts])
    data = f" {joined} ".encode("utf-8", "replace").translate(_FOLDING)
    return data if joined.isascii() else _without_marks(data)


def _without_marks(data: bytes) -> bytes:
    """Replace frequent punctuation by blanks, so that a word does not have a spelling for each mark beside it."""
    codes = np.frombuffer(data, np.uint8).copy()
    for row, parts in _parting():
        if row not in data:
            continue
        at = (codes[:-2] == row[0]).nonzero()[0]
        if len(row) > 1:
            at = at[codes[at + 1] == row[1]]
        at = at[parts[codes[at + len(row)]]]
        for place in range(len(row) + 1):
            codes[at + place] = ord(" ")
    return codes.tobytes()


@cache
def _parting() -> Sequence[tuple[bytes, NDArray[np.bool_]]]:
    """Return, for the first bytes of characters, which last bytes complete a character that only separates words."""
    rows: list[tuple[bytes, NDArray[np.bool_]]] = []
    for row in _PARTING_ROWS:
        parts = np.zeros(256, np.bool_)
        for last in range(128, 192):
            parts[last] = tokenize(f"wind{(row + bytes((last,))).decode()}farm") == ["wind", "farm"]
        rows.append((row, parts))
    return rows


def _hashes_of(letters: NDArray[np.uint8], before: Integers, last: Integers) -> _Hashes:
    """Return the hash of each word. One that lies across a multiple of 65,536 bytes has another one there."""
    if len(letters) <= _CYCLE:
        powers, inverses = _POWERS[: len(letters)], _INVERSES.take(before)
    else:
        powers, inverses = np.resize(_POWERS, len(letters)), _INVERSES.take(before & _CYCLE - 1)
    sums = (letters * powers).cumsum()
    hashes: _Hashes = (sums.take(last) - sums.take(before)) * inverses
    hashes ^= hashes >> np.uint64(32)
    hashes *= np.uint64(0xBF58476D1CE4E5B9)
    hashes ^= hashes >> np.uint64(29)
    return hashes


def _with_several(
    codes: Integers, several: Mapping[int, tuple[int, ...]], firsts: Integers, names: Sequence[str]
) -> Units:
    """Put all terms of words that have several in their places."""
    lengths = (codes >= 0).astype(np.int64)
    lengths[list(several)] = list(map(len, several.values()))
    bounds = np.zeros(len(codes) + 1, np.int64)
    np.cumsum(lengths, out=bounds[1:])
    terms = np.repeat(codes, lengths)
    for start, numbers in zip(bounds[list(several)].tolist(), several.values(), strict=True):
        terms[start : start + len(numbers)] = numbers
    return Units(terms, bounds[firsts], names)


MAX_PARAGRAPH_LENGTH = 1_000
"""The number of characters read of a title, a paragraph and an anchor."""


class CountedDocument:
    """The terms of one document, in the language of the document.

    ``units`` are its texts. The document itself comes first, in pieces: its title, each of ``Document.parts`` by lines,
    its rest by lines, and the paragraphs outside of these; ``pieces`` has the unit that each of these begins with, and
    the one behind the last. Other texts around links follow. ``around`` and ``clicked`` run parallel to
    ``Document.outlinks``: they are the units of paragraphs and of anchors.

    The other properties are terms as strings, made when they are asked for: ``title``, each of ``parts`` (as many as
    ``Document.parts``), ``rest``, and ``outside``, the paragraphs around links that are in no part, nor in the rest,
    each once; ``paragraphs`` and ``anchors`` run parallel to ``Document.outlinks``.
    """

    def __init__(self, document: Document, language: Language, vocabulary: Vocabulary) -> None:
        self.language = language
        self.vocabulary = vocabulary
        texts, self.pieces = _lines(document)
        places = dict(zip(texts, range(len(texts)), strict=True))
        if places[texts[0]] == 0:
            del places[texts[0]]  # The title is in no part.
        links = document.outlinks
        contexts, anchors = [link.context for link in links], [link.anchor for link in links]
        outside = {each.context: None for each in links if each.part is None and each.context not in places}
        if max(map(len, texts)) > MAX_PARAGRAPH_LENGTH:  # Around a link only its beginning counts.
            places = {text: place for text, place in places.items() if len(text) <= MAX_PARAGRAPH_LENGTH}
        self.pieces.append(len(texts) + len(outside))
        for text in chain(outside, contexts, anchors):
            if text not in places:
                places[text] = len(texts)
                texts.append(text[:MAX_PARAGRAPH_LENGTH])
        found = np.fromiter(map(places.__getitem__, chain(contexts, anchors)), np.intp, 2 * len(links))
        self.around, self.clicked = found[: len(links)], found[len(links) :]
        self.units = vocabulary.read(texts)

    @property
    def title(self) -> Terms:
        """The terms of the title."""
        return self._piece(0)

    @cached_property
    def parts(self) -> tuple[Terms, ...]:
        """The terms of each part."""
        return tuple([self._piece(place) for place in range(1, len(self.pieces) - 3)])

    @property
    def rest(self) -> Terms:
        """The terms of the rest."""
        return self._piece(len(self.pieces) - 3)

    @property
    def has_rest(self) -> bool:
        """Return whether the rest has any terms."""
        start, end = self.units.bounds[self.pieces[-3:-1]].tolist()
        return bool(start < end)

    @property
    def outside(self) -> Terms:
        """The terms of the paragraphs outside of all that."""
        return self._piece(len(self.pieces) - 2)

    @cached_property
    def paragraphs(self) -> tuple[Terms, ...]:
        """The terms of the paragraph around each link; equal texts have the very same tuple."""
        return self._texts(self.around.tolist())

    @cached_property
    def anchors(self) -> tuple[Terms, ...]:
        """The terms of each anchor; equal texts have the very same tuple."""
        return self._texts(self.clicked.tolist())

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Return the count of each term in title, parts, rest and outside of them: the vector of the whole page."""
        return Counter(self.units.of(0, self.pieces[-1]))

    def _piece(self, place: int) -> Terms:
        return self.units.of(self.pieces[place], self.pieces[place + 1])

    def _texts(self, units: Sequence[int]) -> tuple[Terms, ...]:
        terms = {unit: self.units.of(unit, unit + 1) for unit in dict.fromkeys(units)}
        return tuple(map(terms.__getitem__, units))


def _lines(document: Document) -> tuple[list[str], list[int]]:
    """Return the title and the lines of parts and rest, and where each of these begins, and outside of them.

    A paragraph that holds links is a line of its part as well.
    """
    lines, begins = [document.title[:MAX_PARAGRAPH_LENGTH]], [0]
    for text in (*[part.text for part in document.parts], document.rest):
        begins.append(len(lines))
        lines += text.split("\n")
    begins.append(len(lines))
    return lines, begins


class Counting:
    """Counts the terms of documents, each once: the last result is remembered.

    Not for several threads, as the lexicon. Equal documents have equal terms, whatever was counted before.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon = lexicon
        self._vocabularies: dict[Language, Vocabulary] = {}
        self._last: tuple[Document, CountedDocument] | None = None

    def of(self, document: Document) -> CountedDocument:
        """Return the terms of a document."""
        if self._last is None or self._last[0] is not document:
            language = self._lexicon.language(document.language)
            self._last = document, CountedDocument(document, language, self.vocabulary(language))
        return self._last[1]

    def vocabulary(self, language: Language) -> Vocabulary:
        """Return the vocabulary for pages of a language: the same one until it is full, then a new one."""
        vocabulary = self._vocabularies.get(language)
        if vocabulary is None or vocabulary.is_full:
            vocabulary = self._vocabularies[language] = Vocabulary(language)
        return vocabulary


def words_of(url: str) -> str:
    """Return path and query of an absolute URL as text.

    >>> words_of("https://a.test/wind%20power?q=rotor")
    'wind power?q=rotor'
    """
    path = url.partition("://")[2].partition("/")[2]
    return unquote(path, errors="replace") if "%" in path else path

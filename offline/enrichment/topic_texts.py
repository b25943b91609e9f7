"""Reads the texts in which topics are looked for: their terms, a sample of them, and its vocabulary."""

import re
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import heappush, heappushpop
from itertools import compress
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from offline.enrichment.annotator import ObjectText
from offline.enrichment.document_frequencies import DocumentFrequencies
from online_analysis.terms import Language, Lexicon, is_unspaced
from online_analysis.word_lists import function_words

MAX_WORDS: Final = 400
"""Words of a text, from its beginning, in which formulas are looked for; they are found again in all of it."""
_LENGTH: Final = 5
"""Words of a phrase."""
_TEXTS: Final = 4
"""Different texts from which on a phrase of theirs is a formula."""
_COPIED: Final = 0.9
"""The share of its words from which on a text does not repeat formulas, but was copied as a whole."""
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_MARKS: Final = ".,;:!?()[]{}\"'“”„‘’«»*_-–—"

Hashes = NDArray[np.uint64]


class Formulas:
    """The formulas of different texts, given by their words as white space parts them.

    The same texts have the same formulas, in whichever order they come. Takes 3 KiB for a text while it is made.
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        phrases = [np.unique(_phrases(words[:MAX_WORDS])) for words in texts]
        found, counts = np.unique(np.concatenate([np.empty(0, np.uint64), *phrases]), return_counts=True)
        self._known = found[counts >= _TEXTS]

    def held(self, words: Sequence[str]) -> NDArray[np.bool_]:
        """Return which of the words of a text are of a formula; none where hardly any other word is left.

        >>> words = "Many thanks in advance for help with my bees".split()
        >>> formulas = Formulas([[*words[:6], *name.split()] for name in ("Ida", "Jo of Leeds", "Bert A.", "Carl")])
        >>> [word for word, is_held in zip(words, formulas.held(words)) if not is_held]
        ['with', 'my', 'bees']
        """
        held = np.zeros(len(words), np.bool_)
        if not len(self._known):
            return held
        known = np.isin(_phrases(words), self._known)
        for place in range(_LENGTH):
            held[place : place + len(known)] |= known
        if held.sum() > _COPIED * len(words):
            held[:] = False
        return held


def _phrases(words: Sequence[str]) -> Hashes:
    """Return a hash of each phrase of a text, without regard to capitals and punctuation."""
    count = max(0, len(words) - _LENGTH + 1)
    plain = (word.strip(_MARKS).casefold().encode("utf-8", "surrogatepass") for word in words)
    single = np.fromiter(map(zlib.crc32, plain), np.uint64, len(words))
    hashes = np.zeros(count, np.uint64)
    for place in range(_LENGTH):
        hashes = hashes * _FACTOR + single[place : place + count]
    return hashes


MAX_CHARACTERS: Final = 20_000
"""Characters of a text that are read, from its beginning."""
MIN_TEXTS: Final = 40
"""Different texts of a language below which no topics are looked for."""
MAX_SAMPLE: Final = 10_000
"""Different texts of a language in which topics are looked for."""
MAX_LANGUAGES: Final = 8
"""Languages in which topics are looked for: those with the most texts."""
MAX_VOCABULARY: Final = 10_000
"""Terms of a language by which topics are looked for: those in the most texts."""
_MIN_TERMS: Final = 5
"""Different terms of a text from which on it says enough to tell topics by."""
_MIN_HOLDERS: Final = 3
_MAX_HOLDING: Final = 0.4
"""The share of the texts from which on a term tells no topic."""
_WINDOW: Final = 50
"""Terms in a row that count as being together."""
_MAX_CACHED: Final = 100_000
_MAX_CHUNK: Final = 64
_MIN_LETTERS: Final = 3
_MAX_LETTERS: Final = 80
_WORD: Final = re.compile(r"[^\W_]+")
_NEGATED: Final = re.compile(r"['’]t\b")
"""What is behind the first part of "isn't", which is no word."""

Objects = Callable[[], Iterator[ObjectText]]


@dataclass(frozen=True, slots=True)
class Words:
    """The words of texts: ``counts`` of terms (columns) in texts (rows), and the ``windows`` of them (rows), 0 or 1.

    ``vocabulary`` are the terms in their order, ``spellings`` how most of the texts write each. Words of ``formulas``
    are left out.
    """

    vocabulary: tuple[str, ...]
    spellings: tuple[str, ...]
    counts: csr_matrix
    windows: csr_matrix
    formulas: Formulas


class TermReader:
    """Returns the terms of texts, each with the word as it is written: ``(stem, word)``.

    A stem has 3 to 80 letters, is no number and of no function word. Of scripts that write no spaces a pair of
    characters is a term.
    """

    def __init__(self) -> None:
        self._lexicon = Lexicon()
        self._function_words: dict[str, frozenset[str]] = {}
        self._known: dict[tuple[str, str], tuple[tuple[str, str], ...]] = {}

    def terms(self, given: ObjectText, formulas: Formulas | None = None) -> list[tuple[str, str]]:
        """Return the terms of an object's text in order, without those of formulas."""
        language, code, known = self._lexicon.language(given.language), given.language, self._known
        if len(known) > _MAX_CACHED:
            known.clear()
        found: list[tuple[str, str]] = []
        chunks = _chunks(given)
        left = chunks if formulas is None else compress(chunks, ~formulas.held(chunks))
        for chunk in left:
            terms = known.get((code, chunk))
            if terms is None:
                terms = tuple(_terms(chunk, language, self._function_words_of(language)))
                if len(chunk) <= _MAX_CHUNK:
                    known[code, chunk] = terms
            found.extend(terms)
        return found

    def _function_words_of(self, language: Language) -> frozenset[str]:
        code = language.code or ""
        if code not in self._function_words:
            listed = function_words((code,)) if code else ()
            self._function_words[code] = frozenset(map(str.casefold, listed))
        return self._function_words[code]


def _chunks(given: ObjectText) -> list[str]:
    return given.text[:MAX_CHARACTERS].split()


def _terms(chunk: str, language: Language, left_out: Container[str]) -> Iterator[tuple[str, str]]:
    terms = language.terms_of(chunk)
    words = [word for word in _WORD.findall(chunk) if language.terms_of(word)]
    for number, term in enumerate(terms):
        written = words[number] if len(words) == len(terms) else term
        if is_unspaced(term):
            yield term, term
        elif not _MIN_LETTERS <= len(term) <= _MAX_LETTERS or term.isdigit() or written.casefold() in left_out:
            continue
        elif not _NEGATED.match(chunk, chunk.find(written) + len(written)):
            yield term, written


def sampled_words(objects: Objects, reader: TermReader) -> dict[str, Words]:
    """Return the words of a sample of the texts of each language that has enough, reading all objects four times.

    The sample depends on nothing but the texts, so neither do the words, and copies of a text count once.
    """
    samples = _samples(objects, reader)
    texts: dict[str, list[list[str]]] = {code: [] for code in samples}
    for given, _ in _chosen(objects, samples):
        texts[given.language].append(_chunks(given)[:MAX_WORDS])
    formulas = {code: Formulas(texts.pop(code)) for code in samples}
    frequencies = {code: DocumentFrequencies() for code in samples}
    for given, _ in _chosen(objects, samples):
        terms = reader.terms(given, formulas[given.language])
        frequencies[given.language].add({term for term, _ in terms})
    gathered = {code: _Gathered(counted, formulas[code]) for code, counted in frequencies.items()}
    for given, digest in _chosen(objects, samples):
        gathered[given.language].add(digest, reader.terms(given, formulas[given.language]))
    return {code: each.words() for code, each in gathered.items()}


def _samples(objects: Objects, reader: TermReader) -> dict[str, frozenset[int]]:
    """Return the digests of the texts that are looked at, by language."""
    samples: dict[str, _Sample] = {}
    for given in objects():
        if given.language and len({term for term, _ in reader.terms(given)}) >= _MIN_TERMS:
            samples.setdefault(given.language, _Sample()).add(_digest(given))
    widest = sorted(samples, key=lambda code: (-samples[code].texts, code))[:MAX_LANGUAGES]
    return {code: frozenset(samples[code].chosen) for code in widest if len(samples[code].chosen) >= MIN_TEXTS}


class _Sample:
    """The digests of some different texts: the least of all, so that their order does not matter."""

    def __init__(self) -> None:
        self.texts = 0
        self.chosen: set[int] = set()
        self._greatest: list[int] = []

    def add(self, digest: int) -> None:
        self.texts += 1
        if digest in self.chosen:
            return
        if len(self._greatest) < MAX_SAMPLE:
            heappush(self._greatest, -digest)
        else:
            dropped = -heappushpop(self._greatest, -digest)
            self.chosen.discard(dropped)
            if dropped == digest:
                return
        self.chosen.add(digest)


def _digest(given: ObjectText) -> int:
    text = " ".join(given.text[:MAX_CHARACTERS].split()).casefold()
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _chosen(objects: Objects, samples: Mapping[str, frozenset[int]]) -> Iterator[tuple[ObjectText, int]]:
    """Yield an object and the digest of its text for each text of the samples, each once."""
    left = {code: set(digests) for code, digests in samples.items()}
    for given in objects():
        if given.language in left and (digest := _digest(given)) in left[given.language]:
            left[given.language].discard(digest)
            yield given, digest


class _Gathered:
    """The terms of texts as numbers, those of hardly any text left out."""

    def __init__(self, frequencies: DocumentFrequencies, formulas: Formulas) -> None:
        self._frequencies, self._formulas = frequencies, formulas
        self._least = max(_MIN_HOLDERS, frequencies.least(4 * MAX_VOCABULARY))
        self._numbers: dict[str, int] = {}
        self._spelt: list[Counter[str]] = []
        self._texts: list[tuple[int, array[int]]] = []

    def add(self, digest: int, terms: Sequence[tuple[str, str]]) -> None:
        """Take a text; where its terms are rare -1 stands, for what is together."""
        numbers = array("i")
        for term, written in terms:
            number = self._numbers.get(term, -1)
            if number < 0 and self._frequencies[term] >= self._least:
                number = self._numbers[term] = len(self._numbers)
                self._spelt.append(Counter())
            if number >= 0:
                self._spelt[number][_plainly(written)] += 1
            numbers.append(number)
        self._texts.append((digest, numbers))

    def words(self) -> Words:
        """Return the words of all texts, in an order that is always the same."""
        self._texts.sort(key=lambda text: text[0])
        texts = [np.frombuffer(numbers, np.int32) for _, numbers in self._texts]
        counts = _matrix(texts, len(self._numbers))
        holders = np.asarray((counts > 0).sum(axis=0)).ravel()
        kept = [
            (-int(holders[number]), term, number)
            for term, number in self._numbers.items()
            if _MIN_HOLDERS <= holders[number] <= max(_MIN_HOLDERS, _MAX_HOLDING * len(texts))
        ]
        chosen = sorted((term, number) for _, term, number in sorted(kept)[:MAX_VOCABULARY])
        columns = [number for _, number in chosen]
        windows = [text[at : at + _WINDOW] for text in texts for at in range(0, len(text), _WINDOW)]
        return Words(
            tuple(term for term, _ in chosen),
            tuple(min(self._spelt[number].items(), key=lambda each: (-each[1], each[0]))[0] for number in columns),
            counts[:, columns],
            (_matrix(windows, len(self._numbers))[:, columns] > 0).astype(np.float64),
            self._formulas,
        )


def _plainly(written: str) -> str:
    """Return a word in one of three ways to write it, so that nobody can write it in too many."""
    return written if written.islower() or written.isupper() or written.istitle() else written.casefold()


def _matrix(texts: Sequence[np.ndarray[tuple[int], np.dtype[np.int32]]], width: int) -> csr_matrix:
    """Return how often each number from 0 on is in each text."""
    rows = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    columns = np.concatenate(texts) if texts else np.empty(0, np.int32)
    known = columns >= 0
    ones = np.ones(int(known.sum()))
    return csr_matrix((ones, (rows[known], columns[known])), shape=(len(texts), width))

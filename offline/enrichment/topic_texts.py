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
from typing import Final, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from offline.enrichment.annotator import ObjectText
from offline.enrichment.document_frequencies import DocumentFrequencies
from online_analysis.terms import Language, Lexicon, function_words, is_unspaced

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
        phrases = _phrases(words)
        places = np.searchsorted(self._known[:-1], phrases)
        known = self._known[places] == phrases
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


NAMING_TERMS: Final = 10
"""Terms that a topic is judged by."""
NUMBERS: Final = (2, 3, 4, 5, 6, 8, 10, 12, 15, 18, 22, 27, 33, 40)
"""The numbers of topics that are tried."""
MIN_COHERENCE: Final = 0.1
"""Coherence below which the terms of a topic meet hardly more often than by chance."""
MIN_SHARE: Final = 0.4
"""The share of a text from which on it is said to be of a topic."""
_GOOD: Final = 0.9
"""The share of the best from which on a number does about as well."""
_CLEARLY: Final = 0.6
"""The share of the best below which a number does clearly worse."""
_LARGE: Final = 10
_MUCH_WORSE: Final = 0.75
_MAX_WORSE: Final = 3
_MAX_DIPS: Final = 2
_TINY: Final = 1e-12

Numbers = NDArray[np.float64]


class FittedTopics(Protocol):
    """Topics that a model has found in texts."""

    @property
    def terms(self) -> Numbers:
        """How much each term of the vocabulary (columns) names each topic (rows), 0 or more."""

    def shares(self, counts: csr_matrix) -> Numbers:
        """Return which share of each text (rows) is of each topic (columns), by the counts of its terms.

        A row adds up to 1, or to 0 where the text has none of the terms, and depends on no other text.
        """


class TopicModel(Protocol):
    """A way to find topics. Equal counts give equal topics."""

    @property
    def name(self) -> str:
        """What it is known by, and in which version."""

    def fit(self, counts: csr_matrix, number: int) -> FittedTopics:
        """Find a number of topics in the counts of terms (columns) in texts (rows), neither of them empty."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """Topics that were tried, the coherence of each, and how well they do together."""

    fitted: FittedTopics
    coherence: Numbers
    quality: float

    @classmethod
    def of(cls, fitted: FittedTopics, words: Words) -> Self:
        naming = [[term for term, _ in ranked_terms(row, NAMING_TERMS)] for row in fitted.terms]
        coherent = np.array([coherence(words.windows, terms) for terms in naming])
        named = [term for terms in naming for term in terms]
        diversity = len(set(named)) / max(1, len(named))
        told = (fitted.shares(words.counts) >= MIN_SHARE) & (coherent >= MIN_COHERENCE)
        return cls(fitted, coherent, float(coherent.mean() * diversity * told.any(axis=1).mean()))


def best_topics(words: Words, model: TopicModel, most: int, former: int = 0) -> tuple[FittedTopics, Numbers]:
    """Return topics, as many as do best, at most ``most``, and the coherence of each.

    How well a number does is the mean coherence of its topics by the share of their naming terms that name no other
    topic (topic quality: Dieng, Ruiz and Blei, 2020), by the share of the texts that they tell of. Taken is the number
    of a ``former`` run unless another one does clearly better, else the greatest that does about as well as the best,
    up to where two in a row do not: fewer topics may be as coherent, but join what is not together. Numbers are tried
    upwards until three in a row, all of them large, do much worse.
    """
    tried: dict[int, _Trial] = {}
    best, worse = 0.0, 0
    for number in sorted({*NUMBERS, former}):
        if number < min(NUMBERS) or number > most or (worse >= _MAX_WORSE and number != former):
            continue
        tried[number] = _Trial.of(model.fit(words.counts, number), words)
        best = max(best, tried[number].quality)
        worse = worse + 1 if number > _LARGE and tried[number].quality < _MUCH_WORSE * best else 0
    if former in tried and tried[former].quality >= _CLEARLY * best:
        chosen = former
    else:
        chosen = max(tried, key=lambda number: (tried[number].quality, number))
        worse = 0
        for number, trial in tried.items():
            if number > chosen and worse < _MAX_DIPS:
                chosen, worse = (number, 0) if trial.quality >= _GOOD * best else (chosen, worse + 1)
    return tried[chosen].fitted, tried[chosen].coherence


def ranked_terms(weights: Numbers, most: int) -> list[tuple[int, float]]:
    """Return the terms of a topic with their weights, the weightiest first, of equal ones the first in the vocabulary.

    The first weight is 1. Weights are given to three digits: further ones may be others on another machine.
    """
    rounded = np.round(weights / max(float(weights.max(initial=0)), _TINY), 3)
    order = np.lexsort((np.arange(len(rounded)), -rounded))[:most]
    return [(int(term), float(rounded[term])) for term in order if rounded[term] > 0]


def coherence(windows: csr_matrix, terms: Sequence[int]) -> float:
    """Return how much terms keep together: the mean NPMI of their pairs over windows of the texts, from -1 to 1.

    Normalised pointwise mutual information (Bouma, 2009) is 0 of terms that meet by chance and 1 of such as are only
    met together; as a measure of topics it agrees with people best (Röder, Both and Hinneburg, 2015). Fewer than two
    terms have none: 0.
    """
    if len(terms) < 2:
        return 0.0
    chosen = windows[:, list(terms)]
    together = np.asarray((chosen.T @ chosen).todense(), np.float64) / windows.shape[0]
    alone = np.diag(together)
    first, second = np.triu_indices(len(terms), 1)
    both = together[first, second]
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(both / (alone[first] * alone[second])) / -np.log(both)
    return float(np.mean(np.where(both <= 0, -1.0, np.where(both >= 1, 0.0, npmi))))

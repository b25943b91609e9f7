"""From text to weighted terms, by language: tokens, stop words, stems, and how distinctive a term is (idf).

Background frequencies come from ``wordfreq`` (44 languages, Greek and Chinese among them): they need no state, so a
page has the same score at the start of a crawl, at its end, after a restart, and on every worker. What its small lists
give takes about 0.1 s a language to work out, and is kept for later processes (``online_analysis.private_cache``). For
other languages terms are judged by their length, until the crawl has seen a hundred pages
(``online_analysis.topic_learning``).

The files are read by themselves: to import the package takes a tenth of a second, for tokenizers that are not used.
"""

import gzip
import math
import re
import string
import unicodedata
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from hashlib import sha256
from importlib.util import find_spec
from itertools import chain, islice, pairwise
from pathlib import Path
from runpy import run_path
from struct import Struct
from sys import byteorder
from typing import BinaryIO
from zlib import crc32

import msgpack
import Stemmer

from online_analysis.language_model import identifier
from online_analysis.private_cache import cached

_HEAD = Struct("<8sIQQ")
_MARK = b"numbers" + byteorder[:1].encode()


class NumberTable:
    """Texts with their numbers, which are found by halving what is left: some microseconds each."""

    def __init__(self, packed: bytes) -> None:
        """Take what ``pack`` returned. Raises ``ValueError`` for anything else."""
        if len(packed) < _HEAD.size or not packed.startswith(_MARK):
            raise ValueError("no table of numbers")
        _, checksum, count, letters = _HEAD.unpack_from(packed)
        view = memoryview(packed)[_HEAD.size :]
        if len(view) != 8 * count + 4 * (count + 1) + letters or crc32(view) != checksum:
            raise ValueError("a table of numbers that is not whole")
        self._numbers = view[: 8 * count].cast("d")
        self._starts = view[8 * count : 8 * count + 4 * (count + 1)].cast("I")
        self._letters = bytes(view[len(view) - letters :])

    def __len__(self) -> int:
        return len(self._numbers)

    def get(self, text: str) -> float | None:
        """Return the number of a text, None where it has none."""
        wanted, letters, starts = text.encode("utf-8", "surrogatepass"), self._letters, self._starts
        low, high = 0, len(self._numbers)
        while low < high:
            middle = (low + high) // 2
            here = letters[starts[middle] : starts[middle + 1]]
            if here == wanted:
                return self._numbers[middle]
            if here < wanted:
                low = middle + 1
            else:
                high = middle
        return None


def pack(numbers: Mapping[str, float]) -> bytes:
    """Return texts and numbers as a table takes them.

    >>> table = NumberTable(pack({"boat": 2.5, "auk": 0.1}))
    >>> table.get("boat"), table.get("auk"), table.get("a"), len(table)
    (2.5, 0.1, None, 2)
    """
    rows = sorted((text.encode("utf-8", "surrogatepass"), number) for text, number in numbers.items())
    starts = array("I", [0])
    for text, _ in rows:
        starts.append(starts[-1] + len(text))
    letters = b"".join(text for text, _ in rows)
    values = array("d", (number for _, number in rows))
    body = values.tobytes() + starts.tobytes() + letters
    return _HEAD.pack(_MARK, crc32(body), len(rows), len(letters)) + body


_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Korean, Japanese, Chinese: written without spaces, or with few."""
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]")
_WORD = re.compile(f"(?:[^\\W_{_UNSPACED}]|[{_MARKS}])+")
_WORD_OR_RUN = re.compile(f"[{_UNSPACED}]+|(?:[^\\W_{_UNSPACED}]|[{_MARKS}])+")
_ASCII_WORD = re.compile("[a-z0-9]+")

_MAX_WORD_LENGTH = 64
_CACHED_WORDS = 100_000
_STOP_POWER, _ALWAYS_STOP_POWER = 3, 2
_UNSEEN_FREQUENCY = 5e-7
_NUMBER_FREQUENCY = 1e-4
_PAGE_WORDS = 300
PAGES_BEFOREHAND = 10
"""Pages that what is thought of a term beforehand counts as, beside those that were counted."""
MIN_IDF = 0.05
"""The idf of terms that are on nearly all pages."""
_LANGUAGE_SAMPLE = 1_000
_MIN_SAMPLE_LENGTH = 40
_LIKELY = 0.8
_WIDELY_WRITTEN = ("en", "de", "fr", "es")

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
_FUNCTION_WORD_LISTS = {"sh": ("hr", "sr"), "fil": ("tl",)}
_WORD_LISTS = {"no": "nb", "nn": "nb", "sr": "sh", "hr": "sh", "bs": "sh", "tl": "fil"}


def tokenize(text: str) -> list[str]:
    """Split text into case-folded words; scripts that write no spaces give overlapping pairs of characters.

    Compatible characters are unified (NFKC). Single letters and digits are left out, they say nothing.

    >>> tokenize("Ｓolar Power, 気候変動!")
    ['solar', 'power', '気候', '候変', '変動']
    """
    if text.isascii():
        words = _ASCII_WORD.findall(text.lower())
    else:
        folded = unicodedata.normalize("NFKC", text).casefold()
        if not unicodedata.is_normalized("NFKC", folded):
            folded = unicodedata.normalize("NFKC", folded)
        if _UNSPACED_RUN.search(folded):
            return list(_with_pairs(_WORD_OR_RUN.findall(folded)))
        words = _WORD.findall(folded)
    return [word for word in words if 1 < len(word) <= _MAX_WORD_LENGTH]


def is_unspaced(text: str) -> bool:
    """Return whether a text holds characters of a script that writes no spaces between words, or few.

    >>> is_unspaced("太阳 power"), is_unspaced("power")
    (True, False)
    """
    return bool(_UNSPACED_RUN.search(text))


def _with_pairs(runs: Iterable[str]) -> Iterator[str]:
    for run in runs:
        if not _UNSPACED_RUN.match(run):
            if 1 < len(run) <= _MAX_WORD_LENGTH:
                yield run
        elif len(run) == 1:
            yield run
        else:
            yield from map("".join, pairwise(run))


@dataclass(frozen=True, slots=True)
class TermVector:
    """A sparse vector over terms."""

    weights: Mapping[str, float]

    @property
    def norm(self) -> float:
        """The Euclidean length."""
        return math.sqrt(math.fsum(weight * weight for weight in self.weights.values()))

    def cosine(self, other: "TermVector") -> float:
        """Return the cosine of the angle between two vectors, 0 where one of them is empty.

        >>> round(TermVector({"a": 1.0, "b": 1.0}).cosine(TermVector({"a": 2.0})), 3)
        0.707
        """
        lengths = self.norm * other.norm
        if not lengths:
            return 0.0
        dot = math.fsum(weight * other.weights.get(term, 0.0) for term, weight in self.weights.items())
        return max(-1.0, min(1.0, dot / lengths))


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The number of pages in a language that have each term; missing terms were on none, or on hardly any."""

    pages: int
    holding: Mapping[str, int]


class _Stems(dict[str, str]):
    """Remembers the term of each word, "" for a stop word, for a bounded number of words."""

    def __init__(self, algorithm: str | None, stop_words: frozenset[str]) -> None:
        super().__init__()
        self._stemmer = Stemmer.Stemmer(algorithm, 0) if algorithm in Stemmer.algorithms() else None
        self._stop_words = stop_words

    def all(self, words: Sequence[str]) -> Sequence[str]:
        """Work out the terms of words; they are not remembered."""
        stems, stop_words = self._stemmer.stemWords(words) if self._stemmer else words, self._stop_words
        return [
            "" if word in stop_words else word if word.isdigit() else stem
            for word, stem in zip(words, stems, strict=True)
        ]

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        if word in self._stop_words:
            term = ""
        else:
            term = self._stemmer.stemWord(word) if self._stemmer and not word.isdigit() else word
        self[word] = term
        return term


class _Chunks(dict[str, tuple[str, ...]]):
    """Remembers the terms of chunks between white space, for a bounded number of them.

    No word reaches over white space, and most of a text is chunks that were met before, so that hardly any of it is
    folded, normalised and matched with an expression, which takes most of the time.
    """

    def __init__(self, stems: _Stems) -> None:
        super().__init__()
        self._stems = stems

    def of(self, chunk: str) -> tuple[str, ...]:
        """Work out the terms of a chunk; they are not remembered."""
        stems = self._stems
        inner = chunk.strip(string.punctuation)
        plain = inner.isascii() and inner.isalnum() and 1 < len(inner) <= _MAX_WORD_LENGTH
        return tuple([term for word in ((inner.lower(),) if plain else tokenize(chunk)) if (term := stems[word])])

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        terms = self.of(chunk)
        if len(chunk) <= _MAX_WORD_LENGTH:
            if len(self) >= _CACHED_WORDS:
                self.clear()
            self[chunk] = terms
        return terms


class _Idf(dict[str, float]):
    """The idf of each term, remembered for a bounded number; that of terms which no list holds is estimated."""

    def __init__(self, known: NumberTable | None, *, listed: bool) -> None:
        super().__init__()
        self._known = known
        self._listed = listed

    def __missing__(self, term: str) -> float:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        known = self._known.get(term) if self._known is not None else None
        self[term] = idf = self._estimated(term) if known is None else known
        return idf

    def _estimated(self, term: str) -> float:
        if term.isdigit():
            return _term_idf(term, _NUMBER_FREQUENCY)
        if self._listed:
            return _UNSEEN_IDF * _portion(term)
        return _term_idf(term, max(_UNSEEN_FREQUENCY, 10 ** (-1.5 - 0.5 * len(term))))


class _LearnedIdf(_Idf):
    """The idf of each term of a language without a frequency list, by the pages seen in it.

    The prior of a term counts as ten pages (additive smoothing), so the idf of one that was on no page grows with the
    number of pages, up to that of words that lists do not hold.
    """

    def __init__(self, frequencies: Frequencies) -> None:
        super().__init__(None, listed=False)
        self._frequencies = frequencies

    def __missing__(self, term: str) -> float:
        portion = _portion(term)
        beforehand = math.exp(-super().__missing__(term) / portion)
        holding = self._frequencies.holding.get(term, 0) + PAGES_BEFOREHAND * beforehand
        share = holding / (self._frequencies.pages + PAGES_BEFOREHAND)
        self[term] = idf = portion * max(MIN_IDF, min(_UNSEEN_IDF, -math.log(share)))
        return idf


def idf_of(frequency: float) -> float:
    """Return the idf of a term that makes up ``frequency`` of all words.

    With occurrences spread by chance (Poisson), a page of 300 words holds the term with probability
    ``1 - exp(-300 * frequency)``; its idf is the logarithm of one over that.
    """
    return -math.log(-math.expm1(-_PAGE_WORDS * frequency))


_UNSEEN_IDF = idf_of(_UNSEEN_FREQUENCY)


def _term_idf(term: str, frequency: float) -> float:
    return idf_of(frequency) * _portion(term)


def _portion(term: str) -> float:
    """Return the weight of a term: a pair of characters counts half (squared), since each character is in two pairs."""
    return math.sqrt(0.5) if len(term) == 2 and _UNSPACED_RUN.match(term) else 1.0


class Language:
    """The words of one language. Equal texts give equal terms, whatever was seen before. Not thread-safe.

    ``frequencies`` are those learned for a language without a word list.
    """

    def __init__(self, code: str | None, frequencies: Frequencies | None = None) -> None:
        self.code = code
        self._frequencies = frequencies
        self._lists = _word_lists(code)
        stop_words = frozenset[str]().union(*map(_stop_words, self._lists))
        self._stems = _Stems(_STEMMERS.get(code or ""), stop_words)
        self._chunks = _Chunks(self._stems)

    def terms(self, text: str) -> list[str]:
        """Return the stems of the words of a text, in order, without stop words."""
        return list(chain.from_iterable(map(self._chunks.__getitem__, text.split())))

    def terms_of(self, chunk: str) -> tuple[str, ...]:
        """Return the terms of a chunk without white space, for callers that remember the result themselves."""
        return self._chunks.of(chunk)

    def stems(self, words: Sequence[str]) -> Sequence[str]:
        """Return the term of each of some case-folded words, empty for a stop word."""
        return self._stems.all(words)

    def words(self, text: str) -> list[str]:
        """Return the words of a text in order, without those that are frequent in this language."""
        return [word for word in tokenize(text) if self._chunks[word]]

    @cached_property
    def idf(self) -> Mapping[str, float]:
        """The idf of any term of this language. Every look-up succeeds."""
        if self._frequencies is not None:
            return _LearnedIdf(self._frequencies)
        return _Idf(listed_idf(self.code) if self._lists else None, listed=bool(self._lists))


@lru_cache(maxsize=64)
def listed_idf(code: str | None) -> NumberTable:
    """Return the idf of each term that the word lists of a language hold."""
    return cached(
        f"idf-{code or 'undetermined'}",
        _sources_digest(code),
        lambda file: file.write(pack(_worked_out_idf(code))),
        _read_table,
    )


def _worked_out_idf(code: str | None) -> dict[str, float]:
    language = Language(code)
    known: dict[str, float] = {}
    for name in _word_lists(code):
        here: defaultdict[str, float] = defaultdict(float)
        for power, words in enumerate(word_groups(name)):
            for term in language.terms(" ".join(words)):
                here[term] += 10 ** (-power / 100)
        for term, frequency in here.items():
            known[term] = max(frequency, known.get(term, 0.0))
    return {term: _term_idf(term, frequency) for term, frequency in known.items()}


def _sources_digest(code: str | None) -> str:
    """Return a digest of all that the idf of listed terms are worked out from."""
    digest = sha256(f"{code} {unicodedata.unidata_version} {Stemmer.version()}".encode())
    digest.update(Path(__file__).read_bytes())
    for name in _word_lists(code):
        digest.update(list_file(name).read_bytes())
        digest.update(" ".join(sorted(_function_words(name))).encode())
    return digest.hexdigest()


def _read_table(file: BinaryIO) -> NumberTable:
    with file:
        return NumberTable(file.read())


class Lexicon:
    """The languages that a crawl has met, each loaded when first asked for.

    ``learned`` are frequencies by language; those of languages that have a word list are left aside.
    """

    def __init__(self, learned: Mapping[str, Frequencies] | None = None) -> None:
        self._languages: dict[str | None, Language] = {}
        self._learned = {code: each for code, each in (learned or {}).items() if not has_word_list(code)}

    def language(self, code: str | None) -> Language:
        """Return a language by its ISO 639-1 code.

        None, or another string, is an undetermined language: nothing is stemmed, and words that are frequent in one of
        some widely written languages count as frequent.
        """
        if code is not None:
            code = code.lower().partition("-")[0]
        known = code if code in _STEMMERS or has_word_list(code) or code in self._learned else None
        if known not in self._languages:
            self._languages[known] = Language(known, self._learned.get(known or ""))
        return self._languages[known]

    def language_of(self, text: str) -> str | None:
        """Return the ISO 639-1 code of the language that a text is most likely in, None where nothing tells."""
        sample = text[:_LANGUAGE_SAMPLE]
        if sum(map(str.isalpha, sample)) < _MIN_SAMPLE_LENGTH:
            return None
        code, confidence = identifier().classify(sample)
        return str(code) if confidence >= _LIKELY else None

    def has_usable_term(self, text: str, languages: Iterable[str] = ()) -> bool:
        """Return whether a text holds anything but stop words and punctuation, in one of the languages given."""
        return any(self.language(code).terms(text) for code in tuple(languages) or (None,))


def has_word_list(code: str | None) -> bool:
    """Return whether the frequencies of a language's words are known (ISO 639-1).

    >>> has_word_list("el"), has_word_list("eu")
    (True, False)
    """
    return code is not None and _WORD_LISTS.get(code, code) in listed_languages()


def _word_lists(code: str | None) -> tuple[str, ...]:
    """Name the lists of a language; for one of which nothing is known, those of widely written ones."""
    if has_word_list(code):
        return (_WORD_LISTS.get(code or "", code or ""),)
    return () if code in _STEMMERS else _WIDELY_WRITTEN


@lru_cache(maxsize=64)  # To read the compressed lists takes nine tenths of the time of a definition's reading.
def _stop_words(name: str) -> frozenset[str]:
    """Return the stop words of a language, which tell nothing of a text's subject; ``name`` is that of a word list.

    They are those that make up a hundredth of all words or more, and function words that make up a thousandth: many
    others are as frequent and yet possible subjects of a crawl, such as time or people. The frequency list is grouped
    by hundredths of a power of ten.
    """
    known = _function_words(name)
    found = set[str]()
    for power, words in enumerate(islice(word_groups(name), 100 * _STOP_POWER + 1)):
        is_most_frequent = power <= 100 * _ALWAYS_STOP_POWER
        found.update(word for word in words if is_most_frequent or not known or word in known)
    return frozenset(found)


@lru_cache(maxsize=64)
def _function_words(name: str) -> frozenset[str]:
    """Return the words that spaCy lists as stop words of a language, as tokens; none where it has no list."""
    listed = function_words(_FUNCTION_WORD_LISTS.get(name, (name,)))
    return frozenset(chain.from_iterable(map(tokenize, listed)))


_KIND = "small"


@cache
def listed_languages() -> frozenset[str]:
    """Return the codes of the languages that have a list."""
    return frozenset(file.name.split(".")[0].removeprefix(f"{_KIND}_") for file in _folder().glob(f"{_KIND}_*"))


def list_file(code: str) -> Path:
    """Return the file of a language's list."""
    return _folder() / f"{_KIND}_{code}.msgpack.gz"


def word_groups(code: str) -> Iterator[list[str]]:
    """Yield the words of each hundredth of a power of ten, most frequent ones first; read as far as they are asked for.

    The group at place n has the words that make up ``10 ** (-n / 100)`` of a text.
    """
    with gzip.open(list_file(code)) as opened:
        unpacker = msgpack.Unpacker(opened)
        count = unpacker.read_array_header()
        header = unpacker.unpack()
        if header != {"format": "cB", "version": 1}:
            raise ValueError(f"{list_file(code)}: another format than that of word lists: {header}")
        for _ in range(count - 1):
            yield unpacker.unpack()


def function_words(codes: tuple[str, ...]) -> Iterator[str]:
    """Yield the stop words that spaCy lists of languages, none where it has no list.

    The files are read by themselves: to import spaCy takes half a second.
    """
    found = find_spec("spacy")
    folder = Path(found.origin).parent / "lang" if found is not None and found.origin is not None else None
    files = [folder / code / "stop_words.py" for code in codes] if folder is not None else []
    return chain.from_iterable(run_path(str(file))["STOP_WORDS"] for file in files if file.is_file())


@cache
def _folder() -> Path:
    found = find_spec("wordfreq")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("wordfreq is not installed; it has the lists of words", name="wordfreq")
    return Path(found.origin).parent / "data"

"""From text to weighted terms: tokens, stop words, stems, and how much a term says (idf), per language.

Background frequencies come from ``wordfreq`` (44 languages, Greek and Chinese among them): they need no state, so a
page has the same score at the start of a crawl, at its end, after a restart, and on every worker. Its small lists
cost about 0.2 s and 5 MB a language, paid when the first page of that language is met.
"""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise

import Stemmer
import wordfreq

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

_LONGEST_WORD = 64
_CACHED_WORDS = 100_000
_STOP_POWER = 3
_UNSEEN_FREQUENCY = 5e-7
_NUMBER_FREQUENCY = 1e-4
_PAGE_WORDS = 300
_WIDELY_WRITTEN = ("en", "de", "fr", "es")

_STEMMERS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english",
    "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish",
    "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian",
    "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali", "nl": "dutch", "nn": "norwegian",
    "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian",
    "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
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
    return [word for word in words if 1 < len(word) <= _LONGEST_WORD]


def _with_pairs(runs: Iterable[str]) -> Iterator[str]:
    for run in runs:
        if not _UNSPACED_RUN.match(run):
            if 1 < len(run) <= _LONGEST_WORD:
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


class _Stems(dict[str, str]):
    """Remembers the term of each word, "" for a stop word, for a bounded number of words."""

    def __init__(self, algorithm: str | None, stop_words: frozenset[str]) -> None:
        super().__init__()
        self._stemmer = Stemmer.Stemmer(algorithm, 0) if algorithm in Stemmer.algorithms() else None
        self._stop_words = stop_words

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHED_WORDS:
            self.clear()
        if word in self._stop_words:
            term = ""
        else:
            term = self._stemmer.stemWord(word) if self._stemmer and not word.isdigit() else word
        self[word] = term
        return term


class _Idf(dict[str, float]):
    """The idf of each term; those that no list holds are estimated, and remembered for a bounded number."""

    def __init__(self, known: Mapping[str, float], *, listed: bool) -> None:
        super().__init__({term: _term_idf(term, frequency) for term, frequency in known.items()})
        self._bound = len(self) + _CACHED_WORDS
        self._known = frozenset(known)
        self._listed = listed

    def __missing__(self, term: str) -> float:
        if len(self) >= self._bound:
            for unknown in [each for each in self if each not in self._known]:
                del self[unknown]
        if term.isdigit():
            frequency = _NUMBER_FREQUENCY
        elif self._listed:
            frequency = _UNSEEN_FREQUENCY
        else:
            frequency = max(_UNSEEN_FREQUENCY, 10 ** (-1.5 - 0.5 * len(term)))
        self[term] = idf = _term_idf(term, frequency)
        return idf


def idf_of(frequency: float) -> float:
    """Return the idf of a term that makes up ``frequency`` of all words.

    With occurrences spread by chance (Poisson), a page of 300 words holds the term with probability
    ``1 - exp(-300 * frequency)``; its idf is the logarithm of one over that.
    """
    return -math.log(-math.expm1(-_PAGE_WORDS * frequency))


def _term_idf(term: str, frequency: float) -> float:
    """Weigh a pair of characters by half (squared): pairs overlap, so each character stands in two of them."""
    return idf_of(frequency) * (math.sqrt(0.5) if _UNSPACED_RUN.match(term) and len(term) == 2 else 1.0)


class Language:
    """The words of one language. Equal texts give equal terms, whatever was seen before. Not for several threads."""

    def __init__(self, code: str | None) -> None:
        self.code = code
        self._lists = _WIDELY_WRITTEN if code is None else (_WORD_LISTS.get(code, code),) if _listed(code) else ()
        self._stems = _Stems(_STEMMERS.get(code or ""), frozenset(chain.from_iterable(map(_stop_words, self._lists))))

    def terms(self, text: str) -> list[str]:
        """Return the stems of the words of a text, in order, without stop words."""
        stems = self._stems
        return [term for word in tokenize(text) if (term := stems[word])]

    @cached_property
    def idf(self) -> Mapping[str, float]:
        """The idf of any term of this language. Every look-up succeeds."""
        known: dict[str, float] = {}
        for name in self._lists:
            here: defaultdict[str, float] = defaultdict(float)
            for power, words in enumerate(wordfreq.get_frequency_list(name, "small")):
                for term in self.terms(" ".join(words)):
                    here[term] += 10 ** (-power / 100)
            for term, frequency in here.items():
                known[term] = max(frequency, known.get(term, 0.0))
        return _Idf(known, listed=bool(self._lists))


class Lexicon:
    """The languages that a crawl has met, each loaded when first asked for."""

    def __init__(self) -> None:
        self._languages: dict[str | None, Language] = {}

    def language(self, code: str | None) -> Language:
        """Return a language by its ISO 639-1 code.

        None, and what is no such code, is an undetermined one: nothing is stemmed, and words that are frequent in
        one of some widely written languages count as frequent.
        """
        if code is not None:
            code = code.lower().partition("-")[0]
        known = code if code in _STEMMERS or _listed(code) else None
        if known not in self._languages:
            self._languages[known] = Language(known)
        return self._languages[known]

    def has_usable_term(self, text: str, languages: Iterable[str] = ()) -> bool:
        """Tell whether a text holds anything but stop words and punctuation, in one of the languages given."""
        return any(self.language(code).terms(text) for code in tuple(languages) or (None,))


def _listed(code: str | None) -> bool:
    return code is not None and _WORD_LISTS.get(code, code) in wordfreq.available_languages("small")


def _stop_words(name: str) -> Iterator[str]:
    """Yield the words that make up a thousandth or more of all; the list is grouped by hundredths of a power of ten."""
    return chain.from_iterable(wordfreq.get_frequency_list(name, "small")[: 100 * _STOP_POWER + 1])

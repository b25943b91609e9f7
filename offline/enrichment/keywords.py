"""Finds the keywords of each text: the words that it uses and most other texts of the collection do not."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.document_frequencies import DocumentFrequencies
from online_analysis.suggestions import Term, TermCounts, distinctive_terms
from online_analysis.terms import Language, Lexicon

MAX_CHARACTERS: Final = 100_000
"""Characters of a text that are read, from its beginning."""
MAX_KEYWORDS: Final = 8
"""Keywords of a text at most."""
_WORDS_PER_KEYWORD: Final = 8
_MAX_LENGTH: Final = 80
_MAX_TRIED: Final = 4
"""Terms that are looked at for each keyword: some share a word with a better one."""
_TEXTS_BEFOREHAND: Final = 10
"""Texts that the background frequency of a word counts as (additive smoothing)."""
_MIN_IDF: Final = math.log(2)
"""A word of every second text distinguishes none."""
_WORD: Final = re.compile(r"\w+")


class Keywords:
    """Annotates each text with its most distinctive words and pairs of words, by tf-idf (Salton and Buckley, 1988).

    Words are counted by their stems and shown as the text writes them. The idf is that of the collection, text by text
    of one language, with the background frequency of the word as ten more texts, so that a single text has keywords,
    too. A text of eight words has one keyword, one of 64 and more has eight. Texts in scripts without spaces have none
    but what they write in others. ``confidence`` is the weight of a keyword beside the best of its text.
    """

    name = "keywords"
    version = "1"

    def annotate(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        known: Callable[[], Iterator[Annotation]],  # noqa: ARG002 - rests on the texts alone
    ) -> Iterator[Annotation]:
        """Annotate all objects, which are read twice."""
        lexicon, collection = Lexicon(), _Collection()
        for given in objects():
            collection.add(given.text[:MAX_CHARACTERS], lexicon.language(given.language or None))
        for given in objects():
            yield from self._keywords(given, collection.idf(lexicon.language(given.language or None)))

    def _keywords(self, given: ObjectText, idf: "_Idf") -> Iterator[Annotation]:
        text = given.text[:MAX_CHARACTERS]
        wanted = min(MAX_KEYWORDS, -(-sum(1 for _ in _WORD.finditer(text)) // _WORDS_PER_KEYWORD))
        found = distinctive_terms([text], idf.language, _MAX_TRIED * wanted, idf)
        kept = list(islice(_apart(term for term in found if term.distinction > 0), wanted))
        for term in kept:
            place = _first_place(text, term)
            if place is not None:
                yield Annotation(
                    object=given.object,
                    capture=given.capture,
                    kind=Kind.KEYWORD,
                    label=term.words,
                    annotator=self.name,
                    version=self.version,
                    confidence=round(term.distinction / kept[0].distinction, 4),
                    start=place[0],
                    end=place[1],
                    quote=text[place[0] : place[1]],
                    values=(("count", str(term.count)),),
                )


def _apart(terms: Iterable[Term]) -> Iterator[Term]:
    """Yield the terms that have no word in common with a better one."""
    seen: set[str] = set()
    for term in terms:
        words = term.words.casefold().split()
        if len(term.words) <= _MAX_LENGTH and seen.isdisjoint(words):
            seen.update(words)
            yield term


class _Collection:
    """In how many texts of each language each stem is."""

    def __init__(self) -> None:
        self._frequencies = DocumentFrequencies()
        self._texts: Counter[str | None] = Counter()

    def add(self, text: str, language: Language) -> None:
        """Count a text."""
        self._texts[language.code] += 1
        self._frequencies.add(f"{language.code} {stem}" for stem in TermCounts([text], language).words)

    def idf(self, language: Language) -> "_Idf":
        """Return the idf of the stems of a language."""
        return _Idf(language, self._frequencies, self._texts[language.code])


class _Idf:
    """The idf of a stem in the texts of a language, 0 of one that too many texts have."""

    def __init__(self, language: Language, frequencies: DocumentFrequencies, texts: int) -> None:
        self.language = language
        self._frequencies = frequencies
        self._texts = texts + _TEXTS_BEFOREHAND

    def __call__(self, stem: str) -> float:
        beforehand = _TEXTS_BEFOREHAND * math.exp(-self.language.idf[stem])
        idf = math.log(self._texts / (self._frequencies[f"{self.language.code} {stem}"] + beforehand))
        return idf if idf >= _MIN_IDF else 0.0


def _first_place(text: str, term: Term) -> tuple[int, int] | None:
    first, _, second = term.words.partition(" ")
    for start, end in _places(text, first):
        follows = re.compile(rf"[^\w.,;:!?]+{re.escape(second)}(?!\w)").match(text, end) if second else None
        if follows or not second:
            return start, follows.end() if follows else end
    return None


def _places(text: str, word: str) -> Iterator[tuple[int, int]]:
    """Yield where a word stands that is no part of another one."""
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (_WORD.match(text, end) or (start and _WORD.match(text[start - 1]))):
            yield start, end
        start = text.find(word, end)

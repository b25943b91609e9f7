"""Finds the keywords of each text: the words and names that it uses and most other texts of the collection do not."""

import math
import re
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import closing
from functools import cache
from itertools import islice
from typing import Final

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.page.date_parts import languages as languages_with_dates
from aahcrawler.page.date_parts import plain_letters, vocabulary
from offline.enrichment.annotator import ObjectText
from offline.enrichment.capitals import WITHOUT_CAPITALS, names_by_capitals, runs_in_headlines
from offline.enrichment.document_frequencies import DocumentFrequencies
from offline.enrichment.name_contexts import NAMED, folded_name
from offline.enrichment.word_dictionaries import noun_dictionary
from online_analysis.suggestions import SHORT, Term, distinctive_terms, stems_in
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
_MAX_KEPT: Final = 100_000
_WORD: Final = re.compile(r"\w+")
_AMOUNT: Final = re.compile(r"\d+[^\W\d_]{1,2}")
_UNSPACED: Final = re.compile(r"\S+")
_OF_CODE: Final = frozenset("/\\_=@~$")
_FILE: Final = re.compile(r"\w\.[a-z]\w{0,4}(?!\w)")
_GENITIVE: Final = re.compile(r"['’]?s$")


class Keywords:
    """Annotates each text with its most distinctive words, pairs of words and names (tf-idf: Salton and Buckley, 1988).

    Words are counted by their stems and shown as the text writes them. The idf is that of the collection, text by text
    of one language, with the background frequency of the word as ten more texts, so that a single text has keywords,
    too. A text of eight words has one keyword, one of 64 and more has eight. Texts in scripts without spaces have none
    but what they write in others. ``confidence`` is the weight of a keyword beside the best of its text.

    A name is one term: those that are known of the text, and what its capitals show where none is known. No part of a
    name of several words is a keyword.
    """

    name = "keywords"
    version = "2"

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        """Annotate all objects, which are read twice."""
        lexicon, collection = Lexicon(), _Collection()
        for given in objects():
            collection.add(given.text[:MAX_CHARACTERS], lexicon.language(given.language or None))
        with closing(sqlite3.connect("", isolation_level=None)) as base:
            known_names = _KnownNames(base, known())
            idfs: dict[str | None, _Idf] = {}
            for given in objects():
                text, language = given.text[:MAX_CHARACTERS], lexicon.language(given.language or None)
                if language.code not in idfs:
                    idfs[language.code] = collection.idf(language)
                names = _Names(text, given.language, known_names.of(given))
                yield from self._keywords(given, text, names, idfs[language.code])

    def _keywords(self, given: ObjectText, text: str, names: "_Names", idf: "_Idf") -> Iterator[Annotation]:
        number = len(_WORD.findall(text))
        wanted = min(MAX_KEYWORDS, -(-number // _WORDS_PER_KEYWORD))
        words = distinctive_terms([names.rest], idf.language, _MAX_TRIED * wanted, idf.__getitem__)
        dates = _words_of_dates(given.language)
        words = [term for term in words if not (names.have_of(term) or _is_of_measures(term, dates))]
        found = [*names.terms(idf, 1 if number <= SHORT else 2), *words]
        found.sort(key=lambda term: (-term.distinction, term.words))
        kept = list(islice(_apart(term for term in found if term.distinction > 0), wanted))
        for term in kept:
            place = names.first_place(term) or _first_place(names.rest, term)
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


@cache
def _words_of_dates(language: str) -> frozenset[str]:
    """Return the words of months and weekdays of a language, in plain letters."""
    known = vocabulary(language) if language in languages_with_dates() else None
    return frozenset() if known is None else frozenset((*known.months, *known.weekdays))


def _is_of_measures(term: Term, dates: Set[str]) -> bool:
    """Return whether a word of a term is of a date, or a number with its unit ("6bn", "19th")."""
    return any(plain_letters(word) in dates or _AMOUNT.fullmatch(word) for word in term.words.split())


def _code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of addresses, paths, names of files and the like, whose parts are no words of the text."""
    if _OF_CODE.isdisjoint(text) and not _FILE.search(text):
        return
    for found in _UNSPACED.finditer(text):
        if not _OF_CODE.isdisjoint(found[0]) or _FILE.search(found[0]):
            yield found.span()


_Place = tuple[int, int, str]
"""Where a name begins and ends in a text, and what it means."""


class _KnownNames:
    """The names that former steps found in texts, in a temporary table."""

    def __init__(self, base: sqlite3.Connection, known: Iterable[Annotation]) -> None:
        self._base = base
        base.execute("CREATE TABLE name (object TEXT, capture TEXT, start INTEGER, end INTEGER, label TEXT)")
        base.execute("BEGIN")
        rows = (
            (each.object, each.capture, each.start, each.end, each.label)
            for each in known
            if each.kind in NAMED and each.start >= 0
        )
        base.executemany("INSERT INTO name VALUES (?, ?, ?, ?, ?)", rows)
        base.execute("COMMIT")
        base.execute("CREATE INDEX name_by_object ON name (object, capture)")

    def of(self, given: ObjectText) -> list[_Place]:
        """Return the places of names in an object's text."""
        asked = "SELECT start, end, label FROM name WHERE object = ? AND capture = ? AND end <= ?"
        return [*map(tuple, self._base.execute(asked, (given.object, given.capture, MAX_CHARACTERS)))]


class _Names:
    """The names of a text, each a term of its own.

    ``rest`` is the text with signs that part clauses in the place of names.
    """

    def __init__(self, text: str, language: str, known: Iterable[_Place]) -> None:
        dictionary = noun_dictionary(language)
        places = _not_overlapping(known)
        shown = [(each.start, each.end) for each in names_by_capitals(text, language, dictionary)]
        taken = bytearray(len(text))
        for start, end, _ in places:
            taken[start:end] = b"\1" * (end - start)
        places += [(start, end, text[start:end]) for start, end in shown if not any(taken[start:end])]
        self._written: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self._first: dict[str, tuple[int, int]] = {}
        for start, end, meant in sorted(places):
            self._written[folded_name(meant)][text[start:end]] += 1
            self._first.setdefault(text[start:end], (start, end))
        parts = self._parts_of([*self._first, *(text[start:end] for start, end in shown)])
        if language not in WITHOUT_CAPITALS:
            # A headline may have a name of several words, and none of its words in small letters then.
            runs = runs_in_headlines(text)
            small = frozenset(filter(str.islower, _WORD.findall(text))) if runs else frozenset[str]()
            parts |= {each for each in runs if each.casefold() not in small}
        self._parts = frozenset(each for each in parts if dictionary is None or not dictionary.head(each))
        self.rest = _parted(text, [*shown, *((start, end) for start, end, _ in places), *_code(text)])

    @staticmethod
    def _parts_of(names: Iterable[str]) -> set[str]:
        """Return the words of names of several ones."""
        return {each for name in names if len(parts := _WORD.findall(name)) > 1 for each in parts}

    def terms(self, idf: "_Idf", least: int) -> Iterator[Term]:
        """Yield the names that stand ``least`` times or more, as they are written in full."""
        for written in self._written.values():
            times = written.total()
            label = max(written, key=lambda each: (len(_WORD.findall(each)), written[each], each))
            is_part = len(_WORD.findall(label)) == 1 and self._is_part(label)
            stems = stems_in(label, idf.language)
            if times >= least and stems and not is_part and len(label) <= _MAX_LENGTH:
                # Long names would be before all else if each of their words counted.
                weights = sorted(map(idf.__getitem__, stems), reverse=True)[:2]
                yield Term(label, times, (1 + math.log(times)) * math.fsum(weights))

    def have_of(self, term: Term) -> bool:
        """Return whether a word of a term is a part of a name, as names write it or in a genitive."""
        return any(map(self._is_part, term.words.split()))

    def _is_part(self, word: str) -> bool:
        return word in self._parts or _GENITIVE.sub("", word) in self._parts

    def first_place(self, term: Term) -> tuple[int, int] | None:
        """Return where a name stands first in the text as the term writes it; None for other terms."""
        return self._first.get(term.words)


def _not_overlapping(known: Iterable[_Place]) -> list[_Place]:
    kept: list[_Place] = []
    for each in sorted(known, key=lambda place: (place[0], -place[1])):
        if not kept or each[0] >= kept[-1][1]:
            kept.append(each)
    return kept


def _parted(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Return a text of the same length with signs that part clauses at some places."""
    pieces, at = [], 0
    for start, end in sorted(places):
        if end > at:
            pieces += [text[at : max(at, start)], "|" * (end - max(at, start))]
            at = end
    return "".join([*pieces, text[at:]])


def _apart(terms: Iterable[Term]) -> Iterator[Term]:
    """Yield the terms that have no word in common with a better one."""
    seen: set[str] = set()
    for term in terms:
        words = _WORD.findall(term.words.casefold())
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
        self._frequencies.add(f"{language.code} {stem}" for stem in stems_in(text, language))

    def idf(self, language: Language) -> "_Idf":
        """Return the idf of the stems of a language in the texts that were counted."""
        return _Idf(language, self._frequencies, self._texts[language.code])


class _Idf(dict[str, float]):
    """The idf of a stem in the texts of a language, 0 of one that too many texts have; a bounded number is kept."""

    def __init__(self, language: Language, frequencies: DocumentFrequencies, texts: int) -> None:
        super().__init__()
        self.language = language
        self._frequencies = frequencies
        self._texts = texts + _TEXTS_BEFOREHAND

    def __missing__(self, stem: str) -> float:
        if len(self) >= _MAX_KEPT:
            self.clear()
        beforehand = _TEXTS_BEFOREHAND * math.exp(-self.language.idf[stem])
        idf = math.log(self._texts / (self._frequencies[f"{self.language.code} {stem}"] + beforehand))
        self[stem] = idf = idf if idf >= _MIN_IDF else 0.0
        return idf


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

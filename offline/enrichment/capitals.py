"""Finds names in running text by their capitals, where no model of the language is installed.

What is found may be a name, and no more is said: who or what bears it is known only where a word beside it tells, such
as "Dr" before it or "University" in it. Where a capital says little, little is found: languages that write all nouns
with one give names of two words and more alone, scripts without capitals give none.
"""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from aahcrawler.annotations import Kind
from offline.enrichment.name_contexts import (
    MAX_NAME,
    TITLES,
    is_institution,
    is_to_place,
    kind_by_apposition,
    kind_by_words,
)
from offline.enrichment.word_dictionaries import NounDictionary
from online_analysis.terms import function_words

NOUNS_WITH_CAPITALS: Final = frozenset({"de", "lb"})
"""Languages that write all nouns with a capital."""
WITHOUT_CAPITALS: Final = frozenset(
    {
        "am",
        "ar",
        "bn",
        "fa",
        "gu",
        "he",
        "hi",
        "ja",
        "ka",
        "km",
        "kn",
        "ko",
        "lo",
        "ml",
        "mr",
        "my",
        "ne",
        "or",
        "pa",
        "ps",
    }
    | {"si", "ta", "te", "th", "ug", "ur", "zh"}
)
"""Languages whose scripts know no capitals, or do not begin names with them."""
MAX_WORDS: Final = 6
"""Words with capitals of a name at most; it has as many particles at most."""
_MAX_ACRONYM: Final = 6
_MIN_HEADLINE: Final = 3
_LONG: Final = 4
_SHARE_OF_HEADLINES: Final = 0.7
_WORD: Final = re.compile(r"[^\W\d_](?:[^\W\d_]|\.(?=[^\W\d_]\.))*(?:[-'’&][^\W\d_]+)*\.?")
_LINE: Final = re.compile(r"[^\n\r]+")
_ENDS: Final = re.compile(r"[.!?…:;•*|>\n\r\t\"“”„«»]")
_PARTICLES: Final = frozenset(
    {
        "al",
        "and",
        "bin",
        "da",
        "das",
        "de",
        "del",
        "della",
        "den",
        "der",
        "des",
        "di",
        "do",
        "dos",
        "du",
        "e",
        "el",
        "et",
    }
    | {"für", "ibn", "la", "le", "of", "ten", "ter", "the", "und", "van", "von", "y", "zu", "zum", "zur"}
)
_JOINING: Final = frozenset({"and", "e", "et", "und", "y", "the"})
"""Particles that join the words of one name only where it is an institution's."""
_BETWEEN: Final = frozenset({" ", "\u00a0", " & "})
_GERMAN_LINKS: Final = frozenset({"für", "der", "des", "zur", "von"})
"""What links the words of an institution where all nouns have capitals."""
_OPENERS: Final = frozenset(
    {"later", "yesterday", "today", "tomorrow", "meanwhile", "eventually", "finally", "recently", "today's", "tonight"}
    | {
        "last",
        "next",
        "earlier",
        "soon",
        "maybe",
        "perhaps",
        "sometimes",
        "suddenly",
        "apparently",
        "according",
        "while",
    }
    | {
        "hier",
        "aujourd'hui",
        "demain",
        "ensuite",
        "enfin",
        "selon",
        "ayer",
        "hoy",
        "mañana",
        "luego",
        "según",
        "finalmente",
    }
    | {
        "ieri",
        "oggi",
        "domani",
        "poi",
        "infine",
        "secondo",
        "gisteren",
        "vandaag",
        "morgen",
        "later",
        "volgens",
        "toen",
    }
)
"""Words that often begin a sentence before a name, and that lists of function words lack."""
_CALENDAR: Final = frozenset(
    {"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january", "february", "march"}
    | {"april", "may", "june", "july", "august", "september", "october", "november", "december", "i"}
    | {"mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept"}
    | {"oct", "nov", "dec"}
)
"""Words that English begins with a capital, in full or cut, and that are no names."""
_GERMAN_MEASURES: Final = frozenset(
    {"januar", "februar", "märz", "april", "mai", "juni", "juli", "august", "september", "oktober", "november"}
    | {"dezember", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag", "anfang", "mitte"}
    | {"ende", "uhr", "prozent", "grad", "euro", "dollar", "million", "millionen", "milliarde", "milliarden", "tonnen"}
    | {"meter", "kilometer", "liter", "gramm", "kilogramm", "stunden", "minuten", "sekunden", "tage", "tagen", "wochen"}
    | {"monate", "monaten", "jahre", "jahren", "mal"}
)
"""German words of dates and amounts, which stand beside other nouns and make no name with them."""
_ARTICLES: Final = frozenset({"das", "dem", "den", "der", "des", "die", "im", "am", "vom", "zum", "zur", "beim", "ins"})
_INDEFINITE: Final = frozenset(
    {
        "alle",
        "aller",
        "allen",
        "diese",
        "diesem",
        "diesen",
        "dieser",
        "dieses",
        "ein",
        "eine",
        "einem",
        "einen",
        "einer",
    }
    | {"eines", "einige", "ihr", "ihre", "ihrem", "ihren", "ihrer", "ihres", "jede", "jedem", "jeden", "jeder", "jedes"}
    | {"kein", "keine", "keinem", "keinen", "keiner", "mehr", "mein", "meine", "sein", "seine", "seinem", "seinen"}
    | {"seiner", "solche", "unser", "unsere", "viel", "viele", "vielen", "wenig", "wenige"}
)
"""German words before which no name begins."""
_TOWNS: Final = frozenset({"Bad", "Sankt"})
"""German words that many names of towns begin with."""
_BEFORE_NAMES: Final = frozenset({"aus", "bei", "durch", "für", "gegen", "in", "mit", "nach", "ohne", "und", "von"})
"""German words behind which names stand without an article."""


@dataclass(frozen=True, slots=True)
class Found:
    """A name in a text: its place, and what bears it as far as its words tell."""

    start: int
    end: int
    kind: Kind = Kind.NAME


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    begins: bool
    """Whether a sentence, or something like one, begins with it."""
    is_capital: bool

    @property
    def plain(self) -> str:
        return self.text.casefold().rstrip(".")


class _Line(NamedTuple):
    start: int
    end: int
    words: Sequence[_Word]
    is_headline: bool
    """Whether capitals tell nothing in it."""


def names_by_capitals(text: str, language: str, nouns: NounDictionary | None = None) -> Iterator[Found]:
    """Yield the names that capitals show in a text of a language (ISO 639-1, empty where unknown), in its order.

    ``nouns`` tells them from ordinary nouns in a language that writes all nouns with a capital.

    >>> text = "Yesterday we met Dr Ida Berg of the Water Board in Arnhem. Nobody came."
    >>> [(text[each.start : each.end], str(each.kind)) for each in names_by_capitals(text, "en")]
    [('Ida Berg', 'person'), ('Water Board', 'organisation'), ('Arnhem', 'name')]
    """
    if language in WITHOUT_CAPITALS:
        return
    common = _common_words(language)
    lines = [line.words for line in _lines(text) if line.words and not line.is_headline]
    inside = frozenset(word.text for words in lines for word in words if word.is_capital and not word.begins)
    among = _Nouns(nouns, common, _with_articles(lines)) if nouns is not None else None
    for words in lines:
        yield from _in_line(text, words, language, common, inside, among)


def _in_line(
    text: str, words: Sequence[_Word], language: str, common: Set[str], inside: Set[str], among: "_Nouns | None"
) -> Iterator[Found]:
    at = 0
    while at < len(words):
        if not _may_begin(words[at], language, common):
            at += 1
            continue
        end = _end(text, words, at, language)
        first = _first(words, at, end, common)
        while among is not None and first < end and among.is_noun_before_institution(words[first:end]):
            first += 1
        titled = any(word.plain in TITLES for word in words[at:first])
        kept = words[first:end]
        name = text[kept[0].start : kept[-1].end] if kept else ""
        is_whole = any(is_institution(word.text, language) for word in kept) or (
            titled and not (among is not None and among.is_genitive(kept))
        )
        if among is not None and kept and not is_whole:
            yield from among.names(kept, words[at - 1].plain if at else "", words[first - 1].text if titled else "")
        elif 0 < len(name) <= MAX_NAME and _is_name(kept, language, inside, titled=titled):
            yield Found(kept[0].start, kept[-1].end, Kind.PERSON if titled else kind_by_words(name, language))
        at = end


class _Nouns:
    """Finds names among nouns that all have capitals.

    ``common`` are words, in small letters, that are part of no name; ``known`` words of the text that stand behind
    articles, as names of people and places hardly do.
    """

    def __init__(self, dictionary: NounDictionary, common: Set[str], known: Set[str]) -> None:
        self._dictionary, self._common, self._known = dictionary, common, known

    def names(self, run: Sequence[_Word], before: str, apposed: str = "") -> Iterator[Found]:
        """Yield the names in words with capitals that stand together behind the word ``before``, or a title.

        Ordinary nouns part them ("Regisseurin Ida Berg", "Idas Film"), but for the one that ends a name ("Ida Berg").
        """
        begin = 0
        while begin < len(run):
            end = self._end(run, begin)
            if end == begin:
                apposed = run[begin].text
                begin += 1
                continue
            words, kind = run[begin:end], self._kind_by(apposed)
            is_bare = begin == 0 and before in _BEFORE_NAMES
            is_alone = begin == 0 and end == len(run) and not is_bare and not apposed
            if before not in _INDEFINITE and (
                len(words) > 1 or (not is_alone and self._is_single(words[0], kind, is_bare=is_bare))
            ):
                kind = self._own_kind(words, before if begin == 0 else "", kind)
                if self.is_genitive(words):
                    yield Found(words[0].start, words[0].end - 1)
                else:
                    yield Found(words[0].start, words[-1].end, kind)
            begin, apposed = end, ""

    def _own_kind(self, words: Sequence[_Word], before: str, apposed: Kind) -> Kind:
        """Return what the words of a name tell of what bears it, else what the one before it does.

        What begins with an adjective is no person ("Sprecher Alter Deich").
        """
        own = kind_by_words(" ".join(word.text for word in words), "de")
        if own is not Kind.NAME:
            return own
        if len(words) == 1 and is_to_place(before, "de") and self._dictionary.is_town(words[0].text):
            return Kind.PLACE
        is_person = apposed is Kind.PERSON and not (len(words) > 1 and self._is_adjective_of_name(words[0]))
        return apposed if is_person or apposed is not Kind.PERSON else Kind.NAME

    def _is_adjective_of_name(self, word: _Word) -> bool:
        return self._dictionary.is_adjective(word.text) and not self._dictionary.is_own_lemma(word.text)

    def is_noun_before_institution(self, words: Sequence[_Word]) -> bool:
        """Return whether words are ordinary nouns of which a later one is an institution's ("Art Versicherung")."""
        first, *others = words
        is_before_one = not is_institution(first.text, "de") and any(is_institution(each.text, "de") for each in others)
        return is_before_one and all(
            self._dictionary.head(each.text) and not self._dictionary.is_adjective(each.text) for each in words
        )

    def is_genitive(self, words: Sequence[_Word]) -> bool:
        """Return whether some words are the genitive of one name, such as that of a country behind "Präsident"."""
        return len(words) == 1 and self._dictionary.is_genitive(words[0].text)

    def _end(self, run: Sequence[_Word], begin: int) -> int:
        """Return where a name ends that begins here; where none does, the beginning."""
        at = begin
        while at < len(run) and self._is_part(run, at):
            at += 1
            if at < len(run) and self._is_genitive_before(run[at - 1], run[at]):
                return at
        is_surname = at > begin and at < len(run) and self._dictionary.head(run[at].text) == run[at].text
        return at + 1 if is_surname else at

    def _is_genitive_before(self, word: _Word, noun: _Word) -> bool:
        """Return whether a name that ends with "s" is whose the noun behind it is, and not a given name ("Thomas")."""
        is_given = self._dictionary.is_own_lemma(word.text)
        return word.text.endswith("s") and not is_given and bool(self._dictionary.head(noun.text))

    def _is_part(self, run: Sequence[_Word], at: int) -> bool:
        """Return whether a word is no ordinary noun, or an adjective that has a capital for being part of a name."""
        word = run[at]
        if word.text in _TOWNS and at + 1 < len(run) and not self._dictionary.head(run[at + 1].text):
            return True
        if kind_by_apposition(word.text, "de") is not Kind.NAME or self._dictionary.is_small(word.text):
            return False
        if word.plain in self._common or self._dictionary.head(word.text):
            is_adjective = word.plain not in self._common and self._dictionary.is_adjective(word.text)
            return is_adjective and self._is_before_noun(run, at)
        return not self._dictionary.is_adjective(word.text) or self._is_before_noun(run, at)

    def _is_before_noun(self, run: Sequence[_Word], at: int) -> bool:
        """Return whether a noun follows, perhaps behind further adjectives ("Deutschen Roten Kreuz")."""
        noun = at + 1
        while noun + 1 < len(run) and self._is_adjective_of_name(run[noun]):
            noun += 1
        return noun < len(run) and not run[at].begins and bool(self._dictionary.head(run[noun].text))

    def _kind_by(self, apposed: str) -> Kind:
        head = self._dictionary.head(apposed)
        if head and not self._dictionary.is_adjective(apposed) and self._dictionary.is_role(head):
            return Kind.PERSON
        return kind_by_apposition(apposed, "de")

    def _is_single(self, word: _Word, kind: Kind, *, is_bare: bool) -> bool:
        """Return whether a word that is no ordinary noun is a name by itself, where something beside it says so.

        A genitive is one beside a noun; behind a preposition alone (``is_bare``) it may be a plural ("mit Hits").
        """
        if word.begins or len(word.text) < 3 or word.text in self._known or "-" in word.text:
            return False
        is_told = kind is not Kind.NAME or (not is_bare and self._dictionary.is_genitive(word.text))
        return is_told or not self._dictionary.is_known(word.text) or (is_bare and self._dictionary.is_town(word.text))


def _with_articles(lines: Sequence[Sequence[_Word]]) -> frozenset[str]:
    """Return the words with capitals that stand behind an article somewhere, names of people hardly do."""
    return frozenset(
        word.text
        for words in lines
        for before, word in pairwise(words)
        if before.plain in _ARTICLES and word.is_capital
    )


def _first(words: Sequence[_Word], begin: int, end: int, common: Set[str]) -> int:
    """Return where a name begins behind titles, and behind a common word that begins its sentence."""
    while begin < end:
        word = words[begin]
        if word.is_capital and word.plain not in TITLES and not (word.begins and word.text.casefold() in common):
            break
        begin += 1
    return begin


def _may_begin(word: _Word, language: str, common: Set[str]) -> bool:
    if not word.is_capital or _is_of_calendar(word, language):
        return False
    is_shouted = len(word.text) > 1 and word.text.isupper() and "." not in word.text
    if is_shouted and (len(word.text) > _MAX_ACRONYM or word.plain in common):
        return False
    is_initial = word.text.endswith(".")
    return word.begins or is_initial or word.plain in TITLES or word.plain not in common


def _is_of_calendar(word: _Word, language: str) -> bool:
    """Return whether it is an English month or weekday, as far as the text may be English, or a German measure."""
    if language in NOUNS_WITH_CAPITALS:
        return word.plain in _GERMAN_MEASURES
    return language in {"en", ""} and word.text.casefold() in _CALENDAR


def _end(text: str, words: Sequence[_Word], begin: int, language: str) -> int:
    """Return where the words with capitals end that begin here, particles between two of them included.

    Where all nouns have capitals, what stands before "von" may be any of them, unless it is an institution.
    """
    end = at = begin
    while at < len(words) and at - begin < 2 * MAX_WORDS:
        word = words[at]
        if word.is_capital and sum(each.is_capital for each in words[begin:at]) == MAX_WORDS:
            break
        if at > begin and (word.begins or text[words[at - 1].end : word.start] not in _BETWEEN):
            break
        is_of_institution = any(is_institution(each.text, language) for each in words[begin:at])
        is_another = is_institution(word.text, language) and at > begin and words[at - 1].text in _PARTICLES
        if is_another and not is_of_institution:
            break
        if word.is_capital and not _is_of_calendar(word, language):
            end = at + 1
        elif language in NOUNS_WITH_CAPITALS:
            if not is_of_institution or word.text not in _GERMAN_LINKS:
                break
        elif word.text not in _PARTICLES or (
            word.text in _JOINING
            and not is_of_institution
            and (word.text != "the" or words[begin + 1 : at] != [words[at - 1]] or words[at - 1].text != "of")
        ):
            break
        at += 1
    return end


def _is_name(words: Sequence[_Word], language: str, inside: Set[str], *, titled: bool) -> bool:
    if len("".join(word.text for word in words)) < 2:
        return False
    if titled:
        return True
    if language in NOUNS_WITH_CAPITALS:
        is_of_institution = any(is_institution(word.text, language) for word in words)
        return sum(word.is_capital for word in words) > 1 and (is_of_institution or not words[0].begins)
    if len(words) > 1:
        return True
    return not words[0].begins or words[0].text in inside


def headlines(text: str) -> Iterator[tuple[int, int]]:
    r"""Yield the places of the lines of a text in which capitals tell nothing.

    >>> [*headlines("The Old Mill Burns Again\nNobody was in the mill.")]
    [(0, 24)]
    """
    for line in _lines(text):
        if line.is_headline:
            yield line.start, line.end


def runs_in_headlines(text: str) -> frozenset[str]:
    """Return the words of the headlines of a text that begin with a capital beside another one that does."""
    return frozenset(
        each.text
        for line in _lines(text)
        if line.is_headline
        for one, other in pairwise(line.words)
        if one.is_capital and other.is_capital and text[one.end : other.start] in _BETWEEN
        for each in (one, other)
    )


def _words(line: str, begin: int) -> Iterator[_Word]:
    last, begins = 0, True
    for match in _WORD.finditer(line):
        start, end = match.span()
        between = line[last:start]
        begins = begins or (between != " " and _ENDS.search(between) is not None)
        written = match[0]
        ends = written[-1] == "." and not _is_with_point(written)
        kept = written[:-1] if ends else written
        yield _Word(kept, begin + start, begin + start + len(kept), begins, kept[0].isupper())
        begins, last = ends, end


def _is_with_point(written: str) -> bool:
    """Return whether the point at the end is a part of a word: that of initials and titles ends no sentence."""
    return len(written) == 2 or "." in written[:-1] or written[:-1].casefold() in TITLES


@lru_cache(maxsize=1)
def _lines(text: str) -> Sequence[_Line]:
    """Return the lines of a text that are not empty; the last text is remembered."""
    found = []
    for line in _LINE.finditer(text):
        words = list(_words(line[0], line.start()))
        found.append(_Line(line.start(), line.end(), words, _is_headline(line[0], words)))
    return found


def _is_headline(line: str, words: Sequence[_Word]) -> bool:
    """Return whether capitals tell nothing in a line: most words of a headline have them, all letters of a shout."""
    long = [word for word in words if len(word.text) >= _LONG]
    if len(long) < _MIN_HEADLINE:
        return False
    if sum(word.text.isupper() for word in long) > len(long) / 2:
        return True
    is_sentence = line.rstrip(' \t"”»)').endswith((".", "!", "?", "…", ",", ";", ":"))
    return not is_sentence and sum(word.is_capital for word in long) > _SHARE_OF_HEADLINES * len(long)


@cache
def _common_words(language: str) -> frozenset[str]:
    """Return the words of a language that are part of no name where they begin a sentence."""
    codes = (language,) if language else ("en", "de", "fr", "es", "it", "nl")
    return (
        frozenset(word.casefold() for word in function_words(codes))
        | _OPENERS - _PARTICLES
        | {
            "the",
            "der",
            "die",
            "das",
            "la",
            "le",
            "el",
        }
    )

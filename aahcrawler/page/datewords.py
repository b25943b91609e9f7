"""The words of many languages that dates are written in: those of CLDR, and those that software adds."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

TABLE = Path(__file__).with_name("date_words_cldr.txt")
"""What the Unicode CLDR knows; ``python -m benchmarks.date_words`` writes it."""

OWN = Path(__file__).with_name("date_words.txt")
"""What CLDR lacks, in the same form."""

SECOND, MINUTE, HOUR, DAY, WEEK = 1, 60, 3_600, 86_400, 604_800
MONTH, YEAR = -1, -12
"""Units of calendar months, which have no length in seconds: the number of months, negative."""

_UNITS = (SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, YEAR)

_ZEROS = (
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6, 0x0E50,
    0x0ED0, 0x0F20, 0x1040, 0x17E0, 0x1810,
)  # fmt: skip
"""The zeros of the scripts that have digits of their own; nine more digits follow each."""

_LETTERS_ALIKE = str.maketrans("ıłøđðيىك’ʼ‘`´−‐‑‒", "iloddییک'''''----")
_ALIKE = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)} | _LETTERS_ALIKE
"""Letters that are often written for one another, and digits of all scripts."""

_MARKS = re.compile(
    r"[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed"
    r"\u093c\u09bc\u0a3c\u0abc\u0b3c\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]+"
)
"""Accents, points of vowels and nuktas that are often left out, and characters without a width.

The vowels of Indic scripts and Thai stay: without them, January and March would be the same word.
"""

LETTER = r"(?:[^\W\d_]|[\u0900-\u0963\u0971-\u0dff\u0e00-\u0e2e\u0e30-\u0eff\u1000-\u109f\u1780-\u17d3\u17d7-\u17ff])"
WORD = re.compile(rf"{LETTER}+")
_TOKEN = re.compile(rf"\d+|{LETTER}+")

SPACELESS = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Scripts that put no space between words."""


def plain_letters(text: str) -> str:
    """Return the text in lower case, without accents, in compatibility form and with ASCII digits.

    >>> plain_letters("Février １４"), plain_letters("٢٠ مارس")
    ('fevrier 14', '20 مارس')
    """
    if text.isascii():
        return text.lower()
    decomposed = _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return unicodedata.normalize("NFC", decomposed.translate(_ALIKE))


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in the form in which they are compared, numbers without leading zeros.

    >>> tokens("à 09 h. p.m.")
    ['a', '9', 'h', 'p', 'm']
    """
    return [each.lstrip("0") or "0" if each[0].isdecimal() else each for each in _TOKEN.findall(plain_letters(text))]


@dataclass(frozen=True)
class DateWords:
    """One language's words and phrases, tokens of a phrase separated by one space.

    ``months`` and ``persian`` (those of the Persian calendar) count from 1, ``weekdays`` from 0 (Monday). ``days`` are
    offsets from today. ``units`` are lengths in seconds, or in months if negative. ``halves`` are the hours of parts of
    the day, from and before. ``numbers`` are number words, ``ago`` words mark a past time, ``filler`` words may
    accompany a date and mean nothing, ``now`` words mean the present.
    """

    code: str
    months: Mapping[str, int]
    weekdays: Mapping[str, int]
    persian: Mapping[str, int]
    days: Mapping[str, int]
    units: Mapping[str, int]
    halves: Mapping[str, tuple[int, int]]
    numbers: frozenset[str]
    ago: frozenset[str]
    filler: frozenset[str]
    now: frozenset[str]

    @cached_property
    def all(self) -> frozenset[str]:
        """Every word and phrase that has a meaning here; beginnings of names are none."""
        names = self.months, self.weekdays, self.persian, self.days, self.units, self.halves
        return frozenset().union(*names, self.numbers, self.ago, self.filler, self.now)

    @cached_property
    def beside(self) -> frozenset[str]:
        """Words that may accompany the numbers and the month of a date."""
        return frozenset(self.weekdays) | frozenset(self.days) | self.filler

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """The words and phrases of scripts without spaces, by how they are written."""
        return {phrase.replace(" ", ""): phrase for phrase in self.all if SPACELESS.search(phrase)}

    @cached_property
    def lengths(self) -> Mapping[str, int]:
        """The most tokens of a phrase that begins with a token."""
        found: dict[str, int] = {}
        for phrase in self.all:
            first, *others = phrase.split(" ")
            found[first] = max(found.get(first, 1), 1 + len(others))
        return found

    def meaning(self, token: str) -> object:
        """Return a value that is the same for languages in which a token means the same; one in phrases is its own."""
        if self.lengths.get(token, 1) > 1 or token not in self.all:
            return self.code
        return (
            self.months.get(token),
            self.weekdays.get(token),
            self.days.get(token),
            self.units.get(token),
            self.halves.get(token),
            tuple(token in words for words in (self.persian, self.numbers, self.ago, self.filler, self.now)),
        )

    @cached_property
    def beginnings(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """The months and the weekdays by the beginnings of their names that belong to one name alone."""
        return _beginnings(self.months, 3), _beginnings(self.weekdays, 2)

    @cached_property
    def widened(self) -> "DateWords":
        """The same words and the beginnings of names, which software abbreviates in its own way."""
        months, weekdays = self.beginnings
        return replace(self, months={**months, **self.months}, weekdays={**weekdays, **self.weekdays})


def _beginnings(names: Mapping[str, int], shortest: int) -> Mapping[str, int]:
    meanings: dict[str, set[int]] = {}
    for name, number in names.items():
        if name.isalpha() and not SPACELESS.search(name):
            for length in range(shortest, len(name)):
                meanings.setdefault(name[:length], set()).add(number)
    return {word: numbers.pop() for word, numbers in meanings.items() if len(numbers) == 1 and word not in names}


@dataclass(frozen=True, slots=True)
class Order:
    """How a language writes day, month and year in digits.

    ``separators`` are those after a year of two digits that comes first; another one tells nothing of the order.
    """

    fields: str
    separators: str = "./-"


@dataclass(frozen=True)
class _Table:
    groups: Mapping[str, Mapping[str, str]]
    """For each language its groups of words, as they are written in the files."""
    orders: Mapping[str, Order]
    """By language, and by language and region where that differs: ``fr``, ``fr-ca``."""


@cache
def _table() -> _Table:
    groups: dict[str, dict[str, str]] = {}
    orders: dict[str, Order] = {}
    for path in (TABLE, OWN):
        language = ""
        for line in path.read_text(encoding="utf-8").splitlines():
            head, _, rest = line.partition(" ")
            if head.startswith("["):
                language = head[1:-1]
                groups.setdefault(language, {})
                orders |= _orders(language, rest.split())
            elif head and head != "#":
                groups[language][head] = f"{groups[language][head]};{rest}" if head in groups[language] else rest
    return _Table(groups, orders)


def _orders(language: str, written: Iterable[str]) -> Iterator[tuple[str, Order]]:
    for each in written:
        region, _, order = each.rpartition("=")
        name = f"{language}-{region.lower()}" if region else language
        yield name, Order(order[:3], order[3:] or "./-")


def languages() -> tuple[str, ...]:
    """Return the codes of the languages, English first."""
    return tuple(_table().groups)


_SAME = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "sh": "sr", "mo": "ro", "tl": "fil", "cmn": "zh", "yue": "zh"}


@cache
def code_of(language: str | None) -> str:
    """Return the code by which a language of HTML is known here: ``zh`` for ``zh-TW``; unknown ones stay.

    >>> code_of("nb-NO"), code_of(None)
    ('no', '')
    """
    first = re.split("[-_]", language or "")[0].lower()
    return _SAME.get(first, first)


@cache
def order_of(language: str | None) -> Order | None:
    """Return the order of day, month and year in a language, in its region if that is known; else None."""
    region = re.split("[-_]", (language or "").lower())[-1]
    orders = _table().orders
    return orders.get(f"{code_of(language)}-{region}") or orders.get(code_of(language))


@cache
def vocabulary(code: str) -> DateWords:
    """Return the words of a language; raise KeyError for an unknown one."""
    groups = _table().groups[code]
    return DateWords(
        code=code,
        months=_numbered(groups.get("M", ""), 1),
        weekdays=_numbered(groups.get("D", ""), 0),
        persian=_numbered(groups.get("P", ""), 1),
        days={word: -number for word, number in _numbered(groups.get("T", ""), 0).items()},
        units={word: _UNITS[number] for word, number in _numbered(groups.get("U", ""), 0).items()},
        halves=dict(_halves(groups.get("H", ""))),
        numbers=_words(groups.get("1", "")),
        ago=_words(groups.get("A", "")),
        filler=_words(groups.get("F", "")),
        now=_words(groups.get("N", "")),
    )


def _words(group: str) -> frozenset[str]:
    return frozenset(filter(None, re.split("[/;]", group)))


def _numbered(group: str, start: int) -> dict[str, int]:
    """Return words with their numbers; one that stands for several numbers is left out."""
    found: dict[str, set[int]] = {}
    for each in group.split(";"):
        for number, words in enumerate(each.split("|"), start):
            for word in filter(None, words.split("/")):
                found.setdefault(word, set()).add(number)
    return {word: numbers.pop() for word, numbers in found.items() if len(numbers) == 1}


def _halves(group: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield words with their hours, the longest part of the day last if a word stands for several."""
    parts = [each.partition(" ") for each in filter(None, re.split("[|;]", group))]
    hours = [(tuple(map(int, hours.split("-"))), words) for hours, _, words in parts]
    for (first, last), words in sorted(hours, key=lambda each: (each[0][1] - each[0][0]) % 24):
        yield from ((word, (first, last)) for word in words.split("/"))


@cache
def spoken() -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Return for each word of a phrase the languages that know it, as a number with a bit for each of ``languages``.

    The second mapping is of words that begin a name of a month or a weekday.
    """
    whole: dict[str, int] = {}
    begun: dict[str, int] = {}
    for number, code in enumerate(languages()):
        words = vocabulary(code)
        bit = 1 << number
        for word in {word for phrase in words.all for word in phrase.split(" ")}:
            whole[word] = whole.get(word, 0) | bit
        for names in words.beginnings:
            for word in names:
                begun[word] = begun.get(word, 0) | bit
    return whole, begun


@cache
def spaceless() -> int:
    """Return the languages whose scripts put no space between words, as ``spoken`` gives them."""
    return sum(
        1 << number
        for number, code in enumerate(languages())
        if any(SPACELESS.search(word) for word in vocabulary(code).months)
    )

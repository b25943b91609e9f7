"""Derives suggestions for a definition from a text: keywords, names, sites, languages and a time span, with evidence.

Everything suggested occurs in the text; equal texts give equal suggestions.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Final, TypeVar
from urllib.parse import urlsplit

from online_analysis.analysers.date_hints import Span, date_in_anchor
from online_analysis.icd.seed_list import read_seed_list
from online_analysis.terms import Language, Lexicon, is_unspaced, tokenize

_CAPITALISED = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
_PARTICLES = frozenset(
    {"al", "da", "de", "del", "den", "der", "di", "do", "dos", "du", "el", "la", "of", "van", "von", "zu"}
)
_MIN_WORDS, _MAX_WORDS = 2, 4


def names(text: str) -> set[str]:
    """Return the names of two to four words that stand after a word in small letters, or after a comma.

    >>> sorted(names("The plans of Hermann Scheer, of Ursula von der Leyen and Freiburg. Solar Power is cheap."))
    ['Hermann Scheer', 'Ursula von der Leyen']
    """
    return {name for line in text.splitlines() for name in _names_of_line(line)}


def _names_of_line(line: str) -> Iterator[str]:
    words = list(_CAPITALISED.finditer(line))
    at = 1
    while at < len(words):
        end = _end(line, words, at)
        if end - at >= _MIN_WORDS and end - at <= _MAX_WORDS and _is_within(line, words, at):
            yield line[words[at].start() : words[end - 1].end()]
        at = max(end, at + 1)


def _end(line: str, words: list[re.Match[str]], begin: int) -> int:
    """Return the end of the run of capitalised words that begins here.

    Particles between two of them belong to the name.
    """
    end = at = begin
    while at < len(words) and (at == begin or line[words[at - 1].end() : words[at].start()] == " "):
        word = words[at][0]
        if word[0].isupper():
            end = at + 1
        elif at == begin or word not in _PARTICLES:
            break
        at += 1
    return end


def _is_within(line: str, words: list[re.Match[str]], at: int) -> bool:
    before = line[words[at - 1].end() : words[at].start()].strip()
    return before in {",", "(", "“", '"'} or (not before and words[at - 1][0].islower())


_AROUND: Final = 60
"""Characters on either side of what a snippet shows."""


@dataclass(frozen=True, slots=True)
class Suggested:
    """A value for a definition: how often it was found, its relative weight in (0, 1], and an example place.

    ``snippet`` is the text around the first place, on one line; ``note`` adds further information, mostly empty.
    """

    value: str
    count: int
    weight: float
    snippet: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SuggestedSpan:
    """A time span that contains ``count`` of the ``dates`` of a text; both ends are included."""

    start: date
    end: date
    count: int
    dates: int
    snippet: str = ""


@dataclass(frozen=True, slots=True)
class Suggestions:
    """What a text suggests, the weightiest first. ``languages`` are ISO 639-1 codes, counted in characters.

    ``seeds`` are whole URLs, ``hosts`` their hosts. ``is_cut`` says that the text was too long to be read as a whole.
    """

    keywords: tuple[Suggested, ...] = ()
    entities: tuple[Suggested, ...] = ()
    seeds: tuple[Suggested, ...] = ()
    hosts: tuple[Suggested, ...] = ()
    languages: tuple[Suggested, ...] = ()
    span: SuggestedSpan | None = None
    is_cut: bool = False

    @property
    def are_none(self) -> bool:
        """Return whether nothing is suggested."""
        return not (self.keywords or self.entities or self.seeds or self.languages or self.span)


def snippet(text: str, value: str) -> str:
    """Return the text around the first place of a value, whatever its case; empty where it has none.

    >>> snippet("The storm of 2013 broke the Sea Wall.", "sea wall")
    'The storm of 2013 broke the Sea Wall.'
    """
    found = re.search(r"\W+".join(map(re.escape, value.split())), text, re.IGNORECASE)
    return "" if found is None else around(text, found.start(), found.end())


def around(text: str, start: int, end: int) -> str:
    """Return the text around a place on one line, cut between words."""
    before, after = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
    if start > _AROUND:
        before = f"…{before.partition(' ')[2] or before}"
    if end + _AROUND < len(text):
        after = f"{after.rpartition(' ')[0] or after}…"
    plain = "".join(sign if sign.isprintable() else " " for sign in f"{before}{text[start:end]}{after}")
    return " ".join(plain.split())


_CLAUSE = re.compile(r"[.,;:!?()\[\]{}\"“”„«»|\n\r\t–—/]+")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
SHORT: Final = 300
"""Words of a text in which what stands there once may be distinctive."""
_COVERED: Final = 0.5
"""The share of a word's places from which on a pair that it is in says it all."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word or a pair of words as the text writes it, how often, and how distinctive it is (tf-idf)."""

    words: str
    count: int
    distinction: float


def stems_in(text: str, language: Language) -> set[str]:
    """Return the stems of a text's words.

    Function words, numbers and scripts that write no spaces have none.
    """
    return {term for clause in _clauses_of_words(text) for word in clause if (term := _term(word, language))}


def _clauses_of_words(text: str) -> Iterator[list[str]]:
    is_unspaced_there = is_unspaced(text)
    for clause in _CLAUSE.split(text):
        words = _WORD.findall(clause)
        yield [word for word in words if not is_unspaced(word)] if is_unspaced_there else words


def distinctive_terms(
    lines: Iterable[str], language: Language, most: int, idf: Callable[[str], float] | None = None
) -> list[Term]:
    """Return the most distinctive words and pairs of them, the most distinctive first.

    They are counted by their stems, and returned in their most frequent spelling. Pairs are taken that repeat, and
    words that do not mostly stand in one of them. Function words, numbers and scripts without spaces give none, since
    characters alone do not show where words begin. ``idf`` returns that of a stem, by default the language's.
    """
    clauses = [
        [(word, _term(word, language)) for word in clause] for line in lines for clause in _clauses_of_words(line)
    ]
    idf = idf or language.idf.__getitem__
    spelt = Counter(chain.from_iterable(clauses))
    words: Counter[str] = Counter()
    for (_, stem), times in spelt.items():
        words[stem] += times
    least = 1 if words.total() <= SHORT else 2
    del words[""]
    spelt_pairs = Counter(chain.from_iterable(map(pairwise, clauses)))
    pairs: Counter[tuple[str, str]] = Counter()
    for ((_, first), (_, second)), times in spelt_pairs.items():
        if first and second and first != second:
            pairs[first, second] += times
    repeated = {pair: times for pair, times in pairs.items() if times >= 2}
    covered = {stem for pair, times in repeated.items() for stem in pair if times >= _COVERED * words[stem]}
    found = {stem: times for stem, times in words.items() if times >= least and stem not in covered}
    spellings = _spellings((stem, word, times) for (word, stem), times in spelt.items() if stem in found)
    pair_spellings = _spellings(
        ((first, second), f"{one} {other}", times)
        for ((one, first), (other, second)), times in (spelt_pairs.items() if repeated else ())
        if (first, second) in repeated
    )
    terms = [Term(spellings[stem], times, (1 + math.log(times)) * idf(stem)) for stem, times in found.items()]
    terms += [
        Term(pair_spellings[pair], times, (1 + math.log(times)) * math.fsum(map(idf, pair)))
        for pair, times in repeated.items()
    ]
    return sorted(terms, key=lambda term: (-term.distinction, term.words))[:most]


Key = TypeVar("Key")


def _spellings(spelt: Iterable[tuple[Key, str, int]]) -> dict[Key, str]:
    """Return the most frequent spelling of each key, of equally frequent ones the first in the alphabet."""
    best: dict[Key, tuple[int, str]] = {}
    for key, written, times in spelt:
        found = (-times, written)
        if key not in best or found < best[key]:
            best[key] = found
    return {key: written for key, (_, written) in best.items()}


@lru_cache(maxsize=100_000)
def _term(word: str, language: Language) -> str:
    """Return what a word counts as, empty for one that says nothing: function words, numbers, parts of words."""
    tokens = tokenize(word)
    stems = language.stems(tokens)
    if not tokens or not all(stems) or all(token.isdigit() for token in tokens) or max(map(len, tokens)) < 3:
        return ""
    return "-".join(stems)


_MIN_DATES: Final = 4
"""Dates that a span is suggested for at least."""
_SHARE: Final = 0.75
"""The share of all dates that have to lie in it."""
_MAX_SPAN: Final = timedelta(days=2 * 366)
_MAX_DATES: Final = 5000
_MAX_YEARS: Final = 20_000
_YEAR = re.compile(r"(?<!\d)(?:19[89]|20\d)\d(?!\d)")
_BEFORE, _AFTER = 24, 6
"""Characters beside a year in which the month and the day stand."""
_SHORT_SPAN = timedelta(days=45)
"""A date that tells the year alone says too little."""


def dominant_span(text: str) -> SuggestedSpan | None:
    """Return the shortest span that holds three quarters of a text's dates; None where no span of two years does.

    Only dates with a month count, from 1980 on.
    """
    dates = sorted(_dates(text), key=lambda found: (found[0].first, found[0].last, found[1]))
    needed = max(_MIN_DATES, math.ceil(len(dates) * _SHARE))
    if len(dates) < needed:
        return None
    windows = ((dates[n : n + needed], n) for n in range(len(dates) - needed + 1))
    spans = [(max(span.last for span, _, _ in window) - window[0][0].first, n) for window, n in windows]
    length, begin = min(spans)
    if length > _MAX_SPAN:
        return None
    start = dates[begin][0].first
    end = max(span.last for span, _, _ in dates[begin : begin + needed])
    inside = [found for found in dates if start <= found[0].first and found[0].last <= end]
    _, at, to = min(inside, key=lambda found: found[1])
    return SuggestedSpan(start.date(), end.date(), len(inside), len(dates), around(text, at, to))


def _dates(text: str) -> Iterator[tuple[Span, int, int]]:
    """Yield the dates of a text with their places."""
    number = 0
    for start, clause in _clauses(text):
        span = date_in_anchor(clause)
        if span is not None and span.last - span.first < _SHORT_SPAN:
            yield span, start, start + len(clause)
            number += 1
            if number >= _MAX_DATES:
                return


def _clauses(text: str) -> Iterable[tuple[int, str]]:
    """Yield stretches of text around each year, none of them long, each with its place."""
    for found in islice(_YEAR.finditer(text), _MAX_YEARS):
        start = max(text.rfind("\n", 0, found.start()) + 1, found.start() - _BEFORE)
        end = found.end() + _AFTER
        line_end = text.find("\n", found.end(), end)
        yield start, text[start : end if line_end < 0 else line_end]


MAX_CHARACTERS: Final = 1_000_000
MAX_LINKS: Final = 5_000
MAX_SUGGESTIONS: Final = 20
"""Suggestions of each kind."""
_MAX_SEEDS: Final = 50
_MIN_SHARE: Final = 0.1
"""The share of the text from which on a language is one of it."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w.-]{1,200}", re.IGNORECASE)
_LONG_PARAGRAPH: Final = 200


def suggest(text: str, links: Iterable[str] = (), given: Iterable[str] = ()) -> Suggestions:
    """Return what a text suggests for a definition.

    ``links`` are URLs that a document links to, besides those in its text. Keywords, names and seeds in ``given``
    are left out. At most ``MAX_CHARACTERS`` of the text are read.
    """
    read = text[:MAX_CHARACTERS].replace("\r\n", "\n")
    known = {each.casefold() for each in given}
    prose = _ADDRESS.sub(" ", read)
    lexicon = Lexicon()
    parts = _by_language(prose, lexicon)
    seeds, hosts = _addresses(read, links, known)
    return Suggestions(
        tuple(_keywords(parts, lexicon, prose, known)),
        tuple(_names(prose, known)),
        seeds,
        hosts,
        tuple(_languages(parts, prose)),
        dominant_span(read),
        len(text) > MAX_CHARACTERS,
    )


def _by_language(prose: str, lexicon: Lexicon) -> dict[str | None, list[str]]:
    """Divide the lines of a text by language; short lines get the language of the whole text."""
    whole = lexicon.language_of(" ".join(prose.split()))
    parts: dict[str | None, list[str]] = {}
    for line in filter(None, map(str.strip, prose.split("\n"))):
        code = lexicon.language_of(line) if len(line) >= _LONG_PARAGRAPH else whole
        parts.setdefault(code or whole, []).append(line)
    return parts


def _shares(parts: dict[str | None, list[str]]) -> list[tuple[str | None, int, float]]:
    """Return the languages with enough text, how many characters, and which share, the first ones first."""
    sizes = Counter({code: sum(map(len, lines)) for code, lines in parts.items()})
    total = sum(sizes.values()) or 1
    found = ((code, size, size / total) for code, size in sizes.items() if size / total >= _MIN_SHARE)
    return sorted(found, key=lambda each: (-each[1], each[0] or ""))


def _languages(parts: dict[str | None, list[str]], prose: str) -> Iterator[Suggested]:
    for code, size, share in _shares(parts):
        if code is not None:
            yield Suggested(code, size, round(share, 4), snippet(prose, parts[code][0][:60]))


def _keywords(parts: dict[str | None, list[str]], lexicon: Lexicon, prose: str, known: set[str]) -> Sequence[Suggested]:
    terms = [
        (term, share)
        for code, _, share in _shares(parts)
        for term in distinctive_terms(parts[code], lexicon.language(code), MAX_SUGGESTIONS + len(known))
    ]
    wanted = sorted(
        ((term.distinction * share, term) for term, share in terms if term.words.casefold() not in known),
        key=lambda each: (-each[0], each[1].words),
    )[:MAX_SUGGESTIONS]
    best = wanted[0][0] if wanted else 1.0
    return [
        Suggested(term.words, term.count, max(0.0001, round(worth / best, 4)), snippet(prose, term.words))
        for worth, term in wanted
    ]


def _names(prose: str, known: set[str]) -> Sequence[Suggested]:
    counts = Counter(" ".join(name.split()) for line in prose.split("\n") for name in names(line))
    wanted = [(name, count) for name, count in counts.items() if name and name.casefold() not in known]
    best = sorted(wanted, key=lambda each: (-each[1], each[0]))[:MAX_SUGGESTIONS]
    most = best[0][1] if best else 1
    return [Suggested(name, count, round(count / most, 4), snippet(prose, name)) for name, count in best]


def _addresses(text: str, links: Iterable[str], known: set[str]) -> tuple[tuple[Suggested, ...], tuple[Suggested, ...]]:
    """Return the web addresses that a text holds and links to, and their hosts, the most frequent hosts first."""
    linked = [link for _, link in zip(range(MAX_LINKS), links, strict=False)]
    urls: dict[str, str] = {}
    hosts: Counter[str] = Counter()
    for source in (*text.split("\n"), *linked):
        for url in read_seed_list(source).seeds if "." in source else ():
            hosts[urlsplit(url).hostname or ""] += 1
            urls.setdefault(url, snippet(source, url) or " ".join(source.split())[:200])
    most = max(hosts.values(), default=1)
    ranked = sorted(hosts.items(), key=lambda each: (-each[1], each[0]))
    place = {host: n for n, (host, _) in enumerate(ranked)}
    new = [(url, where) for url, where in urls.items() if url.casefold() not in known]
    new.sort(key=lambda each: place[urlsplit(each[0]).hostname or ""])
    counted = [(url, where, hosts[urlsplit(url).hostname or ""]) for url, where in new[:_MAX_SEEDS]]
    return (
        tuple(Suggested(url, count, round(count / most, 4), where, "counts its host") for url, where, count in counted),
        tuple(Suggested(host, count, round(count / most, 4)) for host, count in ranked[:MAX_SUGGESTIONS]),
    )

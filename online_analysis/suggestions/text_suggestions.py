"""Suggestions from a text that somebody pasted, or that a document holds."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final
from urllib.parse import urlsplit

from online_analysis.capitalised_names import names
from online_analysis.icd.seed_list import read_seed_list
from online_analysis.suggestions.distinctive_terms import distinctive_terms
from online_analysis.suggestions.evidence import Suggested, Suggestions, snippet
from online_analysis.suggestions.time_spans import dominant_span
from online_analysis.terms import Lexicon

MOST_CHARACTERS: Final = 1_000_000
MOST_LINKS: Final = 5_000
MOST: Final = 20
"""Suggestions of each kind."""
_MOST_SEEDS: Final = 50
_LEAST_SHARE: Final = 0.1
"""The share of the text from which on a language is one of it."""
_ADDRESS = re.compile(r"\b(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w.-]{1,200}", re.IGNORECASE)
_LONG_PARAGRAPH: Final = 200

Recognise = Callable[[str], Iterable[str]]
"""Returns the names that stand in a text, as they stand there."""


def suggest(
    text: str, links: Iterable[str] = (), recognise: Recognise = names, given: Iterable[str] = ()
) -> Suggestions:
    """Return what a text suggests for a definition.

    ``links`` are web addresses that a document links to, beside those that its text holds. ``recognise`` finds names:
    by their capitals, or with a model (``gazetteer.recogniser``). What is ``given`` already, keywords, names or seeds,
    is left out. At most ``MOST_CHARACTERS`` of the text are read.
    """
    read = text[:MOST_CHARACTERS].replace("\r\n", "\n")
    known = {each.casefold() for each in given}
    prose = _ADDRESS.sub(" ", read)
    lexicon = Lexicon()
    parts = _by_language(prose, lexicon)
    seeds, hosts = _addresses(read, links, known)
    return Suggestions(
        tuple(_keywords(parts, lexicon, prose, known)),
        tuple(_names(prose, recognise, known)),
        seeds,
        hosts,
        tuple(_languages(parts, prose)),
        dominant_span(read),
        len(text) > MOST_CHARACTERS,
    )


def _by_language(prose: str, lexicon: Lexicon) -> dict[str | None, list[str]]:
    """Part the lines of a text by their languages; short ones are of the language of the whole text."""
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
    found = ((code, size, size / total) for code, size in sizes.items() if size / total >= _LEAST_SHARE)
    return sorted(found, key=lambda each: (-each[1], each[0] or ""))


def _languages(parts: dict[str | None, list[str]], prose: str) -> Iterator[Suggested]:
    for code, size, share in _shares(parts):
        if code is not None:
            yield Suggested(code, size, round(share, 4), snippet(prose, parts[code][0][:60]))


def _keywords(parts: dict[str | None, list[str]], lexicon: Lexicon, prose: str, known: set[str]) -> Sequence[Suggested]:
    terms = [
        (term, share)
        for code, _, share in _shares(parts)
        for term in distinctive_terms(parts[code], lexicon.language(code), MOST + len(known))
    ]
    wanted = sorted(
        ((term.distinction * share, term) for term, share in terms if term.words.casefold() not in known),
        key=lambda each: (-each[0], each[1].words),
    )[:MOST]
    best = wanted[0][0] if wanted else 1.0
    return [
        Suggested(term.words, term.count, max(0.0001, round(worth / best, 4)), snippet(prose, term.words))
        for worth, term in wanted
    ]


def _names(prose: str, recognise: Recognise, known: set[str]) -> Sequence[Suggested]:
    counts = Counter(" ".join(name.split()) for line in prose.split("\n") for name in recognise(line))
    wanted = [(name, count) for name, count in counts.items() if name and name.casefold() not in known]
    best = sorted(wanted, key=lambda each: (-each[1], each[0]))[:MOST]
    most = best[0][1] if best else 1
    return [Suggested(name, count, round(count / most, 4), snippet(prose, name)) for name, count in best]


def _addresses(text: str, links: Iterable[str], known: set[str]) -> tuple[tuple[Suggested, ...], tuple[Suggested, ...]]:
    """Return the web addresses that a text holds and links to, and their hosts, the most frequent hosts first."""
    linked = [link for _, link in zip(range(MOST_LINKS), links, strict=False)]
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
    counted = [(url, where, hosts[urlsplit(url).hostname or ""]) for url, where in new[:_MOST_SEEDS]]
    return (
        tuple(Suggested(url, count, round(count / most, 4), where, "counts its host") for url, where, count in counted),
        tuple(Suggested(host, count, round(count / most, 4)) for host, count in ranked[:MOST]),
    )

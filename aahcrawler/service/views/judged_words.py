"""Sentences with praise and blame: which words they have, what they name, and whose languages were judged."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation, Annotations, Kind
from aahcrawler.search.text_index import unspaced

_WORD: Final = re.compile(r"\w+")


class JudgedWord(BaseModel):
    """A keyword of the definition, with how many sentences that have it praise and blame."""

    model_config = ConfigDict(frozen=True)

    word: str
    praise: int
    blame: int


def mentions(word: str, opinions: Iterable[Annotation]) -> Iterator[tuple[Annotation, Annotation]]:
    """Yield each opinion whose sentence has a word, with an annotation of kind ``keyword`` at the word's first place.

    Capital and small letters are the same. A word is a whole one where its script has spaces.
    """
    asked = r"\s{1,3}".join(map(re.escape, word.split()))
    pattern = re.compile(asked if unspaced(word) else rf"(?<!\w){asked}(?!\w)", re.IGNORECASE)
    for each in opinions:
        if found := pattern.search(each.quote):
            start, end = (each.start + place for place in found.span())
            said = replace(each, kind=Kind.KEYWORD, label=word, confidence=1.0, values=())
            yield each, replace(said, start=start, end=end, quote=found[0])


def judged_words(words: Iterable[str], opinions: Collection[Annotation]) -> Iterator[JudgedWord]:
    """Yield the words that sentences with opinions have, with praise and blame."""
    folded = [(each, each.quote.casefold()) for each in opinions]
    for word in words:
        first = next(iter(word.casefold().split()), "")
        having = [each for each, text in folded if first in text]
        polarities = [dict(each.values).get("polarity", "") for each, _ in mentions(word, having)]
        if polarities:
            blame = sum(each.startswith("-") for each in polarities)
            yield JudgedWord(word=word, praise=len(polarities) - blame, blame=blame)


def about(opinions: Iterable[Annotation], others: Iterable[Annotation]) -> Iterator[tuple[Annotation, Annotation]]:
    """Yield each opinion with each annotation whose words stand in its sentence, in the order of the text.

    ``others`` are entities, terms or topics that have offsets, of the same objects; those without are passed over.
    An opinion of a sentence is not always on all that it names: who shows it shows the sentence.
    """
    placed: dict[tuple[str, str], list[Annotation]] = {}
    for each in others:
        if each.start >= 0:
            placed.setdefault((each.object, each.capture), []).append(each)
    for named in placed.values():
        named.sort(key=lambda each: (each.start, each.end, each.kind, each.label))
    for opinion in opinions:
        for each in placed.get((opinion.object, opinion.capture), ()):
            if opinion.start <= each.start and each.end <= opinion.end:
                yield opinion, each


def judged_languages(version: str) -> frozenset[str]:
    """Return the languages that a version of ``opinions`` judges: English by VADER, those of its lexicons.

    >>> sorted(judged_languages("1; sentencex 1.0.32; vader 3.3.2; de.tsv 5f1c2a"))
    ['de', 'en']
    """
    judges = (name.split(" ")[0] for name in version.split("; "))
    return frozenset(
        "en" if name == "vader" else name.removesuffix(".tsv")
        for name in judges
        if name == "vader" or name.endswith(".tsv")
    )


class Names:
    """The names of people, and of what may be people, in a crawl."""

    def __init__(self, found: Annotations) -> None:
        self._people = [f" {_plain(each.label)} " for each in found.counts(Kind.PERSON)]
        self._names = {_plain(each.label) for each in found.counts(Kind.NAME)}

    def have(self, word: str) -> bool:
        """Return whether a word is a name of somebody or a part of one, or a name that nothing tells the bearer of."""
        plain = _plain(word)
        return plain in self._names or any(f" {plain} " in each for each in self._people)

    def are_of(self, word: str) -> bool:
        """Return whether a word is the whole name of somebody."""
        return f" {_plain(word)} " in self._people


def _plain(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))

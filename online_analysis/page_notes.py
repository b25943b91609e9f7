"""Notes on the words of pages that a crawl learns from, short enough to keep a few thousand of them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from pydantic import BaseModel, ConfigDict

from online_analysis.document import Document
from online_analysis.term_counts import CountedDocument
from online_analysis.terms import Language

MAX_TERMS = 1_500
"""Different terms that are kept of a page, the most frequent ones."""
MAX_PHRASES = 150
_PHRASE_SEPARATOR = " "


class PageNote(BaseModel):
    """The words of a page and its worth, from 0 to 1.

    ``site`` is its pay-level domain. ``counts`` counts its terms; ``phrases`` counts pairs of terms that stand beside
    one another more than once, by both with a blank between. ``words`` has the most frequent spelling of each term
    that is not spelt as the term itself.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    site: str
    language: str | None = None
    worth: float
    counts: dict[str, int]
    phrases: dict[str, int] = {}
    words: dict[str, str] = {}

    @property
    def line(self) -> str:
        """The note as a line of a file."""
        return self.model_dump_json() + "\n"


def note_of(document: Document, counted: CountedDocument, site: str, worth: float) -> PageNote:
    """Return the note on a document; links count by the text around them, sidebars are left out."""
    speaking = [terms for part, terms in zip(document.parts, counted.parts, strict=True) if part.role != "sidebar"]
    units = [counted.title, *speaking, counted.rest]
    counts = _most(Counter(term for terms in units for term in terms), MAX_TERMS)
    pairs = Counter(pair for terms in units for pair in pairwise(terms))
    repeated = Counter({_PHRASE_SEPARATOR.join(pair): n for pair, n in pairs.items() if n > 1 and pair[0] != pair[1]})
    texts = (document.title, *(part.text for part in document.parts if part.role != "sidebar"), document.rest)
    return PageNote(
        url=document.url,
        site=site,
        language=document.language,
        worth=round(worth, 6),
        counts=counts,
        phrases=_most(repeated, MAX_PHRASES),
        words=_spellings(texts, counted.language, counts),
    )


def words_of_phrase(name: str) -> tuple[str, ...]:
    """Return the terms of a phrase, or of one word, by its name in a note."""
    return tuple(name.split(_PHRASE_SEPARATOR))


def _most(counts: Counter[str], most: int) -> dict[str, int]:
    """Return the most frequent ones, in an order that depends on the counts alone."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:most])


def _spellings(texts: Iterable[str], language: Language, counts: Mapping[str, int]) -> dict[str, str]:
    seen: dict[str, Counter[str]] = {}
    for word, count in Counter(_words(texts, language)).items():
        for term in language.terms(word):
            if term in counts:
                seen.setdefault(term, Counter())[word] += count
    best = {term: next(iter(_most(words, 1))) for term, words in sorted(seen.items())}
    return {term: word for term, word in best.items() if word != term}


def _words(texts: Iterable[str], language: Language) -> Iterator[str]:
    for text in texts:
        yield from language.words(text)

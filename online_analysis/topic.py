"""The topic of a crawl as vectors of terms in the language of the page to be scored."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeVar

from online_analysis.icd import Icd
from online_analysis.term_arrays import Counting, Floats
from online_analysis.terms import Language, Lexicon

Phrase = tuple[str, ...]
Number = TypeVar("Number", float, Floats)

_LEARNED_SHARE = 0.5
"""The length of the learned vector relative to the given one: a fifth of the squared length of both."""


@dataclass(frozen=True, slots=True)
class Direction:
    """A unit vector over terms, and over phrases by their words with blanks between (``"wind turbin"``).

    ``weights[term]`` is its component in the space of counts times the square root of the term's idf or, of documents,
    its ``salience``; ``products[term]`` is what one occurrence of it in a text adds to the dot product. ``reach[k]`` is
    the length of its k heaviest components: the best cosine that a text with k of its terms can have. An empty
    direction has no weights.
    """

    weights: Mapping[str, float]
    products: Mapping[str, float]
    reach: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class TopicVector:
    """A topic in one language: the direction of its keywords and entities, and that of its reference documents.

    ``phrases`` lists keywords of several words by their first term; ``phrase_idf`` is the idf of each by its name.
    """

    language: Language
    keywords: Direction
    documents: Direction
    phrases: Mapping[str, tuple[Phrase, ...]]
    phrase_idf: Mapping[str, float]


class Topic:
    """Keywords and entities (phrases of one or more words) and reference texts; their order does not matter.

    The same phrases are stemmed as the page's language asks, so a page in any language can match. ``counting`` supplies
    a document's terms to every comparison with the topic.
    """

    def __init__(
        self,
        phrases: Iterable[str],
        texts: Iterable[str] = (),
        lexicon: Lexicon | None = None,
        learned: Mapping[str, float] | None = None,
    ) -> None:
        self._phrases = tuple(sorted(set(phrases)))
        self._texts = tuple(sorted(set(texts)))
        self._lexicon = lexicon or Lexicon()
        self._learned = dict(learned or {})
        self.counting = Counting(self._lexicon)
        self._vectors: dict[str | None, TopicVector] = {}

    @property
    def phrases(self) -> tuple[str, ...]:
        """The keywords and entities as they were given, in the order of their letters."""
        return self._phrases

    def texts_in_words(self) -> Iterator[Sequence[str]]:
        """Yield the lines of each reference text, of words that say something in the language of the text."""
        for text in self._texts:
            own = self._lexicon.language(self._lexicon.language_of(text))
            yield [" ".join(own.words(line)) for line in text.split("\n")]

    def vector(self, code: str | None) -> TopicVector:
        """Return the topic in a language (ISO 639-1; None where it is unknown). Its directions may be empty."""
        language = self._lexicon.language(code)
        if language.code not in self._vectors:
            self._vectors[language.code] = self._build(language)
        return self._vectors[language.code]

    def vector_of(self, text: str) -> TopicVector:
        """Return the topic in the language that a text is most likely in."""
        return self.vector(self._lexicon.language_of(text))

    def refined(self, learned: Mapping[str, float], lexicon: Lexicon | None = None) -> "Topic":
        """Return the topic with words and phrases that were learned, each with a weight in (0, 1], added to its sides.

        They replace those that were learned before. All of them together have half the length of the given side.
        """
        return Topic(self._phrases, self._texts, lexicon or self._lexicon, learned)

    def _build(self, language: Language) -> TopicVector:
        stemmed = {terms for phrase in self._phrases if (terms := tuple(language.terms(phrase)))}
        learned = {terms: weight for text, weight in self._learned.items() if (terms := tuple(language.terms(text)))}
        phrases: dict[str, list[Phrase]] = {}
        for terms in sorted(stemmed | learned.keys()):
            if len(terms) > 1:
                phrases.setdefault(terms[0], []).append(terms)
        phrase_idf = {
            " ".join(terms): _phrase_idf(terms, language.idf) for terms in stemmed | learned.keys() if len(terms) > 1
        }
        keywords = _keyword_weights(dict.fromkeys(stemmed, 1.0), language.idf)
        more = _keyword_weights(learned, language.idf)
        single = {term: weight for term, weight in more.items() if term not in phrase_idf}
        return TopicVector(
            language,
            _direction(_with_learned(keywords, more), phrase_idf, language.idf),
            self._documents_direction(language, single),
            {first: tuple(found) for first, found in phrases.items()},
            phrase_idf,
        )

    def _documents_direction(self, language: Language, learned: Mapping[str, float]) -> Direction:
        weights = _with_learned(self._document_weights(language), learned)
        return _direction(weights, {}, {term: salience(language.idf[term]) for term in weights})

    def _document_weights(self, language: Language) -> Mapping[str, float]:
        """Weigh the terms of all reference texts together, as often as they occur (ARCOMEM, section 5.1).

        Words that say nothing in the language of a text say nothing in others either.
        """
        counts: Counter[str] = Counter()
        for lines in self.texts_in_words():
            for word, count in Counter(chain.from_iterable(map(str.split, lines))).items():
                for term in language.terms(word):
                    counts[term] += count
        return {term: count * math.sqrt(salience(language.idf[term])) for term, count in counts.items()}


def salience(idf: Number) -> Number:
    """Return the salience of terms in a comparison with documents, given their idf: rare terms count somewhat more.

    With their whole idf a handful of rare words would decide; without idf, the words that all pages of a kind share. In
    between, the exponent matters little.
    """
    found: Number = idf**0.5
    return found


def build_topic(icd: Icd, texts: Mapping[str, str], lexicon: Lexicon | None = None) -> Topic:
    """Return the topic of an ICD; ``texts`` holds the plain text of each of ``icd.document_urls()`` by its URL.

    Documents that are files were read with the ICD. Raise KeyError for a document without a text.
    """
    documents = (icd.file_texts[name] if name in icd.file_texts else texts[name] for name in icd.topic.documents)
    return Topic((*icd.topic.keywords, *icd.topic.entities), documents, lexicon)


def _direction(weights: Mapping[str, float], phrase_idf: Mapping[str, float], idf: Mapping[str, float]) -> Direction:
    length = _length(weights)
    unit = {term: weight / length for term, weight in sorted(weights.items())} if length else {}
    products = {term: weight * math.sqrt(phrase_idf.get(term) or idf[term]) for term, weight in unit.items()}
    return Direction(unit, products, _reach(unit.values()))


def _phrase_idf(terms: Phrase, idf: Mapping[str, float]) -> float:
    """Take the idfs of a phrase's words together: that is how rare it is if its words meet by chance."""
    return math.fsum(idf[term] for term in terms)


def _with_learned(given: Mapping[str, float], learned: Mapping[str, float]) -> Mapping[str, float]:
    """Add the learned terms to a side of the topic, unless that side is empty."""
    length = _length(learned)
    if not given or not length:
        return given
    share = _LEARNED_SHARE * _length(given) / length
    return {term: given.get(term, 0.0) + share * learned.get(term, 0.0) for term in given.keys() | learned.keys()}


def _keyword_weights(phrases: Mapping[Phrase, float], idf: Mapping[str, float]) -> Mapping[str, float]:
    """Weigh the words of keywords and, for those of several words, the phrase; all weigh what is given.

    Rare ones have more, but a long keyword weighs no more than a short one.
    """
    weights: Counter[str] = Counter()
    for terms, say in sorted(phrases.items()):
        own = {term: math.sqrt(idf[term]) for term in terms}
        if len(terms) > 1:
            own[" ".join(terms)] = math.sqrt(_phrase_idf(terms, idf))
        mean = math.sqrt(_phrase_idf(terms, idf) / len(terms))
        length = _length(own)
        weights.update({term: say * weight * mean / length for term, weight in own.items()})
    return weights


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(weight * weight for weight in weights.values()))


def _reach(weights: Iterable[float]) -> tuple[float, ...]:
    reach, total = [0.0], 0.0
    for weight in sorted(weights, reverse=True):
        total += weight * weight
        reach.append(math.sqrt(total))
    return tuple(reach)

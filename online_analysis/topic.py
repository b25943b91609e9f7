"""What a crawl is about, as weighted terms in the language of the page that is judged."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from online_analysis.icd import Icd
from online_analysis.terms import Language, Lexicon

_TERMS_OF_DOCUMENTS = 50


@dataclass(frozen=True, slots=True)
class TopicVector:
    """A topic in one language: a unit vector over terms and phrases (``"wind turbin"``).

    ``phrases`` lists the phrases by their first term; ``phrase_idf`` is the idf of each by its name in ``weights``.
    ``reach[k]`` is the length of the vector's k heaviest components: the best cosine that a text with k of the
    topic's terms can have.
    """

    language: Language
    weights: Mapping[str, float]
    phrases: Mapping[str, tuple[tuple[str, ...], ...]]
    phrase_idf: Mapping[str, float]
    reach: tuple[float, ...]


class Topic:
    """Keywords and entities (phrases of one or more words) and reference texts; their order does not matter.

    The same phrases are stemmed as the page's language asks, so a page in any language can match.
    """

    def __init__(self, phrases: Iterable[str], texts: Iterable[str] = (), lexicon: Lexicon | None = None) -> None:
        self._phrases = tuple(sorted(set(phrases)))
        self._texts = tuple(sorted(set(texts)))
        self._lexicon = lexicon or Lexicon()
        self._vectors: dict[str | None, TopicVector] = {}

    def vector(self, code: str | None) -> TopicVector:
        """Return the topic in a language (ISO 639-1; None where it is unknown). It may be empty."""
        language = self._lexicon.language(code)
        if language.code not in self._vectors:
            self._vectors[language.code] = self._build(language)
        return self._vectors[language.code]

    def _build(self, language: Language) -> TopicVector:
        weights: Counter[str] = Counter()
        phrases: dict[str, set[tuple[str, ...]]] = {}
        for phrase in self._phrases:
            terms = tuple(language.terms(phrase))
            if len(terms) > 1:
                phrases.setdefault(terms[0], set()).add(terms)
            weights.update(_phrase_weights(terms, language.idf))
        _add_with_equal_length(weights, _document_weights(self._texts, language))
        length = _length(weights)
        unit = {term: weight / length for term, weight in sorted(weights.items())} if length else {}
        return TopicVector(
            language,
            unit,
            {first: tuple(sorted(found)) for first, found in phrases.items()},
            {" ".join(each): _phrase_idf(each, language.idf) for found in phrases.values() for each in found},
            _reach(unit.values()),
        )


def build_topic(icd: Icd, texts: Mapping[str, str], lexicon: Lexicon | None = None) -> Topic:
    """Return the topic of an ICD; ``texts`` holds the plain text of each of ``icd.document_urls()`` by its URL.

    Documents that are files were read with the ICD. Raise KeyError for a document without a text.
    """
    documents = (icd.file_texts[name] if name in icd.file_texts else texts[name] for name in icd.topic.documents)
    return Topic((*icd.topic.keywords, *icd.topic.entities), documents, lexicon)


def _phrase_idf(terms: Iterable[str], idf: Mapping[str, float]) -> float:
    """Take the idfs of a phrase's words together, as the length of a vector."""
    return math.sqrt(math.fsum(idf[term] ** 2 for term in terms))


def _phrase_weights(terms: tuple[str, ...], idf: Mapping[str, float]) -> dict[str, float]:
    """Weigh a keyword's words and, for several words, the phrase; a long keyword weighs no more than a short one."""
    weights = {term: idf[term] for term in terms}
    if len(terms) > 1:
        weights[" ".join(terms)] = _phrase_idf(terms, idf)
    length = _length(weights)
    mean = math.sqrt(math.fsum(idf[term] ** 2 for term in terms) / len(terms)) if terms else 0.0
    return {term: weight * mean / length for term, weight in weights.items()} if length else {}


def _document_weights(texts: Iterable[str], language: Language) -> dict[str, float]:
    """Return the most telling terms of the reference texts; each text has the same say, however long it is."""
    total: Counter[str] = Counter()
    for text in texts:
        counts = Counter(language.terms(text))
        weights = {term: (1 + math.log(count)) * language.idf[term] for term, count in counts.items()}
        length = _length(weights)
        total.update({term: weight / length for term, weight in weights.items()} if length else {})
    ranked = sorted(total.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:_TERMS_OF_DOCUMENTS])


def _add_with_equal_length(weights: Counter[str], more: Mapping[str, float]) -> None:
    """Add a vector, scaled so that keywords and documents have the same say."""
    length = _length(more)
    if length:
        factor = (_length(weights) or 1.0) / length
        weights.update({term: weight * factor for term, weight in more.items()})


def _length(weights: Mapping[str, float]) -> float:
    return math.sqrt(math.fsum(weight * weight for weight in weights.values()))


def _reach(weights: Iterable[float]) -> tuple[float, ...]:
    reach, total = [0.0], 0.0
    for weight in sorted(weights, reverse=True):
        total += weight * weight
        reach.append(math.sqrt(total))
    return tuple(reach)

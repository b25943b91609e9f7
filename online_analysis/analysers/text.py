"""How much a page and the words around its links speak of the topic (ARCOMEM, section 4.2).

A score is a cosine of tf-idf vectors, normalised so that it means the same for a page of 2,000 words and an anchor of
three, and for a topic of five keywords and one of fifty. A cosine is a product of two factors::

    cos(text, topic) = |text'| / |text|  *  cos(text', topic)         text' = the part of the text in the topic's terms
                       share                coverage

- **Share** falls with the length of a text even if it never leaves the topic, as it has more and more other words.
  It is saturated: ``share^2 / (share^2 + 0.025)``, which is one half where a fortieth of the text's weight lies
  in the topic's terms.
- **Coverage** falls with the size of the topic, as no page speaks of everything. It is measured against the best that
  a text with as many of the topic's terms could have, and a page is expected to have at least six, a paragraph two.

A page counts as having at least the weight of two hundred ordinary terms, so that one word does not make a short page
relevant. The document's score is two thirds that of its content as a whole and one third that of its best part. A
link's score is the mean of the document (weight 2), the paragraph (1) and the anchor (2), those without terms left
out: so links beside a match rise above the others of the page, and links that are a match above these.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import repeat
from operator import mul

from online_analysis.aggregation import Scores
from online_analysis.document import Document, DocumentPart, Outlink
from online_analysis.topic import Topic, TopicVector

_HALF_SHARE = 0.025
_TERMS_OF_A_PAGE = 6
_TERMS_OF_A_PARAGRAPH = 2
_LEAST_WEIGHT_OF_A_PAGE = 200 * 7.0**2
_MOST_FREQUENT = 255
_FREQUENCY = (0.0, *(1.0 + math.log(count) for count in range(1, _MOST_FREQUENT + 1)))
"""The weight of a term by how often it occurs; more often than 255 times changes nothing."""
_REMEMBERED_TEXTS = 10_000
_LONGEST_PARAGRAPH = 1_000
_DOCUMENT_WEIGHT, _PARAGRAPH_WEIGHT, _ANCHOR_WEIGHT = 2.0, 1.0, 2.0


Terms = Counter[str]
"""How often each term and each phrase of the topic occurs in a piece of text."""


class TextAnalyser:
    """Scores documents and links. Silent where there are no terms.

    Of a paragraph the first thousand characters count. Their scores, and those of anchors, are remembered up to a
    bound: most anchors of a site stand on many of its pages.
    """

    name = "text"

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._local_score = lru_cache(_REMEMBERED_TEXTS)(self._score_text)

    def analyse(self, document: Document) -> Scores:
        """Score the document and each link by their text. None: there are no terms to go by."""
        page = _document_score(document, self._topic.vector(document.language))
        links = tuple(self._link_score(link, page, document.language) for link in document.outlinks)
        return Scores(self.name, page, links)

    def _link_score(self, link: Outlink, page: float | None, language: str | None) -> float | None:
        paragraph = self._local_score(link.context[:_LONGEST_PARAGRAPH], language, _TERMS_OF_A_PARAGRAPH)
        anchor = self._local_score(link.anchor[:_LONGEST_PARAGRAPH], language, 1)
        total = weights = 0.0
        for value, weight in ((page, _DOCUMENT_WEIGHT), (paragraph, _PARAGRAPH_WEIGHT), (anchor, _ANCHOR_WEIGHT)):
            if value is not None:
                total += weight * value
                weights += weight
        return total / weights if weights else None

    def _score_text(self, text: str, language: str | None, least_terms: int) -> float | None:
        topic = self._topic.vector(language)
        counts = count_terms(text, topic)
        if all(term.isdigit() for term in counts):
            return None
        return score(counts, topic, least_terms=least_terms)


def count_terms(text: str, topic: TopicVector) -> Terms:
    """Count the terms of a text, and the topic's phrases in it."""
    terms = topic.language.terms(text)
    counts = Counter(terms)
    for first in [term for term in counts if term in topic.phrases]:
        for phrase in topic.phrases[first]:
            if found := _occurrences(phrase, terms):
                counts[" ".join(phrase)] = found
    return counts


def score(counts: Terms, topic: TopicVector, *, least_terms: int = 1, least_weight: float = 0.0) -> float:
    """Return how much a text speaks of the topic, in [0, 1]; the module's docstring says how it is measured."""
    weights = topic.weights
    matched = [term for term in counts if term in weights]
    if not matched:
        return 0.0
    idf = topic.language.idf
    dot = on_topic = known = 0.0
    for term in matched:
        frequency = _FREQUENCY[min(counts[term], _MOST_FREQUENT)]
        component = frequency * (topic.phrase_idf.get(term) or idf[term])
        dot += component * weights[term]
        on_topic += component * component
        known += (frequency * idf[term]) ** 2
    frequencies = map(_FREQUENCY.__getitem__, map(min, counts.values(), repeat(_MOST_FREQUENT)))
    components = list(map(mul, frequencies, map(idf.__getitem__, counts)))
    everything: float = sum(map(mul, components, components))
    share = on_topic / max(on_topic + everything - known, on_topic, least_weight)
    reach = topic.reach[min(max(len(matched), least_terms), len(topic.reach) - 1)]
    coverage = dot / (math.sqrt(on_topic) * reach)
    return min(1.0, coverage * share / (share + _HALF_SHARE) * (1.0 + _HALF_SHARE))


def _document_score(document: Document, topic: TopicVector) -> float | None:
    parts = [count_terms(part.text, topic) for part in _content(document.parts)]
    whole = count_terms(document.title, topic)
    for part in parts:
        whole.update(part)
    if not whole:
        return None
    best = max((_page_score(part, topic) for part in parts), default=None)
    overall = _page_score(whole, topic)
    return overall if best is None else (2.0 * overall + best) / 3.0


def _page_score(counts: Terms, topic: TopicVector) -> float:
    return score(counts, topic, least_terms=_TERMS_OF_A_PAGE, least_weight=_LEAST_WEIGHT_OF_A_PAGE)


def _content(parts: Sequence[DocumentPart]) -> Iterable[DocumentPart]:
    return [part for part in parts if part.role == "content"] or parts


def _occurrences(phrase: tuple[str, ...], terms: Sequence[str]) -> int:
    width, first = len(phrase), phrase[0]
    return sum(
        1
        for start in range(len(terms) - width + 1)
        if terms[start] == first and tuple(terms[start : start + width]) == phrase
    )

"""Relevance metrics for pages, by the words of a definition and the most distinctive words of its seed pages."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.layout import DEFINITION, TOPIC
from online_analysis.analysers.text import TextAnalyser
from online_analysis.document import Document
from online_analysis.icd import Icd, IcdError
from online_analysis.terms import Lexicon, tokenize
from online_analysis.topic import Topic
from online_analysis.topic_learning import TopicState

SEED_TERMS = (10, 50, 100)
"""How many terms of the seed pages are compared with, as in the paper's tables 4 and 5."""
BY_DEFINITION = "ICD"


class EvaluationError(Exception):
    """Raised when a crawl cannot be evaluated; the message gives the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The topics of a crawl. ``relevant`` is the score from which a page counts as relevant.

    ``texts`` are the reference documents; ``missing`` names those whose text is unknown.
    """

    words: tuple[str, ...]
    texts: tuple[str, ...]
    seeds: tuple[str, ...]
    relevant: float
    missing: tuple[str, ...] = ()


def kept_reference(crawl: Path) -> Reference:
    """Return the topics of the definition in a crawl's folder. Raises ``EvaluationError``.

    The folder has the texts of reference documents from the web, but not those of files.
    """
    if not (crawl / DEFINITION).exists():
        raise EvaluationError(f"{crawl}: holds no definition ({DEFINITION}); name one with --icd FILE")
    try:
        return _reference(read_definition(crawl / DEFINITION), crawl)
    except DefinitionError as error:
        raise EvaluationError(f"{error}, or name a definition with --icd FILE") from error


def reference_of(icd: Path, crawl: Path) -> Reference:
    """Return the topics of a definition in a file, with reference documents on the web as ``crawl`` has stored them.

    Raises ``EvaluationError``.
    """
    try:
        return _reference(Icd.load(icd), crawl)
    except IcdError as error:
        raise EvaluationError(str(error)) from error


def _reference(icd: Icd, crawl: Path) -> Reference:
    try:
        texts = {**TopicState.read(crawl / TOPIC).texts, **icd.file_texts}
    except (OSError, ValueError) as error:
        raise EvaluationError(f"{crawl}: its reference documents cannot be read ({error})") from error
    return Reference(
        (*icd.topic.keywords, *icd.topic.entities),
        tuple(texts[name] for name in icd.topic.documents if name in texts),
        icd.seeds,
        icd.scoring.relevant,
        tuple(name for name in icd.topic.documents if name not in texts),
    )


@dataclass(frozen=True, slots=True)
class TopicTerms:
    """What documents are compared with: the definition's words and texts, and the most distinctive seed words."""

    words: tuple[str, ...]
    texts: tuple[str, ...]
    telling: tuple[str, ...]

    @classmethod
    def of(cls, reference: Reference, seeds: Iterable[Document]) -> Self:
        """Return the terms of a definition, given the documents of its seeds."""
        telling = telling_words(seeds, Lexicon(), max(SEED_TERMS))
        return cls(tuple(dict.fromkeys(reference.words)), reference.texts, telling)

    def topics(self, lexicon: Lexicon) -> dict[str, Topic]:
        """Return the topics by their names; that of the definition comes first, if it has one."""
        own = {BY_DEFINITION: Topic(self.words, self.texts, lexicon)} if self.words or self.texts else {}
        counts = SEED_TERMS if self.telling else ()
        return own | {f"Seeds, {count} terms": Topic(self.telling[:count], (), lexicon) for count in counts}


class RelevanceMetrics:
    """Measures how similar documents are to each of several topics, and which keywords they contain."""

    def __init__(self, terms: TopicTerms) -> None:
        self.words = terms.words
        self._lexicon = Lexicon()
        self._analysers = {name: TextAnalyser(topic) for name, topic in terms.topics(self._lexicon).items()}
        self._phrases: dict[str | None, tuple[str, ...]] = {}

    def similarities(self, document: Document) -> dict[str, float]:
        """Return the similarity of a document to each topic, in [0, 1]; 0 for one without words."""
        alone = replace(document, outlinks=())
        return {name: analyser.analyse(alone).document or 0.0 for name, analyser in self._analysers.items()}

    def held(self, document: Document) -> tuple[bool, ...]:
        """Return, for each keyword, whether a document contains it, also in an inflected form of its language."""
        language = self._lexicon.language(document.language)
        if language.code not in self._phrases:
            self._phrases[language.code] = tuple(f" {' '.join(language.terms(word))} " for word in self.words)
        texts = (document.title, *(part.text for part in document.parts))
        lines = [f" {' '.join(language.terms(text))} " for text in texts]
        return tuple(
            bool(phrase.strip()) and any(phrase in line for line in lines) for phrase in self._phrases[language.code]
        )


def telling_words(documents: Iterable[Document], lexicon: Lexicon, most: int) -> tuple[str, ...]:
    """Return the most distinctive words of documents by tf-idf, one for each stem, the most distinctive first.

    Each document has the same weight, however long it is.
    """
    weights: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for document in documents:
        language = lexicon.language(document.language)
        counts: Counter[str] = Counter()
        for word in tokenize(" ".join((document.title, *(part.text for part in document.parts)))):
            for term in language.terms(word):
                counts[term] += 1
                spelled.setdefault(term, word)
        found = {term: (1 + math.log(count)) * language.idf[term] for term, count in counts.items()}
        length = math.sqrt(math.fsum(weight * weight for weight in found.values()))
        weights.update({term: weight / length for term, weight in found.items() if not term.isdigit()})
    ranked = sorted(weights.items(), key=lambda item: (-item[1], item[0]))
    return tuple(spelled[term] for term, _ in ranked[:most])

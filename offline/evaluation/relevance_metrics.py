"""Relevance metrics for pages: the words of a definition, and the most telling words of its seed pages."""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.layout import DEFINITION, TOPIC
from online_analysis.analysers.text import TextAnalyser
from online_analysis.document import Document
from online_analysis.icd import Icd, IcdError
from online_analysis.terms import Lexicon, tokenize
from online_analysis.topic import Topic
from online_analysis.topic_state import TopicState

SEED_TERMS = (10, 50, 100)
"""The numbers of terms of the seed pages that are compared with, as in the paper's tables 4 and 5."""
BY_DEFINITION = "ICD"


class EvaluationError(Exception):
    """Raised where a crawl cannot be evaluated; the message tells the cause and the remedy."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The topics of a crawl. ``relevant`` is the score from which on a page is relevant.

    ``texts`` are the reference documents; ``missing`` names those whose text is not known.
    """

    words: tuple[str, ...]
    texts: tuple[str, ...]
    seeds: tuple[str, ...]
    relevant: float
    missing: tuple[str, ...] = ()


def kept_reference(crawl: Path) -> Reference:
    """Return the topics of the definition in a crawl's folder. Raises ``EvaluationError``.

    Texts of reference documents on the web are kept there, those of files are not.
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


class RelevanceMetrics:
    """Measures how similar documents are to each of several topics, and which keywords they hold."""

    def __init__(self, reference: Reference, seeds: Iterable[Document]) -> None:
        self.words = tuple(dict.fromkeys(reference.words))
        self._lexicon = Lexicon()
        topics = {}
        if reference.words or reference.texts:
            topics[BY_DEFINITION] = Topic(reference.words, reference.texts, self._lexicon)
        telling = telling_words(seeds, self._lexicon, max(SEED_TERMS))
        for count in SEED_TERMS if telling else ():
            topics[f"Seeds, {count} terms"] = Topic(telling[:count], (), self._lexicon)
        self._analysers = {name: TextAnalyser(topic) for name, topic in topics.items()}
        self._phrases: dict[str | None, tuple[str, ...]] = {}

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics, that of the definition first, where it has one."""
        return tuple(self._analysers)

    def similarities(self, document: Document) -> tuple[float, ...]:
        """Return the similarity of a document to each topic, in [0, 1]; 0 for one without words."""
        alone = replace(document, outlinks=())
        return tuple(analyser.analyse(alone).document or 0.0 for analyser in self._analysers.values())

    def held(self, document: Document) -> tuple[bool, ...]:
        """Return, for each keyword, whether a document holds it, inflected forms of its language included."""
        language = self._lexicon.language(document.language)
        if language.code not in self._phrases:
            self._phrases[language.code] = tuple(f" {' '.join(language.terms(word))} " for word in self.words)
        texts = (document.title, *(part.text for part in document.parts))
        lines = [f" {' '.join(language.terms(text))} " for text in texts]
        return tuple(
            bool(phrase.strip()) and any(phrase in line for line in lines) for phrase in self._phrases[language.code]
        )


def telling_words(documents: Iterable[Document], lexicon: Lexicon, most: int) -> tuple[str, ...]:
    """Return the words that tell most about documents by tf-idf, one for each stem, the most telling first.

    Each document has the same say, however long it is.
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

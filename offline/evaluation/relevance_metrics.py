"""Relevance metrics for pages: the words of a definition, and the most telling words of its seed pages."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from online_analysis.analysers.text import TextAnalyser
from online_analysis.document import Document
from online_analysis.icd import Icd, IcdError
from online_analysis.terms import Lexicon, tokenize
from online_analysis.topic import Topic

SEED_TERMS = (10, 50, 100)
"""The numbers of terms of the seed pages that are compared with, as in the paper's tables 4 and 5."""
DEFINITION = "ICD"
_RELEVANT = 0.2


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
    try:
        meaning: Mapping[str, str] = json.loads((crawl / "icd.json").read_text("utf-8"))
        words = (*_list(meaning, "topic.keywords"), *_list(meaning, "topic.entities"))
        seeds, documents = _list(meaning, "seeds"), _list(meaning, "topic.documents")
        relevant = float(json.loads(meaning.get("scoring.relevant", str(_RELEVANT))))
        kept = crawl / "topic.json"
        texts: Mapping[str, str] = json.loads(kept.read_text("utf-8")) if kept.exists() else {}
    except FileNotFoundError:
        raise EvaluationError(f"{crawl}: holds no definition (icd.json); name one with --icd FILE") from None
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise EvaluationError(f"{crawl}: its definition cannot be read ({error}); name one with --icd FILE") from error
    missing = tuple(name for name in documents if name not in texts)
    return Reference(words, tuple(texts[name] for name in documents if name in texts), seeds, relevant, missing)


def reference_of(icd: Path, crawl: Path) -> Reference:
    """Return the topics of a definition in a file, with reference documents on the web as ``crawl`` has stored them.

    Raises ``EvaluationError``.
    """
    try:
        read = Icd.load(icd)
        kept = crawl / "topic.json"
        texts = dict(json.loads(kept.read_text("utf-8"))) if kept.exists() else {}
    except IcdError as error:
        raise EvaluationError(str(error)) from error
    except (OSError, ValueError, TypeError) as error:
        raise EvaluationError(f"{crawl}: its reference documents cannot be read ({error})") from error
    texts |= read.file_texts
    return Reference(
        (*read.topic.keywords, *read.topic.entities),
        tuple(texts[name] for name in read.topic.documents if name in texts),
        read.seeds,
        read.scoring.relevant,
        tuple(name for name in read.topic.documents if name not in texts),
    )


class RelevanceMetrics:
    """Measures how similar documents are to each of several topics, and which keywords they hold."""

    def __init__(self, reference: Reference, seeds: Iterable[Document]) -> None:
        self.words = tuple(dict.fromkeys(reference.words))
        self._lexicon = Lexicon()
        topics = {DEFINITION: Topic(reference.words, reference.texts, self._lexicon)}
        telling = telling_words(seeds, self._lexicon, max(SEED_TERMS))
        for count in SEED_TERMS if telling else ():
            topics[f"Seeds, {count} terms"] = Topic(telling[:count], (), self._lexicon)
        self._analysers = {name: TextAnalyser(topic) for name, topic in topics.items()}
        self._phrases: dict[str | None, tuple[str, ...]] = {}

    @property
    def topics(self) -> tuple[str, ...]:
        """The names of the topics, that of the definition first."""
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


def _list(meaning: Mapping[str, str], name: str) -> tuple[str, ...]:
    """Return a list of the kept meaning, whose items are JSON themselves."""
    return tuple(str(json.loads(item)) for item in json.loads(meaning.get(name, "[]")))

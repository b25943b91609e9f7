"""Finds the topics of a collection, names them by their terms, and tells which texts are of which (ARCOMEM, 3.3)."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Final, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.layout import ANNOTATIONS, TOPICS
from aahcrawler.tombstones import replace_durably
from offline.enrichment.annotator import ObjectText
from offline.enrichment.steps import Setting
from offline.enrichment.topic_texts import (
    MAX_SAMPLE,
    MIN_COHERENCE,
    MIN_SHARE,
    NAMING_TERMS,
    NUMBERS,
    FittedTopics,
    Formulas,
    TermReader,
    Words,
    best_topics,
    ranked_terms,
    sampled_words,
)
from online_analysis.terms import TermVector

MAX_KNOWN: Final = 1_000
"""Topics that are known from run to run."""
_TEXTS_PER_TOPIC: Final = 8
_MIN_SUPPORT: Final = 3
"""Terms of a topic that a text has at least that is said to be of it."""
_SUPPORTING: Final = 30
_MAX_QUOTED: Final = 8
_NAME_TERMS: Final = 3
_MIN_LIKENESS: Final = 0.4
"""The cosine from which on a topic is taken for one that a former run has found."""
_KEPT_TERMS: Final = 50
_BATCH: Final = 500

Terms = tuple[tuple[str, float], ...]
"""Stems with weights from 0 to 1, the weightiest first."""


@dataclass(frozen=True, slots=True)
class KnownTopic:
    """A topic that a run has found, with its terms as of the last run that did."""

    iri: str
    language: str
    name: str
    terms: Terms


@dataclass(frozen=True, slots=True)
class KnownTopics:
    """What runs know of the topics of a collection, so that later ones call the same the same.

    ``topics`` were found by any of them, those of the last run first; ``numbers`` are how many the last run looked for
    in each language.
    """

    topics: tuple[KnownTopic, ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what ``str`` made a text of. Raise ``ValueError`` for any other."""
        try:
            read = json.loads(text)
            topics = tuple(
                KnownTopic(
                    str(each["iri"]),
                    str(each["language"]),
                    str(each["name"]),
                    tuple((str(term), float(weight)) for term, weight in each["terms"]),
                )
                for each in read["topics"]
            )
            return cls(topics, tuple((str(code), int(number)) for code, number in read["numbers"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"no topics of former runs ({error!r}); without them all topics get new names") from error


class Topics:
    """Annotates texts with the topics of the collection that they are of, by NMF or LDA.

    Topics are found in each language by itself, so texts whose language is unknown have none. How many there are is
    told by their coherence. A topic whose terms keep together hardly better than by chance is left out, and so are all
    where there are too few texts. Of many texts a sample is looked at.

    ``state`` is what former runs know: a topic that is much like one of theirs keeps its IRI and name. When all
    annotations were taken it is what to give to the next run, and is written to ``kept``. ``confidence`` is the share
    of the text that is of the topic, ``quote`` the words of the text that are; a text has two topics at most.
    """

    name = "topics"

    def __init__(
        self, model: Literal["nmf", "lda"] = "nmf", state: KnownTopics | None = None, kept: Path | None = None
    ) -> None:
        self.state, self._kept = state or KnownTopics(), kept
        self._model = model
        self._reader = TermReader()

    @classmethod
    def of(cls, setting: Setting) -> Self:
        """Return the annotator of a crawl, with what its former runs know. Raise ``ValueError`` for a damaged file."""
        kept = setting.crawl / ANNOTATIONS / TOPICS
        try:
            return cls(state=KnownTopics.parse(kept.read_text("utf-8")) if kept.exists() else None, kept=kept)
        except ValueError as error:
            raise ValueError(f"{kept}: {error}: delete it, and they do") from error

    @property
    def version(self) -> str:
        """The version of code, settings and model."""
        return f"3 {self._model} of {MAX_SAMPLE}"

    def annotate(
        self,
        objects: Callable[[], Iterator[ObjectText]],
        known: Callable[[], Iterator[Annotation]],  # noqa: ARG002 - rests on the texts alone
    ) -> Iterator[Annotation]:
        """Annotate all objects, which are read five times."""
        found: dict[str, _LanguageTopics] = {}
        for code, words in sorted(sampled_words(objects, self._reader).items()):
            topics = _found(code, words, self._model, self.state)
            if topics is not None:
                found[code] = topics
        waiting: dict[str, list[_Text]] = {code: [] for code in found}
        for given in objects() if found else ():
            if given.language in found:
                texts = waiting[given.language]
                texts.append(found[given.language].read(given, self._reader))
                if len(texts) == _BATCH:
                    yield from self._annotations(texts, found[given.language])
                    texts.clear()
        for code, texts in waiting.items():
            yield from self._annotations(texts, found[code])
        self.state = _following(self.state, found.values())
        if self._kept is not None:
            replace_durably(self._kept, str(self.state).encode())

    def _annotations(self, texts: Sequence["_Text"], topics: "_LanguageTopics") -> Iterator[Annotation]:
        for text, shares in zip(texts, topics.shares(texts), strict=True):
            for number in np.argsort(-shares, kind="stable"):
                topic = topics.topics[number]
                if shares[number] < MIN_SHARE or topic is None:
                    continue
                said = [written for term, written in text.written.items() if term in topic.supporting]
                if len(said) >= _MIN_SUPPORT:
                    yield Annotation(
                        object=text.object,
                        capture=text.capture,
                        kind=Kind.TOPIC,
                        label=topic.known.name,
                        annotator=self.name,
                        version=self.version,
                        confidence=float(shares[number]),
                        iri=topic.known.iri,
                        quote=", ".join(said[:_MAX_QUOTED]),
                        values=(("coherence", f"{topic.coherence:.3f}"), ("terms", topic.naming)),
                    )


@dataclass(frozen=True, slots=True)
class _Text:
    """A text by the numbers of its terms: how often each is in it, and how it is written first."""

    object: str
    capture: str
    counts: Mapping[int, int]
    written: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class _Topic:
    """A topic with its coherence, the numbers of the terms that speak for it, and those that name it as a text."""

    known: KnownTopic
    coherence: float
    supporting: frozenset[int]
    naming: str


@dataclass(frozen=True, slots=True)
class _LanguageTopics:
    """The topics of a language, None in place of one that is not coherent."""

    language: str
    vocabulary: Mapping[str, int]
    topics: Sequence[_Topic | None]
    fitted: FittedTopics
    formulas: Formulas

    def read(self, given: ObjectText, reader: TermReader) -> _Text:
        counts: Counter[int] = Counter()
        written: dict[int, str] = {}
        for term, word in reader.terms(given, self.formulas):
            number = self.vocabulary.get(term)
            if number is not None:
                counts[number] += 1
                written.setdefault(number, word)
        return _Text(given.object, given.capture, counts, written)

    def shares(self, texts: Sequence[_Text]) -> NDArray[np.float64]:
        """Return which share of each text is of each topic, to four digits: more may be others on another machine."""
        rows = np.repeat(np.arange(len(texts)), [len(text.counts) for text in texts])
        columns = np.fromiter(chain.from_iterable(text.counts for text in texts), np.int64, len(rows))
        counts = np.fromiter(chain.from_iterable(text.counts.values() for text in texts), np.float64, len(rows))
        matrix = csr_matrix((counts, (rows, columns)), shape=(len(texts), len(self.vocabulary)))
        return np.round(self.fitted.shares(matrix), 4) if texts else np.empty((0, len(self.topics)))


def _found(language: str, words: Words, model: str, state: KnownTopics) -> _LanguageTopics | None:
    from offline.enrichment.topic_models import MODELS  # noqa: PLC0415 - scikit-learn takes seconds to import

    most = min(words.counts.shape[0] // _TEXTS_PER_TOPIC, len(words.vocabulary) // NAMING_TERMS)
    if most < min(NUMBERS):
        return None
    former = dict(state.numbers).get(language, 0)
    fitted, coherence = best_topics(words, MODELS[model](), most, former)
    rows = [row for row in range(len(coherence)) if coherence[row] >= MIN_COHERENCE]
    ranked = {row: ranked_terms(fitted.terms[row], _KEPT_TERMS) for row in rows}
    known = [topic for topic in state.topics if topic.language == language]
    told = {row: tuple((words.vocabulary[term], weight) for term, weight in ranked[row]) for row in rows}
    likeness = _likeness([topic.terms for topic in known], list(told.values()))
    same = {rows[column]: known[row] for row, column in _matched(likeness)}
    names = {topic.name for topic in known}
    topics: list[_Topic | None] = [None] * len(coherence)
    for row in rows:
        naming = [term for term, _ in ranked[row][:NAMING_TERMS]]
        if row in same:
            topic = replace(same[row], terms=told[row])
        else:
            name = _name([words.spellings[term] for term in naming], names)
            names.add(name)
            topic = KnownTopic(_iri(language, name, told[row]), language, name, told[row])
        supporting = frozenset(term for term, _ in ranked[row][:_SUPPORTING])
        naming_text = " ".join(words.vocabulary[term] for term in naming)
        topics[row] = _Topic(topic, float(coherence[row]), supporting, naming_text)
    vocabulary = {term: number for number, term in enumerate(words.vocabulary)}
    return _LanguageTopics(language, vocabulary, topics, fitted, words.formulas)


def _likeness(former: Sequence[Terms], now: Sequence[Terms]) -> NDArray[np.float64]:
    """Return the cosine of each of the former topics (rows) with each of the new ones (columns), to six digits."""
    likeness = np.zeros((len(former), len(now)))
    vectors = [TermVector(dict(terms)) for terms in now]
    for row, terms in enumerate(former):
        vector = TermVector(dict(terms))
        likeness[row] = [round(vector.cosine(other), 6) for other in vectors]
    return likeness


def _matched(likeness: NDArray[np.float64]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of a row and a column that go together best, each in one of them (Kuhn, 1955)."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415 - it takes long to import

    wanted = np.where(likeness >= _MIN_LIKENESS, likeness, 0)
    for row, column in zip(*linear_sum_assignment(wanted, maximize=True), strict=True):
        if wanted[row, column]:
            yield int(row), int(column)


def _name(words: Sequence[str], names: Container[str]) -> str:
    """Return the first words of a topic, as many as no other topic is named by, three at least."""
    lengths = range(min(_NAME_TERMS, len(words)), len(words) + 1)
    found = (", ".join(words[:length]) for length in lengths)
    return next((name for name in found if name not in names), ", ".join(words))


def _iri(language: str, name: str, terms: Terms) -> str:
    text = "\n".join((language, name, *(term for term, _ in terms[:NAMING_TERMS])))
    return f"urn:aahcrawler:topic:{language}:{blake2b(text.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


def _following(state: KnownTopics, found: Collection[_LanguageTopics]) -> KnownTopics:
    """Return what is known after a run; languages in which it found none stay as they were."""
    now = [topic.known for each in found for topic in each.topics if topic is not None]
    iris = {topic.iri for topic in now}
    former = [topic for topic in state.topics if topic.iri not in iris]
    numbers = dict(state.numbers) | {each.language: len(each.topics) for each in found}
    return KnownTopics((*now, *former)[:MAX_KNOWN], tuple(sorted(numbers.items())))

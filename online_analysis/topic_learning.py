"""Learns about the topic and the languages of a crawl while it runs, at fixed points.

Two things are learned, each at one moment of the crawl, and from then on they stay as they are:

- When ``topic.reference_crawl`` pages have been understood, the topic is refined (``online_analysis.refinement``).
- When a hundred pages in a language have been understood of which no word list tells the frequencies, the frequencies
  of its terms are those on these pages (``Frequencies``).

Between these points scoring does not change, so equal pages have equal scores. A continued crawl scores as before if it
has the learned state and the notes of the pages that it has yet to learn from.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from online_analysis.document import Document
from online_analysis.icd import Icd
from online_analysis.refinement import PageNote, Refinement, RefinementOutcome, Trusted, note_of, refine
from online_analysis.terms import Frequencies, Lexicon, has_word_list
from online_analysis.topic import Topic, build_topic

LANGUAGE_PAGES = 100
"""The number of pages of a language after which the frequencies of its terms are those on these pages."""
_MIN_HOLDERS = 2
_MAX_BEST, _MAX_OTHERS = 1_000, 1_000


class KeptRefinement(BaseModel):
    """A stored refinement; ``of`` identifies the topic that it was learned for."""

    model_config = ConfigDict(frozen=True)

    of: str
    outcome: RefinementOutcome
    pages: int
    relevant: int
    terms: dict[str, float] = {}
    refused: dict[str, float] = {}


class KeptFrequencies(BaseModel):
    """Frequencies of a language as they are kept."""

    model_config = ConfigDict(frozen=True)

    pages: int
    holding: dict[str, int]


class Learned(BaseModel):
    """The learned state as it is stored; languages by their codes (ISO 639-1)."""

    model_config = ConfigDict(frozen=True)

    refinement: KeptRefinement | None = None
    frequencies: dict[str, KeptFrequencies] = {}

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was learned yet."""
        return self.refinement is None and not self.frequencies

    @property
    def terms(self) -> Mapping[str, float]:
        """The words and phrases that the topic is refined by."""
        return self.refinement.terms if self.refinement is not None else {}


NOTHING = Learned()


class News(StrEnum):
    """The changes caused by a page."""

    REFINED = "the topic is refined"
    NOT_REFINED = "the topic is not refined"
    LANGUAGE = "the frequencies of a language's terms are known"


@dataclass(frozen=True, slots=True)
class Goal:
    """The aim of learning: the pages after which the topic is refined, 0 for never, and its trusted texts.

    ``of`` identifies the topic as it was given.
    """

    of: str
    pages: int
    trusted: Trusted


@dataclass(slots=True)
class ReferencePages:
    """The notes of a reference crawl: of a long one the best pages and the first of the others."""

    seen: set[str] = field(default_factory=set)
    best: list[PageNote] = field(default_factory=list)
    others: list[PageNote] = field(default_factory=list)

    @property
    def notes(self) -> Sequence[PageNote]:
        """The notes that are kept."""
        return [*self.best, *self.others]

    def add(self, note: PageNote) -> None:
        """Take in a note."""
        self.seen.add(note.url)
        self.best.append(note)
        if len(self.best) > _MAX_BEST:
            self.best.sort(key=lambda each: (-each.worth, each.url))
            self.others.append(self.best.pop())
            del self.others[_MAX_OTHERS:]


class TopicLearning:
    """The present topic of a crawl, and the state for learning more of it. Not thread-safe.

    The state is a function of the ``learned`` state at the beginning and of the notes added since, in order.
    """

    def __init__(self, given: Topic, goal: Goal, learned: Learned = NOTHING) -> None:
        self._given = given
        self._goal = goal
        self._pages = ReferencePages()
        self._spoken: dict[str, tuple[set[str], Counter[str]]] = {}
        kept = learned.refinement
        if kept is not None and (kept.of != goal.of or not goal.pages):
            learned = learned.model_copy(update={"refinement": None})
        self.learned = learned
        self.topic = self._taught() if not learned.is_empty else given

    @property
    def is_over(self) -> bool:
        """Return whether the topic will not be refined any more."""
        return not self._goal.pages or self.learned.refinement is not None

    @property
    def of(self) -> str:
        """The identity of the original topic; notes for another topic are not used."""
        return self._goal.of

    def wants(self, language: str | None) -> bool:
        """Return whether a page in this language can still teach anything."""
        return not self.is_over or self._is_to_learn(language)

    def note(self, document: Document, site: str, worth: float) -> PageNote | None:
        """Return the note to keep of a page, None where nothing is to be learned from it any more.

        ``worth`` is the page's score by the topic as it was given; ``site`` is its pay-level domain.
        """
        if not self.wants(document.language):
            return None
        return note_of(document, self.topic.counting.of(document), site, worth)

    def add(self, note: PageNote) -> tuple[News, ...]:
        """Learn from a page and return the changes. Of several notes of one URL only the first counts."""
        news = []
        if self._is_to_learn(note.language) and self._hear(note.language or "", note):
            news.append(News.LANGUAGE)
        if not self.is_over and note.url not in self._pages.seen:
            self._pages.add(note)
            if len(self._pages.seen) >= self._goal.pages:
                news.append(self._refine())
        if news:
            self.topic = self._taught()
        return tuple(news)

    def _is_to_learn(self, language: str | None) -> bool:
        return bool(language) and not has_word_list(language) and language not in self.learned.frequencies

    def _hear(self, language: str, note: PageNote) -> bool:
        """Count the terms of a page in a language; return whether that was the last page needed."""
        urls, holding = self._spoken.setdefault(language, (set(), Counter()))
        if note.url in urls:
            return False
        urls.add(note.url)
        holding.update(note.counts.keys())
        if len(urls) < LANGUAGE_PAGES:
            return False
        often = {term: count for term, count in sorted(holding.items()) if count >= _MIN_HOLDERS}
        kept = KeptFrequencies(pages=len(urls), holding=often)
        del self._spoken[language]
        frequencies = {**self.learned.frequencies, language: kept}
        self.learned = self.learned.model_copy(update={"frequencies": frequencies})
        return True

    def _refine(self) -> News:
        found = refine(self._pages.notes, self._taught(), self._goal.trusted)
        found = replace(found, pages=len(self._pages.seen))
        self._pages = ReferencePages()
        self.learned = self.learned.model_copy(update={"refinement": _kept(found, self._goal.of)})
        return News.REFINED if found.outcome is RefinementOutcome.TAKEN else News.NOT_REFINED

    def _taught(self) -> Topic:
        known = {code: Frequencies(each.pages, each.holding) for code, each in self.learned.frequencies.items()}
        return self._given.refined(self.learned.terms, Lexicon(known) if known else None)


def topic_learning(
    icd: Icd, texts: Mapping[str, str], seeds: Iterable[str], learned: Learned = NOTHING
) -> TopicLearning:
    """Return the learning state for an ICD's topic; ``texts`` holds its reference documents on the web by URL.

    ``seeds`` are canonical URLs. A refinement that was learned for another topic is forgotten.
    """
    documents = tuple(icd.file_texts[name] if name in icd.file_texts else texts[name] for name in icd.topic.documents)
    trusted = Trusted(icd.scoring.relevant, frozenset(seeds), documents)
    inputs = (sorted(icd.topic.keywords), sorted(icd.topic.entities), sorted(documents), icd.topic.reference_crawl)
    identity = hashlib.sha256(json.dumps(inputs).encode()).hexdigest()[:16]
    return TopicLearning(build_topic(icd, texts), Goal(identity, icd.topic.reference_crawl, trusted), learned)


def _kept(found: Refinement, of: str) -> KeptRefinement:
    return KeptRefinement(
        of=of,
        outcome=found.outcome,
        pages=found.pages,
        relevant=found.relevant,
        terms=dict(found.terms),
        refused=dict(found.refused),
    )


LEARNED = "learned"
"""The field of the learned terms; unlike the others it is not a URL."""

_TEXTS: TypeAdapter[dict[str, str]] = TypeAdapter(dict[str, str])


@dataclass(frozen=True, slots=True)
class TopicState:
    """The stored state of a topic: equal definitions with equal stored states score pages the same."""

    texts: Mapping[str, str] = field(default_factory=dict)
    learned: Learned = NOTHING

    @classmethod
    def parse(cls, content: bytes) -> "TopicState":
        """Read the content of a file. Raise ``ValueError`` where it is not a stored topic."""
        try:
            content_fields = json.loads(content)
            learned = content_fields.pop(LEARNED, None)
            texts = _TEXTS.validate_python(content_fields)
            return cls(texts, NOTHING if learned is None else Learned.model_validate(learned))
        except (AttributeError, TypeError, ValidationError, RecursionError) as error:
            raise ValueError(f"it is no topic: {error}") from error

    @classmethod
    def read(cls, path: Path) -> "TopicState":
        """Read a file; nothing is stored where there is none. Raise ``OSError``, or as ``parse`` does."""
        return cls.parse(path.read_bytes()) if path.exists() else cls()

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to store."""
        return not self.texts and self.learned.is_empty

    @property
    def meaning(self) -> Mapping[str, object]:
        """Return the stored state as JSON-ready values."""
        learned = {} if self.learned.is_empty else {LEARNED: self.learned.model_dump(mode="json", exclude_none=True)}
        return {**self.texts, **learned}

    @property
    def text(self) -> str:
        """The content of the file."""
        return json.dumps(self.meaning, ensure_ascii=False)

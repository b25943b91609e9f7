"""Batch prioritisation: scores URLs by several pages that link to them (ARCOMEM, section 5.1).

The text part of a URL's score is computed from sums: of the terms of all pages of the batch that link to it, of the
paragraphs around these links, and of their anchors, weighted as for the links of one page. The scores of other
analysers are averaged over the links, and so are the predictions that a ranker made for them.
"""

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from online_analysis.aggregation import Scores, document_score, score_of_link
from online_analysis.analysers.text import TextAnalyser, link_score
from online_analysis.document import Document
from online_analysis.similarity import ANCHOR, PAGE, PARAGRAPH, Closeness, Expectation, counts_closeness
from online_analysis.term_arrays import CountedDocument, Terms
from online_analysis.topic import Topic, TopicVector

MAX_ENTRIES = 300_000
"""Terms of pages and links that a batch keeps, counted once a page: some 50 MB."""

_TEXT = TextAnalyser.name


@dataclass(frozen=True, slots=True)
class Contribution:
    """The contribution of one page to a batch.

    ``units`` are the terms of its pieces of text and ``counts`` those of all of them together. ``paragraphs`` and
    ``anchors`` run parallel to ``urls``, and so do the links of ``scores``, the scores of all analysers.
    """

    language: str | None
    units: tuple[Terms, ...]
    counts: Mapping[str, int]
    urls: tuple[str, ...]
    paragraphs: tuple[Terms, ...]
    anchors: tuple[Terms, ...]
    scores: tuple[Scores, ...]


@dataclass(frozen=True, slots=True)
class BatchScore:
    """The score of a URL in a batch, in [0, 1], each analyser's part in it, and the number of pages that link there."""

    score: float
    parts: Mapping[str, float]
    pages: int


def contribution(document: Document, counted: CountedDocument, scores: Sequence[Scores]) -> Contribution:
    """Return the contribution of a page to a batch; it keeps neither the document nor its texts."""
    return Contribution(
        document.language,
        (counted.title, *counted.parts, counted.rest, counted.outside),
        counted.counts,
        tuple(link.url for link in document.outlinks),
        counted.paragraphs,
        counted.anchors,
        tuple(scores),
    )


@dataclass(slots=True)
class _Mention:
    """The links to a URL in one language: the numbers of the pages, and the texts of the links with their counts."""

    pages: list[int] = field(default_factory=list)
    paragraphs: Counter[Terms] = field(default_factory=Counter)
    anchors: Counter[Terms] = field(default_factory=Counter)


@dataclass(slots=True)
class _Target:
    """A URL that the batch links to: its mentions by language, and the sum and number of each analyser's scores."""

    mentions: dict[str | None, _Mention] = field(default_factory=dict)
    by_analyser: dict[str, tuple[float, int]] = field(default_factory=dict)


class Batch:
    """The links of a number of pages, which are scored together. Equal pages in equal order give equal scores.

    It is full when it holds ``pages`` pages, or sooner where these hold more than ``entries``.
    """

    def __init__(self, topic: Topic, weights: Mapping[str, float], pages: int, entries: int = MAX_ENTRIES) -> None:
        self._topic = topic
        self._weights = weights
        self._most_pages, self._most_entries = pages, entries
        self._pages: list[Contribution] = []
        self._targets: dict[str, _Target] = {}
        self._entries = 0

    def __len__(self) -> int:
        return len(self._pages)

    @property
    def is_full(self) -> bool:
        """Return whether the batch is to be scored now."""
        return len(self._pages) >= self._most_pages or self._entries >= self._most_entries

    def add(self, page: Contribution, wanted: Container[str]) -> None:
        """Add a page, with those of its links whose URLs are ``wanted``."""
        number = len(self._pages)
        self._pages.append(page)
        self._entries += len(page.counts) + len(page.urls)
        for place, url in enumerate(page.urls):
            if url in wanted:
                self._mention(self._targets.setdefault(url, _Target()), number, page, place)

    def scores(self) -> Mapping[str, BatchScore]:
        """Return the joint score that all pages give each URL, in the order of discovery."""
        texts = _Texts(self._topic, self._pages)
        return {url: self._score(target, texts) for url, target in self._targets.items()}

    def _mention(self, target: _Target, number: int, page: Contribution, place: int) -> None:
        mention = target.mentions.setdefault(page.language, _Mention())
        if not mention.pages or mention.pages[-1] != number:
            mention.pages.append(number)
        mention.paragraphs[page.paragraphs[place]] += 1
        mention.anchors[page.anchors[place]] += 1
        for scores in page.scores:
            value = score_of_link(scores, place)
            if value is not None:
                total, times = target.by_analyser.get(scores.analyser, (0.0, 0))
                target.by_analyser[scores.analyser] = total + value, times + 1

    def _score(self, target: _Target, texts: "_Texts") -> BatchScore:
        parts = {analyser: total / times for analyser, (total, times) in target.by_analyser.items()}
        if _TEXT in parts:
            together = texts.score(target.mentions)
            if together is not None:
                parts[_TEXT] = together
        means = [Scores(analyser, value) for analyser, value in parts.items()]
        pages = sum(len(mention.pages) for mention in target.mentions.values())
        return BatchScore(document_score(means, self._weights), parts, pages)


class _Texts:
    """Compares sums of the pages of a batch, and of texts around links, with the topic; each sum of pages once."""

    def __init__(self, topic: Topic, pages: Sequence[Contribution]) -> None:
        self._topic = topic
        self._pages = pages
        self._known: dict[tuple[int, ...], Closeness | None] = {}

    def score(self, mentions: Mapping[str | None, _Mention]) -> float | None:
        """Return the text part of a URL: the average over languages, weighted by the pages in each that link there."""
        found = [
            (value, len(mention.pages))
            for language, mention in mentions.items()
            if (value := self._of_language(mention, self._topic.vector(language))) is not None
        ]
        pages = sum(number for _, number in found)
        return sum(value * number for value, number in found) / pages if pages else None

    def _of_language(self, mention: _Mention, topic: TopicVector) -> float | None:
        page = self._of_pages(tuple(mention.pages), topic)
        paragraph = _of_texts(mention.paragraphs, topic, PARAGRAPH)
        anchor = _of_texts(mention.anchors, topic, ANCHOR)
        return link_score(page, paragraph, anchor, topic)

    def _of_pages(self, numbers: tuple[int, ...], topic: TopicVector) -> Closeness | None:
        if numbers not in self._known:
            pages = [self._pages[number] for number in numbers]
            counts: Counter[str] = Counter()
            for page in pages:
                counts.update(page.counts)
            units = chain.from_iterable(page.units for page in pages)
            self._known[numbers] = _closeness(counts, list(units), topic, PAGE)
        return self._known[numbers]


def _of_texts(texts: Mapping[Terms, int], topic: TopicVector, expectation: Expectation) -> Closeness | None:
    """Compare the sum of short texts with the topic; texts of digits only are ignored."""
    speaking = {terms: times for terms, times in texts.items() if not all(map(str.isdigit, terms))}
    counts: Counter[str] = Counter()
    for terms, times in speaking.items():
        for term in terms:
            counts[term] += times
    return _closeness(counts, [terms for terms, times in speaking.items() for _ in range(times)], topic, expectation)


def _closeness(
    counts: Mapping[str, int], units: Sequence[Terms], topic: TopicVector, expectation: Expectation
) -> Closeness | None:
    return counts_closeness(counts, topic, expectation, units) if counts else None

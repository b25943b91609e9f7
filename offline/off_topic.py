"""Finds captures that show something else than the first one of their URL: off topic by now, or no page at all.

The measures are those of AlNoamany, Weigle and Nelson (Detecting off-topic pages within TimeMaps in web archives), with
the thresholds that the Off-Topic Memento Toolkit has for each by itself.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Final

from aahcrawler.captures.capture_source import Capture, CaptureSource
from aahcrawler.metadata import Metadata
from aahcrawler.seeds import Verdict, wall
from online_analysis.terms import Lexicon

MIN_COSINE: Final = 0.12
"""The cosine of the terms of two captures below which the later one is off topic."""
MIN_WORDS: Final = -0.70
"""The change of the number of terms below which it is."""
MAX_JACCARD: Final = 0.96
"""The share of terms that only one of both has (Jaccard distance) above which it is."""
_FIRST_ONES: Final = 1_000
"""First captures whose terms are kept; of others they are read again."""


@dataclass(frozen=True, slots=True)
class OffTopicCapture:
    """A capture that is not what its URL once showed.

    ``cosine``, ``words`` and ``jaccard`` compare it with the first capture of its URL; None for a first one, and where
    one of both says nothing. ``why`` are the measures that say so, or what the page is in place of a page.
    """

    url: str
    date: datetime
    record_id: str
    why: tuple[str, ...]
    cosine: float | None = None
    words: float | None = None
    jaccard: float | None = None


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike the terms of two texts are, by counts of terms; neither is empty."""

    cosine: float
    words: float
    jaccard: float

    @classmethod
    def of(cls, first: Mapping[str, int], later: Mapping[str, int]) -> "Likeness":
        """Compare a later text with a first one."""
        weights = [{term: 1 + math.log(number) for term, number in counts.items()} for counts in (first, later)]
        product = math.fsum(weight * weights[1].get(term, 0.0) for term, weight in weights[0].items())
        norms = [math.sqrt(math.fsum(weight * weight for weight in each.values())) for each in weights]
        before, after = sum(first.values()), sum(later.values())
        shared = len(first.keys() & later.keys()) / len(first.keys() | later.keys())
        return cls(product / (norms[0] * norms[1]), (after - before) / before, 1 - shared)

    @property
    def why_off_topic(self) -> Iterator[str]:
        """Yield the measures by which the later text is off topic."""
        if self.cosine < MIN_COSINE:
            yield "cosine"
        if self.words < MIN_WORDS:
            yield "words"
        if self.jaccard > MAX_JACCARD:
            yield "jaccard"


@dataclass
class OffTopicSearch:
    """Looks through the captures of a source. Memory use does not depend on their number."""

    source: CaptureSource
    lexicon: Lexicon = field(default_factory=Lexicon)

    def __post_init__(self) -> None:
        self._first_terms = lru_cache(_FIRST_ONES)(self._terms_of_first)

    def found(self) -> Iterator[OffTopicCapture]:
        """Yield the captures that are off topic, or errors in disguise, walls and the like, in the order of time."""
        for capture in self.source.captures():
            if not _is_page(capture):
                continue
            judged = self._judged(capture)
            if judged.why:
                yield judged

    def _judged(self, capture: Capture) -> OffTopicCapture:
        own = capture.target_uri, capture.date, capture.record_id
        assert capture.page is not None  # noqa: S101
        kind = wall(capture.page, capture.metadata or Metadata())
        disguised = () if kind in (Verdict.FETCHED, Verdict.UNREAD) else (str(kind),)
        first, later = self._first_terms(capture.target_uri), self._terms(capture)
        if capture.before is None or not first or not later:
            return OffTopicCapture(*own, disguised)
        likeness = Likeness.of(first, later)
        why = (*disguised, *likeness.why_off_topic)
        return OffTopicCapture(*own, why, likeness.cosine, likeness.words, likeness.jaccard)

    def _terms_of_first(self, url: str) -> Mapping[str, int]:
        first = next((each for each in self.source.of_url(url) if _is_page(each)), None)
        return {} if first is None else self._terms(first)

    def _terms(self, capture: Capture) -> Mapping[str, int]:
        document = capture.document
        if document is None:
            return {}
        content = " ".join(part.text for part in document.parts if part.role == "content") or document.text
        return Counter(self.lexicon.language(document.language).terms(content))


def _is_page(capture: Capture) -> bool:
    return capture.shows_target and capture.status == 200 and capture.page is not None and capture.page.is_html

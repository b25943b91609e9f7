"""Find captures that show something else than their URL once did: now off topic, or no page at all.

The measures are those of AlNoamany, Weigle and Nelson (Detecting off-topic pages within TimeMaps in web archives), with
the thresholds that the Off-Topic Memento Toolkit has for each alone.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from heapq import nsmallest
from itertools import islice
from pathlib import Path
from typing import Final

from aahcrawler.captures.capture_source import Capture, CaptureSource
from aahcrawler.definitions import DefinitionError, read_definition
from aahcrawler.layout import DEFINITION
from aahcrawler.metadata import Link, Metadata
from aahcrawler.seeds import Verdict, wall
from aahcrawler.sources.source import Span
from online_analysis.terms import Lexicon

MIN_COSINE: Final = 0.12
"""If the cosine of the terms of two captures is smaller, the later one is off topic."""
MIN_WORDS: Final = -0.70
"""If the relative change of the number of terms is smaller, the later one is off topic."""
MAX_JACCARD: Final = 0.96
"""If a larger share of terms is in only one of both (Jaccard distance), the later one is off topic."""
_KNOWN: Final = 1_000
"""For how many URLs the reference capture is cached; those of others are read again."""
_TRIES: Final = 20
"""How many captures of a URL are examined until one is a page."""


@dataclass(frozen=True, slots=True)
class OffTopicCapture:
    """A capture that is not what its URL once showed.

    ``cosine``, ``words`` and ``jaccard`` compare it with the reference capture of its URL; None for that capture
    itself, and if one of both has no words. ``why`` are the measures by which it is off topic, or what it is in place
    of a page.
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
    """How similar the terms of two texts are, by counts of terms; neither is empty."""

    cosine: float
    words: float
    jaccard: float

    @classmethod
    def of(cls, first: Mapping[str, int], later: Mapping[str, int]) -> "Likeness":
        """Compare a later text with the reference text."""
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


class NoEventError(Exception):
    """Raised if captures are to be compared by an event, and there is none."""


def event_of(folder: Path) -> Span | None:
    """Return the span of the event that the crawl in a folder is about; None if there is none."""
    try:
        event = read_definition(folder / DEFINITION).event
    except DefinitionError:
        return None
    return None if event is None else Span(event.start, event.end)


@dataclass
class OffTopicSearch:
    """Searches the captures of a source. Memory use does not depend on their number.

    The reference of a URL is the first of its captures that is a page, rather than an error or a wall; with the span of
    an event, the one nearest to it. Pages are judged as the current knowledge base reads them, whatever was found when
    they were captured.
    """

    source: CaptureSource
    event: Span | None = None
    lexicon: Lexicon = field(default_factory=Lexicon)

    def __post_init__(self) -> None:
        self._known = lru_cache(_KNOWN)(self._found_for)

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
        disguised, known = _disguise(capture), self._known(capture.target_uri)
        terms = self._terms(capture)
        if known is None or known.record_id == capture.record_id or not terms:
            return OffTopicCapture(*own, disguised)
        likeness = Likeness.of(known.terms, terms)
        why = (*disguised, *likeness.why_off_topic)
        return OffTopicCapture(*own, why, likeness.cosine, likeness.words, likeness.jaccard)

    def _found_for(self, url: str) -> "_Known | None":
        """Return the reference of a URL; None if each of its captures is something else, or has no words."""
        captures: Iterator[Capture] = (each for each in self.source.of_url(url) if each.status == 200)
        if self.event is not None:
            event = self.event
            captures = iter(nsmallest(_TRIES, captures, key=lambda each: (event.distance(each.date), each.date)))
        for each in islice(captures, _TRIES):
            if _is_page(each) and not _disguise(each) and (terms := self._terms(each)):
                return _Known(each.record_id, terms)
        return None

    def _terms(self, capture: Capture) -> Mapping[str, int]:
        document = capture.document
        if document is None:
            return {}
        content = " ".join(part.text for part in document.parts if part.role == "content") or document.text
        return Counter(self.lexicon.language(document.language).terms(content))


@dataclass(frozen=True, slots=True)
class _Known:
    """The reference capture of a URL, and its terms."""

    record_id: str
    terms: Mapping[str, int]


def _disguise(capture: Capture) -> tuple[str, ...]:
    """Return what a capture shows in place of a page; nothing if it is a page."""
    understood = capture.understood
    if capture.page is None or understood is None:
        return ()
    links = tuple(Link(each.url, anchor=each.anchor, action=each.action) for each in understood.document.outlinks)
    said = Metadata(links=links, objects=understood.objects, source=understood.document.source)
    kind = wall(capture.page, said)
    return () if kind in (Verdict.FETCHED, Verdict.UNREAD) else (str(kind),)


def _is_page(capture: Capture) -> bool:
    """Return whether a capture is a page, even if its payload was known already from any URL."""
    is_shown = capture.shows_target or (capture.is_revisit and capture.method == "GET")
    return is_shown and capture.status == 200 and capture.page is not None and capture.page.is_html

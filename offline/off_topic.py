"""Finds captures that show something else than their URL once did: off topic by now, or no page at all.

The measures are those of AlNoamany, Weigle and Nelson (Detecting off-topic pages within TimeMaps in web archives), with
the thresholds that the Off-Topic Memento Toolkit has for each by itself.
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
"""The cosine of the terms of two captures below which the later one is off topic."""
MIN_WORDS: Final = -0.70
"""The change of the number of terms below which it is."""
MAX_JACCARD: Final = 0.96
"""The share of terms that only one of both has (Jaccard distance) above which it is."""
_KNOWN: Final = 1_000
"""URLs of which it is remembered what they are known by; of others it is read again."""
_TRIES: Final = 20
"""Captures of a URL that are looked at until one is a page."""


@dataclass(frozen=True, slots=True)
class OffTopicCapture:
    """A capture that is not what its URL once showed.

    ``cosine``, ``words`` and ``jaccard`` compare it with the capture that its URL is known by; None for that one, and
    where one of both says nothing. ``why`` are the measures that say so, or what the page is in place of a page.
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
        """Compare a text with the one that is known."""
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
    """Raised where captures are to be compared by an event, and there is none."""


def event_of(folder: Path) -> Span | None:
    """Return the span of the event that the crawl in a folder is about, None where there is no such thing."""
    try:
        event = read_definition(folder / DEFINITION).event
    except DefinitionError:
        return None
    return None if event is None else Span(event.start, event.end)


@dataclass
class OffTopicSearch:
    """Looks through the captures of a source. Memory use does not depend on their number.

    What a URL shows is known by the first of its captures that is a page, and no error or wall in the place of one:
    with the span of an event, by the one that is nearest to it. Pages are judged as today's knowledge base reads
    them, whatever was said of them when they were captured.
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
        """Return what a URL is known by, None where each of its captures is something else, or says nothing."""
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
    """The capture that a URL is known by, and its terms."""

    record_id: str
    terms: Mapping[str, int]


def _disguise(capture: Capture) -> tuple[str, ...]:
    """Return what a page is in the place of a page, nothing where it is one."""
    understood = capture.understood
    if capture.page is None or understood is None:
        return ()
    links = tuple(Link(each.url, anchor=each.anchor, action=each.action) for each in understood.document.outlinks)
    said = Metadata(links=links, objects=understood.objects, source=understood.document.source)
    kind = wall(capture.page, said)
    return () if kind in (Verdict.FETCHED, Verdict.UNREAD) else (str(kind),)


def _is_page(capture: Capture) -> bool:
    """Return whether a capture is a page, also one whose payload was known already, of whatever URL."""
    is_shown = capture.shows_target or (capture.is_revisit and capture.method == "GET")
    return is_shown and capture.status == 200 and capture.page is not None and capture.page.is_html

"""Scores pages by the topic and the time of an event together, as collections about events are made.

Gossen, Risse and Demidova, "Towards Extracting Event-centric Collections from Web Archives" (IJDL 2020), section 5;
Klein, Balakireva and Van de Sompel, "Focused Crawl of Web Archives to Build Event Collections" (WebSci 2018), sections
3.4 to 3.6. Links get the score of the page that they stand on.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from statistics import fmean
from typing import Final

from online_analysis.aggregation import OnlineAnalyser, Scores
from online_analysis.analysers.date_hints import Span, date_in_url, dates_in_text
from online_analysis.analysers.social import links_in
from online_analysis.analysers.temporal import nearness
from online_analysis.document import Document
from online_analysis.icd import Event, Post, Relevance
from online_analysis.pair_frequencies import PairFrequencies
from online_analysis.reference_vector import References
from online_analysis.topic import Topic

GATE: Final = 1 / 16
"""From this temporal relevance on the topic counts in full, where it is gated: up to four half-lives from the event."""
MAX_DISCUSSED: Final = 1_000
"""Dates that are read of a text that discusses some."""
_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class PageRelevance:
    """The relevance of a page: ``score`` combines ``topic`` and ``time``, all in [0, 1].

    ``topic`` and ``time`` are None where the definition has none or leaves it aside, ``date`` where no date is asked
    for or found. A page without a date has ``time`` 0 and is dismissed: its score is 0 as well.
    """

    score: float
    topic: float | None
    time: float | None
    date: Span | None


class RelevanceAnalyser:
    """Scores a page by its relevance to an event. Equal documents have equal scores, whatever was seen before."""

    name = "relevance"

    def __init__(
        self,
        settings: Relevance,
        topic: Topic | None,
        event: Event | None,
        posts: Sequence[Post] = (),
        pairs: PairFrequencies | None = None,
    ) -> None:
        """Take a topic with some words, an event, or both; ``posts`` may mention pages, ``pairs`` weigh pairs of words.

        One that has no weight in the combination is left aside, unless there is no other.
        """
        self._settings = settings
        share = settings.alpha if settings.combination == "linear" else 0.5
        self._event = event if share < 1 or topic is None else None
        self._topic = topic if share > 0 or event is None else None
        self._references = None if self._topic is None else References(self._topic, pairs)
        self._mentions = dict(_first_mentions(posts))

    def analyse(self, document: Document) -> Scores:
        """Score the document; every link gets its score."""
        return Scores(self.name, self.relevance(document).score)

    def relevance(self, document: Document) -> PageRelevance:
        """Return the relevance of a document, with what it is made of."""
        topic = self._to_topic(document)
        if self._event is None:
            return PageRelevance(topic or 0.0, topic, None, None)
        date = self._date(self._event, document)
        if date is None:
            return PageRelevance(0.0, topic, 0.0, None)
        time = self._to_time(self._event, document, date)
        return PageRelevance(time if topic is None else combined(self._settings, topic, time), topic, time, date)

    def _to_topic(self, document: Document) -> float | None:
        if self._topic is None or self._references is None:
            return None
        read = self._topic.counting.of(document)
        reference = self._references.of(read.language, read.vocabulary)
        outside, last = read.pieces[-2:]
        has_text = bool(read.units.bounds[outside])
        return reference.relevance(read.units, outside if has_text else last)

    def _to_time(self, event: Event, document: Document, date: Span) -> float:
        discussed = _discussed(document) if self._settings.discussed else ()
        return fmean(nearness(event, each.first, each.last) for each in discussed or (date,))

    def _date(self, event: Event, document: Document) -> Span | None:
        if self._settings.dates == "klein":
            return klein_date(document, event, self._mentions.get(document.url))
        return gossen_date(document)


def combined(settings: Relevance, topic: float, time: float) -> float:
    """Return the relevance that the nearness to a topic and that in time make together."""
    if settings.combination == "linear":
        return settings.alpha * topic + (1 - settings.alpha) * time
    return topic * (time if settings.combination == "product" else min(1.0, time / GATE))


def gossen_date(document: Document) -> Span | None:
    """Return the date of publication that markup or content tell, else the moment of the capture.

    A date after the capture is none. None where neither is known.
    """
    times = document.times
    found = _until_capture(document, (document.published, times.shown if times else None))
    captured = times.captured if times else None
    return _moment(next(iter(found), captured))


def klein_date(document: Document, event: Event, mentioned: datetime | None = None) -> Span | None:
    """Return the date of a page of the live web or of an archive; None where nothing tells it.

    Of an archived page that is its Memento-Datetime where this lies in the event's span, else the date of publication,
    else what the site said of its last change. The date of publication is the earliest one that the URL, the page and
    its first mention elsewhere (``mentioned``) tell; a month or a year in a URL counts where nothing tells the day. A
    date after the capture is none.
    """
    times = document.times
    if times is not None and times.memento and event.start <= times.captured <= event.end:
        return _moment(times.captured)
    told = _until_capture(document, (document.published, times.shown if times else None, mentioned))
    spans = [Span(each, each) for each in told]
    in_url = date_in_url(document.url)
    names_day = in_url is not None and in_url.last - in_url.first < _DAY
    if in_url is not None and (names_day or not spans) and (times is None or in_url.first <= times.captured):
        spans.append(in_url)
    if spans:
        return min(spans, key=lambda each: each.first)
    modified = times.modified if times is not None and times.memento else None
    return _moment(next(iter(_until_capture(document, (modified,))), None))


def _until_capture(document: Document, moments: Iterable[datetime | None]) -> Sequence[datetime]:
    captured = document.times.captured if document.times is not None else None
    return [each for each in moments if each is not None and (captured is None or each <= captured)]


def _moment(moment: datetime | None) -> Span | None:
    return None if moment is None else Span(moment, moment)


def _discussed(document: Document) -> Sequence[Span]:
    """Return the different days and months that the content of a page names, none of them after its capture."""
    captured = document.times.captured if document.times is not None else None
    texts = (document.title, *(part.text for part in document.parts if part.role == "content"))
    found = (span for text in texts for span in dates_in_text(text) if captured is None or span.first <= captured)
    return tuple(dict.fromkeys(islice(found, MAX_DISCUSSED)))


def _first_mentions(posts: Sequence[Post]) -> Iterator[tuple[str, datetime]]:
    """Yield the URLs that dated postings link to with the date of their first one, which comes last."""
    dated = ((post.date.astimezone(UTC), post.text) for post in posts if post.date is not None)
    for date, text in sorted(dated, reverse=True):
        yield from ((url, date) for url in links_in(text))


class OfLinks:
    """Has another analyser speak of links alone: a score that it gives a document without links is theirs."""

    def __init__(self, analyser: OnlineAnalyser) -> None:
        self._analyser = analyser
        self.name = analyser.name

    def analyse(self, document: Document) -> Scores:
        """Score the links; the document's own score is None."""
        scores = self._analyser.analyse(document)
        links = scores.links or (scores.document,) * len(document.outlinks)
        return Scores(self.name, None, links)

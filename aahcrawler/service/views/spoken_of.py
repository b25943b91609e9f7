"""What the objects of a crawl speak of: topics, organisations, places, events, and details on each."""

import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from itertools import islice
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation, AnnotationIndex, Annotations, Named
from aahcrawler.annotations import Kind as About
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.layout import ANNOTATIONS, NQUADS
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.page_index import PageIndex
from aahcrawler.segments import DamageError, segments
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.capture_view import capture_row, capture_text
from aahcrawler.service.views.judged_words import JudgedWord, Names, judged_words, mentions
from aahcrawler.service.views.page_indexes import AGAIN, NOT_READY, Asked, PageIndexes
from aahcrawler.service.views.ties_over_time import TieOverTime, most_changed, ties_over_time
from aahcrawler.service.web.problems import Kind, ProblemError
from aahcrawler.tombstones import read_tombstones
from offline.enrichment.judged_sentences import about, judged_languages
from offline.enrichment.object_texts import MIN_QUOTED, object_texts

NOT_ENRICHED: Final = Kind("not-enriched", HTTPStatus.CONFLICT, "Nothing is known of what the crawl speaks of")
NOT_SPOKEN_OF: Final = Kind("not-spoken-of", HTTPStatus.NOT_FOUND, "Nothing speaks of it")
NO_PAGE: Final = Kind("no-page-of-this-kind", HTTPStatus.NOT_FOUND, "It has no page of its own")
MAX_LISTED: Final = 50
"""Names of a kind that are listed, the most frequent first."""
QUOTED: Final = 8
"""Places at which something is spoken of that are shown with their words at once."""
BESIDE: Final = 12
"""Names of a kind that are listed beside one thing."""
SENTENCES: Final = 200
"""Sentences with opinions that are shown of one thing."""
_LISTED: Final = (About.ORGANISATION, About.PLACE, About.NAME, About.TOPIC, About.KEYWORD)
_READ: Final = 20_000
"""Annotations of one thing that are looked at."""
_AROUND: Final = 140
"""Characters shown before the words, and behind them."""
OPINIONS: Final = "opinions"
"""The annotator of opinions."""
_UNDATED: Final = ""
_BLANK: Final = re.compile(rf"\s{{{2 * MIN_QUOTED - 1},}}")
"""A space in which as many words may have stood as texts quote at least."""
_DESCRIPTION: Final = v.predicate("description")


class SpokenOf(BaseModel):
    """Something that objects speak of. ``of`` is its IRI, or its label if it has no IRI.

    ``objects`` counts those objects, ``times`` the annotations. ``months`` counts the objects by month of publication,
    or by year if no month is known; undated ones have the empty name. ``terms`` are those of a topic.
    """

    model_config = ConfigDict(frozen=True)

    kind: About
    of: str
    label: str
    objects: int
    times: int
    months: Mapping[str, int] = {}
    terms: tuple[str, ...] = ()


class EventTold(BaseModel):
    """Something that is told to have happened: ``when`` is a date or two (ISO 8601), ``label`` what it was."""

    model_config = ConfigDict(frozen=True)

    of: str
    label: str
    when: str
    objects: int


class CrawlSpokenOf(BaseModel):
    """What a crawl speaks of; ``published`` has all objects by month, ``happened`` all events.

    ``events`` are the first ones in the order of time. ``named`` are those of the keywords that are people's names, or
    may be; ``judged`` are the keywords of the definition that sentences with opinions have.
    """

    model_config = ConfigDict(frozen=True)

    topics: tuple[SpokenOf, ...]
    organisations: tuple[SpokenOf, ...]
    places: tuple[SpokenOf, ...]
    people: tuple[SpokenOf, ...]
    names: tuple[SpokenOf, ...]
    keywords: tuple[SpokenOf, ...]
    named: tuple[str, ...]
    judged: tuple[JudgedWord, ...]
    events: tuple[EventTold, ...]
    all_events: int
    happened: Mapping[str, int]
    totals: Mapping[About, int]
    published: Mapping[str, int]
    note: str = ""

    def shown_by(self, settings: AnnotationSettings) -> "CrawlSpokenOf":
        """Return this without the names of people, which are counted alone, unless the institution shows them."""
        if settings.has_page(About.PERSON):
            return self.model_copy(update={"named": ()})
        return self.model_copy(update={"people": ()})


class Quoted(BaseModel):
    """Words in a text, with the text around them; ``marked`` is empty where the object as a whole speaks of something.

    ``[…]`` stands in the place of what the text quotes of others.
    ``terms`` are the words that a topic rests on, which stand apart in the text.
    """

    model_config = ConfigDict(frozen=True)

    object: str
    record: str
    published: str
    title: str
    before: str
    marked: str
    behind: str
    confidence: float
    terms: str = ""


class OpinionTold(BaseModel):
    """A sentence that judges, and in which something is named: what it judges may be another thing."""

    model_config = ConfigDict(frozen=True)

    object: str
    record: str
    published: str
    sentence: str
    polarity: float


class SpokenOfOne(BaseModel):
    """Where something is spoken of, with what else, and the opinions in sentences that name it.

    Of a keyword it has the texts that are about it, the sentences with opinions that have it, and nothing beside it.

    ``judged`` counts its objects by language where sentences in that were judged, and ``not_judged``
    those of other languages. ``months`` counts praise and blame by month of publication. ``ties`` are those with what
    is spoken of beside it, over all times, from the most rising to the most falling. ``cut`` tells that there are more
    annotations than were looked at.
    """

    model_config = ConfigDict(frozen=True)

    spoken: SpokenOf
    when: str
    quotes: tuple[Quoted, ...]
    beside: tuple[SpokenOf, ...]
    ties: tuple[TieOverTime, ...]
    opinions: tuple[OpinionTold, ...]
    all_opinions: int
    months: Mapping[str, tuple[int, int]]
    judged: Mapping[str, int]
    not_judged: Mapping[str, int]
    cut: bool
    note: str = ""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A span of dates of publication, each a year, a month or a day of ISO 8601; empty where it has no such end."""

    since: str = ""
    until: str = ""

    def __bool__(self) -> bool:
        return bool(self.since or self.until)

    def has(self, date: str) -> bool:
        """Return whether a date lies within; a date less exact than an end counts only if all of it does.

        >>> TimeSpan("2012-03", "2012").has("2012-12-31T10:00:00Z"), TimeSpan("2012-03").has("2012")
        (True, False)
        """
        return not self or (
            bool(date) and date >= self.since and (not self.until or date[: len(self.until)] <= self.until)
        )


ALL_TIMES: Final = TimeSpan()


@dataclass(frozen=True, slots=True)
class Enriched:
    """The annotations of a crawl with its objects' dates, open for one request."""

    base: sqlite3.Connection
    annotations: Annotations
    pages: Asked
    note: str
    words: tuple[str, ...]
    """The keywords of the crawl's definition."""
    unread: str
    """How much of the annotations has been read; empty where all has been."""
    state: tuple[int, ...]
    """How much of which files both indexes hold: as long as it is the same, so is what they are asked."""

    def dates(self) -> dict[str, str]:
        """Return the dates of publication of objects by their IRIs, as the pages say them."""
        return dict(map(tuple, self.pages.base.execute("SELECT iri, date FROM object WHERE date IS NOT NULL")))

    def within(self, span: TimeSpan, dates: Mapping[str, str]) -> Annotations:
        """Return the annotations of objects that were published within a span."""
        if not span:
            return self.annotations
        return Annotations(self.base, {iri for iri, date in dates.items() if span.has(date)})


def month_of(date: str) -> str:
    """Return the month of a date, or its year where it has no month, empty for one that cannot be read.

    >>> month_of("2012-03-04T10:00:00Z"), month_of("2012"), month_of("in March")
    ('2012-03', '2012', '')
    """
    return _month(date[:7])


@lru_cache(maxsize=4096)
def _month(begin: str) -> str:
    year, month = begin[:4], begin[4:]
    if not (year.isascii() and year.isdigit() and len(year) == 4):
        return _UNDATED
    return year + month if month[:1] == "-" and month[1:] in _MONTHS else year


_MONTHS: Final = frozenset(f"{number:02}" for number in range(1, 13))


def is_enriched(crawl: Crawl) -> bool:
    """Return whether a crawl has any annotations."""
    return crawl.folder is not None and (crawl.folder / ANNOTATIONS).is_dir()


def crawl_spoken_of(enriched: Enriched, span: TimeSpan = ALL_TIMES) -> CrawlSpokenOf:
    """Return what a crawl speaks of. Within a span objects published then are counted; months are those of all."""
    dates = enriched.dates()
    found = enriched.within(span, dates)

    ranked = {kind: found.ranked(kind, MAX_LISTED) for kind in (*_LISTED, About.PERSON)}

    def most(kind: About) -> tuple[SpokenOf, ...]:
        return tuple(spoken(kind, each) for each in ranked[kind][0])

    events, names = events_told(found), Names(enriched.annotations)
    opinions, words = [*islice(found.of_kind(About.OPINION), _READ)], enriched.words[:MAX_LISTED]
    published = Counter(map(month_of, dates.values()))
    return CrawlSpokenOf(
        topics=topics_of(enriched.annotations, ranked[About.TOPIC][0], dates),
        organisations=most(About.ORGANISATION),
        places=most(About.PLACE),
        people=most(About.PERSON),
        names=most(About.NAME),
        keywords=most(About.KEYWORD),
        named=tuple(each.meant for each in ranked[About.KEYWORD][0] if names.have(each.meant)),
        judged=tuple(judged_words([each for each in words if not names.are_of(each)], opinions)),
        events=tuple(events[:MAX_LISTED]),
        all_events=len(events),
        happened={month: n for month, n in sorted(Counter(month_of(each.when) for each in events).items()) if month},
        totals={kind: total for kind, (_, total) in ranked.items()},
        published={month: n for month, n in sorted(published.items()) if month},
        note=enriched.note,
    )


def table_of(enriched: Enriched, span: TimeSpan = ALL_TIMES) -> Iterator[tuple[object, ...]]:
    """Yield all topics, organisations, places, names, keywords and events as rows of a table, its head first."""
    found = enriched.within(span, enriched.dates())
    yield "kind", "label", "of", "objects", "times", "when"
    for kind in (About.TOPIC, About.ORGANISATION, About.PLACE, About.NAME, About.KEYWORD):
        for each in found.counts(kind):
            yield str(kind), each.label, each.meant, each.objects, each.times, ""
    for event in events_told(found):
        yield str(About.EVENT), event.label, event.of, event.objects, event.objects, event.when


def events_told(found: Annotations) -> list[EventTold]:
    """Return the events in the order of time, those that several objects tell joined where they were."""
    every = [*found.of_kind(About.EVENT)]
    joined = {(each.object, each.start) for each in every if each.iri}
    told: dict[str, tuple[Annotation, set[str]]] = {}
    for each in every:
        if each.iri or (each.object, each.start) not in joined:
            told.setdefault(each.iri or each.label, (each, set()))[1].add(each.object)
    events = (
        EventTold(of=of, label=each.label, when=value_of(each, "when"), objects=len(objects))
        for of, (each, objects) in told.items()
    )
    return sorted(events, key=lambda each: (each.when, each.label, each.of))


def spoken_of(
    enriched: Enriched, kind: About, of: str, settings: AnnotationSettings, span: TimeSpan = ALL_TIMES
) -> SpokenOfOne:
    """Return one thing that objects speak of. Raise ``ProblemError`` where nothing does, or it may have no page.

    Nothing is said to speak of it before all annotations are read: until then the problem is that they are not.

    Within a span all but the months is of the objects that were published then.
    """
    _check_is_shown(enriched, kind, of, settings)
    found, dates = enriched.annotations, enriched.dates()
    every, judging = _told_of(enriched, kind, of, _READ + 1)
    if not every and enriched.unread:
        raise ProblemError(NOT_READY, f"{enriched.unread} Ask again in a moment.", headers=AGAIN)
    if not every:
        raise ProblemError(NOT_SPOKEN_OF, "no object speaks of it by now; look at what the crawl speaks of")
    is_cut, every = len(every) > _READ, every[:_READ]
    counted = Counter(month_of(dates.get(each, "")) for each in {each.object for each in every})
    first, all_told = every[0], [(_opinion(each, dates), each) for each in judging]
    label = min(each.label for each in every)
    found = enriched.within(span, dates)
    every = [each for each in every if span.has(dates.get(each.object, ""))]
    told = [pair for pair in all_told if span.has(pair[0].published)]
    told.sort(key=lambda pair: (pair[0].published, pair[0].object, pair[0].sentence))
    opinions = (one.model_copy(update={"sentence": _sentence(enriched.pages, each)}) for one, each in told[:SENTENCES])
    judged, not_judged = ({}, {}) if kind is About.KEYWORD else _judged(found, kind, of)
    months: dict[str, tuple[int, int]] = {}
    for each, _ in all_told:
        praise, blame = months.get(month := month_of(each.published), (0, 0))
        months[month] = (praise + (each.polarity > 0), blame + (each.polarity < 0))
    one = SpokenOf(
        kind=kind,
        of=of,
        label=label,
        objects=len({each.object for each in every}),
        times=len(every),
        months=dict(sorted(counted.items())),
        terms=tuple(value_of(first, "terms").split()),
    )
    best = sorted(_one_of_each(every), key=lambda each: (-each.confidence, each.object))
    kinds = () if kind is About.KEYWORD else _kinds_beside(settings)
    beside = [spoken(each, named) for each in kinds for named in found.meant_beside(each, kind, of, BESIDE)]
    return SpokenOfOne(
        spoken=one,
        when=value_of(first, "when"),
        quotes=tuple(quoted(enriched.pages, each, dates) for each in best[:QUOTED]),
        beside=tuple(beside),
        ties=() if kind is About.KEYWORD else most_changed(_ties(enriched, kind, of, settings)),
        opinions=tuple(opinions),
        all_opinions=len(told),
        months=dict(sorted(months.items())),
        judged=judged,
        not_judged=not_judged,
        cut=is_cut,
        note=enriched.note,
    )


def table_of_one(
    enriched: Enriched, kind: About, of: str, settings: AnnotationSettings, span: TimeSpan = ALL_TIMES
) -> Iterator[tuple[object, ...]]:
    """Yield each place at which something is spoken of, and each opinion beside it, as rows, the head first.

    Raise ``ProblemError`` as ``spoken_of`` does.
    """
    _check_is_shown(enriched, kind, of, settings)
    dates = enriched.dates()
    every, opinions = _told_of(enriched, kind, of, _READ)
    yield "what", "words", "start", "end", "confidence", "polarity", "published", "object", "record", "annotator"
    for what, each in (*(("mention", each) for each in every), *(("opinion", each) for each in opinions)):
        date = dates.get(each.object, "")
        if span.has(date):
            told = each.quote, each.start, each.end, each.confidence, value_of(each, "polarity")
            yield what, *told, date, each.object, each.capture, each.annotator


def _kinds_beside(settings: AnnotationSettings) -> list[About]:
    """Return the kinds of what is told to be spoken of beside something: what has pages of its own."""
    return [each for each in (About.TOPIC, About.ORGANISATION, About.PLACE, About.PERSON) if settings.has_page(each)]


def _ties(enriched: Enriched, kind: About, of: str, settings: AnnotationSettings) -> tuple[TieOverTime, ...]:
    """Return the ties of something with all that is spoken of beside it."""
    found, dates = enriched.annotations, enriched.dates()
    objects = {each.object for each in islice(found.of_meant(kind, of), _READ)}
    months = {iri: month for iri in objects if (month := month_of(dates.get(iri, "")))}
    together = (
        (each, *row) for each in _kinds_beside(settings) for row in islice(found.objects_beside(each, kind, of), _READ)
    )
    return ties_over_time(together, months)


def table_of_ties(
    enriched: Enriched, kind: About, of: str, settings: AnnotationSettings
) -> Iterator[tuple[object, ...]]:
    """Yield the ties of something as rows, the head first: one for each partner and period of publication.

    Raise ``ProblemError`` where it may have no page.
    """
    _check_is_shown(enriched, kind, of, settings)
    yield "with", "kind", "period", "objects", "earlier share", "later share", "trend", "change"
    for each in _ties(enriched, kind, of, settings):
        for period, objects in each.months.items():
            yield each.label, str(each.kind), period, objects, each.earlier, each.later, str(each.trend), each.change


def _check_is_shown(enriched: Enriched, kind: About, of: str, settings: AnnotationSettings) -> None:
    """Raise ``ProblemError`` unless something may be shown on a page of its own.

    A keyword may, as long as it is nobody's name. One of the definition may be a part of a name, too.
    """
    if kind is not About.KEYWORD:
        check_has_page(kind, settings)
    elif not settings.has_page(About.PERSON):
        names, is_wanted = Names(enriched.annotations), of.casefold() in map(str.casefold, enriched.words)
        if names.are_of(of) or (names.have(of) and not is_wanted):
            check_has_page(About.PERSON, settings)


def check_has_page(kind: About, settings: AnnotationSettings) -> None:
    """Raise ``ProblemError`` unless things of this kind have pages of their own."""
    if not settings.has_page(kind):
        is_perhaps_one = kind in (About.PERSON, About.NAME)
        why = "no pages are made about people, unless the institution turns them on" if is_perhaps_one else kind
        raise ProblemError(NO_PAGE, f"{why}; the search finds and counts names")


def topics_of(every: Annotations, ranked: Sequence[Named], dates: Mapping[str, str]) -> tuple[SpokenOf, ...]:
    """Return topics, with their terms and the months of all objects that ``every`` has of them."""
    months: dict[str, Counter[str]] = {}
    for iri, meant in every.objects_by_meant(About.TOPIC):
        months.setdefault(meant, Counter())[month_of(dates.get(iri, ""))] += 1
    shown = []
    for each in ranked:
        one = every.one_of_meant(About.TOPIC, each.meant)
        terms = "" if one is None else value_of(one, "terms")
        told = {"months": dict(sorted(months[each.meant].items())), "terms": tuple(terms.split())}
        shown.append(spoken(About.TOPIC, each).model_copy(update=told))
    return tuple(shown)


def spoken(kind: About, named: Named) -> SpokenOf:
    """Return what annotations mean as it is shown."""
    return SpokenOf(kind=kind, of=named.meant, label=named.label, objects=named.objects, times=named.times)


def _told_of(enriched: Enriched, kind: About, of: str, most: int) -> tuple[list[Annotation], list[Annotation]]:
    """Return the annotations that mean something, ``most`` of them, and the opinions in sentences with it.

    A keyword of the definition or of any text is also meant in each sentence with an opinion that has it.
    """
    found = enriched.annotations
    every = [*islice(found.of_meant(kind, of), most)]
    if kind is not About.KEYWORD:
        return every, [*_opinions(found, kind, of, every)]
    if not every and of.casefold() not in map(str.casefold, enriched.words):
        return [], []
    judged = [*mentions(of, islice(found.of_kind(About.OPINION), _READ))]
    places = {(each.object, each.capture, each.start): each for each in (*(said for _, said in judged), *every)}
    return [*places.values()][:most], [opinion for opinion, _ in judged]


def _opinions(found: Annotations, kind: About, of: str, every: Sequence[Annotation]) -> Iterator[Annotation]:
    """Yield each opinion once that is in a sentence with words of something; of a topic, those of its objects."""
    opinions = islice(found.beside_meant(About.OPINION, kind, of), _READ)
    if kind is About.TOPIC:
        yield from opinions
        return
    yield from dict.fromkeys(opinion for opinion, _ in about(opinions, every))


def _judged(found: Annotations, kind: About, of: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many of the objects are in languages that are judged, and how many in others, by language."""
    languages = Counter(each.label for each in islice(found.beside_meant(About.LANGUAGE, kind, of), _READ))
    known = {language for version in found.versions(OPINIONS) for language in judged_languages(version)}
    judged = {each: n for each, n in sorted(languages.items()) if each in known}
    return judged, {each: n for each, n in sorted(languages.items()) if each not in known}


def _one_of_each(every: Sequence[Annotation]) -> Iterator[Annotation]:
    """Yield the first annotation of each object."""
    seen: set[str] = set()
    for each in every:
        if each.object not in seen:
            seen.add(each.object)
            yield each


def _opinion(each: Annotation, dates: Mapping[str, str]) -> OpinionTold:
    return OpinionTold(
        object=each.object,
        record=each.capture,
        published=dates.get(each.object, ""),
        sentence=each.quote,
        polarity=float(value_of(each, "polarity") or 0),
    )


def quoted(pages: Asked, each: Annotation, dates: Mapping[str, str]) -> Quoted:
    """Return the words of an annotation within their text, without it where the capture cannot be read."""
    text, title, written = "", "", ""
    try:
        stated = read_statements(capture_text(pages, capture_row(pages, each.capture)))
        found = next((given for given in object_texts(stated) if given.object == each.object), None)
        text, title = (found.text, found.title) if found is not None else ("", "")
        written = _written(stated, each.object)
    except (OSError, DamageError, ProblemError):
        pass
    start, marked = _marked(each, text)
    end = max(0, start) + len(marked)
    if start < 0 and marked:
        before = behind = ""
    else:
        before, behind = _told(text[: max(0, start)], written), _told(text[end:], written[end:])
    head, tail = before[-_AROUND:], behind[: _AROUND if marked else 2 * _AROUND]
    return Quoted(
        object=each.object,
        record=each.capture,
        published=dates.get(each.object, ""),
        title=title,
        before=f"… {head.partition(' ')[2]}" if len(before) > len(head) else head,
        marked=marked,
        behind=f"{tail.rpartition(' ')[0]} …" if len(behind) > len(tail) else tail,
        confidence=each.confidence,
        terms=each.quote if each.start < 0 else "",
    )


def _told(own: str, written: str) -> str:
    """Return a text with ``[…]`` in the place of the words that ``written`` has at the same place.

    >>> _told("Ann: > " + " " * 21 + ". Oh!", "Ann: > what the sea does now. Oh!")
    'Ann: > […] . Oh!'
    """
    return _BLANK.sub(lambda blank: " […] " if written[blank.start() : blank.end()].strip() else blank[0], own)


def _written(stated: CaptureStatements, iri: str) -> str:
    """Return the text of an object with what it quotes of others; empty if the capture does not state it."""
    body = next((each.body for each in stated.objects if each.iri == iri), "")
    return body or stated.first(iri, _DESCRIPTION) or ""


def _sentence(pages: Asked, each: Annotation) -> str:
    """Return the sentence of an opinion, in which what it quotes of others is ``[…]``."""
    if not _BLANK.search(each.quote):
        return each.quote
    try:
        stated = read_statements(capture_text(pages, capture_row(pages, each.capture)))
    except (OSError, DamageError, ProblemError):
        return each.quote
    return _told(each.quote, _written(stated, each.object)[each.start : each.end])


def _marked(each: Annotation, text: str) -> tuple[int, str]:
    """Return where the words of an annotation stand in a text, -1 for nowhere, and these words.

    Of words that stand apart the first is taken.
    """
    if each.start >= 0:
        return (each.start if text[each.start : each.end] == each.quote else -1), each.quote
    found = ((text.find(term), term) for term in each.quote.split(", ") if term)
    return min((place for place in found if place[0] >= 0), default=(-1, ""))


def value_of(annotation: Annotation, name: str) -> str:
    """Return a detail of an annotation, empty where it has none of this name."""
    return next((value for each, value in annotation.values if each == name), "")


@contextmanager
def enriched_of(indexes: PageIndexes, crawl: Crawl) -> Iterator[Enriched]:
    """Lend the annotations of a crawl with its pages. Raise ``ProblemError`` where there are none."""
    if crawl.folder is not None and not is_enriched(crawl):
        raise ProblemError(NOT_ENRICHED, f"`aah enrich {crawl.argument}` finds it; nobody has done that yet")
    with indexes.asked(crawl, AnnotationIndex) as found, indexes.asked(crawl, PageIndex) as pages:
        read = found.progress.note.replace("pages are indexed", "captures' annotations are read")
        note = " ".join(filter(None, (read, pages.progress.note, _taken_down_since(crawl))))
        unread = "" if found.progress.complete else read
        state = (*_state(found), *_state(pages))
        yield Enriched(found.base, Annotations(found.base), pages, note, crawl.icd.topic.keywords, unread, state)


def _taken_down_since(crawl: Crawl) -> str:
    """Say that pages were taken down since anything was last said of a crawl's objects; empty where none were.

    What was made of many objects together, as topics and communities are, went with those pages wherever it rested on
    them.
    """
    if crawl.folder is None:
        return ""
    taken = [datetime.fromisoformat(each.at) for each in read_tombstones(crawl.folder) if each.captures]
    names = (path.name.rsplit("-", 2) for path in segments(crawl.folder / ANNOTATIONS, NQUADS))
    begun = max((parts[-2] for parts in names if len(parts) == 3), default="")
    if not taken or begun >= max(taken).astimezone(UTC).strftime("%Y%m%d%H%M%S"):
        return ""
    return (
        "Pages were taken down since this was found. Topics, events, answers and communities that rested on them are "
        "gone; of names, the kind and the number of objects may be wrong, as each text tells them by itself: "
        f"`aah enrich {crawl.argument}` tells anew what is left."
    )


def _state(asked: Asked) -> tuple[int, ...]:
    row = asked.base.execute("SELECT count(*), coalesce(max(id), 0), coalesce(sum(covered), 0) FROM segment").fetchone()
    return tuple(row)


MAX_COUNTED: Final = 500
"""Names of a kind that are looked at in each crawl, the most frequent first."""
TOPICS: Final = 50
"""Topics of each crawl that are looked at."""
KINDS: Final = (About.ORGANISATION, About.PLACE, About.PERSON, About.KEYWORD, About.NAME)
"""The kinds whose names mean the same in every crawl; topics are each crawl's own."""


@dataclass(frozen=True, slots=True)
class CrawlNames:
    """What one crawl speaks of most: by kind, its topics, and how many objects were published in each month."""

    names: Mapping[About, Sequence[SpokenOf]]
    topics: Sequence[SpokenOf]
    published: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SpokenOfByAll:
    """Something that several crawls may speak of, with the number of objects in each, the most first."""

    kind: About
    of: str
    label: str
    crawls: Mapping[str, int]

    @property
    def objects(self) -> int:
        """The objects of all crawls that speak of it."""
        return sum(self.crawls.values())


@dataclass(frozen=True, slots=True)
class AllSpokenOf:
    """What the crawls speak of together; ``topics`` are with the crawls whose they are.

    ``crawls`` are those that were asked, ``left_out`` those that nobody has enriched; ``notes`` tell what could not be
    asked. People are those of crawls whose institution shows them.
    """

    names: Mapping[About, Sequence[SpokenOfByAll]]
    topics: Sequence[tuple[Crawl, SpokenOf]]
    published: Mapping[str, int]
    crawls: Sequence[Crawl]
    left_out: Sequence[Crawl]
    notes: Sequence[str]


def crawl_names(enriched: Enriched, span: TimeSpan = ALL_TIMES) -> CrawlNames:
    """Return what a crawl speaks of most, in a span of time where one is named."""
    dates = enriched.dates()
    found = enriched.within(span, dates)
    published = Counter(map(month_of, dates.values()))
    return CrawlNames(
        {kind: [spoken(kind, each) for each in found.counts(kind, MAX_COUNTED)] for kind in KINDS},
        topics_of(enriched.annotations, found.counts(About.TOPIC, TOPICS), dates),
        {month: n for month, n in sorted(published.items()) if month},
    )


def all_spoken_of(
    indexes: PageIndexes, crawls: Sequence[Crawl], names_of: Callable[[Crawl, Enriched], CrawlNames]
) -> AllSpokenOf:
    """Return what crawls speak of together; ``names_of`` says it of each, and may remember what it said."""
    by_kind: dict[About, dict[str, tuple[str, dict[str, int]]]] = {kind: {} for kind in KINDS}
    topics, published = list[tuple[Crawl, SpokenOf]](), Counter[str]()
    asked, left_out, notes = list[Crawl](), list[Crawl](), list[str]()
    for crawl in crawls:
        if not is_enriched(crawl):
            left_out.append(crawl)
            continue
        try:
            with enriched_of(indexes, crawl) as enriched:
                told = names_of(crawl, enriched)
                notes += [f"{crawl.icd.title or crawl.id}: {enriched.note}"] if enriched.note else []
        except ProblemError as problem:
            notes.append(f"{crawl.icd.title or crawl.id}: {problem.detail}")
            continue
        asked.append(crawl)
        people = AnnotationSettings.of(crawl.folder).people
        for kind, names in told.names.items():
            for each in names if people or kind is not About.PERSON else ():
                label, counts = by_kind[kind].setdefault(each.of, (each.label, {}))
                by_kind[kind][each.of] = min(label, each.label), counts
                counts[crawl.id] = each.objects
        topics += [(crawl, each) for each in told.topics if each.objects]
        published.update(told.published)
    merged = {kind: sorted(_merged(kind, found), key=_rank) for kind, found in by_kind.items() if found}
    topics.sort(key=lambda each: (-each[1].objects, each[1].label, each[0].id))
    return AllSpokenOf(merged, topics, dict(sorted(published.items())), asked, left_out, notes)


def table_of_all(found: AllSpokenOf) -> Iterator[tuple[object, ...]]:
    """Yield names and topics as rows of a table, the head first: a row for each crawl that speaks of something."""
    yield "kind", "label", "of", "crawl", "objects"
    for crawl, each in found.topics:
        yield str(About.TOPIC), each.label, each.of, crawl.id, each.objects
    for kind, names in found.names.items():
        for name in names:
            for crawl_id, objects in name.crawls.items():
                yield str(kind), name.label, name.of, crawl_id, objects


def _merged(kind: About, found: Mapping[str, tuple[str, Mapping[str, int]]]) -> Iterator[SpokenOfByAll]:
    for of, (label, counts) in found.items():
        yield SpokenOfByAll(kind, of, label, dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def _rank(each: SpokenOfByAll) -> tuple[int, int, str]:
    return -each.objects, -len(each.crawls), each.of

"""What the objects of a crawl speak of: topics, organisations, places, names, keywords and events."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation, Annotations, Named
from aahcrawler.annotations import Kind as About
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.service.views.enriched_crawl import (
    ALL_TIMES,
    Enriched,
    TimeSpan,
    by_month,
    month_of,
    value_of,
)
from aahcrawler.service.views.judged_words import JudgedWord, Names, judged_words

MAX_LISTED: Final = 50
"""Names of a kind that are listed, the most frequent first."""
_LISTED: Final = (About.ORGANISATION, About.PLACE, About.NAME, About.TOPIC, About.KEYWORD)
MAX_READ: Final = 20_000
"""Annotations of a kind, or of one thing, that are looked at."""


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


def crawl_spoken_of(enriched: Enriched, span: TimeSpan = ALL_TIMES) -> CrawlSpokenOf:
    """Return what a crawl speaks of. Within a span objects published then are counted; months are those of all."""
    dates = enriched.dates()
    found = enriched.within(span, dates)
    ranked = {kind: found.ranked(kind, MAX_LISTED) for kind in (*_LISTED, About.PERSON)}

    def most(kind: About) -> tuple[SpokenOf, ...]:
        return tuple(spoken(kind, each) for each in ranked[kind][0])

    events, names = events_told(found), Names(enriched.annotations)
    opinions, words = [*islice(found.of_kind(About.OPINION), MAX_READ)], enriched.words[:MAX_LISTED]
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
        happened=by_month(each.when for each in events),
        totals={kind: total for kind, (_, total) in ranked.items()},
        published=by_month(dates.values()),
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
    """Return the events that objects tell of, by date.

    An event that was found to be the same in several objects counts once, with all of these objects. Any other is
    identified by its label.
    """
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


def topics_of(every: Annotations, ranked: Sequence[Named], dates: Mapping[str, str]) -> tuple[SpokenOf, ...]:
    """Return ``ranked`` topics with their terms; their months count all objects in ``every``, whatever the span."""
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

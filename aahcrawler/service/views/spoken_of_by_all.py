"""What several crawls speak of together."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from aahcrawler.annotations import Kind as About
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.views.enriched_crawl import (
    ALL_TIMES,
    Enriched,
    TimeSpan,
    by_month,
    enriched_of,
    is_enriched,
)
from aahcrawler.service.views.page_indexes import PageIndexes
from aahcrawler.service.views.spoken_of import SpokenOf, spoken, topics_of
from aahcrawler.service.web.problems import ProblemError

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
    return CrawlNames(
        {kind: [spoken(kind, each) for each in found.counts(kind, MAX_COUNTED)] for kind in KINDS},
        topics_of(enriched.annotations, found.counts(About.TOPIC, TOPICS), dates),
        by_month(dates.values()),
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
    merged = {
        kind: sorted(_merged(kind, found), key=lambda each: (-each.objects, -len(each.crawls), each.of))
        for kind, found in by_kind.items()
        if found
    }
    topics.sort(key=lambda each: (-each[1].objects, each[1].label, each[0].id))
    return AllSpokenOf(merged, topics, dict(sorted(published.items())), asked, left_out, notes)


def _merged(kind: About, found: Mapping[str, tuple[str, Mapping[str, int]]]) -> Iterator[SpokenOfByAll]:
    for of, (label, counts) in found.items():
        yield SpokenOfByAll(kind, of, label, dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))


def table_of_all(found: AllSpokenOf) -> Iterator[tuple[object, ...]]:
    """Yield names and topics as rows of a table, the head first: a row for each crawl that speaks of something."""
    yield "kind", "label", "of", "crawl", "objects"
    for crawl, each in found.topics:
        yield str(About.TOPIC), each.label, each.of, crawl.id, each.objects
    for kind, names in found.names.items():
        for name in names:
            for crawl_id, objects in name.crawls.items():
                yield str(kind), name.label, name.of, crawl_id, objects

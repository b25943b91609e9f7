"""One thing that the objects of a crawl speak of: where, with what else, and with which opinions."""

from collections import Counter
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from itertools import islice
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.annotations import Annotation, Annotations
from aahcrawler.annotations import Kind as About
from aahcrawler.annotations.annotation_settings import AnnotationSettings
from aahcrawler.service.views.enriched_crawl import ALL_TIMES, Enriched, TimeSpan, month_of, value_of
from aahcrawler.service.views.judged_words import Names, about, judged_languages, mentions
from aahcrawler.service.views.page_indexes import AGAIN, NOT_READY
from aahcrawler.service.views.quotations import Quoted, quoted, quoted_sentence
from aahcrawler.service.views.spoken_of import MAX_READ, SpokenOf, spoken
from aahcrawler.service.views.ties_over_time import TieOverTime, most_changed, ties_over_time
from aahcrawler.service.web.problems import Kind, ProblemError

NOT_SPOKEN_OF: Final = Kind("not-spoken-of", HTTPStatus.NOT_FOUND, "Nothing speaks of it")
NO_PAGE: Final = Kind("no-page-of-this-kind", HTTPStatus.NOT_FOUND, "It has no page of its own")
QUOTED: Final = 8
"""Places at which something is spoken of that are shown with their words at once."""
BESIDE: Final = 12
"""Names of a kind that are listed beside one thing."""
SENTENCES: Final = 200
"""Sentences with opinions that are shown of one thing."""
_OPINIONS: Final = "opinions"
"""The annotator of opinions."""


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


def spoken_of(
    enriched: Enriched, kind: About, of: str, settings: AnnotationSettings, span: TimeSpan = ALL_TIMES
) -> SpokenOfOne:
    """Return one thing that objects speak of. Raise ``ProblemError`` where nothing does, or it may have no page.

    Nothing is said to speak of it before all annotations are read: until then the problem is that they are not.

    Within a span all but the months is of the objects that were published then.
    """
    _check_is_shown(enriched, kind, of, settings)
    found, dates = enriched.annotations, enriched.dates()
    every, judging = _told_of(enriched, kind, of, MAX_READ + 1)
    if not every and enriched.unread:
        raise ProblemError(NOT_READY, f"{enriched.unread} Ask again in a moment.", headers=AGAIN)
    if not every:
        raise ProblemError(NOT_SPOKEN_OF, "no object speaks of it by now; look at what the crawl speaks of")
    is_cut, every = len(every) > MAX_READ, every[:MAX_READ]
    counted = Counter(month_of(dates.get(each, "")) for each in {each.object for each in every})
    first, all_told = every[0], [(_opinion(each, dates), each) for each in judging]
    label = min(each.label for each in every)
    found = enriched.within(span, dates)
    every = [each for each in every if span.has(dates.get(each.object, ""))]
    told = [pair for pair in all_told if span.has(pair[0].published)]
    told.sort(key=lambda pair: (pair[0].published, pair[0].object, pair[0].sentence))
    judged, not_judged = ({}, {}) if kind is About.KEYWORD else _judged(found, kind, of)
    months: dict[str, tuple[int, int]] = {}
    for each, _ in all_told:
        praise, blame = months.get(month := month_of(each.published), (0, 0))
        months[month] = (praise + (each.polarity > 0), blame + (each.polarity < 0))
    first_of_each = {each.object: each for each in reversed(every)}
    one = SpokenOf(
        kind=kind,
        of=of,
        label=label,
        objects=len(first_of_each),
        times=len(every),
        months=dict(sorted(counted.items())),
        terms=tuple(value_of(first, "terms").split()),
    )
    best = sorted(first_of_each.values(), key=lambda each: (-each.confidence, each.object))
    kinds = () if kind is About.KEYWORD else _kinds_beside(settings)
    beside = [spoken(each, named) for each in kinds for named in found.meant_beside(each, kind, of, BESIDE)]
    return SpokenOfOne(
        spoken=one,
        when=value_of(first, "when"),
        quotes=tuple(quoted(enriched.pages, each, dates) for each in best[:QUOTED]),
        beside=tuple(beside),
        ties=() if kind is About.KEYWORD else most_changed(_ties(enriched, kind, of, settings)),
        opinions=tuple(
            each.model_copy(update={"sentence": quoted_sentence(enriched.pages, said)})
            for each, said in told[:SENTENCES]
        ),
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
    every, opinions = _told_of(enriched, kind, of, MAX_READ)
    yield "what", "words", "start", "end", "confidence", "polarity", "published", "object", "record", "annotator"
    for what, each in (*(("mention", each) for each in every), *(("opinion", each) for each in opinions)):
        date = dates.get(each.object, "")
        if span.has(date):
            told = each.quote, each.start, each.end, each.confidence, value_of(each, "polarity")
            yield what, *told, date, each.object, each.capture, each.annotator


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


def _ties(enriched: Enriched, kind: About, of: str, settings: AnnotationSettings) -> tuple[TieOverTime, ...]:
    """Return the ties of something with all that is spoken of beside it."""
    found, dates = enriched.annotations, enriched.dates()
    objects = {each.object for each in islice(found.of_meant(kind, of), MAX_READ)}
    months = {iri: month for iri in objects if (month := month_of(dates.get(iri, "")))}
    together = (
        (each, *row)
        for each in _kinds_beside(settings)
        for row in islice(found.objects_beside(each, kind, of), MAX_READ)
    )
    return ties_over_time(together, months)


def _kinds_beside(settings: AnnotationSettings) -> list[About]:
    """Return the kinds of what is told to be spoken of beside something: what has pages of its own."""
    return [each for each in (About.TOPIC, About.ORGANISATION, About.PLACE, About.PERSON) if settings.has_page(each)]


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


def _told_of(enriched: Enriched, kind: About, of: str, most: int) -> tuple[list[Annotation], list[Annotation]]:
    """Return the annotations that mean something, ``most`` of them, and the opinions in sentences with it.

    Of a topic, these are the opinions of its objects. A keyword of the definition or of any text is also meant in each
    sentence with an opinion that has it.
    """
    found = enriched.annotations
    every = [*islice(found.of_meant(kind, of), most)]
    if kind is not About.KEYWORD:
        opinions = islice(found.beside_meant(About.OPINION, kind, of), MAX_READ)
        return every, [*(opinions if kind is About.TOPIC else dict.fromkeys(one for one, _ in about(opinions, every)))]
    if not every and of.casefold() not in map(str.casefold, enriched.words):
        return [], []
    judged = [*mentions(of, islice(found.of_kind(About.OPINION), MAX_READ))]
    places = {(each.object, each.capture, each.start): each for each in (*(said for _, said in judged), *every)}
    return [*places.values()][:most], [opinion for opinion, _ in judged]


def _judged(found: Annotations, kind: About, of: str) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many of the objects are in languages that are judged, and how many in others, by language."""
    languages = Counter(each.label for each in islice(found.beside_meant(About.LANGUAGE, kind, of), MAX_READ))
    known = {language for version in found.versions(_OPINIONS) for language in judged_languages(version)}
    judged = {each: n for each, n in sorted(languages.items()) if each in known}
    return judged, {each: n for each, n in sorted(languages.items()) if each not in known}


def _opinion(each: Annotation, dates: Mapping[str, str]) -> OpinionTold:
    return OpinionTold(
        object=each.object,
        record=each.capture,
        published=dates.get(each.object, ""),
        sentence=each.quote,
        polarity=float(value_of(each, "polarity") or 0),
    )

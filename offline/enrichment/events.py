"""Finds what texts say that happened on a date, and joins what several of them say of the same event.

An event is a clause with a date in it: what happened are its words. Who and where are the persons, organisations and
places that other annotators find among these words.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.sentences import VERSION as SENTENCES
from offline.enrichment.sentences import Sentence, sentences
from offline.enrichment.text_dates import TextDate, accompanies, dates_in, published_day
from online_analysis.terms import Lexicon

EVENT: Final = "urn:aahcrawler:event:"
"""What the IRIs of events begin with."""

MAX_CLAUSE: Final = 600
"""The characters of the longest clause that is an event: what is longer is a table or a list."""

_MIN_WORDS = 2
"""Words beside the date that an event has at least, those not counted that accompany dates: "Posted on 3 May 2019"."""
_MAX_LABEL = 120
_NEGATED: Final[Mapping[str, re.Pattern[str]]] = {
    language: re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)
    for language, words in {
        "en": "not(?! only)|never|no|nobody|no one|none|nothing|neither|cannot|\\w+n['’]t",
        "de": "nicht(?! nur)|nie|niemals|niemand|nichts|kein(?:e|en|em|er|es)?",
        "fr": "ne|n['’]\\w+|jamais|aucun|aucune",
        "es": "no|nunca|jamás|nadie|nada|ningún|ninguna|ninguno",
    }.items()
}
"""Words by which a clause says that something did not happen."""
_DASHES = ("—", "–", "-", "―")
_WORD = re.compile(r"[^\W\d_]{2,}")
_CONFIDENCE: Final[Mapping[str, float]] = {"day": 1.0, "days": 1.0, "month": 0.9, "year": 0.8}
_RELATIVE, _NO_YEAR = 0.8, 0.6
"""Confidence in a date that counts from the day of publication, and in one whose year is taken from it."""

_WHO: Final = (Kind.PERSON, Kind.ORGANISATION, Kind.NAME)
_MAX_COMPARED = 50
"""Events of one date with a name or a word in common with which another one is compared."""


class Events:
    """Annotates clauses with a date, but for those that say what did not happen then.

    ``values``: ``when`` in ISO 8601 (a day, a month, a year, or two days with a slash between them), its ``precision``
    (``day``, ``month``, ``year``, ``days``), the words that are the ``date``; ``counted-from``, the day of publication
    from which a relative date counts; and ``inferred``, ``year``, where the text names no year and the one nearest to
    publication is taken.
    """

    name = "events"
    version = f"2; sentencex {SENTENCES}"

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        """Annotate each clause with each of its dates."""
        if not any(map(str.isdecimal, given.text)) and not given.published:
            return
        dates = dates_in(given.text, given.language, published_day(given.published))
        if not dates:
            return
        number = 0
        for clause in _clauses(given.text, given.language):
            within: list[TextDate] = []
            while number < len(dates) and dates[number].start < clause.end:
                if clause.start <= dates[number].start and dates[number].end <= clause.end:
                    within.append(dates[number])
                number += 1
            if within and _tells(clause, within, given.language):
                yield from (
                    _event(given, clause, each) for each in within if not _is_denied(clause, each, given.language)
                )


def _clauses(text: str, language: str) -> Iterator[Sentence]:
    """Yield the parts of sentences between semicolons."""
    for sentence in sentences(text, language):
        start = sentence.start
        for part in sentence.text.split(";"):
            begun = part.lstrip()
            begins = start + len(part) - len(begun)
            if begun:
                stripped = begun.rstrip()
                yield Sentence(stripped, begins, begins + len(stripped))
            start += len(part) + 1


def _tells(clause: Sentence, dates: Sequence[TextDate], language: str) -> bool:
    """Return whether a clause tells what happened, and is not too long, a mere date, or the line below a quotation."""
    is_signature = clause.text[0] in _DASHES and dates[-1].end == clause.end
    if is_signature or len(clause.text) > MAX_CLAUSE:
        return False
    words = sum(
        not any(each.start <= clause.start + match.start() < each.end for each in dates)
        and not accompanies(match[0], language)
        for match in _WORD.finditer(clause.text)
    )
    return words >= _MIN_WORDS


def _is_denied(clause: Sentence, found: TextDate, language: str) -> bool:
    """Return whether a negation stands with a date between two commas: what it says did not happen then."""
    if language not in _NEGATED:
        return False
    start, end = found.start - clause.start, found.end - clause.start
    behind = clause.text.find(",", end)
    part = clause.text[clause.text.rfind(",", 0, start) + 1 : behind if behind >= 0 else None]
    return _NEGATED[language].search(part) is not None


def _event(given: ObjectText, clause: Sentence, found: TextDate) -> Annotation:
    confidence = _CONFIDENCE[found.precision]
    values = [("date", given.text[found.start : found.end]), ("precision", found.precision), ("when", found.when)]
    if found.relative:
        confidence = _RELATIVE
        values.append(("counted-from", given.published[:10]))
    if found.lacks_year:
        confidence = _NO_YEAR
        values.append(("inferred", "year"))
    label = clause.text if len(clause.text) <= _MAX_LABEL else f"{clause.text[: _MAX_LABEL - 1].rstrip()}…"
    return Annotation(
        given.object,
        given.capture,
        Kind.EVENT,
        " ".join(label.split()),
        Events.name,
        Events.version,
        confidence,
        start=clause.start,
        end=clause.end,
        quote=clause.text,
        values=tuple(sorted(values)),
    )


@dataclass(frozen=True, slots=True)
class _Told:
    """An event as one object tells it, with the entities and the terms of its words."""

    annotation: Annotation
    captured: str
    who: Mapping[str, str]
    """Labels of persons and organisations by what is meant."""
    where: Mapping[str, str]
    terms: frozenset[str]

    @property
    def named(self) -> frozenset[str]:
        """All that is named."""
        return frozenset(self.who) | frozenset(self.where)


@dataclass
class _Event:
    """An event as all objects tell it that were joined so far."""

    first: _Told
    told: list[_Told] = field(default_factory=list)


class JoinedEvents:
    """Says who and where of events, and which events of several objects are the same one.

    Two are the same where their dates are the same and two of their names, or a name and a word of what happened, or
    most of their words; dates that are no days ask for two names and a word, or for most words. The IRI is that of the
    event as it was captured first, so it stays as a crawl grows. ``values`` are those of the event, ``who`` and
    ``where`` with semicolons between names, and ``objects``, the number of objects that tell it.
    """

    name = "joined-events"
    version = "1"

    def __init__(self) -> None:
        self._lexicon = Lexicon()

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        """Yield another annotation for each known one of an event, with who, where and an IRI, by date.

        Reads ``known`` twice, then ``objects``. Memory grows with the objects that tell of events.
        """
        by_date: dict[str, list[_Told]] = defaultdict(list)
        for each in self._told(objects, known):
            by_date[dict(each.annotation.values)["when"]].append(each)
        for when in sorted(by_date):
            joined = _joined(sorted(by_date[when], key=_in_time), is_day=len(when) >= len("2019-03-14"))
            for event in joined:
                yield from _annotations(event, when)

    def _told(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[_Told]:
        events: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
        for each in known():
            if each.kind == Kind.EVENT and each.annotator == Events.name:
                events[each.object, each.capture].append(each)
        named: dict[tuple[str, str], list[Annotation]] = defaultdict(list)
        for each in known():
            if each.kind in (*_WHO, Kind.PLACE) and each.start >= 0 and (each.object, each.capture) in events:
                named[each.object, each.capture].append(each)
        for given in objects():
            key = given.object, given.capture
            for event in events.get(key, ()):
                within = [each for each in named[key] if event.start <= each.start and each.end <= event.end]
                yield self._of(event, within, given)

    def _of(self, event: Annotation, within: Sequence[Annotation], given: ObjectText) -> _Told:
        date = dict(event.values)["date"]
        bare = event.quote.replace(date, " ")
        for each in sorted(within, key=lambda each: (-len(each.quote), each.quote)):
            bare = bare.replace(each.quote, " ")
        terms = frozenset(term for term in self._lexicon.language(given.language or None).terms(bare) if len(term) > 1)
        who = {_meant(each): each.label for each in sorted(within, key=_place) if each.kind in _WHO}
        where = {_meant(each): each.label for each in sorted(within, key=_place) if each.kind == Kind.PLACE}
        return _Told(event, given.captured, who, where, terms)


def _meant(entity: Annotation) -> str:
    return entity.iri or entity.label.casefold()


def _place(each: Annotation) -> tuple[int, int, str]:
    return each.start, each.end, each.label


def _in_time(told: _Told) -> tuple[str, str, str, int, str]:
    each = told.annotation
    return told.captured, each.object, each.capture, each.start, each.label


def _joined(told: Iterable[_Told], *, is_day: bool) -> Iterable[_Event]:
    """Return the events of one date. Each telling goes to the first event that it is the same as."""
    events: list[_Event] = []
    by_key: dict[str, list[_Event]] = defaultdict(list)
    for each in told:
        keys = sorted(each.named) + sorted(each.terms)
        candidates = {id(event): event for key in keys for event in by_key[key][-_MAX_COMPARED:]}
        event = next((event for event in candidates.values() if _is_same(event, each, is_day=is_day)), None)
        if event is None:
            event = _Event(each)
            events.append(event)
        event.told.append(each)
        for key in keys:
            if event not in by_key[key][-_MAX_COMPARED:]:
                by_key[key].append(event)
    return events


def _is_same(event: _Event, told: _Told, *, is_day: bool) -> bool:
    """Compare with how the event was told first and last: those between them agree with both."""
    return any(_are_same(each, told, is_day=is_day) for each in (event.told[0], event.told[-1]))


def _are_same(one: _Told, other: _Told, *, is_day: bool) -> bool:
    names, terms = len(one.named & other.named), len(one.terms & other.terms)
    if terms and 2 * terms > len(one.terms | other.terms):
        return True
    if is_day:
        return names >= 2 or (names == 1 and terms >= 1)
    return names >= 2 and terms >= 1


def _annotations(event: _Event, when: str) -> Iterator[Annotation]:
    first = event.told[0].annotation
    digest = sha256(f"{when}\n{first.object}\n{first.capture}\n{first.start}".encode()).hexdigest()[:20]
    who: dict[str, str] = {}
    where: dict[str, str] = {}
    for each in event.told:
        who |= {key: label for key, label in each.who.items() if key not in who}
        where |= {key: label for key, label in each.where.items() if key not in where}
    objects = str(len({each.annotation.object for each in event.told}))
    for each in event.told:
        values = {**dict(each.annotation.values), "objects": objects}
        values |= {"who": "; ".join(who.values())} if who else {}
        values |= {"where": "; ".join(where.values())} if where else {}
        yield Annotation(
            each.annotation.object,
            each.annotation.capture,
            Kind.EVENT,
            first.label,
            JoinedEvents.name,
            JoinedEvents.version,
            each.annotation.confidence,
            f"{EVENT}{digest}",
            each.annotation.start,
            each.annotation.end,
            each.annotation.quote,
            tuple(sorted(values.items())),
        )

"""Generates web objects with planted names, events, opinions, topics and replies.

The sentences are in ``enrichment_sentences.yaml``, written in several registers and languages by somebody who had read
no annotator's patterns and no lexicon. Between them are sentences of Python's own documentation and of its "Zen", about
which nothing is known. The sentences are divided in two: annotators are developed with worlds of one half and measured
with worlds of the other.
"""

import calendar
import codecs
import contextlib
import io
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import yaml

from aahcrawler.annotations import Kind
from offline.enrichment.annotator import ObjectText

SENTENCES = Path(__file__).with_name("enrichment_sentences.yaml")
SHARES = {"en": 0.6, "de": 0.18, "fr": 0.14, "es": 0.08}
"""The share of the documents in each language."""

_COPIES = 0.06
"""The share of documents that another site copies with small changes."""
_THREADS = 0.6
"""The share of documents that are posts of threads; the others are articles, some with comments."""
_FIRST, _LAST = date(2012, 1, 1), date(2024, 12, 31)


@dataclass(frozen=True, slots=True)
class Planted:
    """An annotation that should be found: ``meant`` is equal wherever the same is meant, whatever it is called.

    It is the key of an entity, an event, a cluster or a topic; for opinions ``positive`` or ``negative``; for
    conversations the answered author; for sentences always the same. ``when`` of an event is a day, month or year of
    ISO 8601, or an interval of two days. Offsets are those of an entity's words, or those of the sentence of an
    opinion, an event or a planted sentence.
    """

    object: str
    kind: Kind
    meant: str
    start: int = -1
    end: int = -1
    when: str = ""


@dataclass(frozen=True, slots=True)
class World:
    """Objects, their planted annotations, and the parts of their texts about which nothing is known."""

    objects: tuple[ObjectText, ...]
    planted: tuple[Planted, ...]
    unknown: Mapping[str, tuple[tuple[int, int], ...]]


def world(seed: int, documents: int = 200, *, kept_aside: bool = False) -> World:
    """Return a world of about so many objects; the same for the same seed and version of Python's documentation."""
    rng = Random(f"{seed}-{kept_aside}")
    making = _Making(rng, kept_aside)
    while len(making.objects) < documents:
        language = rng.choices(list(SHARES), list(SHARES.values()))[0]
        if rng.random() < _THREADS:
            making.thread(language)
        else:
            making.article(language)
    making.copies()
    return World(
        tuple(making.objects), tuple(making.planted), {name: tuple(spans) for name, spans in making.unknown.items()}
    )


@dataclass(frozen=True, slots=True)
class _Event:
    key: str
    paraphrases: Sequence[str]
    slots: Mapping[str, tuple[str, ...]]
    """The entities of each slot, in their order."""
    first: date
    days: int
    precision: str


@dataclass
class _Text:
    """A text to which sentences are added, and what is planted in it, with offsets in the text."""

    words: str = ""
    planted: list[Planted] = field(default_factory=list)
    unknown: list[tuple[int, int]] = field(default_factory=list)
    named: set[str] = field(default_factory=set)
    """Entities that occur by their full names."""
    begins: list[int] = field(default_factory=list)
    """The offsets at which sentences begin."""

    def begin(self, rng: Random) -> int:
        """Separate the next sentence from the text so far; return its offset."""
        if self.words:
            self.words += "\n\n" if rng.random() < 0.2 else " "
        self.begins.append(len(self.words))
        return len(self.words)

    @property
    def sentences(self) -> Iterator[Planted]:
        """Yield the sentences, each without the white space behind it."""
        for begin, end in pairwise([*self.begins, len(self.words)]):
            yield Planted("", Kind.SENTENCES, "sentence", begin, begin + len(self.words[begin:end].rstrip()))


@dataclass(frozen=True, slots=True)
class _Entity:
    key: str
    kind: Kind
    names: tuple[str, ...]
    """The full name first."""


@cache
def _sentences() -> Mapping[str, Mapping[str, Any]]:
    loaded: Mapping[str, Mapping[str, Any]] = yaml.safe_load(SENTENCES.read_text("utf-8"))
    return loaded


_SPLIT = ("positive", "negative", "neutral", "stories", "undated", "greetings", "frames")


class _Language:
    """The material of texts in one language, of one half."""

    def __init__(self, code: str, *, kept_aside: bool) -> None:
        known = _sentences()[code]
        self.code = code
        self.lists: Mapping[str, Sequence[Any]] = {
            name: known[name][int(kept_aside) :: 2] if len(known[name]) > 1 else known[name] for name in _SPLIT
        }
        self.things: Sequence[str] = known["things"]
        self.topics: Mapping[str, Sequence[str]] = known["topics"]
        self.entities: Mapping[str, _Entity] = {
            each.key: each for each in (*_people(code, known), *_organisations(code, known), *_places(code, known))
        }
        self.by_slot: Mapping[str, Sequence[str]] = {
            slot: [key for key in self.entities if key.split("/")[1] == slot]
            for slot in ("person", "organisation", "place")
        }


def _people(code: str, known: Mapping[str, Any]) -> Iterator[_Entity]:
    for number, (first, last) in enumerate(known["people"]):
        title = known["titles"][number % len(known["titles"])]
        names = f"{first} {last}", last, f"{first[0]}. {last}", f"{title} {last}"
        yield _Entity(f"{code}/person/{last}", Kind.PERSON, names)


def _organisations(code: str, known: Mapping[str, Any]) -> Iterator[_Entity]:
    for full, short in known["organisations"]:
        yield _Entity(f"{code}/organisation/{full}", Kind.ORGANISATION, (full, short))


def _places(code: str, known: Mapping[str, Any]) -> Iterator[_Entity]:
    return (_Entity(f"{code}/place/{name}", Kind.PLACE, (name,)) for name in known["places"])


class _Making:
    """A world that is being generated."""

    def __init__(self, rng: Random, kept_aside: bool) -> None:
        self._rng = rng
        self._languages = {code: _Language(code, kept_aside=kept_aside) for code in SHARES}
        self._events: list[tuple[str, _Event]] = []
        self.objects: list[ObjectText] = []
        self.planted: list[Planted] = []
        self.unknown: dict[str, list[tuple[int, int]]] = defaultdict(list)

    def thread(self, code: str) -> None:
        """Add a thread of posts, most of which answer an earlier post and name its author."""
        rng, language = self._rng, self._languages[code]
        topic = rng.choice(list(language.topics))
        number = len(self.objects)
        site = f"board{number % 5}.test"
        thread = f"https://{site}/t/{number}"
        day = _FIRST + timedelta(rng.randrange((_LAST - _FIRST).days))
        authors: list[str] = []
        for post in range(rng.randint(2, 7)):
            day += timedelta(rng.choice((0, 0, 1, 2)))
            text = _Text()
            others = [name for name in authors if authors[-1:] != [name] or len(authors) == 1]
            if others and rng.random() < 0.8:
                self._answer(text, language, rng.choice(others))
            author = rng.choice([name for name in _nicknames(language) if name not in authors[-1:]])
            authors.append(author)
            self._fill(text, language, topic, day, length=rng.randint(3, 6))
            self._add(text, f"{thread}#p{post}", "post", code, topic, day, author=author, part_of=thread, site=site)

    def article(self, code: str) -> None:
        """Add an article, sometimes with comments."""
        rng, language = self._rng, self._languages[code]
        topic = rng.choice(list(language.topics))
        number = len(self.objects)
        site = f"news{number % 4}.test"
        url = f"https://{site}/{number}"
        day = _FIRST + timedelta(rng.randrange((_LAST - _FIRST).days))
        author = rng.choice([language.entities[key].names[0] for key in language.by_slot["person"]])
        text = _Text()
        self._fill(text, language, topic, day, length=rng.randint(8, 14))
        self._add(text, url, "article", code, topic, day, author=author, site=site)
        for comment in range(rng.choice((0, 0, 1, 3))):
            text = _Text()
            self._fill(text, language, topic, day, length=3)
            name = rng.choice(_nicknames(language))
            iri = f"{url}#c{comment}"
            self._add(text, iri, "comment", code, topic, day, author=name, part_of=url, site=site)
            self.planted.append(Planted(iri, Kind.CONVERSATION, author))

    def copies(self) -> None:
        """Copy some of the objects to another site, with one more sentence."""
        rng = self._rng
        known = defaultdict(list)
        for each in self.planted:
            known[each.object].append(each)
        for given in list(self.objects):
            if given.type != "article" or rng.random() >= 3 * _COPIES:
                continue
            iri = given.object.replace(given.site, "mirror.test")
            ending = rng.choice(_zen())
            text = f"{given.text} {ending}"
            self.objects.append(
                replace(given, object=iri, capture=f"{given.capture}-copy", url=iri, site="mirror.test", text=text)
            )
            self.unknown[iri] = [*self.unknown[given.object], (len(given.text) + 1, len(text))]
            self.planted += [replace(each, object=iri) for each in known[given.object]]
            self.planted.append(Planted(iri, Kind.SENTENCES, "sentence", len(given.text) + 1, len(text)))
            self.planted += [Planted(name, Kind.CLUSTER, given.object) for name in (given.object, iri)]

    def _add(
        self, text: _Text, iri: str, of_type: str, code: str, topic: str, day: date, *, author: str, site: str,
        part_of: str = "",
    ) -> None:  # fmt: skip
        captured = datetime(day.year, day.month, day.day, 12, tzinfo=UTC) + timedelta(30)
        published = f"{day.isoformat()}T09:30:00+00:00"
        if self._dateless(day):
            published = self._rng.choice(("", f"{day:%Y-%m}"))
        self.objects.append(
            ObjectText(
                iri, f"urn:uuid:{len(self.objects):08}", of_type, iri.split("#", maxsplit=1)[0], text.words,
                author=author, published=published, captured=captured.isoformat(), language=code, part_of=part_of,
                site=site, is_in_thread=of_type == "post",
            )
        )  # fmt: skip
        self.planted += [replace(each, object=iri) for each in (*text.planted, *text.sentences)]
        self.planted.append(Planted(iri, Kind.TOPIC, f"{code}/{topic}"))
        self.planted.append(Planted(iri, Kind.LANGUAGE, code))
        self.unknown[iri] += text.unknown

    def _dateless(self, day: date) -> bool:
        """Return whether objects of a day lack their date, as some software shows the month alone, or nothing."""
        return day.toordinal() % 9 == 0

    def _fill(self, text: _Text, language: _Language, topic: str, day: date, length: int) -> None:
        rng = self._rng
        for _ in range(length):
            drawn = rng.random()
            if drawn < 0.42:
                text.begin(rng)
                frame = rng.choice(language.lists["frames"])
                text.words += frame.format(*rng.sample(list(language.topics[topic]), 3))
            elif drawn < 0.5:
                begin = text.begin(rng)
                text.words += rng.choice(_prose() if rng.random() < 0.8 else _zen())
                text.unknown.append((begin, len(text.words)))
            elif drawn < 0.68:
                polarity = rng.choice(("positive", "negative"))
                begin, end = self._say(text, language, rng.choice(language.lists[polarity]))
                text.planted.append(Planted("", Kind.OPINION, polarity, begin, end))
            elif drawn < 0.8:
                self._say(text, language, rng.choice(language.lists["neutral"]))
            elif drawn < 0.86:
                self._say(text, language, rng.choice(language.lists["undated"]))
            else:
                self._tell(text, language, day)

    def _answer(self, text: _Text, language: _Language, name: str) -> None:
        begin = text.begin(self._rng)
        greeting = self._rng.choice(language.lists["greetings"])
        at = begin + greeting.index("{name}")
        text.words += greeting.replace("{name}", name)
        text.planted.append(Planted("", Kind.CONVERSATION, name, at, at + len(name)))
        text.unknown.append((at, at + len(name)))

    def _say(
        self, text: _Text, language: _Language, sentence: str, slots: Mapping[str, Sequence[str]] | None = None,
        when: str = "",
    ) -> tuple[int, int]:  # fmt: skip
        """Add a sentence with its slots filled; return its offsets."""
        rng = self._rng
        begin = text.begin(rng)
        left = {name: list(keys) for name, keys in (slots or {}).items()}
        fixed = {"thing": rng.choice(language.things), "date": when, "Date": when[:1].upper() + when[1:]}
        for piece in re.split(r"(\{\w+\})", sentence):
            slot = piece.strip("{}")
            if not piece.startswith("{"):
                text.words += piece
            elif slot in left and slot == "thing":
                text.words += left["thing"][0]
            elif slot in fixed:
                text.words += fixed[slot]
            else:
                key = left[slot].pop(0) if left.get(slot) else rng.choice(language.by_slot[slot])
                self._name(text, language.entities[key])
        return begin, len(text.words)

    def _name(self, text: _Text, entity: _Entity) -> None:
        rng = self._rng
        shortened = entity.key in text.named or rng.random() < 0.15
        name = rng.choice(entity.names[1:]) if shortened and len(entity.names) > 1 else entity.names[0]
        text.named.add(entity.key)
        text.planted.append(Planted("", entity.kind, entity.key, len(text.words), len(text.words) + len(name)))
        text.words += name

    def _tell(self, text: _Text, language: _Language, day: date) -> None:
        """Add a sentence on an event: an earlier event if there is one, else a new one."""
        rng = self._rng
        told = [event for code, event in self._events if code == language.code and event.first < day]
        if told and rng.random() < 0.5:
            event = told[-1] if rng.random() < 0.7 else rng.choice(told)
        else:
            event = self._new_event(language, day)
            self._events.append((language.code, event))
        words, when = _written(event, language.code, day, rng, is_known=not self._dateless(day))
        begin, end = self._say(text, language, rng.choice(event.paraphrases), event.slots, words)
        if when:
            text.planted.append(Planted("", Kind.EVENT, event.key, begin, end, when))

    def _new_event(self, language: _Language, day: date) -> _Event:
        rng = self._rng
        story = rng.choice(language.lists["stories"])
        slots: dict[str, tuple[str, ...]] = {"thing": (rng.choice(language.things),)}
        for slot in ("person", "organisation", "place"):
            most = max(sentence.count(f"{{{slot}}}") for sentence in story)
            slots[slot] = tuple(rng.sample(language.by_slot[slot], most))
        precision = rng.choices(("day", "month", "year", "days"), (0.72, 0.1, 0.08, 0.1))[0]
        back = rng.randint(1, 8) if rng.random() < 0.6 else rng.randint(9, 4000)
        first = day - timedelta(back if precision == "day" else max(back, 400))
        return _Event(f"{language.code}/event/{len(self._events)}", story, slots, first, rng.randint(2, 9), precision)


@cache
def _prose() -> tuple[str, ...]:
    """Return plain sentences of Python's own documentation."""
    topics: Mapping[str, str] = import_module("pydoc_data.topics").topics
    text = " ".join(" ".join(each.split()) for each in topics.values())
    return tuple(re.findall(r"(?<=\. )[A-Z][a-z]+ [a-z ,]{40,140}\.(?= [A-Z])", text))


@cache
def _zen() -> tuple[str, ...]:
    with contextlib.redirect_stdout(io.StringIO()):
        coded: str = import_module("this").s
    return tuple(line for line in codecs.decode(coded, "rot13").splitlines()[2:] if line.endswith("."))


def _nicknames(language: _Language) -> list[str]:
    people = [language.entities[key].names[0].split() for key in language.by_slot["person"]]
    return [f"{first.lower()}_{last[0].lower()}" if len(first) > 5 else f"{first}{len(last)}" for first, last in people]


def _written(event: _Event, code: str, day: date, rng: Random, *, is_known: bool) -> tuple[str, str]:
    """Return the words for an event's date in an object of a day, and the date in ISO 8601.

    The date is empty if it cannot be known: the words name no year, or are relative to an unknown day of publication.
    """
    first = event.first
    forms: Mapping[str, Sequence[str]] = _sentences()[code]["dates"]
    if event.precision == "month":
        return _filled(rng.choice(forms["month"]), code, first), f"{first:%Y-%m}"
    if event.precision == "year":
        return _filled(rng.choice(forms["year"]), code, first), f"{first:%Y}"
    if event.precision == "days":
        last = first + timedelta(event.days)
        if last.year != first.year:
            last = date(first.year, 12, 31)
        if last == first:
            return _filled(forms["day"][0], code, first), first.isoformat()
        return _filled(rng.choice(forms["days"]), code, first, last), f"{first}/{last}"
    back = (day - first).days
    fitting = ["day", "day"]
    if back == 1:
        fitting += ["yesterday"] * 3
    if 2 <= back <= 6:
        fitting += ["ago", "weekday", "weekday"]
    if 8 <= back < 150:
        fitting += ["yearless"] * 2
    form = rng.choice(fitting)
    words = _filled(rng.choice(forms[form]), code, first, ago=back)
    return words, first.isoformat() if form == "day" or is_known else ""


def _filled(form: str, code: str, first: date, last: date | None = None, ago: int = 0) -> str:
    day, end = first.day, last or first
    months: Sequence[str] = _sentences()[code]["months"]
    weekdays: Sequence[str] = _sentences()[code]["weekdays"]
    return form.format(
        d=day,
        dd=f"{day:02}",
        th="th" if 10 < day < 20 else {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th"),
        m=months[first.month - 1],
        mm=f"{first.month:02}",
        mon=calendar.month_abbr[first.month],
        y=first.year,
        yy=f"{first:%y}",
        w=weekdays[first.weekday()],
        n=ago,
        e=end.day,
        em=months[end.month - 1],
    )

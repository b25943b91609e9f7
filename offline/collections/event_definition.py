"""Write the definition of a collection about an event, with the source of each value.

The values are those of Klein, Balakireva and Van de Sompel (WebSci 2018, sections 3.2 to 3.6): the event lasts until
the change point of its page's edits, its half-life afterwards is a quarter of that, the grace period is how long
references took to be archived or how far apart they are, and the threshold is what the references themselves reach.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from random import Random
from statistics import fmean
from typing import Final, Literal

from offline.collections.event_page import CitedPage, EventPage
from offline.collections.reference_pages import HadReference, Revision
from online_analysis.analysers.relevance import RelevanceAnalyser, combined
from online_analysis.document import Document
from online_analysis.icd import Event, Relevance
from online_analysis.icd.units import format_duration
from online_analysis.icd.yaml_source import in_flow, scalar
from online_analysis.terms import Lexicon
from online_analysis.topic import Topic

SPLITS: Final = 10
TRAINED: Final = 0.6
"""The share of references from which the event vector is made; the others show what relevant pages reach."""
MIN_REFERENCES: Final = 3
"""The fewest references with a text for a threshold: some on each side of a split."""
ALIKE: Final = 0.999
"""References with at least this mean similarity say the same, so nothing can be learned from them."""
MIN_WORDS: Final = 50
"""The fewest words of a text that show its language surely enough to leave out a reference because of it."""
MAX_SEED_CHARACTERS: Final = 3_000_000
"""The most characters of all seeds of a definition, which must stay a file that people can open."""

Dates = Literal["gossen", "klein"]


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What references of an event reach on average, each in [0, 1], and how many of them had a text, and a date."""

    topic: float
    time: float
    texts: int
    dated: int

    def score(self, settings: Relevance) -> float:
        """Return the threshold of the relevance that combines both."""
        return combined(settings, self.topic, self.time)


def thresholds(
    text: str, references: Sequence[HadReference], event: Event, dates: Dates, seed: int = 0
) -> Thresholds | None:
    """Return the mean relevance of references over ten random splits; None for fewer than ``MIN_REFERENCES``.

    In each split 60 % are reference documents besides the text of the event's page. The others' relevance to them is
    the topic's, and the nearness of the 60 % that have a date is the time's (sections 3.4.3 and 3.5.3). An equal
    ``seed`` gives equal splits.
    """
    if len(references) < MIN_REFERENCES:
        return None
    chance, lexicon, taken = Random(seed), Lexicon(), round(TRAINED * len(references))
    by_time = RelevanceAnalyser(Relevance(combination="linear", alpha=0, dates=dates), None, event)
    times = [by_time.relevance(_dated(each)) for each in references]
    topics: list[float] = []
    nearnesses: list[float] = []
    for _ in range(SPLITS):
        order = chance.sample(range(len(references)), len(references))
        documents = [references[place].document.text for place in order[:taken]]
        by_topic = RelevanceAnalyser(
            Relevance(combination="linear", alpha=1), Topic((), (text, *documents), lexicon), None
        )
        topics.append(fmean(by_topic.relevance(references[place].document).score for place in order[taken:]))
        dated = [times[place].score for place in order[:taken] if times[place].date is not None]
        nearnesses += [fmean(dated)] if dated else []
    known = sum(each.date is not None for each in times)
    return Thresholds(fmean(topics), fmean(nearnesses), len(references), known) if nearnesses else None


def _dated(reference: HadReference) -> Document:
    """Return the document of a reference; if it gives no date of publication, with that of the reference."""
    told, document = reference.cited.published, reference.document
    return document if told is None or document.published else replace(document, published=_midnight(told))


def _is_foreign(reference: HadReference, language: str) -> bool:
    """Return whether the text of a reference is in another language than the page of the event."""
    document = reference.document
    told = document.language
    return bool(told and language) and told != language[:2].lower() and len(document.text.split()) >= MIN_WORDS


def mean_distance(days: Sequence[datetime]) -> timedelta | None:
    """Return the mean distance of all pairs of moments; None for fewer than two."""
    if len(days) < 2:
        return None
    ordered = sorted(days)
    pairs = len(ordered) * (len(ordered) - 1) / 2
    # The moment at place n is later than n others and earlier than the rest.
    seconds = sum(day.timestamp() * (2 * place - len(ordered) + 1) for place, day in enumerate(ordered))
    return timedelta(seconds=round(seconds / pairs))


def mean_delay(references: Sequence[HadReference]) -> timedelta | None:
    """Return how long after their dates references were archived, on average; None if none gives both.

    A capture before the date of its reference is not counted, because one of both is wrong.
    """
    delays = [
        times.captured - _midnight(told)
        for each in references
        if (told := each.cited.published) is not None and (times := each.document.times) is not None and times.memento
    ]
    forward = [each.total_seconds() for each in delays if each >= timedelta(0)]
    return timedelta(seconds=round(fmean(forward))) if forward else None


def readable(duration: timedelta) -> timedelta:
    """Return a duration in whole days, or in whole seconds if it is less than two days.

    >>> readable(timedelta(days=9, hours=13)), readable(timedelta(hours=30, seconds=0.6))
    (datetime.timedelta(days=10), datetime.timedelta(days=1, seconds=21601))
    """
    unit = timedelta(days=1) if duration >= timedelta(days=2) else timedelta(seconds=1)
    return round(duration / unit) * unit


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sought:
    """What a definition is requested to be: for whom, by which order of dates, with which references."""

    contact: str
    dates: Dates = "klein"
    all_references: bool = False
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Materials:
    """What a definition is made from.

    ``change`` is the change point of the edits, None if there is none; ``latest`` the last known version.
    ``references`` are those of ``page.references`` that could be obtained; ``archive`` names where from, empty for the
    live web.
    """

    page: EventPage
    change: datetime | None = None
    latest: Revision | None = None
    references: tuple[HadReference, ...] = ()
    archive: str = ""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition and what belongs to it: name and YAML, texts by the names of their files, and what is missing."""

    name: str
    yaml: str
    texts: dict[str, str]
    missing: tuple[str, ...]


def define(materials: Materials, sought: Sought) -> Definition:
    """Return the definition of a collection.

    Values that could not be determined keep their defaults and are reported.
    """
    return _Writing(materials, sought).definition()


def event_of(materials: Materials, dates: Dates, missing: list[str]) -> tuple[Event | None, str]:
    """Return the event as far as it is known, and the source of its end; what is missing is added to a list."""
    told, change, latest = materials.page.time, materials.change, materials.latest
    if told is None:
        missing.append("event: no infobox tells its date; add it to the definition")
        return None, ""
    if dates == "gossen":
        return Event(start=told.start, end=told.end), told.source
    if change is not None and change > told.start:
        cool_down = readable((change - told.start) / 4)
        return Event(start=told.start, end=change, cool_down=cool_down), "the change point of the page's edits"
    if latest is not None and latest.saved > told.end:
        missing.append("event.end: the edits have no change point yet, so that it ends with the last version")
        return Event(start=told.start, end=latest.saved), "the last version of the page, as edits have not fallen yet"
    missing.append("event.end: without the history of edits it ends as the infobox says")
    return Event(start=told.start, end=told.end), told.source


def name_of(title: str) -> str:
    """Return a short name for a collection: ASCII letters and digits of the title, or ``event`` if it has none.

    >>> name_of("2015 San Bernardino attack"), name_of("Überschwemmung (2013)"), name_of("洪水")
    ('2015-san-bernardino-attack', 'uberschwemmung-2013', 'event')
    """
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain).strip("-")[:60].strip("-") or "event"


class _Writing:
    """Computes the values of one definition, and notes what is missing."""

    def __init__(self, materials: Materials, sought: Sought) -> None:
        self._page = materials.page
        self._from = materials
        self._sought = sought
        self._missing: list[str] = []
        self._name = name_of(materials.page.title)
        self._foreign = {each.cited.url for each in materials.references if _is_foreign(each, materials.page.language)}
        self._seeds = self._chosen_seeds()
        wanted = {each.url for each in self._seeds}
        self._had = tuple(each for each in materials.references if each.cited.url in wanted)
        self._grace_from = ""
        event, self._end_from = event_of(materials, sought.dates, self._missing)
        self._event = self._with_grace(event) if event is not None and sought.dates == "klein" else event

    def definition(self) -> Definition:
        texts = {f"{self._name}/article.txt": self._page.text}
        for number, each in enumerate(self._had, 1):
            texts[f"{self._name}/reference-{number:04}.txt"] = each.document.text
        lines = [*self._head(), *self._seed_lines(), *self._topic(texts), *self._time(), *self._scoring()]
        return Definition(self._name, "\n".join(lines) + "\n", texts, tuple(self._missing))

    def _chosen_seeds(self) -> Sequence[CitedPage]:
        """Return the references that become seeds, as many as a definition may have."""
        references = self._page.references
        chosen = [each for each in references if self._sought.all_references or not self._is_other(each)]
        if not chosen:
            self._missing.append(
                "seeds: the page has no references of its language in HTML; add some to the definition"
            )
        size, kept = 0, []
        for each in chosen:
            size += len(each.url)
            if size <= MAX_SEED_CHARACTERS:
                kept.append(each)
        if len(kept) < len(chosen):
            self._missing.append(f"seeds: {len(chosen) - len(kept)} more, as the file would be too long")
        return kept

    def _is_other(self, cited: CitedPage) -> bool:
        """Return whether a reference is in another language or format, as it says or as its text shows."""
        return bool(cited.other) or cited.url in self._foreign

    def _with_grace(self, event: Event) -> Event:
        """Return the event with the grace period that follows from the references (section 3.5.1)."""
        if self._from.archive:
            grace = mean_delay(self._had)
            self._grace_from = "the mean time from the date of a reference to its capture in the archive"
        else:
            days = [_midnight(told) for each in self._page.references if (told := each.published) is not None]
            grace = mean_distance(days)
            self._grace_from = f"the mean distance between the dates of {len(days)} references"
        grace = grace and readable(grace)
        if not grace:
            self._missing.append("event.grace: the references do not tell enough dates")
            return event
        return event.model_copy(update={"grace": grace})

    def _head(self) -> Iterator[str]:
        page = self._page
        version = f", version {page.revision}" if page.revision is not None else ""
        yield f"# A collection about an event, made from {_line(page.url or page.title)}{version}."
        yield "# Each value says where it comes from; change what you know better. docs/collections.md tells more."
        yield f"id: {self._name}"
        yield f"title: {scalar(_line(page.title) or self._name)}"
        yield f"contact: {scalar(self._sought.contact)}    # told to the sites that are asked"
        if re.fullmatch("[a-z]{2}", page.language):
            yield f"metadata: {{language: [{page.language}]}}    # that of the page"
        yield ""

    def _seed_lines(self) -> Iterator[str]:
        left = [each for each in self._page.references if self._is_other(each)]
        source = "the references of the page" if self._page.is_cited else "all links of the page to other sites"
        without = (
            f", without {len(left)} in other languages or formats" if left and not self._sought.all_references else ""
        )
        yield f"# {source.capitalize()}{without}."
        yield "seeds:" if self._seeds else "seeds: []"
        yield from (f"  - {scalar(each.url)}" for each in self._seeds)
        yield ""
        if self._from.archive:
            archives = in_flow([self._from.archive])
            yield "# Pages can be taken from archives in place of the live web:"
            yield f"# captures: {{sources: [{{archive: {archives}}}], snapshot: first-after-event}}"
            yield ""
        yield "# Wherever the subject leads, at most five links from a seed (Klein et al., section 4)."
        yield "scope: {sites: anywhere, depth: 5}"
        yield ""

    def _topic(self, texts: dict[str, str]) -> Iterator[str]:
        had = len(texts) - 1
        more = f" and of {had} references" if had else ""
        if not had:
            self._missing.append("topic: the texts of references are not had; give --archive, or --fetch")
        yield f"# The text of the page{more}. Words that matter most may be added as keywords, which are boosted."
        yield "topic:"
        yield "  documents:"
        yield from (f"    - {scalar(name)}" for name in texts)
        yield f"  # keywords: [{scalar(_line(self._page.title))}]"
        yield ""

    def _time(self) -> Iterator[str]:
        event, told = self._event, self._page.time
        if event is None or told is None:
            yield "# No infobox of the page tells when the event was."
            yield "# event: {start: 2024-05-01, end: 2024-05-31, cool_down: 4 weeks, grace: 30 days}"
            yield ""
            return
        yield "event:"
        timed = "" if told.timed else ", which tells no time of day"
        yield f"  start: {_moment(event.start)}    # {_line(told.source)}{timed}"
        yield f"  end: {_moment(event.end)}    # {_line(self._end_from)}"
        if self._sought.dates == "gossen":
            yield "  # How long before and after it is talked about: `aah collection kinds` lists what is typical."
            yield "  # lead: 0 d"
            yield "  # cool_down: 0 d"
        elif event.cool_down:
            yield f"  cool_down: {format_duration(event.cool_down)}    # a quarter of the span; nothing counts before"
        else:
            self._missing.append("event.cool_down: a quarter of the span up to the change point, which is not known")
            yield "  # cool_down: 4 weeks    # a quarter of the span up to the change point, which is not known"
        if event.grace:
            yield f"  grace: {format_duration(event.grace)}    # {self._grace_from}"
        yield ""

    def _scoring(self) -> Iterator[str]:
        settings = Relevance(combination="linear", dates=self._sought.dates)
        found = None
        if self._event is not None:
            found = thresholds(self._page.text, self._had, self._event, settings.dates, self._sought.seed)
        yield "scoring:"
        if found is None:
            self._missing.append(
                "scoring.relevant: needs three references with texts, some dated, and the event's date"
            )
        else:
            yield f"  # {found.texts} references reach {found.topic:.4f} in topic; the {found.dated} that have a date"
            yield f"  # reach {found.time:.4f} in time: means over {SPLITS} random splits (seed {self._sought.seed})."
        if found is None or settings.dates == "gossen":
            yield "  # relevant: 0.5    # pages from here on are members of the collection"
            yield "  # follow: 0.5      # links of pages below are not followed"
        else:
            if found.topic >= ALIKE:
                self._missing.append(
                    "scoring.relevant: the references say nearly the same, so that hardly another page would be"
                    f" relevant from {found.score(settings):.4f} on; set a lower one, or give more references"
                )
            score = f"{found.score(settings):.4f}"
            yield f"  relevant: {score}    # pages from here on are members of the collection"
            yield f"  follow: {score}      # links of pages below are not followed"
        yield f"  relevance: {{combination: {settings.combination}, alpha: {settings.alpha}, dates: {settings.dates}}}"


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _line(text: str) -> str:
    """Return a text that is safe in a comment: one line of printable characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())[:200]

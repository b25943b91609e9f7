"""Enriches a crawl: has annotators say what its web objects speak of, only where they have not said it yet.

What has been done is known by the annotations themselves. So whatever ends a run, the next one goes on behind the last
graph that was written, and ends with the same annotations; so it does while a crawl adds pages.
"""

import json
import logging
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Final, cast

from pydantic import TypeAdapter

from aahcrawler.annotations import Annotation, AnnotationIndex, Annotations, CaptureAnnotations
from aahcrawler.annotations.annotation import annotating
from aahcrawler.jobs import Job, Made, Work
from aahcrawler.layout import NQUADS
from aahcrawler.segments import SegmentWriter, Series, recover
from aahcrawler.tombstones import read_tombstones
from offline.enrichment.annotator import Annotator, CollectionAnnotator, MediaAnnotator, Medium, ObjectText
from offline.enrichment.captured_media import MediaSources, MediaSurvey
from offline.enrichment.collection_annotating import AnnotatingBeside, check, said_by
from offline.enrichment.object_texts import Sources, Survey, version_key, with_language
from offline.enrichment.steps import EnrichError, EnrichmentStep, MissingLibraryError, Setting, Telling, setting_of

logger = logging.getLogger(__name__)

LANGUAGE: Final = "language"
"""The step that tells languages, and is not told them."""
_AT_ONCE: Final = 16
"""Captures of a unit: what a kill costs of each process."""
_UNITS_INDEXED: Final = 16
"""Units that are put into the index together."""


@dataclass(slots=True)
class Annotated:
    """What became of some captures: objects that an annotator was given, what it said, and of how many it failed.

    ``languages`` counts the objects by language, the empty one where it cannot be told; ``told`` are those that texts
    tell, by the keys of the versions of objects in hexadecimal digits.
    """

    objects: int = 0
    annotations: int = 0
    failures: int = 0
    languages: Counter[str] = field(default_factory=Counter)
    told: dict[str, str] = field(default_factory=dict)

    def __iadd__(self, other: "Annotated") -> "Annotated":
        self.objects += other.objects
        self.annotations += other.annotations
        self.failures += other.failures
        self.languages += other.languages
        return self


_NOTES: Final = TypeAdapter(Annotated)


@dataclass(frozen=True, slots=True)
class StepResult:
    """What a step has done: ``done`` is what was new, and ``notes`` say in sentences what it went by.

    ``standing`` is how many annotations of former runs stand where nothing was to be done; None where something was.
    """

    step: str
    captures: int
    done: Annotated
    notes: tuple[str, ...] = ()
    is_left_out: bool = False
    standing: int | None = None


def enrich(
    crawl: Path,
    steps: Sequence[EnrichmentStep],
    *,
    processes: int = 1,
    seen: Callable[[str, int], object] = lambda _step, _captures: None,
    leave_out: bool = False,
    lexicons: Path | None = None,
    jobs: Callable[..., Job[Annotated]] = Job,
) -> Iterator[StepResult]:
    """Have some steps annotate the objects of a crawl's folder, and yield what each has done.

    Steps are done in the order given, once all of their annotators are made; those that go by all objects are told what
    the ones before them said. ``seen`` is told how many more captures a step is done with. With ``leave_out``, a step
    that rests on a library which is not installed is left out, and its result says so. ``lexicons`` is the operator's
    folder of them. ``jobs`` makes jobs for what goes object by object, which ``offline.spark`` spreads over machines.
    All else is done in this process but, with two ``processes`` or more, what goes by objects alone: one beside it does
    that meanwhile.
    Raises ``AnnotationsBusyError``, ``DefinitionError``, ``EnrichError``, ``JobError``, ``OSError``, ``ReadError``,
    ``SegmentError`` and ``sqlite3.Error``.
    """
    setting = setting_of(crawl, lexicons)
    with ExitStack() as stack:
        folder = stack.enter_context(annotating(crawl))
        # What a later step cannot read, such as a lexicon, is told before hours have gone into the steps before it.
        annotators = deque(_annotators(setting, steps, leave_out=leave_out))
        survey = stack.enter_context(Survey.of(crawl))
        series = Series(folder, setting.icd.id, NQUADS)
        writer = stack.enter_context(closing(SegmentWriter(series, lambda: datetime.now(UTC))))
        index = stack.enter_context(AnnotationIndex(crawl))
        recover(folder, NQUADS)
        alone = [step for step, made in zip(steps, annotators, strict=True) if _is_done_beside(step, made)]
        beside = stack.enter_context(AnnotatingBeside(setting, alone if processes > 1 else ()))
        enriching = _Enriching(setting, survey, index, writer, beside, processes, jobs)
        told: list[str] = []
        for step in steps:
            index.catch_up()
            match annotators.popleft():
                case MissingLibraryError() as missing:
                    yield StepResult(step.name, 0, Annotated(), (str(missing),), is_left_out=True)
                case annotator if step.is_of_collection:
                    yield enriching.collection(step, cast("CollectionAnnotator", annotator), told, seen)
                case annotator:
                    yield enriching.one_by_one(step, cast("Annotator | MediaAnnotator", annotator), seen)
            told.append(step.name)
        index.catch_up()


def _annotators(
    setting: Setting, steps: Sequence[EnrichmentStep], *, leave_out: bool
) -> Iterator[Annotator | MediaAnnotator | CollectionAnnotator | MissingLibraryError]:
    """Yield the annotator of each step; with ``leave_out``, why there is none where its library is missing."""
    for step in steps:
        try:
            yield step.annotator(setting)
        except MissingLibraryError as error:
            if not leave_out:
                raise
            yield error


def _is_done_beside(step: EnrichmentStep, annotator: object) -> bool:
    return step.goes_by_objects_alone and not isinstance(annotator, MissingLibraryError)


@dataclass(frozen=True, slots=True)
class _Enriching:
    setting: Setting
    survey: Survey
    index: AnnotationIndex
    writer: SegmentWriter
    beside: AnnotatingBeside
    processes: int
    jobs: Callable[..., Job[Annotated]]
    units: Iterator[int] = field(default_factory=lambda: count(1))

    def one_by_one(
        self, step: EnrichmentStep, annotator: Annotator | MediaAnnotator, seen: Callable[[str, int], object]
    ) -> StepResult:
        """Have a step annotate the objects, or the files, that it has not annotated yet."""
        if not step.is_of_media:
            return self._annotated(step, annotator, self.survey, seen)
        with MediaSurvey.of(self.setting.crawl) as survey:
            return self._annotated(step, annotator, survey, seen)

    def _annotated(
        self,
        step: EnrichmentStep,
        annotator: Annotator | MediaAnnotator,
        survey: Survey | MediaSurvey,
        seen: Callable[[str, int], object],
    ) -> StepResult:
        done, captures = Annotated(), 0
        job = self.jobs(
            AnnotatingStep(self.setting.crawl.resolve(), step, annotator.version, _now(), self.setting.lexicons),
            _NOTES,
            keep=self._keep,
            processes=self.processes,
            seen=lambda more: seen(step.name, more),
            at_once=_AT_ONCE,
        )
        with job.run(self._left(annotator, survey)) as notes:
            for _, note in notes:
                self.survey.know_languages(note.told)
                done += note
                captures += 1
        notes_told = tuple(annotator.told(done.languages)) if isinstance(annotator, Telling) and captures else ()
        return StepResult(step.name, captures, done, notes_told, standing=None if captures else self._standing(step))

    def _standing(self, step: EnrichmentStep) -> int:
        return Annotations(self.index.base).count_by(step.name)

    def _keep(self, texts: Sequence[bytes]) -> None:
        for text in texts:
            self.writer.append((text,))
        self.writer.sync()
        if next(self.units) % _UNITS_INDEXED == 0:
            self.index.catch_up()  # While others annotate: between two steps they would wait for it.

    def _left(self, annotator: Annotator | MediaAnnotator, survey: Survey | MediaSurvey) -> Iterator[tuple[str, str]]:
        """Yield the captures of which something else is given than what was annotated, with their sites."""
        with closing(sqlite3.connect("")) as base:
            base.execute("CREATE TABLE given (capture TEXT PRIMARY KEY, given TEXT) WITHOUT ROWID")
            known = self.index.given(annotator.name, annotator.version)
            base.executemany("INSERT INTO given VALUES (?, ?)", known)
            for each in survey.captures():
                row = base.execute("SELECT given FROM given WHERE capture = ?", (each.capture,)).fetchone()
                if row is None or row[0] != each.given:
                    keys = [key.hex() for key in each.keys]
                    yield each.site, json.dumps([each.capture, each.given, keys, each.languages])
            for (capture,) in base.execute("SELECT capture FROM given WHERE given != '' ORDER BY capture"):
                if not survey.has(capture):
                    yield "", json.dumps([capture, "", [], []])

    def collection(
        self,
        step: EnrichmentStep,
        annotator: CollectionAnnotator,
        told: Sequence[str],
        seen: Callable[[str, int], object],
    ) -> StepResult:
        """Have a step annotate all objects together, unless it has done so with the very same."""
        annotations, before = Annotations(self.index.base), self._told_before(step, told)
        run = self._run(annotator.version, before)
        if self.index.has_run(step.name, annotator.version, run):
            return StepResult(step.name, 0, Annotated(), standing=self._standing(step))
        captures, made_at = 0, _now()
        self.beside.begin(step, self.survey.newest)
        said = self.beside.said(step) or said_by(
            annotator, lambda: iter(self.survey.newest()), lambda: annotations.by(before)
        )
        for capture, every in said.captures:
            unit = CaptureAnnotations(capture, step.name, annotator.version, "", made_at, run, every)
            self.writer.append((bytes(unit),))
            captures += 1
            seen(step.name, 1)
        self.writer.append((bytes(CaptureAnnotations("", step.name, annotator.version, "", made_at, run)),))
        self.writer.sync()
        return StepResult(step.name, captures, Annotated(annotations=said.annotations), said.notes)

    def _told_before(self, step: EnrichmentStep, told: Sequence[str]) -> frozenset[str]:
        """Return the annotators whose annotations a step is told: all that go object by object, and those before it."""
        rows = self.index.base.execute("SELECT DISTINCT annotator FROM unit WHERE run = ''")
        return frozenset({*(name for (name,) in rows), *told} - {step.name})

    def _run(self, version: str, before: frozenset[str]) -> str:
        """Return what a run is known by: all that its annotations depend on."""
        total = 0
        for row in self.index.base.execute("SELECT annotator, version, capture, given, run FROM unit WHERE is_shown"):
            if row[0] in before:
                total += int.from_bytes(blake2b("\0".join(row).encode(), digest_size=16).digest())
        known = (total % (1 << 128)).to_bytes(16)
        # A takedown leaves of a run what does not speak of what it removes: that is no whole run any more.
        taken = "".join(stone.id for stone in read_tombstones(self.setting.crawl))
        return blake2b(self.survey.digest() + known + f"{version}{taken}".encode(), digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class AnnotatingStep:
    """The step of a job in which an annotator annotates the objects of captures, or their files."""

    crawl: Path
    step: EnrichmentStep
    version: str
    made_at: str
    lexicons: Path | None = None

    @contextmanager
    def open(self) -> Iterator[Work[Annotated]]:
        """Make the annotator. Raises ``EnrichError``."""
        setting, of_media = setting_of(self.crawl, self.lexicons), self.step.is_of_media
        annotator = cast("Annotator | MediaAnnotator", self.step.annotator(setting))
        if annotator.version != self.version:
            raise EnrichError(f"what the step {self.step.name} goes by was changed meanwhile; run aah enrich again")
        sources = MediaSources(self.crawl) if of_media else Sources(self.crawl)
        with ExitStack() as stack:
            stack.enter_context(closing(sources))
            if isinstance(annotator, AbstractContextManager):
                stack.enter_context(annotator)
            yield _Captures(annotator, sources, self.made_at).annotate


@dataclass(frozen=True, slots=True)
class _Captures:
    annotator: Annotator | MediaAnnotator
    sources: Sources | MediaSources
    made_at: str

    def annotate(self, _: str, items: Sequence[str]) -> Made[Annotated]:
        return [self._annotated(*json.loads(item)) for item in items]

    def _annotated(
        self, capture: str, given: str, keys: Sequence[str], languages: Sequence[str | None]
    ) -> tuple[Annotated, bytes]:
        note, said = Annotated(), list[Annotation]()
        known = dict(zip(keys, languages, strict=False))
        for each in self.sources.versions(capture, map(bytes.fromhex, keys)):
            note.objects += 1
            shown: ObjectText | Medium = each
            if isinstance(each, ObjectText):
                key = version_key(each).hex()
                told = with_language(each, known.get(key))
                note.languages[told.language] += 1
                if not each.language and known.get(key) is None:
                    note.told[key] = told.language
                shown = each if self.annotator.name == LANGUAGE else told
            try:
                own = dict.fromkeys(self._sound(shown))
            except Exception:  # Whatever a text may provoke, the others are annotated.
                logger.exception("%s: the step %s fails on it", each.object, self.annotator.name)
                note.failures += 1
                continue
            note.annotations += len(own)
            said += own
        made = CaptureAnnotations(
            capture, self.annotator.name, self.annotator.version, given, self.made_at, annotations=tuple(said)
        )
        return note, bytes(made)

    def _sound(self, given: ObjectText | Medium) -> Iterable[Annotation]:
        text = given.text if isinstance(given, ObjectText) else ""
        for each in cast("Annotator", self.annotator).annotate(cast("ObjectText", given)):
            check(each, self.annotator.name, self.annotator.version)
            is_of_it = (each.object, each.capture) == (given.object, given.capture)
            if not is_of_it or (each.start >= 0 and text[each.start : each.end] != each.quote):
                raise ValueError(f"it annotates other words than there are: {each}")
            yield each


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

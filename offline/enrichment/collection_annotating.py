"""Has annotators that go by all objects together annotate them, some of them in a process beside this one.

What goes by the objects alone need not wait for what former steps say: another process does it meanwhile, and keeps
what is said until its turn to be written has come. What is written, and in which order, is the same in any case.
"""

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from dataclasses import dataclass, field, fields
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from signal import SIGKILL
from typing import Any, Final, Self, TypeVar, cast

from aahcrawler.annotations import Annotation, Kind
from aahcrawler.derived_index import transaction
from aahcrawler.jobs import JobError, own_processes
from offline.enrichment.annotator import CollectionAnnotator, ObjectText
from offline.enrichment.object_texts import KeptTexts
from offline.enrichment.steps import EnrichmentStep, Setting, Telling, setting_of

_AT_ONCE: Final = 500
"""Objects that the other process is given, and captures that it gives, in one piece."""
_values: Final = attrgetter(*(each.name for each in fields(Annotation)))
_T = TypeVar("_T")
_OfCapture = tuple[str, tuple[Annotation, ...]]


@dataclass(frozen=True, slots=True)
class Said:
    """What an annotator says of all objects: how many annotations, in which sentences, and capture by capture."""

    annotations: int
    notes: tuple[str, ...]
    captures: Iterator[_OfCapture]


def said_by(
    annotator: CollectionAnnotator,
    objects: Callable[[], Iterator[ObjectText]],
    known: Callable[[], Iterator[Annotation]],
) -> Said:
    """Have an annotator annotate all objects. What it says lies in a temporary file until it is taken."""
    base, number = sqlite3.connect("", isolation_level=None), 0
    base.execute("CREATE TABLE made (capture TEXT, place INTEGER, said TEXT, PRIMARY KEY (capture, place))")
    with transaction(base):
        for number, each in enumerate(annotator.annotate(objects, known), 1):
            check(each, annotator.name, annotator.version)
            base.execute("INSERT INTO made VALUES (?, ?, ?)", (each.capture, number, json.dumps(_values(each))))
    notes = tuple(annotator.told({})) if isinstance(annotator, Telling) else ()
    return Said(number, notes, _by_capture(base))


def _by_capture(base: sqlite3.Connection) -> Iterator[_OfCapture]:
    rows = base.execute("SELECT capture, said FROM made ORDER BY capture, place")
    for capture, group in groupby(rows, lambda row: row[0]):
        yield capture, tuple(_annotation(*json.loads(row[1])) for row in group)
    base.close()


def _annotation(*written: Any) -> Annotation:
    """Return an annotation of which JSON has kept the fields."""
    thing, capture, kind, *rest, values = written
    made: list[Any] = [thing, capture, Kind(kind), *rest, tuple((name, value) for name, value in values)]
    return Annotation(*made)


def check(annotation: Annotation, annotator: str, version: str) -> None:
    """Raise ``ValueError`` for an annotation that says what it cannot know, or not how it knows it."""
    if (annotation.annotator, annotation.version) != (annotator, version):
        raise ValueError(f"it says that another one made this: {annotation}")
    if not (annotation.object and annotation.capture and 0.0 <= annotation.confidence <= 1.0):
        raise ValueError(f"it lacks an object, a capture or a confidence: {annotation}")
    if annotation.kind in _WORDED and not annotation.quote:
        raise ValueError(f"it has no words: {annotation}")
    if annotation.start >= 0 and not annotation.quote:
        raise ValueError(f"it has a place without words: {annotation}")


_WORDED: Final = frozenset({Kind.PERSON, Kind.ORGANISATION, Kind.PLACE, Kind.NAME, Kind.OPINION, Kind.EVENT})
"""Kinds of which nothing is said without the words that say it."""


class AnnotatingBeside:
    """A process that annotates all objects by some steps in their order, from ``begin`` on.

    It is given the objects once, and keeps them and what it says in temporary files. It ends with this process.
    """

    def __init__(self, setting: Setting, steps: Iterable[EnrichmentStep]) -> None:
        self._setting, self._steps = setting, tuple(steps)
        self._stack = ExitStack()
        self._done: Mapping[str, Future[tuple[int, tuple[str, ...]]]] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if any(not each.done() for each in (self._done or {}).values()):
            os.kill(self._process, SIGKILL)  # Nobody waits for the minutes that a step may take.
        self._stack.close()

    def begin(self, behind: EnrichmentStep, objects: Callable[[], KeptTexts]) -> None:
        """Have the steps behind another one begin, if they have not begun yet."""
        if self._done is not None:
            return
        wanted = self._steps[self._steps.index(behind) + 1 :] if behind in self._steps else self._steps
        self._done = {}
        if wanted:
            self._pool = self._stack.enter_context(own_processes(1))
            self._process = self._ask(self._pool.submit(os.getpid))
            texts = objects().packed()
            while some := list(islice(texts, _AT_ONCE)):
                self._ask(self._pool.submit(_take, some))
            asked = self._setting.crawl.resolve(), self._setting.lexicons
            self._done = {step.name: self._pool.submit(_annotate, step, *asked) for step in wanted}

    def said(self, step: EnrichmentStep) -> Said | None:
        """Return what a step says when it is done; None where the process does not do it. Raises ``JobError``."""
        done = (self._done or {}).get(step.name)
        return None if done is None else Said(*self._ask(done), self._captures(step.name))

    def _captures(self, name: str) -> Iterator[_OfCapture]:
        while some := self._ask(self._pool.submit(_give, name)):
            yield from some

    @staticmethod
    def _ask(asked: Future[_T]) -> _T:
        try:
            return asked.result()
        except BrokenProcessPool as error:
            raise JobError("a process has ended, perhaps for want of memory; run it again to go on") from error


@dataclass(slots=True)
class _Process:
    """The objects in the process beside, and what each step says that has been done."""

    texts: KeptTexts = field(default_factory=KeptTexts)
    said: dict[str, Iterator[_OfCapture]] = field(default_factory=dict)


_own = _Process()


def _take(kept: Sequence[bytes]) -> None:
    _own.texts.keep(kept)


def _annotate(step: EnrichmentStep, crawl: Path, lexicons: Path | None) -> tuple[int, tuple[str, ...]]:
    annotator = cast("CollectionAnnotator", step.annotator(setting_of(crawl, lexicons)))
    said = said_by(annotator, lambda: iter(_own.texts), lambda: iter(()))
    _own.said[step.name] = said.captures
    return said.annotations, said.notes


def _give(name: str) -> list[_OfCapture]:
    return list(islice(_own.said[name], _AT_ONCE))

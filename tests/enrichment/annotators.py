"""Annotators that are made as other distributions make theirs."""

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from aahcrawler.annotations import Annotation, Kind
from offline.enrichment.annotator import ObjectText
from offline.enrichment.steps import COLLECTION_ANNOTATORS, EnrichmentStep


def step(name: str, factory: str, *, of_collection: bool = False) -> EnrichmentStep:
    group = {"group": COLLECTION_ANNOTATORS} if of_collection else {}
    return EnrichmentStep(name, f"{__name__}:{factory}", **group)


@dataclass(frozen=True)
class Words:
    """Says that each word of five letters is a keyword."""

    name: str = "words"
    version: str = "1"

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        place = 0
        for word in given.text.split(" "):
            if len(word) == 5:
                yield self.keyword(given, word, place)
            place += len(word) + 1

    def keyword(self, given: ObjectText, word: str, place: int) -> Annotation:
        says = given.object, given.capture, Kind.KEYWORD, word, self.name, self.version, 1.0
        return Annotation(*says, start=place, end=place + len(word), quote=word)


class NewerWords(Words):
    """A later version, which finds nothing."""

    def annotate(self, _: ObjectText) -> Iterator[Annotation]:
        yield from ()


class DyingWords(Words):
    """Dies of a signal where a text speaks of death."""

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        if "death" in given.text:
            os.kill(os.getpid(), signal.SIGKILL)
        yield from super().annotate(given)


class UnsoundWords(Words):
    """Says of each text that it holds a word that no text holds, and fails on some."""

    def annotate(self, given: ObjectText) -> Iterator[Annotation]:
        if "fails" in given.text:
            raise RuntimeError("cannot read this")
        yield from super().annotate(given)
        if "lies" in given.text:
            yield self.keyword(given, "never", 0)


@dataclass(frozen=True)
class Frequent:
    """Says of each object which of its keywords most objects have."""

    name: str = "frequent"
    version: str = "1"

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        counts = Counter(each.label for each in known() if each.kind is Kind.KEYWORD)
        best = max(counts, key=lambda word: (counts[word], word))
        for each in objects():
            if best in each.text:
                terms = f"{best}, {each.text.split()[0]}"
                about = each.object, each.capture, Kind.TOPIC, best
                values = (("terms", f"{best} surg"),)
                yield Annotation(*about, self.name, self.version, 0.5, quote=terms, values=values)


@dataclass(frozen=True)
class Copies:
    """Says of all objects that they say nearly the same."""

    name: str = "copies"
    version: str = "1"

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], _: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        for each in objects():
            says = each.object, each.capture, Kind.CLUSTER, each.text[:80], self.name, self.version, 0.9
            yield Annotation(*says, iri="urn:aahcrawler:cluster:1", quote=" ".join(each.text.split())[:80])


@dataclass(frozen=True)
class InProcess:
    """Says of all objects in which process it annotates them, under the name of a step that goes by objects alone."""

    name: str = "conversations"
    version: str = "1"

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], _: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        for each in objects():
            says = each.object, each.capture, Kind.CONVERSATION, str(os.getpid()), self.name, self.version, 1.0
            yield Annotation(*says, quote=each.text)

    def told(self, _: Mapping[str, int]) -> Iterator[str]:
        yield f"said by {os.getpid()}"


class Dying(InProcess):
    """Dies of a signal."""

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from super().annotate(objects, known)


class Failing(InProcess):
    """Finds that the disk is full."""

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        yield from super().annotate(objects, known)
        raise OSError("no space left")


class Unsound(InProcess):
    """Says nothing of which object its words are."""

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        for each in super().annotate(objects, known):
            yield replace(each, object="")


class Endless(InProcess):
    """Never comes to an end."""

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        while True:
            time.sleep(60)
            yield from super().annotate(objects, known)


def beside(made: type[InProcess]) -> EnrichmentStep:
    return step("conversations", made.__name__, of_collection=True)


def copies() -> Copies:
    return Copies()


def words() -> Words:
    return Words()


def newer_words() -> Words:
    return NewerWords(version="2")


def dying_words() -> Words:
    return DyingWords()


def unsound_words() -> Words:
    return UnsoundWords()


def frequent() -> Frequent:
    return Frequent()


def broken() -> Words:
    raise RuntimeError("no licence")


WORDS = step("words", "words")
NEWER = step("words", "newer_words")
DYING = step("words", "dying_words")
UNSOUND = step("words", "unsound_words")
BROKEN = step("words", "broken")
FREQUENT = step("frequent", "frequent", of_collection=True)
COPIES = step("copies", "copies", of_collection=True)

"""An annotation: one statement of an annotator about a web object, and its form as N-Quads.

Annotations are written to segments in ``annotations``, one gzip member for each graph, and never changed. For each
capture and annotator, the graph written last counts, whatever its version. Some annotators work on all objects
together; of these, only the graphs of the last completed run count. The vocabulary is Web Annotation and PROV-O, as far
as these have terms.
"""

import re
from collections.abc import Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from filelock import FileLock, Timeout

from aahcrawler.layout import ANNOTATIONS, LOCK
from aahcrawler.objects import vocabulary as v
from aahcrawler.objects.capture_statements import CaptureStatements, read_statements
from aahcrawler.objects.nquads import boolean, double, integer, iri, quads, text, typed
from aahcrawler.objects.writer import graph_of


class Kind(StrEnum):
    """What an annotation is about."""

    LANGUAGE = "language"
    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    NAME = "name"
    """A name of which is not known what bears it."""
    KEYWORD = "keyword"
    TOPIC = "topic"
    OPINION = "opinion"
    EVENT = "event"
    CLUSTER = "cluster"
    """Objects that say nearly the same."""
    CONVERSATION = "conversation"
    """Who answers or quotes whom."""
    COMMUNITY = "community"
    MEDIUM = "medium"
    SENTENCES = "sentences"
    """The sentences of a text, and the words in them."""
    RELATED = "related"
    """Objects that are about the same, in whichever words: looser than ``CLUSTER``."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One statement of an annotator about one version of a web object.

    ``object`` is the object's IRI; ``capture`` is the id of the WARC record from whose reading this version comes.
    ``label`` is shown to people: a name, a term, a title. ``iri`` identifies what is meant, and is equal for all
    objects that mean the same; empty if that cannot be told. ``start`` and ``end`` are character offsets in the
    object's text, -1 if the annotation is about the whole object; ``quote`` are the words there, or else the words that
    the annotation rests on. ``confidence`` is in [0, 1]. ``annotator`` and ``version`` say what made it; annotations of
    a later version supersede those of an earlier one. ``values`` are details, sorted by name, such as ``("polarity",
    "-0.41")``.
    """

    object: str
    capture: str
    kind: Kind
    label: str
    annotator: str
    version: str
    confidence: float
    iri: str = ""
    start: int = -1
    end: int = -1
    quote: str = ""
    values: tuple[tuple[str, str], ...] = ()


class AnnotationsBusyError(Exception):
    """Another process is writing annotations of the crawl; the message says what to do."""


@contextmanager
def annotating(crawl: Path) -> Iterator[Path]:
    """Hold the lock for writing annotations of a crawl; lend their folder, creating it if it is missing.

    A running crawl is not affected, as it writes no annotations. Raise ``AnnotationsBusyError`` if another process
    holds the lock, and ``OSError``.
    """
    folder = crawl / ANNOTATIONS
    folder.mkdir(exist_ok=True)
    lock = FileLock(folder / LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise AnnotationsBusyError(f"{crawl}: aah enrich is at work here; wait for its end, or end it") from error
    try:
        yield folder
    finally:
        lock.release()


REFINES: Final = "refines"
"""The detail with the IRI of an annotation in whose place another one is shown."""
SAID_BY: Final = "said-by"
"""The detail with the id of another capture that an annotation rests on: it goes when that is taken down."""
_DERIVED: Final = re.compile(rb"<" + re.escape(v.DERIVED_FROM).encode() + rb"> <([^>]*)>")
_MEANT: Final = re.compile(rb"<" + re.escape(f"{v.OA}hasBody").encode() + rb"> <([^>]*)>")
_RECORD: Final = "urn:uuid:"
_said: Final = attrgetter(*(each.name for each in fields(Annotation) if each.name != "confidence"))


@dataclass(frozen=True, slots=True)
class CaptureAnnotations:
    """All statements of one annotator about the objects of one capture: one graph.

    ``given`` is a digest of the versions of objects that the annotator was given, ``made_at`` the time, ISO 8601 in
    UTC. ``run`` identifies the run of an annotator that works on all objects of a crawl together, and is empty for
    others. Such a run is completed by a graph with an empty ``capture``.
    """

    capture: str
    annotator: str
    version: str
    given: str
    made_at: str
    run: str = ""
    annotations: tuple[Annotation, ...] = ()

    @property
    def graph(self) -> str:
        """The IRI of the graph.

        >>> CaptureAnnotations("urn:uuid:7f1c", "entities", "3", "", "").graph
        'urn:aahcrawler:annotations:7f1c:entities:397b6e68'
        """
        version = blake2b(self.version.encode(), digest_size=4).hexdigest()
        parts = self.capture.removeprefix(_RECORD), self.annotator, version, *([self.run] if self.run else [])
        return v.ANNOTATIONS + ":".join(quote(part, safe="") for part in parts)

    def __bytes__(self) -> bytes:
        """Return the statements, in UTF-8."""
        return quads([*self._of_graph(), *(each for one in self.annotations for each in _of(one))], iri(self.graph))

    def _of_graph(self) -> Iterator[str]:
        subject = iri(self.graph)
        agent = iri(f"{v.ANNOTATOR}{quote(self.annotator, safe='')}:{quote(self.version, safe='')}")
        yield f"{subject} <{v.GENERATED_AT}> {typed(self.made_at, v.XSD_DATE_TIME)}"
        yield f"{subject} <{v.RDF_TYPE}> <{v.ANNOTATIONS_TYPE}>"
        yield f"{subject} <{v.ATTRIBUTED_TO}> {agent}"
        yield f"{agent} <{v.RDF_TYPE}> <{v.PROV}SoftwareAgent>"
        yield f"{agent} <{v.NAME}> {text(self.annotator)}"
        yield f"{agent} <{v.SOFTWARE_VERSION}> {text(self.version)}"
        if self.capture:
            yield f"{subject} <{v.PRIMARY_SOURCE}> {iri(self.capture)}"
            yield f"{subject} <{v.GIVEN}> {text(self.given)}"
        else:
            yield f"{subject} <{v.COMPLETE}> {boolean(True)}"
        if self.run:
            yield f"{subject} <{v.RUN}> {text(self.run)}"


def annotation_iri(annotation: Annotation) -> str:
    """Return the IRI of an annotation: a digest of its content, so that only equal annotations share it."""
    said = "\0".join(map(str, _said(annotation)))
    return v.ANNOTATION + blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def stored_graph(graph: str) -> str:
    """Return the name of a graph in an RDF store, without the version, so that a later version replaces an earlier one.

    >>> stored_graph("urn:aahcrawler:annotations:7f1c:entities:dc5c4bf2")
    'urn:aahcrawler:annotations:7f1c:entities'
    """
    capture, annotator = graph.removeprefix(v.ANNOTATIONS).split(":")[:2]
    return f"{v.ANNOTATIONS}{capture}:{annotator}"


def annotated_capture(graph: str) -> str:
    """Return the capture whose objects a graph annotates; empty for the graph that completes a run.

    >>> annotated_capture("urn:aahcrawler:annotations:7f1c:entities:dc5c4bf2")
    'urn:uuid:7f1c'
    """
    name = unquote(graph.removeprefix(v.ANNOTATIONS).partition(":")[0])
    return name if not name or ":" in name else _RECORD + name


def rests_on(written: bytes, captures: Set[str]) -> bool:
    """Return whether any statement of a graph is derived from one of these captures."""
    return not captures.isdisjoint(derived_from(written))


def meant_in(written: bytes) -> frozenset[str]:
    """Return the IRIs of what the annotations in a graph mean (``Annotation.iri``)."""
    return frozenset(found.decode() for found in _MEANT.findall(written))


def derived_from(written: bytes) -> frozenset[str]:
    """Return the IRIs of the objects and captures from which the annotations in a graph are derived."""
    return frozenset(found.decode() for found in _DERIVED.findall(written))


def outlasts(written: bytes, taken: Set[str]) -> bool:
    """Return whether a graph of a run may stay when captures are taken down; ``taken`` are the IRIs that go with them.

    It may if each of its annotations is about another object, and either means something else or rests on words of its
    own object's text. Annotations of conversations never stay: the name of the person who is answered stands on another
    page.
    """
    try:
        said = read_annotations(written).annotations
    except (KeyError, ValueError):
        return False
    return all(
        each.kind is not Kind.CONVERSATION
        and each.object not in taken
        and (each.iri not in taken if each.iri else each.start >= 0)
        for each in said
    )


def is_of_run(graph: str) -> bool:
    """Return whether a graph belongs to a run over all objects, so that it rests on more than its own capture."""
    return graph.count(":") > v.ANNOTATIONS.count(":") + 2


def read_annotations(written: bytes) -> CaptureAnnotations:
    """Parse a graph. Raise ``ValueError`` for an invalid value."""
    stated, graph = read_statements(written), graph_of(written)
    agent = stated.first(graph, v.ATTRIBUTED_TO) or ""
    name, version = stated.first(agent, v.NAME) or "", stated.first(agent, v.SOFTWARE_VERSION) or ""
    capture = stated.first(graph, v.PRIMARY_SOURCE) or ""
    found = (subject for subject, said in stated.values.items() if v.KIND in said)
    return CaptureAnnotations(
        capture=capture,
        annotator=name,
        version=version,
        given=stated.first(graph, v.GIVEN) or "",
        made_at=stated.first(graph, v.GENERATED_AT) or "",
        run=stated.first(graph, v.RUN) or "",
        annotations=tuple(_read(stated, subject, capture, name, version) for subject in found),
    )


def _of(annotation: Annotation) -> Iterator[str]:
    """Yield the statements of an annotation, one N-Quads line each."""
    name = annotation_iri(annotation)
    subject, thing = iri(name), iri(annotation.object)
    target = thing
    yield f"{subject} <{v.RDF_TYPE}> <{v.OA}Annotation>"
    yield f"{subject} <{v.KIND}> {text(annotation.kind)}"
    yield f"{subject} <{v.LABEL}> {text(annotation.label)}"
    if annotation.iri:
        yield f"{subject} <{v.OA}hasBody> {iri(annotation.iri)}"
    yield f"{subject} <{v.DERIVED_FROM}> {thing}"
    if annotation.capture != annotation.object:
        yield f"{subject} <{v.DERIVED_FROM}> {iri(annotation.capture)}"
    yield f"{subject} <{v.CONFIDENCE}> {double(annotation.confidence)}"
    if annotation.start >= 0 or annotation.quote:
        target = f"<{name}#target>"
        yield f"{target} <{v.RDF_TYPE}> <{v.OA}SpecificResource>"
        yield f"{target} <{v.OA}hasSource> {thing}"
    yield f"{subject} <{v.OA}hasTarget> {target}"
    if annotation.start >= 0:
        place = f"<{name}#place>"
        yield f"{target} <{v.OA}hasSelector> {place}"
        yield f"{place} <{v.RDF_TYPE}> <{v.OA}TextPositionSelector>"
        yield f"{place} <{v.OA}start> {integer(annotation.start)}"
        yield f"{place} <{v.OA}end> {integer(annotation.end)}"
    if annotation.quote:
        words = f"<{name}#words>"
        yield f"{target} <{v.OA}hasSelector> {words}"
        yield f"{words} <{v.RDF_TYPE}> <{v.OA}TextQuoteSelector>"
        yield f"{words} <{v.OA}exact> {text(annotation.quote)}"
    for detail, value in annotation.values:
        if detail == REFINES:
            yield f"{subject} <{v.REVISION_OF}> {iri(value)}"
        elif detail == SAID_BY:
            yield f"{subject} <{v.DERIVED_FROM}> {iri(value)}"
        else:
            yield f"{subject} <{_detail(detail)}> {text(value)}"


@lru_cache(maxsize=1024)
def _detail(name: str) -> str:
    return v.DETAIL + quote(name, safe="")


def _read(stated: CaptureStatements, subject: str, capture: str, annotator: str, version: str) -> Annotation:
    own = stated.values[subject]
    target, place = own.get(f"{v.OA}hasTarget", [""])[0], f"{subject}#place"
    details = [
        (unquote(name.removeprefix(v.DETAIL)), value)
        for name, values in own.items()
        if name.startswith(v.DETAIL)
        for value in values
    ]
    details += [(REFINES, refined) for refined in own.get(v.REVISION_OF, ())]
    thing = stated.first(target, f"{v.OA}hasSource") or target
    details += [(SAID_BY, other) for other in own.get(v.DERIVED_FROM, ()) if other not in (thing, capture)]
    return Annotation(
        object=thing,
        capture=capture,
        kind=Kind(own[v.KIND][0]),
        label=own[v.LABEL][0],
        annotator=annotator,
        version=version,
        confidence=float(own[v.CONFIDENCE][0]),
        iri=own.get(f"{v.OA}hasBody", [""])[0],
        start=int(stated.first(place, f"{v.OA}start") or -1),
        end=int(stated.first(place, f"{v.OA}end") or -1),
        quote=stated.first(f"{subject}#words", f"{v.OA}exact") or "",
        values=tuple(sorted(details)),
    )

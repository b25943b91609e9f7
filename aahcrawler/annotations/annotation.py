"""An annotation: one thing that an annotator says of a web object (ARCOMEM, section 3.3)."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from filelock import FileLock, Timeout

from aahcrawler.layout import ANNOTATIONS, LOCK


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
    """One thing that an annotator says of one version of a web object.

    ``object`` is the object's IRI, ``capture`` the id of the WARC record whose reading has that version. ``label`` is
    shown to people: a name, a term, a title. ``iri`` is what is meant, the same in all objects that mean it, empty
    where nothing can be told apart. ``start`` and ``end`` are offsets in characters of the object's text, -1 where the
    annotation is of the object as a whole; ``quote`` are the words there, or else those that the annotation rests on.
    ``confidence`` is from 0 to 1. ``annotator`` and ``version`` say what made it: a later version supersedes the
    annotations of an earlier one. ``values`` are details by name, sorted, such as ``("polarity", "-0.41")``.
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
    """Raised while another process writes annotations of a crawl; the message tells what to do."""


@contextmanager
def annotating(crawl: Path) -> Iterator[Path]:
    """Keep others from writing annotations of a crawl meanwhile; give their folder, which is made where it is missing.

    Crawls go on: they write none. Raise ``AnnotationsBusyError`` and ``OSError``.
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

"""What annotators are given, and what they are asked for."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from aahcrawler.annotations import Annotation


@dataclass(frozen=True, slots=True)
class ObjectText:
    """One version of a web object, with what is known of it before it is enriched.

    ``object`` and ``part_of`` are IRIs, ``capture`` is the id of a WARC record. ``type`` is the object type of the
    knowledge base, such as ``post``. ``text`` holds no quotes, signatures or menus. ``published`` is ISO 8601, as exact
    as it is known, empty where it is not; ``captured`` is ISO 8601 in UTC. ``language`` is a code of ISO 639-1, empty
    where it cannot be told. ``site`` is the host of its page.
    """

    object: str
    capture: str
    type: str
    url: str
    text: str
    title: str = ""
    author: str = ""
    published: str = ""
    captured: str = ""
    language: str = ""
    part_of: str = ""
    site: str = ""


class Annotator(Protocol):
    """Annotates objects one by one. What it says of one depends on nothing but that object and its own version.

    It is made once in each process, and asked by one thread.
    """

    @property
    def name(self) -> str:
        """What its annotations are known by: letters, digits and hyphens."""

    @property
    def version(self) -> str:
        """All that its annotations depend on beside the object: of its code, models and settings."""

    def annotate(self, given: ObjectText) -> Iterable[Annotation]:
        """Annotate an object; bounded for whatever text."""


class CollectionAnnotator(Protocol):
    """Annotates objects by what all of them are together: topics, entities across documents, communities.

    The same objects and annotations give the same, in whichever order they come.
    """

    @property
    def name(self) -> str:
        """What its annotations are known by: letters, digits and hyphens."""

    @property
    def version(self) -> str:
        """All that its annotations depend on beside the objects: of its code, models and settings."""

    def annotate(
        self, objects: Callable[[], Iterator[ObjectText]], known: Callable[[], Iterator[Annotation]]
    ) -> Iterator[Annotation]:
        """Annotate all objects. Each may be read several times; ``known`` is what was said of them one by one."""

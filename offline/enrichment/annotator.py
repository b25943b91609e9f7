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
    where it cannot be told. ``site`` is the host of its page. ``is_in_thread`` says that the page states ``part_of`` to
    be a thread, ``quoted`` are the objects of the page that it has words of.
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
    is_in_thread: bool = False
    quoted: tuple[str, ...] = ()


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


@dataclass(frozen=True, slots=True)
class Medium:
    """The bytes of a picture, sound or film as they were captured.

    ``object`` is the IRI of the object whose file it is, where a page shows it as one, else that of the capture itself.
    ``capture`` is the id of its WARC record. ``caption`` is what the page says of the object: its title, else its
    text; empty where there is none. ``said_by`` is the capture of that page, empty where no page shows it as an object.
    ``captured`` is ISO 8601 in UTC.
    """

    object: str
    capture: str
    url: str
    body: bytes
    caption: str = ""
    said_by: str = ""
    captured: str = ""


class MediaAnnotator(Protocol):
    """Annotates pictures, sound and film one by one, each as a whole; otherwise as ``Annotator``."""

    @property
    def name(self) -> str:
        """What its annotations are known by: letters, digits and hyphens."""

    @property
    def version(self) -> str:
        """All that its annotations depend on beside the file: of its code, libraries and programs."""

    def annotate(self, given: Medium) -> Iterable[Annotation]:
        """Annotate a file; bounded for whatever it holds."""


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

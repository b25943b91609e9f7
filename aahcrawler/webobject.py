"""Define web objects: the posts, comments and articles of a page, with authors and dates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody named on a page; ``url`` is an absolute profile URL, or None where there is no link."""

    name: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """An absolute URL as a value: an image, a permalink, the parent of a reply."""

    url: str


Value = str | int | float | datetime | Person | Reference


@dataclass(frozen=True, slots=True)
class WebObject:
    """One object of a page (ARCOMEM, section 3.1).

    ``iri`` is stable: the same object met under another URL or in another capture has the same one.
    ``type`` is an object type of the knowledge base (``post``, ``reply``, ``comment``, ``article``, ``page``, ...).
    ``properties`` maps property names (``title``, ``author``, ``date``, ``body``, ``url``, ...) to one or more
    values in document order; absent ones have no entry. Datetimes are aware; their
    offset is the one that the page names, else that of the application's zone, so that their day is the one shown.
    ``part_of`` is the IRI of what holds the object (thread, post, page), or None.
    """

    iri: str
    type: str
    source_url: str
    properties: Mapping[str, tuple[Value, ...]]
    part_of: str | None = None
    inferred: Mapping[str, str] = field(default_factory=dict)
    """The properties that no action of the knowledge base found, with what they were inferred from."""

    def first(self, name: str) -> Value | None:
        """Return the first value of a property, or None where it is absent.

        >>> WebObject("urn:x", "post", "http://a.test/", {"title": ("Hello",)}).first("title")
        'Hello'
        """
        values = self.properties.get(name)
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a page's objects that is no object of its own: a thread, and the forum it is in.

    ``type`` is an object type of the knowledge base (``thread``, ``forum``). ``title`` is empty where the page does
    not tell it. ``part_of`` is the IRI of the container that holds this one, or None.
    """

    iri: str
    type: str
    title: str = ""
    part_of: str | None = None

"""Web objects: the posts, comments and articles of a page, with authors and dates."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody named on a page; ``url`` is the absolute URL of a profile, None if the name is no link."""

    name: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """An absolute URL as the value of a property: an image, a permalink, the parent of a reply."""

    url: str


Value = str | int | float | datetime | Person | Reference


@dataclass(frozen=True, slots=True)
class WebObject:
    """One object of a page (ARCOMEM, section 3.1).

    ``iri`` is stable: the same object under another URL, or in another capture, has the same IRI. ``type`` is an object
    type of the knowledge base (``post``, ``reply``, ``comment``, ``article``, ``page``, ...). ``properties`` maps names
    (``title``, ``author``, ``date``, ``body``, ``url``, ...) to one or more values in document order; a property
    without value has no entry. Datetimes are aware, with the offset that the page names, else that of the application's
    time zone, so that their day is the one shown. ``part_of`` is the IRI of the thread, post or page that contains the
    object, or None.
    """

    iri: str
    type: str
    source_url: str
    properties: Mapping[str, tuple[Value, ...]]
    part_of: str | None = None
    inferred: Mapping[str, str] = field(default_factory=dict)
    """The properties that no action of the knowledge base found, with what they were inferred from."""

    def first(self, name: str) -> Value | None:
        """Return the first value of a property, None if it has none.

        >>> WebObject("urn:x", "post", "http://a.test/", {"title": ("Hello",)}).first("title")
        'Hello'
        """
        values = self.properties.get(name)
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class Container:
    """A container of a page's objects that is no object itself: a thread, or the forum that holds it.

    ``type`` is an object type of the knowledge base (``thread``, ``forum``). ``title`` is empty if the page does not
    give it. ``part_of`` is the IRI of the container that holds this one, or None.
    """

    iri: str
    type: str
    title: str = ""
    part_of: str | None = None

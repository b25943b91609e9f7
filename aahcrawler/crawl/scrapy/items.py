"""Web objects as Scrapy's items: what item pipelines, feed exports and signals are given."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aahcrawler.objects.writer import CaptureDescription
from aahcrawler.webobject import Person, Reference, Value, WebObject


@dataclass(slots=True)
class WebObjectItem:
    """One web object of one capture of a page; what is not known is None.

    ``iri`` names the object for good: in every capture, under every URL, in every crawl. ``type`` and the next fields
    are as in ``aah objects``: ``url`` is its own, else that of the page; ``author`` is a name; ``date`` is ISO 8601
    with the offset that the page names; of several values the first is given. ``part_of`` is the IRI of what holds it.

    ``page`` is the URL of the page, ``application`` and ``level`` what it was recognised as, ``score`` its relevance
    in [0, 1]. ``captured_at`` is ISO 8601 in UTC, ``capture`` the id of the WARC record. ``read_again`` tells that the
    page was read again from the archive, after a repair: the item supersedes those of its capture before.

    ``properties`` has all values of all properties, a list for each name; people are mappings of ``name`` and ``url``.
    ``inferred`` names the properties that no action of the knowledge base found, with what they were inferred from.
    """

    iri: str
    type: str
    url: str
    page: str
    captured_at: str
    capture: str
    title: str | None = None
    author: str | None = None
    date: str | None = None
    body: str | None = None
    part_of: str | None = None
    application: str | None = None
    level: str | None = None
    score: float | None = None
    read_again: bool = False
    properties: dict[str, list[Any]] = field(default_factory=dict)
    inferred: dict[str, str] = field(default_factory=dict)


def items_of(capture: CaptureDescription, objects: Iterable[WebObject]) -> tuple[WebObjectItem, ...]:
    """Return the items of the web objects that a reading of a capture found."""
    return tuple(_item(capture, each) for each in objects)


def _item(capture: CaptureDescription, web_object: WebObject) -> WebObjectItem:
    first = {name: _text(web_object.first(name)) for name in ("url", "title", "author", "date", "body")}
    return WebObjectItem(
        iri=web_object.iri,
        type=web_object.type,
        url=first.pop("url") or web_object.source_url or capture.url,
        page=capture.url,
        captured_at=capture.fetched_at.astimezone(UTC).isoformat(),
        capture=capture.iri,
        **first,
        part_of=web_object.part_of,
        application=capture.application,
        level=capture.level,
        score=capture.score,
        read_again=capture.reading is not None,
        properties={name: list(map(_plain, values)) for name, values in web_object.properties.items()},
        inferred=dict(web_object.inferred),
    )


def _text(value: Value | None) -> str | None:
    match value:
        case None:
            return None
        case Person(name=name):
            return name
        case Reference(url=url):
            return url
        case datetime():
            return value.isoformat()
        case _:
            return str(value)


def _plain(value: Value) -> object:
    """Return a value as every exporter can write it."""
    match value:
        case Person(name=name, url=url):
            return {"name": name, "url": url}
        case int() | float():
            return value
        case _:
            return _text(value)

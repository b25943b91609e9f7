"""The objects of a page as they were read before: by the crawl, or else as pages of unknown software are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from aahcrawler.helper import ApplicationAwareHelper
from aahcrawler.objects.capture_statements import ObjectRow
from aahcrawler.page import Page
from aahcrawler.replay.object_finding import ShownObject
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.model import KnowledgeBase

MOST_READ = 200
"""Objects of one page that rules are judged by."""


class ReadBy(StrEnum):
    """The ways in which the objects of a page came to be known."""

    CRAWL = "the crawl"
    GENERIC = "generic reading"
    ENTRY = "the entry"
    NOBODY = "nobody"
    """Neither found an object: what a rule finds there is neither right nor wrong."""


@dataclass(frozen=True, slots=True)
class ReadObject:
    """An object of a page; ``number`` counts from 0 in the order of the page. Values that are not known are empty.

    ``inferred`` names the fields that no rule found, with where their values come from instead.
    """

    number: int
    iri: str
    type: str
    title: str = ""
    author: str = ""
    date: str = ""
    body: str = ""
    inferred: Mapping[str, str] = field(default_factory=dict)

    @property
    def shown(self) -> ShownObject:
        """The form in which objects are looked for on a page."""
        return ShownObject(self.number, self.type, self.title, self.author, self.date, self.body)

    def value(self, name: str) -> str:
        """Return the value of one of the four fields that mean the same everywhere, else an empty text."""
        return str(getattr(self, name)) if name in FIELDS else ""


FIELDS = ("title", "author", "date", "body")


@dataclass(frozen=True, slots=True)
class Reading:
    """The objects of a page, and who read them."""

    objects: tuple[ReadObject, ...]
    by: ReadBy


def of_crawl(rows: Iterable[ObjectRow]) -> Reading:
    """Return the objects that a crawl recorded for a page."""
    objects = tuple(
        ReadObject(number, row.iri, row.type, row.title or "", row.author or "", row.date or "", row.body or "")
        for number, row in enumerate(rows)
        if number < MOST_READ
    )
    return Reading(objects, ReadBy.CRAWL if objects else ReadBy.NOBODY)


def of_web_objects(objects: Iterable[WebObject], by: ReadBy) -> Reading:
    """Return objects that have just been read."""
    found = tuple(
        ReadObject(
            number,
            each.iri,
            each.type,
            written(each.first("title")),
            written(each.first("author")),
            written(each.first("date")),
            written(each.first("body")),
            each.inferred,
        )
        for number, each in enumerate(objects)
        if number < MOST_READ
    )
    return Reading(found, by if found else ReadBy.NOBODY)


def read_generically(page: Page) -> Reading:
    """Return the objects of a page as it is read where nothing is known of its software."""
    found = ApplicationAwareHelper(KnowledgeBase(())).assist(page)
    return of_web_objects(found.objects, ReadBy.GENERIC)


def written(value: Value | None) -> str:
    """Return a value as people read it: the name of a person, a date in ISO 8601."""
    match value:
        case None:
            return ""
        case Person():
            return value.name
        case Reference():
            return value.url
        case datetime():
            return value.isoformat()
    return str(value)

"""Find the places of a page that show a known value, and the way to read it there."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from functools import cached_property

from aahcrawler.adaptation.repair.alignment import words
from aahcrawler.helper.extraction.field_reader import as_date
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page import Page
from aahcrawler.page.text import excerpt, fold
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value
from knowledge_base.model import Extract, FieldKind

MAX_VALUE_LENGTH = 400
"""The most characters of a value in one element, except for bodies."""
MAX_AROUND_LENGTH = 25
"""The most characters behind a name in its text."""
_TELLING = frozenset({"title", "alt", "aria-label"})
_DATE_ATTRIBUTES = ("datetime", "title", "data-time", "data-timestamp", "data-utime", "data-date", "content")


Showing = tuple[int, str, Value]
"""A place, the attribute of its element that holds a value, empty for its text, and the value as it is read there."""


class ShownValues:
    """The values that a page shows, as the fields of an action read them."""

    def __init__(self, page: Page, prepared: PreparedPage, action: Extract) -> None:
        self._page = page
        self._prepared = prepared
        self._outline = prepared.outline
        self._action = action

    def showing(self, name: str, value: Value) -> Iterator[Showing]:
        """Yield the places that show a value of a field, with the attribute that holds it and the way to read it."""
        match value:
            case Person(text, _):
                return self._of_person(value, text)
            case datetime():
                return self._of_date(name, value)
            case Reference(url):
                return self._of_address(value, url)
            case _:
                return self._of_text(value, str(value))

    def _of_person(self, value: Person, text: str) -> Iterator[Showing]:
        places = dict.fromkeys((*self._places_of(text), *self._beside_little(text)))
        yield from ((place, "", self._person(place, text)) for place in places)
        if not places:
            yield from ((place, attribute, value) for place, attribute in self._attributed(text))

    def _of_date(self, name: str, value: datetime) -> Iterator[Showing]:
        for shown in self._prepared.shown:
            moment = self._moment(name, shown, value)
            if moment is not None:
                attribute = self._date_attribute(shown.place, shown.text) if shown.piece < 0 else ""
                yield shown.place, attribute, moment

    def _of_address(self, value: Reference, url: str) -> Iterator[Showing]:
        for place, element in enumerate(self._outline.elements):
            for attribute in ("href", "src"):
                given = element.get(attribute)
                if given and resolve(self._prepared.names.base, given) == url:
                    yield place, attribute, value

    def _of_text(self, value: Value, text: str) -> Iterator[Showing]:
        places = self._places_of(text)
        attributed = self._attributed(text)
        if not places and not attributed:
            places = list(dict.fromkeys(self._beside_little(text)))
        yield from ((place, "", value) for place in places)
        yield from ((place, attribute, value) for place, attribute in attributed)

    def _beside_little(self, text: str) -> list[int]:
        """Return the elements of short texts that begin or end with others: ``Ann Boyd on``, ``by Ann Boyd``."""
        sought = words(text)
        if not sought:
            return []
        near = (piece for piece in self._outline.pieces if len(piece.text) <= len(text) + MAX_AROUND_LENGTH)
        told = ((piece.owner, words(piece.text)) for piece in near)
        size = len(sought)
        return [owner for owner, found in told if found[:size] == sought or found[-size:] == sought]

    def _attributed(self, text: str) -> Sequence[tuple[int, str]]:
        """Return the elements with an attribute that is this text."""
        return self._attributes.get(fold(text).casefold(), ())

    @cached_property
    def _attributes(self) -> Mapping[str, Sequence[tuple[int, str]]]:
        """The elements by the texts of their attributes that readers see or that hold data."""
        found: dict[str, list[tuple[int, str]]] = {}
        for place, element in enumerate(self._outline.elements):
            for name, given in map(_as_text, element.attrib.items()):
                if len(given) <= MAX_VALUE_LENGTH and (name in _TELLING or name.startswith("data-")):
                    found.setdefault(fold(given).casefold(), []).append((place, name))
        return found

    def _person(self, place: int, name: str) -> Person:
        element = self._outline.elements[place]
        above = (element, *element.iterancestors("a"))
        href = next((each.get("href") for each in above if each.tag == "a"), None)
        return Person(name, resolve(self._prepared.names.base, href) if href else None)

    def _moment(self, name: str, shown: ShownDate, moment: datetime) -> datetime | None:
        """Return a date as the rules for its field read it, None if it is another day, or another time of it."""
        forms = [field.date for field in self._action.fields if field.name == name and field.kind is FieldKind.DATETIME]
        own = None if shown.read.vague else shown.moment
        for read in (*(as_date(shown.text, form, self._page) for form in forms), own):
            if read is not None and _agree(read, moment, whole_day=not shown.read.timed):
                return read
        return None

    def _date_attribute(self, place: int, text: str) -> str:
        element = self._outline.elements[place]
        return next((name for name in _DATE_ATTRIBUTES if fold(element.get(name) or "") == text), "")

    def _places_of(self, text: str) -> Sequence[int]:
        """Return the innermost elements whose whole text is this one."""
        found = self._texts.get(fold(text).casefold(), ())
        inner = [
            place
            for number, place in enumerate(found)
            if number + 1 == len(found) or not self._outline.contains(place, found[number + 1])
        ]
        return inner if fold(text) else ()

    @cached_property
    def _texts(self) -> Mapping[str, Sequence[int]]:
        """The elements by their whole texts, short ones alone."""
        found: dict[str, list[int]] = {}
        outline = self._outline
        for place, element in enumerate(outline.elements):
            if 0 < outline.free(place) + outline.linked(place) <= 3 * MAX_VALUE_LENGTH:
                found.setdefault(fold(excerpt(element, MAX_VALUE_LENGTH + 1)).casefold(), []).append(place)
        return found

    def read(self, place: int, like: Value | None) -> Value | None:
        """Return the value at a place, of the same kind as that of another object."""
        element = self._outline.elements[place]
        match like:
            case Person():
                name = fold(excerpt(element, MAX_VALUE_LENGTH))
                return Person(name, resolve(self._prepared.names.base, element.get("href") or "")) if name else None
            case datetime():
                exact = (
                    shown.moment for shown in self._prepared.shown if shown.place == place and not shown.read.vague
                )
                return next(exact, None)
            case str():
                return fold(excerpt(element, MAX_VALUE_LENGTH)) or None
            case _:
                return None


def _as_text(attribute: tuple[str | bytes, str | bytes]) -> tuple[str, str]:
    return str(attribute[0]), str(attribute[1])


def _agree(read: datetime, moment: datetime, *, whole_day: bool) -> bool:
    """Return whether two dates are the same one, as exactly as both are written."""
    if whole_day or moment.time() == time.min:
        return read.date() == moment.date()
    if not (read.second and moment.second):
        return read.replace(second=0, microsecond=0) == moment.replace(second=0, microsecond=0)
    return read == moment

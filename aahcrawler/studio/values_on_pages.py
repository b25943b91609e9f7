"""The values that a field reads on many pages at once, beside what had been read there before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice, zip_longest

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import FieldReader
from aahcrawler.helper.extraction.ownership import nesting
from aahcrawler.page.text import bare, fold, plain_text
from aahcrawler.studio.marked_pages import items_on
from aahcrawler.studio.object_pairing import paired
from aahcrawler.studio.page_sample import PageSample, SampledPage
from aahcrawler.studio.read_objects import ReadObject, written
from aahcrawler.wrapper_induction.samples import Outcome, compared, page_location
from knowledge_base.model import Field
from knowledge_base.selectors import Selector

MOST_PAGES = 20
MOST_OBJECTS = 30
"""Objects of one page whose values are read."""
MOST_TEXT = 400_000
"""Characters that are read on one page."""
LONGEST = 2_000


@dataclass(frozen=True, slots=True)
class ValueRead:
    """A value of the object of a number, counted from 0 in the order of the page.

    ``raw`` is the text as it stands on the page, ``value`` what it is read as, ``before`` what had been read of this
    object; each is empty where there is none. ``agrees`` is None where nothing had been read before.
    """

    number: int
    element: HtmlElement | None
    raw: str
    value: str
    before: str
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class PageValues:
    """The values of a field on a page, one for each object. ``all_objects`` counts those beyond the first 30 too."""

    record: str
    url: str
    values: tuple[ValueRead, ...]
    all_objects: int


def field_values(
    sample: PageSample, items: tuple[Selector, ...], wanted: Field, groups: Iterable[int] = (), most: int = MOST_PAGES
) -> tuple[PageValues, ...]:
    """Return what a field reads on at most so many pages of the sample that have objects, those of ``groups`` alone.

    ``items`` are the expressions for the objects: the first that finds anything on a page wins. Without groups all
    pages are looked at.
    """
    numbers = frozenset(groups)
    drawn = [group.drawn for number, group in enumerate(sample.groups) if not numbers or number in numbers]
    order = (page for page in chain.from_iterable(zip_longest(*drawn)) if page is not None)
    pages = (page for captured in order if (page := sample.sampled(captured)) is not None)
    return tuple(islice(_on_pages(pages, items, wanted), most))


def _on_pages(pages: Iterable[SampledPage], items: tuple[Selector, ...], wanted: Field) -> Iterator[PageValues]:
    for page in pages:
        found = items_on(page, items)
        if found:
            read = values_on(page, found, objects_of(page, found), wanted)
            yield PageValues(page.captured.record, page.captured.url, read, len(found))


def values_on(
    page: SampledPage, items: Sequence[HtmlElement], objects: Mapping[int, ReadObject], wanted: Field
) -> tuple[ValueRead, ...]:
    """Return what a field reads in each of the elements of a page's objects, at most 30.

    ``objects`` are the objects that are known, by the numbers of these elements. A field that only the first object
    has is read there alone, and so is one of the page as a whole.
    """
    reader = FieldReader(page_location(page.page), MOST_TEXT)
    alternatives = [replace(wanted, selectors=(selector,)) for selector in wanted.selectors]
    owners = nesting(items)
    found: list[ValueRead] = []
    for number, item in enumerate(items[: 1 if wanted.first_only or wanted.page else MOST_OBJECTS]):
        if reader.budget < 0:
            break
        element, raw, value = None, "", ""
        for each in alternatives:
            try:
                read = reader.read(each, item, owners)
            except XPathError:
                continue
            if read.values:
                element = read.elements[0] if read.elements else None
                value = " · ".join(map(written, read.values))[:LONGEST]
                raw = _raw(element, each.selectors[0].attribute) or value
                break
        before = objects[number].value(wanted.name) if number in objects else ""
        found.append(ValueRead(number, element, raw, value, before, agreement(wanted.name, value, before)))
    return tuple(found)


def objects_of(page: SampledPage, items: Sequence[HtmlElement]) -> Mapping[int, ReadObject]:
    """Return the object that each of some elements is, by their numbers, where that is known."""
    pairing = paired(page, items, page.reading.objects)
    of_item = {number: objects[0] for number, objects in pairing.of_item.items() if len(objects) == 1}
    if not of_item and len(page.reading.objects) == len(items) == 1:
        return {0: page.reading.objects[0]}
    return of_item


def agreement(field: str, value: str, before: str) -> bool | None:
    """Return whether a value means the same as the one read before; None where there was none.

    >>> agreement("date", "2024-02-03T12:05:00+00:00", "2024-02-03T12:05:00Z"), agreement("author", "Ada", "Bo")
    (True, False)
    """
    if not before:
        return None
    if field == "date":
        return _is_same_time(value, before)
    if field in ("author", "title"):
        return bare(value) == bare(before)
    return compared(value, fold(before)) is not Outcome.WRONG


def _is_same_time(value: str, before: str) -> bool:
    try:
        one, other = datetime.fromisoformat(value), datetime.fromisoformat(before)
    except ValueError:
        return value == before
    if one.tzinfo is None or other.tzinfo is None:
        one, other = one.replace(tzinfo=None), other.replace(tzinfo=None)
    return one == other


def _raw(element: HtmlElement | None, attribute: str) -> str:
    if element is None:
        return ""
    return (element.get(attribute) or "" if attribute else plain_text(element))[:LONGEST]

"""The values that a field reads on many pages, beside those recorded before; and which field an element shows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, islice, zip_longest

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.rules.marked_pages import items_on
from aahcrawler.editor.rules.page_sample import FIELDS, PageSample, ReadObject, SampledPage, value_text
from aahcrawler.helper.extraction.field_reader import FieldReader, as_date, nesting
from aahcrawler.page.text import bare, fold, plain_text
from aahcrawler.page.titles import head_title
from aahcrawler.wrapper_induction.samples import SampleOutcome, compared, page_location
from knowledge_base.model import DateFormat, Field
from knowledge_base.selectors import Selector

MAX_PAGES = 20
MAX_OBJECTS = 30
"""The most objects of one page whose values are read."""
MAX_TEXT = 400_000
"""The most characters that are read on one page."""
MAX_VALUE_LENGTH = 2_000
MAX_DATE_LENGTH = 60
MAX_NAME_LENGTH = 40
MAX_TITLE_LENGTH = 200
MIN_TITLE = 3
MAX_LINE_LENGTH = 120
"""The most characters of a line about an object in which a date is searched for."""
MIN_BODY = 80
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_PARAGRAPHS = frozenset({"p", "blockquote", "pre", "ul", "ol"})
_BLOCKS = frozenset({"div", "article", "section", "td", "li", "dd", "p", "blockquote", "pre", "main"})
_PROFILE = re.compile(r"\b(?:users?|members?|authors?|profiles?|people|by|u)\b", re.IGNORECASE)
_ANSWER = re.compile(r"(?:re|aw|antw|sv|odp|vs)\s*:\s*\S", re.IGNORECASE)
_HOUR = re.compile(r"\d{1,2}[:.h]\d{2}(?!\d)")
_NAMES = {
    "author": re.compile(
        r"author|user-?name|poster(?!\w)|by-?line|\bnick|\bwho\b|writer|\bfn\b|vcard|\bfrom\b", re.IGNORECASE
    ),
    "date": re.compile(r"\bdate|date\b|\btime|timestamp|\bwhen\b|published|created", re.IGNORECASE),
    "title": re.compile(r"title|subject|headline|heading", re.IGNORECASE),
    "body": re.compile(r"body|content|\btext\b|message|\bprose\b|-copy\b", re.IGNORECASE),
}
"""For each field, words in names of elements that show it."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which objects lie in which elements.

    ``of_item`` has, for the number of each element, the objects that lie in it and in no nearer element; or else the
    one object that it is a part of. ``lost`` are objects that were found on the page, but lie in no element.
    """

    of_item: Mapping[int, tuple[ReadObject, ...]]
    lost: tuple[ReadObject, ...]

    @property
    def is_one_to_one(self) -> bool:
        """Whether no element contains several objects, and no object lies in several elements."""
        paired = [each.number for found in self.of_item.values() for each in found]
        return all(len(found) < 2 for found in self.of_item.values()) and len(set(paired)) == len(paired)


def paired(page: SampledPage, items: Sequence[HtmlElement], objects: Sequence[ReadObject]) -> Pairing:
    """Pair elements of a page with those of the given objects that are found on it."""
    numbers = {item: number for number, item in enumerate(items)}
    found: dict[int, list[ReadObject]] = {}
    left: dict[HtmlElement, ReadObject] = {}
    for each in objects:
        place = page.places.get(each.number)
        if place is None:
            continue
        above = next((numbers[at] for at in (place, *place.iterancestors()) if at in numbers), None)
        if above is not None:
            found.setdefault(above, []).append(each)
        else:
            left[place] = each
    lost = dict(left)
    for number, item in enumerate(items) if left else ():
        around = next((at for at in item.iterancestors() if at in left), None)
        if around is not None:
            found.setdefault(number, []).append(left[around])
            lost.pop(around, None)
    return Pairing({number: tuple(objects) for number, objects in found.items()}, tuple(lost.values()))


@dataclass(frozen=True, slots=True)
class ValueRead:
    """The value that was read for an object, whose ``number`` counts from 0 in the order of the page.

    ``raw`` is the text on the page, ``value`` what it is read as, ``before`` what was recorded of this object; each may
    be empty. ``agrees`` is None if nothing was recorded.
    """

    number: int
    element: HtmlElement | None
    raw: str
    value: str
    before: str
    agrees: bool | None


@dataclass(frozen=True, slots=True)
class PageValues:
    """The values of a field on a page, one for each of the first 30 objects. ``all_objects`` counts all of them."""

    record: str
    url: str
    values: tuple[ValueRead, ...]
    all_objects: int


def field_values(
    sample: PageSample, items: tuple[Selector, ...], wanted: Field, groups: Iterable[int] = (), most: int = MAX_PAGES
) -> tuple[PageValues, ...]:
    """Return what a field reads on at most ``most`` pages of the sample that have objects.

    ``items`` are the expressions for the objects: the first that finds anything on a page counts. With ``groups``, only
    pages of these groups are read.
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

    ``objects`` are the known objects, by the numbers of their elements. A field that only the first object has, or that
    belongs to the page, is read for the first object alone.
    """
    reader = FieldReader(page_location(page.page), MAX_TEXT)
    alternatives = [replace(wanted, selectors=(selector,)) for selector in wanted.selectors]
    owners = nesting(items)
    found: list[ValueRead] = []
    for number, item in enumerate(items[: 1 if wanted.first_only or wanted.page else MAX_OBJECTS]):
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
                value = " · ".join(map(value_text, read.values))[:MAX_VALUE_LENGTH]
                raw = _raw(element, each.selectors[0].attribute) or value
                break
        before = objects[number].value(wanted.name) if number in objects else ""
        found.append(ValueRead(number, element, raw, value, before, agreement(wanted.name, value, before)))
    return tuple(found)


def objects_of(page: SampledPage, items: Sequence[HtmlElement]) -> Mapping[int, ReadObject]:
    """Return the object that each of some elements is, if known, by the elements' numbers."""
    pairing = paired(page, items, page.reading.objects)
    of_item = {number: objects[0] for number, objects in pairing.of_item.items() if len(objects) == 1}
    if not of_item and len(page.reading.objects) == len(items) == 1:
        return {0: page.reading.objects[0]}
    return of_item


def agreement(field: str, value: str, before: str) -> bool | None:
    """Return whether a value means the same as the recorded one; None if none was recorded.

    >>> agreement("date", "2024-02-03T12:05:00+00:00", "2024-02-03T12:05:00Z"), agreement("author", "Ada", "Bo")
    (True, False)
    """
    if not before:
        return None
    if field == "date":
        return _is_same_time(value, before)
    if field in ("author", "title"):
        return bare(value) == bare(before)
    return compared(value, fold(before)) is not SampleOutcome.WRONG


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
    return (element.get(attribute) or "" if attribute else plain_text(element))[:MAX_VALUE_LENGTH]


@dataclass(frozen=True, slots=True)
class FieldGuess:
    """A field that an element may show, and the reason."""

    field: str
    said: str


def field_guesses(page: SampledPage, element: HtmlElement, known: ReadObject | None = None) -> tuple[FieldGuess, ...]:
    """Return the fields that an element may show, the most probable first; none if there is no evidence for any.

    ``known`` is the recorded object that the element belongs to.
    """
    found: dict[str, FieldGuess] = {}
    for guess in (*_known(page, element, known), *_shown(page, element)):
        found.setdefault(guess.field, guess)
    return tuple(found.values())


def _known(page: SampledPage, element: HtmlElement, known: ReadObject | None) -> Iterator[FieldGuess]:
    """Yield the field whose recorded value the element shows."""
    if known is None:
        return
    text = fold(plain_text(element))
    date = _date(page, element, text)
    for name in FIELDS:
        value = date if name == "date" else text
        if value and agreement(name, value, known.value(name)):
            yield FieldGuess(name, f"this is the {name} that was read before")


def _shown(page: SampledPage, element: HtmlElement) -> Iterator[FieldGuess]:
    text = fold(plain_text(element))
    if _date(page, element, text):
        yield FieldGuess("date", "it can be read as a date")
    if not text:
        return
    yield from (FieldGuess(name, "its name says so") for name in _named(element) if _fits(name, element, text))
    if len(text) <= MAX_TITLE_LENGTH and _is_titled(page, text):
        yield FieldGuess("title", "the page is called so")
    around = element.getparent()
    if around is not None and fold(plain_text(around)) == text:
        yield from (
            FieldGuess(name, "the name of what is around it says so")
            for name in _named(around)
            if _fits(name, element, text)
        )
    if (element.tag in _HEADINGS or _ANSWER.match(text)) and len(text) <= MAX_TITLE_LENGTH:
        yield FieldGuess("title", "it is a heading")
    if len(text) >= MIN_BODY or any(child.tag in _PARAGRAPHS for child in element):
        yield FieldGuess("body", "it is a longer text")
    elif bare(text) and len(text) <= MAX_NAME_LENGTH and (element.tag == "cite" or _leads_to_profile(element)):
        yield FieldGuess("author", "it is a source, or leads to what looks like a profile")
    if len(text) <= MAX_LINE_LENGTH and _HOUR.search(text):
        yield FieldGuess("date", "a time of day stands in it")


def _fits(field: str, element: HtmlElement, text: str) -> bool:
    """Return whether a text can be the value of a field that its element is named after."""
    match field:
        case "author":
            return len(text) <= MAX_NAME_LENGTH
        case "title":
            return len(text) <= MAX_TITLE_LENGTH
        case "date":
            return any(map(str.isdigit, text)) and len(text) <= MAX_LINE_LENGTH
    return element.tag in _BLOCKS or len(text) >= MIN_BODY


def _named(element: HtmlElement) -> Iterator[str]:
    """Yield the fields that an element's names mention, those at the end of a name first."""
    told = " ".join(str(name) for name in element.attrib if str(name).startswith("data-"))
    words = f"{told} {element.get('class') or ''} {element.get('id') or ''} {element.get('itemprop') or ''}"[:300]
    ends = {field: max((each.end() for each in told.finditer(words)), default=0) for field, told in _NAMES.items()}
    yield from sorted((field for field, end in ends.items() if end), key=lambda field: -ends[field])


def _is_titled(page: SampledPage, text: str) -> bool:
    title = bare(head_title(page.page))
    return len(bare(text)) > MIN_TITLE and title.startswith(bare(text))


def _leads_to_profile(element: HtmlElement) -> bool:
    link = element if element.tag == "a" else next((at for at in element.iterancestors("a")), None)
    return link is not None and bool(_PROFILE.search((link.get("href") or "")[:500].replace("_", " ")))


def _date(page: SampledPage, element: HtmlElement, text: str) -> str:
    """Return the date that an element shows in ISO 8601, empty if it shows none."""
    for value in (element.get("datetime") or "", text):
        if 4 <= len(value) <= MAX_DATE_LENGTH and any(map(str.isdigit, value)):
            date = as_date(value, DateFormat(), page.page)
            if date is not None:
                return value_text(date)
    return ""

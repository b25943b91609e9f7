"""Guesses which field of an object an element shows, to choose its name beforehand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_values import as_date
from aahcrawler.page.text import bare, fold, plain_text
from aahcrawler.page.titles import head_title
from aahcrawler.studio.page_sample import SampledPage
from aahcrawler.studio.read_objects import FIELDS, ReadObject, written
from aahcrawler.studio.values_on_pages import agreement
from knowledge_base.model import DateFormat

LONGEST_DATE = 60
LONGEST_NAME = 40
LONGEST_TITLE = 200
LEAST_TITLE = 3
LONGEST_LINE = 120
"""Characters of a line about an object in which a date may stand."""
LEAST_BODY = 80
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
"""What the names of elements are called that show a field, in any part of a name."""


@dataclass(frozen=True, slots=True)
class FieldGuess:
    """A field that an element may show, and why."""

    field: str
    said: str


def field_guesses(page: SampledPage, element: HtmlElement, known: ReadObject | None = None) -> tuple[FieldGuess, ...]:
    """Return the fields that an element may show, the likeliest first; none where nothing speaks for any.

    ``known`` is the object that the element belongs to, as it was read before.
    """
    found: dict[str, FieldGuess] = {}
    for guess in (*_known(page, element, known), *_shown(page, element)):
        found.setdefault(guess.field, guess)
    return tuple(found.values())


def _known(page: SampledPage, element: HtmlElement, known: ReadObject | None) -> Iterator[FieldGuess]:
    """Yield the field of which the value was read before that the element shows now."""
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
    if len(text) <= LONGEST_TITLE and _is_titled(page, text):
        yield FieldGuess("title", "the page is called so")
    around = element.getparent()
    if around is not None and fold(plain_text(around)) == text:
        yield from (
            FieldGuess(name, "the name of what is around it says so")
            for name in _named(around)
            if _fits(name, element, text)
        )
    if (element.tag in _HEADINGS or _ANSWER.match(text)) and len(text) <= LONGEST_TITLE:
        yield FieldGuess("title", "it is a heading")
    if len(text) >= LEAST_BODY or any(child.tag in _PARAGRAPHS for child in element):
        yield FieldGuess("body", "it is a longer text")
    elif bare(text) and len(text) <= LONGEST_NAME and (element.tag == "cite" or _leads_to_profile(element)):
        yield FieldGuess("author", "it is a source, or leads to what looks like a profile")
    if len(text) <= LONGEST_LINE and _HOUR.search(text):
        yield FieldGuess("date", "a time of day stands in it")


def _fits(field: str, element: HtmlElement, text: str) -> bool:
    """Return whether a text can be a field that its element is named after."""
    match field:
        case "author":
            return len(text) <= LONGEST_NAME
        case "title":
            return len(text) <= LONGEST_TITLE
        case "date":
            return any(map(str.isdigit, text)) and len(text) <= LONGEST_LINE
    return element.tag in _BLOCKS or len(text) >= LEAST_BODY


def _named(element: HtmlElement) -> Iterator[str]:
    """Yield the fields that the names of an element speak of, as its last words do first."""
    told = " ".join(str(name) for name in element.attrib if str(name).startswith("data-"))
    words = f"{told} {element.get('class') or ''} {element.get('id') or ''} {element.get('itemprop') or ''}"[:300]
    ends = {field: max((each.end() for each in told.finditer(words)), default=0) for field, told in _NAMES.items()}
    yield from sorted((field for field, end in ends.items() if end), key=lambda field: -ends[field])


def _is_titled(page: SampledPage, text: str) -> bool:
    title = bare(head_title(page.page))
    return len(bare(text)) > LEAST_TITLE and title.startswith(bare(text))


def _leads_to_profile(element: HtmlElement) -> bool:
    link = element if element.tag == "a" else next((at for at in element.iterancestors("a")), None)
    return link is not None and bool(_PROFILE.search((link.get("href") or "")[:500].replace("_", " ")))


def _date(page: SampledPage, element: HtmlElement, text: str) -> str:
    """Return the date that an element shows, ISO 8601, empty where it shows none."""
    for value in (element.get("datetime") or "", text):
        if 4 <= len(value) <= LONGEST_DATE and any(map(str.isdigit, value)):
            date = as_date(value, DateFormat(), page.page)
            if date is not None:
                return written(date)
    return ""

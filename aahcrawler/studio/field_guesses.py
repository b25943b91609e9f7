"""Guesses which field of an object an element shows, to choose its name beforehand."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_values import as_date
from aahcrawler.page.text import bare, fold, plain_text
from aahcrawler.studio.field_values import agreement
from aahcrawler.studio.page_sample import SampledPage
from aahcrawler.studio.read_objects import FIELDS, ReadObject, written
from aahcrawler.wrapper_induction.element_features import pieces_of
from knowledge_base.model import DateFormat

LONGEST_DATE = 60
LONGEST_NAME = 40
LONGEST_TITLE = 200
LEAST_BODY = 80
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_PARAGRAPHS = frozenset({"p", "blockquote", "pre", "ul", "ol"})
_PROFILE = re.compile(r"\b(?:user|member|author|profile|people|by|u)\b", re.IGNORECASE)
_WORDS = {
    "author": frozenset({"author", "user", "username", "poster", "byline", "nick", "who", "writer", "name", "by"}),
    "date": frozenset({"date", "time", "when", "posted", "published", "created", "timestamp"}),
    "title": frozenset({"title", "subject", "headline", "heading", "topic"}),
    "body": frozenset({"body", "content", "text", "message", "entry", "description"}),
}


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
    if element.tag in _HEADINGS and text and len(text) <= LONGEST_TITLE:
        yield FieldGuess("title", "it is a heading")
    for name in _named(element):
        fits = len(text) <= LONGEST_NAME if name == "author" else len(text) >= LEAST_BODY if name == "body" else True
        if fits and text and name != "date":
            yield FieldGuess(name, "its name says so")
    if len(text) >= LEAST_BODY or any(child.tag in _PARAGRAPHS for child in element):
        yield FieldGuess("body", "it is a longer text")
    elif text and bare(text) and len(text) <= LONGEST_NAME and _leads_to_profile(element):
        yield FieldGuess("author", "it leads to what looks like a profile")


def _named(element: HtmlElement) -> Iterator[str]:
    """Yield the fields that the names of an element, and then of the one around it, speak of."""
    around = element.getparent()
    for each in (element, around) if around is not None else (element,):
        names = f"{each.get('class') or ''} {each.get('id') or ''} {each.get('itemprop') or ''}"
        pieces = {piece.lower() for name in names.split()[:20] for piece in pieces_of(name)}
        yield from (field for field, words in _WORDS.items() if pieces & words)


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

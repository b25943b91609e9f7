"""Finds what pages about different things have in common: labels with short values, menus, forms, notices."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.page import Page
from aahcrawler.page.text import fold

MAX_ELEMENTS = 5000
DATA_COLUMNS = 3
MAX_VALUE_LENGTH = 60
"""Characters of a text beside a label up to which it is a value and no running text."""

_NUMBER = re.compile(r"\d+")
_LETTER = re.compile(r"[^\W\d_]")
_SENTENCE = re.compile(r"[.!?。！？]['\"»”)]?\s+\S")
_UNSHOWN = frozenset({"script", "style", "template", "noscript", "head"})
_Place = tuple[str, ...]


@dataclass(frozen=True)
class TemplateParts:
    """The elements of each page, by its URL, that say the same on all pages, or the same beside short values."""

    parts: dict[str, tuple[HtmlElement, ...]]

    @classmethod
    def of(cls, pages: Sequence[Page]) -> "TemplateParts":
        """Compare pages of one level; a single page has nothing to be compared with."""
        if len(pages) < 2:
            return cls({})
        placed = [_unique_places(page) for page in pages]
        texts = {
            place: [_texts(each[place]) for each in placed]
            for place in placed[0]
            if all(place in each for each in placed)
        }
        shared = [place for place, each in texts.items() if _is_template(each)]
        return cls({page.url: _outermost(each, shared) for page, each in zip(pages, placed, strict=True)})

    def on(self, page: Page) -> tuple[HtmlElement, ...]:
        """Return the outermost of such elements of a page, in document order."""
        return self.parts.get(page.url, ())

    def within(self, holder: Element, page: Page) -> tuple[HtmlElement, ...]:
        """Return those within an element that are named, so that an expression can leave them out."""
        named = (each for each in self.on(page) if each.get("class") or each.get("id"))
        return tuple(each for each in named if any(above is holder for above in each.iterancestors()))


def _unique_places(page: Page) -> dict[_Place, HtmlElement]:
    """Return the elements whose tags and classes, with those around them, no other element of the page has."""
    found: dict[_Place, HtmlElement] = {}
    counted: Counter[_Place] = Counter()
    places: dict[Element, _Place] = {}
    for number, element in enumerate(page.tree.iter()):
        if number == MAX_ELEMENTS:
            break
        if not isinstance(element.tag, str) or element.tag in _UNSHOWN or _is_of_data(element):
            continue
        parent = element.getparent()
        above = places.get(parent, ()) if parent is not None else ()
        own = _NUMBER.sub("#", " ".join(element.get(name) or "" for name in ("class", "id")))
        place = (*above, f"{element.tag}.{own}")
        places[element] = place
        counted[place] += 1
        found[place] = element
    return {place: element for place, element in found.items() if counted[place] == 1}


def _is_of_data(element: HtmlElement) -> bool:
    """Return whether an element is a table of data or of one: three columns and more are no labels beside values."""
    table = element if element.tag == "table" else next(element.iterancestors("table"), None)
    if table is None or next(table.iterdescendants("table"), None) is not None:
        return False
    first = next(table.iterdescendants("tr"), None)
    return first is not None and sum(cell.tag in ("td", "th") for cell in first) >= DATA_COLUMNS


def _texts(element: HtmlElement) -> tuple[str, ...]:
    """Return the texts within an element, each of one text node."""
    found = []
    for inner in element.iter():
        if isinstance(inner.tag, str) and inner.tag not in _UNSHOWN:
            found.append(fold(inner.text or ""))
        if inner is not element:
            found.append(fold(inner.tail or ""))
    return tuple(text for text in found if text)


def _is_template(texts: Sequence[tuple[str, ...]]) -> bool:
    """Return whether the texts at one place of several pages are labels that all have, and short values."""
    if not all(texts):
        return False
    shared = set(texts[0]).intersection(*texts[1:])
    if not any(map(_LETTER.search, shared)):
        return False
    values = [text for each in texts for text in each if text not in shared]
    return all(len(text) <= MAX_VALUE_LENGTH and not _SENTENCE.search(text) for text in values)


def _outermost(placed: dict[_Place, HtmlElement], shared: Sequence[_Place]) -> tuple[HtmlElement, ...]:
    known = set(shared)
    return tuple(
        placed[place]
        for place in shared
        if not any(above in known for above in (place[:length] for length in range(1, len(place))))
    )

"""Complete the objects of a known application by generic reading, so that a new theme loses nothing.

Sites change the theme and keep the software. The results of the actions are compared with those of generic reading; if
generic reading finds a text that the actions miss, or have amid much else, its text is used, and so are its values of
fields that the actions leave empty.
"""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lxml.etree import _Element as Element
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.extraction import BODY, Extracted
from aahcrawler.helper.parts.splitting import body_of
from aahcrawler.helper.site_memory import site_of
from aahcrawler.induction.article_text import (
    AGREED,
    MIN_AGREED,
    MISSED,
    RUNNING,
    letters,
    merged,
    share_of,
    shares_by_line,
)
from aahcrawler.induction.generic_objects import GenericReading, read_objects
from aahcrawler.induction.record_sets import Region
from aahcrawler.page import Page
from aahcrawler.page.generic import main_content as generic_content
from aahcrawler.webobject import Value, WebObject
from knowledge_base.model import Application, PageLevel

FIRST_PAGES = 5
"""Pages of a level on a site that are all compared with generic reading."""

EVERY = 16
"""Of further pages one in so many is, as long as the actions of the level miss nothing.

That is the case once they missed nothing on as many in a row as `FIRST_PAGES`, and as many again for each page on which
they did: a new theme has them repaired within some pages, while what they miss now and then has to be looked for.
"""

MAX_LEVELS = 10_000
LISTING = frozenset({"wiki"})
"""Kinds of applications whose texts end with lists of links that belong to them."""

FIELDS = ("title", "author", "date")
WHOLES = frozenset({"article", "chapter", "page", "post"})
SOURCE = "generic reading"
CUT = "cut at its ends by generic reading"


@dataclass(slots=True)
class _Record:
    """The pages of a site's level, and the comparisons with generic reading in which that found more."""

    pages: int = 0
    completed: int = 0
    quiet: int = 0
    """The last comparisons in a row in which it did not."""


class Completion:
    """Remembers the levels of sites on which the actions miss nothing; the least recently used are forgotten first."""

    def __init__(self) -> None:
        self._records: OrderedDict[tuple[str, str, str], _Record] = OrderedDict()

    def completed(
        self, page: Page, application: Application, level: PageLevel, extracted: Sequence[Extracted], *, guessed: bool
    ) -> tuple[Extracted, ...]:
        """Return the objects of a page of a level, completed by generic reading.

        With ``guessed``, no action found the objects, so that the generic result replaces them. Deterministic for given
        pages in a given order. If a page has many objects, they stay as they are.
        """
        wholes = [each for each in extracted if each.object.type in WHOLES and each.object.part_of is None]
        whole = wholes[0] if wholes else None
        record = self._record(page, application, level)
        record.pages += 1
        lacks_text = whole is not None and not body_of(whole.object)
        if (extracted and len(wholes) != 1) or not (lacks_text or guessed or _is_due(record)):
            return tuple(extracted)
        found = _completed(page, whole, extracted, guessed=guessed, cut=application.kind not in LISTING)
        found_more = found != tuple(extracted)
        record.completed += found_more
        record.quiet = 0 if found_more else record.quiet + 1
        return found

    def _record(self, page: Page, application: Application, level: PageLevel) -> _Record:
        key = (site_of(page.url), application.name, level.name)
        record = self._records.setdefault(key, _Record())
        self._records.move_to_end(key)
        while len(self._records) > MAX_LEVELS:
            self._records.popitem(last=False)
        return record


def _is_due(record: _Record) -> bool:
    return record.quiet < FIRST_PAGES * (1 + record.completed) or record.pages % EVERY == 0


def _completed(
    page: Page, whole: Extracted | None, extracted: Sequence[Extracted], *, guessed: bool, cut: bool
) -> tuple[Extracted, ...]:
    reading = page.once(read_objects)
    generic = next((each for each in reading.objects if each.type in WHOLES and body_of(each)), None)
    if generic is None or reading.article is None:
        return tuple(extracted)
    if whole is None:
        return tuple(extracted) if extracted else (_inferred(generic, reading),)
    better = _with_fields(replace(whole, object=_without_guesses(whole.object)) if guessed else whole, generic)
    own, other, third = body_of(whole.object), body_of(generic), page.once(generic_content)
    extracted_text = "\n".join(body_of(each.object) for each in extracted)
    structure = reading.article.part.body.plain()
    if guessed or not own or _tells_more(own, other, extracted_text, structure, third):
        better = replace(_of_reading(generic, reading), object=_with(better.object, {BODY: (other,)}))
    elif cut and (trimmed := _trimmed(own, other, third)) != own:
        better = replace(better, object=_with(better.object, {BODY: (trimmed,)}, CUT))
    return tuple(better if each is whole else each for each in extracted)


def _tells_more(own: str, generic: str, extracted_text: str, structure: str, third: str) -> bool:
    """Return whether a generic text is to replace the one that an action found.

    Most of its running text is in no object but in another reading as well, and it is more than the action alone found.
    A text that is the main part of the page by its structure is right.
    """
    if letters(generic) < MIN_AGREED or share_of(generic, extracted_text) >= MISSED or _agree(own, structure):
        return False
    more, alone = _left(generic, extracted_text), _left(own, generic)
    supported = max(share_of(more, other) for other in (structure, third)) >= MISSED
    return supported and letters(more) > sum(letters(line) for line, share in shares_by_line(alone, third) if share)


def _agree(text: str, other: str) -> bool:
    return min(share_of(text, other), share_of(other, text)) >= AGREED


def _left(text: str, other: str) -> str:
    """Return the lines of running text that another text does not have."""
    lines = shares_by_line(text, other)
    return "\n".join(line for line, share in lines if share < 1 and letters(line) >= RUNNING)


def _without_guesses(web_object: WebObject) -> WebObject:
    """Return an object without the title, the author and the date that were proposed."""
    kept = {name: values for name, values in web_object.properties.items() if name not in FIELDS}
    return replace(web_object, properties=kept)


def _trimmed(own: str, generic: str, third: str) -> str:
    """Return the text of an action with the standfirst above its element, without lines that are not of the article.

    Those are the lines above and below the generic text, and the lines within it that no other reading has. Running
    text that a third reading has as well is a part of the article.
    """
    if share_of(generic, own) < AGREED:
        return own
    trimmed = merged(own, generic, third)
    return own if share_of(_left(own, trimmed), third) >= AGREED else trimmed


def _with_fields(whole: Extracted, generic: WebObject) -> Extracted:
    missing = {name: generic.properties[name] for name in FIELDS if name in generic.properties}
    missing = {name: values for name, values in missing.items() if name not in whole.object.properties}
    return replace(whole, object=_with(whole.object, missing)) if missing else whole


def _with(web_object: WebObject, properties: Mapping[str, tuple[Value, ...]], source: str = SOURCE) -> WebObject:
    inferred = {**web_object.inferred, **dict.fromkeys(properties, source)}
    return replace(web_object, properties={**web_object.properties, **properties}, inferred=inferred)


def _inferred(generic: WebObject, reading: GenericReading) -> Extracted:
    """Return the object that no action found, all of it marked as inferred."""
    found = {name: generic.properties[name] for name in (*FIELDS, BODY) if name in generic.properties}
    return replace(_of_reading(generic, reading), object=_with(generic, found))


def _of_reading(generic: WebObject, reading: GenericReading) -> Extracted:
    region = reading.bodies.get(generic.iri)
    if region is None or region.text is not None:
        return Extracted(generic, ())
    elements, without = (tuple(each for each in part if isinstance(each, HtmlElement)) for part in _parts(region))
    return Extracted(generic, elements, without)


def _parts(region: Region) -> tuple[Sequence[Element], Sequence[Element]]:
    return region.elements, region.without

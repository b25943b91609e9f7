"""What changes of an entry have in common that people make without writing any of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lxml import etree

from aahcrawler.authoring.drafting.annotated_xml import UNPROVEN
from aahcrawler.authoring.editing.edit_error import EditError
from aahcrawler.authoring.editing.edits import Add, Edit
from aahcrawler.authoring.editing.entry_text import EntryText
from aahcrawler.authoring.editing.schema_order import schema_order
from aahcrawler.wrapper_induction.robust_paths import Expression

_NAME = re.compile(r"[a-z][a-z0-9-]*")
_LONGEST = 40


@dataclass(frozen=True, slots=True)
class Made:
    """Edits of a text, and what they do in plain words, as the history tells it behind a name."""

    edits: tuple[Edit, ...]
    said: str


def as_name(words: str) -> str:
    """Return the name that a file gives to what a person calls so. Raises `EditError` where nothing is left.

    >>> as_name("Topic pages (2)"), as_name("Größe")
    ('topic-pages-2', 'gr-e')
    """
    spelled = "".join(sign if sign.isascii() and sign.isalnum() else " " for sign in words.lower())
    name = "-".join(spelled.split())[:_LONGEST].strip("-")
    if not _NAME.fullmatch(name):
        raise EditError("give a name that begins with a letter from a to z, such as thread")
    return name


def found(text: EntryText, place: str, *tags: str) -> tuple[str, etree._Element]:
    """Return the place and the element there, which is of one of the tags. Raises `EditError`."""
    known, element = text.place(place), text.element(place)
    if known is None or element is None:
        raise EditError(f"there is no {place} in the file (any more)")
    if tags and element.tag not in tags:
        raise EditError(f"{place} is no {' or '.join(tags)}")
    return known, element


def level_place(text: EntryText, name: str) -> str:
    """Return the place of a level. Raises `EditError` where there is none of that name."""
    known = text.place(f"level[{name}]")
    if known is None:
        raise EditError(f"there is no level {name} in the file (any more)")
    return known


def written(tag: str, attributes: Mapping[str, str], *children: str) -> str:
    """Return an element as XML; attributes without a value are left out."""
    given = {name: value for name, value in attributes.items() if value}
    try:
        start = etree.tostring(etree.Element(tag, given), encoding="unicode")
    except ValueError as error:
        raise EditError(f"this cannot be written: {error}") from error
    return f"{start[:-2]}>{''.join(children)}</{tag}>" if children else start


def selecting(tag: str, expression: Expression, attributes: Mapping[str, str] | None = None) -> str:
    """Return an element with an expression as XML; nobody has read its documentation."""
    if not expression.css and not expression.xpath:
        raise EditError("choose an element first, or write a selector")
    return written(tag, {**(attributes or {}), **expression.attributes(), "cite": UNPROVEN})


def added(text: EntryText, parent: str, xml: str) -> Add:
    """Return the edit that adds an element where the schema wants it in its parent."""
    tag = str(etree.fromstring(xml).tag)
    return Add(place=parent, xml=xml, before=schema_order().before(text, parent, tag))


def shown(expression: Expression) -> str:
    """Return an expression as people are told it.

    >>> shown(Expression(css=".when", attribute="title"))
    '.when, its title'
    """
    written_so = expression.css or expression.xpath
    return f"{written_so}, its {expression.attribute}" if expression.attribute else written_so

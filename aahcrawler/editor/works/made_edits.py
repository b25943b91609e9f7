"""What changes of an entry have in common that people make without writing any of it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lxml import etree

from aahcrawler.editor.drafting.annotated_xml import UNPROVEN
from aahcrawler.editor.text.edits import Add, Edit
from aahcrawler.editor.text.entry_text import EditError, EntryText
from aahcrawler.editor.text.schema_order import schema_order
from aahcrawler.wrapper_induction.robust_paths import Expression
from knowledge_base.model import FieldKind, Role
from knowledge_base.url_rules import Reason

REASONS: Final[Mapping[Reason, str]] = {
    Reason.LOGIN: "a form to log in or out",
    Reason.REGISTER: "a form to become a member",
    Reason.REPLY_FORM: "a form to write an answer or something new",
    Reason.EDIT: "a form to change what is there",
    Reason.MODERATION: "for moderators: reports, moving, deleting",
    Reason.PRINT_VIEW: "the same page for printing",
    Reason.SORT_ORDER: "the same list in another order",
    Reason.SESSION: "the same page under the number of a visit",
    Reason.OLD_REVISION: "an older state of a page, or what was changed in it",
    Reason.FEED: "a feed for readers of news",
    Reason.API: "answers for programs",
    Reason.SEARCH: "a search and what it found",
    Reason.PROFILE: "the page of a member",
    Reason.MEMBER_LIST: "a list of members",
    Reason.CALENDAR: "a calendar, which never ends",
    Reason.DUPLICATE: "another address of a page that is fetched anyway",
    Reason.REDIRECT: "leads on to another page that is linked anyway",
    Reason.ARCHIVE_VIEW: "a list of what is found in other lists",
    Reason.HELP: "help, rules and terms",
    Reason.STATISTICS: "statistics, who is online",
    Reason.VOTE: "a vote, a like, a rating",
    Reason.ACTION: "does something: subscribe, mark, share",
}
"""Why addresses are avoided."""

ROLES: Final[Mapping[Role, str]] = {
    "intermediate": "leads to content",
    "terminal": "holds content",
}
"""What pages of a level are for."""

FIELDS: Final[Mapping[str, FieldKind]] = {
    "title": FieldKind.TEXT,
    "author": FieldKind.PERSON,
    "date": FieldKind.DATETIME,
    "body": FieldKind.TEXT,
}
"""The fields that mean the same everywhere, with what they are read as."""


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

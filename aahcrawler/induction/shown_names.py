"""Find the names of people on a page: which elements may contain one, and the name that an element shows.

Labels beside a name, links to members, and the names that software gives to elements show that a name is an author's.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import urlsplit

from lxml.etree import _Element as Element

from aahcrawler.induction.field_labels import (
    BESIDE,
    LINK_WORDS,
    FieldLabel,
    field_of,
    is_clause,
    label_of,
    name_in,
    split_label,
    without_byline_words,
)
from aahcrawler.induction.outline import Outline, weight
from aahcrawler.induction.record_sets import Byline
from aahcrawler.page.text import excerpt

MAX_NAME_LENGTH = 60
_MAX_IN_NAME = 12
"""The most elements of a name, including its own."""
_NAME_TAGS = frozenset(
    {
        "a",
        "span",
        "strong",
        "b",
        "cite",
        "em",
        "i",
        "address",
        "dt",
        "td",
        "th",
        "div",
        "p",
        "li",
        "small",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "font",
        "header",
        "dd",
        "summary",
        "bdi",
    }
)
_USER_WORD = re.compile(
    r"(?:^|[-_])(?:author|authors|username|user|poster|postername|nickname|nick|fn|byline|by|creator|commenter|member|"
    r"profilelink|displayname|screenname|handle|vcard|hcard|p-author|persona?|autor|auteur|autore)(?:$|[-_])|"
    r"author|username|nickname",
    re.IGNORECASE,
)
_USER_ADDRESS = re.compile(
    r"(?:^|[/?&=;:_.-])(?:user|users|u|uid|userid|user_id|member|members|memberlist|profile|profiles|people|person|author|"
    r"authors|autor|auteur|creator|benutzer|mitglied|membre|utilisateur|usuario|utente|account|accounts|channel|@[\w.-]+|~[\w.-]+)(?=[/?&=;:_.@-]|$|\d)",
    re.IGNORECASE,
)
_DEED_TO_USER = re.compile(
    r"find[-_]?(?:user|member|posts|threads|all)|(?:action|do|mode)=(?:find|send|mail|email|contact|pm)|showposts|"
    r"send[-_]?(?:pm|mail|email|message)|(?:^|[/_])(?:private|compose|emailuser|emailmember)(?:[/._?]|$)",
    re.IGNORECASE,
)
"""URLs of actions that concern a person, such as to find all posts or to send a message."""
_FILED = frozenset({"tag", "category", "bookmark"})
_FILED_WORD = re.compile(r"(?:^|[-_])(?:tag|category|categories)(?:$|[-_])", re.IGNORECASE)
_FILED_WORDS = """
in under unter dans sous en onder i w v category categories categoría kategorie rubrik rubrique tag tags tagged
"""
_FILED_UNDER = frozenset(_FILED_WORDS.split())
"""Words before the name of a category."""
_FILED_ADDRESS = re.compile(r"/(?:tags?|category|categories|kategorie|kategorien|rubrik|rubrique)/", re.IGNORECASE)
_NOWHERE = ("#", "javascript:")
_BUTTON_WORD = re.compile(r"(?:^|[-_])(?:btns?|buttons?)(?:$|[-_])", re.IGNORECASE)
_NAME_WORD = re.compile(
    r"(?:^|[-_])(?:username|usernick|nick|nickname|fn|postername|displayname|screenname|authorname)(?:$|[-_])"
    r"|(?:user|author|poster|display|screen)[-_]name",
    re.IGNORECASE,
)
"""Names of elements that show the name of a person and nothing else."""
_SEPARATORS = re.compile(r"[/?&=;~@]+")
LETTER = re.compile(r"[^\W\d_]")
_OWN_LINK = re.compile(rf"\W*(?:{LINK_WORDS})\W*", re.IGNORECASE)
_TIME_OF_DAY = re.compile(r"\W*\d{1,2}[:.h]\d{2}(?::\d{2})?\W*(?:[ap]\W?m\W*)?", re.IGNORECASE)
_ADDRESS = re.compile(
    r"\s*[<(\[]?\s*[^\s<>()]+(?:@|\s(?:at|\(at\)|\[at\])\s|%40)[^\s<>()]+\s*[>)\]]?\s*|\s*<[^<>]*>?\s*", re.IGNORECASE
)
"""An e-mail address beside a name, also one that is disguised from machines."""
_COUNT = re.compile(r"[^\W\d_]\s*[:\uff1a]\s*\d|^\W*\d[\d.,]*\+?\s+[^\W\d_]+(?:\s[^\W\d_]+)?\W*$")


def may_be_name(text: str) -> bool:
    """Return whether a text could be a person's name, by its letters and length; counts are not names.

    >>> may_be_name("Ann Boyd"), may_be_name("Posts: 22 Joined: Jan 2022"), may_be_name("12"), may_be_name("3 replies")
    (True, False, False, False)
    """
    return weight(text) <= MAX_NAME_LENGTH and bool(LETTER.search(text)) and not _COUNT.search(text)


class ShownName(NamedTuple):
    """A name on the page: its text, the place of its element, and its link."""

    text: str
    place: int
    href: str | None
    number: int


def label_at(outline: Outline, place: int) -> FieldLabel | None:
    """Return the label before what an element shows; None if there is none."""
    return outline.once(place, label_of)


def is_labelled(outline: Outline, name: ShownName) -> bool:
    """Return whether a label before a name says that it is an author's."""
    return label_at(outline, name.place) is FieldLabel.AUTHOR


def labelled_name(outline: Outline, blocks: Iterable[int]) -> ShownName | None:
    """Return the first name in blocks of labels and values whose label means an author: ``Reporter: Ann``."""
    for place in (each for block in blocks for each in range(block, outline.ends[block])):
        if outline.tags[place] in _NAME_TAGS and label_at(outline, place) is FieldLabel.AUTHOR:
            name = name_at(outline, place, 0)
            if name is not None:
                return name
    return None


def name_places(outline: Outline, _: int) -> Sequence[int]:
    """Return the places of elements that are small enough for a name."""
    return [
        place
        for place, tag in enumerate(outline.tags)
        if tag in _NAME_TAGS
        and outline.ends[place] - place <= _MAX_IN_NAME
        and outline.free(place) + outline.linked(place) <= 2 * MAX_NAME_LENGTH
    ]


def name_at(outline: Outline, place: int, number: int) -> ShownName | None:
    """Return the name shown by an element, for the record with that number; None if it shows none."""
    text = outline.once(place, shown_name)
    return ShownName(text, place, outline.once(place, address_at), number) if text else None


def shown_name(outline: Outline, place: int) -> str:
    """Return the text of an element that may be a person's name; empty if it cannot be one."""
    shown = _without_label(excerpt(outline.elements[place], 2 * MAX_NAME_LENGTH + 1))
    if len(shown) > 2 * MAX_NAME_LENGTH or shown.endswith(("…", "...")):
        return ""
    if _TIME_OF_DAY.fullmatch(shown) or _OWN_LINK.fullmatch(shown) or _is_label(outline, place, shown):
        return ""
    text = name_in(shown)
    if text != shown or not LETTER.search(text):
        text = _marked_name(outline, place, shown) or text
    elif not may_be_name(text) or (is_clause(text) and not names_author(outline, place)):
        return ""
    is_possible = weight(text) <= MAX_NAME_LENGTH and not _COUNT.search(text) and _is_named(outline, place, text)
    return text if is_possible and not (_is_filed(outline, place) or _is_button(outline, place)) else ""


def _is_label(outline: Outline, place: int, shown: str) -> bool:
    """Return whether an element shows the label of a field, and is not marked as a name."""
    return field_of(shown) is not None and not address_at(outline, place) and not outline.once(place, names_user)


def _without_label(shown: str) -> str:
    """Return a text without an author's label before it, and without an e-mail address beside a name.

    >>> _without_label("From: Ann Boyd <ann@a.test>"), _without_label("ann at a.test (Ann Boyd)")
    ('Ann Boyd', 'Ann Boyd')
    """
    field, value = split_label(shown)
    value = value if field is FieldLabel.AUTHOR else shown
    name = _ADDRESS.sub(" ", value).strip() if "@" in value or " at " in value or "<" in value else value
    if name[:1] in ("(", '"', "'") and name[-1:] in (")", '"', "'"):
        name = name[1:-1].strip()
    return name if LETTER.search(name) else value


def _is_named(outline: Outline, place: int, text: str) -> bool:
    """Return whether a text has a letter, or the page marks it explicitly as a person's name."""
    if LETTER.search(text) or not text:
        return bool(text)
    if _is_called_name(outline, place):
        return True
    is_marked = _leads_to_user(outline, place) and outline.once(place, names_user)
    return is_marked and (not any(map(str.isdigit, text)) or outline.once(place, _is_by_author))


def _is_by_author(outline: Outline, place: int) -> bool:
    """Return whether an element itself is named an author, rather than something counted for an author."""
    element = outline.elements[place]
    return "author" in (element.get("class") or "").split() or "author" in (element.get("rel") or "").split()


def _is_called_name(outline: Outline, place: int) -> bool:
    """Return whether an element itself is marked as the name of a person."""
    element = outline.elements[place]
    return element.get("itemprop") in ("author", "creator") or any(map(_NAME_WORD.search, outline.tokens[place]))


def _leads_to_user(outline: Outline, place: int) -> bool:
    href = outline.once(place, address_at)
    return bool(href and is_user_address(href))


def names_author(outline: Outline, place: int) -> bool:
    """Return whether an element is marked as a person's, or leads to a page of a person."""
    return outline.once(place, names_user) or _leads_to_user(outline, place)


def _marked_name(outline: Outline, place: int, shown: str) -> str:
    """Return the text of an element that the page marks as a person's name, with all of its signs; empty for others.

    People call themselves ``a`` or ``-=[X]=-``. A word of bylines is a name only if its link says so.
    """
    called, leads = outline.once(place, names_user), _leads_to_user(outline, place)
    if not (called or leads):
        return ""
    name = without_byline_words(shown).rstrip(",:;|")
    if name or " " in shown:
        return name
    href = (outline.once(place, address_at) or "").casefold()
    is_address = shown.casefold() in _SEPARATORS.split(href) or shown.casefold() in BESIDE
    return shown if len(shown) == 1 or (leads and (called or is_address)) else ""


def is_marked(author: Byline) -> bool:
    """Return whether a page marks a text as a person's name, whatever signs it has: by its link, or its class."""
    element = author.element
    relations = (element.get("rel") or "").lower().split()
    if "author" in relations or (author.href and is_user_address(author.href)):
        return True
    named = any(_USER_WORD.search(word) for word in (element.get("class") or "").split())
    return " " not in author.name and (named or element.get("itemprop") in ("author", "creator", "name"))


def address_at(outline: Outline, place: int) -> str | None:
    """Return the URL of the link that an element is, lies in, or contains first; None if there is none."""
    element = outline.elements[place]
    if element.tag == "a":
        return element.get("href")
    above = outline.parents[place]
    if above >= 0 and outline.tags[above] == "a":
        return outline.elements[above].get("href")
    inner = next(element.iter("a"), None)
    return inner.get("href") if inner is not None else None


def is_user_address(href: str) -> bool:
    """Return whether the first 500 characters of a URL look like those of a member's URL."""
    return _is_short_user_address(href[:500])


@lru_cache(maxsize=4_096)
def _is_short_user_address(href: str) -> bool:
    try:
        parts = urlsplit(href)
    except ValueError:  # A bracket stands in the host.
        return False
    address = f"{parts.path}?{parts.query}"
    return bool(_USER_ADDRESS.search(address)) and not _DEED_TO_USER.search(address)


def _is_filed(outline: Outline, place: int) -> bool:
    """Return whether a link leads to a category of a record or to the record itself, rather than to a person."""
    links = [each for each in (place, outline.parents[place]) if each >= 0 and outline.tags[each] == "a"]
    links = links or [each for each in range(place + 1, outline.ends[place]) if outline.tags[each] == "a"]
    rels = {word for each in links for word in (outline.elements[each].get("rel") or "").lower().split()}
    if not links or "author" in rels:
        return False
    if outline.leading_word(links[0]) in _FILED_UNDER:
        return True
    return not _FILED.isdisjoint(rels) or any(
        any(map(_FILED_WORD.search, outline.tokens[each]))
        or _FILED_ADDRESS.search((outline.elements[each].get("href") or "")[:500])
        for each in links
    )


def _is_button(outline: Outline, place: int) -> bool:
    """Return whether an element, or its parent, is a control without a URL, and so names no person."""
    if outline.once(place, names_user):
        return False
    around = [outline.elements[each] for each in (place, outline.parents[place]) if each >= 0]
    inner = [each for each in outline.elements[place].iter("a") if each is not outline.elements[place]]
    return any(
        each.get("role") == "button"
        or each.get("onclick") is not None
        or (each.tag == "a" and (each.get("href") or "#").strip().lower().startswith(_NOWHERE))
        for each in (*around, *inner[:1])
    ) or any(_are_of_button(outline.tokens[each]) for each in (place, outline.parents[place]) if each >= 0)


@lru_cache(maxsize=10_000)
def _are_of_button(words: tuple[str, ...]) -> bool:
    return any(map(_BUTTON_WORD.search, words))


def names_user(outline: Outline, place: int) -> bool:
    """Return whether an element, or the one around it, has a name that stands for a user."""
    for each in (place, outline.parents[place]):
        if each < 0:
            break
        element = outline.elements[each]
        if element.get("itemprop") in ("author", "creator") or "author" in (element.get("rel") or "").split():
            return True
        if _are_of_user(outline.tokens[each]) or any(map(_USER_WORD.search, _data_words(element))):
            return True
    return False


@lru_cache(maxsize=10_000)
def _are_of_user(words: tuple[str, ...]) -> bool:
    return any(map(_USER_WORD.search, words))


def _data_words(element: Element) -> Iterator[str]:
    """Yield the words in attributes for scripts: the attributes' names, and values that are names."""
    for name in map(str, element.keys()):
        if name.startswith("data-"):
            yield name[5:]
            value = element.get(name) or ""
            if weight(value) <= MAX_NAME_LENGTH:
                yield from value.split()

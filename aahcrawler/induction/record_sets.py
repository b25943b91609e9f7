"""The results of induction: records, the sets they form, and the regions of their bodies."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import cached_property

from lxml.etree import _Element as Element

from aahcrawler.page.date_grammar import DateReading
from aahcrawler.page.text import inner_html, plain_text


@dataclass(frozen=True)
class Region:
    """A part of a page: adjacent elements, without some of their descendants.

    ``text`` is given if the region is not an element but text between elements.
    """

    elements: tuple[Element, ...]
    without: tuple[Element, ...] = ()
    text: str | None = None

    def plain(self) -> str:
        """Return the plain text, one line for each block. It is read once, because readers do not change trees."""
        return self._plain if self.text is None else self.text

    @cached_property
    def _plain(self) -> str:
        return "\n".join(filter(None, (plain_text(element, self.without) for element in self.elements)))

    def html(self) -> str:
        """Return the markup inside the elements."""
        return "\n".join(inner_html(element, self.without) for element in self.elements)


@dataclass(frozen=True, slots=True)
class Byline:
    """The author of a record: the name shown, the element it was read from, and the URL of its link, if any.

    ``labelled`` is True if a label before the name says that it is an author's: ``Reported by``.
    """

    name: str
    element: Element
    href: str | None = None
    labelled: bool = False


@dataclass(frozen=True, slots=True)
class Dated:
    """The date of a record: what was read, and the element from which it was read.

    ``attribute`` names the attribute of the element that contains it; it is empty if the element shows it.
    """

    read: DateReading
    element: Element
    attribute: str = ""

    @property
    def moment(self) -> datetime:
        """The date and time."""
        return self.read.moment

    @property
    def told(self) -> datetime | None:
        """The date and time; None if the page does not give the day and its year.

        Old forums leave the year out of all dates: the last year with such a day would mostly be wrong.
        """
        return None if self.read.vague or self.read.lacks_year else self.read.moment


@dataclass(frozen=True, slots=True)
class Record:
    """One of the repeated objects of a page.

    ``elements`` are adjacent; most records are one element, some a pair of table rows. ``key`` is the fragment of the
    record on its page (the value of an ``id`` or ``name``), ``permalink`` the URL that the record gives for itself,
    absolute and with its fragment. ``parent`` is the position, in the set, of the record in which this one lies or
    which it answers; it is always smaller than its own. ``heading`` is the element from which ``title`` was read.
    """

    elements: tuple[Element, ...]
    body: Region | None = None
    author: Byline | None = None
    date: Dated | None = None
    title: str = ""
    permalink: str | None = None
    key: str | None = None
    parent: int | None = None
    target: str | None = None
    """For a teaser, the URL of the page to which it leads."""
    heading: Element | None = None
    template: tuple[str, str] | None = None
    """The URL and fragment of ``permalink`` with a NUL in place of the number that distinguishes records."""

    @property
    def element(self) -> Element:
        """The first, and mostly the only, element of the record."""
        return self.elements[0]

    @property
    def shown(self) -> tuple[Element, ...]:
        """The elements that show its text, its author and its date."""
        marks = (each.element for each in (self.author, self.date) if each is not None)
        return (*(self.body.elements if self.body is not None else ()), *marks)


class NoObject(StrEnum):
    """Reasons why a page yields no object of its own."""

    WITHHELD = "asks not to be indexed"
    NO_TEXT = "no running text"
    LITTLE_TEXT = "little running text"
    LIST = "list of other pages"
    FORM = "form"
    FRONT_PAGE = "front page"


class Nature(StrEnum):
    """The kinds of records."""

    POSTS = "posts"
    """Full texts that people wrote on this page: posts of a thread, comments on an article."""
    TEASERS = "teasers"
    """Entries of a list, each leading to a page of its own."""


@dataclass(frozen=True, slots=True)
class RecordSet:
    """Records of one shape. ``container`` is the element that contains all of them, ``confidence`` is in [0, 1].

    ``alone`` is True for the one message that its page is about, with labels of its sender and its date. ``aside`` is
    True if they are in a sidebar, a header, a footer or a menu.
    """

    container: Element
    records: tuple[Record, ...]
    nature: Nature
    confidence: float
    aside: bool = False
    alone: bool = False

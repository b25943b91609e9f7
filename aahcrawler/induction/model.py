"""What induction finds: records, the sets they form, and the regions of the page that their bodies are."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lxml.etree import _Element as Element

from aahcrawler.page.text import inner_html, plain_text


@dataclass(frozen=True, slots=True)
class Region:
    """A part of a page: elements that stand beside one another, without some of what lies in them.

    ``text`` is given where the region is no element at all but text between elements.
    """

    elements: tuple[Element, ...]
    without: tuple[Element, ...] = ()
    text: str | None = None

    def plain(self) -> str:
        """Return the plain text, a line for each block."""
        if self.text is not None:
            return self.text
        return "\n".join(filter(None, (plain_text(element, self.without) for element in self.elements)))

    def html(self) -> str:
        """Return the markup inside the elements."""
        return "\n".join(inner_html(element, self.without) for element in self.elements)


@dataclass(frozen=True, slots=True)
class Byline:
    """Who made a record: the name shown, the element it was read from, and the address it links to if any."""

    name: str
    element: Element
    href: str | None = None


@dataclass(frozen=True, slots=True)
class Dated:
    """When a record was made: the moment, and the element it was read from.

    ``attribute`` names the attribute of the element that holds it; it is empty where the element shows it.
    """

    moment: datetime
    element: Element
    attribute: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """One of the things that a page repeats.

    ``elements`` stand beside one another; most records are one element, some a pair of table rows. ``key`` is the
    fragment by which the page addresses the record (the value of an ``id`` or ``name``), ``permalink`` the address
    that the record gives itself, absolute and with its fragment. ``parent`` is the place in the set of the record
    that this one lies in or answers; it is always smaller than its own. ``heading`` is the element that ``title`` was
    read from.
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
    """The address that the record leads to where it is a teaser of a page of its own."""
    heading: Element | None = None

    @property
    def element(self) -> Element:
        """The element, the first of several, that holds the record."""
        return self.elements[0]


class NoObject(StrEnum):
    """Reasons why a page yields no object of its own."""

    WITHHELD = "asks not to be indexed"
    NO_TEXT = "no running text"
    LITTLE_TEXT = "little running text"
    LIST = "list of other pages"
    FORM = "form"
    FRONT_PAGE = "front page"


class Nature(StrEnum):
    """What records are."""

    POSTS = "posts"
    """What people wrote, in full and on this page: posts of a thread, comments on an article."""
    TEASERS = "teasers"
    """Entries of a list, each leading to a page of its own."""


@dataclass(frozen=True, slots=True)
class RecordSet:
    """Records of one shape. ``container`` is the element that holds them all, ``confidence`` lies in [0, 1].

    ``aside`` tells that they stand in a sidebar, a header, a footer or a menu.
    """

    container: Element
    records: tuple[Record, ...]
    nature: Nature
    confidence: float
    aside: bool = False

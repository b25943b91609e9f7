"""A site that is crawled, and how a person looks at it: which pages, what is done there, where the objects stand."""

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from benchmarks.browser.replies import Reply, Request


@dataclass(frozen=True, slots=True)
class Parts:
    """Selectors, in CSS: of the objects of a page, and within each of its parts; an empty part is its whole object.

    ``heading`` is that of the page: it is the title of the first object of a page that is not continued. ``title``,
    ``author`` and ``date`` are shown where their selectors are not empty. Dates are read from the attribute
    ``datetime``, or by ``date_form`` (of `datetime.strptime`) from the text.
    """

    items: str
    body: str = ""
    title: str = ""
    heading: str = ""
    author: str = ""
    date: str = ""
    date_form: str = ""
    without: str = ""
    """What within the body belongs to other parts, or to no one's text."""


class Deed(StrEnum):
    """What a person does on a page before all of its content was seen."""

    SCROLL = "scroll"
    """Scroll down, screen by screen, as long as there is more, and read what comes by."""
    CLICK = "click"
    """Click the first that matches, until there is none."""
    OPEN = "open"
    """Click each that matches, once."""
    PLAY = "play"
    """Click what matches, in the page or in one of its frames, and watch to the end."""


@dataclass(frozen=True, slots=True)
class Act:
    """A deed, and the selector of what it is done to."""

    deed: Deed
    selector: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A page that a person looks at: its path, the kinds of its objects if it has any, and what is done there first.

    ``shows`` is a selector that matches once the page is there. A ``continued`` page goes on with what another began.
    """

    path: str
    parts: Sequence[Parts] = ()
    acts: Sequence[Act] = ()
    shows: str = "body"
    continued: bool = False


@dataclass(frozen=True, slots=True)
class Site:
    """A site that is being served from its origin.

    ``same`` are patterns of addresses of which one is as good as the other: what a pattern matches stands for all that
    has the same groups (a film in any of its qualities). ``application`` is a file of the knowledge base that the crawl
    is given beside those that ship.
    """

    name: str
    answering: Callable[[Request], Reply]
    views: Sequence[View]
    same: Sequence[re.Pattern[str]] = ()
    application: str = ""
    definition: str = ""
    """Further lines of the definition."""


class Opening(Protocol):
    """Opens a site below an origin until a block ends; ``folder`` is for what it has to write."""

    def __call__(self, folder: Path, origin: str) -> AbstractContextManager[Site]:
        """Return the site."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A site that can be measured."""

    name: str
    opening: Opening
    secure: bool = False

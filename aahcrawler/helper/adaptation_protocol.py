"""The protocol by which the helper calls adaptation, which lies above it and is passed in (ARCOMEM, section 4.1)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from aahcrawler.helper.extraction.extraction import ExtractionOutcome, Runner
from aahcrawler.helper.links.navigation import ChosenLink, Links
from aahcrawler.metadata import Metadata
from aahcrawler.page import Page
from knowledge_base.model import Application, Extract, PageLevel


@dataclass(frozen=True, slots=True)
class Question:
    """An extraction action of a level, to be run on one page of that level.

    ``former`` is the metadata of a former crawl at this URL, None if there was none. ``shown`` is False if the page
    shows no sign of the level and the level is only assumed.
    """

    page: Page
    application: Application
    level: PageLevel
    action: Extract
    former: Metadata | None = None
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Taken:
    """The level that a page is assumed to be of. ``shown`` is True if the page has a learned sign of it."""

    level: PageLevel
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Kept:
    """The name of the application that a page is still of. ``shown`` is True if the page has a learned sign of it."""

    name: str
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Followed:
    """The links that navigation chose, and the names of the actions that should have found some and did not."""

    chosen: tuple[ChosenLink, ...]
    stopped: tuple[str, ...] = ()


class Adapter(Protocol):
    """Notices actions that no longer work on a site, and finds replacements.

    Methods raise nothing that a page provokes, except the errors of expressions that fail on it.
    """

    def application(self, page: Page, known: Application | None, former: Metadata | None) -> Kept | None:
        """Return the application of an HTML page on which no application was detected; None if it has none.

        ``known`` is the application that was detected on the site before, ``former`` the metadata that a
        former crawl kept of this URL; both are None if there is none.
        """
        ...

    def level(
        self, page: Page, application: Application, shown: PageLevel | None, former: Metadata | None
    ) -> Taken | None:
        """Return the level to read a page by; ``shown`` is the one that it shows signs of, if any."""
        ...

    def preferred(self, question: Question) -> Extract:
        """Return the action to run first: the one in question, or a learned one in force on this site."""
        ...

    def check_outcome(self, question: Question, outcome: ExtractionOutcome, runner: Runner) -> ExtractionOutcome:
        """Check the result of the preferred action; if it cannot be complete, find the objects by other means."""
        ...

    def followed(
        self,
        links: Links,
        application: Application,
        level: PageLevel,
        chosen: Sequence[ChosenLink],
        former: Metadata | None,
    ) -> Followed:
        """Check the links that the navigation actions of a level chose, and add those that the actions missed."""
        ...

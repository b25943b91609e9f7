"""The result of the helper for a page."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from aahcrawler.induction.record_sets import NoObject
from aahcrawler.page import Page
from aahcrawler.page.loose_xml import Mistakes
from aahcrawler.page.page import FailedStages
from aahcrawler.webobject import Container, WebObject
from knowledge_base.model import Match
from knowledge_base.url_rules import Reason
from online_analysis.document import Document

READ: Final = "read"
"""The action that is named where the reading of a page as a whole failed, and no single action."""


class Failure(StrEnum):
    """The ways in which an action fails."""

    NOTHING_FOUND = "nothing-found"
    """A page of the level has no object although each such page has one: the template may have changed."""
    INCOMPLETE = "incomplete"
    """Objects were found, but none with a body."""
    ERROR = "error"
    """The expression cannot be evaluated on this page."""
    TOO_MUCH = "too-much"
    """The page holds more than one page reasonably can; the rest was left out."""
    CONFLICT = "conflict"
    """Two applications claim the page with equal strength; it was treated as one of no known application."""
    SLOW = "slow"
    """An expression of the action might take more work than it may; it was not evaluated on this page."""
    STOPPED_WORKING = "stopped-working"
    """The action finds nothing any more, although the objects it used to find on this site or page are there."""
    CHANGED_SHAPE = "changed-shape"
    """The action finds less than it used to: objects, bodies or other fields are missing."""
    NO_SIGN = "no-sign"
    """The page shows no sign of its application, nor does any page of its site; only a former crawl knows the
    application.
    """
    NEEDS_BROWSER = "needs-browser"
    """Only a browser that runs scripts could show the content of this page."""
    READS_LESS = "reads-less"
    """The file is a draft, and reading the page without it found more; that reading counts."""
    RAISED = "raised"
    """A stage of reading raised an error that no page should provoke; the page was read without that stage."""
    NOT_SENT = "not-sent"
    """A form would change something on the server (its method is not GET), or a value for it is missing."""


@dataclass(frozen=True, slots=True)
class FailedAction:
    """An action that should have worked on a page and did not. ``level`` is empty if none was found.

    ``objects`` is the number of objects, or links, that are there nevertheless, as far as adaptation could verify it.
    With ``spared``, repair or learning was skipped after failures on earlier pages.
    """

    application: str
    level: str
    action: str
    failure: Failure
    detail: str = ""
    objects: int = 0
    spared: bool = False

    @property
    def place(self) -> str:
        """Application, level and action, if known."""
        return "/".join(filter(None, (self.application, self.level, self.action)))

    def __str__(self) -> str:
        return f"{self.place}: {self.failure}" + (f" ({self.detail})" if self.detail else "")


@dataclass(frozen=True, slots=True)
class Refused:
    """A link of the page that is not followed because the knowledge base calls it junk."""

    url: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Assistance:
    """The result of the helper for one page (ARCOMEM, section 4.1).

    ``match`` is None for a page of no known application. ``objects`` have distinct IRIs. ``requisites`` are absolute
    URLs of images, style sheets, scripts and fonts, which are not among the links. ``refused`` has each junk link once.
    ``containers`` are what objects are parts of, the innermost first: a thread, then its forum. ``learned`` names the
    first learned action that found any of the objects. ``sitemaps`` are those that a sitemap names. ``no_object`` tells
    why a page that was read generically yields no object, None where it yields one. ``mistakes`` are those of a feed or
    sitemap, None where there were none.
    """

    match: Match | None
    document: Document
    objects: tuple[WebObject, ...] = ()
    requisites: tuple[str, ...] = ()
    refused: tuple[Refused, ...] = ()
    failed_actions: tuple[FailedAction, ...] = ()
    containers: tuple[Container, ...] = ()
    learned: str = ""
    sitemaps: tuple[str, ...] = ()
    no_object: NoObject | None = None
    mistakes: Mistakes | None = None


def failures_of(page: Page, found: Assistance) -> tuple[FailedAction, ...]:
    """Return the stages of reading a page that raised and are not among the failed actions of its reading yet."""
    application = found.match.application.name if found.match is not None else ""
    told = raised(found)
    return tuple(each for each in of_stages(page.failed, application) if each not in told)


def of_stages(failed: FailedStages, application: str = "") -> tuple[FailedAction, ...]:
    """Return the stages of reading that raised, as failed actions."""
    return tuple(FailedAction(application, "", each.stage, Failure.RAISED, each.error) for each in failed)


def kind_of(failed: FailedAction) -> str:
    """Return a key for failures that are the same on many pages: the stage, and the type of the error."""
    return f"{failed.action}: {failed.detail.partition(':')[0]}"


def raised(found: Assistance) -> tuple[FailedAction, ...]:
    """Return the stages of reading a page that raised."""
    return tuple(each for each in found.failed_actions if each.failure is Failure.RAISED)


@dataclass(slots=True)
class RaisedTally:
    """Counts pages by the stage of reading that raised on them, and keeps the URL of the first page of each."""

    pages: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def add(self, url: str, failed: Iterable[FailedAction]) -> None:
        """Add the stages that raised on one page."""
        for stage, each in {each.action: each for each in failed}.items():
            self.pages[stage] += 1
            self.first.setdefault(stage, f"{url}: {each.detail}")

    def update(self, other: "RaisedTally") -> None:
        """Add the counts of another tally."""
        self.pages.update(other.pages)
        self.first = {**other.first, **self.first}

    def lines(self) -> Iterator[str]:
        """Yield a line of text for each stage, with an example."""
        for stage, number in self.pages.most_common():
            pages = "page was" if number == 1 else "pages were"
            yield f"{number:,} {pages} read without {stage}, which failed: {self.first[stage]}"

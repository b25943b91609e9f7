"""What an extraction action can be learned from: objects that were found on a page by other means.

A *teacher* finds objects on a page whose actions fail: by what the page held before, by relaxed expressions of the
knowledge base, or by the page's own repeated structure. What it found is a *lesson*. The learner makes an action of
the lessons of several pages of a level, and the judge decides whether it is to be believed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from lxml.etree import _Element as Element

from aahcrawler.page import Page
from aahcrawler.webobject import Value


class Method(StrEnum):
    """How the objects of a lesson were found."""

    MEMORY = "memory"
    """What used to be extracted at this address was found again (ARCOMEM, section 4.1, recrawl)."""
    RELAXED = "relaxed"
    """Relaxed expressions of the knowledge base (ARCOMEM, section 4.1, new crawl)."""
    INDUCED = "induced"
    """The page's repeated structure, with its dates and authors."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a value of a field stands: the elements whose text it is, or whose ``attribute`` holds it.

    ``without`` are elements within them that do not belong to the value (signatures, buttons).
    """

    elements: tuple[Element, ...]
    value: Value
    attribute: str = ""
    without: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class Example:
    """One object on a page.

    ``elements`` hold it and no other object; they stand beside one another, mostly there is one. ``spots`` are by
    field name (``body``, ``author``, ``date``, ``title``). ``fragment`` is that of its IRI where it is known.
    """

    elements: tuple[Element, ...]
    spots: Mapping[str, Spot]
    fragment: str | None = None


@dataclass(frozen=True, slots=True)
class Lesson:
    """All objects of one action on one page, in document order, as one teacher found them.

    No examples means that the teacher is sure that there are none: the content is absent. ``confidence`` and that of
    the runner-up lie in [0, 1]; without a rival that is 0.
    """

    page: Page
    method: Method
    examples: tuple[Example, ...]
    confidence: float
    runner_up: float = 0.0
    notes: tuple[str, ...] = field(default=())

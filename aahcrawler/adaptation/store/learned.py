"""Holds what a crawl learned of an application on one site, with the evidence for it."""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from lxml import etree

from aahcrawler.wrapper_induction.examples import Method
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.wrapper import Wrapper
from knowledge_base.model import LinkSource, Navigate


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOnSite:
    """Has what is common to all that is learned.

    ``level`` is empty for what belongs to the application as a whole. ``pages`` are the addresses of the pages that
    agree, ``date`` is when the last of them was fetched. ``method`` is how the content of these pages was found.
    """

    site: str
    application: str
    level: str
    name: str
    method: Method
    pages: tuple[str, ...]
    confidence: float
    date: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedInPlace(LearnedOnSite):
    """Takes the place of ``action`` of ``level``, which was given up because of ``failure``.

    ``before`` and ``after`` count what the action of the file and the learned one find on ``pages``.
    """

    found: ClassVar[str]
    """What is counted, in words for people."""

    action: str
    failure: str
    before: int
    after: int

    def __str__(self) -> str:
        """Return one line for people."""
        return (
            f"{self.application}: {self.level}: {self.action} learned on {self.site} ({self.method}, {self.failure}): "
            f"{self.after} {self.found} on {len(self.pages)} pages, {self.before} before; "
            f"confidence {self.confidence:.2f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedAction(LearnedInPlace):
    """An extraction action that was learned; ``before`` and ``after`` count objects."""

    found = "objects"

    wrapper: Wrapper

    def xml(self) -> etree._Element:
        """Return the ``extract`` element."""
        return self.wrapper.xml()

    def signs(self) -> tuple[Expression, ...]:
        """Return what tells a page on which the action finds something."""
        return self.wrapper.signs()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLinks(LearnedInPlace):
    """A navigation action that was learned; ``before`` and ``after`` count links.

    It leads to level ``to``. With ``documented`` only links to documented addresses of that level count.
    """

    found = "links"

    to: str
    expression: Expression
    documented: bool

    def navigate(self) -> Navigate:
        """Compile it. Raises `knowledge_base.selectors.BadExpressionError`."""
        return Navigate(self.action, self.to, (LinkSource(self.expression.selector, self.documented),))

    def xml(self) -> etree._Element:
        """Return the ``navigate`` element."""
        element = etree.Element("navigate", {"name": self.action, "to": self.to})
        documented = {"documented": "yes"} if self.documented else {}
        etree.SubElement(element, "select", self.expression.attributes() | documented)
        return element

    def signs(self) -> tuple[Expression, ...]:
        """Return what tells a page on which the action finds something."""
        return (Expression(self.expression.css, self.expression.xpath),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSign(LearnedOnSite):
    """A sign of a level, or of the application.

    ``pages`` are of the level and have the sign, ``others`` is how many pages of other levels have it not. ``method``
    is how the level of these pages was known: by what a former crawl said of them, or (relaxed) because the sign is
    like one of the file, or (induced) by what they hold.
    """

    expression: Expression
    others: int

    def __str__(self) -> str:
        """Return one line for people."""
        of = f"level {self.level}" if self.level else "the application"
        return (
            f"{self.application}: sign of {of} learned on {self.site} ({self.method}): {self.expression.css}; on "
            f"{len(self.pages)} pages and on none of {self.others} others; confidence {self.confidence:.2f}"
        )


Learned = LearnedAction | LearnedLinks | LearnedSign

"""The actions, links and signs that a crawl learned on one site, with the evidence for them."""

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
    """The common fields of everything that is learned.

    ``level`` is empty for signs of the application as a whole. ``pages`` are the URLs of the pages that agree,
    ``date`` is the fetch time of the last of them. ``method`` is how the content of these pages was found.
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
    """Replaces ``action`` of ``level``, which was given up because of ``failure``.

    ``before`` and ``after`` count the results of the action of the file and of the learned one on ``pages``.
    """

    found: ClassVar[str]
    """The name of the counted results, for people."""

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
        """Return expressions for pages on which the action finds something."""
        return self.wrapper.signs()


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedLinks(LearnedInPlace):
    """A navigation action that was learned; ``before`` and ``after`` count links.

    It leads to level ``to``. With ``documented`` only links to documented URLs of that level count.
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
        """Return expressions for pages on which the action finds something."""
        return (Expression(self.expression.css, self.expression.xpath),)


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedSign(LearnedOnSite):
    """A sign of a level, or of the application.

    ``pages`` are of the level and have the sign, ``others`` is the number of pages of other levels without it.
    ``method`` is how the level of these pages was known: from a former crawl, or (relaxed) because the sign is similar
    to one of the file, or (induced) by their objects.
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

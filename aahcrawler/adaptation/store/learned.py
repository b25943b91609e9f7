"""The actions, links and signs that a crawl learned on one site, with the evidence for them."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar, Generic, TypeVar

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


FREE = 3
"""Failures in a row before the first page is spared."""
MAX_PAUSE = 64


@dataclass(slots=True)
class Backoff:
    """Spares exponentially more pages after each failure, from the fourth in a row on, up to `MAX_PAUSE`."""

    left: int = 0
    pause: int = 0
    failures: int = 0

    def allows(self) -> bool:
        """Return whether to try on this page; a page that is spared counts down."""
        if self.left:
            self.left -= 1
            return False
        return True

    def failed(self) -> None:
        """Try less often."""
        self.failures += 1
        if self.failures > FREE:
            self.pause = min(MAX_PAUSE, max(1, 2 * self.pause))
        self.left = self.pause

    def succeeded(self) -> None:
        """Try on the next page again."""
        self.left = self.pause = self.failures = 0


K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LruMapping(Generic[K, V]):
    """At most ``most`` values, each made when it is asked for and missing.

    >>> squares = LruMapping(2)
    >>> [squares.get(number, lambda: [number])[0] for number in (1, 2, 1, 3)], 1 in squares, 2 in squares
    ([1, 2, 1, 3], True, False)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._values: OrderedDict[K, V] = OrderedDict()

    def get(self, key: K, make: Callable[[], V]) -> V:
        """Return the value of a key."""
        if key in self._values:
            self._values.move_to_end(key)
            return self._values[key]
        value = self._values[key] = make()
        while len(self._values) > self._most:
            self._values.popitem(last=False)
        return value

    def forget(self, key: K) -> None:
        """Drop a key, if it is there."""
        self._values.pop(key, None)

    def __contains__(self, key: K) -> bool:
        """Return whether there is a value."""
        return key in self._values

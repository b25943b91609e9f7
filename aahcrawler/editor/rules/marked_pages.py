"""The elements that people marked on the pages of a sample, and the rule that they want for them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import islice

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.rules.page_sample import SampledPage
from aahcrawler.wrapper_induction.item_selectors import SearchBudget
from knowledge_base.model import DateFormat, Field, FieldKind
from knowledge_base.selectors import Selector
from knowledge_base.xpath_limits import TooCostlyError

MAX_ITEMS = 200
MAX_AT_ONCE = 4_000_000
"""The most nodes that one expression may visit on one page."""
_KINDS = {"author": FieldKind.PERSON, "date": FieldKind.DATETIME}


def element_at(tree: HtmlElement, number: int) -> HtmlElement | None:
    """Return the element with a number: the root has 0, further elements count in document order.

    Comments do not count. None if the page has no such element.
    """
    return next(islice(tree.iter("*"), number, None), None) if number >= 0 else None


def numbers_of(tree: HtmlElement, elements: Iterable[HtmlElement]) -> dict[HtmlElement, int]:
    """Return the numbers of some elements of a page, in document order; elements of other pages are left out."""
    wanted = set(elements)
    found: dict[HtmlElement, int] = {}
    for number, element in enumerate(tree.iter("*")):
        if len(found) == len(wanted):
            break
        if element in wanted:
            found[element] = number
    return found


class Role(StrEnum):
    """The purpose of an expression."""

    ITEM = "item"
    """The element of each object."""
    FIELD = "field"
    """A value of each object, within its element or on the page."""
    SIGN = "sign"
    """A sign of the software, which any of its pages may show."""
    LEVEL = "level"
    """A sign of a level, which its pages show and no other pages do."""
    LINKS = "links"
    """Links that lead to a level."""


@dataclass(frozen=True, eq=False)
class Marked:
    """A marked element on a page of the sample."""

    page: SampledPage
    element: HtmlElement


@dataclass(frozen=True)
class WantedMarks:
    """The rule that people want: marked elements, and the purpose of the rule.

    Every suggested rule finds all of ``right`` and none of ``wrong``. ``items`` are the expressions for the objects
    that have the field; the first that finds anything counts. ``field`` is the name of the field, empty if none is
    chosen yet. ``many`` says that a page may have several of the objects.
    """

    role: Role
    right: tuple[Marked, ...]
    wrong: tuple[Marked, ...] = ()
    items: tuple[Selector, ...] = ()
    field: str = ""
    many: bool = True

    @property
    def kind(self) -> FieldKind:
        """The kind of value of the field."""
        return _KINDS.get(self.field, FieldKind.TEXT)

    @cached_property
    def pages(self) -> tuple[SampledPage, ...]:
        """The pages with marks, each once."""
        found = {mark.page.captured.record: mark.page for mark in (*self.right, *self.wrong)}
        return tuple(found.values())

    def marks_on(self, page: SampledPage) -> tuple[frozenset[HtmlElement], frozenset[HtmlElement]]:
        """Return the elements of a page that are marked as right, and those marked as wrong."""
        record = page.captured.record
        right = frozenset(mark.element for mark in self.right if mark.page.captured.record == record)
        wrong = frozenset(mark.element for mark in self.wrong if mark.page.captured.record == record)
        return right, wrong

    def reading(self, selector: Selector, *, page: bool, order: DateFormat | None = None) -> Field:
        """Return the field as a file would define it, with one expression."""
        name = self.field or "value"
        return Field(name, self.kind, (selector,), page=page, date=order or DateFormat())


@dataclass
class Search:
    """Evaluates expressions on pages; ``budget`` is the number of nodes that may still be visited."""

    budget: SearchBudget

    def found(
        self, page: SampledPage, selector: Selector, context: HtmlElement | None = None
    ) -> tuple[HtmlElement, ...]:
        """Return the elements that an expression finds on a page, or within an element.

        Raise ``XPathError`` if it fails on this page, or ``TooCostlyError``, a kind of it, if it would take too much
        work.
        """
        where = page.tree if context is None else context
        self.spend(page, selector, where)
        return tuple(selector.elements(where, page.page.elements))

    def spend(self, page: SampledPage, selector: Selector, context: HtmlElement, times: int = 1) -> None:
        """Subtract evaluations of an expression from the budget. Raise ``TooCostlyError`` if it does not suffice."""
        work = times * page.page.elements.limits.work(selector.source, context)
        if work > MAX_AT_ONCE or not self.budget.spend(work):
            raise TooCostlyError(f"may look at {work:,} nodes")


def items_on(page: SampledPage, selectors: tuple[Selector, ...]) -> tuple[HtmlElement, ...]:
    """Return the elements of a page's objects, at most 200; none if the expressions fail there."""
    search = Search(SearchBudget(2 * MAX_AT_ONCE))
    for selector in selectors:
        try:
            found = search.found(page, selector)
        except XPathError:
            continue
        if found:
            return found[:MAX_ITEMS]
    return ()


def holder(element: HtmlElement, items: tuple[HtmlElement, ...]) -> HtmlElement | None:
    """Return the nearest of ``items`` that is or contains an element; None if none does."""
    among = set(items)
    return next((at for at in _with_ancestors(element) if at in among), None)


def _with_ancestors(element: HtmlElement) -> Iterator[HtmlElement]:
    yield element
    yield from element.iterancestors()

"""What people marked on the pages of a sample, and what a rule is wanted for."""

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
"""Nodes that one expression may look at on one page."""
_KINDS = {"author": FieldKind.PERSON, "date": FieldKind.DATETIME}


def element_at(tree: HtmlElement, number: int) -> HtmlElement | None:
    """Return the element of a number: elements are counted from 0 in document order, the root being 0.

    Comments do not count. None where the page has no such element.
    """
    return next(islice(tree.iter("*"), number, None), None) if number >= 0 else None


def numbers_of(tree: HtmlElement, elements: Iterable[HtmlElement]) -> dict[HtmlElement, int]:
    """Return the number of each of some elements of a page, in document order; those of other pages are left out."""
    wanted = set(elements)
    found: dict[HtmlElement, int] = {}
    for number, element in enumerate(tree.iter("*")):
        if len(found) == len(wanted):
            break
        if element in wanted:
            found[element] = number
    return found


class Role(StrEnum):
    """What an expression is for."""

    ITEM = "item"
    """The element of each object."""
    FIELD = "field"
    """A value of each object, within its element or on the page."""
    SIGN = "sign"
    """A sign of the software, on any page of it."""
    LEVEL = "level"
    """A sign of a level: on its pages and on no others."""
    LINKS = "links"
    """Links that lead to a level."""


@dataclass(frozen=True, eq=False)
class Marked:
    """An element that somebody marked, on a page of the sample."""

    page: SampledPage
    element: HtmlElement


@dataclass(frozen=True)
class WantedMarks:
    """What a rule is wanted for.

    Every rule that is suggested finds all of ``right`` and none of ``wrong``. ``items`` are the expressions for the
    objects that a field is of, the first that finds anything wins. ``field`` is the name of the field, empty where none
    is given yet. ``many`` says that a page may have several of the objects.
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
        """The pages that something is marked on, each once."""
        found = {mark.page.captured.record: mark.page for mark in (*self.right, *self.wrong)}
        return tuple(found.values())

    def marks_on(self, page: SampledPage) -> tuple[frozenset[HtmlElement], frozenset[HtmlElement]]:
        """Return the elements of a page that are marked as right, and as wrong."""
        record = page.captured.record
        right = frozenset(mark.element for mark in self.right if mark.page.captured.record == record)
        wrong = frozenset(mark.element for mark in self.wrong if mark.page.captured.record == record)
        return right, wrong

    def reading(self, selector: Selector, *, page: bool, order: DateFormat | None = None) -> Field:
        """Return the field as a file would have it, with one expression."""
        name = self.field or "value"
        return Field(name, self.kind, (selector,), page=page, date=order or DateFormat())


@dataclass
class Search:
    """Evaluates expressions on pages, within what one suggestion may cost: ``budget`` counts the nodes looked at."""

    budget: SearchBudget

    def found(
        self, page: SampledPage, selector: Selector, context: HtmlElement | None = None
    ) -> tuple[HtmlElement, ...]:
        """Return the elements that an expression finds on a page, or within an element.

        Raise ``XPathError``, which ``TooCostlyError`` is: for what fails on this page or would take too much work.
        """
        where = page.tree if context is None else context
        self.spend(page, selector, where)
        return tuple(selector.elements(where, page.page.elements))

    def spend(self, page: SampledPage, selector: Selector, context: HtmlElement, times: int = 1) -> None:
        """Account for some evaluations of an expression. Raise ``TooCostlyError`` where they would be too many."""
        work = times * page.page.elements.limits.work(selector.source, context)
        if work > MAX_AT_ONCE or not self.budget.spend(work):
            raise TooCostlyError(f"may look at {work:,} nodes")


def items_on(page: SampledPage, selectors: tuple[Selector, ...]) -> tuple[HtmlElement, ...]:
    """Return the elements of the objects of a page, at most 200; none where the expressions fail there."""
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
    """Return the nearest of some elements that an element is or lies in."""
    among = set(items)
    return next((at for at in _with_ancestors(element) if at in among), None)


def _with_ancestors(element: HtmlElement) -> Iterator[HtmlElement]:
    yield element
    yield from element.iterancestors()

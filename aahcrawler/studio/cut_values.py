"""Cuts values out of lines that hold more than them: ``Posted by Ada on 3 May 2024``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.helper.extraction.field_reader import FieldReader
from aahcrawler.helper.extraction.field_values import as_date
from aahcrawler.page.text import fold, plain_text
from aahcrawler.studio.marked_pages import Search, Wanted, items_on
from aahcrawler.studio.page_sample import SampledPage
from aahcrawler.studio.read_objects import ReadObject
from aahcrawler.studio.selector_candidates import Candidate
from aahcrawler.studio.values_on_pages import objects_of
from aahcrawler.webobject import Value
from aahcrawler.wrapper_induction.delimiters import cut
from aahcrawler.wrapper_induction.examples import Label
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.samples import Outcome, Reading, Sample, page_location
from knowledge_base.model import DateFormat, Field, FieldKind
from knowledge_base.selectors import BadExpressionError

MOST_OBJECTS = 12
MOST_CUT = 3
MOST_TRIED = 8
MOSTLY = 0.6
"""The share of the objects whose value an expression must read."""
MOST_TEXT = 100_000
LONGEST_LINE = 300
WORDS_OF_DATE = 7
WORDS_OF_LINE = 30
_CUT = 1.0
"""The cost of relying on the words around a value."""
_EDGES = " ,;:()[]|·•«»-–—"


@dataclass(frozen=True)
class Cutting:
    """Makes expressions for the part of a text that is the value of a field: a name or a date.

    ``pages`` show what stands around the values; what differs on them is no part of the expression.
    """

    wanted: Wanted
    search: Search
    pages: tuple[SampledPage, ...]

    def cuts(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield expressions that cut the value out of what another one finds.

        None where that reads the value rightly already, or where nobody knows what the values are.
        """
        samples = [each for page in self.pages for each in self._samples(candidate, page)]
        reading = self.wanted.reading(candidate.selector, page=candidate.page)
        if not samples or all(sample.reads(reading) for sample in samples):
            return
        kept = 0
        for written in self._written(candidate, samples, reading):
            try:
                selector = written.selector
            except BadExpressionError:
                continue
            if kept < MOST_CUT and _is_right(replace(reading, selectors=(selector,)), samples):
                kept += 1
                said = f"a part of the text of {candidate.said}"
                cost = candidate.cost + kept * _CUT
                yield replace(candidate, expression=written, selector=selector, cost=cost, said=said)

    def _written(self, candidate: Candidate, samples: Sequence[Sample], reading: Field) -> Iterator[Expression]:
        """Yield the text beside the elements within what an expression finds, then parts between constant words."""
        if not candidate.expression.attribute and "|" not in candidate.selector.source:
            yield Expression(xpath=f"{candidate.selector.source}/text()")
        yield from islice(cut(candidate.expression, samples, reading), MOST_TRIED)

    def _samples(self, candidate: Candidate, page: SampledPage) -> Iterator[Sample]:
        items = items_on(page, self.wanted.items) if self.wanted.items else (page.tree,)
        objects = objects_of(page, items)
        reading = Reading(page.page, FieldReader(page_location(page.page), MOST_TEXT), None)
        for number, item in enumerate(items[: 1 if candidate.page else MOST_OBJECTS]):
            try:
                found = self.search.found(page, candidate.selector, page.tree if candidate.page else item)[:1]
            except XPathError:
                return
            value = self._value(page, found, objects.get(number))
            if value is not None:
                yield Sample(reading, item, page.page.elements.size(item), Label(found, value))

    def _value(self, page: SampledPage, found: Sequence[HtmlElement], known: ReadObject | None) -> Value | None:
        """Return what the value of an object is: what was read before, or a date that stands in its text."""
        text = fold(plain_text(found[0])) if found else ""
        if not text or len(text) > LONGEST_LINE:
            return None
        before = known.value(self.wanted.field) if known is not None else ""
        if self.wanted.kind is not FieldKind.DATETIME:
            return before if before and before in text else None
        told = date_in(page, text)
        return told if told is not None else _moment(before)


def _is_right(wanted: Field, samples: Sequence[Sample]) -> bool:
    """Return whether a field reads the value of most samples, and of none another one."""
    outcomes = [sample.compare(wanted, sample.values(wanted)) for sample in samples]
    return Outcome.WRONG not in outcomes and outcomes.count(Outcome.RIGHT) > MOSTLY * len(outcomes)


def date_in(page: SampledPage, text: str) -> datetime | None:
    """Return the date that the longest part of a line is read as, None where no part is one."""
    words = text.split()[:WORDS_OF_LINE]
    for length in range(min(WORDS_OF_DATE, len(words)), 0, -1):
        for begin in range(len(words) - length + 1):
            part = " ".join(words[begin : begin + length]).strip(_EDGES)
            if sum(map(str.isdigit, part)) < 2:
                continue
            date = as_date(part, DateFormat(), page.page)
            if date is not None:
                return date
    return None


def _moment(written: str) -> datetime | None:
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        return None

"""Suggests expressions for elements that somebody marked, from robust to brittle, each judged by the site's pages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice, zip_longest

from lxml.etree import XPathError
from lxml.html import HtmlElement

from aahcrawler.editor.rules.marked_pages import Role, Search, WantedMarks, items_on
from aahcrawler.editor.rules.page_sample import CapturedPage, PageSample, ReadObject, SampledPage
from aahcrawler.editor.rules.selector_candidates import Candidate, Candidates
from aahcrawler.editor.rules.suggestion_judging import Judging, OtherSoftware, PageVerdict
from aahcrawler.editor.rules.values_on_pages import objects_of
from aahcrawler.helper.extraction.field_reader import FieldReader, as_date
from aahcrawler.page.text import fold, plain_text
from aahcrawler.webobject import Value
from aahcrawler.wrapper_induction.delimiters import cut
from aahcrawler.wrapper_induction.examples import Label
from aahcrawler.wrapper_induction.item_selectors import SearchBudget
from aahcrawler.wrapper_induction.robust_paths import Expression
from aahcrawler.wrapper_induction.samples import Sample, SampleOutcome, SampleReading, page_location
from knowledge_base.model import DateFormat, Field, FieldKind
from knowledge_base.selectors import BadExpressionError

MAX_OBJECTS = 12
MAX_CUT = 3
MAX_TRIED = 8
MOSTLY = 0.6
"""The share of the objects whose value an expression must read."""
MAX_TEXT = 100_000
MAX_LINE_LENGTH = 300
WORDS_OF_DATE = 7
WORDS_OF_LINE = 30
_CUT = 1.0
"""The cost of relying on the words around a value."""
_EDGES = " ,;:()[]|·•«»-–—"
MAX_SUGGESTED = 8
ENOUGH = 4
"""Suggestions up to which mostly wrong ones are shown beside those that are right."""
CUT = ("author", "date")
"""Fields whose values may be a part of a line."""
PAGES_CUT = 6
"""Pages on which the words around values are compared."""
FEW_CUT = 2
"""Expressions out of whose texts values are cut."""
MAX_LOOKED_AT = 60
"""Pages of a sample that suggestions are judged by."""
MAX_WORK = 15_000_000
"""Nodes that expressions may look at on the marked pages."""
MAX_JUDGED = 60_000_000
"""Nodes that they may look at on the pages that they are judged by."""
MAX_ELEMENTS = 40_000
"""Elements of a page by which suggestions are judged, if nobody marked anything on it."""
_TAG = re.compile(r"(^|[ >])[a-z][a-z0-9]*(?=[.#\[])")
_WRONG = 4.0
"""The cost of disagreeing with what is there on every page."""
_RARE = 2.0
"""The cost of finding nothing on any page of the marked ones' sort."""


@dataclass(frozen=True)
class Cutting:
    """Makes expressions for the part of a text that is the value of a field: a name or a date.

    ``pages`` show what stands around the values; what differs on them is no part of the expression.
    """

    wanted: WantedMarks
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
            if kept < MAX_CUT and _is_right(replace(reading, selectors=(selector,)), samples):
                kept += 1
                said = f"a part of the text of {candidate.said}"
                cost = candidate.cost + kept * _CUT
                yield replace(candidate, expression=written, selector=selector, cost=cost, said=said)

    def _written(self, candidate: Candidate, samples: Sequence[Sample], reading: Field) -> Iterator[Expression]:
        """Yield the text beside the elements within what an expression finds, then parts between constant words."""
        if not candidate.expression.attribute and "|" not in candidate.selector.source:
            yield Expression(xpath=f"{candidate.selector.source}/text()")
        yield from islice(cut(candidate.expression, samples, reading), MAX_TRIED)

    def _samples(self, candidate: Candidate, page: SampledPage) -> Iterator[Sample]:
        items = items_on(page, self.wanted.items) if self.wanted.items else (page.tree,)
        objects = objects_of(page, items)
        reading = SampleReading(page.page, FieldReader(page_location(page.page), MAX_TEXT), None)
        for number, item in enumerate(items[: 1 if candidate.page else MAX_OBJECTS]):
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
        if not text or len(text) > MAX_LINE_LENGTH:
            return None
        before = known.value(self.wanted.field) if known is not None else ""
        if self.wanted.kind is not FieldKind.DATETIME:
            return before if before and before in text else None
        told = date_in(page, text)
        return told if told is not None else _moment(before)


def _is_right(wanted: Field, samples: Sequence[Sample]) -> bool:
    """Return whether a field reads the value of most samples, and of none another one."""
    outcomes = [sample.compare(wanted, sample.values(wanted)) for sample in samples]
    return SampleOutcome.WRONG not in outcomes and outcomes.count(SampleOutcome.RIGHT) > MOSTLY * len(outcomes)


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


@dataclass(frozen=True)
class Suggestion:
    """An expression that finds all that was marked as right, and nothing that was marked as wrong.

    ``said`` says in plain words what it looks for, ``matches`` is what it finds on each of the marked pages. ``page``
    says that the field is to look at the whole page. ``pages`` are the pages looked at on which it finds something, and
    ``disagrees`` those on which what it finds differs from what is there, with the reason; ``of`` counts all that were
    looked at. ``others`` are saved pages of other software that show a sign. The lower the ``cost``, the more robust it
    is.
    """

    expression: Expression
    said: str
    cost: float
    matches: tuple[tuple[HtmlElement, ...], ...] = field(repr=False)
    pages: tuple[PageVerdict, ...]
    disagrees: tuple[PageVerdict, ...]
    of: int
    page: bool = False
    others: tuple[str, ...] = ()

    @property
    def agrees(self) -> int:
        """The number of pages on which it finds what is known to be there."""
        return sum(verdict.agrees is True for verdict in self.pages)


def suggest(
    wanted: WantedMarks, sample: PageSample, software: OtherSoftware | None = None, own: str = ""
) -> tuple[Suggestion, ...]:
    """Return at most eight expressions for what is wanted; none where nothing is marked as right.

    Those come first that are likely to stay, and right on the pages of the sample. ``software`` are saved pages, by
    which signs are judged, those in the folder ``own`` left out.
    """
    if not wanted.right:
        return ()
    search = Search(SearchBudget(MAX_WORK))
    candidates = Candidates(wanted, search).all()
    judging = Judging(wanted, sample, Search(SearchBudget(MAX_JUDGED)))
    pages = tuple(looked_at(wanted, sample, judging.own_groups))
    if wanted.role is Role.FIELD and wanted.field in CUT:
        cutting = Cutting(wanted, search, pages[:PAGES_CUT])
        candidates += tuple(made for each in candidates[:FEW_CUT] for made in cutting.cuts(each))
    shown_by = (
        {each: tuple(software.showing(each.selector, own)) for each in candidates}
        if software is not None and wanted.role is Role.SIGN
        else {}
    )
    made = [_judged(each, pages, judging, shown_by.get(each, ())) for each in candidates]
    alike = [page.captured.record for page in pages if sample.group_of(page.captured.record) in judging.own_groups]
    made.sort(key=lambda each: _rank(each, alike))
    return tuple(_worth_showing(made)[:MAX_SUGGESTED])


def _worth_showing(ranked: Sequence[Suggestion]) -> Sequence[Suggestion]:
    """Return the suggestions without those that say the same as one before, and few of those that are mostly wrong.

    What was read before may be wrong itself, so that some of these are shown beside the others.
    """
    told: dict[object, Suggestion] = {}
    for each in ranked:
        told.setdefault(_same(each), each)
    right = [each for each in told.values() if not each.others and len(each.disagrees) <= each.agrees]
    if not right:
        return tuple(told.values())
    wrong = [each for each in told.values() if each not in right]
    return (*right, *wrong[: max(0, ENOUGH - len(right))])


def _same(suggestion: Suggestion) -> object:
    """Return what suggestions share that differ in nothing but the tags that they name."""
    expression = suggestion.expression
    names = _TAG.sub(r"\1", expression.css) or expression.xpath
    found = tuple((page.record, page.found) for page in suggestion.pages)
    return names, expression.attribute, suggestion.matches, found


def looked_at(wanted: WantedMarks, sample: PageSample, own: frozenset[int]) -> Iterator[SampledPage]:
    """Yield the pages that rules are judged by: the marked ones, others of their sort, and some of each other sort."""
    marked = {page.captured.record: page for page in wanted.pages}
    yield from marked.values()
    groups = [group.drawn for number, group in enumerate(sample.groups) if number in own]
    others = [group.drawn for number, group in enumerate(sample.groups) if number not in own]
    order = (page for page in (*_in_turn(groups), *_in_turn(others)) if page.record not in marked)
    for captured in islice(order, max(0, MAX_LOOKED_AT - len(marked))):
        page = sample.sampled(captured)
        if page is not None and page.page.elements.size(page.tree) <= MAX_ELEMENTS:
            yield page


def _in_turn(groups: Sequence[Sequence[CapturedPage]]) -> Iterator[CapturedPage]:
    """Yield the first page of each group, then the second of each, and so on."""
    return (page for page in chain.from_iterable(zip_longest(*groups)) if page is not None)


def _judged(
    candidate: Candidate, pages: Sequence[SampledPage], judging: Judging, others: tuple[str, ...]
) -> Suggestion:
    verdicts = [judging.verdict(candidate, page) for page in pages]
    return Suggestion(
        candidate.expression,
        candidate.said,
        candidate.cost,
        candidate.found,
        tuple(verdict for verdict in verdicts if verdict.found),
        tuple(verdict for verdict in verdicts if verdict.agrees is False),
        len(pages),
        candidate.page,
        others,
    )


def _rank(suggestion: Suggestion, own: Sequence[str]) -> tuple[float, int, str]:
    """Return the place of a suggestion: its cost, and what it does on the pages that were looked at."""
    judged = len(suggestion.disagrees) + suggestion.agrees
    wrong = len(suggestion.disagrees) / judged if judged else 0.0
    found = {verdict.record for verdict in suggestion.pages}
    rare = 1 - sum(record in found for record in own) / len(own) if own else 0.0
    shared = 1.0 if suggestion.others else 0.0
    written = suggestion.expression.css or suggestion.expression.xpath
    return suggestion.cost + _WRONG * (wrong + shared) + _RARE * rare, len(written), written

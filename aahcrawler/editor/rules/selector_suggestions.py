"""Suggests expressions for marked elements, the most robust first, each judged by the pages of the site."""

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
"""An expression must read the value of more than this share of the objects."""
MAX_TEXT = 100_000
MAX_LINE_LENGTH = 300
WORDS_OF_DATE = 7
WORDS_OF_LINE = 30
_CUT = 1.0
"""The cost of relying on the words around a value."""
_EDGES = " ,;:()[]|·•«»-–—"
MAX_SUGGESTED = 8
ENOUGH = 4
"""Suggestions that are mostly wrong are added until there are so many in all."""
CUT = ("author", "date")
"""The fields whose value may be only a part of a line."""
PAGES_CUT = 6
"""The most pages on which the words around values are compared."""
FEW_CUT = 2
"""The most expressions from whose texts values are cut."""
MAX_LOOKED_AT = 60
"""The most pages of a sample by which suggestions are judged."""
MAX_WORK = 15_000_000
"""The most nodes that expressions may visit on the marked pages."""
MAX_JUDGED = 60_000_000
"""The most nodes that expressions may visit on the pages by which they are judged."""
MAX_ELEMENTS = 40_000
"""The most elements of a page without marks by which suggestions are judged."""
_TAG = re.compile(r"(^|[ >])[a-z][a-z0-9]*(?=[.#\[])")
_WRONG = 4.0
"""The cost of disagreeing, on every page, with what is known to be there."""
_RARE = 2.0
"""The cost of finding nothing on any page of the same sort as the marked ones."""


@dataclass(frozen=True)
class Cutting:
    """Makes expressions for a part of a text that is the value of a field: a name or a date.

    ``pages`` show what surrounds the values; words that differ on them are no part of the expression.
    """

    wanted: WantedMarks
    search: Search
    pages: tuple[SampledPage, ...]

    def cuts(self, candidate: Candidate) -> Iterator[Candidate]:
        """Yield expressions that cut the value from what another one finds.

        None are yielded if that one reads the value right already, or the values are unknown.
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
        """Yield expressions for text beside the elements within what is found, then for text between constant words."""
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
        """Return the value of an object's field: the recorded one, or a date in its text."""
        text = fold(plain_text(found[0])) if found else ""
        if not text or len(text) > MAX_LINE_LENGTH:
            return None
        before = known.value(self.wanted.field) if known is not None else ""
        if self.wanted.kind is not FieldKind.DATETIME:
            return before if before and before in text else None
        told = date_in(page, text)
        return told if told is not None else _moment(before)


def _is_right(wanted: Field, samples: Sequence[Sample]) -> bool:
    """Return whether a field reads the right value of most samples, and a wrong value of none."""
    outcomes = [sample.compare(wanted, sample.values(wanted)) for sample in samples]
    return SampleOutcome.WRONG not in outcomes and outcomes.count(SampleOutcome.RIGHT) > MOSTLY * len(outcomes)


def date_in(page: SampledPage, text: str) -> datetime | None:
    """Return the date in the longest part of a line that is one, None if no part is."""
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
    """An expression that finds all that is marked as right, and nothing that is marked as wrong.

    ``said`` says in words what it looks for, ``matches`` is what it finds on each of the marked pages. With ``page``,
    the field is to be read on the whole page. ``of`` is the number of pages by which it was judged. ``pages`` are those
    of them on which it finds something, ``disagrees`` those on which it differs from what is there, each with the
    reason. ``others`` are saved pages of other software on which it finds something, if it is a sign. The lower the
    ``cost``, the more robust the expression.
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
    """Return at most eight expressions for what is wanted; none if nothing is marked as right.

    Those come first that are likely to last, and right on the pages of the sample. ``software`` are saved pages by
    which signs are judged, without those in the folder ``own``.
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
    """Return the suggestions without repetitions, and with few of those that are mostly wrong.

    Some of these are kept, since what was read before may itself be wrong.
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
    """Return a key that suggestions share if they differ only in tags."""
    expression = suggestion.expression
    names = _TAG.sub(r"\1", expression.css) or expression.xpath
    found = tuple((page.record, page.found) for page in suggestion.pages)
    return names, expression.attribute, suggestion.matches, found


def looked_at(wanted: WantedMarks, sample: PageSample, own: frozenset[int]) -> Iterator[SampledPage]:
    """Yield the pages by which rules are judged: marked ones, others of their groups, and some of each other group."""
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
    """Return the sort key of a suggestion: its cost, with what it does on the pages by which it was judged."""
    judged = len(suggestion.disagrees) + suggestion.agrees
    wrong = len(suggestion.disagrees) / judged if judged else 0.0
    found = {verdict.record for verdict in suggestion.pages}
    rare = 1 - sum(record in found for record in own) / len(own) if own else 0.0
    shared = 1.0 if suggestion.others else 0.0
    written = suggestion.expression.css or suggestion.expression.xpath
    return suggestion.cost + _WRONG * (wrong + shared) + _RARE * rare, len(written), written

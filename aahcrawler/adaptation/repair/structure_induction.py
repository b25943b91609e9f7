"""Repair by structure: label a page's repeated posts with dates and authors, or its article."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from lxml.etree import _Element as Element

from aahcrawler.adaptation.repair.page_structure import Structure, Structures, left_out, less, whole
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.induction.headings import page_heading
from aahcrawler.induction.main_part import MainPart
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.induction.record_sets import Byline, Dated, Nature, Record, RecordSet, Region
from aahcrawler.induction.shown_dates import ShownDate
from aahcrawler.page.text import excerpt, fold, plain_text
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from knowledge_base.model import Extract, FieldKind

ENOUGH_TEXT = 400
"""The weight of running text that makes an article likely."""

MIN_ARTICLE = 40

ALONE = 0.75
"""The likelihood of one record relative to several: nothing repeats it."""

ASIDE = 0.5
"""The likelihood of records in a sidebar relative to others."""

_ASIDE = frozenset({"nav", "aside", "footer", "header"})
_PARTS = re.compile(r"\s+(?:[-–—|•»«/·]|::)\s+")


class StructureStrategy:
    """Finds the objects of an action by the structure that pages of any template share."""

    def __init__(self, structures: Structures | None = None) -> None:
        self._structures = structures or Structures()

    def label(self, question: Question) -> LabelledExample | None:
        """Return the records or the article of an HTML page; None if they cannot be determined.

        An example without objects is returned for comments alone: if there is an article, and no date outside of it.
        """
        page = question.page
        if not page.is_html:
            return None
        inducing = _Inducing(question, self._structures.of(page, question.application))
        return inducing.records() if question.action.many else inducing.article()


@dataclass(frozen=True)
class _Inducing:
    """One page and the results of induction on it."""

    question: Question
    structure: Structure

    @property
    def prepared(self) -> PreparedPage:
        return self.structure.prepared

    @property
    def sets(self) -> Sequence[RecordSet]:
        return self.structure.sets

    @property
    def part(self) -> MainPart | None:
        return self.structure.part

    def records(self) -> LabelledExample | None:
        action = self.question.action
        rivals = sorted(((self._worth(each), -self._place(each), each) for each in self._possible()), key=_by_worth)
        if not rivals:
            return self._none()
        merit, _, best = rivals[-1]
        runner_up = rivals[-2][0] if len(rivals) > 1 else 0.0
        of_page = not self._beside_article and action.run is None
        heading = self._heading(best) if of_page else None
        objects = [
            self._of_record(record, heading if number == 0 else None) for number, record in enumerate(best.records)
        ]
        known = tuple(labelled for labelled in objects if not _has_body(action) or "body" in labelled.labels)
        return self._example(known, merit, runner_up) if known else None

    def _possible(self) -> list[RecordSet]:
        signed = self.question.action.run is not None
        posts = [each for each in self.sets if each.nature is Nature.POSTS and self._is_signed(each) is signed]
        if self._beside_article and self.part is not None:
            posts = [each for each in posts if not self._lies_in_article(each)]
        return posts

    def _is_signed(self, each: RecordSet) -> bool:
        return any(record.body is not None and record.body.text is not None for record in each.records)

    @property
    def _beside_article(self) -> bool:
        """Return whether the level's pages are about one object, and the action's objects belong to it."""
        others = (action for action in self.question.level.actions if isinstance(action, Extract))
        return any(not action.many and action.name != self.question.action.name for action in others)

    def _lies_in_article(self, each: RecordSet) -> bool:
        if self.part is None:
            return False
        body = frozenset(self.part.body.elements)
        return any(not body.isdisjoint((above, *above.iterancestors())) for above in (each.records[0].element,))

    def _worth(self, each: RecordSet) -> float:
        """Return the likelihood that a set is wanted, by the fields found and its share of the page's text."""
        most = max((self._text(other) for other in self._possible()), default=0) or 1
        merit = each.confidence * (0.6 + 0.4 * self._text(each) / most) * (ALONE if len(each.records) == 1 else 1.0)
        return round(merit * (ASIDE if each.aside else 1.0), 4)

    def _text(self, each: RecordSet) -> int:
        outline = self.prepared.outline
        places = [outline.places[root] for record in each.records for root in record.elements if root in outline.places]
        return sum(outline.free(place) for place in places)

    def _place(self, each: RecordSet) -> int:
        return self.prepared.outline.places.get(each.records[0].element, 0)

    def _heading(self, each: RecordSet) -> Label | None:
        """Return the heading of the page of the records."""
        outline = self.prepared.outline
        place = self._place(each)
        found = page_heading(outline, self.prepared.names, place, ())
        titled = found[1] if found else self._titled(place)
        return _label_of_text(outline.elements[titled]) if titled is not None else None

    def _titled(self, before: int) -> int | None:
        """Return the place of the last element before another whose whole text is a part of the page's title."""
        outline = self.prepared.outline
        parts = {fold(part).casefold() for part in _PARTS.split(self.prepared.names.title)}
        wanted = {part for part in (*parts, fold(self.prepared.names.title).casefold()) if len(part) > 1}
        for place in range(before - 1, -1, -1):
            shown = outline.free(place) + outline.linked(place)
            if 2 <= shown <= 600 and excerpt(outline.elements[place], 300).casefold() in wanted:
                return place
        return None

    def _none(self) -> LabelledExample | None:
        """Say that there are no comments: an article without any, and no further dates that could be those of some."""
        part, action = self.part, self.question.action
        if not self._beside_article or part is None or action.always or self.sets or action.run is not None:
            return None
        if any(self._may_be_of_comment(shown, part) for shown in self.prepared.shown):
            return None
        return self._example((), self._certainty(part), 0.0)

    def _may_be_of_comment(self, shown: ShownDate, part: MainPart) -> bool:
        """Return whether a date could be that of a comment: behind the text of the article, or set apart within it."""
        outline = self.prepared.outline
        if shown.place < part.place or (part.date is not None and shown.moment == part.date.moment):
            return False
        within = any(outline.contains(outline.places[element], shown.place) for element in part.body.elements)
        if within:
            return shown.declared
        above = {outline.tags[place] for place in (shown.place, *outline.ancestors(shown.place))}
        return above.isdisjoint(_ASIDE) or ("article" in above and above.isdisjoint(("nav", "aside")))

    def article(self) -> LabelledExample | None:
        part = self.part
        if part is None or part.running < MIN_ARTICLE or not part.body.elements:
            return None
        outline = self.prepared.outline
        beside = [outline.elements[part.heading]] if part.heading is not None else []
        beside += [each.element for each in (part.author, part.date) if each is not None]
        body = whole(self.structure.extended(part.body, frozenset(beside)), frozenset(beside))
        labels: dict[str, Label] = {"body": _label_of_region(less(body, self._left_out), self._kind_of_body)}
        if part.heading is not None and part.title:
            labels["title"] = _label_of_text(outline.elements[part.heading])
        labels.update(self._signature(part.author, part.date or self._only_date(part)))
        rivals = [each for each in self.sets if each.nature is Nature.POSTS and not self._lies_in_article(each)]
        before = [each for each in rivals if self._place(each) < part.place and not each.aside]
        runner_up = max((each.confidence for each in before), default=0.0)
        labelled = LabelledObject((outline.elements[part.holder],), self._wanted(labels))
        return self._example((labelled,), self._certainty(part), runner_up)

    def _only_date(self, part: MainPart) -> Dated | None:
        """Return the one date that a page shows beside its article and its records; None if there are several."""
        outline = self.prepared.outline
        records = [outline.places[root] for each in self.sets for record in each.records for root in record.elements]
        taken = (*records, *(outline.places[element] for element in part.body.elements))
        exact = [each for each in self.prepared.shown if not each.read.vague]
        free = [each for each in exact if not any(outline.contains(root, each.place) for root in taken)]
        if not free or len({each.moment for each in free}) > 1:
            return None
        return Dated(free[0].read, outline.elements[free[0].place], free[0].attribute)

    def _certainty(self, part: MainPart) -> float:
        text = min(1.0, part.running / ENOUGH_TEXT)
        identified = 0.5 * bool(part.title) + 0.3 * (part.date is not None) + 0.2 * (part.author is not None)
        linked = part.linked / max(part.running, 1)
        return round((0.5 + 0.25 * text + 0.25 * identified) * (1.0 if linked <= 1 else 0.5), 4)

    def _of_record(self, record: Record, heading: Label | None) -> LabelledObject:
        labels: dict[str, Label] = dict(self._signature(record.author, record.date))
        if record.body is not None:
            beside = frozenset(each.element for each in (record.author, record.date) if each is not None)
            body = _label_of_region(less(whole(record.body, beside), self._left_out), self._kind_of_body)
            if body.value:
                labels["body"] = body
        if heading is not None:
            labels["title"] = heading
        elif record.heading is not None:
            labels["title"] = _label_of_text(record.heading)
        return LabelledObject(record.elements, self._wanted(labels))

    def _signature(self, author: Byline | None, date: Dated | None) -> Mapping[str, Label]:
        labels: dict[str, Label] = {}
        if author is not None:
            url = resolve(self.question.page.base_url, author.href) if author.href else None
            labels["author"] = Label((author.element,), Person(fold(author.name), url))
        if date is not None and date.told is not None:
            labels["date"] = Label((date.element,), date.told, date.attribute)
        return labels

    @cached_property
    def _left_out(self) -> frozenset[Element]:
        return left_out(self.question.action, self.question.page)

    def _wanted(self, labels: Mapping[str, Label]) -> Mapping[str, Label]:
        """Keep the labels of the action's fields."""
        names = {field.name for field in self.question.action.fields}
        return {name: label for name, label in labels.items() if name in names}

    @property
    def _kind_of_body(self) -> FieldKind:
        kinds = (field.kind for field in self.question.action.fields if field.name == "body")
        return next(kinds, FieldKind.TEXT)

    def _example(self, objects: tuple[LabelledObject, ...], confidence: float, runner_up: float) -> LabelledExample:
        return LabelledExample(self.question.page, Method.INDUCED, objects, min(1.0, confidence), min(1.0, runner_up))


def _by_worth(rival: tuple[float, int, RecordSet]) -> tuple[float, int]:
    return rival[:2]


def _has_body(action: Extract) -> bool:
    return any(field.name == "body" for field in action.fields)


def _label_of_text(element: Element) -> Label:
    return Label((element,), fold(plain_text(element)))


def _label_of_region(region: Region, kind: FieldKind) -> Label:
    value = region.html() if kind is FieldKind.HTML and region.text is None else region.plain()
    return Label(region.elements, value, "", region.without)

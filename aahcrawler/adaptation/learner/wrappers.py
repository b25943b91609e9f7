"""Learns an extraction action, in the terms of the knowledge base, from objects that were found by other means.

This is wrapper induction: from the places of the objects and values of a few pages to expressions that find the same
on all pages of the template. What is learned is tried on every lesson before it is returned.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from lxml.etree import XPath
from lxml.html import HtmlElement

from aahcrawler.adaptation.learner.cutting_runs import TITLE, cut
from aahcrawler.adaptation.learner.features import Features, words_of_pages
from aahcrawler.adaptation.learner.items import Budget, Items, ItemSearch, Plot
from aahcrawler.adaptation.learner.learned import Learned, LearnedField, LearnedIdentity, Support
from aahcrawler.adaptation.learner.locating import FieldSearch, Located, joined
from aahcrawler.adaptation.learner.numbering import Numbered, NumberSearch
from aahcrawler.adaptation.learner.paths import Written
from aahcrawler.adaptation.learner.proving import proven
from aahcrawler.adaptation.learner.samples import Reading, Sample, refined, whereabouts
from aahcrawler.adaptation.lessons import Example, Lesson
from aahcrawler.helper.bounds import is_too_deep
from aahcrawler.helper.extraction import BODY
from aahcrawler.helper.fields import FieldReader
from aahcrawler.helper.ownership import nesting
from aahcrawler.page import Page
from knowledge_base.model import Extract, Identity

LARGEST_PAGE = 50_000
"""Elements of a page that anything is learned from."""

MOST_LESSONS = 12
FEWEST = 3
"""Pages with objects of which one may be wrong altogether."""

MOST_LEFT_OUT = 2
"""Lessons that are left aside, each in its turn, where all of them do not go together."""

MOST_EXAMPLES = 150
"""Objects that fields are learned from, those of the first pages first; all pages count for the items."""

WORK = 3_000_000
"""Elements that expressions may look at while one action is learned."""

PLENTY = 1 << 40
_size = XPath("count(descendant-or-self::*)")


def learn(lessons: Sequence[Lesson], failed: Extract) -> Learned | None:
    """Return an action that finds on every lesson's page the objects that the lesson says; None where none does.

    Type, ``always``, ``instead``, ``parent``, and of each field its kind and how its text is read are those of the
    ``failed`` action, and so is the prefix of the identity: the addresses of objects stay what they were. A field
    that would be wrong on any object is left out and noted; without a body, where the failed action has one, there is
    no action. Where no expression fits all lessons, one that fits most may be taken; the others are named in
    ``support.dissenting``. Lessons without examples are pages on which nothing may be found.

    Deterministic. The work is bounded whatever the pages hold; nothing is raised for what they hold.
    """
    readable = [lesson for lesson in lessons if _is_readable(lesson.page)]
    usable = tuple(refined(lesson, failed) for lesson in readable[:MOST_LESSONS])
    known, budget = Features(words_of_pages([lesson.page.url for lesson in usable])), Budget(WORK)
    for lessons_taken in _choices(usable):
        learned = _learn(lessons_taken, failed, known, budget)
        proved = proven(learned, failed, usable) if learned is not None else None
        if proved is not None:
            return proved
    return None


def _choices(lessons: Sequence[Lesson]) -> Iterator[Sequence[Lesson]]:
    """Yield all lessons, then, where several are left without it, all but one, beginning with those least sure."""
    yield lessons
    full = [lesson for lesson in lessons if lesson.examples]
    if len(full) >= FEWEST:
        for doubtful in sorted(full, key=lambda lesson: lesson.confidence - lesson.runner_up)[:MOST_LEFT_OUT]:
            yield [lesson for lesson in lessons if lesson is not doubtful]


def _learn(usable: Sequence[Lesson], failed: Extract, known: Features, budget: Budget) -> Learned | None:
    plots = tuple(_plot(lesson, failed) for lesson in usable)
    if not any(plot.items for plot in plots):
        return None
    items = ItemSearch(plots, known, failed.many, budget).run(failed.items)
    if items is None:
        return None
    draft = _Draft(failed, usable, items, known, budget)
    return draft.of_runs() if failed.run is not None else draft.of_elements()


def _is_readable(page: Page) -> bool:
    tree = page.tree
    return int(_size(tree)) <= LARGEST_PAGE and not is_too_deep(tree)


def _plot(lesson: Lesson, failed: Extract) -> Plot:
    tree = lesson.page.tree
    if failed.run is not None:
        container = _container(lesson.examples)
        anchors: Iterable[HtmlElement] = (container,) if container is not None else ()
    else:
        anchors = (anchor for example in lesson.examples if (anchor := anchor_of(example)) is not None)
    return Plot(tree, int(_size(tree)), tuple(dict.fromkeys(anchors)))


def anchor_of(example: Example) -> HtmlElement | None:
    """Return the element of an example that its item is to be: the one that holds the body, else the first."""
    spot = example.spots.get(BODY)
    first = spot.elements[0] if spot is not None and spot.elements else None
    above = {first, *first.iterancestors()} if first is not None else set()
    anchor = next((element for element in example.elements if element in above), next(iter(example.elements), None))
    return anchor if isinstance(anchor, HtmlElement) else None


def _container(examples: Sequence[Example]) -> HtmlElement | None:
    """Return the innermost element that all examples lie in, and the headings that stand above them."""
    held = [element for example in examples for element in example.elements]
    held += [element for example in examples if TITLE in example.spots for element in example.spots[TITLE].elements]
    lines = [list(element.iterancestors())[::-1] for element in held]
    common: HtmlElement | None = None
    for level in zip(*lines, strict=False):
        if any(each is not level[0] for each in level) or not isinstance(level[0], HtmlElement):
            break
        common = level[0]
    return common


@dataclass
class _Draft:
    """An action being put together; ``items`` says where its objects are."""

    failed: Extract
    lessons: Sequence[Lesson]
    items: Items
    known: Features
    budget: Budget

    def of_runs(self) -> Learned:
        """Take the fields of a failed action as they are: they look at elements that are made of runs."""
        failed = self.failed
        learned = self._learned(tuple(map(LearnedField.of, failed.fields)), ())
        run = None
        if failed.run is not None:
            run = cut(failed.run, self.lessons, self.items.plots, self.known, self.budget)
        return replace(learned, run=run, identity=LearnedIdentity.of(failed.identity) if failed.identity else None)

    def of_elements(self) -> Learned | None:
        examples = self._examples()
        if not examples:
            return None
        located = [self._locate(name, examples) for name in dict.fromkeys(each.name for each in self.failed.fields)]
        fields = tuple(field for each in located for field in each.fields)
        if not fields or (self._has_body and not any(field.name == BODY for field in fields)):
            return None
        notes = tuple(each.note for each in located if each.note)
        learned = self._learned(fields, notes)
        if self.failed.identity is None:
            return _with_body(learned) if not self.failed.many else None
        identity = self._identify(self.failed.identity, examples, fields)
        return replace(learned, identity=identity) if identity is not None else None

    @property
    def _has_body(self) -> bool:
        return any(field.name == BODY for field in self.failed.fields)

    def _learned(self, fields: tuple[LearnedField, ...], notes: tuple[str, ...]) -> Learned:
        failed = self.failed
        return Learned(
            name=failed.name,
            type=failed.type,
            items=self.items.expressions,
            fields=fields,
            many=failed.many,
            always=failed.always,
            first_type=failed.first_type,
            instead=tuple((type_, Written.of(sign)) for type_, sign in failed.instead),
            parent=LearnedIdentity.of(failed.parent) if failed.parent is not None else None,
            support=Support(0, 0, 0),
            notes=notes,
        )

    def _examples(self) -> list[tuple[Example, Sample]]:
        """Return the examples of the lessons that agree, with their items, as samples without a spot."""
        found: list[tuple[Example, Sample]] = []
        for lesson, plot, agrees in zip(self.lessons, self.items.plots, self.items.agreeing, strict=True):
            if not agrees or not plot.items or len(plot.items) != len(lesson.examples):
                continue
            reading = Reading(
                lesson.page, FieldReader(whereabouts(lesson.page), PLENTY), nesting(plot.items), len(found)
            )
            for number, (example, item) in enumerate(zip(lesson.examples, plot.items, strict=True)):
                found.append((example, Sample(reading, item, int(_size(item)), None, number == 0)))
        return found[:MOST_EXAMPLES]

    def _locate(self, name: str, examples: Sequence[tuple[Example, Sample]]) -> Located:
        samples = [replace(sample, spot=example.spots.get(name)) for example, sample in examples]
        others = [_others(example, sample.item) for example, sample in examples]
        wanted = [field for field in self.failed.fields if field.name == name]
        of_page = [_is_apart(sample, beside) for sample, beside in zip(samples, others, strict=True)]
        first = [sample.first for sample, apart in zip(samples, of_page, strict=True) if apart]
        if (
            not first
            or not all(first)
            or all(sample.spot is None or apart for sample, apart in zip(samples, of_page, strict=True))
        ):
            return FieldSearch(wanted, samples, others, self.known, self.budget).run()
        within = [
            replace(sample, spot=None) if apart else sample for sample, apart in zip(samples, of_page, strict=True)
        ]
        beyond = [
            sample if apart else replace(sample, spot=None) for sample, apart in zip(samples, of_page, strict=True)
        ]
        items = [field for field in wanted if not field.page] or wanted
        page = [field for field in wanted if field.page] or wanted
        page = [replace(field, first_only=self.failed.many) for field in page]
        return joined(
            FieldSearch(items, within, others, self.known, self.budget).run(),
            FieldSearch(page, beyond, others, self.known, self.budget).run(),
        )

    def _identify(
        self, identity: Identity, examples: Sequence[tuple[Example, Sample]], fields: Sequence[LearnedField]
    ) -> LearnedIdentity | None:
        numbered = [
            Numbered(sample.item, sample.reading.number, example.fragment, sample.reading.owners)
            for example, sample in examples
        ]
        names = tuple(field.name for field in fields)
        return NumberSearch(numbered, identity, self.known, self.budget, names).run()


def _with_body(learned: Learned) -> Learned:
    """Let the one object of a page be none where it has no body: holders of articles hold other things as well."""
    body = next((field for field in learned.fields if field.name == BODY), None)
    sources = [each.selector.source for each in body.selects] if body is not None and not body.page else []
    if not sources or not all(source.startswith("descendant::") for source in sources) or learned.many:
        return learned
    held = " or ".join(sources)
    items = [
        Written(xpath=f"{source}[{held}]") if "|" not in (source := each.selector.source) else each
        for each in learned.items
    ]
    return replace(learned, items=tuple(items))


def _is_apart(sample: Sample, beside: Sequence[HtmlElement]) -> bool:
    """Say whether a value stands outside of the object: the page as a whole shows it."""
    if sample.spot is None or not sample.spot.elements:
        return False
    above = {sample.spot.elements[0], *sample.spot.elements[0].iterancestors()}
    return sample.item not in above and above.isdisjoint(beside)


def _others(example: Example, item: HtmlElement) -> tuple[HtmlElement, ...]:
    """Return the elements of an example that do not lie in its item."""
    within = {item, *item.iterdescendants()}
    return tuple(each for each in example.elements if isinstance(each, HtmlElement) and each not in within)

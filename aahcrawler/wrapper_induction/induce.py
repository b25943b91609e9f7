"""Induces an extraction action of the knowledge base from labelled pages (wrapper induction).

From the places of objects and values on a few pages it makes expressions that find the same on all pages of the
template. `induce` returns an action that is proven on the examples, for a crawl to use without review; `propose`
returns the best available one, for a person to review.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lxml.etree import XPath, XPathError
from lxml.html import HtmlElement

from aahcrawler.helper.detection import is_too_deep
from aahcrawler.helper.extraction.extraction import BODY, Extraction
from aahcrawler.helper.extraction.field_reader import FieldReader, nesting
from aahcrawler.page import Page, markup
from aahcrawler.page.text import excerpt, fold, plain_text
from aahcrawler.webobject import Value, WebObject
from aahcrawler.wrapper_induction.element_features import Features, words_of_pages
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject
from aahcrawler.wrapper_induction.field_selectors import FieldInduction, Located, joined
from aahcrawler.wrapper_induction.identity_selectors import IdentityInduction, Numbered
from aahcrawler.wrapper_induction.item_selectors import MIN_FIT, ItemInduction, ItemPage, Items, SearchBudget, found_by
from aahcrawler.wrapper_induction.robust_paths import Expression, compiled
from aahcrawler.wrapper_induction.samples import (
    Sample,
    SampleOutcome,
    SampleReading,
    comparable,
    expected_at,
    outcome_of,
    page_location,
    refined,
)
from aahcrawler.wrapper_induction.wrapper import Agreement, Support, Wrapper
from knowledge_base.model import Extract, Field, FieldKind, Identity, Run
from knowledge_base.selectors import Selector, compile_selector

PLENTY = 1 << 40

MIN_AGREEING = 0.65
MIN_BODIES = 0.75
MIN_RUNS = 0.6


def proven(wrapper: Wrapper, schema: Extract, examples: Sequence[LabelledExample]) -> Wrapper | None:
    """Return the action with its support; None if it fails on the examples that it was induced from."""
    action = wrapper.action
    pages = absent = objects = 0
    dissenting: list[str] = []
    tallies: defaultdict[str, Counter[SampleOutcome]] = defaultdict(Counter)
    for example in examples:
        found = run(action, example.page)
        agrees = found is not None and _agrees(found, example.objects, schema)
        compared = _compare(found or [], example, schema) if agrees and schema.run is None else {}
        if not agrees or not _has_bodies(compared):
            dissenting.append(example.page.url)
            if not example.objects:
                return None
        elif not example.objects:
            absent += 1
        else:
            pages += 1
            objects += len(example.objects)
            for name, tally in compared.items():
                tallies[name].update(tally)
    full = sum(bool(example.objects) for example in examples)
    if pages < MIN_AGREEING * full:
        return None
    agreements = tuple(_agreement(name, tally) for name, tally in tallies.items())
    return replace(wrapper, support=Support(pages, absent, objects, tuple(dissenting), agreements))


def run(action: Extract, page: Page) -> list[WebObject] | None:
    """Return the objects that an action extracts from a page; None if it fails on it."""
    location = page_location(page)
    extraction = Extraction(action, location, FieldReader(location, PLENTY))
    try:
        return [each.object for each in extraction.objects()]
    except XPathError:
        return None


def _agrees(found: Sequence[WebObject], objects: Sequence[LabelledObject], schema: Extract) -> bool:
    if schema.run is None or not objects:
        return len(found) == len(objects)
    bodies = Counter(fold(body) for each in found if isinstance(body := each.first(BODY), str))
    wanted = Counter(
        fold(label.value) for each in objects if (label := each.labels.get(BODY)) and isinstance(label.value, str)
    )
    same = sum((bodies & wanted).values())
    return same >= MIN_RUNS * sum(wanted.values()) and len(found) * MIN_RUNS <= len(objects)


def _has_bodies(compared: Mapping[str, Counter[SampleOutcome]]) -> bool:
    """Return whether enough of the bodies of a page are right."""
    body = compared.get(BODY)
    if body is None:
        return True
    return body[SampleOutcome.RIGHT] + body[SampleOutcome.NEAR] >= MIN_BODIES * (
        body.total() - body[SampleOutcome.BEYOND]
    )


def _compare(
    found: Sequence[WebObject], example: LabelledExample, schema: Extract
) -> Mapping[str, Counter[SampleOutcome]]:
    """Return how often each field of the objects of a page agrees with the example."""
    tallies: defaultdict[str, Counter[SampleOutcome]] = defaultdict(Counter)
    fields = {field.name: field for field in reversed(schema.fields)}
    for number, (each, labelled) in enumerate(zip(found, example.objects, strict=True)):
        for name, field in fields.items():
            label = labelled.labels.get(name)
            if field.first_only and (number or label is None):
                continue
            outcome = _outcome(each.properties.get(name, ()), label, field, example.page)
            if outcome is not None:
                tallies[name][outcome] += 1
    return tallies


def _outcome(values: Sequence[Value], label: Label | None, field: Field, page: Page) -> SampleOutcome | None:
    if label is None:
        return SampleOutcome.BEYOND if values else None
    if field.kind is FieldKind.HTML:
        written = [value for value in values if isinstance(value, str)]
        values = [plain_text(markup.parse(value.encode("utf-8", "replace"))) for value in written]
    return outcome_of(values, expected_at(label, field, page))


def _agreement(name: str, tally: Counter[SampleOutcome]) -> Agreement:
    right, wrong, near = tally[SampleOutcome.RIGHT], tally[SampleOutcome.WRONG], tally[SampleOutcome.NEAR]
    return Agreement(name, right, wrong, tally[SampleOutcome.MISSING], tally[SampleOutcome.BEYOND], near)


MAX_PAGE_SIZE = 50_000
"""Elements of a page that anything is induced from."""

MAX_EXAMPLES = 12
MIN_PAGES_WITH_OBJECTS = 3
"""The number of pages with objects from which one of them may be altogether wrong."""

MAX_LEFT_OUT = 2
"""The most examples that are left aside, one at a time, if no action fits all of them."""

MAX_OBJECTS = 150
"""Objects that fields are induced from, those of the first pages first; all pages count for the items."""

WORK = 3_000_000
"""Elements that expressions may look at while one action is induced."""

_size = XPath("count(descendant-or-self::*)")


def induce(examples: Sequence[LabelledExample], schema: Extract) -> Wrapper | None:
    """Return an action that finds on every page exactly the objects of its example; None if there is none.

    The ``schema`` is an action with the names and kinds of the fields that are wanted; its expressions that still work
    are kept. Type, ``always``, ``instead``, ``parent``, how the text of each field is read and the prefix of the
    identity are the schema's, so that the URLs of objects do not change. A field that would be wrong on any object
    is left out and noted; without a body, if the schema has one, there is no action. If no expression fits all
    examples, one that fits most may be used; the others are named in ``support.dissenting``. Examples without objects
    are pages on which nothing may be found.

    Deterministic. The work is bounded and nothing is raised, whatever the pages contain.
    """
    readable = [example for example in examples if _is_readable(example.page)]
    usable = tuple(refined(example, schema) for example in readable[:MAX_EXAMPLES])
    known, budget = Features(words_of_pages([example.page.url for example in usable])), SearchBudget(WORK)
    for chosen in _choices(usable):
        induction = _induction(chosen, schema, known, budget)
        wrapper = induction.wrapper() if induction is not None else None
        proved = proven(wrapper, schema, usable) if wrapper is not None else None
        if proved is not None:
            return proved
    return None


def propose(
    examples: Sequence[LabelledExample], schema: Extract, foreign: Collection[str]
) -> tuple[Wrapper, float] | None:
    """Return the best action for a person to review, and how well its items fit; None if none finds most of them.

    The fit is the harmonic mean of precision and recall of the items, at least `MIN_FIT`; with 1 exactly the items of
    every page are found. Fields that no expression reads are left out, and the action is tried on no page. No name in
    ``foreign`` is used: these are words of the pages, not of the template.
    """
    usable = tuple(refined(example, schema) for example in examples if _is_readable(example.page))
    induction = _induction(usable, schema, Features(foreign), SearchBudget(WORK), MIN_FIT)
    return (induction.proposal(), induction.items.fit) if induction is not None else None


def _choices(examples: Sequence[LabelledExample]) -> Iterator[Sequence[LabelledExample]]:
    """Yield all examples, then, if several remain, all but one at a time, beginning with those least sure."""
    yield examples
    full = [example for example in examples if example.objects]
    if len(full) >= MIN_PAGES_WITH_OBJECTS:
        for doubtful in sorted(full, key=lambda example: example.confidence - example.runner_up)[:MAX_LEFT_OUT]:
            yield [example for example in examples if example is not doubtful]


def _induction(
    examples: Sequence[LabelledExample], schema: Extract, known: Features, budget: SearchBudget, least_fit: float = 1.0
) -> "_Induction | None":
    pages = tuple(_page(example, schema) for example in examples)
    if not any(page.items for page in pages):
        return None
    items = ItemInduction(pages, known, schema.many, budget).run(schema.items, least_fit)
    return _Induction(schema, examples, items, known, budget) if items is not None else None


def _is_readable(page: Page) -> bool:
    tree = page.tree
    return int(_size(tree)) <= MAX_PAGE_SIZE and not is_too_deep(tree)


def _page(example: LabelledExample, schema: Extract) -> ItemPage:
    tree = example.page.tree
    if schema.run is not None:
        container = _container(example.objects)
        anchors: Iterable[HtmlElement] = (container,) if container is not None else ()
    else:
        anchors = (anchor for labelled in example.objects if (anchor := anchor_of(labelled)) is not None)
    return ItemPage(tree, int(_size(tree)), tuple(dict.fromkeys(anchors)))


def anchor_of(labelled: LabelledObject) -> HtmlElement | None:
    """Return the element of an object that becomes its item: the one that contains the body, else the first."""
    label = labelled.labels.get(BODY)
    first = label.elements[0] if label is not None and label.elements else None
    above = {first, *first.iterancestors()} if first is not None else set()
    anchor = next((element for element in labelled.elements if element in above), next(iter(labelled.elements), None))
    return anchor if isinstance(anchor, HtmlElement) else None


def _container(objects: Sequence[LabelledObject]) -> HtmlElement | None:
    """Return the innermost element that contains all objects, and the headings above them."""
    held = [element for labelled in objects for element in labelled.elements]
    held += [element for labelled in objects if TITLE in labelled.labels for element in labelled.labels[TITLE].elements]
    lines = [list(element.iterancestors())[::-1] for element in held]
    common: HtmlElement | None = None
    for level in zip(*lines, strict=False):
        if any(each is not level[0] for each in level) or not isinstance(level[0], HtmlElement):
            break
        common = level[0]
    return common


@dataclass
class _Induction:
    """An action under construction; ``items`` are the elements of its objects."""

    schema: Extract
    examples: Sequence[LabelledExample]
    items: Items
    known: Features
    budget: SearchBudget

    def wrapper(self) -> Wrapper | None:
        """Return the action, None if too little of it can be induced."""
        return Wrapper(self._of_runs()) if self.schema.run is not None else self._of_elements()

    def proposal(self) -> Wrapper:
        """Return the parts of the action that can be induced, each with one expression if that reads everything.

        Without numbers, objects are distinguished by their fields.
        """
        objects = self._objects()
        located = self._located(objects)
        fields = tuple(field for each in located for field in each.fields if field.selectors or field.declared)
        identity = None
        if self.schema.identity is not None:
            identity = self._identify(self.schema.identity, objects, fields, spare=False) or Identity(
                (), fields=(BODY,)
            )
        action = replace(self._action(fields), items=compiled(self.items.expressions[:1]), identity=identity)
        return Wrapper(action, notes=tuple(each.note for each in located if each.note))

    def _of_runs(self) -> Extract:
        """Take the fields of the schema unchanged, since they apply to elements made from runs."""
        action = replace(self._action(self.schema.fields), identity=self.schema.identity)
        if self.schema.run is None:
            return action
        return replace(action, run=cut(self.schema.run, self.examples, self.items.pages, self.known, self.budget))

    def _of_elements(self) -> Wrapper | None:
        objects = self._objects()
        if not objects:
            return None
        located = self._located(objects)
        fields = tuple(field for each in located for field in each.fields)
        has_body = any(field.name == BODY for field in self.schema.fields)
        if not fields or (has_body and not any(field.name == BODY for field in fields)):
            return None
        notes = tuple(each.note for each in located if each.note)
        action = self._action(fields)
        if self.schema.identity is None:
            return Wrapper(_with_body(action), notes=notes) if not self.schema.many else None
        identity = self._identify(self.schema.identity, objects, fields)
        return Wrapper(replace(action, identity=identity), notes=notes) if identity is not None else None

    def _action(self, fields: tuple[Field, ...]) -> Extract:
        return replace(self.schema, items=compiled(self.items.expressions), fields=fields, identity=None, run=None)

    def _objects(self) -> list[tuple[LabelledObject, Sample]]:
        """Return the objects of the examples that agree, with their items, as samples without a label."""
        found: list[tuple[LabelledObject, Sample]] = []
        for example, page, agrees in zip(self.examples, self.items.pages, self.items.agreeing, strict=True):
            if not agrees or not page.items or len(page.items) != len(example.objects):
                continue
            reading = SampleReading(
                example.page, FieldReader(page_location(example.page), PLENTY), nesting(page.items), len(found)
            )
            for number, (labelled, item) in enumerate(zip(example.objects, page.items, strict=True)):
                found.append((labelled, Sample(reading, item, int(_size(item)), None, number == 0)))
        return found[:MAX_OBJECTS]

    def _located(self, objects: Sequence[tuple[LabelledObject, Sample]]) -> list[Located]:
        return [self._locate(name, objects) for name in dict.fromkeys(each.name for each in self.schema.fields)]

    def _locate(self, name: str, objects: Sequence[tuple[LabelledObject, Sample]]) -> Located:
        samples = [replace(sample, label=labelled.labels.get(name)) for labelled, sample in objects]
        others = [_others(labelled, sample.item) for labelled, sample in objects]
        wanted = [field for field in self.schema.fields if field.name == name]
        of_page = [_is_apart(sample, beside) for sample, beside in zip(samples, others, strict=True)]
        first = [sample.first for sample, apart in zip(samples, of_page, strict=True) if apart]
        if (
            not first
            or not all(first)
            or all(sample.label is None or apart for sample, apart in zip(samples, of_page, strict=True))
        ):
            return FieldInduction(wanted, samples, others, self.known, self.budget).run()
        within = [
            replace(sample, label=None) if apart else sample for sample, apart in zip(samples, of_page, strict=True)
        ]
        beyond = [
            sample if apart else replace(sample, label=None) for sample, apart in zip(samples, of_page, strict=True)
        ]
        items = [field for field in wanted if not field.page] or wanted
        page = [field for field in wanted if field.page] or wanted
        page = [replace(field, first_only=self.schema.many) for field in page]
        return joined(
            FieldInduction(items, within, others, self.known, self.budget).run(),
            FieldInduction(page, beyond, others, self.known, self.budget).run(),
        )

    def _identify(
        self,
        identity: Identity,
        objects: Sequence[tuple[LabelledObject, Sample]],
        fields: Sequence[Field],
        *,
        spare: bool = True,
    ) -> Identity | None:
        numbered = [
            Numbered(sample.item, sample.reading.number, labelled.fragment, sample.reading.owners)
            for labelled, sample in objects
        ]
        names = tuple(field.name for field in fields)
        return IdentityInduction(numbered, identity, self.known, self.budget, names, spare).run()


def _with_body(action: Extract) -> Extract:
    """Require a body for the only object of a page, as containers of articles contain other things as well."""
    body = next((field for field in action.fields if field.name == BODY), None)
    sources = [each.source for each in body.selectors] if body is not None and not body.page else []
    if not sources or not all(source.startswith("descendant::") for source in sources) or action.many:
        return action
    held = " or ".join(sources)
    items = (
        compile_selector(xpath=f"{each.source}[{held}]") if "|" not in each.source else each for each in action.items
    )
    return replace(action, items=tuple(items))


def _is_apart(sample: Sample, beside: Sequence[HtmlElement]) -> bool:
    """Return whether a value is outside of the object, as it belongs to the whole page."""
    if sample.label is None or not sample.label.elements:
        return False
    above = {sample.label.elements[0], *sample.label.elements[0].iterancestors()}
    return sample.item not in above and above.isdisjoint(beside)


def _others(labelled: LabelledObject, item: HtmlElement) -> tuple[HtmlElement, ...]:
    """Return the elements of an object that do not lie in its item."""
    within = {item, *item.iterdescendants()}
    return tuple(each for each in labelled.elements if isinstance(each, HtmlElement) and each not in within)


AUTHOR, TITLE = "author", "title"
MAX_LABEL_LENGTH = 300
MIN_PAGES = 2


def cut(
    run: Run, examples: Sequence[LabelledExample], containers: Sequence[ItemPage], known: Features, budget: SearchBudget
) -> Run:
    """Return the schema's run, completed by headings and signatures of the examples that it misses.

    ``containers`` has, for each example, the one item that was found for it, or None. A part that no expression finds
    exactly is left unchanged.
    """
    titled = _parts(examples, containers, TITLE)
    if any(page.items for page in titled):
        # What is around a heading's words are at most tools, which the helper leaves out.
        heading = _finding(titled, known, budget, around=True)
        run = replace(run, headings=(*compiled(heading), *run.headings))
    signed = _parts(examples, containers, AUTHOR)
    if not _all_found(run.signature, signed):
        run = replace(run, signature=(*run.signature, *compiled(_finding(signed, known, budget))))
    return run


def _parts(examples: Sequence[LabelledExample], containers: Sequence[ItemPage], name: str) -> tuple[ItemPage, ...]:
    """Return the elements whose whole text is a value of a field, within the container of each page that has one."""
    found: list[ItemPage] = []
    for example, container in zip(examples, containers, strict=True):
        for root in container.items[:1]:
            within = set(root.iterdescendants())
            labels = (labelled.labels[name] for labelled in example.objects if name in labelled.labels)
            shown = (label.elements[0] for label in labels if _says(label))
            items = dict.fromkeys(each for each in shown if isinstance(each, HtmlElement) and each in within)
            found.append(ItemPage(root, container.size, tuple(items)))
    return tuple(found)


def _says(label: Label) -> bool:
    """Return whether a label has one element, whose whole visible text is its value."""
    return len(label.elements) == 1 and fold(excerpt(label.elements[0], MAX_LABEL_LENGTH)) == comparable(label.value)


def _finding(
    parts: tuple[ItemPage, ...], known: Features, budget: SearchBudget, *, around: bool = False
) -> tuple[Expression, ...]:
    """Return the expressions that find these elements and no others; empty if there are none.

    With ``around``, an element may be found in place of the one that it contains.
    """
    if sum(bool(page.items) for page in parts) < MIN_PAGES:
        # The names of one page's headings may contain only their words.
        return ()
    items = ItemInduction(parts, known, True, budget).run()
    if items is None or not all(
        found.items == page.items or (around and _hold(found.items, page.items))
        for found, page in zip(items.pages, parts, strict=True)
    ):
        return ()
    return items.expressions[:1]


def _hold(found: Sequence[HtmlElement], wanted: Sequence[HtmlElement]) -> bool:
    """Return whether each element is, or contains, the wanted one with the same index."""
    pairs = zip(found, wanted, strict=False)
    return len(found) == len(wanted) and all(inner in (outer, *outer.iterdescendants()) for outer, inner in pairs)


def _all_found(selectors: Sequence[Selector], parts: Sequence[ItemPage]) -> bool:
    """Return whether expressions find each of some elements, or an element around or in it."""
    for page in parts:
        found = {each for selector in selectors for each in found_by(Expression.of(selector), page.root)}
        for item in page.items:
            if found.isdisjoint((*item.iter(), *item.iterancestors())):
                return False
    return True

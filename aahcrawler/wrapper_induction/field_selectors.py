"""Finds expressions for the fields of objects, relative to their items, that read every value in the examples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from lxml.html import HtmlElement

from aahcrawler.page.markup import name_of
from aahcrawler.page.text import plain_text
from aahcrawler.wrapper_induction.delimiters import cut
from aahcrawler.wrapper_induction.element_features import TELLING_TAGS, Features, cost_of_tag, is_beside
from aahcrawler.wrapper_induction.item_selectors import SearchBudget, found_by
from aahcrawler.wrapper_induction.robust_paths import Expression, Path, RobustStep, beside, compiled, leading_to
from aahcrawler.wrapper_induction.samples import Sample, SampleOutcome, firsts
from aahcrawler.wrapper_induction.wrapper import Agreement
from knowledge_base.model import Field, FieldKind

MAX_ALTERNATIVES = 4
MAX_TRIED = 90
"""How many expressions of one field are tried for one part of the objects."""

MAX_CLEARER = 24
LITTLE_DEARER = 1.5
"""The additional cost that is accepted for an expression that finds only the value."""

DEAREST_OF_MANY = 3.0
"""The highest cost of an expression for a field with many values of which examples give one."""

FEW = 12
"""How many objects each expression is tried on first."""

TOLERATED = 0.25
"""The share of bodies that may be wrong: their surroundings differ most, and an action needs a body."""

BODY = "body"
_LINES = frozenset({FieldKind.PERSON, FieldKind.DATETIME, FieldKind.TEXT, FieldKind.NUMBER})


@dataclass(frozen=True, slots=True)
class Located:
    """The result for a field: empty if nothing was induced, with the reason in ``note``."""

    fields: tuple[Field, ...]
    agreement: Agreement
    note: str = ""


@dataclass(frozen=True, slots=True)
class _Form:
    """One expression with the settings that its field needs."""

    expression: Expression
    page: bool = False
    join: bool = False
    without: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class _Tally:
    form: _Form
    cost: float
    outcomes: tuple[SampleOutcome, ...]

    def count(self, outcome: SampleOutcome) -> int:
        return self.outcomes.count(outcome)

    @property
    def merit(self) -> float:
        right = self.count(SampleOutcome.RIGHT) + 0.4 * self.count(SampleOutcome.NEAR) - 0.15 * len(self.form.without)
        return right - 0.5 * self.count(SampleOutcome.BEYOND) - self.count(SampleOutcome.WRONG)


@dataclass
class FieldInduction:
    """Induces the expressions of one field.

    ``wanted`` are the schema's fields with this name, that is, the fields of the action to be replaced. ``others``
    holds, parallel to ``samples``, the elements of each object outside of its item.
    """

    wanted: Sequence[Field]
    samples: Sequence[Sample]
    others: Sequence[tuple[HtmlElement, ...]]
    known: Features
    budget: SearchBudget

    def run(self) -> Located:
        """Return the induced field; it is left out if it would be wrong for any object of the examples."""
        if not any(sample.label for sample in self.samples):
            return Located(tuple(self.wanted), Agreement(self._name))
        kept = self._as_before()
        if kept is not None:
            return kept
        chosen: list[_Tally] = []
        left = list(range(len(self._relevant)))
        while left and len(chosen) < MAX_ALTERNATIVES:
            best = self._best(left)
            if best is None or best.count(SampleOutcome.RIGHT) == 0:
                break
            chosen.append(best)
            missed = (SampleOutcome.MISSING, SampleOutcome.ABSENT)
            left = [place for place, outcome in zip(left, best.outcomes, strict=True) if outcome in missed]
            if all(self._relevant[place].label is None for place in left):
                break
        if not chosen:
            total = sum(sample.label is not None for sample in self._relevant)
            return Located((), Agreement(self._name, missing=total), f"{self._name}: no expression reads it rightly")
        return self._located(chosen)

    @property
    def _name(self) -> str:
        return self.wanted[0].name

    @cached_property
    def _base(self) -> Field:
        """The field without its expressions."""
        first_only = self.wanted[0].first_only or self._is_of_first
        return replace(
            self.wanted[0], selectors=(), without=(), page=False, first_only=first_only, join=False, markup=False
        )

    @cached_property
    def _relevant(self) -> tuple[Sample, ...]:
        """The samples that the field applies to: for first-only fields, those whose examples give a value."""
        if self._base.first_only or self._is_of_page:
            first = firsts(self.samples)
            return tuple(sample for sample in first if sample.label is not None or not self._base.first_only)
        return tuple(self.samples)

    @cached_property
    def _is_of_first(self) -> bool:
        """Return whether the value is the page's, and given only to the first of several objects."""
        others = [sample for sample in self.samples if not sample.first]
        return bool(others) and self._is_of_page and all(sample.label is None for sample in others)

    @cached_property
    def _is_of_page(self) -> bool:
        """Return whether the values lie outside of the objects."""
        given = [sample for sample in self.samples if sample.label is not None and sample.label.elements]
        return bool(given) and not any(self._root_of(sample) is not None for sample in given)

    @cached_property
    def _places(self) -> Mapping[Sample, tuple[HtmlElement, ...]]:
        return dict(zip(self.samples, self.others, strict=True))

    def _root_of(self, sample: Sample) -> HtmlElement | None:
        """Return the element of the object that contains a value."""
        if sample.label is None or not sample.label.elements:
            return None
        first = sample.label.elements[0]
        above = {first, *first.iterancestors()}
        return next((each for each in (sample.item, *self._places[sample]) if each in above), None)

    def _as_before(self) -> Located | None:
        """Return the schema's fields unchanged, if they still read every value correctly."""
        outcomes: list[SampleOutcome] = []
        for sample in self._relevant:
            if not self.budget.spend(sample.size * len(self.wanted)):
                return None
            values = next((values for each in self.wanted if (values := sample.values(each))), ())
            outcomes.append(sample.compare(self._base, values))
            if outcomes[-1] in (SampleOutcome.WRONG, SampleOutcome.NEAR, SampleOutcome.MISSING):
                return None
        return Located(tuple(self.wanted), _agreement(self._name, outcomes))

    def _best(self, left: Sequence[int]) -> _Tally | None:
        """Return the expression that reads most of the remaining samples, and none wrongly; cheaper ones first."""
        samples = [self._relevant[place] for place in left]
        best: _Tally | None = None
        for number, (form, cost) in enumerate(self._forms(samples)):
            if number == MAX_TRIED or (best is not None and self._is_enough(best, samples)):
                break
            tally = self._try(form, cost, samples)
            if tally is not None and (best is None or tally.merit > best.merit):
                best = tally
        best = self._clearer(best, samples) if best is not None else None
        return best if best is not None and best.merit > 0 else None

    def _clearer(self, best: _Tally, samples: Sequence[Sample]) -> _Tally:
        """Return an expression that reads as many values and finds nothing else, if it costs hardly more.

        An expression whose first result alone is the value fails on a page with another order.
        """
        if self._base.many or best.form.join or not self._is_vague(best.form, samples):
            return best
        for number, (form, cost) in enumerate(self._forms(samples)):
            if number == MAX_CLEARER or cost > best.cost + LITTLE_DEARER:
                break
            tally = self._try(form, cost, samples) if form.expression != best.form.expression else None
            if tally is not None and tally.merit >= best.merit and not self._is_vague(form, samples):
                return tally
        return best

    def _is_vague(self, form: _Form, samples: Sequence[Sample]) -> bool:
        """Return whether an expression finds several values within any of the first objects."""
        several = replace(self._compiled(form), many=True)
        return any(self.budget.spend(sample.size) and len(sample.values(several)) > 1 for sample in samples[:FEW])

    def _is_enough(self, tally: _Tally, samples: Sequence[Sample]) -> bool:
        return tally.count(SampleOutcome.RIGHT) == sum(
            sample.label is not None for sample in samples
        ) and not tally.count(SampleOutcome.BEYOND)

    def _try(self, form: _Form, cost: float, samples: Sequence[Sample]) -> _Tally | None:
        """Read all samples.

        None if one is wrong (a few may be wrong for bodies), or none of the first ones is right.
        """
        field = self._compiled(form)
        outcomes: list[SampleOutcome] = []
        allowed = int(TOLERATED * len(samples)) if self._name == BODY else 0
        wrong = 0
        for number, sample in enumerate(samples):
            if not self.budget.spend(sample.size):
                return None
            outcome = sample.outcome(field)
            outcomes.append(outcome)
            wrong += outcome is SampleOutcome.WRONG or (outcome is SampleOutcome.NEAR and self._name != BODY)
            if wrong > allowed or (number == FEW and SampleOutcome.RIGHT not in outcomes):
                return None
        return _Tally(form, cost, tuple(outcomes))

    def _compiled(self, form: _Form) -> Field:
        return replace(
            self._base,
            selectors=(form.expression.selector,),
            without=tuple(each.selector for each in form.without),
            page=form.page,
            join=form.join,
            many=self._base.many and not form.join,
        )

    def _forms(self, samples: Sequence[Sample]) -> Iterator[tuple[_Form, float]]:
        """Yield expressions that could read the field: the cheapest of each sort first, plain ones before others."""
        given = [sample for sample in samples if sample.label is not None and sample.label.elements]
        if not given:
            return
        attributes = {sample.label.attribute for sample in given if sample.label is not None}
        for attribute in sorted(attributes, reverse=True):
            alike = [sample for sample in given if sample.label is not None and sample.label.attribute == attribute]
            yield from self._of_attribute(alike, attribute)

    def _of_attribute(self, given: Sequence[Sample], attribute: str) -> Iterator[tuple[_Form, float]]:
        targets = [self._target(sample) for sample in given]
        groups = _groups(given, targets)
        cuttable: list[tuple[Path, list[Sample]]] = []
        for group in groups:
            pairs = [(sample, target) for sample, target in group if target is not None]
            chosen = [sample for sample, _ in pairs]
            ends = [target for _, target in pairs]
            paths = self._paths(chosen, ends)
            without = left_out(chosen, ends, self._earlier_without, self.known) if not attribute else ()
            cuttable.extend((path, chosen) for path in paths[:6])
            if self._base.kind in _LINES and self._name != BODY and not any(s.reads(self._base) for s in chosen[:FEW]):
                continue
            for path in paths:
                if self._base.many and path.cost > DEAREST_OF_MANY:
                    break
                join = self.wanted[0].join and not attribute
                yield _Form(path.written(attribute), self._is_of_page, join, without), path.cost
        yield from self._joined(given)
        if self._base.kind in _LINES and self._name != BODY:
            for path, chosen in cuttable:
                yield from self._cut(path, attribute, chosen)

    def _target(self, sample: Sample) -> HtmlElement | None:
        """Return the element that a value is, or that contains all elements of the value."""
        label = sample.label
        if label is None or not label.elements:
            return None
        target = label.elements[0] if len(label.elements) == 1 and not self._several else label.elements[0].getparent()
        return target if isinstance(target, HtmlElement) else None

    @cached_property
    def _several(self) -> bool:
        return any(sample.label is not None and len(sample.label.elements) > 1 for sample in self.samples)

    def _paths(self, samples: Sequence[Sample], targets: Sequence[HtmlElement]) -> tuple[Path, ...]:
        if self._is_of_page:
            return leading_to([(s.reading.page.tree, t) for s, t in zip(samples, targets, strict=True)], self.known)
        roots = [self._holder(sample, target) for sample, target in zip(samples, targets, strict=True)]
        if all(root is sample.item for root, sample in zip(roots, samples, strict=True)):
            return leading_to([(s.item, t) for s, t in zip(samples, targets, strict=True)], self.known)
        found: list[Path] = []
        known_roots = [root for root in roots if root is not None]
        if len(known_roots) == len(roots):
            pairs = list(zip(known_roots, targets, strict=True))
            for way, cost in beside([sample.item for sample in samples], known_roots, self.known):
                found += [replace(path, cost=path.cost + cost) for path in leading_to(pairs, self.known, way)[:20]]
        return tuple(sorted(found, key=lambda path: path.cost))

    def _holder(self, sample: Sample, target: HtmlElement) -> HtmlElement | None:
        above = {target, *target.iterancestors()}
        return next((each for each in (sample.item, *self._places[sample]) if each in above), None)

    def _joined(self, given: Sequence[Sample]) -> Iterator[tuple[_Form, float]]:
        """Yield expressions that find all elements of values made of several elements."""
        if not self._several or self._base.many:
            return
        pairs = [
            (sample.item, element)
            for sample in given
            if sample.label is not None
            for element in sample.label.elements
            if isinstance(element, HtmlElement) and sample.item in element.iterancestors()
        ]
        for path in leading_to(pairs, self.known)[:30] if pairs else ():
            yield _Form(path.written(), join=True), path.cost + 1

    def _cut(self, path: Path, attribute: str, samples: Sequence[Sample]) -> Iterator[tuple[_Form, float]]:
        for written in cut(path.written(attribute), samples, self._base):
            yield _Form(written, self._is_of_page), path.cost + 2

    @cached_property
    def _earlier_without(self) -> tuple[Expression, ...]:
        return tuple(dict.fromkeys(Expression.of(part) for field in self.wanted for part in field.without))

    def _located(self, chosen: Sequence[_Tally]) -> Located:
        fields: list[Field] = []
        for (page, join, without), forms in _same_manner(tally.form for tally in chosen):
            field = replace(self._base, page=page, join=join, many=self._base.many and not join)
            fields.append(replace(field, selectors=compiled(forms), without=compiled(without or self._kept_without)))
        fields = [replace(each, declared=() if number else each.declared) for number, each in enumerate(fields)]
        outcomes = [self._overall(fields, sample) for sample in self._relevant]
        agreement = _agreement(self._name, outcomes)
        note = f"{self._name}: {agreement.missing} values not read" if agreement.missing else ""
        return Located(tuple(fields), agreement, note)

    @cached_property
    def _kept_without(self) -> tuple[Expression, ...]:
        return self._earlier_without if self._name == BODY else ()

    def _overall(self, fields: Sequence[Field], sample: Sample) -> SampleOutcome:
        for each in fields:
            values = sample.values(each)
            if values:
                return sample.compare(self._base, values)
        return sample.compare(self._base, ())


def joined(of_items: Located, of_page: Located) -> Located:
    """Return a field that is read within objects, and for the first object also from the page if needed."""
    one, other = of_items.agreement, of_page.agreement
    agreement = replace(one, right=one.right + other.right, missing=one.missing + other.missing)
    return Located((*of_items.fields, *of_page.fields), agreement, of_items.note or of_page.note)


def _groups(
    given: Sequence[Sample], targets: Sequence[HtmlElement | None]
) -> list[list[tuple[Sample, HtmlElement | None]]]:
    """Return all samples together, then groups whose targets have the same name, the most frequent first.

    Targets of one name are grouped by the names of the elements around them.
    """
    pairs = [(sample, target) for sample, target in zip(given, targets, strict=True) if target is not None]
    by_name: dict[object, list[tuple[Sample, HtmlElement | None]]] = {}
    for named in (_name_of, _names_around):
        by_name = {}
        for sample, target in pairs:
            by_name.setdefault(named(target), []).append((sample, target))
        if len(by_name) > 1:
            break
    together: list[tuple[Sample, HtmlElement | None]] = list(pairs)
    apart = sorted(by_name.values(), key=len, reverse=True)[:MAX_ALTERNATIVES] if len(by_name) > 1 else []
    return [together, *apart] if together else []


def _name_of(element: HtmlElement) -> tuple[str, str]:
    return str(element.tag), element.get("class") or ""


def _names_around(element: HtmlElement) -> tuple[tuple[str, str], tuple[str, str]]:
    parent = element.getparent()
    return _name_of(element), _name_of(parent) if parent is not None else ("", "")


def _same_manner(
    forms: Iterable[_Form],
) -> list[tuple[tuple[bool, bool, tuple[Expression, ...]], list[Expression]]]:
    """Group expressions that one field can have together, in their order."""
    gathered: list[tuple[tuple[bool, bool, tuple[Expression, ...]], list[Expression]]] = []
    for form in forms:
        manner = (form.page, form.join, form.without)
        if gathered and gathered[-1][0] == manner:
            gathered[-1][1].append(form.expression)
        else:
            gathered.append((manner, [form.expression]))
    return gathered


def _agreement(name: str, outcomes: Sequence[SampleOutcome]) -> Agreement:
    return Agreement(
        name,
        right=outcomes.count(SampleOutcome.RIGHT),
        near=outcomes.count(SampleOutcome.NEAR),
        wrong=outcomes.count(SampleOutcome.WRONG),
        missing=outcomes.count(SampleOutcome.MISSING),
        beyond=outcomes.count(SampleOutcome.BEYOND),
    )


MAX_WITHOUT = 6
MAX_UNLIKE = 0.34
"""The share of bodies that may contain parts which are left out of the others."""

MAX_CONDITIONS = 6
MAX_NARROWED = 12
MAX_INNER = 40
TELLING = 2.0
"""The highest cost of names for which the content of a part can distinguish it."""

MIN_OBJECTS = 3
"""From this many objects on, a part of only one of them is no evidence for the template."""

_ENDS = ("following-sibling", "preceding-sibling")
_TEXTUAL = frozenset(
    {"p", "ul", "ol", "li", "dl", "pre", "code", "table", "figure", "blockquote", "h2", "h3", "h4", "h5", "h6", "em"}
    | {"strong", "b", "i", "u", "a", "img", "br", "*"}
)


def left_out(
    samples: Sequence[Sample], targets: Sequence[HtmlElement], earlier: tuple[Expression, ...], known: Features
) -> tuple[Expression, ...]:
    """Return expressions for the parts of the values' elements (``targets``) that do not belong to the values.

    ``earlier`` are the expressions of the schema, which are kept. Empty if all parts belong to the values.
    """
    unwanted = [_unwanted(sample, target) for sample, target in zip(samples, targets, strict=True)]
    if not any(unwanted):
        return ()
    found: list[Expression] = []
    by_name: dict[tuple[str, str], list[tuple[HtmlElement, HtmlElement]]] = {}
    for target, parts in zip(targets, unwanted, strict=True):
        for part in parts:
            by_name.setdefault((str(part.tag), part.get("class") or ""), []).append((target, part))
    allowed = [frozenset(inner for part in parts for inner in part.iter()) for parts in unwanted]
    for pairs in sorted(by_name.values(), key=len, reverse=True)[:MAX_WITHOUT]:
        if any(all(part in found_by(each, target) for target, part in pairs) for each in (*earlier, *found)):
            continue
        if not _is_typical(pairs, targets):
            continue
        best = _only(pairs, targets, allowed, known)
        if best is not None and best not in found:
            found.append(best)
    return (*found, *earlier)


def _only(
    pairs: Sequence[tuple[HtmlElement, HtmlElement]],
    targets: Sequence[HtmlElement],
    allowed: Sequence[frozenset[HtmlElement]],
    known: Features,
) -> Expression | None:
    """Return the first expression that finds only parts that may be left out, or the best one with few exceptions."""
    paths = leading_to(pairs, known)
    best: tuple[int, Expression] | None = None
    named = [path for path in paths if _is_apart(path) and any(step.features for step in path.steps)]
    bare = [path for path in paths if _is_apart(path) and path not in named]
    for path in chain(named, _narrowed(paths, [part for _, part in pairs], known), bare):
        written = path.written()
        found = [found_by(written, target) for target in targets]
        wrong = sum(
            any(element not in may and plain_text(element) for element in here)
            for here, may in zip(found, allowed, strict=True)
        )
        if not wrong:
            return written
        if wrong <= MAX_UNLIKE * len(targets) and (best is None or wrong < best[0]):
            best = wrong, written
    return best[1] if best is not None else None


def _narrowed(paths: Sequence[Path], parts: Sequence[HtmlElement], known: Features) -> Iterator[Path]:
    """Yield paths with one more condition: that all parts contain a feature, or are first or last."""
    conditions = [f"descendant::{test}" for test in _held(parts, known)]
    conditions += [
        f"not({axis}::*)" for axis in _ENDS if not any(map(Expression(xpath=f"{axis}::*").selector.holds, parts))
    ]
    for condition in conditions[:MAX_CONDITIONS]:
        for path in paths[:MAX_NARROWED]:
            if path.steps:
                *above, last = path.steps
                yield replace(path, steps=(*above, replace(last, further=(*last.further, condition))))


def _held(parts: Sequence[HtmlElement], known: Features) -> Iterator[str]:
    """Yield tests that an element within each part meets, those of distinctive names and tags first."""
    found: dict[str, float] = {}
    for inner in list(parts[0].iterdescendants())[:MAX_INNER]:
        if isinstance(inner.tag, str):
            if inner.tag in TELLING_TAGS:
                found.setdefault(inner.tag, cost_of_tag(inner.tag))
            for each in known.of(inner)[:2]:
                found.setdefault(RobustStep(name_of(inner), (each.feature,)).test, each.cost)
    for test in sorted(found, key=lambda each: found[each]):
        if found[test] <= TELLING and all(map(Expression(xpath=f"descendant::{test}").selector.holds, parts)):
            yield test


def _unwanted(sample: Sample, target: HtmlElement) -> tuple[HtmlElement, ...]:
    """Return the parts of a value's element that do not belong to the value."""
    label = sample.label
    if label is None:
        return ()
    parts = [part for part in label.without if isinstance(part, HtmlElement)]
    if target not in label.elements:
        own = frozenset(label.elements)
        parts += [child for child in target if child not in own and isinstance(child.tag, str) and plain_text(child)]
    return tuple(parts)


def _is_apart(path: Path) -> bool:
    """Return whether a path identifies parts by more than the position of a paragraph."""
    last = path.steps[-1] if path.steps else None
    if last is None or any(step.further for step in path.steps):
        return False
    return bool(last.features) or last.tag not in _TEXTUAL


def _is_typical(pairs: Sequence[tuple[HtmlElement, HtmlElement]], targets: Sequence[HtmlElement]) -> bool:
    """Return whether the parts belong to the template: several objects have them, or their names suggest it."""
    several = len({target for target, _ in pairs}) > 1 or len(targets) < MIN_OBJECTS
    return several or all(is_beside(part) or not any(map(str.isalpha, plain_text(part))) for _, part in pairs)

"""Repair from memory: find the objects formerly extracted at a URL again (ARCOMEM, section 4.1, recrawl)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from aahcrawler.adaptation.repair.value_places import Held, ShownValues, Stretch, WordTable, held_words, placed, words
from aahcrawler.helper.adaptation_protocol import Question
from aahcrawler.induction.outline import numbered
from aahcrawler.induction.prepared_page import PreparedPage
from aahcrawler.page import Page
from aahcrawler.page.text import plain_text
from aahcrawler.webobject import Value, WebObject
from aahcrawler.wrapper_induction.examples import Label, LabelledExample, LabelledObject, Method
from knowledge_base.model import Extract

BODY = "body"

MIN_WORDS = 8
"""The number of words below which their absence does not prove that content is gone."""
MAX_BY_CHANCE = 0.1
"""So much of a text is on some pages by chance: short answers that many people give."""
MIN_FOUND = 0.2
"""The share of the remembered content below which the page has other content now."""


class MemoryStrategy:
    """Labels the objects that a former crawl extracted at the URL of a page."""

    def label(self, question: Question) -> LabelledExample | None:
        """Return the objects found again; None if no former crawl found any of the action at the URL."""
        return None if question.former is None else recall(question.page, question.action, question.former.objects)


def recall(page: Page, action: Extract, former: Sequence[WebObject]) -> LabelledExample | None:
    """Find the former objects of an action on their page again.

    ``former`` are all objects that the page had. New objects of the same shape as those found again are part of the
    example. An example without objects means that none of the remembered content is on the page any more. None if
    nothing is remembered of the action, or too little of it is left to decide.
    """
    types = {action.type, action.first_type or action.type, *(name for name, _ in action.instead)}
    known = [
        (each, body, len(words(body)))
        for each in former
        if each.type in types and isinstance(body := each.first(BODY), str) and words(body)
    ]
    if not known or not page.is_html:
        return None
    prepared = PreparedPage.of(page)
    table = WordTable(prepared.outline)
    lengths = [length for _, _, length in known]
    stretches = placed([table.find(body) for _, body, _ in known], lengths)
    share = _share(stretches, lengths)
    if share < MAX_BY_CHANCE:
        return LabelledExample(page, Method.MEMORY, (), 0.9) if sum(lengths) >= MIN_WORDS and page.complete else None
    if share < MIN_FOUND:
        return None
    found = [Remembered(each, stretch) for (each, _, _), stretch in zip(known, stretches, strict=True) if stretch]
    found.sort(key=lambda each: each.stretch.first)
    if action.run is not None:
        labelled = of_runs(found, table, ShownValues(page, prepared, action))
    else:
        labelled = objects(page, prepared, action, table, found)
    notes = (f"{len(found)} of {len(known)} remembered objects are on the page, {len(labelled)} objects in all",)
    return LabelledExample(page, Method.MEMORY, labelled, round(share, 3), 0.0, notes)


def _share(stretches: Sequence[Stretch | None], lengths: Sequence[int]) -> float:
    """Return the share of all remembered words that were found again."""
    total = sum(lengths)
    return sum(length * each.share for length, each in zip(lengths, stretches, strict=True) if each is not None) / total


MAX_ITEMS = 2_000
MAX_OF_KIND = 3
"""The number of objects from which values at the same kind of place belong to each of them."""

_WHO_OR_WHEN = frozenset({"author", "date"})

_Shape = tuple[str, tuple[str, ...]]
"""Name and classes of an element."""
_Path = tuple[_Shape, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """An object that was extracted before, and the present place of its body."""

    object: WebObject
    stretch: Stretch


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A place that shows a value. ``side`` is -1 before the body, 1 behind it, 0 in an element with that body alone."""

    place: int
    attribute: str
    side: int
    value: Value

    def key(self, shape: _Shape) -> tuple[int, str, _Shape]:
        return (self.side, self.attribute, shape)


@dataclass
class _Traced:
    """One object on its way to an object."""

    object: WebObject
    body: Held
    labels: dict[str, _Candidate]
    page_labels: dict[str, _Candidate]
    item: tuple[int, ...] = ()
    territory: int = -1
    """The place of the largest element that holds this object's body and no other's."""


def objects(
    page: Page, prepared: PreparedPage, action: Extract, table: WordTable, found: Sequence[Remembered]
) -> tuple[LabelledObject, ...]:
    """Return the objects as objects, in the order of the page, with those of the same shape that are new."""
    return _Tracing(page, prepared, table, action).objects(found)


class _Tracing:
    """One page on which objects were found again."""

    def __init__(self, page: Page, prepared: PreparedPage, table: WordTable, action: Extract) -> None:
        self._values = ShownValues(page, prepared, action)
        self._outline = prepared.outline
        self._table = table
        self._action = action
        self._signed = False

    def objects(self, found: Sequence[Remembered]) -> tuple[LabelledObject, ...]:
        stretches = [each.stretch for each in found]
        traced = [
            _Traced(
                each.object,
                held_words(self._table, each.stretch, [*stretches[:number], *stretches[number + 1 :]]),
                {},
                {},
            )
            for number, each in enumerate(found)
        ]
        traced.sort(key=lambda each: each.body.places)
        self._find_territories(traced)
        names = dict.fromkeys(field.name for field in self._action.fields if field.name != BODY)
        for wanted in sorted(names, key=lambda name: name not in _WHO_OR_WHEN):
            self._trace(wanted, traced)
        if self._action.many and len(traced) == 1:
            self._part_with_the_page(traced[0])
        self._find_items(traced)
        made = {each.item: self._labelled(each) for each in traced if each.item}
        made |= self._new_ones(traced, made)
        return tuple(made[item] for item in sorted(made))

    # Values

    def _trace(self, name: str, traced: Sequence[_Traced]) -> None:
        """Choose, for each object that had a property, its present place: the same kind of place in all."""
        inside = self._near(name, traced)
        votes = Counter(key for near in inside for key in {each.key(self._shape(each.place)) for each in near})
        having = sum(each.object.first(name) is not None for each in traced)
        for each, near in zip(traced, inside, strict=True):
            value = each.object.first(name)
            best = max(near, key=lambda one: self._fitness(one, each, votes), default=None)
            # A value beside only one of many objects belongs to the page, such as the title of a thread.
            if best is not None and votes[best.key(self._shape(best.place))] >= min(0.5 * having, MAX_OF_KIND):
                each.labels[name] = best
            elif value is not None:
                heading = self._heading(name, value, each, traced)
                if heading is not None:
                    each.page_labels[name] = heading

    def _heading(self, name: str, value: Value, each: _Traced, traced: Sequence[_Traced]) -> _Candidate | None:
        """Return the place where the page as a whole shows a value of an object; of one of many, mostly its title."""
        domain = range(len(self._outline.elements))
        if not isinstance(value, str) and self._action.many:
            domain = self._domain(traced.index(each), traced)
        found = self._candidates(name, value, each, domain)
        apart = (one for one in found if not self._is_of_another(one.place, each, traced))
        return max(apart, key=lambda one: self._prominence(one.place), default=None)

    def _part_with_the_page(self, each: _Traced) -> None:
        """Assign the title of the only object to the page if it is apart from author and date.

        With one object, its container cannot be distinguished from the container of all objects.
        """
        core = each.body.place
        others = [label.place for name, label in each.labels.items() if name in _WHO_OR_WHEN]
        for place in others:
            core = self._outline.common(core, place)
        for name, label in tuple(each.labels.items()):
            if others and isinstance(label.value, str) and not self._outline.contains(core, label.place):
                each.page_labels[name] = each.labels.pop(name)

    def _near(self, name: str, traced: Sequence[_Traced]) -> list[list[_Candidate]]:
        """Return for each object the places of its value that show no other's, within its own container if possible.

        The head of one object may be nearer to the text of another than to its own.
        """
        inside: list[list[_Candidate]] = []
        for number, each in enumerate(traced):
            value = each.object.first(name)
            near = [] if value is None else list(self._candidates(name, value, each, self._domain(number, traced)))
            inside.append(near)
        own = [
            [replace(one, side=0) for one in near if self._outline.contains(each.territory, one.place)]
            for each, near in zip(traced, inside, strict=True)
        ]
        mostly = any(own) and 2 * sum(map(bool, own)) >= sum(map(bool, inside))
        if name in _WHO_OR_WHEN:
            self._signed = self._signed or mostly
            return own if mostly else inside
        return own if mostly or self._signed else inside

    def _is_of_another(self, place: int, own: _Traced, traced: Sequence[_Traced]) -> bool:
        return any(
            each is not own and each.territory != each.body.place and self._outline.contains(each.territory, place)
            for each in traced
        )

    def _find_territories(self, traced: Sequence[_Traced]) -> None:
        """Find the largest element that holds the body of each object and no other's."""
        bodies = sorted(each.body.places[0] for each in traced)
        for each in traced:
            chain = self._alone(each.body.place if len(each.body.places) > 1 else each.body.places[0], bodies)
            each.territory = chain[-1] if chain else each.body.place

    def _domain(self, number: int, traced: Sequence[_Traced]) -> range:
        """Return the places between the bodies before and behind that of an object."""
        outline = self._outline
        before = outline.ends[traced[number - 1].body.places[-1]] if number else 0
        behind = traced[number + 1].body.places[0] if number + 1 < len(traced) else len(outline.elements)
        return range(before, max(before, behind))

    def _candidates(self, name: str, value: Value, each: _Traced, domain: range) -> Iterator[_Candidate]:
        body = each.body.places
        for place, attribute, read in self._values.showing(name, value):
            if place in domain and not self._is_part(place, each.body) and not self._outline.contains(place, body[0]):
                yield _Candidate(place, attribute, -1 if place < body[0] else 1, read)

    def _is_part(self, place: int, body: Held) -> bool:
        contains = self._outline.contains
        return any(contains(own, place) for own in body.places) and not any(
            contains(foreign, place) for foreign in body.without
        )

    def _fitness(
        self, one: _Candidate, each: _Traced, votes: Counter[tuple[int, str, _Shape]]
    ) -> tuple[int, int, bool, int]:
        depth = self._outline.depths[self._outline.common(one.place, each.body.places[0])]
        distance = abs(one.place - each.body.place)
        return (votes[one.key(self._shape(one.place))], depth, not one.attribute, -distance)

    def _prominence(self, place: int) -> tuple[bool, int]:
        heading = any(
            self._outline.tags[each] in ("h1", "h2", "h3") for each in (place, *self._outline.ancestors(place))
        )
        return (heading, -place)

    # Items

    def _find_items(self, traced: Sequence[_Traced]) -> None:
        bodies = sorted(each.body.places[0] for each in traced)
        chains = [self._chain(each, bodies) for each in traced]
        votes = Counter(shape for chain in chains for shape in {self._shape(place) for place in chain})
        for each, chain in zip(traced, chains, strict=True):
            if chain:
                each.item = (max(chain, key=lambda place: self._likeness(place, votes, chain)),)
            else:
                each.item = self._row(each, bodies)

    def _chain(self, each: _Traced, bodies: Sequence[int]) -> list[int]:
        """Return the elements that contain one object only, the innermost first; none if rows share it."""
        core = each.body.place if len(each.body.places) > 1 else each.body.places[0]
        for label in each.labels.values():
            core = self._outline.common(core, label.place)
        return self._alone(core, bodies)

    def _alone(self, core: int, bodies: Sequence[int]) -> list[int]:
        outline = self._outline
        chain: list[int] = []
        for place in (core, *outline.ancestors(core)):
            if place <= 0 or sum(outline.contains(place, body) for body in bodies) > 1:
                break
            chain.append(place)
        return chain

    def _likeness(self, place: int, votes: Counter[_Shape], chain: Sequence[int]) -> tuple[int, bool, bool, int]:
        element = self._outline.elements[place]
        is_numbered = numbered(element.get("id")) is not None
        is_named = bool(element.get("class") or element.get("id"))
        return (votes[self._shape(place)], is_numbered, is_named, -chain.index(place))

    def _row(self, each: _Traced, bodies: Sequence[int]) -> tuple[int, ...]:
        """Return the elements side by side that hold an object together, such as two rows of a table."""
        outline = self._outline
        labels = [*each.body.places, *(label.place for label in each.labels.values())]
        above = labels[0]
        for place in labels:
            above = outline.common(above, place)
        branches = sorted({self._branch(above, place) for place in labels if place != above})
        if not branches:
            return each.body.places
        others = [body for body in bodies if body != each.body.places[0]]
        row = [child for child in outline.children(above) if branches[0] <= child <= branches[-1]]
        return tuple(child for child in row if not any(outline.contains(child, body) for body in others))

    def _branch(self, above: int, place: int) -> int:
        while self._outline.parents[place] != above:
            place = self._outline.parents[place]
        return place

    def _shape(self, place: int) -> _Shape:
        return (self._outline.tags[place], self._outline.tokens[place])

    # Examples

    def _labelled(self, each: _Traced) -> LabelledObject:
        elements = self._outline.elements
        labels = {BODY: self._body_label(each.body)}
        for name, candidate in {**each.page_labels, **each.labels}.items():
            labels[name] = Label((elements[candidate.place],), candidate.value, candidate.attribute)
        fragment = each.object.iri.partition("#")[2] or None
        return LabelledObject(tuple(elements[place] for place in each.item), labels, fragment)

    def _body_label(self, body: Held) -> Label:
        elements = tuple(self._outline.elements[place] for place in body.places)
        without = tuple(self._outline.elements[place] for place in body.without)
        text = "\n".join(filter(None, (plain_text(element, without) for element in elements)))
        return Label(elements, text, "", without)

    def _new_ones(
        self, traced: Sequence[_Traced], made: Mapping[tuple[int, ...], LabelledObject]
    ) -> dict[tuple[int, ...], LabelledObject]:
        """Return new objects of the same shape as those found again, at the same places."""
        single = [
            each
            for each in traced
            if len(each.item) == 1 and all(self._outline.contains(each.item[0], own) for own in each.body.places)
        ]
        if not self._action.many or not single:
            return {}
        outline = self._outline
        shapes = {(self._shape(each.item[0]), self._around(each.item[0])) for each in single}
        beside = {outline.parents[each.item[0]] for each in single}
        taken = sorted(place for item in made for place in item)
        found: dict[tuple[int, ...], LabelledObject] = {}
        for place in range(1, len(outline.elements)):
            if (self._shape(place), self._around(place)) not in shapes or len(found) >= MAX_ITEMS:
                continue
            if not outline.tokens[place] and outline.parents[place] not in beside:
                continue
            if any(outline.contains(place, other) or outline.contains(other, place) for other in taken):
                continue
            labelled = self._analogous(place, single)
            if labelled is not None:
                found[(place,)] = labelled
        return found

    def _around(self, place: int) -> _Shape:
        above = self._outline.parents[place]
        return self._shape(above) if above >= 0 else ("", ())

    def _analogous(self, place: int, models: Sequence[_Traced]) -> LabelledObject | None:
        """Return the object in an element with its values at the same places as in others; None without a body."""
        paths = {self._path(inner, place): inner for inner in reversed(range(place, self._outline.ends[place]))}
        for model in models:
            bodies = tuple(paths.get(self._path(own, model.item[0]), -1) for own in model.body.places)
            if -1 in bodies:
                continue
            body = self._body_label(Held(place, bodies))
            if not body.value:
                continue
            labels = {BODY: body}
            for name, candidate in model.labels.items():
                at = paths.get(self._path(candidate.place, model.item[0])) if self._is_in(model, candidate) else None
                value = self._values.read(at, model.object.first(name)) if at is not None else None
                if at is not None and value is not None:
                    labels[name] = Label((self._outline.elements[at],), value, candidate.attribute)
            signs = _WHO_OR_WHEN & {name for name, candidate in model.labels.items() if self._is_in(model, candidate)}
            if signs and signs.isdisjoint(labels):
                continue
            return LabelledObject((self._outline.elements[place],), labels)
        return None

    def _is_in(self, model: _Traced, candidate: _Candidate) -> bool:
        return self._outline.contains(model.item[0], candidate.place)

    def _path(self, place: int, item: int) -> _Path:
        steps: list[_Shape] = []
        while place != item:
            steps.append(self._shape(place))
            place = self._outline.parents[place]
        return tuple(reversed(steps))


WHOLE = 0.9
"""The share of its words that an object must have on the page which is known by its words alone."""
AUTHOR, TITLE = "author", "title"
_KEPT = frozenset({TITLE, AUTHOR, "date", "body"})


def of_runs(found: Sequence[Remembered], table: WordTable, values: ShownValues) -> tuple[LabelledObject, ...]:
    """Return those objects nearly all words of which are present, with their former values.

    ``found`` is in the order of the page. Of such an object, its container, the heading above it, if it had a title,
    and the author's name behind it are learned.
    """
    ends = [-1, *(table.owners[each.stretch.last - 1] for each in found)]
    begins = [*(table.owners[each.stretch.first] for each in found), len(table.outline.elements)]
    return tuple(
        _labelled(each, table, values, before=ends[number], behind=begins[number + 1])
        for number, each in enumerate(found)
        if each.stretch.share >= WHOLE
    )


def _labelled(each: Remembered, table: WordTable, values: ShownValues, before: int, behind: int) -> LabelledObject:
    """Make an object of an object between the last place of the one before it and the first of the one behind it."""
    outline = table.outline
    place = table.owners[each.stretch.first]
    for position in each.stretch.matched:
        place = outline.common(place, table.owners[position])
    elements = (outline.elements[max(place, 0)],)
    properties = each.object.properties.items()
    labels = {name: Label(elements, given[0]) for name, given in properties if given and name in _KEPT}
    first, last = table.owners[each.stretch.first], table.owners[each.stretch.last - 1]
    if TITLE in labels:
        above = [at for at in _showing(values, TITLE, labels[TITLE].value) if before < at < first]
        outside = [at for at in above if not outline.contains(at, first)]
        if outside:
            labels[TITLE] = Label((outline.elements[max(outside)],), labels[TITLE].value)
    if AUTHOR in labels:
        below = [at for at in _showing(values, AUTHOR, labels[AUTHOR].value) if last <= at < behind]
        if below:
            labels[AUTHOR] = Label((outline.elements[min(below)],), labels[AUTHOR].value)
    return LabelledObject(elements, labels, each.object.iri.partition("#")[2] or None)


def _showing(values: ShownValues, name: str, value: Value) -> Iterator[int]:
    """Yield the places whose text shows a value."""
    return (place for place, attribute, _ in values.showing(name, value) if not attribute)

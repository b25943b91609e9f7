"""From texts that were found again to examples: the values beside them, and the elements that hold all of an object."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time

from aahcrawler.adaptation.lessons import Example, Spot
from aahcrawler.adaptation.teachers.alignment import Stretch, WordTable, words
from aahcrawler.adaptation.teachers.regions import Held, held
from aahcrawler.helper.values import as_date
from aahcrawler.induction.moments import Shown
from aahcrawler.induction.outline import numbered
from aahcrawler.induction.surroundings import Surroundings
from aahcrawler.page import Page
from aahcrawler.page.text import excerpt, fold, plain_text
from aahcrawler.urls import resolve
from aahcrawler.webobject import Person, Reference, Value, WebObject
from knowledge_base.model import Extract, FieldKind

BODY = "body"
LONGEST_VALUE = 400
"""Characters of a value that stands in one element, bodies apart."""
MOST_ITEMS = 2_000
_DATE_ATTRIBUTES = ("datetime", "title", "data-time", "data-timestamp", "data-utime", "data-date", "content")

LONGEST_AROUND = 25
"""Characters that may stand behind a name in its text."""
MOST_OF_KIND = 3
"""A value that stands at the same kind of place in so many objects belongs to each of them."""

_Shape = tuple[str, tuple[str, ...]]
"""Name and classes of an element."""
_Path = tuple[_Shape, ...]


@dataclass(frozen=True, slots=True)
class Remembered:
    """An object that was extracted before, and where its body stands now."""

    object: WebObject
    stretch: Stretch


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A place that shows a value. ``side`` is -1 before the body and 1 behind it."""

    place: int
    attribute: str
    side: int
    value: Value

    def key(self, shape: _Shape) -> tuple[int, str, _Shape]:
        return (self.side, self.attribute, shape)


@dataclass
class _Traced:
    """One object on its way to an example."""

    object: WebObject
    body: Held
    spots: dict[str, _Candidate]
    page_spots: dict[str, _Candidate]
    item: tuple[int, ...] = ()


def examples(
    page: Page, where: Surroundings, action: Extract, table: WordTable, found: Sequence[Remembered]
) -> tuple[Example, ...]:
    """Return the objects as examples, in the order of the page, with those of the same shape that are new."""
    return _Tracing(page, where, table, action).examples(found)


class _Tracing:
    """One page on which objects were found again."""

    def __init__(self, page: Page, where: Surroundings, table: WordTable, action: Extract) -> None:
        self._now = page.fetched_at
        self._where = where
        self._outline = where.outline
        self._table = table
        self._action = action
        self._texts: dict[str, list[int]] | None = None

    def examples(self, found: Sequence[Remembered]) -> tuple[Example, ...]:
        traced = [_Traced(each.object, held(self._table, each.stretch), {}, {}) for each in found]
        traced.sort(key=lambda each: each.body.places)
        for wanted in dict.fromkeys(field.name for field in self._action.fields if field.name != BODY):
            self._trace(wanted, traced)
        self._find_items(traced)
        made = {each.item: self._example(each) for each in traced if each.item}
        made |= self._new_ones(traced, made)
        return tuple(made[item] for item in sorted(made))

    # Values

    def _trace(self, name: str, traced: Sequence[_Traced]) -> None:
        """Choose, for each object that had a property, where it stands now: at the same kind of place in all."""
        inside: list[list[_Candidate]] = []
        for number, each in enumerate(traced):
            value = each.object.first(name)
            near = [] if value is None else list(self._candidates(name, value, each, self._domain(number, traced)))
            inside.append(near)
        votes = Counter(key for near in inside for key in {each.key(self._shape(each.place)) for each in near})
        having = sum(each.object.first(name) is not None for each in traced)
        for each, near in zip(traced, inside, strict=True):
            value = each.object.first(name)
            best = max(near, key=lambda one: self._fitness(one, each, votes), default=None)
            # What only one of many objects has beside it belongs to the page, such as the title of a thread.
            if best is not None and votes[best.key(self._shape(best.place))] >= min(0.5 * having, MOST_OF_KIND):
                each.spots[name] = best
            elif value is not None:
                anywhere = self._candidates(name, value, each, range(len(self._outline.elements)))
                heading = max(anywhere, key=lambda one: self._prominence(one.place), default=None)
                if heading is not None and (isinstance(value, str) or not self._action.many):
                    each.page_spots[name] = heading

    def _domain(self, number: int, traced: Sequence[_Traced]) -> range:
        """Return the places between the bodies before and behind that of an object."""
        outline = self._outline
        before = outline.ends[traced[number - 1].body.places[-1]] if number else 0
        behind = traced[number + 1].body.places[0] if number + 1 < len(traced) else len(outline.elements)
        return range(before, max(before, behind))

    def _candidates(self, name: str, value: Value, each: _Traced, domain: range) -> Iterator[_Candidate]:
        body = each.body.places
        for place, attribute, read in self._showing(name, value):
            if place in domain and not self._is_part(place, each.body) and not self._outline.contains(place, body[0]):
                yield _Candidate(place, attribute, -1 if place < body[0] else 1, read)

    def _is_part(self, place: int, body: Held) -> bool:
        contains = self._outline.contains
        return any(contains(own, place) for own in body.places) and not any(
            contains(foreign, place) for foreign in body.without
        )

    def _showing(self, name: str, value: Value) -> Iterator[tuple[int, str, Value]]:
        """Yield the places that show a value of a field, the attribute that holds it, and how it is read there."""
        match value:
            case Person(said, _):
                for place in dict.fromkeys((*self._places_of(said), *self._beginning_with(said))):
                    yield place, "", self._person(place, said)
            case datetime():
                for shown in self._where.shown:
                    moment = self._moment(name, shown, value)
                    if moment is not None:
                        attribute = self._date_attribute(shown.place, shown.text) if shown.piece < 0 else ""
                        yield shown.place, attribute, moment
            case Reference(url):
                for place, element in enumerate(self._outline.elements):
                    for attribute in ("href", "src"):
                        given = element.get(attribute)
                        if given and resolve(self._where.names.base, given) == url:
                            yield place, attribute, value
            case _:
                yield from ((place, "", value) for place in self._places_of(str(value)))
                yield from ((place, "title", value) for place in self._titled(str(value)))

    def _beginning_with(self, name: str) -> list[int]:
        """Return the elements of short texts that begin with a name: ``Ann Boyd on``."""
        begin = words(name)
        return [
            piece.owner
            for piece in self._outline.pieces
            if len(piece.text) <= len(name) + LONGEST_AROUND and words(piece.text)[: len(begin)] == begin
        ]

    def _titled(self, text: str) -> Iterator[int]:
        wanted = fold(text).casefold()
        for place, element in enumerate(self._outline.elements):
            given = element.get("title")
            if given and fold(given).casefold() == wanted:
                yield place

    def _person(self, place: int, name: str) -> Person:
        element = self._outline.elements[place]
        above = (element, *element.iterancestors("a"))
        href = next((each.get("href") for each in above if each.tag == "a"), None)
        return Person(name, resolve(self._where.names.base, href) if href else None)

    def _moment(self, name: str, shown: Shown, moment: datetime) -> datetime | None:
        """Return a date as the rules for its field read it, None where it is another day, or another time of it."""
        forms = [field.date for field in self._action.fields if field.name == name and field.kind is FieldKind.DATETIME]
        for read in (*(as_date(shown.text, form, self._now) for form in forms), shown.moment):
            if read is not None and _agree(read, moment, whole_day=not shown.timed):
                return read
        return None

    def _date_attribute(self, place: int, text: str) -> str:
        element = self._outline.elements[place]
        return next((name for name in _DATE_ATTRIBUTES if fold(element.get(name) or "") == text), "")

    def _places_of(self, text: str) -> Sequence[int]:
        """Return the innermost elements whose whole text is this one."""
        if self._texts is None:
            self._texts = {}
            outline = self._outline
            for place, element in enumerate(outline.elements):
                if 0 < outline.free(place) + outline.linked(place) <= 3 * LONGEST_VALUE:
                    shown = fold(excerpt(element, LONGEST_VALUE + 1)).casefold()
                    self._texts.setdefault(shown, []).append(place)
        found = self._texts.get(fold(text).casefold(), [])
        inner = [
            place
            for number, place in enumerate(found)
            if number + 1 == len(found) or not self._outline.contains(place, found[number + 1])
        ]
        return inner if fold(text) else ()

    def _fitness(self, one: _Candidate, each: _Traced, votes: Counter[tuple[int, str, _Shape]]) -> tuple[int, int, int]:
        common = self._outline.common(one.place, each.body.places[0])
        return (votes[one.key(self._shape(one.place))], self._outline.depths[common], -abs(one.place - each.body.place))

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
        """Return the elements that hold an object and no other, the innermost first; none where rows share it."""
        outline = self._outline
        core = each.body.place if len(each.body.places) > 1 else each.body.places[0]
        for spot in each.spots.values():
            core = outline.common(core, spot.place)
        chain: list[int] = []
        for place in (core, *outline.ancestors(core)):
            if place <= 0 or sum(outline.contains(place, body) for body in bodies) > 1:
                break
            chain.append(place)
        return chain

    def _likeness(self, place: int, votes: Counter[_Shape], chain: Sequence[int]) -> tuple[int, bool, bool, int]:
        element = self._outline.elements[place]
        is_numbered = numbered(element.get("id")) is not None
        return (votes[self._shape(place)], is_numbered, bool(self._outline.tokens[place]), -chain.index(place))

    def _row(self, each: _Traced, bodies: Sequence[int]) -> tuple[int, ...]:
        """Return the elements side by side that hold an object together, such as two rows of a table."""
        outline = self._outline
        spots = [*each.body.places, *(spot.place for spot in each.spots.values())]
        above = spots[0]
        for place in spots:
            above = outline.common(above, place)
        branches = sorted({self._branch(above, place) for place in spots if place != above})
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

    def _example(self, each: _Traced) -> Example:
        elements = self._outline.elements
        spots = {BODY: self._body_spot(each.body)}
        for name, candidate in {**each.page_spots, **each.spots}.items():
            spots[name] = Spot((elements[candidate.place],), candidate.value, candidate.attribute)
        fragment = each.object.iri.partition("#")[2] or None
        return Example(tuple(elements[place] for place in each.item), spots, fragment)

    def _body_spot(self, body: Held) -> Spot:
        elements = tuple(self._outline.elements[place] for place in body.places)
        without = tuple(self._outline.elements[place] for place in body.without)
        text = "\n".join(filter(None, (plain_text(element, without) for element in elements)))
        return Spot(elements, text, "", without)

    def _new_ones(
        self, traced: Sequence[_Traced], made: Mapping[tuple[int, ...], Example]
    ) -> dict[tuple[int, ...], Example]:
        """Return the objects that have the shape of those found again and stand where these stand."""
        single = [each for each in traced if len(each.item) == 1 and self._holds_body(each)]
        if not self._action.many or not single:
            return {}
        outline = self._outline
        shapes = {(self._shape(each.item[0]), self._around(each.item[0])) for each in single}
        taken = sorted(place for item in made for place in item)
        found: dict[tuple[int, ...], Example] = {}
        for place in range(1, len(outline.elements)):
            if (self._shape(place), self._around(place)) not in shapes or len(found) >= MOST_ITEMS:
                continue
            if any(outline.contains(place, other) or outline.contains(other, place) for other in taken):
                continue
            example = self._analogous(place, single)
            if example is not None:
                found[(place,)] = example
        return found

    def _around(self, place: int) -> _Shape:
        above = self._outline.parents[place]
        return self._shape(above) if above >= 0 else ("", ())

    def _analogous(self, place: int, models: Sequence[_Traced]) -> Example | None:
        """Return what stands in an element at the places where it stands in others; None without a body."""
        paths = {self._path(inner, place): inner for inner in reversed(range(place, self._outline.ends[place]))}
        for model in models:
            bodies = tuple(paths.get(self._path(own, model.item[0]), -1) for own in model.body.places)
            if -1 in bodies:
                continue
            body = self._body_spot(Held(place, bodies))
            if not body.value:
                continue
            spots = {BODY: body}
            for name, candidate in model.spots.items():
                at = paths.get(self._path(candidate.place, model.item[0])) if self._is_in(model, candidate) else None
                value = self._read(at, model.object.first(name)) if at is not None else None
                if at is not None and value is not None:
                    spots[name] = Spot((self._outline.elements[at],), value, candidate.attribute)
            return Example((self._outline.elements[place],), spots)
        return None

    def _holds_body(self, each: _Traced) -> bool:
        return all(self._outline.contains(each.item[0], own) for own in each.body.places)

    def _is_in(self, model: _Traced, candidate: _Candidate) -> bool:
        return self._outline.contains(model.item[0], candidate.place)

    def _read(self, place: int, like: Value | None) -> Value | None:
        """Return what stands at a place, as the kind of value that stands there in another object."""
        element = self._outline.elements[place]
        match like:
            case Person():
                name = fold(excerpt(element, LONGEST_VALUE))
                return Person(name, resolve(self._where.names.base, element.get("href") or "")) if name else None
            case datetime():
                return next((shown.moment for shown in self._where.shown if shown.place == place), None)
            case str():
                return fold(excerpt(element, LONGEST_VALUE)) or None
            case _:
                return None

    def _path(self, place: int, item: int) -> _Path:
        steps: list[_Shape] = []
        while place != item:
            steps.append(self._shape(place))
            place = self._outline.parents[place]
        return tuple(reversed(steps))


def _agree(read: datetime, moment: datetime, *, whole_day: bool) -> bool:
    """Say whether two dates are the same one, as exactly as both are written."""
    if whole_day or moment.time() == time.min:
        return read.date() == moment.date()
    if not (read.second and moment.second):
        return read.replace(second=0, microsecond=0) == moment.replace(second=0, microsecond=0)
    return read == moment

"""Learns the shape of a page's records, and finds records of a known shape, even a single one."""

from collections import Counter
from collections.abc import Iterator, Sequence

from lxml.etree import _Element as Element

from aahcrawler.induction.outline import Outline
from aahcrawler.induction.record_sets import Nature, Record, RecordSet
from aahcrawler.page.record_shape import RecordShape, Trail, TrailStep, common_trail

SURE = 0.82
"""The confidence of records whose shape is learned."""
MAX_SHAPES = 4
"""The most shapes of records on one page: rows of two colours, the first one."""
MAX_RECORDS = 200
_AROUND = 2
_SHARE = 0.6


def shapes_of(outline: Outline, sets: Sequence[RecordSet]) -> tuple[RecordShape, ...]:
    """Return the shapes of a page's posts, those of most records first; none of records that stand alone."""
    return tuple(shape for each in sets if _is_proven(each) for shape in _shapes(outline, each) if shape.is_telling)


def listed_shapes(outline: Outline, sets: Sequence[RecordSet]) -> tuple[RecordShape, ...]:
    """Return the shapes of a page's entries that lead to pages of their own."""
    listed = (each for each in sets if each.nature is Nature.TEASERS and len(each.records) > 1 and not each.aside)
    return tuple(shape for each in listed for shape in _shapes(outline, each) if shape.is_telling)


def matches(outline: Outline, shape: RecordShape) -> tuple[tuple[int, ...], ...]:
    """Return the places of the elements of each record of a shape, in document order."""
    found: list[tuple[int, ...]] = []
    for place, tag in enumerate(outline.tags):
        if shape.roots[0].fits(tag, outline.tokens[place]) and _stands_in(outline, place, shape.around):
            roots = _roots(outline, place, shape.roots)
            if roots:
                found.append(roots)
        if len(found) == MAX_RECORDS:
            break
    return tuple(found)


def is_of(outline: Outline, found: RecordSet, shapes: Sequence[RecordShape]) -> bool:
    """Return whether all records of a set are of one of some shapes."""
    roots = {tuple(outline.places[element] for element in record.elements) for record in found.records}
    return any(roots.issubset(matches(outline, shape)) for shape in known_shapes(shapes))


def known_shapes(shapes: Sequence[RecordShape]) -> Iterator[RecordShape]:
    """Yield shapes as they are, then the shapes of recognisable records without regard to where they are."""
    yield from shapes
    yield from (each.anywhere for each in shapes if each.is_signed)


def follow(outline: Outline, roots: Sequence[int], field: tuple[int, Trail]) -> Sequence[int]:
    """Return the places at the end of a trail that begins at one of a record's elements, none if it breaks off."""
    number, trail = field
    places = [roots[number]] if number < len(roots) else []
    for step in trail:
        children = (child for place in places for child in outline.children(place))
        places = [child for child in children if step.fits(outline.tags[child], outline.tokens[child])]
    return places


def _is_proven(each: RecordSet) -> bool:
    apart = len({record.element for record in each.records}) == len(each.records)
    return (
        each.nature is Nature.POSTS and len(each.records) >= 2 and each.confidence >= SURE and not each.aside and apart
    )


def _shapes(outline: Outline, each: RecordSet) -> Iterator[RecordShape]:
    """Yield the shapes of the records of a set by the tags of their elements and the classes of the first one."""
    by_name: dict[tuple[object, ...], list[Record]] = {}
    for record in each.records:
        places = [outline.places[element] for element in record.elements]
        name = (outline.tokens[places[0]], *(outline.tags[place] for place in places))
        by_name.setdefault(name, []).append(record)
    ranked = sorted(by_name.values(), key=len, reverse=True)
    for alike in ranked[:MAX_SHAPES]:
        yield shape_of(outline, alike)


def shape_of(outline: Outline, records: Sequence[Record]) -> RecordShape:
    """Return the shape of records that have as many elements each."""
    least = max(1, round(_SHARE * len(records)))
    roots = [tuple(_step(outline, outline.places[element]) for element in record.elements) for record in records]
    around = [_around(outline, outline.places[record.element]) for record in records]
    dates = [_trail(outline, record, record.date.element) for record in records if record.date]
    authors = [_trail(outline, record, record.author.element) for record in records if record.author]
    templates = Counter(record.template for record in records if record.template)
    return RecordShape(
        _shared(roots),
        _shared(around),
        common_trail([each for each in dates if each], least),
        common_trail([each for each in authors if each], least),
        next((name for name, _ in templates.most_common(1)), None),
    )


def _shared(trails: Sequence[Trail]) -> Trail:
    """Return what is at the same places of trails, as far as they have the same tags."""
    shared: list[TrailStep] = []
    for steps in zip(*trails, strict=False):
        if len({step.tag for step in steps}) > 1:
            break
        shared.append(TrailStep(steps[0].tag, frozenset.intersection(*(step.words for step in steps))))
    return tuple(shared)


def _step(outline: Outline, place: int) -> TrailStep:
    return TrailStep(outline.tags[place], frozenset(outline.tokens[place]))


def _around(outline: Outline, place: int) -> Trail:
    return tuple(_step(outline, above) for above in list(outline.ancestors(place))[:_AROUND])


def _trail(outline: Outline, record: Record, element: Element) -> tuple[int, Trail] | None:
    """Return the trail from a record to one of its fields."""
    roots = [outline.places[each] for each in record.elements]
    place = outline.places.get(element)
    trail: list[TrailStep] = []
    while place is not None and place >= 0:
        if place in roots:
            return roots.index(place), tuple(reversed(trail))
        trail.append(_step(outline, place))
        place = outline.parents[place]
    return None


def _stands_in(outline: Outline, place: int, around: Trail) -> bool:
    above = list(outline.ancestors(place))[: len(around)]
    if len(above) < len(around):
        return False
    return all(step.fits(outline.tags[at], outline.tokens[at]) for step, at in zip(around, above, strict=True))


def _roots(outline: Outline, place: int, roots: Trail) -> tuple[int, ...]:
    """Return the places of the elements of a record that begins at a place, none if others follow."""
    found = [place]
    for step in roots[1:]:
        following = outline.ends[found[-1]]
        if following >= len(outline.tags) or outline.parents[following] != outline.parents[place]:
            return ()
        if not step.fits(outline.tags[following], outline.tokens[following]):
            return ()
        found.append(following)
    return tuple(found)

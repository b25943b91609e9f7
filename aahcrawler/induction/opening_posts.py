"""Finds the first post of a thread where it is apart from its replies, in a frame of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from aahcrawler.induction.outline import Outline
from aahcrawler.induction.record_sets import RecordSet
from aahcrawler.induction.record_shapes import follow, shape_of
from aahcrawler.induction.shown_dates import Shown
from aahcrawler.page.record_shape import Trail, TrailStep


def with_opening(outline: Outline, found: RecordSet, shown: Sequence[Shown]) -> tuple[int, ...]:
    """Return the places of an element before some records, and of these; none unless exactly one is built like them.

    It shows a date and an author at the same trails as the records, which have classes. The records are narrowed to
    the innermost elements with all of their text, as the frames of replies have more around them.
    """
    if any(len(record.elements) > 1 for record in found.records):
        return ()
    places = [_narrowed(outline, outline.places[record.element]) for record in found.records]
    alike = [
        replace(record, elements=(outline.elements[place],))
        for record, place in zip(found.records, places, strict=True)
    ]
    shape = shape_of(outline, alike)
    if shape.date is None or shape.author is None or not _is_telling(shape.date[1] + shape.author[1]):
        return ()
    first = min(places)
    author = (shape.author[0], _loosened(shape.author[1]))
    date = _loosened(shape.date[1])
    before = {root for each in shown if each.place < first for root in _roots(outline, each.place, date)}
    opening = [root for root in before if outline.ends[root] <= first and follow(outline, (root,), author)]
    return (opening[0], *places) if len(opening) == 1 else ()


def _is_telling(trail: Trail) -> bool:
    return any(step.words for step in trail)


def _loosened(trail: Trail) -> Trail:
    """Return a trail whose first element may have any class, unless it is the last: ``question``, ``answer``."""
    return (TrailStep(trail[0].tag), *trail[1:]) if len(trail) > 1 else trail


def _roots(outline: Outline, dated: int, trail: Trail) -> Iterator[int]:
    """Yield the element from which a trail leads to a date."""
    root = dated
    for step in reversed(trail):
        if root < 0 or not step.fits(outline.tags[root], outline.tokens[root]):
            return
        root = outline.parents[root]
    if root > 0:
        yield root


def _narrowed(outline: Outline, place: int) -> int:
    """Return the innermost element that holds all of the text of one, links included."""
    while True:
        whole = outline.free(place) + outline.linked(place)
        inner = [child for child in outline.children(place) if outline.free(child) + outline.linked(child) == whole]
        if len(inner) != 1:
            return place
        place = inner[0]

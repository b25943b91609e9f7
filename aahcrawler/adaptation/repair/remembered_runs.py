"""Label objects without elements of their own, which end with a signature, once their texts are found again."""

from collections.abc import Iterator, Sequence

from aahcrawler.adaptation.repair.alignment import WordTable
from aahcrawler.adaptation.repair.remembered_objects import Remembered
from aahcrawler.adaptation.repair.value_places import ShownValues
from aahcrawler.webobject import Value
from aahcrawler.wrapper_induction.examples import Label, LabelledObject

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

"""Tells which elements of a page are which of the objects that were read there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lxml.html import HtmlElement

from aahcrawler.studio.page_sample import SampledPage
from aahcrawler.studio.read_objects import ReadObject


@dataclass(frozen=True, slots=True)
class Pairing:
    """The objects that elements are, or hold.

    ``of_item`` has for each element, by its number, the objects that are within it and in no element nearer to them;
    or else the one object that it is a part of. ``lost`` are objects that can be found on the page, but in no element.
    """

    of_item: Mapping[int, tuple[ReadObject, ...]]
    lost: tuple[ReadObject, ...]

    @property
    def is_one_to_one(self) -> bool:
        """Whether no element holds several objects, and no object lies in several elements."""
        paired = [each.number for found in self.of_item.values() for each in found]
        return all(len(found) < 2 for found in self.of_item.values()) and len(set(paired)) == len(paired)


def paired(page: SampledPage, items: Sequence[HtmlElement], objects: Sequence[ReadObject]) -> Pairing:
    """Pair elements of a page with some of its objects, those that can be found on it."""
    numbers = {item: number for number, item in enumerate(items)}
    found: dict[int, list[ReadObject]] = {}
    left: dict[HtmlElement, ReadObject] = {}
    for each in objects:
        place = page.places.get(each.number)
        if place is None:
            continue
        above = next((numbers[at] for at in (place, *place.iterancestors()) if at in numbers), None)
        if above is not None:
            found.setdefault(above, []).append(each)
        else:
            left[place] = each
    lost = dict(left)
    for number, item in enumerate(items) if left else ():
        around = next((at for at in item.iterancestors() if at in left), None)
        if around is not None:
            found.setdefault(number, []).append(left[around])
            lost.pop(around, None)
    return Pairing({number: tuple(objects) for number, objects in found.items()}, tuple(lost.values()))

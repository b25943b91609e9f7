"""The input of wrapper induction: pages with their objects, found and labelled by other means."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from lxml.etree import _Element as Element

from aahcrawler.page import Page
from aahcrawler.webobject import Value


class Method(StrEnum):
    """The ways in which the objects of an example are found."""

    MEMORY = "memory"
    """The objects extracted earlier at this URL were found again (ARCOMEM, section 4.1, recrawl)."""
    RELAXED = "relaxed"
    """Relaxed expressions of the knowledge base (ARCOMEM, section 4.1, new crawl)."""
    INDUCED = "induced"
    """The page's repeated structure, with its dates and authors."""


@dataclass(frozen=True, slots=True)
class Label:
    """The place of a field's value: the elements whose text it is, or whose ``attribute`` holds it.

    ``without`` are elements within them that do not belong to the value (signatures, buttons).
    """

    elements: tuple[Element, ...]
    value: Value
    attribute: str = ""
    without: tuple[Element, ...] = ()


@dataclass(frozen=True, slots=True)
class LabelledObject:
    """One object on a page.

    ``elements`` contain it and no other object; they are adjacent, and mostly there is one. ``labels`` are by field
    name (``body``, ``author``, ``date``, ``title``). ``fragment`` is that of its IRI, if known.
    """

    elements: tuple[Element, ...]
    labels: Mapping[str, Label]
    fragment: str | None = None


@dataclass(frozen=True, slots=True)
class LabelledExample:
    """A page with all objects of one action on it, in document order, as found by one method.

    No objects means that the content is certainly absent. ``confidence`` and that of the runner-up are in [0, 1]; the
    latter is 0 if there was no rival.
    """

    page: Page
    method: Method
    objects: tuple[LabelledObject, ...]
    confidence: float
    runner_up: float = 0.0
    notes: tuple[str, ...] = field(default=())

    def without(self, fields: Collection[str]) -> "LabelledExample":
        """Return the example with the given fields removed from all objects."""
        objects = (
            replace(each, labels={name: label for name, label in each.labels.items() if name not in fields})
            for each in self.objects
        )
        return replace(self, objects=tuple(objects))

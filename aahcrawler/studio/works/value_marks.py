"""Marks of values on a page: what a person knows to be right or wrong becomes what is expected."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from aahcrawler.authoring.saved_pages import Expectation, ObjectRow
from aahcrawler.studio.works.work_errors import WorkError
from aahcrawler.studio.works.work_steps import Mark, PageState

_PLAIN = ("type", "title", "author", "date", "body", "part_of", "parent")


@dataclass(frozen=True, slots=True)
class OpenMark:
    """A value that a person marked as wrong without saying what is right, and that is still expected."""

    page: str
    iri: str
    field: str
    value: str | None
    who: str

    def __str__(self) -> str:
        """Return a sentence for people."""
        shown = f'"{" ".join(self.value.split())[:60]}"' if self.value is not None else "nothing"
        return f"{self.who} marked {self.field} of {self.iri} on the page {self.page} as wrong ({shown} was read)"


def marked(page: PageState, mark: Mark, instead: str | None) -> PageState:
    """Return a page with a mark, in the place of an earlier one of the same value. Raises `WorkError`.

    What is marked as right is expected, and so is ``instead`` of what is wrong. An object that is none is not expected.
    """
    row = next((each for each in page.expected.objects if each.iri == mark.iri), None)
    if row is None:
        raise WorkError(f"{mark.iri} is not expected on this page; say first that the page is read rightly")
    marks = (*(each for each in page.marks if (each.iri, each.field) != (mark.iri, mark.field)), mark)
    if not mark.field:
        objects = tuple(each for each in page.expected.objects if mark.right or each is not row)
        return page.model_copy(update={"expected": _with(page.expected, objects), "marks": marks})
    value = mark.value if mark.right else instead
    if not mark.right and instead is None:
        return page.model_copy(update={"marks": marks})
    objects = tuple(_valued(each, mark.field, value) if each is row else each for each in page.expected.objects)
    if not mark.right:
        marks = (*marks[:-1], mark.model_copy(update={"right": True, "value": value}))
    return page.model_copy(update={"expected": _with(page.expected, objects), "marks": marks})


def open_marks(name: str, page: PageState) -> Iterator[OpenMark]:
    """Yield the values marked as wrong of which nobody said what is right."""
    for mark in page.marks:
        if not mark.right and mark.field:
            yield OpenMark(name, mark.iri, mark.field, mark.value, mark.who)


def value_of(row: ObjectRow, field: str) -> str | None:
    """Return a value of an object as an expectation writes it, None where there is none."""
    if field in _PLAIN:
        value: str | None = getattr(row, field)
        return value
    return "; ".join(row.more[field]) if field in row.more else None


def _valued(row: ObjectRow, field: str, value: str | None) -> ObjectRow:
    told = row.model_dump()
    if field in _PLAIN:
        told[field] = value
    else:
        told["more"] = {**row.more, field: (value,)} if value is not None else _without(row.more, field)
    try:
        return ObjectRow.model_validate(told)
    except ValidationError as error:
        raise WorkError(f"{field} of an object cannot be {'nothing' if value is None else 'that'}") from error


def _without(more: Mapping[str, tuple[str, ...]], field: str) -> dict[str, tuple[str, ...]]:
    return {name: values for name, values in more.items() if name != field}


def _with(expected: Expectation, objects: tuple[ObjectRow, ...]) -> Expectation:
    return expected.model_copy(update={"objects": objects})

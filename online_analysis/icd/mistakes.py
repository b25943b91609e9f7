"""Mistakes in an ICD, described so that its author can correct them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict
from pydantic_core import PydanticCustomError


class Section(BaseModel):
    """A frozen part of an ICD that knows all its fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


def refuse(problem: str, advice: str) -> PydanticCustomError:
    """Return the error to raise for a value; ``problem`` continues a sentence that begins with its field."""
    return PydanticCustomError("icd", "{problem}", {"problem": problem, "advice": advice})


FieldPath = tuple[str | int, ...]


def field_name(path: Sequence[str | int]) -> str:
    """Return a path as its author would write it: ``topic.keywords[0]``.

    >>> field_name(("topic", "keywords", 0))
    'topic.keywords[0]'
    """
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path).removeprefix(".")


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake at one place. ``line`` counts from 1; ``field`` is empty if the whole file is meant.

    ``problem`` continues a sentence that begins with the field; ``advice`` is the remedy.
    """

    file: str
    line: int
    field: str
    problem: str
    advice: str

    def __str__(self) -> str:
        """Render as ``file:line: field: problem; advice``, on one line.

        >>> str(Mistake("a.yaml", 3, "id", "is missing", "write `id: my-crawl`"))
        'a.yaml:3: id: is missing; write `id: my-crawl`'
        """
        place = f"{self.file}:{self.line}: "
        field = f"{self.field}: " if self.field else ""
        return " ".join(f"{place}{field}{self.problem}; {self.advice}".split())


class IcdError(Exception):
    """Raised for an ICD that cannot be used. ``mistakes`` has every mistake found, in the order of the file.

    The ICD's own mistakes come first, followed by those of files that it names.
    """

    def __init__(self, mistakes: Iterable[Mistake]) -> None:
        found = dict.fromkeys(mistakes)
        files = {name: place for place, name in enumerate(dict.fromkeys(mistake.file for mistake in found))}
        self.mistakes = tuple(sorted(found, key=lambda each: (files[each.file], each.line, each.field, each.problem)))
        super().__init__("\n".join(map(str, self.mistakes)))

"""Mistakes in a file of the knowledge base."""

from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A mistake in a file of the knowledge base, in words its author can act on."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


@dataclass
class Notes:
    """Collects the problems of one file."""

    file: Path
    problems: list[Problem] = field(default_factory=list)

    def add(self, element: etree._Element, message: str) -> None:
        """Note a mistake at an element."""
        self.problems.append(Problem(str(self.file), element.sourceline or 0, message))

"""Errors in a knowledge base, one line each, in words its author can act on."""

from dataclasses import dataclass
from enum import StrEnum

from aahcrawler.authoring.file_lines import Place


class Severity(StrEnum):
    """Whether a knowledge base can be used in spite of a finding."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """A mistake and how to correct it; ``is_guess`` where it is that nobody has confirmed something."""

    place: Place
    severity: Severity
    message: str
    is_guess: bool = False

    def __str__(self) -> str:
        return f"{self.place}: {self.severity}: {self.message}"

    @property
    def element(self) -> str:
        """The place of the element in its file, ``level[thread]/when[2]``; empty for the file as a whole."""
        return self.place.element

    @property
    def key(self) -> tuple[str, int, str]:
        """The sort key of findings: file, line, words."""
        return self.place.file, self.place.line, self.message


def error(place: Place, message: str) -> Finding:
    """Return a finding with which the knowledge base cannot be used."""
    return Finding(place, Severity.ERROR, message)


def warning(place: Place, message: str, *, is_guess: bool = False) -> Finding:
    """Return a warning."""
    return Finding(place, Severity.WARNING, message, is_guess)

"""The pages of a world, before they are written."""

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A page of HTML with its labels (sections, categories, tags, forums), the narrowest first."""

    url: str
    body: bytes
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Redirection:
    """A URL at which a site answers with another one."""

    url: str
    target: str


Answer: TypeAlias = ArchivedPage | Redirection

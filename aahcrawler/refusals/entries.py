"""The entries of a refusal log, line by line: pages with links that were refused, and URLs that failed."""

from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, TypeAdapter

FORMAT = 1


class Link(NamedTuple):
    """A refused link, and the page it is on."""

    url: str
    score: float
    depth: int
    kind: Literal["page", "requisite"]
    path: str


class Begin(BaseModel):
    """The first line of each file. ``crawl`` counts the crawls of a definition."""

    model_config = ConfigDict(frozen=True)

    format: int = FORMAT
    crawl: int


class Page(BaseModel):
    """A page and those of its links that were refused, by reason; ``language`` is that of the page, if known."""

    model_config = ConfigDict(frozen=True)

    via: str
    language: str | None = None
    refused: dict[str, list[Link]]


class Failed(BaseModel):
    """A URL that was not fetched, or answered with an error, and the reason; ``via`` is the page that linked to it."""

    model_config = ConfigDict(frozen=True)

    failed: str
    reason: str
    kind: Literal["page", "requisite"] = "page"
    via: str = ""


Entry: TypeAdapter[Page | Failed] = TypeAdapter(Page | Failed)
"""Reads a line that is not the first."""

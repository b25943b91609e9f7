"""The text and links of one page, split into the parts that analysers look at (ARCOMEM, section 4.2)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

PartRole = Literal["content", "navigation", "other"]


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A region of the page that is analysed by itself: a post, the main content, a sidebar.

    ``text`` is plain text with white space folded; ``content`` parts hold what the page is about.
    """

    role: PartRole
    text: str


@dataclass(frozen=True, slots=True)
class Outlink:
    """A link of the page. ``url`` is absolute and canonical.

    ``context`` is the plain text of the paragraph (or list item, cell, heading) around the anchor, anchor included.
    ``part`` indexes ``Document.parts``, None where the link stands in none of them.
    ``action`` names the navigation action of the knowledge base that chose the link, None for a link of the content
    or of a page of unknown application.
    """

    url: str
    anchor: str
    context: str = ""
    part: int | None = None
    action: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What analysers see of a page. ``language`` is an ISO 639-1 code; ``published`` is aware and in UTC."""

    url: str
    language: str | None
    title: str
    parts: tuple[DocumentPart, ...]
    outlinks: tuple[Outlink, ...]
    published: datetime | None = None

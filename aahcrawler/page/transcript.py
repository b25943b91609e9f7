"""The text and the links of a body that is not markup, such as PDF or DOCX."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class TranscriptLink:
    """A link of a document: a URL as it is written, the text that it lies on, and the text around that."""

    address: str
    anchor: str = ""
    context: str = ""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The text and the links of one page of a document, either of them possibly empty.

    Where the format knows no pages, it is as much text as a page may hold.
    """

    text: str
    links: tuple[TranscriptLink, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """The content of a document, as far as it was read, and what it declares of itself.

    ``created`` is aware and in UTC, None if unknown; ``title`` and ``author`` are empty then. ``complete`` is False if
    reading was given up, because of the document's content or because it took too long, and ``encrypted`` tells that
    nobody can read it without a password or a key. ``problem`` says why reading was given up, where that is known.
    ``entries`` is how many rows, solutions of a query or statements it has; None where it has none such, or they were
    not counted.
    """

    title: str = ""
    created: datetime | None = None
    sheets: tuple[Sheet, ...] = ()
    complete: bool = True
    author: str = ""
    encrypted: bool = False
    problem: str = ""
    entries: int | None = None

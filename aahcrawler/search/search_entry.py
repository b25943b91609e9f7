"""What is found by a search: a version of a page or of a web object, as one value."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from operator import attrgetter
from typing import Final, Self

from aahcrawler.objects.capture_statements import CaptureStatements, ObjectRow
from aahcrawler.page.generic import language as language_of
from aahcrawler.urls import canonicalize

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
MAX_TEXT: Final = 500_000
"""Characters of a text that are indexed."""
MAX_LINE: Final = 1_000
"""Characters of a title or a name that are indexed."""
PAGE: Final = "page"
OBJECT: Final = "object"
MEDIA: Final = "media"
_MICROSECOND: Final = timedelta(microseconds=1)
_SAMPLE: Final = 400
"""Characters of a page's objects by which their language is told."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a capture is said to be by its latest reading; None and empty where that is not known.

    ``read_at`` is when it was read again, ISO 8601; empty for a first reading.
    """

    application: str | None = None
    score: float | None = None
    language: str | None = None
    read_at: str = ""

    def __str__(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the facts that a text says."""
        return cls(**json.loads(text))


@dataclass(frozen=True, slots=True)
class SearchEntry:
    """A version of a page or of a web object.

    ``thing`` is what it is a version of (``page_thing``, ``object_thing``). ``kind`` is ``page``,
    ``object`` or ``media``; ``type`` is that of the object, and for the others the first part of the media type.
    ``record`` and ``captured`` (microseconds since 1970) are of the first capture that has it in a row. ``date`` is as
    the object has it, ``published`` the same in seconds since 1970, None where that is no time. ``language`` is a code
    of ISO 639-1. ``page`` is the URL of the page that has an object, where that is another than the object's. ``said``
    are the names and topics that annotations say an object speaks of, each behind its kind, and the stems of topics.
    """

    thing: str
    kind: str
    type: str
    url: str
    record: str
    captured: int
    title: str = ""
    author: str = ""
    text: str = ""
    date: str = ""
    published: int | None = None
    language: str = ""
    application: str = ""
    media_type: str = ""
    status: int = 0
    score: float | None = None
    crawl: int = 0
    part_of: str = ""
    page: str = ""
    said: tuple[tuple[str, str], ...] = ()

    @property
    def iri(self) -> str:
        """The IRI of an object, empty for all else."""
        return self.thing.removeprefix(object_thing("")) if self.kind == OBJECT else ""

    @property
    def digest(self) -> int:
        """What two versions differ by, as a number of 63 bits, never 0."""
        return number_of(f"{self.title}\0{self.author}\0{self.date}\0{self.text}") or 1

    def __bytes__(self) -> bytes:
        return json.dumps(_VALUES(self), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

    @classmethod
    def read(cls, kept: bytes) -> Self:
        """Return the entry that ``bytes`` made these of."""
        values = json.loads(kept)
        values[-1] = tuple((kind, label) for kind, label in values[-1])
        return cls(*values)

    def with_facts(self, facts: Facts) -> Self:
        """Return the entry as a reading of its capture has it."""
        named = {"application": facts.application or "", "score": facts.score}
        if facts.language:
            named["language"] = facts.language
        return replace(self, **named)  # type: ignore[arg-type]


_VALUES: Final = attrgetter(*(each.name for each in fields(SearchEntry)))


def number_of(text: str) -> int:
    """Return a number of 63 bits that a text is known by."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()) >> 1


def page_thing(url: str) -> str:
    """Return what a page is known by, whichever way its URL is written."""
    return f"page {canonicalize(url) or url}"


def object_thing(iri: str) -> str:
    """Return what an object is known by: an article may have the URL of its page."""
    return f"object {iri}"


def microseconds(moment: str) -> int:
    """Return a moment, ISO 8601, in microseconds since 1970. Raise ``ValueError`` where it is none."""
    read = datetime.fromisoformat(moment)
    return ((read if read.tzinfo else read.replace(tzinfo=UTC)) - EPOCH) // _MICROSECOND


def facts_in(stated: CaptureStatements) -> Facts:
    """Return what a reading says of its capture."""
    row = stated.row
    return Facts(row.application, row.score, None, stated.read_at)


def object_entries(stated: CaptureStatements) -> Iterator[SearchEntry]:
    """Yield the objects that a capture states. Their language is that of their texts taken together."""
    row, captured = stated.row, microseconds(stated.row.fetched_at)
    sample = "\n".join(filter(None, (each.body or each.title for each in stated.objects)))[:_SAMPLE]
    language = language_of(sample) if sample else None
    for each in stated.objects:
        yield SearchEntry(
            thing=object_thing(each.iri),
            kind=OBJECT,
            type=each.type,
            url=each.url,
            record=row.capture,
            captured=captured,
            title=(each.title or "")[:MAX_LINE],
            author=(each.author or "")[:MAX_LINE],
            text=(each.body or "")[:MAX_TEXT],
            date=(each.date or "")[:MAX_LINE],
            published=_published(each),
            language=language or "",
            application=row.application or "",
            media_type=row.media_type or "",
            status=row.status,
            score=row.score,
            crawl=row.crawl,
            part_of=each.part_of or "",
            page=row.url if row.url != each.url else "",
        )


def _published(row: ObjectRow) -> int | None:
    try:
        return microseconds(row.date) // 1_000_000 if row.date else None
    except (ValueError, OverflowError):
        return None

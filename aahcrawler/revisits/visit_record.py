"""One visit of a URL: as a line of JSON in the change log, and as a value for readers.

A line has what was observed, and the result of a comparison with the former capture. The reader of the log, who has all
visits, decides what that means: whether the URL changed since the visit before, whether that matters, and when it
happened.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FORMAT = 1


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def milliseconds(moment: datetime) -> int:
    """Return a moment in milliseconds since 1970, as in the log."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment_at(at: int) -> datetime:
    """Return the moment that is this many milliseconds after 1970 began."""
    return _EPOCH + timedelta(milliseconds=at)


class ChangeState(StrEnum):
    """What a visit found about a URL, compared with the visit before it."""

    NEW = "new"
    """Nothing was known about it."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """The server said so, or sent the same; also a page that is still gone."""
    GONE = "gone"
    """There was a page, and there no longer is."""
    FAILED = "failed"
    """There was no response, or it says nothing about a page: an error, or a 404 if no page was known."""


class ChangeKind(StrEnum):
    """What has changed about a page."""

    CONTENT = "content"
    """The text of its content, or its web objects."""
    TEMPLATE = "template"
    """What surrounds its content, or parts of it that differ on every visit; its text and links are the same."""
    LINKS = "links"
    """The targets of its content's links; its text is the same."""
    GONE = "gone"
    BACK = "back"
    """It had been gone, and exists again."""
    MOVED = "moved"
    """It redirects elsewhere, or no longer redirects."""


class DateSource(StrEnum):
    """What dates a change, the most trusted source first."""

    LAST_MODIFIED = "last-modified"
    """The server, whose dates have proved true (``ServerDates``)."""
    LISTED = "listed"
    """A sitemap or a feed of the site."""
    CONTENT = "content"
    """The dates on the page itself."""
    COMPARISON = "comparison"
    """Only the visits before and after it."""


class ChangeFormat(StrEnum):
    """Formats to which the log can be exported."""

    TSV = "tsv"
    CSV = "csv"
    JSONL = "jsonl"
    ATOM = "atom"
    NQ = "nq"


@dataclass(frozen=True, slots=True)
class Dating:
    """When a change happened, according to a source: after one moment, and no later than the other.

    If the source gives the moment itself, both are that moment. ``after`` is None if no visit was before.
    """

    after: datetime | None
    before: datetime
    by: DateSource


MAX_REASON: Final = 500
"""The most characters of a reason."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit of a URL and what it found. All moments are aware and in UTC.

    ``seconds`` is how long the response took, None if unknown. ``status`` is that of the response, None if none came,
    and ``reason`` why none came, or why a document was not read to its end or not compared. ``state`` compares with the
    visit before, which was at ``previous`` (None: none is known). ``kind`` is None if nothing changed, or it is unknown
    what did. ``volatile`` means that the differences are at places of the template, or in idle lines of the page,
    that differ on nearly every visit; such a place may have said something new this time. ``etag`` and
    ``last_modified`` are as the server wrote them, ``byte_digest`` is that of the payload in the notation of WARC
    (``sha1:``), ``text_digest`` the SHA-1 of the text of its content in hexadecimal digits, None if it has none or
    was not read again. ``size`` counts the bytes of the response as received, and ``requests`` the requests to the
    site for this visit, including a browser's. ``record_id`` is that of the WARC record, empty if nothing came.
    ``moved_to`` is the target of a redirect. ``new``, ``edited`` and ``deleted`` are the IRIs of web objects, and
    ``statements`` how many statements or rows of data were added, removed and changed, None if unknown. ``dated``
    says when the change happened, None if nothing changed.
    """

    url: str
    at: datetime
    seconds: float | None
    status: int | None
    state: ChangeState
    kind: ChangeKind | None = None
    etag: str | None = None
    last_modified: str | None = None
    byte_digest: str | None = None
    text_digest: str | None = None
    size: int = 0
    requests: int = 1
    record_id: str = ""
    reason: str = ""
    crawl: int = 0
    previous: datetime | None = None
    volatile: bool = False
    moved_to: str = ""
    new: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    dated: Dating | None = None
    statements: tuple[int, int, int] | None = None

    @property
    def matters(self) -> bool:
        """Whether the page differs for its readers: it is new, gone or moved, or more than its template has changed."""
        return self.kind is not ChangeKind.TEMPLATE and self.state in _TELLING


_TELLING = frozenset({ChangeState.NEW, ChangeState.CHANGED, ChangeState.GONE})


@dataclass(frozen=True, slots=True)
class WantedVisits:
    """Which visits are wanted, by default all: of a URL, in ``[since, until)``, of states and kinds.

    ``text`` is a part of their URLs, in any case. With ``telling``, only visits are wanted that found a difference for
    readers (``Visit.matters``).
    """

    url: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    states: frozenset[ChangeState] = frozenset()
    kinds: frozenset[ChangeKind] = frozenset()
    text: str = ""
    telling: bool = False

    def admits(self, visit: Visit) -> bool:
        """Return whether a visit is of a wanted state and kind."""
        return (
            (not self.states or visit.state in self.states)
            and (not self.kinds or visit.kind in self.kinds)
            and (not self.telling or visit.matters)
        )


class Place(NamedTuple):
    """A place of a template whose text differed between two captures of a page.

    ``path`` is that of its tags (``aahcrawler.page.text.TagPaths``). ``numbers`` means that the two texts differ only
    in numbers, times and tokens; ``alone`` that the place occurred once on the page in both captures.
    """

    path: str
    numbers: bool
    alone: bool


class Begin(BaseModel):
    """The first line of each file. ``crawl`` is the number of the crawl among those of its definition."""

    model_config = ConfigDict(frozen=True)

    format: int
    crawl: int


class VisitRecord(BaseModel):
    """A visit as it was observed. Moments are in milliseconds since 1970, and unknown values are left out.

    ``said`` is the result of the comparison with the former capture, which was made at ``compared``, and ``kind`` what
    differs from it. ``template`` names the page's template: its site and the level of its application, or the shape of
    its URL. ``places`` are where the content differs, None if that was not examined. ``asked_at`` is the time by the
    server's own clock (``Date``), ``shown`` the newest date that the content gives for its change.
    """

    model_config = ConfigDict(frozen=True)

    url: str
    at: int
    seconds: float | None = None
    status: int | None = None
    reason: str = ""
    said: ChangeState | None = None
    kind: ChangeKind | None = None
    compared: int | None = None
    etag: str | None = None
    modified: str | None = None
    asked_at: int | None = None
    shown: int | None = None
    payload: str | None = None
    text: str | None = None
    size: int = 0
    requests: int = 1
    record: str = ""
    template: str = ""
    places: tuple[Place, ...] | None = None
    idle: bool = False
    """Whether all that differs, of web objects too, are lines that differ by the visits alone (``idle_lines``)."""
    to: str = ""
    soft: bool = False
    """Whether the page is an error page, whatever its status (a soft 404)."""
    reader: str = ""
    """Identifies the reader of the text: texts from different readers cannot be compared."""
    rendered: bool = False
    """Whether scripts made the page, so that the payload does not show whether it changed."""
    new: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    statements: tuple[int, int, int] | None = None
    """How many statements or rows of data were added, removed and changed."""


class Listed(BaseModel):
    """What a sitemap or feed of the site says about pages, by URL.

    ``listed`` is when they changed, in milliseconds since 1970, ``stated`` how often they change (``changefreq``).
    """

    model_config = ConfigDict(frozen=True)

    via: str
    at: int
    listed: Mapping[str, int]
    stated: Mapping[str, str] = {}


Entry = VisitRecord | Listed | Begin
ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(union_mode="left_to_right")])
"""Parses and writes a line; the kinds of lines differ in their required fields."""

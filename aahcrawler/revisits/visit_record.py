"""One visit of a URL: as the change log keeps it, a line of JSON, and as its readers are given it.

A line says what was seen, and what a comparison with the former capture found. What that means is told by the reader,
who knows all visits: whether the URL changed since the visit before, whether that matters, and when it was.
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
    """Return a moment in milliseconds since 1970, as the log keeps it."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def moment_at(at: int) -> datetime:
    """Return the moment of a number of milliseconds since 1970."""
    return _EPOCH + timedelta(milliseconds=at)


class ChangeState(StrEnum):
    """What a visit found of a URL, against the visit before it."""

    NEW = "new"
    """Nothing was known of it."""
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    """The server says so, or sent the same; also of a page that is still gone."""
    GONE = "gone"
    """There was a page, and there is none any more."""
    FAILED = "failed"
    """No answer, or one that says nothing of a page: an error, or a 404 where no page was known."""


class ChangeKind(StrEnum):
    """What of a page changed."""

    CONTENT = "content"
    """The text of its content, or its web objects."""
    TEMPLATE = "template"
    """What surrounds its content, or what of it changes on every visit; its text and the links in it are the same."""
    LINKS = "links"
    """Where the links of its content lead; its text is the same."""
    GONE = "gone"
    BACK = "back"
    """It was gone, and is there again."""
    MOVED = "moved"
    """It redirects elsewhere, or redirects no more."""


class DateSource(StrEnum):
    """What the date of a change was told by, in the order in which they are believed."""

    LAST_MODIFIED = "last-modified"
    """The server, whose dates have proved true (``ServerDates``)."""
    LISTED = "listed"
    """A sitemap or a feed of the site."""
    CONTENT = "content"
    """The dates on the page itself."""
    COMPARISON = "comparison"
    """Nothing but the visits before and after it."""


class ChangeFormat(StrEnum):
    """Formats in which the log is written for others."""

    TSV = "tsv"
    CSV = "csv"
    JSONL = "jsonl"
    ATOM = "atom"
    NQ = "nq"


@dataclass(frozen=True, slots=True)
class Dating:
    """When a change happened: after the one moment, and no later than the other, by the source.

    Where the source gives the moment itself, both are that moment. ``after`` is None where no visit was before.
    """

    after: datetime | None
    before: datetime
    by: DateSource


MAX_REASON: Final = 500
"""Characters of the reason why a document was not read."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A visit of a URL and what it found. All moments are aware and in UTC.

    ``seconds`` is how long the answer took, None where nobody measured it. ``status`` is that of the answer, None where
    none came, and ``reason`` why none did, or why a document was not read to its end or not compared. ``state`` is
    against the visit before, which was at ``previous`` (None: none is known). ``kind`` is None where nothing changed,
    and where nobody can tell what did. ``volatile`` says that what differs are places of the template that differ on
    nearly every visit: whether such a place said something new this once is not known. ``etag`` and ``last_modified``
    are as the server wrote them, ``byte_digest`` is that of the payload as WARC writes it (``sha1:``), ``text_digest``
    the SHA-1 of the text of its content in hexadecimal digits, None where it has none or was not looked at again.
    ``size`` counts the bytes of the answer as they came, and ``requests`` what was asked of the site for this visit, a
    browser's requests included: that is what the visit cost. ``record_id`` is that of the WARC record, empty where
    nothing came. ``moved_to`` is where a redirect leads. ``new``, ``edited`` and ``deleted`` are the IRIs of web
    objects, and ``statements`` how many statements or rows of data were added, removed and changed, None where that is
    not known. ``dated`` says when the change happened, None where nothing changed.
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
        """Whether the page is another one for its readers: new, gone, moved, or changed in more than its template."""
        return self.kind is not ChangeKind.TEMPLATE and self.state in _TELLING


_TELLING = frozenset({ChangeState.NEW, ChangeState.CHANGED, ChangeState.GONE})


@dataclass(frozen=True, slots=True)
class WantedVisits:
    """The visits that are wanted, all where nothing is said: of a URL, in ``[since, until)``, of states and kinds.

    ``text`` is a part of their URLs, in whatever case. ``telling`` leaves out those after which the page is the same
    for its readers (``Visit.matters``).
    """

    url: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    states: frozenset[ChangeState] = frozenset()
    kinds: frozenset[ChangeKind] = frozenset()
    text: str = ""
    telling: bool = False

    def admits(self, visit: Visit) -> bool:
        """Return whether a visit is of the states and kinds that are wanted."""
        return (
            (not self.states or visit.state in self.states)
            and (not self.kinds or visit.kind in self.kinds)
            and (not self.telling or visit.matters)
        )


class Place(NamedTuple):
    """A place of a template whose text differed between two captures of a page.

    ``path`` is that of its tags (``aahcrawler.page.text.TagPaths``). ``numbers`` says that the two texts are one but
    for numbers, times and tokens; ``alone`` that the place stood once on the page in both captures.
    """

    path: str
    numbers: bool
    alone: bool


class Begin(BaseModel):
    """The first line of each file. ``crawl`` counts the crawls of a definition."""

    model_config = ConfigDict(frozen=True)

    format: int
    crawl: int


class VisitRecord(BaseModel):
    """A visit as it was seen; moments are in milliseconds since 1970, and what is not known is left out.

    ``said`` is what the comparison with the former capture said, which was at ``compared``, and ``kind`` what of the
    page differs from that. ``template`` names what the page was made by: its site and the level of its application, or
    the shape of its URL. ``places`` are where the content differs, None where that was not looked at. ``asked_at`` is
    the time of the server's own clock (``Date``), ``shown`` the newest date that the content gives for its change.
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
    to: str = ""
    soft: bool = False
    """Whether the page is one that stands for an error, whatever its status (a soft 404)."""
    reader: str = ""
    """What identifies the reader of the text: what different readers make of it tells nothing."""
    rendered: bool = False
    """Whether scripts made the page, so that the payload does not tell whether it changed."""
    new: tuple[str, ...] = ()
    edited: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    statements: tuple[int, int, int] | None = None
    """How many statements or rows of data were added, removed and changed."""


class Listed(BaseModel):
    """What a list of the site, a sitemap or a feed, says of its pages, by URL.

    ``listed`` is when they changed, in milliseconds since 1970, ``stated`` how often they do (``changefreq``).
    """

    model_config = ConfigDict(frozen=True)

    via: str
    at: int
    listed: Mapping[str, int]
    stated: Mapping[str, str] = {}


Entry = VisitRecord | Listed | Begin
ENTRY: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(union_mode="left_to_right")])
"""Reads and writes a line; no two kinds of them have the same fields that must be there."""

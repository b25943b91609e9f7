"""The log of changes: every visit of a page, with what it cost and what it found.

Files of a crawl that only grow, in ``changes/``: gzip-compressed lines of JSON (``visit_record``), of each worker for
itself. They are read through an index that is derived from them, in which each visit stands beside the one before it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, ClassVar, Final

from pydantic import ValidationError

from aahcrawler.derived_index import DerivedIndex, Source, coverage, segment_members, segment_sources
from aahcrawler.layout import CHANGE_LOG, CHANGES, CHANGES_INDEX, INDEXES
from aahcrawler.revisits.change_evidence import (
    PlaceEvidence,
    ServerDates,
    dated,
    http_date,
    judged_date,
    server_of,
    telling_places,
)
from aahcrawler.revisits.visit_record import (
    ENTRY,
    FORMAT,
    Begin,
    ChangeKind,
    ChangeState,
    DateSource,
    Dating,
    Entry,
    Listed,
    Place,
    Visit,
    VisitRecord,
)
from aahcrawler.segments import DamageError, SegmentedOutput, SegmentWriter, Series

__all__ = [
    "ChangeIndex",
    "ChangeKind",
    "ChangeLog",
    "ChangeState",
    "DateSource",
    "Dating",
    "Visit",
    "WantedVisits",
    "last_visits",
    "milliseconds",
    "opened_changes",
    "visits",
]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_LISTED: Final = 100
"""Dates of one list in a line: a takedown takes out whole lines."""
_GONE: Final = frozenset({404, 410})
_NEARLY: Final = 1_000
"""Milliseconds by which two moments of one visit may differ."""
_CHANGED: Final = frozenset({ChangeState.NEW, ChangeState.CHANGED, ChangeState.GONE})


class ChangeLog(SegmentedOutput):
    """Appends visits to segments of a crawl's folder, each as a gzip member of its own.

    When a method returns, its line is with the operating system (``aahcrawler.segments``). Methods raise
    ``DiskFullError`` when there is no room, ``SegmentError`` for other troubles of the disk; nothing was changed then,
    and the same call may be made again. Not for two threads at once.
    """

    def __init__(
        self, folder: Path, crawl: str, number: int, clock: Callable[[], datetime], *, size: int = 1 << 30
    ) -> None:
        series = Series(folder, crawl, CHANGE_LOG, limit=size)
        super().__init__(SegmentWriter(series, clock, lambda _: (_line(Begin(format=FORMAT, crawl=number)),)))

    def visited(self, visit: VisitRecord) -> None:
        """Keep a visit."""
        self._segments.append((_line(visit),))

    def listed(self, via: str, at: datetime, changed: Mapping[str, datetime]) -> None:
        """Keep when the list ``via``, read at ``at``, says that pages of its site changed, by canonical URL."""
        dates = [(url, milliseconds(moment)) for url, moment in changed.items()]
        parts = [dict(dates[begin : begin + _MOST_LISTED]) for begin in range(0, len(dates), _MOST_LISTED)]
        if parts:
            self._segments.append(*((_line(Listed(via=via, at=milliseconds(at), listed=part)),) for part in parts))


def _line(entry: Entry) -> bytes:
    return ENTRY.dump_json(entry, exclude_defaults=True) + b"\n"


def milliseconds(moment: datetime) -> int:
    """Return a moment in milliseconds since 1970, as the log keeps it."""
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def _moment(at: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=at)


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


def visits(folder: Path, url: str | None = None, since: datetime | None = None) -> Iterator[Visit]:
    """Yield the visits of a crawl's folder, the oldest first: all, or those of a canonical URL, from a moment on.

    A folder without a log has none. Raise ``DamageError`` for a log that cannot be read, ``sqlite3.Error`` and
    ``OSError`` for an index that cannot be made.
    """
    with opened_changes(folder) as index:
        yield from index.visits(WantedVisits(url, since))


def last_visits(folder: Path) -> Mapping[str, Visit]:
    """Return the last visit of each URL of a crawl's folder. Raises as ``visits`` does."""
    with opened_changes(folder) as index:
        return {visit.url: visit for visit in index.last_visits()}


@contextmanager
def opened_changes(folder: Path) -> Iterator["ChangeIndex"]:
    """Open the index of a crawl's folder when it holds all of the log. Raises as ``visits`` does."""
    with ChangeIndex(folder) as index:
        while not index.catch_up():
            pass
        if damaged := coverage(index.base).damaged:
            raise DamageError(
                f"{folder / CHANGES}: {'; '.join(damaged)}; move it elsewhere, the rest can still be read"
            )
        yield index


_TABLES: Final = (
    "CREATE TABLE crawl (segment INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
    "CREATE TABLE page (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, last INTEGER, at INTEGER NOT NULL)",
    """CREATE TABLE visit (
  id INTEGER PRIMARY KEY, page INTEGER NOT NULL, at INTEGER NOT NULL, crawl INTEGER NOT NULL, state TEXT NOT NULL,
  kind TEXT, previous INTEGER, payload TEXT, text TEXT, record TEXT NOT NULL
)""",
    "CREATE INDEX visit_by_page ON visit (page, at)",
    "CREATE INDEX visit_by_time ON visit (at)",
    """CREATE TABLE server (
  name TEXT PRIMARY KEY, told INTEGER NOT NULL DEFAULT 0, older INTEGER NOT NULL DEFAULT 0,
  at_request INTEGER NOT NULL DEFAULT 0, ahead INTEGER NOT NULL DEFAULT 0, idle INTEGER NOT NULL DEFAULT 0,
  missed INTEGER NOT NULL DEFAULT 0
)""",
    "CREATE TABLE template (name TEXT PRIMARY KEY, compared INTEGER NOT NULL)",
    """CREATE TABLE place (
  id INTEGER PRIMARY KEY, template TEXT NOT NULL, path TEXT NOT NULL, numbers INTEGER NOT NULL, alone INTEGER NOT NULL,
  visits INTEGER NOT NULL, pages INTEGER NOT NULL, UNIQUE (template, path, numbers, alone)
)""",
    "CREATE TABLE place_page (place INTEGER, page INTEGER, PRIMARY KEY (place, page)) WITHOUT ROWID",
    "CREATE TABLE listed (url TEXT, at INTEGER, PRIMARY KEY (url, at)) WITHOUT ROWID",
)
_SELECT: Final = """
SELECT visit.id, visit.at, visit.crawl, state, kind, previous, payload, text, record FROM visit
"""
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """A visit with what was derived of it: digests that stand for answers which did not repeat them."""

    record: VisitRecord
    payload: str | None
    text: str | None


class ChangeIndex(DerivedIndex[bytes]):
    """The index of the log of changes of a crawl's folder."""

    schema: ClassVar = _TABLES
    version: ClassVar = 1
    at_once: ClassVar = 2_000

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / INDEXES / CHANGES_INDEX)
        self._log = folder / CHANGES
        self._volatile: dict[str, frozenset[Place]] = {}
        self._servers: dict[str, ServerDates] = {}

    # Making it

    def sources(self) -> Iterator[Source]:
        """Find the segments of the log."""
        return segment_sources(self._log, CHANGE_LOG)

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the entries of a segment, the first after the line that begins it."""
        return segment_members(source, begin)

    def begin(self) -> None:
        """Forget what was learned of sites, and of which crawls segments are."""
        self._volatile, self._servers = {}, {}
        self._crawls: dict[int, int] = dict(self.base.execute("SELECT segment, number FROM crawl"))

    def put(self, entry: bytes, source: int, place: int) -> None:  # noqa: ARG002
        """Take in the lines of a member; raise ``ValueError`` for a line that is none of the log."""
        try:
            entries = [ENTRY.validate_json(line) for line in entry.splitlines()]
        except ValidationError as error:
            raise ValueError("a line is no entry of a change log") from error
        for each in entries:
            match each:
                case Begin(format=version) if version != FORMAT:
                    raise ValueError("it is of another version")
                case Begin():
                    self.base.execute("INSERT OR REPLACE INTO crawl VALUES (?, ?)", (source, each.crawl))
                    self._crawls[source] = each.crawl
                case Listed():
                    self.base.executemany("INSERT OR IGNORE INTO listed VALUES (?, ?)", each.listed.items())
                case VisitRecord():
                    self._take_visit(each, self._crawls.get(source, 0))

    def _take_visit(self, seen: VisitRecord, crawl: int) -> None:
        page = self._page(seen)
        before = self._before(page, seen.at)
        state, kind = _against(before, seen)
        payload, text = seen.payload, seen.text
        if before is not None and state is ChangeState.UNCHANGED and payload in {None, before.payload}:
            payload, text = before.payload, text or before.text
        previous = before.record.at if before is not None else seen.compared
        row = page, seen.at, crawl, state, kind, previous, payload, text, seen.model_dump_json(exclude_defaults=True)
        number = self.base.execute(
            "INSERT INTO visit (page, at, crawl, state, kind, previous, payload, text, record) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        ).lastrowid
        self.base.execute("UPDATE page SET last = ?, at = ? WHERE id = ? AND at <= ?", (number, seen.at, page, seen.at))
        if seen.status is not None and seen.status < 400:
            self._learn_dates(seen, before, state, kind)
            self._learn_places(seen, page, state)

    def _page(self, seen: VisitRecord) -> int:
        self.base.execute("INSERT OR IGNORE INTO page (url, at) VALUES (?, ?)", (seen.url, seen.at))
        return int(self.base.execute("SELECT id FROM page WHERE url = ?", (seen.url,)).fetchone()[0])

    def _before(self, page: int, at: int) -> _Known | None:
        row = self.base.execute(
            "SELECT record, payload, text FROM visit WHERE page = ? AND at < ? AND state != 'failed' "
            "ORDER BY at DESC, id DESC LIMIT 1",
            (page, at),
        ).fetchone()
        return None if row is None else _Known(VisitRecord.model_validate_json(row[0]), row[1], row[2])

    def _learn_dates(
        self, seen: VisitRecord, before: _Known | None, state: ChangeState, kind: ChangeKind | None
    ) -> None:
        modified = http_date(seen.modified)
        if modified is None or seen.status == 304:
            return
        judged = {"told", judged_date(milliseconds(modified), seen.asked_at or seen.at)}
        former = None if before is None else before.record.modified
        if state is ChangeState.UNCHANGED and former not in {None, seen.modified}:
            judged.add("idle")
        if state is ChangeState.CHANGED and kind is ChangeKind.CONTENT and former == seen.modified:
            judged.add("missed")
        name = server_of(seen.url)
        self.base.execute("INSERT OR IGNORE INTO server (name) VALUES (?)", (name,))
        added = ", ".join(f"{column} = {column} + 1" for column in sorted(judged))
        self.base.execute(f"UPDATE server SET {added} WHERE name = ?", (name,))  # noqa: S608

    def _learn_places(self, seen: VisitRecord, page: int, state: ChangeState) -> None:
        if not seen.template or (state is not ChangeState.UNCHANGED and seen.places is None):
            return
        self.base.execute(
            "INSERT INTO template VALUES (?, 1) ON CONFLICT DO UPDATE SET compared = compared + 1", (seen.template,)
        )
        if state is ChangeState.UNCHANGED or not seen.places:
            return
        for place in sorted(telling_places(seen.places, self._known_volatile(seen.template))):
            number = self.base.execute(
                "INSERT INTO place (template, path, numbers, alone, visits, pages) VALUES (?, ?, ?, ?, 1, 0) "
                "ON CONFLICT DO UPDATE SET visits = visits + 1 RETURNING id",
                (seen.template, *place),
            ).fetchone()[0]
            told = self.base.execute("INSERT OR IGNORE INTO place_page VALUES (?, ?)", (number, page)).rowcount
            self.base.execute("UPDATE place SET pages = pages + ? WHERE id = ?", (told, number))
        self._volatile.pop(seen.template, None)

    # Asking it

    def visits(self, wanted: WantedVisits = WantedVisits()) -> Iterator[Visit]:
        """Yield the visits that are wanted, the oldest first."""
        yield from self._chosen(wanted, "visit.at, visit.id")

    def newest(self, wanted: WantedVisits = WantedVisits()) -> Iterator[Visit]:
        """Yield the visits that are wanted, the newest first."""
        yield from self._chosen(wanted, "visit.at DESC, visit.id DESC")

    def last_visits(self) -> Iterator[Visit]:
        """Yield the last visit of each URL, in the order in which URLs were first visited."""
        yield from map(self._visit, self.base.execute(f"{_SELECT} JOIN page ON page.last = visit.id ORDER BY page.id"))

    def server_dates(self, url: str) -> ServerDates:
        """Return how the dates of a URL's server have held."""
        name = server_of(url)
        if name not in self._servers:
            columns = "told, older, at_request, ahead, idle, missed"
            row = self.base.execute(f"SELECT {columns} FROM server WHERE name = ?", (name,)).fetchone()  # noqa: S608
            self._servers[name] = ServerDates(*(row or ()))
        return self._servers[name]

    def volatile_places(self, template: str) -> Mapping[Place, PlaceEvidence]:
        """Return the places of a template that mean nothing, and what shows that."""
        compared = self.base.execute("SELECT compared FROM template WHERE name = ?", (template,)).fetchone()
        rows = self.base.execute(
            "SELECT path, numbers, alone, visits, pages FROM place WHERE template = ?", (template,)
        ).fetchall()
        found = {
            Place(path, bool(numbers), bool(alone)): PlaceEvidence(visits, pages, compared[0] if compared else 0)
            for path, numbers, alone, visits, pages in rows
        }
        return {place: evidence for place, evidence in found.items() if evidence.is_volatile(place)}

    def _chosen(self, wanted: WantedVisits, order: str) -> Iterator[Visit]:
        conditions: list[tuple[str, object]] = []
        if wanted.url is not None:
            conditions.append(("page = (SELECT id FROM page WHERE url = ?)", wanted.url))
        if wanted.text:
            conditions.append(("page IN (SELECT id FROM page WHERE instr(lower(url), lower(?)))", wanted.text))
        if wanted.since is not None:
            conditions.append(("visit.at >= ?", milliseconds(wanted.since)))
        if wanted.until is not None:
            conditions.append(("visit.at < ?", milliseconds(wanted.until)))
        where = " WHERE " + " AND ".join(condition for condition, _ in conditions) if conditions else ""
        rows = self.base.execute(f"{_SELECT}{where} ORDER BY {order}", [value for _, value in conditions])
        yield from filter(wanted.admits, map(self._visit, rows))

    def _visit(self, row: Row) -> Visit:
        _, at, crawl, state, kind, previous, payload, text, line = row
        seen = VisitRecord.model_validate_json(line)
        found = Visit(
            seen.url,
            _moment(at),
            seen.seconds,
            seen.status,
            ChangeState(state),
            None if kind is None else ChangeKind(kind),
            seen.etag,
            seen.modified,
            payload,
            text,
            seen.size,
            seen.requests,
            seen.record,
            seen.reason,
            crawl,
            None if previous is None else _moment(previous),
            moved_to=seen.to,
            new=seen.new,
            edited=seen.edited,
            deleted=seen.deleted,
        )
        if found.kind in {ChangeKind.CONTENT, ChangeKind.LINKS} and self._says_nothing(seen):
            found = replace(found, kind=ChangeKind.TEMPLATE, volatile=True)
        return replace(found, dated=self._dated(found, seen)) if found.state in _CHANGED else found

    def _says_nothing(self, seen: VisitRecord) -> bool:
        """Return whether all that differs are places of the template that mean nothing."""
        is_of_objects = bool(seen.new or seen.edited or seen.deleted)
        return (
            bool(seen.places)
            and not is_of_objects
            and self._known_volatile(seen.template).issuperset(seen.places or ())
        )

    def _known_volatile(self, template: str) -> frozenset[Place]:
        if template not in self._volatile:
            self._volatile[template] = frozenset(self.volatile_places(template))
        return self._volatile[template]

    def _dated(self, found: Visit, seen: VisitRecord) -> Dating:
        told: list[tuple[DateSource, datetime]] = []
        if found.state is not ChangeState.GONE:
            modified = http_date(seen.modified)
            if modified is not None and self.server_dates(seen.url).are_trusted:
                told.append((DateSource.LAST_MODIFIED, modified))
            listed = self.base.execute(
                "SELECT max(at) FROM listed WHERE url = ? AND at <= ?", (seen.url, seen.at)
            ).fetchone()[0]
            if listed is not None:
                told.append((DateSource.LISTED, _moment(listed)))
            if seen.shown is not None:
                told.append((DateSource.CONTENT, _moment(seen.shown)))
        return dated(found.previous, found.at, told)


def _against(before: _Known | None, seen: VisitRecord) -> tuple[ChangeState, ChangeKind | None]:
    """Return what a visit found against the one before it that came to an answer."""
    if seen.status is None or (seen.status >= 400 and seen.status not in _GONE):
        return ChangeState.FAILED, None
    if _is_gone(seen):
        if before is None:
            is_known = seen.said is ChangeState.GONE
            return (ChangeState.GONE, ChangeKind.GONE) if is_known else (ChangeState.FAILED, None)
        is_still = _is_gone(before.record)
        return (ChangeState.UNCHANGED, None) if is_still else (ChangeState.GONE, ChangeKind.GONE)
    if before is None:
        state = seen.said or ChangeState.NEW
        return state, seen.kind if state is ChangeState.CHANGED else None
    if _is_gone(before.record):
        return ChangeState.CHANGED, ChangeKind.CONTENT
    if seen.to or before.record.to:
        is_same = seen.to == before.record.to or seen.status == 304
        return (ChangeState.UNCHANGED, None) if is_same else (ChangeState.CHANGED, ChangeKind.MOVED)
    return _of_page(before, seen)


def _of_page(before: _Known, seen: VisitRecord) -> tuple[ChangeState, ChangeKind | None]:
    """Return what became of a page that answered both times."""
    is_readable = before.text is not None and seen.text is not None and before.record.reader == seen.reader
    texts = before.text == seen.text if is_readable else None
    # A visit that a crash had repeated was compared with the capture that the first one was compared with.
    is_repeated = seen.compared is not None and seen.compared + _NEARLY < before.record.at
    if seen.rendered or before.record.rendered:
        is_same = bool(is_repeated and texts)
    else:
        is_same = seen.payload is not None and seen.payload == before.payload
    if is_same or seen.said is ChangeState.UNCHANGED:
        return ChangeState.UNCHANGED, None
    kind = seen.kind
    if kind is None and texts is not None:
        kind = ChangeKind.TEMPLATE if texts else ChangeKind.CONTENT
    return ChangeState.CHANGED, kind


def _is_gone(seen: VisitRecord) -> bool:
    return seen.status in _GONE or seen.soft

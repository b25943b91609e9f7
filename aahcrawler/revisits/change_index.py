"""The index of a change log, in which each visit of a URL is stored with the visit before it.

It is derived from the log alone and may be deleted at any time; all readers of the log query it. What a visit found is
decided when its line is added to the index. Whether that matters, and when the change happened, is decided at each
query, by everything that the log has shown of the site until then.
"""

import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple

from pydantic import ValidationError

from aahcrawler.derived_index import DerivedIndex, Source, segment_members, segment_sources
from aahcrawler.layout import CHANGE_LOG, CHANGES, CHANGES_INDEX, INDEXES
from aahcrawler.revisits.page_comparison import (
    MIN_VISITS,
    NEARLY_ALWAYS,
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
    Listed,
    Place,
    Visit,
    VisitRecord,
    WantedVisits,
    milliseconds,
    moment_at,
)

MILLISECONDS_A_DAY: Final = 86_400_000
MAX_LOOKED_AT: Final = 5_000
"""The most visits that are examined for one page of a list."""
MAX_TIMED_VISITS: Final = 500_000
"""The most visits from which the duration of a crawl is estimated."""
_LISTED: Final = """
SELECT max(at) FROM listed WHERE url = :url AND at <= :at AND (
  seen <= :at OR (crawl = :crawl AND at + iif(at % :day = 0, :day, 0) <= :at)
)
"""
"""The newest date that was listed by then; of a list that the same crawl read later, a day that was over by then."""
_TAKE_LISTED: Final = """
INSERT INTO listed VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET seen = excluded.seen, crawl = excluded.crawl WHERE excluded.seen < seen
"""
_OF_PLACES: Final = frozenset({ChangeKind.CONTENT, ChangeKind.LINKS})
_IDLE: Final = """
SELECT sum(idle), count(*) FROM (
  SELECT idle, sum(idle) OVER (ORDER BY at) AS so_far FROM (
    SELECT at, state = 'changed' AND json_extract(record, '$.idle') IS NOT NULL AS idle FROM visit
    WHERE page = (SELECT id FROM page WHERE url = ?) AND state IN ('changed', 'unchanged')
  )
) WHERE so_far
"""
"""The visits of a page that found idle lines alone, and those that were compared since the first of them."""
_NEWEST: Final = "visit.at DESC, visit.id DESC"
_GONE: Final = frozenset({404, 410})
_NEARLY: Final = 1_000
"""The most milliseconds by which two moments of one visit may differ."""
_CHANGED: Final = frozenset({ChangeState.NEW, ChangeState.CHANGED, ChangeState.GONE})
_TABLES: Final = (
    "CREATE TABLE crawl (segment INTEGER PRIMARY KEY, number INTEGER NOT NULL)",
    "CREATE TABLE page (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, last INTEGER, at INTEGER NOT NULL)",
    """CREATE TABLE visit (
  id INTEGER PRIMARY KEY, page INTEGER NOT NULL, at INTEGER NOT NULL, crawl INTEGER NOT NULL, state TEXT NOT NULL,
  kind TEXT, previous INTEGER, payload TEXT, text TEXT, modified INTEGER,
  record TEXT NOT NULL
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
    """CREATE TABLE listed (
  url TEXT, at INTEGER, via TEXT, seen INTEGER NOT NULL, crawl INTEGER NOT NULL, PRIMARY KEY (url, at, via)
) WITHOUT ROWID""",
    "CREATE TABLE stated (url TEXT, via TEXT, frequency TEXT NOT NULL, PRIMARY KEY (url, via)) WITHOUT ROWID",
)
_SELECT: Final = """
SELECT visit.id, visit.at, visit.crawl, state, kind, previous, payload, text, modified, record FROM visit
"""
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Known:
    """A visit, with digests taken over from earlier visits if its own response did not repeat them.

    ``since`` is the moment of the earliest visit since which the page has been the same, this one at the latest.
    """

    record: VisitRecord
    payload: str | None
    text: str | None
    since: int


class _Judged(NamedTuple):
    """What a visit found compared with the one before it, in the order of the columns."""

    state: ChangeState
    kind: ChangeKind | None
    previous: int | None
    payload: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class ListedVisit:
    """A visit, and the record id of the visit with which it is compared, empty if that is not in the log."""

    visit: Visit
    before: str


class TimedVisit(NamedTuple):
    """A visit, as far as the duration of crawls is estimated from it.

    ``is_page`` is False for a list of pages, an error and a redirect.
    """

    url: str
    at: datetime
    seconds: float | None
    crawl: int
    status: int | None
    is_page: bool


class ChangeIndex(DerivedIndex[bytes]):
    """The index of the change log in a crawl's folder."""

    schema: ClassVar = _TABLES
    version: ClassVar = 3
    at_once: ClassVar = 2_000

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / INDEXES / CHANGES_INDEX)
        self._log = folder / CHANGES
        self._volatile: dict[str, frozenset[Place]] = {}
        self._idle: dict[str, bool] = {}
        self._servers: dict[str, ServerDates] = {}
        self._lists: bool | None = None

    # Making it

    def sources(self) -> Iterator[Source]:
        """Return the segments of the log."""
        return segment_sources(self._log, CHANGE_LOG)

    def entries(self, source: Source, begin: int) -> Iterator[tuple[bytes, int]]:
        """Yield the entries of a segment, without its first line."""
        return segment_members(source, begin)

    def begin(self) -> None:
        """Drop what was learned about sites, and which crawls segments belong to."""
        self._volatile, self._idle, self._servers, self._lists = {}, {}, {}, None
        self._crawls: dict[int, int] = dict(self.base.execute("SELECT segment, number FROM crawl"))

    def put(self, entry: bytes, source: int, place: int) -> None:  # noqa: ARG002
        """Add the lines of a gzip member to the index. Raises ``ValueError`` for a line that is not of the log."""
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
                    crawl = self._crawls.get(source, 0)
                    dates = [(url, at, each.via, each.at, crawl) for url, at in each.listed.items()]
                    self.base.executemany(_TAKE_LISTED, dates)
                    stated = [(url, each.via, frequency) for url, frequency in each.stated.items()]
                    self.base.executemany("INSERT OR REPLACE INTO stated VALUES (?, ?, ?)", stated)
                case VisitRecord():
                    self._take_visit(each, self._crawls.get(source, 0))

    def _take_visit(self, seen: VisitRecord, crawl: int) -> None:
        page = self._page(seen)
        if self.base.execute("SELECT 1 FROM visit WHERE page = ? AND at = ?", (page, seen.at)).fetchone():
            return  # It was written twice.
        before = self._before(page, seen.at)
        judged = _judged(before, seen)
        date = http_date(seen.modified)
        modified = None if date is None else milliseconds(date)
        number = self.base.execute(
            "INSERT INTO visit (page, at, crawl, modified, record, state, kind, previous, payload, text) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (page, seen.at, crawl, modified, seen.model_dump_json(exclude_defaults=True), *judged),
        ).lastrowid
        known = self.base.execute(
            "UPDATE page SET last = ?, at = ? WHERE id = ? AND at <= ?", (number, seen.at, page, seen.at)
        )
        if not known.rowcount:
            self._judge_after(page, seen.at)
        if seen.status is not None and seen.status < 400:
            self._learn_dates(seen, modified, before, judged)
            self._learn_places(seen, page, judged.state)

    def _judge_after(self, page: int, at: int) -> None:
        """Judge again the visits after one that was added late, up to the next visit that found the page."""
        rows = self.base.execute("SELECT id, record FROM visit WHERE page = ? AND at > ? ORDER BY at", (page, at))
        for number, line in rows.fetchall():
            seen = VisitRecord.model_validate_json(line)
            judged = _judged(self._before(page, seen.at), seen)
            self.base.execute(
                "UPDATE visit SET state = ?, kind = ?, previous = ?, payload = ?, text = ? WHERE id = ?",
                (*judged, number),
            )
            if judged.state is not ChangeState.FAILED:
                break

    def _page(self, seen: VisitRecord) -> int:
        self.base.execute("INSERT OR IGNORE INTO page (url, at) VALUES (?, ?)", (seen.url, seen.at))
        return int(self.base.execute("SELECT id FROM page WHERE url = ?", (seen.url,)).fetchone()[0])

    def _before(self, page: int, at: int) -> _Known | None:
        row = self.base.execute(
            "SELECT record, payload, text, CASE WHEN state = 'unchanged' THEN coalesce(previous, at) ELSE at END "
            "FROM visit WHERE page = ? AND at < ? AND state != 'failed' ORDER BY at DESC, id DESC LIMIT 1",
            (page, at),
        ).fetchone()
        return None if row is None else _Known(VisitRecord.model_validate_json(row[0]), *row[1:])

    def _learn_dates(self, seen: VisitRecord, modified: int | None, before: _Known | None, found: "_Judged") -> None:
        if modified is None or seen.status == 304:
            return
        judged = {"told", judged_date(modified, seen.asked_at or seen.at)}
        former = None if before is None else before.record.modified
        if found.state is ChangeState.UNCHANGED and former not in {None, seen.modified}:
            judged.add("idle")
        if found.state is ChangeState.CHANGED and found.kind is ChangeKind.CONTENT and former == seen.modified:
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

    def visits(self, wanted: WantedVisits) -> Iterator[Visit]:
        """Yield the wanted visits, the oldest first."""
        yield from filter(wanted.admits, map(self._visit, self._rows(_conditions(wanted), "visit.at, visit.id")))

    def newest(self, wanted: WantedVisits) -> Iterator[Visit]:
        """Yield the wanted visits, the newest first."""
        yield from filter(wanted.admits, map(self._visit, self._rows(_conditions(wanted), _NEWEST)))

    def listed(self, wanted: WantedVisits, after: int, most: int) -> tuple[list["ListedVisit"], int]:
        """Return up to ``most`` wanted visits, the newest first, and the place after which to continue.

        Begin with the place 0; a returned 0 means that there are no more. A call examines at most ``MAX_LOOKED_AT``
        visits, so it may return fewer than there are after its place.
        """
        behind = "(visit.at, visit.id) < (SELECT at, id FROM visit WHERE id = ?)"
        conditions = [*_conditions(wanted), *([(behind, after)] if after else [])]
        found = list[ListedVisit]()
        rows = self._rows(conditions, f"{_NEWEST} LIMIT {MAX_LOOKED_AT}").fetchall()
        for row in rows:
            visit = self._visit(row)
            if wanted.admits(visit):
                found.append(ListedVisit(visit, self._record_before(visit)))
            if len(found) == most:
                return found, row[0] if row is not rows[-1] or len(rows) == MAX_LOOKED_AT else 0
        return found, rows[-1][0] if len(rows) == MAX_LOOKED_AT else 0

    def _record_before(self, visit: Visit) -> str:
        if visit.previous is None:
            return ""
        row = self.base.execute(
            "SELECT record FROM visit WHERE page = (SELECT id FROM page WHERE url = ?) AND at = ?",
            (visit.url, milliseconds(visit.previous)),
        ).fetchone()
        return "" if row is None else VisitRecord.model_validate_json(row[0]).record

    def knows(self, url: str, at: datetime) -> bool:
        """Return whether a visit of a URL at a moment is in the log."""
        row = url, milliseconds(at)
        found = self.base.execute("SELECT 1 FROM visit JOIN page ON page.id = page WHERE url = ? AND visit.at = ?", row)
        return found.fetchone() is not None

    def timed_visits(self, before: int | None = None, most: int = MAX_TIMED_VISITS) -> list[TimedVisit]:
        """Return the durations of the newest ``most`` visits, the oldest first.

        With ``before``, only those of crawls with a lower number.
        """
        rows = self.base.execute(
            "SELECT url, visit.at, json_extract(record, '$.seconds'), crawl, json_extract(record, '$.status'), "
            "state != 'failed' AND json_extract(record, '$.template') IS NOT NULL "
            "FROM visit JOIN page ON page.id = page WHERE crawl < coalesce(?, crawl + 1) "
            "ORDER BY visit.at DESC, visit.id DESC LIMIT ?",
            (before, most),
        )
        found = [
            TimedVisit(url, moment_at(at), seconds, crawl, status, bool(is_page))
            for url, at, seconds, crawl, status, is_page in rows
        ]
        return found[::-1]

    def last_visits(self) -> Iterator[Visit]:
        """Yield the last visit of each URL, in the order in which URLs were first visited."""
        yield from map(self._visit, self.base.execute(f"{_SELECT} JOIN page ON page.last = visit.id ORDER BY page.id"))

    def telling_pages(self, crawl: int) -> Counter[ChangeState] | None:
        """Count by state the visits of a crawl that found a difference for readers (``Visit.matters``).

        Visits of lists of pages, such as feeds, are left out. None if the log has no visit of the crawl.
        """
        if not self.base.execute("SELECT 1 FROM visit WHERE crawl = ? LIMIT 1", (crawl,)).fetchone():
            return None
        # Lists are made by no template.
        of_pages = "state IN ('new', 'changed', 'gone') AND json_extract(record, '$.template') IS NOT NULL"
        rows = self.base.execute(f"{_SELECT} WHERE crawl = ? AND {of_pages}", (crawl,))
        return Counter(visit.state for visit in map(self._visit, rows) if visit.matters)

    def templates(self) -> Mapping[str, str]:
        """Return the template of each page at its last visit: its site, and its level or the shape of its URL."""
        rows = self.base.execute(
            "SELECT url, json_extract(record, '$.template') AS template FROM visit JOIN page ON page.last = visit.id "
            "WHERE template IS NOT NULL"
        )
        return dict(rows.fetchall())

    def frequencies(self) -> Mapping[str, str]:
        """Return the ``changefreq`` that a sitemap last gave each page; of several, the first by name counts."""
        return dict(self.base.execute("SELECT url, frequency FROM stated ORDER BY url, via DESC").fetchall())

    def listed_changes(self) -> Mapping[str, tuple[int, float]]:
        """Return, for each list, the number of dates that its newest entries give, and the days that these span.

        An entry of a feed is a change of the feed. The hundred newest dates count.
        """
        rows = self.base.execute(
            "SELECT via, count(*), max(at) - min(at) FROM (SELECT via, at, row_number() OVER "
            "(PARTITION BY via ORDER BY at DESC) AS place FROM (SELECT DISTINCT via, at FROM listed)) "
            "WHERE place <= 100 GROUP BY via"
        )
        return {via: (number, span / MILLISECONDS_A_DAY) for via, number, span in rows}

    def sections(self) -> Mapping[str, str]:
        """Return the sitemap or feed that lists each page; of several, the one that lists the fewest."""
        found: dict[str, str] = {}
        rows = self.base.execute(
            "WITH named AS (SELECT url, via FROM listed UNION SELECT url, via FROM stated), "
            "sizes AS (SELECT via, count(*) AS size FROM named GROUP BY via) "
            "SELECT url, via FROM named JOIN sizes USING (via) ORDER BY url, size, via"
        )
        for url, via in rows:
            found.setdefault(url, via)
        return found

    def server_dates(self, url: str) -> ServerDates:
        """Return how reliable the dates of a URL's server have been."""
        name = server_of(url)
        if name not in self._servers:
            columns = "told, older, at_request, ahead, idle, missed"
            row = self.base.execute(f"SELECT {columns} FROM server WHERE name = ?", (name,)).fetchone()  # noqa: S608
            self._servers[name] = ServerDates(*(row or ()))
        return self._servers[name]

    def volatile_places(self, template: str) -> Mapping[Place, PlaceEvidence]:
        """Return the places of a template whose changes mean nothing, and the evidence."""
        compared = self.base.execute("SELECT compared FROM template WHERE name = ?", (template,)).fetchone()
        rows = self.base.execute(
            "SELECT path, numbers, alone, visits, pages FROM place WHERE template = ?", (template,)
        ).fetchall()
        found = {
            Place(path, bool(numbers), bool(alone)): PlaceEvidence(visits, pages, compared[0] if compared else 0)
            for path, numbers, alone, visits, pages in rows
        }
        return {place: evidence for place, evidence in found.items() if evidence.is_volatile(place)}

    def _rows(self, conditions: Sequence[tuple[str, object]], order: str) -> sqlite3.Cursor:
        where = " WHERE " + " AND ".join(condition for condition, _ in conditions) if conditions else ""
        return self.base.execute(f"{_SELECT}{where} ORDER BY {order}", [value for _, value in conditions])

    def _visit(self, row: Row) -> Visit:
        _, at, crawl, state, kind, previous, payload, text, modified, line = row
        seen = VisitRecord.model_validate_json(line)
        is_volatile = kind in _OF_PLACES and self._says_nothing(seen)
        before, moment = None if previous is None else moment_at(previous), moment_at(at)
        return Visit(
            url=seen.url,
            at=moment,
            seconds=seen.seconds,
            status=seen.status,
            state=ChangeState(state),
            kind=ChangeKind.TEMPLATE if is_volatile else None if kind is None else ChangeKind(kind),
            etag=seen.etag,
            last_modified=seen.modified,
            byte_digest=payload,
            text_digest=text,
            size=seen.size,
            requests=seen.requests,
            record_id=seen.record,
            reason=seen.reason,
            crawl=crawl,
            previous=before,
            volatile=is_volatile,
            moved_to=seen.to,
            new=seen.new,
            edited=seen.edited,
            deleted=seen.deleted,
            statements=seen.statements if state == ChangeState.CHANGED else None,
            dated=dated(before, moment, self._told(seen, crawl, state, modified)) if state in _CHANGED else None,
        )

    def _says_nothing(self, seen: VisitRecord) -> bool:
        """Return whether all differences are where the template or, of idle lines, the page differs on every visit."""
        if seen.idle and self._is_always_idle(seen.url):
            return True
        if not seen.places or ((seen.new or seen.edited or seen.deleted) and not seen.idle):
            return False
        return self._known_volatile(seen.template).issuperset(seen.places)

    def _is_always_idle(self, url: str) -> bool:
        """Return whether idle lines were all that differed on nearly every visit that was compared with another."""
        if url not in self._idle:
            idle, compared = self.base.execute(_IDLE, (url,)).fetchone()
            self._idle[url] = bool(compared) and idle >= max(MIN_VISITS, NEARLY_ALWAYS * compared)
        return self._idle[url]

    def _told(
        self, seen: VisitRecord, crawl: int, state: str, modified: int | None
    ) -> Iterator[tuple[DateSource, datetime]]:
        """Yield the sources that date a change of the page, with the moment they give, the most trusted first."""
        if state == ChangeState.GONE:
            return
        if modified is not None and self.server_dates(seen.url).are_trusted:
            yield DateSource.LAST_MODIFIED, moment_at(modified)
        if self._has_lists:
            asked = {"url": seen.url, "at": seen.at, "crawl": crawl, "day": MILLISECONDS_A_DAY}
            (listed,) = self.base.execute(_LISTED, asked).fetchone()
            if listed is not None:
                yield DateSource.LISTED, moment_at(listed)
        if seen.shown is not None:
            yield DateSource.CONTENT, moment_at(seen.shown)

    @property
    def _has_lists(self) -> bool:
        if self._lists is None:
            self._lists = self.base.execute("SELECT 1 FROM listed LIMIT 1").fetchone() is not None
        return self._lists

    def _known_volatile(self, template: str) -> frozenset[Place]:
        if template not in self._volatile:
            self._volatile[template] = frozenset(self.volatile_places(template))
        return self._volatile[template]


def _conditions(wanted: WantedVisits) -> list[tuple[str, object]]:
    """Return the SQL conditions for the wanted visits, each with its value."""
    given: list[tuple[str, object]] = [
        ("page = (SELECT id FROM page WHERE url = ?)", wanted.url),
        ("page IN (SELECT id FROM page WHERE instr(lower(url), lower(?)))", wanted.text or None),
        ("visit.at >= ?", None if wanted.since is None else milliseconds(wanted.since)),
        ("visit.at < ?", None if wanted.until is None else milliseconds(wanted.until)),
        ("state = ?", next(iter(wanted.states)) if len(wanted.states) == 1 else None),
    ]
    return [(condition, value) for condition, value in given if value is not None]


def _judged(before: _Known | None, seen: VisitRecord) -> _Judged:
    """Compare a visit with the one before; digests that the response did not repeat are taken from that one."""
    state, kind = _against(before, seen)
    payload, text = seen.payload, seen.text
    if before is not None and state is ChangeState.UNCHANGED and payload in {None, before.payload}:
        payload, text = before.payload, text or before.text
    return _Judged(state, kind, before.record.at if before is not None else seen.compared, payload, text)


def _against(before: _Known | None, seen: VisitRecord) -> tuple[ChangeState, ChangeKind | None]:
    """Return what a visit found compared with the one before it that got a response."""
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
        return ChangeState.CHANGED, ChangeKind.BACK
    if seen.to or before.record.to:
        is_same = seen.to == before.record.to or seen.status == 304
        return (ChangeState.UNCHANGED, None) if is_same else (ChangeState.CHANGED, ChangeKind.MOVED)
    return _of_page(before, seen)


def _of_page(before: _Known, seen: VisitRecord) -> tuple[ChangeState, ChangeKind | None]:
    """Return what a visit found about a page that the visit before it had found as well."""
    is_readable = before.text is not None and seen.text is not None and before.record.reader == seen.reader
    texts = before.text == seen.text if is_readable else None
    # A crawl compares with what was there before it began: not with its own visits, of a page that is fetched again.
    is_older = seen.compared is not None and seen.compared + _NEARLY < before.since
    is_of_another = is_older or seen.said is ChangeState.NEW
    if seen.rendered or before.record.rendered:
        is_same = is_of_another and bool(texts)
    else:
        is_same = seen.payload is not None and seen.payload == before.payload
    if is_same or (seen.said is ChangeState.UNCHANGED and not is_of_another):
        return ChangeState.UNCHANGED, None
    kind = None if is_of_another else seen.kind
    if kind is None and texts is not None:
        kind = ChangeKind.TEMPLATE if texts else ChangeKind.CONTENT
    return ChangeState.CHANGED, kind


def _is_gone(seen: VisitRecord) -> bool:
    return seen.status in _GONE or seen.soft

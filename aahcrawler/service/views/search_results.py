"""Searches over all crawls of a service, for the JSON interface and the cockpit."""

import csv
import io
import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from http import HTTPStatus
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from aahcrawler.derived_index import Standing
from aahcrawler.search import (
    Found,
    Hit,
    NotIndexedError,
    OpenFolder,
    QueryError,
    Question,
    SearchedFolder,
    SearchIndex,
    moment,
    search,
)
from aahcrawler.search.found_records import FoundRecords
from aahcrawler.search.likeness import LikenessError
from aahcrawler.search.result_rows import ResultRow, utc
from aahcrawler.search.searching import MAX_HITS
from aahcrawler.segments import DamageError
from aahcrawler.service.catalog.crawl_catalog import Crawl
from aahcrawler.service.catalog.crawl_registry import CrawlRegistry
from aahcrawler.service.web.problems import BAD_SEARCH, Kind, ProblemError

_SHORT: Final = 0.3
"""Seconds that a search waits for what was just added."""
_LOOK_EVERY: Final = 1.0
"""Seconds for which an index that was found up to date is taken for it."""
_BREATH: Final = 0.002
_WAIT: Final = 2.0
"""Seconds between two tries where another process keeps an index."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SearchableCrawls:
    """The open search indexes of crawls with the crawls' ids; ``notes`` name indexes that are incomplete."""

    folders: Sequence[OpenFolder]
    ids: dict[Path, str]
    notes: tuple[str, ...]


class SearchIndexes:
    """The search indexes of a service's crawls. A thread for each brings it up to date and then ends. Thread-safe."""

    def __init__(self) -> None:
        self._keepers: dict[Path, _Keeper] = {}
        self._lock = threading.Lock()

    def opened(self, crawls: Iterable[Crawl]) -> SearchableCrawls:
        """Return the indexes of crawls, and start updating them; crawls without a folder here are left out."""
        folders, ids, notes = list[OpenFolder](), dict[Path, str](), list[str]()
        for crawl in crawls:
            if crawl.folder is None:
                continue
            ids[crawl.folder] = crawl.id
            keeper = self._keeper(crawl.folder)
            is_whole = keeper.refresh()
            try:
                opened = keeper.searched.opened()
            except (NotIndexedError, DamageError) as error:
                _logger.info("%s", error)
                notes.append(f"{crawl.id} is not indexed yet; ask again in a moment.")
                continue
            folders.append(opened)
            reach = opened.reach
            if keeper.fault:
                notes.append(f"{crawl.id} is not indexed further: {keeper.fault}.")
            elif not (is_whole and reach.is_complete):
                share = reach.covered / reach.size if reach.size else 0.0
                notes.append(f"{crawl.id} is being indexed; {min(int(100 * share), 99)} % is found so far.")
            if reach.damaged:
                notes.append(f"{crawl.id}: {reach.damaged[0]}.")
        return SearchableCrawls(folders, ids, tuple(notes))

    def index(self, folder: Path) -> SearchIndex:
        """Return the index of a folder, to be asked."""
        return self._keeper(folder).searched.index

    def forget(self, folder: Path) -> None:
        """Let go of the index of a folder that is about to be deleted."""
        with self._lock:
            keeper = self._keepers.pop(folder, None)
        if keeper is not None:
            keeper.close()

    def close(self) -> None:
        """End all building; what was taken in stays."""
        with self._lock:
            keepers, self._keepers = list(self._keepers.values()), {}
        for keeper in keepers:
            keeper.close()

    def _keeper(self, folder: Path) -> "_Keeper":
        with self._lock:
            keeper = self._keepers.get(folder)
            if keeper is None:
                keeper = self._keepers[folder] = _Keeper(folder)
            return keeper


class _Keeper:
    """Keeps the index of one folder."""

    def __init__(self, folder: Path) -> None:
        self.searched = SearchedFolder(folder, SearchIndex(folder))
        self.fault = ""
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._sound_until = 0.0

    def refresh(self) -> bool:
        """Start updating an outdated index, wait a moment for it, and return whether it is up to date."""
        if time.monotonic() < self._sound_until:
            return True
        if self._is_sound():
            self._sound_until = time.monotonic() + _LOOK_EVERY
            return True
        self._started().join(_SHORT)
        return self._is_sound()

    def close(self) -> None:
        """End the building."""
        self._closing.set()
        with self._lock:
            if self._thread is not None:
                self._thread.join()
        self.searched.index.close()

    def _is_sound(self) -> bool:
        index = self.searched.index
        try:
            if not index.can_be_written:  # Nor can it be asked there, as that takes a lock: it has to go elsewhere.
                return False
            with index.asked() as base:
                return index.standing(base) is Standing.SOUND
        except sqlite3.Error:
            return False

    def _started(self) -> threading.Thread:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._build, name="search index", daemon=True)
                self._thread.start()
            return self._thread

    def _build(self) -> None:
        index = self.searched.index
        try:
            self.fault = ""
            index.open()
            while not self._closing.is_set() and not index.catch_up(0):
                # A step that took in nothing was another process's.
                self._closing.wait(_BREATH if index.is_building else _WAIT)
        except (sqlite3.Error, OSError, ValueError, DamageError) as error:
            self.fault = f"{error}; make room, and check the permissions of its folder"
            _logger.warning("%s: %s", index.path, error)
        finally:
            index.rest()


NOT_ARCHIVED: Final = Kind("not-archived", HTTPStatus.NOT_FOUND, "Nothing archived that others could be like")
FACETS: Final = ("kind", "type", "site", "author", "application", "language", "media_type")
"""Facets that results can be narrowed by."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


class SnippetPiece(BaseModel):
    """A stretch of a snippet; ``marked`` says that it is what was looked for."""

    model_config = ConfigDict(frozen=True)

    text: str
    marked: bool


class SearchResult(BaseModel):
    """A version of a page or a web object that was found.

    ``record`` is the id of the WARC record of the first capture that has it so, ``captured`` when that was. ``page`` is
    the URL of the page that shows an object. ``until`` is when it was found changed or gone. ``published`` is as the
    page has it, ``relevance`` the score that a crawl gave the page. ``alike`` counts near duplicates left out. ``iri``
    is that of an object, empty for all else.
    """

    model_config = ConfigDict(frozen=True)

    crawl: str
    kind: Literal["page", "object", "media"]
    type: str
    title: str
    author: str
    published: str
    captured: str
    until: str | None
    gone: bool
    url: str
    page: str
    site: str
    record: str
    application: str
    language: str
    media_type: str
    status: int
    relevance: float | None
    score: float
    alike: int
    iri: str = ""
    snippet: tuple[SnippetPiece, ...]


class Value(BaseModel):
    """A value of a facet, and how many versions have it."""

    model_config = ConfigDict(frozen=True)

    value: str
    count: int


class Span(BaseModel):
    """A part of the time line, ``end`` excluded, and how many versions are of it."""

    model_config = ConfigDict(frozen=True)

    begin: str
    end: str
    count: int


class SearchResults(BaseModel):
    """What was found: ``total`` versions, those from ``offset`` on as ``results``, into which ``folded`` are folded.

    ``unknown`` are words that no text has: similar ones were looked for. ``loosened`` says how far a query was loosened
    that nothing matches: ``spelling``, or ``words``, of which half have to match then. ``like_by`` says whether texts
    were compared by their ``meaning`` or by their ``terms``, where others are asked for that are like one. ``notes``
    tell which crawls are not wholly indexed.
    """

    model_config = ConfigDict(frozen=True)

    total: int
    folded: int
    results: tuple[SearchResult, ...]
    more: bool
    facets: dict[str, tuple[Value, ...]]
    timeline: tuple[Span, ...]
    undated: int
    unknown: tuple[str, ...]
    loosened: Literal["", "spelling", "words"]
    like_by: Literal["", "meaning", "terms"] = ""
    notes: tuple[str, ...]


def question_of(
    query: str,
    filters: Mapping[str, Sequence[str]],
    dates: Mapping[Literal["since", "until", "as_of"], str],
    beside: Question,
) -> Question:
    """Return what is asked for by words; ``beside`` has the rest. Raise ``ProblemError`` for what is no date."""
    try:
        since, until, as_of = (moment(dates[name]) if dates.get(name) else None for name in ("since", "until", "as_of"))
    except QueryError as error:
        raise ProblemError(BAD_SEARCH, error.reason) from error
    return replace(
        beside,
        query=query,
        filters={name: tuple(filter(None, values)) for name, values in filters.items() if any(values)},
        since=since[0] if since else None,
        until=until[1] if until else None,
        as_of=as_of[1] - 1 if as_of else None,
    )


def results_of(
    reach: CrawlRegistry, indexes: SearchIndexes, question: Question, crawls: Sequence[str] = ()
) -> SearchResults:
    """Search crawls by their ids, or all of them. Raise ``ProblemError``."""
    found, ids, notes = _found(reach, indexes, question, crawls)
    facets = {name: _values(counts) for name, counts in found.facets.items() if name != "folder"}
    if "folder" in found.facets:
        named = {str(folder): crawl for folder, crawl in ids.items()}
        facets["crawl"] = _values({named[folder]: n for folder, n in found.facets["folder"].items()})
    else:
        facets.pop("crawl", None)
    return SearchResults(
        total=found.total,
        folded=found.folded,
        results=tuple(_result(hit, ids[hit.folder]) for hit in found.hits),
        more=found.has_more,
        facets=facets,
        timeline=tuple(Span(begin=_day(span.begin), end=_day(span.end), count=span.count) for span in found.timeline),
        undated=found.undated,
        unknown=found.unknown,
        loosened=found.loosened,
        like_by=found.like_by,
        notes=notes,
    )


Format = Literal["csv", "jsonl", "parquet", "warc.gz"]
"""How results are handed out: as rows, or the records of their captures."""
HAS_PARQUET: Final = find_spec("pyarrow") is not None


def handed_out(
    reach: CrawlRegistry, indexes: SearchIndexes, question: Question, crawls: Sequence[str], how: Format
) -> Iterator[bytes]:
    """Return the first thousand results as CSV (RFC 4180), JSON lines, Parquet or WARC. Raise ``ProblemError``."""
    if how == "parquet" and not HAS_PARQUET:
        raise ProblemError(BAD_SEARCH, "this service lacks a package for it: pip install 'aahcrawler[parquet]'")
    whole = replace(question, limit=MAX_HITS, offset=0, counts_facets=False)
    found, _, _ = _found(reach, indexes, whole, crawls)
    if how == "warc.gz":
        folders = {hit.folder: indexes.index(hit.folder) for hit in found.hits}
        return FoundRecords(found.hits, folders).pieces("search.warc.gz", question.query)
    rows = map(ResultRow.of, found.hits)
    if how == "parquet":
        from aahcrawler.search.parquet_rows import parquet  # noqa: PLC0415 (an extra, which may be absent)

        return iter((parquet(rows),))
    if how == "jsonl":
        return (json.dumps(asdict(row), ensure_ascii=True).encode() + b"\n" for row in rows)
    names = [field.name for field in fields(ResultRow)]
    lines = ([getattr(row, name) for name in names] for row in rows)
    return (_line(values) for values in (names, *lines))


def _found(
    reach: CrawlRegistry, indexes: SearchIndexes, question: Question, crawls: Sequence[str]
) -> tuple[Found, dict[Path, str], tuple[str, ...]]:
    wanted: Sequence[Crawl] = [reach.crawl(name) for name in crawls] or [*reach.crawls()]
    opened = indexes.opened(wanted)
    try:
        found = search(opened.folders, question)
    except LikenessError as error:
        raise ProblemError(NOT_ARCHIVED, str(error)) from error
    except QueryError as error:
        raise ProblemError(BAD_SEARCH, str(error)) from error
    return found, dict(opened.ids), opened.notes


def _result(hit: Hit, crawl: str) -> SearchResult:
    row = asdict(ResultRow.of(hit))
    row |= {"crawl": crawl, "until": row["until"] or None, "site": hit.site, "iri": hit.entry.iri}
    pieces = tuple(SnippetPiece(text=piece.text, marked=piece.is_marked) for piece in hit.snippet)
    return SearchResult(**{name: row[name] for name in SearchResult.model_fields if name != "snippet"}, snippet=pieces)


def _values(counts: Mapping[str, int]) -> tuple[Value, ...]:
    return tuple(Value(value=value, count=count) for value, count in counts.items())


def _day(seconds: int) -> str:
    return utc(seconds * 1_000_000)[:10]


def _line(values: Sequence[object]) -> bytes:
    # Text that a spreadsheet would take for a formula gets an apostrophe in front.
    cells = [f"'{each}" if isinstance(each, str) and each.startswith(_FORMULA) else each for each in values]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerow(cells)
    return text.getvalue().encode("utf-8", "replace")

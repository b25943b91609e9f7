"""A source that speaks the Memento protocol (RFC 7089): an archive, or an aggregator of several."""

import json
import logging
import sqlite3
import time
import zlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import urljoin, urlsplit

from aahcrawler.exchange import Exchange
from aahcrawler.page import Headers
from aahcrawler.page.decoding import decode_content
from aahcrawler.replay.link_format import (
    LINK_FORMAT,
    MAX_LISTED,
    Link,
    ListedMemento,
    NoTimeMapError,
    TimeMap,
    as_http_date,
    http_date,
    links_in,
    read_time_map,
)
from aahcrawler.sources.archive_client import is_memento, is_refused
from aahcrawler.sources.remote_captures import (
    MAX_HOPS,
    MAX_TRIES,
    Attempt,
    Candidate,
    RemoteCaptures,
    admitted,
    are_alike,
    pieces_of,
)
from aahcrawler.sources.source import Demand, SnapshotChoice, SourceError
from aahcrawler.wire.client import WireResponse
from online_analysis.icd import MementoArchive

logger = logging.getLogger(__name__)

KEPT_SECONDS: Final = 30 * 86400.0
"""How long what an archive has of a URL is taken for all that it has."""
_TABLE: Final = "CREATE TABLE IF NOT EXISTS time_map (address TEXT PRIMARY KEY, at REAL, mementos BLOB) WITHOUT ROWID"


class TimeMapCache:
    """A cache of TimeMaps in the file ``path``; None caches nothing.

    After an error of the disk, logged, nothing is cached. Several processes may share the file, and several threads may
    use the cache one at a time. ``clock`` returns seconds since 1970.
    """

    def __init__(self, path: Path | None, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._base: sqlite3.Connection | None = None
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._base = self._opened(path)
        except (OSError, sqlite3.Error) as error:
            logger.warning("%s: TimeMaps are not kept: %s", path, error)

    def get(self, address: str) -> Sequence[ListedMemento] | None:
        """Return the cached mementos of the TimeMap at an address; None if it is not cached or too old."""
        with suppress(sqlite3.Error, zlib.error, ValueError, TypeError):
            if self._base is not None:
                row = self._base.execute("SELECT at, mementos FROM time_map WHERE address = ?", (address,)).fetchone()
                if row is not None and self._clock() - row[0] < KEPT_SECONDS:
                    listed = json.loads(zlib.decompress(row[1]))
                    return tuple(ListedMemento(uri, datetime.fromisoformat(date)) for uri, date in listed)
        return None

    def put(self, address: str, mementos: Sequence[ListedMemento]) -> None:
        """Cache the mementos of the TimeMap at an address, those of all its pages."""
        if self._base is None:
            return
        listed = zlib.compress(json.dumps([(each.uri, each.date.isoformat()) for each in mementos]).encode())
        try:
            with self._base:
                self._base.execute("INSERT OR REPLACE INTO time_map VALUES (?, ?, ?)", (address, self._clock(), listed))
        except sqlite3.Error as error:
            logger.warning("TimeMaps are not kept: %s", error)

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._base is not None:
            self._base.close()
            self._base = None

    @staticmethod
    def _opened(path: Path) -> sqlite3.Connection:
        base = sqlite3.connect(path, timeout=5.0, check_same_thread=False)
        try:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = OFF")
            base.execute(_TABLE)
        except sqlite3.DatabaseError as error:
            base.close()
            if error.sqlite_errorname in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
                path.unlink()
                return TimeMapCache._opened(path)
            raise
        return base


MAX_PAGES: Final = 50
"""Pages of the TimeMap of one URL that are read."""
MAX_TIME_MAP: Final = 20_000_000
"""Bytes of a page of a TimeMap that are read."""
_MIN_BYTES: Final = 64_000


@dataclass(frozen=True, slots=True)
class _Negotiated:
    """The response of a TimeGate: the memento that it chose, and the ones before and after it, if it names them.

    ``time_map`` is the address of the TimeMap, empty if it names none.
    """

    chosen: Candidate | None
    before: Candidate | None = None
    behind: Candidate | None = None
    time_map: str = ""


class _NoTimeGateError(SourceError):
    """The address does not behave as a TimeGate, or it refuses this URL, in which case ``may_pass`` is False."""


@dataclass(frozen=True, slots=True)
class MementoSource:
    """Takes captures from the TimeGates and TimeMaps of an archive or aggregator.

    A TimeGate is asked if the choice of snapshot is the one nearest to a date. A TimeMap is asked if that response does
    not suffice, or says that there is nothing: aggregators take archives without a TimeGate for empty.
    """

    name: str
    _given: MementoArchive
    _choice: SnapshotChoice
    _remote: RemoteCaptures
    _cache: TimeMapCache

    async def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        """See ``Source.captures``."""
        async for exchange in admitted(url, self._attempts(url, demand), self._choice, self._remote.client):
            yield exchange

    def near(self, moment: datetime) -> "MementoSource":
        """See ``Source.near``."""
        return MementoSource(self.name, self._given, self._choice.near(moment), self._remote, self._cache)

    async def moments(self, url: str) -> Sequence[datetime]:
        """Return the times of captures as ``Source.moments`` does; from a TimeGate alone, at most three."""
        time_map = "" if self._given.timemap is None else appended(self._given.timemap, url)
        told: Sequence[Candidate | None] = ()
        demand = Demand(MAX_TIME_MAP)
        if not time_map and self._given.timegate is not None:
            negotiated = await self._negotiated(url, self._given.timegate, demand)
            told, time_map = (negotiated.before, negotiated.chosen, negotiated.behind), negotiated.time_map
        if time_map:
            return [each.date for each in await self._listed(url, time_map, demand)]
        return [each.date for each in told if each is not None]

    async def _attempts(self, url: str, demand: Demand) -> AsyncIterator[Attempt]:
        most_tries = MAX_LISTED if self._choice.takes_all else MAX_TRIES
        taking, tried = Demand(demand.most, demand.is_patient or self._choice.takes_all), set[str]()
        async for candidate in self._candidates(url, demand):
            if candidate.uri not in tried and len(tried) < most_tries:
                tried.add(candidate.uri)
                yield partial(self._remote.taken, url, candidate, taking)

    def close(self) -> None:
        """Close the cache of TimeMaps."""
        self._cache.close()

    async def _candidates(self, url: str, demand: Demand) -> AsyncIterator[Candidate]:
        """Yield the acceptable mementos of a URL, the preferred one first."""
        time_map = "" if self._given.timemap is None else appended(self._given.timemap, url)
        if self._given.timegate is not None:
            negotiated = await self._asked_or_passed_over(url, self._given.timegate, time_map, demand)
            time_map = time_map or negotiated.time_map
            if not self._choice.takes_all:
                first = self._decided(negotiated)
                if first is not None:
                    yield first
                if not time_map:
                    for each in (negotiated.behind, negotiated.chosen, negotiated.before):
                        if each is not None and self._choice.admits(each.date):
                            yield each
        if time_map:
            for listed in self._choice.ordered(await self._listed(url, time_map, demand)):
                yield Candidate(listed.uri, listed.date)

    async def _asked_or_passed_over(self, url: str, timegate: str, time_map: str, demand: Demand) -> _Negotiated:
        """Ask a TimeGate; return an empty response if it is none, and there is a TimeMap to ask instead.

        Raise ``SourceError``.
        """
        try:
            return await self._negotiated(url, timegate, demand)
        except _NoTimeGateError as error:
            if not time_map:
                if error.may_pass:
                    self._remote.client.distrust(timegate)
                raise
            logger.warning("%s: %s", url, error)
            return _Negotiated(None)

    def _decided(self, negotiated: _Negotiated) -> Candidate | None:
        """Return the memento to take; None if the response of the TimeGate does not determine it.

        A TimeGate chooses the memento nearest to the choice's moment. If that is at or after the moment, it is also the
        earliest from then on; and if it is after an event, no memento within the event is nearer.
        """
        chosen, behind, choice = negotiated.chosen, negotiated.behind, self._choice
        if chosen is None or choice.is_nearest or chosen.date >= choice.moment:
            return chosen
        if behind is None or behind.date < choice.moment:
            return None
        return choice.ordered([chosen, behind])[0]

    async def _negotiated(self, url: str, timegate: str, demand: Demand) -> _Negotiated:
        """Ask a TimeGate for the choice's moment. Raise ``SourceError``."""
        uri, headers = appended(timegate, url), {"Accept-Datetime": as_http_date(self._choice.moment)}
        date: datetime | None = None
        links: Sequence[Link] = ()
        found = ""
        for _ in range(MAX_HOPS + 1):
            response = await self._remote.client.get(
                uri, headers=headers, most=_MIN_BYTES, wanted=lambda *_: False, is_patient=demand.is_patient
            )
            with closing(response.exchange):
                links = tuple(links_in(Headers(response.headers).get("Link"))) or links
                if response.status in (404, 410) and not is_memento(response):
                    return _Negotiated(None, time_map=self._time_map_of(uri, links))
                target = Headers(response.headers).get("Location")
                if is_memento(response):
                    found, date = _place(uri, response), http_date(Headers(response.headers).get("Memento-Datetime"))
                    break
                named = _memento_in(links, urljoin(uri, target) if target else "")
                if named is not None:
                    found, date = urljoin(uri, named.target), named.date
                    break
                if is_refused(response):
                    told = f"{uri} refuses the URL"
                    raise _NoTimeGateError(urlsplit(uri).netloc, f"status {response.status}", told, may_pass=False)
                if not 300 <= response.status < 400 or not target:
                    break
            uri = urljoin(uri, target)
        if not found or date is None:
            told = f"{uri} does not answer as a TimeGate does"
            raise _NoTimeGateError(urlsplit(uri).netloc, "no TimeGate", told, may_pass=True)
        before, behind = (_named(uri, links, relation) for relation in ("prev", "next"))
        return _Negotiated(Candidate(found, date), before, behind, self._time_map_of(uri, links))

    def _time_map_of(self, uri: str, links: Sequence[Link]) -> str:
        named = (each for each in links if "timemap" in each.relations)
        written = (each for each in named if each.parameters.get("type", LINK_FORMAT).startswith(LINK_FORMAT))
        found = next(written, None)
        return "" if found is None else urljoin(uri, found.target)

    async def _listed(self, url: str, first: str, demand: Demand) -> Sequence[ListedMemento]:
        """Return the mementos in all pages of a URL's TimeMap. Raise ``SourceError``."""
        known = self._cache.get(first)
        if known is not None:
            return known
        pending, met = [first], {first}
        mementos: list[ListedMemento] = []
        while pending and len(met) <= MAX_PAGES and len(mementos) < MAX_LISTED:
            page = pending.pop(0)
            response = await self._remote.client.get(
                page, headers={"Accept": LINK_FORMAT}, most=MAX_TIME_MAP, is_patient=demand.is_patient
            )
            with closing(response.exchange):
                if response.status in (404, 410, 204):
                    continue
                if is_refused(response):
                    told = f"{page} refuses the URL"
                    raise SourceError(urlsplit(page).netloc, f"status {response.status}", told, may_pass=False)
                found = self._read(page, response)
            mementos += found.mementos
            pending += [each for each in found.pages if each not in met]
            met.update(found.pages)
        if pending:
            self._remote.client.distrust(first)
            logger.warning("%s: its TimeMap has more than %d pages or %d mementos", url, MAX_PAGES, MAX_LISTED)
            if not mementos:
                raise SourceError(urlsplit(first).netloc, "endless TimeMap", f"{first} has no end", may_pass=True)
        now = self._remote.clock()
        credible = tuple(each for each in mementos[:MAX_LISTED] if each.date <= now)
        self._cache.put(first, credible)
        return credible

    def _read(self, page: str, response: WireResponse) -> TimeMap:
        head = Headers(response.headers)
        try:
            if response.status != 200:
                raise NoTimeMapError(f"answered {response.status}")
            sent = b"".join(pieces_of(response.exchange))
            body = decode_content(sent, ", ".join(head.all("Content-Encoding")), MAX_TIME_MAP).body
            return read_time_map(body.decode("utf-8", "replace"), head.media_type, page)
        except NoTimeMapError as error:
            self._remote.client.distrust(page)
            raise SourceError(urlsplit(page).netloc, "no TimeMap", f"{page} {error}", may_pass=True) from error


def appended(address: str, url: str) -> str:
    """Return the address of a TimeGate or TimeMap for a URL.

    >>> appended("http://archive.test/web", "http://a.test/?b")
    'http://archive.test/web/http://a.test/?b'
    """
    return address + ("" if address.endswith(("/", "=", "?", "&")) else "/") + url


def _place(uri: str, response: WireResponse) -> str:
    """Return the address of a memento that came directly instead of a redirect to it (RFC 7089, section 4.1.2)."""
    said = Headers(response.headers).get("Content-Location")
    return urljoin(uri, said) if said else uri


def _memento_in(links: Sequence[Link], target: str) -> Link | None:
    """Return the link to the memento that a TimeGate chose: its redirect's target, or the only memento it names."""
    mementos = [each for each in links if "memento" in each.relations and each.date is not None]
    at_target = [each for each in mementos if target and are_alike(each.target, target)]
    if at_target or target:
        return at_target[0] if at_target else None
    others = ("first", "last", "prev", "next")
    plain = [each for each in mementos if not each.relations.intersection(others)]
    return plain[0] if len(plain) == 1 else None


def _named(uri: str, links: Sequence[Link], relation: str) -> Candidate | None:
    for each in links:
        if relation in each.relations and "memento" in each.relations and each.date is not None:
            return Candidate(urljoin(uri, each.target), each.date)
    return None

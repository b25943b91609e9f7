"""A source whose captures a CDX server lists: pywb, OpenWayback, the Wayback Machine, Common Crawl."""

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from aahcrawler.archive.record_access import Record, RecordError
from aahcrawler.archive.records import unlabelled_digest
from aahcrawler.archive.scanning import Header, Member, record_date
from aahcrawler.exchange import Exchange, Memento
from aahcrawler.page import Headers
from aahcrawler.page.decoding import decode_content
from aahcrawler.replay.capture_lookup import date_of
from aahcrawler.sources.archive_client import is_refused
from aahcrawler.sources.cdx_columns import fields_of, legend
from aahcrawler.sources.record_captures import capture_in, measured, shown_again
from aahcrawler.sources.remote_captures import (
    MAX_TRIES,
    Attempt,
    Candidate,
    RemoteCaptures,
    admitted,
    are_alike,
    pieces_of,
)
from aahcrawler.sources.source import Demand, SnapshotChoice, SourceError, is_credible
from online_analysis.icd import CdxServer

MAX_LISTING: Final = 20_000_000
"""Bytes of a listing that are read."""
MAX_LINES: Final = 100_000
_OUTPUT: Final = "json"
_HEAD_OF_RECORD: Final = 1 << 20
"""Bytes of a record beside its payload that are taken."""
_OTHER_NAMES: Final = {"original": "url", "mimetype": "mime", "statuscode": "status"}
REVISIT: Final = "warc/revisit"
_PARTS_OF_UNKNOWN_LENGTH: Final = (1 << 18, 1 << 23)
"""Bytes that are asked for of a record whose length a listing does not tell: the first, and where these are too few."""


class NoListingError(Exception):
    """A text is no list of captures."""


@dataclass(frozen=True, slots=True)
class CdxLine:
    """A capture listed by a CDX server. An unknown ``status`` is 0, an unknown ``offset`` or ``length`` -1.

    ``digest`` is that of the payload, without the name of its algorithm.
    """

    url: str
    date: datetime
    stamp: str
    status: int
    file: str = ""
    offset: int = -1
    length: int = -1
    is_revisit: bool = False
    digest: str = ""

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "CdxLine | None":
        """Build a capture from fields by name; return None if URL or time is missing."""
        named = {_OTHER_NAMES.get(str(name), str(name)): str(value) for name, value in fields.items()}
        stamp, url = named.get("timestamp", ""), named.get("url", "")
        try:
            date = date_of(stamp)
        except ValueError:
            return None
        status, offset, length = (_number(named.get(name, "")) for name in ("status", "offset", "length"))
        if not url:
            return None
        is_revisit = named.get("mime", "").lower() == REVISIT
        digest = named.get("digest", "").removeprefix("sha1:")
        return cls(url, date, stamp, max(status, 0), named.get("filename", ""), offset, length, is_revisit, digest)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


def read_listing(text: str) -> Iterator[CdxLine]:
    """Yield the captures of a list in any format of CDX servers; unreadable lines are skipped.

    Raise ``NoListingError`` for any other text.

    >>> [line.stamp for line in read_listing("test,a)/ 20130605100000 http://a.test/ text/html 200 ABC 100")]
    ['20130605100000']
    """
    written = text.lstrip("\ufeff \t\r\n")
    if written.startswith("<"):
        raise NoListingError("is markup where a listing was asked for")
    rows = _rows(written) if written.startswith("[") else _lines(written)
    yield from (line for fields in rows if fields and (line := CdxLine.of(fields)) is not None)


def _lines(text: str) -> Iterator[Mapping[str, Any]]:
    columns: Sequence[str] = ()
    for line in text.splitlines()[:MAX_LINES]:
        named = legend(line)
        if named is None:
            yield fields_of(line, columns)
        else:
            columns = named


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a JSON table, whose first row has the column names, or of a list of objects."""
    try:
        rows = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NoListingError("is no JSON") from error
    names: Sequence[str] = ()
    for row in rows[:MAX_LINES]:
        if isinstance(row, dict):
            yield row
        elif isinstance(row, list) and not names:
            names = [str(each) for each in row]
        elif isinstance(row, list):
            yield dict(zip(names, row, strict=False))


@dataclass(frozen=True, slots=True)
class CdxSource:
    """Takes captures that a CDX server lists, from the server's replay or as records from WARC files."""

    name: str
    _given: CdxServer
    _choice: SnapshotChoice
    _remote: RemoteCaptures

    async def captures(self, url: str, demand: Demand) -> AsyncIterator[Exchange]:
        """See ``Source.captures``."""
        async for exchange in admitted(url, self._attempts(url, demand), self._choice, self._remote.client):
            yield exchange

    def near(self, moment: datetime) -> "CdxSource":
        """See ``Source.near``."""
        return CdxSource(self.name, self._given, self._choice.near(moment), self._remote)

    async def _attempts(self, url: str, demand: Demand) -> AsyncIterator[Attempt]:
        listed = self._choice.ordered(_shown(await self._listed(url, demand), url))
        demand = Demand(demand.most, demand.is_patient or self._choice.takes_all)
        for line in listed if self._choice.takes_all else listed[:MAX_TRIES]:
            yield partial(self._taken, url, line, demand)

    async def moments(self, url: str) -> Sequence[datetime]:
        """See ``Source.moments``."""
        return [line.date for line in _shown(await self._listed(url, Demand(MAX_LISTING)), url)]

    def close(self) -> None:
        """Do nothing: no connection is kept between requests."""

    async def _listed(self, url: str, demand: Demand) -> Sequence[CdxLine]:
        server = self._given.server
        mark = "&" if urlsplit(server).query else "?"
        asked = f"{server}{mark}url={quote(url, safe='')}&output={_OUTPUT}"
        response = await self._remote.client.get(asked, most=MAX_LISTING, is_patient=demand.is_patient)
        with closing(response.exchange):
            if response.status in (404, 204):
                return ()
            if is_refused(response):
                told = f"{asked} refuses the URL"
                raise SourceError(urlsplit(asked).netloc, f"status {response.status}", told, may_pass=False)
            try:
                if response.status != 200:
                    raise NoListingError(f"answered {response.status}")
                sent = b"".join(pieces_of(response.exchange))
                coding = ", ".join(Headers(response.headers).all("Content-Encoding"))
                body = decode_content(sent, coding, MAX_LISTING).body
                listed = tuple(read_listing(body.decode("utf-8", "replace")))
                self._remote.client.trust(asked)
                return listed
            except NoListingError as error:
                self._remote.client.distrust(asked)
                raise SourceError(urlsplit(asked).netloc, "no CDX", f"{asked} {error}", may_pass=True) from error

    async def _taken(self, url: str, line: CdxLine, demand: Demand) -> Exchange | None:
        if self._given.replay is not None:
            replay = self._given.replay + ("" if self._given.replay.endswith("/") else "/")
            return await self._remote.taken(url, Candidate(f"{replay}{line.stamp}/{line.url}", line.date), demand)
        files = self._given.files
        if files is None or not line.file or line.offset < 0 or line.length > demand.most + _HEAD_OF_RECORD:
            return None
        found = await self._record(line, demand)
        if found is None:
            return None
        header, exchange = found
        if header.get("WARC-Type").lower() == "revisit":
            original = await self._original(header, line, demand)
            if original is None:
                exchange.close()
                return None
            exchange = shown_again(exchange, original)
        archive = urlsplit(self._address(line)).netloc
        memento = Memento(header.record_id, archive, self._remote.source, self._remote.clock())
        return measured(replace(exchange, memento=memento))

    async def _original(self, revisit: Header, line: CdxLine, demand: Demand) -> Exchange | None:
        """Return the capture to which a revisit refers: the one it names, else an earlier one with the same payload."""
        url = revisit.get("WARC-Refers-To-Target-URI").strip("<>") or line.url
        date = record_date(revisit.get("WARC-Refers-To-Date")) or line.date
        digest = unlabelled_digest(revisit.get("WARC-Payload-Digest"))
        listed = [each for each in await self._listed(url, demand) if not each.is_revisit and each.date <= line.date]
        listed.sort(key=lambda each: abs((each.date - date).total_seconds()))
        for each in listed[:MAX_TRIES]:
            is_said = each.date == date.replace(microsecond=0) or (each.digest and each.digest == line.digest)
            found = await self._record(each, demand) if is_said else None
            if found is None:
                continue
            header, exchange = found
            own = unlabelled_digest(header.get("WARC-Payload-Digest"))
            if header.get("WARC-Type").lower() != "revisit" and (not digest or not own or own == digest):
                return exchange
            exchange.close()
        return None

    def _address(self, line: CdxLine) -> str:
        files = self._given.files or ""
        return urljoin(files if files.endswith("/") else f"{files}/", line.file)

    async def _record(self, line: CdxLine, demand: Demand) -> tuple[Header, Exchange] | None:
        """Return header and capture of the WARC record at a line's offset; None if it holds no capture."""
        address = self._address(line)
        archive = urlsplit(address).netloc
        lengths = (line.length,) if line.length > 0 else _PARTS_OF_UNKNOWN_LENGTH
        for length in lengths:
            sent = await self._part(address, line.offset, length, demand)
            try:
                record = Record(Member(BytesIO(sent), 0))
                exchange = capture_in(record)
            except RecordError as error:
                if length != lengths[-1] and len(sent) == length:
                    continue
                raise SourceError(archive, "no record", f"{address}: {error}", may_pass=True) from error
            if exchange is None:
                return None
            if are_alike(exchange.url, line.url) and is_credible(exchange.started_at, self._remote.clock()):
                return record.header, exchange
            exchange.close()
            raise SourceError(archive, "wrong record", f"{address} has another capture there", may_pass=True)
        return None

    async def _part(self, address: str, offset: int, length: int, demand: Demand) -> bytes:
        """Return a byte range of a file. Raise ``SourceError`` if it cannot be had."""
        response = await self._remote.client.get(
            address,
            headers={"Range": f"bytes={offset}-{offset + length - 1}", "Accept-Encoding": "identity"},
            most=length,
            wanted=lambda status, _: status == 206,
            is_patient=demand.is_patient,
        )
        with closing(response.exchange):
            if response.status == 206:
                return b"".join(pieces_of(response.exchange))
        told = f"answered {response.status} to a part of {address}"
        if response.status == 200:
            told += ", but gives whole files alone: name a server that knows Range under files"
        raise SourceError(urlsplit(address).netloc, "no part", told, may_pass=response.status != 200)


def _shown(lines: Iterable[CdxLine], url: str) -> Iterator[CdxLine]:
    for line in lines:
        if are_alike(line.url, url) and (not line.status or (200 <= line.status < 400 and line.status != 304)):
            yield line

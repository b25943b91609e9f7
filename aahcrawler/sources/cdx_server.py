"""A source that lists its captures by a CDX server: pywb, OpenWayback, the Wayback Machine, Common Crawl."""

import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from io import BytesIO
from typing import Any, Final
from urllib.parse import quote, urljoin, urlsplit

from aahcrawler.archive.gzip_members import Member
from aahcrawler.archive.record_access import Record, RecordError, exchange_in
from aahcrawler.archive.records import is_http
from aahcrawler.exchange import Exchange, Memento
from aahcrawler.page import Headers
from aahcrawler.page.decoding import decode_content
from aahcrawler.replay.capture_lookup import date_of
from aahcrawler.sources.local_archives import measured
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
_SEVEN: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest", "length")
_ELEVEN: Final = (*_SEVEN[:6], "redirect", "robotflags", "length", "offset", "filename")
"""The columns of plain listings: those of the Wayback Machine, and of the format ``N b a m s k r M S V g``."""
_OTHER_NAMES: Final = {"original": "url", "mimetype": "mime", "statuscode": "status"}


class NoListingError(Exception):
    """A text is no listing of captures."""


@dataclass(frozen=True, slots=True)
class CdxLine:
    """A capture as a CDX server lists it. ``status`` is 0, ``offset`` and ``length`` are -1 where they are not told."""

    url: str
    date: datetime
    stamp: str
    status: int
    file: str = ""
    offset: int = -1
    length: int = -1

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> "CdxLine | None":
        """Return the capture of named fields; None where they name no URL or no moment."""
        named = {_OTHER_NAMES.get(str(name), str(name)): str(value) for name, value in fields.items()}
        stamp, url = named.get("timestamp", ""), named.get("url", "")
        try:
            date = date_of(stamp)
        except ValueError:
            return None
        status, offset, length = (_number(named.get(name, "")) for name in ("status", "offset", "length"))
        return cls(url, date, stamp, max(status, 0), named.get("filename", ""), offset, length) if url else None


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1


def read_listing(text: str) -> Iterator[CdxLine]:
    """Yield the captures of a listing in any of the formats of CDX servers; lines that cannot be read are left out.

    Raise ``NoListingError`` where it is something else.

    >>> [line.stamp for line in read_listing("test,a)/ 20130605100000 http://a.test/ text/html 200 ABC 100")]
    ['20130605100000']
    """
    written = text.lstrip("\ufeff \t\r\n")
    if written.startswith("<"):
        raise NoListingError("is markup where a listing was asked for")
    rows = _rows(written) if written.startswith("[") else map(_fields, written.splitlines()[:MAX_LINES])
    yield from (line for fields in rows if fields and (line := CdxLine.of(fields)) is not None)


def _rows(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table in JSON, whose first row names the columns, or of a list of objects."""
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


def _fields(line: str) -> Mapping[str, Any]:
    """Return the named fields of a line: JSON, CDXJ, or columns."""
    written = re.fullmatch(r"(?:(\S+) (\d{1,14}) )?(\{.*\})\s*", line)
    if written is not None:
        with suppress(ValueError, RecursionError):
            said = json.loads(written[3])
            return {"timestamp": written[2], **said} if written[2] and isinstance(said, dict) else said
        return {}
    columns = line.split()
    names = {len(_SEVEN): _SEVEN, len(_ELEVEN): _ELEVEN}.get(len(columns), ())
    return dict(zip(names, columns, strict=False))


@dataclass(frozen=True, slots=True)
class CdxSource:
    """Takes captures that a CDX server lists: from the replay beside it, or as records out of WARC files."""

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
        """Nothing is open between two requests."""

    async def _listed(self, url: str, demand: Demand) -> Sequence[CdxLine]:
        server = self._given.server
        mark = "&" if urlsplit(server).query else "?"
        asked = f"{server}{mark}url={quote(url, safe='')}&output={_OUTPUT}"
        answer = await self._remote.client.get(asked, most=MAX_LISTING, is_patient=demand.is_patient)
        with closing(answer.exchange):
            if answer.status in (404, 204):
                return ()
            try:
                if answer.status != 200:
                    raise NoListingError(f"answered {answer.status}")
                sent = b"".join(pieces_of(answer.exchange))
                coding = ", ".join(Headers(answer.headers).all("Content-Encoding"))
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
        if files is None or not line.file or line.offset < 0 or not 0 < line.length <= demand.most + _HEAD_OF_RECORD:
            return None
        return await self._record(urljoin(files if files.endswith("/") else f"{files}/", line.file), line, demand)

    async def _record(self, address: str, line: CdxLine, demand: Demand) -> Exchange | None:
        """Return the capture in a part of a WARC file; None where the part is no response, as with a revisit."""
        part = {"Range": f"bytes={line.offset}-{line.offset + line.length - 1}", "Accept-Encoding": "identity"}
        answer = await self._remote.client.get(
            address,
            headers=part,
            most=line.length,
            wanted=lambda status, _: status == 206,
            is_patient=demand.is_patient,
        )
        with closing(answer.exchange):
            sent = b"".join(pieces_of(answer.exchange)) if answer.status == 206 else b""
        archive = urlsplit(address).netloc
        try:
            record = Record(Member(BytesIO(sent), 0))
            if record.kind != "response" or not is_http(record.header.get("Content-Type")):
                return None
            exchange = exchange_in(record)
        except RecordError as error:
            raise SourceError(archive, "no record", f"{address}: {error}", may_pass=True) from error
        if not are_alike(exchange.url, line.url) or not is_credible(exchange.started_at, self._remote.clock()):
            exchange.close()
            raise SourceError(archive, "wrong record", f"{address} has another capture there", may_pass=True)
        memento = Memento(record.header.record_id, archive, self._remote.source, self._remote.clock())
        return measured(replace(exchange, memento=memento))


def _shown(lines: Iterable[CdxLine], url: str) -> Iterator[CdxLine]:
    for line in lines:
        if are_alike(line.url, url) and (not line.status or (200 <= line.status < 400 and line.status != 304)):
            yield line

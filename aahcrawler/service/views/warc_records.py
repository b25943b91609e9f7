"""Finds the WARC records of a capture by its URL and time, in a running crawl's files too."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.archive.index_entry import Place
from aahcrawler.archive.payload import beginning_of
from aahcrawler.archive.record_access import Record, RecordError, exchange_in, read_at, records_at, rendered_in
from aahcrawler.exchange import Exchange
from aahcrawler.layout import ARCHIVE
from aahcrawler.replay.capture_lookup import CaptureLookup, NoIndexError, moment_of

LARGEST: Final = 8 << 20
"""Bytes of a record that are read at most."""
_HEAD: Final = 16 << 10
_CRAWLS: Final = 64
_UNSEEN: Final = dict.fromkeys((*range(9), 11, 12, *range(14, 32), *range(127, 160)), "�")


class RecordShown(BaseModel):
    """A WARC record: its type, where its gzip member begins in which file, and how many bytes of it there are.

    ``size`` is None where that is not known. ``fields`` are names and values of its header, ``http``
    the head of the HTTP message in it; both may hold anything that a server sent, control characters apart.
    """

    model_config = ConfigDict(frozen=True)

    type: str
    file: str
    offset: int
    size: int | None
    fields: tuple[tuple[str, str], ...]
    http: str


@dataclass(frozen=True, slots=True)
class CapturePlace:
    """Which capture is looked for: the id of its record, its URL, and when it was made (ISO 8601)."""

    record: str
    url: str
    fetched_at: str


def records_found(crawl: Path, wanted: CapturePlace) -> Iterator[tuple[Place, Record]]:
    """Yield the answer of a capture and the records that belong to it, in their order, with the place of the answer.

    Each is read before the next one comes. Those that the archive does not have are not among them.
    """
    moment, archive = moment_of(datetime.fromisoformat(wanted.fetched_at)), crawl / ARCHIVE
    with suppress(NoIndexError, OSError):
        for place in (each.place for each in _lookup(crawl).nearest(wanted.url, moment) if each.moment == moment):
            if read_at(archive, place.file, place.offset, lambda record: record.header.record_id) == wanted.record:
                yield from ((place, record) for record in records_at(archive, place, wanted.record))
                return


def records_of(crawl: Path, wanted: CapturePlace) -> tuple[RecordShown, ...]:
    """Return the answer of a capture and the records that belong to it; none where the archive does not have them."""
    return tuple(_shown(place, record) for place, record in records_found(crawl, wanted))


def exchange_of(crawl: Path, wanted: CapturePlace) -> Exchange | None:
    """Return the answer of a capture, None where the archive does not have it or it has more than 8 MiB.

    The caller closes it.
    """
    records = (record for _, record in records_found(crawl, wanted))
    with suppress(RecordError):
        answer = next(records, None)
        if answer is not None:
            found = exchange_in(answer, LARGEST)
            rendered = next((each for record in records if (each := rendered_in(record)) is not None), None)
            return replace(found, url=wanted.url, rendered=rendered)
    return None


def _shown(place: Place, record: Record) -> RecordShown:
    beginning, size = bytearray(), place.end - place.offset if record.offset == place.offset else None
    with suppress(RecordError):
        for piece in record.block():
            beginning += piece[: _HEAD - len(beginning)]
            if size is not None and len(beginning) >= _HEAD:
                break
        size = record.end - record.offset if size is None else size
    is_http = "http" in record.header.get("Content-Type")
    return RecordShown(
        type=record.kind,
        file=place.file,
        offset=record.offset,
        size=size,
        fields=tuple((plain(name), plain(value)) for name, value in record.header.fields),
        http=plain(beginning_of(bytes(beginning)).decode("latin-1")) if is_http else "",
    )


def plain(text: str) -> str:
    """Return a text without control characters, which mean something to terminals and browsers."""
    return text.translate(_UNSEEN)


@lru_cache(_CRAWLS)
def _lookup(crawl: Path) -> CaptureLookup:
    """Return the lookup of a crawl, which keeps in memory what it has read of files that are being written."""
    return CaptureLookup(crawl)

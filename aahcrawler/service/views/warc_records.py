"""Finds the WARC records of a capture by its URL and time, in a running crawl's files too."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, Final

from pydantic import BaseModel, ConfigDict

from aahcrawler.archive.gzip_members import Member, MemberError, members
from aahcrawler.archive.index_entry import Place
from aahcrawler.archive.payload import beginning_of
from aahcrawler.archive.record_access import Record, RecordError, exchange_in, open_place, record_at, rendered_in
from aahcrawler.exchange import Exchange, Rendered
from aahcrawler.layout import ARCHIVE
from aahcrawler.replay.capture_lookup import CaptureLookup, NoIndexError, moment_of

LARGEST: Final = 8 << 20
"""Bytes of a record that are read at most."""
_BESIDE: Final = 12
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


def records_of(crawl: Path, wanted: CapturePlace) -> tuple[RecordShown, ...]:
    """Return the answer of a capture and the records that belong to it; none where the archive does not have them."""
    for place in _places(crawl, wanted):
        with _opened(crawl, place.file) as file:
            if file is None:
                continue
            try:
                answer = record_at(file, place.offset)
                if answer.header.record_id == wanted.record:
                    return (_shown(answer, place.file, place.end), *_beside(file, place, wanted.record))
            except (RecordError, OSError):
                continue
    return ()


def exchange_of(crawl: Path, wanted: CapturePlace) -> Exchange | None:
    """Return the answer of a capture, None where the archive does not have it or it has more than 8 MiB.

    The caller closes it.
    """
    for place in _places(crawl, wanted):
        with _opened(crawl, place.file) as file:
            if file is None:
                continue
            try:
                answer = record_at(file, place.offset)
                if answer.header.record_id == wanted.record:
                    found = exchange_in(answer, LARGEST)
                    return replace(found, url=wanted.url, rendered=_rendered(file, place, wanted.record))
            except (RecordError, OSError):
                continue
    return None


def records_beside(crawl: Path, wanted: CapturePlace) -> Iterator[Record]:
    """Yield the records that belong to the answer of a capture, in their order; each is read before the next comes."""
    for place in _places(crawl, wanted):
        with _opened(crawl, place.file) as file:
            if file is None or not _is_answer(file, place, wanted.record):
                continue
            for record, _ in _behind(file, place, wanted.record):
                yield record
            return


def _is_answer(file: BinaryIO, place: Place, record: str) -> bool:
    try:
        return record_at(file, place.offset).header.record_id == record
    except (RecordError, OSError):
        return False


def _beside(file: BinaryIO, place: Place, answer: str) -> Iterator[RecordShown]:
    """Yield the records behind an answer that name it."""
    for record, member in _behind(file, place, answer):
        shown = _shown(record, place.file, None)
        with suppress(MemberError):
            while member.read():
                pass
            yield shown.model_copy(update={"size": member.end - member.offset})


def _rendered(file: BinaryIO, place: Place, answer: str) -> Rendered | None:
    """Return the document that a browser made of an answer, None where none is beside it that can be read."""
    with suppress(RecordError):
        return next((found for record, _ in _behind(file, place, answer) if (found := rendered_in(record))), None)
    return None


def _behind(file: BinaryIO, place: Place, answer: str) -> Iterator[tuple[Record, Member]]:
    """Yield the records behind an answer that name it, each with its gzip member, which has to be read to its end."""
    try:
        for count, member in enumerate(members(file, place.end)):
            record = Record(member)
            if count == _BESIDE or answer not in record.header.concurrent_to:
                return
            yield record, member
    except (RecordError, MemberError, OSError):
        return


def _shown(record: Record, file: str, end: int | None) -> RecordShown:
    beginning = bytearray()
    if "http" in record.header.get("Content-Type"):
        for piece in record.block():
            beginning += piece
            if len(beginning) >= _HEAD:
                break
    return RecordShown(
        type=record.kind,
        file=file,
        offset=record.offset,
        size=None if end is None else end - record.offset,
        fields=tuple((plain(name), plain(value)) for name, value in record.header.fields),
        http=plain(beginning_of(bytes(beginning[:_HEAD])).decode("latin-1")),
    )


def plain(text: str) -> str:
    """Return a text without control characters, which mean something to terminals and browsers."""
    return text.translate(_UNSEEN)


@contextmanager
def _opened(crawl: Path, name: str) -> Iterator[BinaryIO | None]:
    """Open a WARC file, open or closed; None where it cannot be."""
    # The name is what an index says: it must not lead out of the folder.
    file = None if "/" in name or name.startswith(".") else open_place(crawl / ARCHIVE, name)
    if file is None:
        yield None
        return
    with file:
        yield file


def _places(crawl: Path, wanted: CapturePlace) -> Iterator[Place]:
    """Yield the places that the index names for a URL and a second."""
    moment = moment_of(datetime.fromisoformat(wanted.fetched_at))
    with suppress(NoIndexError):
        found = _lookup(crawl).nearest(wanted.url, moment)
        yield from (each.place for each in found if each.moment == moment)


@lru_cache(_CRAWLS)
def _lookup(crawl: Path) -> CaptureLookup:
    """Return the lookup of a crawl, which keeps in memory what it has read of files that are being written."""
    return CaptureLookup(crawl)

"""Copy the WARC records of hits, unchanged, from the folders that contain them."""

import gzip
import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from aahcrawler import __version__
from aahcrawler.archive.record_access import Record, RecordError, open_place
from aahcrawler.archive.records import CrawlInfo, header, warcinfo_block, warcinfo_fields
from aahcrawler.archive.scanning import Member
from aahcrawler.archive.writer import Identity
from aahcrawler.captures.record_scan import ResponseRecord
from aahcrawler.layout import ARCHIVE
from aahcrawler.search.search_index import SearchIndex
from aahcrawler.search.searching import Hit

_PIECE: Final = 1 << 20
_OF_RECORD: Final = "SELECT file, answer FROM capture WHERE record = ? AND file IS NOT NULL"


@dataclass(slots=True)
class FoundRecords:
    """The records of hits, to be written as one WARC file: each capture once, with all records that belong to it.

    A revisit is followed by the capture with its payload, if that is indexed, and the first record of each ``warcinfo``
    record is preceded by that. ``indexes`` are by the folders of the hits. Captures made under a session are counted in
    ``left_out`` and left out, unless ``with_sessions``. ``missing`` counts captures without a place in any index: they
    have not been indexed yet, or were taken down meanwhile.
    """

    hits: Iterable[Hit]
    indexes: Mapping[Path, SearchIndex]
    with_sessions: bool = False
    captures: int = 0
    left_out: int = 0
    missing: int = 0
    _taken: set[tuple[Path, str]] = field(default_factory=set)

    def pieces(self, name: str, query: str, identity: Identity | None = None) -> Iterator[bytes]:
        """Yield the file, called ``name``, in pieces of bounded size. Raises ``OSError`` and ``sqlite3.Error``."""
        identity = identity or Identity()
        info = CrawlInfo("search", f"AAHCrawler/{__version__}", description=f"Found by a search: {query}".strip())
        block = warcinfo_block(info)
        digest = hashlib.sha1(block, usedforsecurity=False).digest()
        fields = warcinfo_fields(identity.new_id(), identity.clock(), name)
        yield gzip.compress(header(fields, digest, len(block)) + block + b"\r\n\r\n", mtime=0)
        for hit in self.hits:
            with self.indexes[hit.folder].asked() as base:
                spans = [*self._spans(hit.folder, hit.entry.record, base)]
            for file, begin, end, record in spans:
                yield from _copied(hit.folder / ARCHIVE, file, begin, end, record)

    def _spans(self, folder: Path, record: str, base: sqlite3.Connection) -> Iterator[tuple[str, int, int, str]]:
        """Yield the file, beginning and end of the records of a capture not copied yet, and their owner's id."""
        if (folder, record) in self._taken:
            return
        self._taken.add((folder, record))
        found = base.execute(_OF_RECORD, (record,)).fetchone()
        answer = None if found is None else ResponseRecord._make(json.loads(found[1]))
        if answer is None or not _is_there(folder / ARCHIVE, found[0], answer):
            self.missing += 1
            return
        if answer.session and not self.with_sessions:
            self.left_out += 1
            return
        self.captures += 1
        if (folder, answer.warcinfo) not in self._taken:
            self._taken.add((folder, answer.warcinfo))
            row = base.execute("SELECT file, begin, end FROM info WHERE id = ?", (answer.warcinfo,)).fetchone()
            if row is not None:
                yield (*row, answer.warcinfo)
        yield found[0], answer.begin, answer.end, answer.id
        if answer.is_revisit and answer.refers:
            yield from self._spans(folder, answer.refers, base)


def _is_there(archive: Path, file: str, answer: ResponseRecord) -> bool:
    """Return whether a record is where the index says: a takedown moves records until the index is rebuilt."""
    return next(_copied(archive, file, answer.begin, answer.begin + 1, answer.id), b"") != b""


def _copied(archive: Path, file: str, begin: int, end: int, record: str) -> Iterator[bytes]:
    stream = open_place(archive, file)
    if stream is None:
        return
    with stream:
        try:
            if not Record(Member(stream, begin)).is_of(record):
                return
        except RecordError:
            return
        stream.seek(begin)
        while begin < end and (piece := stream.read(min(_PIECE, end - begin))):
            begin += len(piece)
            yield piece

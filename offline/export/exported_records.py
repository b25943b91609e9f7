"""Selects the bytes of a crawl's WARC files for export: all records except those that must not be passed on."""

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from aahcrawler.archive.folders import ArchiveFolder, hidden_in, is_referred
from aahcrawler.archive.scanning import Scanned, scan
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.captures.capture_source import BEGINNING
from aahcrawler.captures.record_scan import EPOCH
from offline.selection.warc_selection import Names, SelectedCaptures


@dataclass(slots=True)
class WholeArchive:
    """All records of an archive except the excluded ones, known by the ids of the responses that they belong to.

    ``left_out`` counts the responses fetched under a session, where those are not wanted.
    """

    source: ArchivedCaptures
    selected: SelectedCaptures
    newest: datetime = EPOCH
    left_out: int = 0
    _hidden: Names = field(default_factory=Names)
    _files_with_hidden: set[int] = field(default_factory=set)

    def look_through(self) -> None:
        """Find the excluded records."""
        for row, _ in self.source.table.in_time(BEGINNING):
            capture = self.source.capture(row)
            is_aside = self.selected.leaves_aside(capture)
            if is_aside or self.source.hides(row):
                self._hidden.add(capture.record_id)
                self._files_with_hidden.add(row.file)
                self.left_out += is_aside
            else:
                self.newest = max(self.newest, capture.date)

    def close(self) -> None:
        """Release the sets of excluded records."""
        self._hidden.close()

    def spans(self, file: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges of a file, given by its number, that are exported. Raises ``OSError``."""
        path = ArchiveFolder.of(self.source.crawl).files / self.source.table.name(file) if self.source.crawl else None
        is_hidden = hidden_in(path) if path is not None and is_referred(path) else None
        size = self.source.table.size(file)
        if file not in self._files_with_hidden and is_hidden is None:
            yield 0, size
            return
        begin = 0
        for record in scan(self.source.table.open(file)):
            target = record.header.get("WARC-Target-URI").strip("<>")
            if self._belongs(record) or (is_hidden is not None and target and is_hidden(target)):
                self._hidden.add(record.header.record_id)
                if begin < record.offset:
                    yield begin, record.offset
                begin = record.offset + record.size
        if begin < size:
            yield begin, size

    def _belongs(self, record: Scanned) -> bool:
        """Return whether a record is excluded, or belongs to an excluded one."""
        about = record.header.get("WARC-Refers-To").strip("<>") if record.kind == "metadata" else ""
        return any(name in self._hidden for name in (record.header.record_id, *record.header.concurrent_to, about))


def summed(spans: Iterator[tuple[int, int]]) -> "tuple[array[int], int]":
    """Return spans as an array of their bounds, and the sum of their bytes."""
    bounds, size = array("Q"), 0
    for begin, end in spans:
        bounds.extend((begin, end))
        size += end - begin
    return bounds, size

"""How the history of captures catches up from the WARC files."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path

from aahcrawler.archive.history_record import HistoryRecord
from aahcrawler.archive.history_rows import row_of, row_seen_again, stored_id
from aahcrawler.archive.ledger import Last, Ledger
from aahcrawler.archive.record_access import Appended, appended
from aahcrawler.archive.referred_files import hidden_in
from aahcrawler.derived_index import Known, Source, opened_segment, segment_sources
from aahcrawler.layout import HISTORY, WARC


class CaptureLedger(Ledger):
    """The ledger of the captures in WARC files, which it catches up from."""

    def __init__(self, path: Path | None, archive: Path, clock: Callable[[], float]) -> None:
        super().__init__(path, clock)
        self._archive = archive

    def sources(self) -> Iterator[Source]:
        """Find the WARC files."""
        return segment_sources(self._archive, WARC)

    def is_other(self, known: Known, source: Source | None) -> bool:
        """Return whether a file is gone, or has another record than the last one that is known.

        A copy of an archive counts as the archive: to read it all again may take days.
        """
        if source is None:
            return True
        last = self.last_of(known.id)
        if last is None or known.covered == source.size:
            return False
        try:
            with opened_segment(source.path) as file:
                found = next(appended(file, last.offset), None)
        except OSError:
            return False  # Nothing is read from it either.
        return found is None or last != (found.offset, stored_id(found.header.record_id), found.metadata_offset)

    def entries(self, source: Source, begin: int) -> Iterator[tuple[Appended, int]]:  # noqa: ARG002
        """Yield the captures of a file after the last known one."""
        last, is_hidden = self.last_of(self.id_of(source.name)), hidden_in(source.path)
        with opened_segment(source.path) as file:
            news = appended(file, last.offset if last else 0)
            for each in islice(news, 1 if last else 0, None):
                if not is_hidden(each.header.get("WARC-Target-URI").strip("<>")):
                    yield each, each.offset + 1

    def put(self, entry: Appended, source: int, place: int) -> None:  # noqa: ARG002
        """Take in a capture from a file."""
        kept = HistoryRecord.read(entry, self.name_of(source))
        if kept is not None:
            self.add(kept)

    def add_committed(self, kept: HistoryRecord) -> None:
        """Take in a capture that has just been written, and commit where it is time to."""
        self.add(kept)
        if self.is_due:
            self.commit()

    def add(self, kept: HistoryRecord) -> None:
        """Take in a capture."""
        capture = kept.capture
        row = row_of(kept, self.id_of(capture.file))
        settled = row_seen_again(self, row) if capture.revisit else row
        if settled is not None:
            self.put_row(settled)
        self.cover(row.file, Last(row.offset, row.record, row.metadata))


def remembered_places(folder: Path) -> Iterator[tuple[str, int, str]]:
    """Yield the places of answers, metadata and documents that the history in a folder has, if it can be read.

    Each is a file, an offset, and the URL that it is of.
    """
    with suppress(sqlite3.Error), closing(CaptureLedger(None, folder, time.monotonic)) as ledger:
        yield from ledger.open_copy(folder / HISTORY).places()

"""The possible findings of a check of WARC files, and their remedies."""

from dataclasses import dataclass
from pathlib import Path

from aahcrawler.archive.scanning import Problem

_COPY = "restore the file from a copy"
_REPAIR = "aah archive repair keeps the torn end beside and cuts it off"
_INDEX = "aah archive index makes it anew"
_WRITER = "tell the makers of the software that wrote it; the bytes are all there"
_NOTHING = "nothing has to be done"
ADVICE = {
    Problem.TORN: _REPAIR,
    Problem.DAMAGED: _COPY,
    Problem.FOREIGN: f"{_COPY}; a file that was never compressed is to be compressed record by record",
    Problem.HEADER: _WRITER,
    Problem.LENGTH: _COPY,
    Problem.CROWDED: f"compress the file anew, record by record; {_WRITER}",
    Problem.BLOCK_DIGEST: _COPY,
    Problem.PAYLOAD_DIGEST: f"{_COPY}, unless the block digest is right: then {_WRITER}",
    Problem.NO_WARCINFO: _WRITER,
    Problem.FILENAME: "give the file its name back, if it is to be found by it",
    Problem.DUPLICATE: _WRITER,
    Problem.UNLINKED: _WRITER,
    Problem.ALONE: f"{_NOTHING}: a crawl that was killed may leave its last response so",
    Problem.PROFILE: f"{_NOTHING}: readers take such a record for one without content",
    Problem.ORIGINAL_UNSAID: "it cannot be replayed; tell the makers of the software that wrote it",
    Problem.ORIGINAL_AWAY: "keep the file that holds it with these, or the page cannot be replayed as of that day",
    Problem.ORIGINAL_DIFFERS: f"replay would show the wrong content; {_WRITER}",
    Problem.DETACHED: f"{_NOTHING}: its subject is unknown",
    Problem.OPEN: "aah archive repair closes it; so does going on with the crawl",
    Problem.WRITING: "check again when the crawl has ended",
    Problem.UNREADABLE: "check the disk and its permissions",
    Problem.NO_INDEX: _INDEX,
    Problem.INDEX_LINE: _INDEX,
    Problem.UNSORTED: _INDEX,
    Problem.UNINDEXED: _INDEX,
    Problem.MISSING: _INDEX,
    Problem.STRAY: _INDEX,
}
NOTES = frozenset(
    {
        Problem.ALONE,
        Problem.DETACHED,
        Problem.FILENAME,
        Problem.ORIGINAL_AWAY,
        Problem.ORIGINAL_UNSAID,
        Problem.PROFILE,
        Problem.WRITING,
    }
)
"""Problems that are worth telling and make an archive no worse."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault, or a note. ``offset`` is None where it concerns a whole file.

    ``record_id`` is without angle brackets, and empty where it is not known.
    """

    file: Path
    offset: int | None
    record_id: str
    problem: Problem
    detail: str = ""

    @property
    def is_note(self) -> bool:
        """Return whether the finding is a note: the archive is none the worse for it."""
        return self.problem in NOTES

    def __str__(self) -> str:
        place = f"{self.file}" if self.offset is None else f"{self.file}:{self.offset}"
        record = f" {self.record_id}:" if self.record_id else ""
        detail = f" ({self.detail})" if self.detail else ""
        text = f"{place}:{record} {self.problem}{detail}; {ADVICE[self.problem]}"
        # What a file holds is not to move the cursor of whoever reads it.
        return "".join(character if character.isprintable() else "\ufffd" for character in text)


@dataclass(slots=True)
class Tally:
    """The counts of a check: files and records read, faults and notes."""

    files: int = 0
    records: int = 0
    faults: int = 0
    notes: int = 0

    def __str__(self) -> str:
        looked = f"{self.records} records in {self.files} files"
        wrong = f"{self.faults} faults" if self.faults != 1 else "1 fault"
        return f"{looked}: {wrong}, {self.notes} notes" if self.faults or self.notes else f"{looked}: all is well"

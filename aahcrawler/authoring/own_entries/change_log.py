"""The history of an entry: a line of JSON for each change, with what brings the earlier states back."""

import os
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.authoring.own_entries.entry_files import digest
from aahcrawler.segments import append_line, no_link

LARGEST_LOG = 32 << 20
"""Bytes of a history beyond which the contents of the oldest changes are no longer kept."""
LARGEST_CONTENT = 16 << 20
"""Bytes of a file beyond which its earlier states are not kept."""


class Change(BaseModel):
    """A change of an entry: when (UTC), by whom, what in plain words.

    ``before`` and ``after`` are the digests of the XML file, empty where there was none. ``parts`` are the digests of
    all files of the entry after the change, by their paths; ``contents`` holds, by digest, those that were new.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    number: int
    when: datetime
    who: str
    what: str
    before: str
    after: str
    parts: dict[str, str]
    contents: dict[str, str] = {}

    def __str__(self) -> str:
        """Return one line for people."""
        return f"{self.number}  {self.when:%Y-%m-%d %H:%M} UTC  {self.who or 'somebody'}: {self.what}"


class ChangeLog:
    """The history of one entry. Callers take care that only one of them writes."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def changes(self) -> tuple[Change, ...]:
        """Return all readable changes, the first one first."""
        return tuple(change for change in self._read() if change is not None)

    def unreadable(self) -> int:
        """Return how many lines cannot be read, as after a crash or a change by hand."""
        return sum(change is None for change in self._read())

    def append(self, change: Change) -> None:
        """Add a change, and drop the contents of the oldest ones where the history has grown too large."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        if append_line(self._file, change.model_dump_json()) > LARGEST_LOG:
            self._shorten()

    def _read(self) -> Iterator[Change | None]:
        try:
            lines = self._file.read_bytes().splitlines()
        except FileNotFoundError:
            return
        for line in filter(bytes.strip, lines):
            try:
                yield Change.model_validate_json(line)
            except ValidationError:
                yield None

    def _shorten(self) -> None:
        """Write the history anew without the oldest contents that the newest state does not need."""
        part = self._file.with_suffix(".part")
        with open(part, "wb", opener=no_link) as file:
            file.writelines(each.model_dump_json().encode() + b"\n" for each in shortened(self.changes(), LARGEST_LOG))
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._file)


def shortened(changes: Sequence[Change], size: int) -> tuple[Change, ...]:
    """Return changes without the contents of the oldest ones, until their lines take half of ``size`` bytes.

    The contents of the newest state stay.
    """
    needed = set(changes[-1].parts.values()) if changes else set()
    left = sum(len(each.model_dump_json()) for each in changes)
    kept: list[Change] = []
    for change in changes:
        if left > size // 2:
            contents = {name: packed for name, packed in change.contents.items() if name in needed}
            left -= sum(map(len, change.contents.values())) - sum(map(len, contents.values()))
            change = change.model_copy(update={"contents": contents})  # noqa: PLW2901
        kept.append(change)
    return tuple(kept)


def kept_parts(change: Change, known: Iterable[Change]) -> dict[str, bytes] | None:
    """Return the files of an entry after a change; None if one of them is not kept, or is not what it should be."""
    packed = {name: each for other in known for name, each in other.contents.items()}
    parts: dict[str, bytes] = {}
    for part, name in change.parts.items():
        found = _unpacked(packed.get(name, ""))
        if found is None or digest(found) != name:
            return None
        parts[part] = found
    return parts


def contents_of(parts: Mapping[str, bytes], known: Sequence[Change]) -> dict[str, str]:
    """Return the contents of files that a history does not hold yet, packed as it keeps them."""
    there = {name for change in known for name in change.contents}
    new = {digest(data): data for data in parts.values() if len(data) <= LARGEST_CONTENT}
    return {name: b64encode(zlib.compress(data, 9)).decode() for name, data in new.items() if name not in there}


def _unpacked(packed: str) -> bytes | None:
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(b64decode(packed, validate=True), LARGEST_CONTENT)
    except (zlib.error, NotBase64Error, ValueError):
        return None
    return found if unpacking.eof else None

"""The files of an entry, by path within ``applications``, and the history of their changes."""

import os
import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NotBase64Error
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.segments import append_line, no_link

MAX_NAME_LENGTH = 80
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of entries and of saved pages, as their files are called."""
MAX_LOG = 32 << 20
"""Bytes of a history beyond which the contents of the oldest changes are no longer kept."""
MAX_CONTENT = 16 << 20
"""Bytes of a file beyond which its earlier states are not kept."""


class Contents(StrEnum):
    """Who wrote the texts in the saved pages of a pack."""

    MINE = "mine"
    """The packer wrote them, or may pass them on."""
    MADE_UP = "made-up"
    """They were put in the place of what people wrote."""
    OTHERS = "others"
    """Other people wrote them; whoever takes the entry must not publish them."""
    LEFT_OUT = "left-out"
    """There are pages, but they were left out of the pack."""
    NONE = "none"
    """The entry has no saved pages."""


class PageParts(NamedTuple):
    """The two files of a saved page, and the name ``stem`` that they share."""

    stem: str
    html: bytes
    expectation: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its XML file, its saved pages by their stems, and the text of its licence, empty where none is said."""

    name: str
    xml: bytes
    pages: tuple[PageParts, ...] = ()
    licence: bytes = b""

    @property
    def digest(self) -> str:
        """The digest of the XML file, by which changes are noticed."""
        return digest(self.xml)

    def parts(self) -> dict[str, bytes]:
        """Return the content of each file by its path within ``applications``."""
        return dict(self._parts())

    def _parts(self) -> Iterator[tuple[str, bytes]]:
        yield file_part(self.name), self.xml
        for page in self.pages:
            yield f"pages/{self.name}/{page.stem}.html", page.html
            yield f"pages/{self.name}/{page.stem}.json", page.expectation
        if self.licence:
            yield licence_part(self.name), self.licence

    @classmethod
    def of(cls, name: str, parts: Mapping[str, bytes]) -> "Entry":
        """Build an entry from its files; a page without expectation, or the reverse, is left out."""
        start = f"pages/{name}/"
        stems = sorted(part.removeprefix(start).removesuffix(".html") for part in parts if part.endswith(".html"))
        pages = (
            PageParts(stem, parts[f"{start}{stem}.html"], parts[f"{start}{stem}.json"])
            for stem in stems
            if f"{start}{stem}.json" in parts and is_name(stem)
        )
        return cls(name, parts.get(file_part(name), b""), tuple(pages), parts.get(licence_part(name), b""))


def file_part(name: str) -> str:
    """Return the path of an entry's XML file."""
    return f"{name}.xml"


def licence_part(name: str) -> str:
    """Return the path of an entry's licence."""
    return f"licences/{name}.txt"


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's content in hexadecimal digits, empty for one that is not there.

    >>> digest(b"")
    ''
    """
    return sha256(data).hexdigest() if data else ""


def is_name(name: str) -> bool:
    """Return whether a text is a valid name for an entry or a saved page.

    >>> is_name("tinyforum-2"), is_name("../x"), is_name("x.")
    (True, False, False)
    """
    return len(name) <= MAX_NAME_LENGTH and bool(NAME.fullmatch(name)) and ".." not in name and not name.endswith(".")


class Change(BaseModel):
    """A change of an entry: when (UTC), by whom, and a sentence on what.

    ``before`` and ``after`` are the digests of the XML file, empty if there was none. ``parts`` are the digests of all
    files after the change, by path; ``contents`` has the new file contents, by digest.
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
    """The history of one entry. The caller must prevent concurrent writing."""

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
        if append_line(self._file, change.model_dump_json()) > MAX_LOG:
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
            file.writelines(each.model_dump_json().encode() + b"\n" for each in shortened(self.changes(), MAX_LOG))
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
    """Return the files of an entry after a change; None if one is no longer stored, or is damaged."""
    packed = {name: each for other in known for name, each in other.contents.items()}
    parts: dict[str, bytes] = {}
    for part, name in change.parts.items():
        found = _unpacked(packed.get(name, ""))
        if found is None or digest(found) != name:
            return None
        parts[part] = found
    return parts


def contents_of(parts: Mapping[str, bytes], known: Sequence[Change]) -> dict[str, str]:
    """Return the file contents that a history does not have yet, compressed as it stores them."""
    there = {name for change in known for name in change.contents}
    new = {digest(data): data for data in parts.values() if len(data) <= MAX_CONTENT}
    return {name: b64encode(zlib.compress(data, 9)).decode() for name, data in new.items() if name not in there}


def _unpacked(packed: str) -> bytes | None:
    unpacking = zlib.decompressobj()
    try:
        found = unpacking.decompress(b64decode(packed, validate=True), MAX_CONTENT)
    except (zlib.error, NotBase64Error, ValueError):
        return None
    return found if unpacking.eof else None

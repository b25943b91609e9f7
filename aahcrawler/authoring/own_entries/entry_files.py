"""The parts of an entry: its file, saved pages and licence, each under its path within ``applications``."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple

LONGEST_NAME = 80
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""Names of entries and of saved pages, as their files are called."""


class PageParts(NamedTuple):
    """A saved page as its two files hold it, which are called ``stem``."""

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
        """The digest of the XML file, by which it is seen whether anybody changed it."""
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
        """Return the entry that files make up; pages without an expectation, and the reverse, are left out."""
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
    """Return whether an entry or a saved page may be called so.

    >>> is_name("tinyforum-2"), is_name("../x"), is_name("x.")
    (True, False, False)
    """
    return len(name) <= LONGEST_NAME and bool(NAME.fullmatch(name)) and ".." not in name and not name.endswith(".")

"""The versions of servers that wrote a frontier's files, and of those that can read them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from aahcrawler.segments import private

PARTS: Final = "appendonlydir"
"""The folder in which servers from 7.0 on keep their append-only file, in parts."""
APPEND_ONLY: Final = "frontier.aof"
"""The name that the append-only file begins with, or has where it is of one piece."""
_NOTE = "written-by.json"
_SHARED_FORMATS = 11
"""The last format of snapshots that Redis and Valkey have in common."""
_FORMATS: Final = {
    "Redis": (((6, 2), 9), ((7, 0), 10), ((7, 2), 11), ((7, 4), 12)),
    "Valkey": (((7, 2), 11), ((9, 0), 80)),
}
"""The format that servers from a version on write at least, by their names. They read earlier ones of their own."""
_HEAD = re.compile(rb"(?:REDIS(\d{4})|VALKEY(\d{3}))(?:\xfa.(redis|valkey)-ver.([0-9.]+))?", re.DOTALL)
_HEAD_BYTES = 64


@dataclass(frozen=True, slots=True)
class ServerVersion:
    """The name of a server, such as ``Valkey``, and its version."""

    name: str
    version: tuple[int, ...]

    @classmethod
    def of(cls, name: str, version: str) -> Self:
        """Return the server with a name and a dotted version."""
        return cls(name, tuple(map(int, version.strip(".").split("."))))

    def __str__(self) -> str:
        return f"{self.name} {'.'.join(map(str, self.version))}"

    def reads(self, written: "Written") -> bool:
        """Return whether this server can read what was written."""
        writer = written.server
        if writer is not None and writer.name == self.name and writer.version <= self.version:
            return True
        steps = _FORMATS.get(self.name, _FORMATS["Redis"])
        newest = max((number for since, number in steps if since <= self.version), default=0)
        is_ours = written.format <= _SHARED_FORMATS or written.family == self.name
        return is_ours and written.format <= newest


@dataclass(frozen=True, slots=True)
class Written:
    """What a file tells of its writer: the format of its snapshot, whose format that is, and the server if known."""

    path: Path
    family: str
    format: int
    server: ServerVersion | None

    @property
    def is_foreign(self) -> bool:
        """Whether no version of Valkey can read it."""
        return self.family != "Valkey" and self.format > _SHARED_FORMATS

    def __str__(self) -> str:
        return str(self.server) if self.server else f"{self.family} (format {self.format})"


def remember(folder: Path, server: ServerVersion) -> None:
    """Record in a frontier's folder which server writes its files from now on."""
    note = {"name": server.name, "version": ".".join(map(str, server.version))}
    with open(folder / _NOTE, "w", encoding="utf-8", opener=private) as file:
        file.write(json.dumps(note) + "\n")


def remembered(folder: Path) -> ServerVersion | None:
    """Return the server that wrote last in a folder, None where that is not recorded."""
    try:
        note = json.loads((folder / _NOTE).read_bytes())
        return ServerVersion.of(note["name"], note["version"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def snapshots(folder: Path) -> Iterator[Written]:
    """Yield the writers of the snapshots in a frontier's folder, as far as their heads can be read.

    Files of commands alone can be read by every server. Where a head does not name its server, the recorded server is
    assumed if it writes this format.
    """
    noted = remembered(folder)
    for path in (folder / APPEND_ONLY, *sorted((folder / PARTS).glob(f"{APPEND_ONLY}.*.base.*"))):
        if path.is_file():
            with path.open("rb") as file:
                found = _HEAD.match(file.read(_HEAD_BYTES))
            if found is not None:
                yield _written(path, found, noted)


def _written(path: Path, found: re.Match[bytes], noted: ServerVersion | None) -> Written:
    family, number = ("Redis", found[1]) if found[1] else ("Valkey", found[2])
    server = ServerVersion.of(found[3].decode().title(), found[4].decode()) if found[4] else noted
    return Written(path, family, int(number), server)

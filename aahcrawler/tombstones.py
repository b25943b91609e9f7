"""The takedowns of a crawl's folder, a line for each: what was taken out of the archive, by whom, when and why."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.layout import REMOVING, TOMBSTONES
from aahcrawler.segments import DamageError, no_link
from aahcrawler.segments.reader import sync_folder


class Lifted(BaseModel):
    """The end of a takedown: who let its URLs be fetched again, when (ISO 8601, UTC) and why."""

    model_config = ConfigDict(frozen=True)

    at: str
    by: str
    reason: str = ""


class Tombstone(BaseModel):
    """One takedown, by URLs and URL prefixes, which are not fetched while it stands.

    ``objects`` are the web objects for whose sake ``urls`` were taken down. ``captures`` counts the captures taken out,
    ``damaged`` the damaged places taken out. ``left`` are damaged places that stay, since it is unknown whether they
    belong to these URLs. ``lifted`` is None while the takedown stands.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    at: str
    by: str
    reason: str
    urls: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    captures: int = 0
    damaged: int = 0
    left: tuple[str, ...] = ()
    lifted: Lifted | None = None

    def covers(self, url: str) -> bool:
        """Return whether this takedown names a canonical URL, or a prefix of it."""
        return url in self.urls or url.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class TakenDown:
    """The URLs and URL prefixes of all takedowns that stand; none of them is to be fetched."""

    urls: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path) -> "TakenDown":
        """Read the standing takedowns of a crawl's folder. Raise ``DamageError`` if they cannot be read."""
        standing = [stone for stone in read_tombstones(folder) if stone.lifted is None]
        urls = frozenset(url for stone in standing for url in stone.urls)
        return cls(urls, tuple(dict.fromkeys(prefix for stone in standing for prefix in stone.prefixes)))

    def __or__(self, other: "TakenDown") -> "TakenDown":
        """Return the URLs of both."""
        return TakenDown(self.urls | other.urls, tuple(dict.fromkeys(self.prefixes + other.prefixes)))

    def covers(self, url: str) -> bool:
        """Return whether a canonical URL is taken down."""
        return url in self.urls or url.startswith(self.prefixes)


def read_tombstones(folder: Path) -> tuple[Tombstone, ...]:
    """Return all takedowns of a crawl's folder, oldest first. Raise ``DamageError`` if they cannot be read."""
    path = folder / TOMBSTONES
    try:
        lines = path.read_bytes().splitlines()
        return tuple(Tombstone.model_validate_json(line) for line in lines)
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        raise DamageError(f"{path}: cannot be read, so nobody knows what must not be fetched; restore it") from error


class _Begun(BaseModel):
    """The ids of the captures' records that a takedown in progress takes out."""

    captures: frozenset[str] = frozenset()


def being_removed(folder: Path) -> frozenset[str]:
    """Return the ids of the records that a takedown in progress, or interrupted, takes out of a folder.

    Raise ``DamageError`` if they cannot be read.
    """
    path = folder / REMOVING
    try:
        return _Begun.model_validate_json(path.read_bytes()).captures
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValidationError) as error:
        raise DamageError(f"{path}: cannot be read, so nobody knows what is taken down; restore it") from error


def write_tombstones(folder: Path, stones: Iterable[Tombstone]) -> None:
    """Replace the takedowns of a crawl's folder atomically. Raise ``OSError``."""
    replace_durably(folder / TOMBSTONES, "".join(f"{stone.model_dump_json()}\n" for stone in stones).encode())


def replace_durably(path: Path, content: bytes) -> None:
    """Replace a file atomically: after a crash it has its old content or the new.

    On return the new content is on disk.
    """
    part = path.with_name(path.name + ".part")
    with open(part, "wb", opener=no_link) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)

"""What was taken out of an archive, by whom, when and why: a line for each takedown in the crawl's folder."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from aahcrawler.layout import REMOVING, TOMBSTONES
from aahcrawler.segments import DamageError, no_link
from aahcrawler.segments.reader import sync_folder


class Lifted(BaseModel):
    """Who let URLs be fetched again, when and why. Times are in UTC, as ISO 8601 writes them."""

    model_config = ConfigDict(frozen=True)

    at: str
    by: str
    reason: str = ""


class Tombstone(BaseModel):
    """One takedown: the URLs that it names, and the beginnings of URLs; none of them is fetched while it stands.

    ``objects`` are the web objects for which the ``urls`` were found. ``captures`` counts the answers that were taken
    out, ``damaged`` the damaged places. ``left`` are damaged places that stay: nobody can say whether they are of these
    URLs. ``lifted`` is None while it stands.
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
        """Return whether a canonical URL is among those named."""
        return url in self.urls or url.startswith(self.prefixes)


@dataclass(frozen=True, slots=True)
class TakenDown:
    """The URLs that are not to be fetched, of all takedowns that stand."""

    urls: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, folder: Path) -> "TakenDown":
        """Return those of a crawl's folder. Raise ``DamageError`` where they cannot be read."""
        standing = [stone for stone in read_tombstones(folder) if stone.lifted is None]
        urls = frozenset(url for stone in standing for url in stone.urls)
        return cls(urls, tuple(dict.fromkeys(prefix for stone in standing for prefix in stone.prefixes)))

    def __or__(self, other: "TakenDown") -> "TakenDown":
        """Return the URLs of both."""
        return TakenDown(self.urls | other.urls, tuple(dict.fromkeys(self.prefixes + other.prefixes)))

    def covers(self, url: str) -> bool:
        """Return whether a canonical URL is one of them."""
        return url in self.urls or url.startswith(self.prefixes)


def read_tombstones(folder: Path) -> tuple[Tombstone, ...]:
    """Return the takedowns of a crawl's folder, oldest first. Raise ``DamageError`` where they cannot be read."""
    path = folder / TOMBSTONES
    try:
        lines = path.read_bytes().splitlines()
        return tuple(Tombstone.model_validate_json(line) for line in lines)
    except FileNotFoundError:
        return ()
    except (OSError, ValidationError) as error:
        raise DamageError(f"{path}: cannot be read, so nobody knows what must not be fetched; restore it") from error


class _Begun(BaseModel):
    """The part of a takedown that has begun which says what it takes out."""

    captures: frozenset[str] = frozenset()


def being_removed(folder: Path) -> frozenset[str]:
    """Return the records of the captures that a takedown takes out of a folder which has begun and not ended.

    Raise ``DamageError`` where they cannot be read.
    """
    path = folder / REMOVING
    try:
        return _Begun.model_validate_json(path.read_bytes()).captures
    except FileNotFoundError:
        return frozenset()
    except (OSError, ValidationError) as error:
        raise DamageError(f"{path}: cannot be read, so nobody knows what is taken down; restore it") from error


def write_tombstones(folder: Path, stones: Iterable[Tombstone]) -> None:
    """Replace the takedowns of a crawl's folder, all or none of them. Raise ``OSError``."""
    replace_durably(folder / TOMBSTONES, "".join(f"{stone.model_dump_json()}\n" for stone in stones).encode())


def replace_durably(path: Path, content: bytes) -> None:
    """Replace a file so that the old content or the new is on disk, whatever happens, and the new one at the end."""
    part = path.with_name(path.name + ".part")
    with open(part, "wb", opener=no_link) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
    sync_folder(path.parent)

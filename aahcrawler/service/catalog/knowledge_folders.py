"""The folders of the knowledge base that a service works with, and the one among them that holds its own entries."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from knowledge_base.file_selection import OWN_NAME, SHIPPED, SHIPPED_WORD, VARIABLE, folders_for, named_folders


@dataclass(frozen=True, slots=True)
class KnowledgeFolders:
    """The folders that are named, and the one that own entries are saved in; that need not be there yet.

    ``own`` is None where there is no place for one.
    """

    named: tuple[Path, ...]
    own: Path | None

    @classmethod
    def of(cls, place: Path | None) -> "KnowledgeFolders":
        """Return the folders that the environment names.

        Own entries go to the last of them. Where that is the one that ships, they go to a folder of their own in
        ``place``, which holds the crawls. Entries that are in that folder count in any case, as they do for its crawls.
        """
        given = named_folders(os.environ.get(VARIABLE, "")) if place is None else folders_for(place / "any crawl")
        named = tuple(folder.absolute() for folder in given)
        if named[-1] != SHIPPED.absolute():
            return cls(named, named[-1])
        return cls(named, None if place is None else (place / OWN_NAME).absolute())

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders that count now: those named, then that of own entries once it holds any."""
        if self.own is None or self.own in self.named or not (self.own / "applications").is_dir():
            return self.named
        return (*self.named, self.own)

    @property
    def environment(self) -> Mapping[str, str]:
        """What tells a process to use the same folders, whatever its working folder."""
        return {VARIABLE: os.pathsep.join(_word(folder) for folder in self.folders)}


def _word(folder: Path) -> str:
    return SHIPPED_WORD if folder == SHIPPED.absolute() else str(folder)

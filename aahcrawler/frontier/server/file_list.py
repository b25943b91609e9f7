"""The manifest of an append-only file in parts: which files it is made of, in their order."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from aahcrawler.frontier.server.server_version import APPEND_ONLY, PARTS

MANIFEST: Final = f"{APPEND_ONLY}.manifest"
_PART = re.compile(rf"{re.escape(APPEND_ONLY)}(?:\.(\d+)\.(?:base\.(?:rdb|aof)|(incr)\.aof))?")
_LINE = re.compile(r"file (\S+) seq (\d+) type ([bih])(?: \w+ \d+)*")


class ManifestError(Exception):
    """A manifest is missing or damaged, and which files belong together cannot be found out; the message says why."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of an append-only file: a snapshot to begin with (``is_base``), or commands since.

    One that was of one piece before keeps its name, and is the first snapshot.
    """

    name: str
    number: int
    is_base: bool

    @property
    def is_empty_base(self) -> bool:
        """Whether it is the snapshot that a server writes when it starts for the first time, which holds nothing."""
        return self.name == f"{APPEND_ONLY}.1.base.rdb"


def listed(folder: Path) -> Sequence[Part] | None:
    """Return the files that the manifest in a frontier's folder lists, in their order; None where it is damaged.

    A manifest is damaged as well that lists files which are not there, or leaves out the last one that is there: it
    tells the server to remove what it counts as former.
    """
    try:
        lines = (folder / PARTS / MANIFEST).read_text(encoding="ascii").split("\n")
    except (OSError, ValueError):
        return None
    if lines.pop():
        return None
    matches = [_LINE.fullmatch(line) for line in lines]
    parts = [_listed_part(match) for match in matches if match is None or match[3] != "h"]
    whole = [part for part in parts if part is not None]
    there = _there(folder)
    is_whole = len(whole) == len(parts) > 0 and set(whole) <= set(there) and _ends(whole) == _ends(there)
    return whole if is_whole else None


def found(folder: Path) -> Sequence[Part]:
    """Return the files that belong together by their names, in their order.

    Raise ``ManifestError`` where several snapshots are there, or not all commands since.
    """
    there = _there(folder)
    bases = [part for part in there if part.is_base]
    commands = [part for part in there if not part.is_base]
    if len(bases) > 1:
        raise ManifestError(f"there are several snapshots ({', '.join(base.name for base in bases)})")
    if commands and commands[-1].number - commands[0].number != len(commands) - 1:
        raise ManifestError("files between the first and the last one are missing")
    if not bases and (not commands or commands[0].number > 1):
        raise ManifestError("the snapshot that the commands follow is missing")
    return [*bases, *commands]


def write(folder: Path, parts: Sequence[Part]) -> None:
    """Write a manifest that lists these files."""
    lines = (f"file {part.name} seq {part.number} type {'b' if part.is_base else 'i'}\n" for part in parts)
    temporary = folder / PARTS / f"temp-{MANIFEST}"
    temporary.write_text("".join(lines), encoding="ascii")
    temporary.replace(folder / PARTS / MANIFEST)


def _there(folder: Path) -> list[Part]:
    names = (path.name for path in (folder / PARTS).iterdir())
    return sorted(filter(None, map(_part, names)), key=lambda part: (not part.is_base, part.number))


def _part(name: str) -> Part | None:
    matched = _PART.fullmatch(name)
    return Part(name, int(matched[1] or 1), is_base=matched[2] is None) if matched else None


def _listed_part(line: re.Match[str] | None) -> Part | None:
    """Return the file of a line, None where number and kind are not those in its name."""
    part = _part(line[1]) if line else None
    if line is None or part is None:
        return None
    return part if (part.number, part.is_base) == (int(line[2]), line[3] == "b") else None


def _ends(parts: Sequence[Part]) -> list[Part]:
    """Return the last snapshot and the last commands."""
    return [*[part for part in parts if part.is_base][-1:], *[part for part in parts if not part.is_base][-1:]]

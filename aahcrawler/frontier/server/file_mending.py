"""Cut a damaged append-only file back to its last whole command; nothing that is cut off is thrown away."""

import json
import logging
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from aahcrawler.frontier.protocol import FrontierUnreadableError
from aahcrawler.frontier.server.commands_file import Arities, sound_length
from aahcrawler.frontier.server.file_list import MANIFEST, ManifestError, Part, found, listed, write
from aahcrawler.frontier.server.file_sums import intact
from aahcrawler.frontier.server.file_sums import keep as keep_sums
from aahcrawler.frontier.server.server_version import PARTS
from aahcrawler.segments import append_line, private

_KEPT: Final = "damaged"
"""The folder beside the append-only file that keeps what was cut off."""
_LOG: Final = "damaged.jsonl"
_EMPTY_BYTES = 256
"""Bytes of a snapshot that holds nothing, at most."""
_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Damage:
    """What was damaged: when it was found, the file, and the byte from which on.

    So many ``bytes`` were cut off, and are ``kept`` in a file in the frontier's folder; so many are ``missing`` that
    were there once.
    """

    at: str
    file: str
    offset: int
    bytes: int
    missing: int
    kept: str

    @property
    def is_of_commands(self) -> bool:
        """Whether something of the crawl was lost with it."""
        return self.file.endswith(".aof")

    def __str__(self) -> str:
        return (
            f"the frontier's {self.file} was damaged from byte {self.offset} on: {self.bytes} bytes were cut off and "
            f"are kept in {self.kept}, {self.missing} are missing; what they said is forgotten, so pages that were "
            "finished there are fetched again"
        )


def damages(folder: Path) -> list[Damage]:
    """Return what was found damaged in a frontier's folder, in its order; lines that are damaged are passed over."""
    found_so_far: list[Damage] = []
    with suppress(FileNotFoundError), (folder / _LOG).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            with suppress(ValueError, TypeError):
                found_so_far.append(Damage(**json.loads(line)))
    return found_so_far


def mend_manifest(folder: Path) -> None:
    """Write a missing or damaged manifest anew: a server without one begins with an empty frontier.

    Raise ``FrontierUnreadableError`` where it cannot be told which files belong together; nothing is changed then.
    """
    if not (folder / PARTS).is_dir() or listed(folder) is not None:
        return
    try:
        parts = found(folder)
    except ManifestError as error:
        raise FrontierUnreadableError(
            f"the frontier's {PARTS}/{MANIFEST} is missing or damaged, and {error}: bring {PARTS}/ back from a copy, "
            "or remove it to begin with an empty frontier; nothing was changed"
        ) from error
    if parts:
        if (folder / PARTS / MANIFEST).exists():
            _set_aside(folder, folder / PARTS / MANIFEST, 0)
        write(folder, parts)
        _logger.warning("the frontier's %s was missing or damaged; it lists again what is there", MANIFEST)


def mend_commands(folder: Path, arities: Callable[[], Arities], *, is_refused: bool) -> bool:
    """Cut off what follows the last whole command before damage; return whether there was any.

    Bytes that are not as they were noted are damage. Where the server ``is_refused`` its files, commands that are not
    whole are as well, and a damaged snapshot that held nothing is set aside. ``arities`` is asked for once something
    has to be read.
    """
    parts = (listed(folder) or ()) if (folder / PARTS).is_dir() else ()
    paths = [folder / PARTS / part.name for part in parts]
    for place, path in enumerate(paths):
        if path.suffix == ".aof" and _cut_back(folder, path, arities, is_refused=is_refused):
            for later in paths[place + 1 :]:
                _cut(folder, later, 0)
            _forget_sums(folder, paths)
            return True
    if parts:
        _forget_sums(folder, paths)
    return is_refused and bool(parts) and _set_empty_base_aside(folder, parts)


def _cut_back(folder: Path, path: Path, arities: Callable[[], Arities], *, is_refused: bool) -> bool:
    found, size = intact(folder, path), path.stat().st_size
    missing = max(0, found.noted - size)
    if not (is_refused or missing or found.size < size):
        return False
    sound = sound_length(path, arities(), found.size)
    if sound == size and not missing:
        return False
    _cut(folder, path, sound, missing)
    return True


def _forget_sums(folder: Path, paths: Sequence[Path]) -> None:
    keep_sums(folder, {path.name: path.stat().st_size for path in paths})


def _set_empty_base_aside(folder: Path, parts: Sequence[Part]) -> bool:
    base, path = parts[0], folder / PARTS / parts[0].name
    if not base.is_empty_base or path.stat().st_size > _EMPTY_BYTES or len(parts) == 1:
        return False
    damage = _set_aside(folder, path, 0)
    write(folder, parts[1:])
    path.unlink()
    _logger.warning("the frontier's %s, which held nothing, was damaged; it is kept in %s", damage.file, damage.kept)
    return True


def _cut(folder: Path, path: Path, offset: int, missing: int = 0) -> None:
    _logger.warning("%s", _set_aside(folder, path, offset, missing))


def _set_aside(folder: Path, path: Path, offset: int, missing: int = 0) -> Damage:
    """Move what a file holds from a byte on into the folder of what is kept, and note it."""
    now = datetime.now(UTC)
    kept = folder / _KEPT / f"{now:%Y%m%dT%H%M%S.%f}-{path.name}"
    kept.parent.mkdir(exist_ok=True)
    size, at = path.stat().st_size, now.isoformat(timespec="seconds")
    damage = Damage(at, path.name, offset, size - offset, missing, str(kept.relative_to(folder)))
    with path.open("r+b") as file, open(kept, "xb", opener=private) as copy:
        file.seek(offset)
        shutil.copyfileobj(file, copy)
        copy.flush()
        os.fsync(copy.fileno())
        append_line(folder / _LOG, json.dumps(asdict(damage)))
        file.truncate(offset)
    return damage

"""Force a server's files to disk, record checksums as they grow, and cut a damaged file back to its last whole part."""

import json
import logging
import os
import re
import shutil
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from aahcrawler.frontier.protocol import FrontierUnreadableError
from aahcrawler.frontier.server.binary import APPEND_ONLY, PARTS
from aahcrawler.segments import append_line, private

_logger = logging.getLogger(__name__)

_SECONDS = 1.0


class FileSync:
    """Forces to disk what is written to those files of a folder whose names have a common prefix.

    For files with the given suffixes, checksums are stored beside them. If forcing a file to disk fails, that is
    logged, once for each reason.
    """

    def __init__(self, folder: Path, name: str, summed: str) -> None:
        self._folder = folder
        self._name = name
        self._summed = summed
        self._sums = FileSums(folder)
        self._synced: dict[Path, int] = {}
        self._said = ""

    def sync(self) -> None:
        """Force the files to disk that have grown since the last call."""
        try:
            for path in self._folder.rglob(f"{self._name}*"):
                size = path.stat().st_size
                if self._synced.get(path) != size:
                    with path.open("rb") as file:
                        os.fsync(file.fileno())
                    if path.name.endswith(self._summed):
                        self._sums.note(path, size)
                    self._synced[path] = size
        except FileNotFoundError:
            return  # The server removes a file that it has written anew; there is a next time.
        except OSError as error:
            if str(error) != self._said:
                self._said = str(error)
                _logger.warning("a power failure may lose more than the last second of the frontier: %s", error)

    def start(self, until: Callable[[float], bool]) -> threading.Thread:
        """Call ``sync`` once a second in a thread; ``until`` waits that many seconds and returns whether to end."""

        def run() -> None:
            while not until(_SECONDS):
                self.sync()
            self.sync()

        thread = threading.Thread(target=run, name="frontier-sync", daemon=True)
        thread.start()
        return thread


_NOTE: Final = "frontier.sums"
_BLOCK = 4096
"""The most bytes between two checksums of a file, so that damage costs little more than what follows it."""


@dataclass(frozen=True, slots=True)
class Sum:
    """The checksum of the first bytes of a file."""

    size: int
    crc: int


@dataclass(frozen=True, slots=True)
class Intact:
    """How many bytes of a file match the recorded checksums, and how many bytes are recorded."""

    size: int
    noted: int


class FileSums:
    """Records the checksums of files in a folder as they grow."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._last: dict[str, Sum] = {}

    def note(self, path: Path, size: int) -> None:
        """Record that a file has ``size`` bytes now, all of which are on disk."""
        last = self._last.get(path.name) or [Sum(0, 0), *_noted(self._folder, path.name)][-1]
        if size > last.size:
            sums = list(_read(path, last, [*range(last.size + _BLOCK, size, _BLOCK), size]))
            with open(self._folder / _NOTE, "ab", opener=private) as note:
                note.writelines(_line(path.name, each) for each in sums)
            last = [last, *sums][-1]
        self._last[path.name] = last


def intact(folder: Path, path: Path) -> Intact:
    """Compare a file with its recorded checksums.

    If all recorded bytes are intact, the bytes after them count as intact, too.
    """
    sums, size = _noted(folder, path.name), path.stat().st_size
    noted = sums[-1].size if sums else 0
    there = [each for each in sums if each.size <= size]
    good = 0
    for read, expected in zip(_read(path, Sum(0, 0), [each.size for each in there]), there, strict=False):
        if read != expected:
            return Intact(good, noted)
        good = read.size
    return Intact(size, noted)


def keep(folder: Path, sizes: dict[str, int]) -> None:
    """Remove checksums of files that are not in ``sizes``, and of more bytes than ``sizes`` gives for a file."""
    lines = [_line(name, each) for name, size in sizes.items() for each in _noted(folder, name) if each.size <= size]
    temporary = folder / f"{_NOTE}.new"
    with open(temporary, "wb", opener=private) as note:
        note.writelines(lines)
    temporary.replace(folder / _NOTE)


def _noted(folder: Path, name: str) -> list[Sum]:
    """Return the checksums of a file by growing sizes; torn, damaged or non-growing lines are left out."""
    sums: list[Sum] = []
    try:
        lines = (folder / _NOTE).read_bytes().split(b"\n")
    except FileNotFoundError:
        return []
    for line in lines:
        said, _, check = line.rpartition(b" ")
        words = said.split()
        if check == b"%08x" % zlib.crc32(said) and len(words) == 3 and words[0] == name.encode():
            each = Sum(int(words[1]), int(words[2], 16))
            if not sums or each.size > sums[-1].size:
                sums.append(each)
    return sums


def _line(name: str, each: Sum) -> bytes:
    said = b"%s %d %08x" % (name.encode(), each.size, each.crc)
    return b"%s %08x\n" % (said, zlib.crc32(said))


def _read(path: Path, after: Sum, sizes: list[int]) -> Iterator[Sum]:
    """Yield the checksums of a file up to each of some growing sizes, as far as it reaches.

    Bytes before ``after`` are not read again.
    """
    size, crc = after.size, after.crc
    with path.open("rb") as file:
        file.seek(size)
        for until in sizes:
            piece = file.read(until - size)
            if size + len(piece) < until:
                return
            size, crc = until, zlib.crc32(piece, crc)
            yield Sum(size, crc)


Arities = Mapping[str, int]
"""The number of words of each command that a server knows, by its name in lower case; a negative number is a minimum.
"""
_NUMBER = re.compile(rb"[*$](0|[1-9]\d{0,9})\r\n")
_MAX_NUMBER_LENGTH = 16
_MAX_NOTE_LENGTH = 1024


def sound_length(path: Path, arities: Arities, size: int) -> int:
    """Return the length of the part at the beginning of a file that consists of whole commands known to the server.

    A transaction counts as one command. The file is read once, whatever it contains.
    """
    end, is_open = 0, False
    with path.open("rb") as file:
        while (name := _command(file, size, arities)) is not None and file.tell() <= size:
            if (name == "multi") == is_open and name in ("multi", "exec"):
                break
            is_open = name == "multi" or (is_open and name != "exec")
            if not is_open:
                end = file.tell()
    return end


def _command(file: BinaryIO, size: int, arities: Arities) -> str | None:
    """Return the name of the next command; empty for an annotation between commands, None if none is whole."""
    start = file.read(1)
    if start == b"#":
        return "" if file.readline(_MAX_NOTE_LENGTH).endswith(b"\r\n") else None
    words = _number(start + file.readline(_MAX_NUMBER_LENGTH), b"*")
    if not words or (said := _word(file, size)) is None:
        return None
    name = said.decode("latin-1").lower()
    arity = arities.get(name)
    if arity is None or words < abs(arity) or words > arity > 0:
        return None
    return name if all(_word(file, size) is not None for _ in range(words - 1)) else None


def _word(file: BinaryIO, size: int) -> bytes | None:
    length = _number(file.readline(_MAX_NUMBER_LENGTH), b"$")
    if length is None or file.tell() + length + 2 > size:
        return None
    word = file.read(length)
    return word if file.read(2) == b"\r\n" else None


def _number(line: bytes, kind: bytes) -> int | None:
    found = _NUMBER.fullmatch(line) if line.startswith(kind) else None
    return int(found[1]) if found else None


MANIFEST: Final = f"{APPEND_ONLY}.manifest"
_PART = re.compile(rf"{re.escape(APPEND_ONLY)}(?:\.(\d+)\.(?:base\.(?:rdb|aof)|(incr)\.aof))?")
_LINE = re.compile(r"file (\S+) seq (\d+) type ([bih])(?: \w+ \d+)*")


class ManifestError(Exception):
    """Raised when a manifest is missing or damaged, and its files cannot be determined; gives the reason."""


@dataclass(frozen=True, slots=True)
class Part:
    """One of the files of an append-only file: a snapshot to begin with (``is_base``), or commands since.

    An append-only file that an older server wrote in one piece keeps its name, and is the first snapshot.
    """

    name: str
    number: int
    is_base: bool

    @property
    def is_empty_base(self) -> bool:
        """Whether it is the empty snapshot that a server writes at its first start."""
        return self.name == f"{APPEND_ONLY}.1.base.rdb"


def listed(folder: Path) -> Sequence[Part] | None:
    """Return the files listed by the manifest in a frontier's folder, in order; None if the manifest is damaged.

    A manifest also counts as damaged if it lists missing files or lacks the last existing one, because a server would
    delete files that the manifest marks as superseded.
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
    """Return the files that belong together according to their names, in order.

    Raises ``ManifestError`` if there are several snapshots, or commands since the snapshot are missing.
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
    """Return the file of a manifest line; None if the line's number and kind differ from those in the file's name."""
    part = _part(line[1]) if line else None
    if line is None or part is None:
        return None
    return part if (part.number, part.is_base) == (int(line[2]), line[3] == "b") else None


def _ends(parts: Sequence[Part]) -> list[Part]:
    """Return the last snapshot and the last file of commands."""
    return [*[part for part in parts if part.is_base][-1:], *[part for part in parts if not part.is_base][-1:]]


_KEPT: Final = "damaged"
"""The folder beside the append-only file that keeps what was cut off."""
_LOG: Final = "damaged.jsonl"
_EMPTY_BYTES = 256
"""The most bytes of a snapshot that holds nothing."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A damaged place: when it was found, the file, and the offset at which the damage begins.

    ``bytes`` were cut off, and are ``kept`` in a file in the frontier's folder; ``missing`` is the number of bytes that
    the file has lost.
    """

    at: str
    file: str
    offset: int
    bytes: int
    missing: int
    kept: str

    @property
    def is_of_commands(self) -> bool:
        """Whether changes of the crawl were lost."""
        return self.file.endswith(".aof")

    def __str__(self) -> str:
        return (
            f"the frontier's {self.file} was damaged from byte {self.offset} on: {self.bytes} bytes were cut off and "
            f"are kept in {self.kept}, {self.missing} are missing; what they said is forgotten, so pages that were "
            "finished there are fetched again"
        )


def damages(folder: Path) -> list[Damage]:
    """Return the damage records in a frontier's folder, in order; unreadable lines are skipped."""
    found_so_far: list[Damage] = []
    with suppress(FileNotFoundError), (folder / _LOG).open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            with suppress(ValueError, TypeError):
                found_so_far.append(Damage(**json.loads(line)))
    return found_so_far


def mend_manifest(folder: Path) -> None:
    """Rebuild a missing or damaged manifest; without it, the server would start with an empty frontier.

    Raises ``FrontierUnreadableError``, having changed nothing, if the files that belong together cannot be determined.
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
    """Cut off what follows the last whole command before damage; return whether any damage was found.

    Bytes that differ from the recorded checksums are damage. If the server has refused its files (``is_refused``),
    incomplete commands are damage as well, and a damaged snapshot that held nothing is moved away. ``arities`` is
    called only if something must be read.
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
    keep(folder, {path.name: path.stat().st_size for path in paths})


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
    """Move the bytes of a file from ``offset`` on into the folder of damaged pieces, and record the damage."""
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

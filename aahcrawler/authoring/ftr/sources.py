"""Site configs out of a folder or an archive, which is read and never unpacked."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

MOST_FILES = 20_000
LARGEST_FILE = 256 * 1024
LARGEST_ARCHIVE = 256 * 1024 * 1024
"""The most unpacked bytes of an archive that are read: the real one has 10 million."""


class ConfigsError(Exception):
    """The configs cannot be read; the message says which file and why."""


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """The name of a site config, without folders, and its text."""

    name: str
    text: str


def config_files(source: Path) -> Iterator[ConfigFile]:
    """Yield the ``.txt`` files of a folder or a tar archive, in the order of their names or of the archive.

    Links, devices and files of more than `LARGEST_FILE` bytes are skipped. Raises `ConfigsError` if the source is
    neither folder nor archive, or is larger than any honest archive.
    """
    if source.is_dir():
        yield from _of_folder(source)
        return
    try:
        yield from _of_archive(source)
    except (OSError, EOFError, tarfile.TarError) as error:
        raise ConfigsError(f"{source}: this is neither a folder nor a tar archive that can be read: {error}") from None


def _of_folder(folder: Path) -> Iterator[ConfigFile]:
    for number, file in enumerate(sorted(folder.rglob("*.txt"))):
        _refuse_many(folder, number)
        if file.is_file() and not file.is_symlink() and file.stat().st_size <= LARGEST_FILE:
            yield ConfigFile(file.name, _decoded(file.read_bytes()))


def _of_archive(archive: Path) -> Iterator[ConfigFile]:
    unpacked = 0
    with tarfile.open(archive, "r|*") as tar:
        for number, member in enumerate(tar):
            _refuse_many(archive, number)
            unpacked += member.size
            if unpacked > LARGEST_ARCHIVE:
                raise ConfigsError(f"{archive}: the archive holds more than {LARGEST_ARCHIVE:,} bytes")
            name = PurePosixPath(member.name).name
            if not member.isfile() or not name.endswith(".txt") or member.size > LARGEST_FILE:
                continue
            content = tar.extractfile(member)
            if content is not None:
                yield ConfigFile(name, _decoded(content.read(LARGEST_FILE)))


def _refuse_many(source: Path, number: int) -> None:
    if number >= MOST_FILES:
        raise ConfigsError(f"{source}: there are more than {MOST_FILES:,} files in it")


def _decoded(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")

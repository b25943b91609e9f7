"""Caches data that take long to compute from installed packages, for later processes of the same user.

The files hold numbers and texts, never code. They are in ``aahcrawler`` in the user's cache folder (``XDG_CACHE_HOME``,
else ``~/.cache``), which nobody else may read or write; a folder or file of another user, or open to others, is not
used, and everything is computed anew. A file is complete on disk before it gets its name, so that it exists as a whole
or not at all.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, TypeVar

FOLDER = "aahcrawler"

T = TypeVar("T")
Write = Callable[[BinaryIO], object]


def cached(name: str, digest: str, write: Write, read: Callable[[BinaryIO], T]) -> T:
    """Return what ``read`` makes of a file written by ``write``, now or by an earlier process.

    ``read`` gets the file open at its start, must close it, and raises ``ValueError`` for a file that it cannot use;
    that is written anew. ``digest`` identifies everything the content depends on; files of the same name with another
    digest are removed. Where nothing can be cached, an unnamed file is used. Raises ``OSError`` where not even that can
    be written.
    """
    folder = _own_folder()
    path = None if folder is None else folder / f"{name}.{digest}"
    if path is not None:
        with suppress(OSError, ValueError):
            return read(_opened(path))
        with suppress(OSError):
            return read(_kept(path, write))
    file = tempfile.TemporaryFile()  # noqa: SIM115 - the reader closes it
    write(file)
    file.seek(0)
    return read(file)


def is_noted(name: str, digest: str) -> bool:
    """Return whether a digest is the one noted last under a name."""
    folder = _own_folder()
    with suppress(OSError):
        if folder is not None:
            _opened(folder / f"{name}.{digest}").close()
            return True
    return False


def note(name: str, digest: str) -> None:
    """Store a digest under a name, if anything can be stored."""
    folder = _own_folder()
    with suppress(OSError):
        if folder is not None:
            _kept(folder / f"{name}.{digest}", lambda _: None).close()


def _own_folder() -> Path | None:
    """Return the cache folder, created if missing; None where it cannot be private to this user."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        above = Path(given) if given.startswith("/") else Path.home() / ".cache"
        folder = above / FOLDER
        above.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        found = folder.lstat()
    except (OSError, RuntimeError):
        return None
    return folder if stat.S_ISDIR(found.st_mode) and _is_private(found) else None


def _is_private(found: os.stat_result) -> bool:
    return found.st_uid == os.geteuid() and not found.st_mode & 0o077


def _opened(path: Path) -> BinaryIO:
    """Open a file that is private to this user. Raises ``OSError`` for any other, or where there is none."""
    file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    found = os.fstat(file.fileno())
    if stat.S_ISREG(found.st_mode) and _is_private(found):
        return file
    file.close()
    raise PermissionError(f"{path} is not this user's alone")


def _kept(path: Path, write: Write) -> BinaryIO:
    """Write a file, name it, and return it open; files of the same name with other digests are removed."""
    number, temporary = tempfile.mkstemp(prefix=".", dir=path.parent)
    file = os.fdopen(number, "w+b")
    try:
        write(file)
        file.flush()
        os.fsync(number)
        Path(temporary).replace(path)
    except BaseException:
        file.close()
        Path(temporary).unlink(missing_ok=True)
        raise
    for other in path.parent.glob(f"{path.stem}.*"):
        if other != path:
            other.unlink(missing_ok=True)
    file.seek(0)
    return file

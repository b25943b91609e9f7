"""End commands with a message and an exit code when the user has something to mend."""

import errno
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import typer

MISTAKE = 2
"""The exit code for what the user has to mend."""
NOT_WHOLE = 4
"""The exit code of a takedown, an import or an enrichment that may have left something, and says what."""
UNREAD: Final = 128 + signal.SIGPIPE
"""The exit code of a command whose output nobody reads on, as shells tell it of programs that the signal ends."""
_REMEDIES: Final = {
    errno.ENOENT: "is not there; check the name",
    errno.EACCES: "may not be used; check its permissions and those of its folder",
    errno.EPERM: "may not be used; check its permissions and those of its folder",
    errno.EROFS: "cannot be written, as its disk is to be read only; name a file elsewhere",
    errno.EISDIR: "is a folder; name a file in it",
    errno.ENOTDIR: "lies in what is no folder; name another file",
    errno.ENOSPC: "does not fit on the disk; make room",
    errno.ENAMETOOLONG: "has too long a name; give it a shorter one",
}


@contextmanager
def exit_on_error(*mistakes: type[Exception]) -> Iterator[None]:
    """Say what is wrong in its own words on standard error, without a traceback, and exit with `MISTAKE`.

    That nobody reads the output on is nothing to mend: ``BrokenPipeError`` then passes.
    """
    try:
        yield
    except mistakes as error:
        if isinstance(error, BrokenPipeError) and is_unread():
            raise
        typer.echo(_of_file(error) if isinstance(error, OSError) else str(error), err=True)
        raise typer.Exit(MISTAKE) from None


def is_unread() -> bool:
    """Return whether nobody reads standard output any more (``aah search ... | head``)."""
    asked = select.poll()
    try:
        asked.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # It is closed, or no file of the system's.
        return False
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))


def _of_file(error: OSError) -> str:
    """Return what is wrong with a file or folder, and what to do; the words of an error that names none."""
    if error.filename is None or error.strerror is None:
        return str(error)
    path = Path(os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename))
    if error.errno == errno.ENOENT and not path.parent.exists():
        return f"{path}: there is no folder {path.parent}; make it, or name a file in another one"
    return f"{path}: {_REMEDIES.get(error.errno or 0, error.strerror)}"


def utc_time(text: str) -> str:
    """Return a time as logs write it, in UTC, empty for none. Raise ``typer.BadParameter`` for what is no time."""
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        raise typer.BadParameter(f"{text} is no time; write 2026-01-31 or 2026-01-31T12:00") from None
    if moment is None:
        return ""
    moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment
    return moment.strftime("%Y-%m-%dT%H:%M:%S")

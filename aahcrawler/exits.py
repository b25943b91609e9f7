"""Exit codes of commands, and the messages with which they end on errors that the user can mend."""

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
"""The exit code for errors that the user has to mend."""
NOT_WHOLE = 4
"""The exit code of a takedown, an import or an enrichment that is incomplete; its output says what is left."""
UNREAD: Final = 128 + signal.SIGPIPE
"""The exit code if the reader of standard output leaves; shells report it for programs that SIGPIPE kills."""
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
    """On one of these errors, print its message without a traceback on standard error, and exit with `MISTAKE`.

    ``BrokenPipeError`` passes through: the reader of the output has left, which is no mistake.
    """
    try:
        yield
    except mistakes as error:
        if isinstance(error, BrokenPipeError) and is_unread():
            raise
        typer.echo(_of_file(error) if isinstance(error, OSError) else str(error), err=True)
        raise typer.Exit(MISTAKE) from None


def is_unread() -> bool:
    """Return whether standard output is a pipe whose reader has closed it (``aah search ... | head``)."""
    asked = select.poll()
    try:
        asked.register(sys.stdout.fileno(), 0)
    except (OSError, ValueError):  # It is closed, or no file of the system's.
        return False
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in asked.poll(0))


def _of_file(error: OSError) -> str:
    """Return what is wrong with a file or folder and what to do; the error's own words if it names no file."""
    if error.filename is None or error.strerror is None:
        return str(error)
    path = Path(os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(error.filename))
    if error.errno == errno.ENOENT and not path.parent.exists():
        return f"{path}: there is no folder {path.parent}; make it, or name a file in another one"
    return f"{path}: {_REMEDIES.get(error.errno or 0, error.strerror)}"


def utc_time(text: str) -> str:
    """Return a time option as logs write times, in UTC; empty for an empty text.

    Raise ``typer.BadParameter`` for others.
    """
    try:
        moment = datetime.fromisoformat(text) if text else None
    except ValueError:
        raise typer.BadParameter(f"{text} is no time; write 2026-01-31 or 2026-01-31T12:00") from None
    if moment is None:
        return ""
    moment = moment.astimezone(UTC) if moment.tzinfo is not None else moment
    return moment.strftime("%Y-%m-%dT%H:%M:%S")

"""End commands with a message and an exit code when the user has something to mend."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import typer

MISTAKE = 2
"""The exit code for what the user has to mend."""
NOT_WHOLE = 4
"""The exit code of a takedown or an import that may have left something, and says what."""


@contextmanager
def exit_on_error(*mistakes: type[Exception]) -> Iterator[None]:
    """Say what is wrong in its own words on standard error, without a traceback, and exit with `MISTAKE`."""
    try:
        yield
    except mistakes as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(MISTAKE) from None


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

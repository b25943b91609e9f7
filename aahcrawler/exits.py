"""End commands with a message and an exit code when the user has something to mend."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

MISTAKE = 2
"""The exit code for what the user has to mend."""
NOT_WHOLE = 4
"""The exit code of a takedown that may have left something, and says what."""


@contextmanager
def told(*mistakes: type[Exception]) -> Iterator[None]:
    """Say what is wrong in its own words on standard error, without a traceback, and exit with `MISTAKE`."""
    try:
        yield
    except mistakes as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(MISTAKE) from None

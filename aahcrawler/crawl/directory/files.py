"""Files that are replaced whole, and files that are watched for changes."""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from aahcrawler.segments import no_link

LOOK_EVERY = 1.5
"""Seconds between two looks at files."""

Stamps = Mapping[Path, tuple[int, int]]
"""When each file was changed last (nanoseconds), and its size."""


def write_whole(path: Path, content: str | bytes, opener: Callable[[str, int], int] = no_link) -> None:
    """Replace a file so that a reader, or a restart after a crash, sees the old content or the new, never half.

    Text is written in UTF-8. With ``private`` as ``opener`` nobody else may read it.
    """
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb", opener=opener) as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def stamps(files: Iterable[Path]) -> Stamps:
    """Return the stamps of files; those that are not there are left out."""
    found = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[file] = (status.st_mtime_ns, status.st_size)
    return found

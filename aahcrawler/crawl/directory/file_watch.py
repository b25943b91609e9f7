"""Whether files have changed that a crawl looks at again while it runs."""

from collections.abc import Iterable, Mapping
from pathlib import Path

LOOK_EVERY = 1.5
"""Seconds between two looks at files."""

Stamps = Mapping[Path, tuple[int, int]]
"""When each file was changed last (nanoseconds), and its size."""


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

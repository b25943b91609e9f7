"""WARC files of others that an archive refers to by links: they are read, and never written to.

What is taken down in such a file stays in it; everything that shows captures leaves it out.
"""

from collections.abc import Callable
from pathlib import Path

from aahcrawler.archive.resources import page_of_resource
from aahcrawler.segments import DamageError
from aahcrawler.tombstones import TakenDown
from aahcrawler.urls import canonicalize


def is_referred(path: Path) -> bool:
    """Return whether a WARC file of an archive is one of others."""
    return path.is_symlink()


def hidden_in(path: Path) -> Callable[[str], bool]:
    """Return what says of a URL in a WARC file whether it was taken down and yet is there.

    Raises ``OSError`` where nobody knows what was taken down.
    """
    if not is_referred(path):
        return lambda _: False
    try:
        taken_down = TakenDown.of(path.parent.parent)
    except DamageError as error:
        raise OSError(str(error)) from error

    def is_hidden(url: str) -> bool:
        page = page_of_resource(url) or url
        return taken_down.covers(canonicalize(page) or page)

    return is_hidden

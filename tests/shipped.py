"""The knowledge base that ships, which nothing changes: all tests of a process share it.

Knowledge bases are values, so that files of which each byte is known already are not read into another one.
"""

from collections.abc import Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from knowledge_base import loader
from knowledge_base.file_selection import SHIPPED, UNKNOWN_PAGES
from knowledge_base.model import KnowledgeBase

MAX_KNOWN = 10
_load_files = loader.load_files
_known: dict[tuple[tuple[Path, ...], int, bytes], KnowledgeBase] = {}


def _loaded(
    kind_files: Sequence[Path], application_files: Sequence[Path], unknown_pages: Path = SHIPPED / UNKNOWN_PAGES
) -> KnowledgeBase:
    files = (*kind_files, *application_files, unknown_pages)
    try:
        contents = [sha256(file.read_bytes()).digest() for file in files]
    except OSError:
        return _load_files(kind_files, application_files, unknown_pages)  # It says what is wrong.
    key = (files, len(kind_files), b"".join(contents))
    found = _known.pop(key, None) or _load_files(kind_files, application_files, unknown_pages)
    _known[key] = found
    if len(_known) > MAX_KNOWN:
        del _known[next(iter(_known))]
    return found


def load_once() -> None:
    """Have no files read again that were read last, by whatever loads a knowledge base in this process from now on."""
    loader.load_files = _loaded


@cache
def shipped() -> KnowledgeBase:
    """Return it, loaded at the first call."""
    return loader.load()

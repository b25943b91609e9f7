"""Remember which files of a knowledge base were found valid, so that a crawl of the same files need not wait for them.

What is remembered is a digest of all that the verdict depends on, in the user's private cache. A file that somebody
edits changes it, and then all files are read before a crawl begins.
"""

import sys
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import cssselect
from lxml import etree

from knowledge_base.file_selection import SHIPPED, files_of
from online_analysis.private_cache import is_noted, note

_NAME = "valid-knowledge-base"


class ValidatedFiles:
    """The files of a knowledge base as they were when this was made, and whether they are known to be valid."""

    def __init__(self, folders: Sequence[Path]) -> None:
        self._folders = tuple(folders)
        self._digest = _digest(self._folders)

    @property
    def are_valid(self) -> bool:
        """Whether this software has found them valid before."""
        return self._digest is not None and is_noted(_NAME, self._digest)

    def note(self) -> None:
        """Remember that they are valid, unless they have changed meanwhile: then others were read."""
        if self._digest is not None and _digest(self._folders) == self._digest:
            note(_NAME, self._digest)


def _digest(folders: Sequence[Path]) -> str | None:
    """Return a digest of the files and of what reads them, None where one of them cannot be read."""
    readers = f"{sys.version} {etree.LXML_VERSION} {etree.LIBXML_VERSION} {cssselect.VERSION}"
    digest = sha256(readers.encode())
    try:
        for part in (*_of_readers(), *_of_folders(folders)):
            digest.update(part)
    except OSError:
        return None
    return digest.hexdigest()


def _of_readers() -> Iterator[bytes]:
    """Yield what the sources of the loader say, and the files that ship: some folders use their kinds."""
    for pattern in ("*.py", "parsing/*.py", "schema/*.xsd", "kinds/*.xml"):
        for file in sorted(SHIPPED.glob(pattern)):
            yield from _said(file, SHIPPED)


def _of_folders(folders: Sequence[Path]) -> Iterator[bytes]:
    for folder in folders:
        parts = [(folder / name).is_dir() for name in ("kinds", "applications")]
        yield f"folder {parts}\n".encode()
        for file in files_of((folder,)):
            yield from _said(file, folder)


def _said(file: Path, folder: Path) -> Iterator[bytes]:
    content = file.read_bytes()
    yield f"{file.relative_to(folder)} {len(content)}\n".encode("utf-8", "surrogateescape")
    yield content

"""Tells DOCX, ODT and EPUB files apart by their content, and reads them, in the reader's child process."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from aahcrawler.documents import docx_text, epub_text, odt_text
from aahcrawler.documents.content import About, CutError
from aahcrawler.documents.running_text import Piece, sheets
from aahcrawler.documents.zip_package import Package
from aahcrawler.page.transcript import Sheet

_MIMETYPE: Final = "mimetype"
_OPENDOCUMENT_TEXT: Final = b"application/vnd.oasis.opendocument.text"


class UnknownFormatError(Exception):
    """Raised for a package of none of the formats that are read."""


class _Format(NamedTuple):
    about_file: Callable[[Package], About]
    pieces: Callable[[Package], Iterator[Piece]]


def contents(body: bytes) -> tuple[About, Iterator[Sheet]]:
    """Return the metadata that a file declares, and its sheets; ``CutError`` after the last says that there are more.

    Raises ``EncryptedError``, at once or with the sheets, and other errors for a file that is broken or of another
    format.
    """
    package = Package(body)
    known = _format(package)
    return known.about_file(package), _sheets(package, known)


def _format(package: Package) -> _Format:
    if package.read(_MIMETYPE).strip().startswith(_OPENDOCUMENT_TEXT):
        return _Format(odt_text.about_file, odt_text.pieces)
    if "META-INF/container.xml" in package:
        return _Format(epub_text.about_file, epub_text.pieces)
    if docx_text.main_part(package):
        return _Format(docx_text.about_file, docx_text.pieces)
    raise UnknownFormatError


def _sheets(package: Package, known: _Format) -> Iterator[Sheet]:
    yield from sheets(known.pieces(package))
    if package.is_cut:
        raise CutError

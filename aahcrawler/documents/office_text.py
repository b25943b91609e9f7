"""Reads PDF, DOCX, ODT and EPUB files in the reader's child process; which one a file is, its first bytes tell."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from aahcrawler.documents import docx_text, epub_text, odt_text
from aahcrawler.documents.content import About, CutError, EncryptedError, Piece, SentFile, sheets
from aahcrawler.documents.zip_package import Package, is_encrypted
from aahcrawler.page.transcript import Sheet

_MIMETYPE: Final = "mimetype"
_OPENDOCUMENT_TEXT: Final = b"application/vnd.oasis.opendocument.text"
_ZIP: Final = b"PK\x03\x04"


class UnknownFormatError(Exception):
    """Raised for a package of none of the formats that are read."""


class _Package(NamedTuple):
    about_file: Callable[[Package], About]
    pieces: Callable[[Package], Iterator[Piece]]


def contents(file: SentFile) -> tuple[About, Iterator[Sheet]]:
    """Return the metadata that a file declares, and its sheets."""
    if file.body.startswith(_ZIP):
        return package_contents(file.body)
    if is_encrypted(file.body):
        raise EncryptedError
    from aahcrawler.documents import pdf_text  # noqa: PLC0415 - pypdf takes long, and most children read other files

    return pdf_text.contents(file.body)


def parts(file: SentFile) -> Iterator[str]:
    """Raise ``UnknownFormatError``: two such files may differ in pictures alone, and are compared by their bytes."""
    raise UnknownFormatError(file.media_type)


def package_contents(body: bytes) -> tuple[About, Iterator[Sheet]]:
    """Return the declared metadata of an ODT, EPUB or DOCX file, and an iterator of its sheets.

    The iterator raises ``CutError`` after the last sheet if limits left out others. Both the call and the iterator may
    raise ``EncryptedError``, and other errors if the file is damaged. Raises ``UnknownFormatError`` for other formats.
    """
    package = Package(body)
    known = _format(package)
    return known.about_file(package), _sheets(package, known)


def _format(package: Package) -> _Package:
    if package.read(_MIMETYPE).strip().startswith(_OPENDOCUMENT_TEXT):
        return _Package(odt_text.about_file, odt_text.pieces)
    if "META-INF/container.xml" in package:
        return _Package(epub_text.about_file, epub_text.pieces)
    if docx_text.main_part(package):
        return _Package(docx_text.about_file, docx_text.pieces)
    raise UnknownFormatError


def _sheets(package: Package, known: _Package) -> Iterator[Sheet]:
    yield from sheets(known.pieces(package))
    if package.is_cut:
        raise CutError

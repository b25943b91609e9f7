"""The child process that reads documents: takes bodies, writes lines of JSON, until its input ends.

A request is a line of JSON with the length of the body, the media type of RDF, if it is any, the URL, and what is
wanted, and the body. The response to ``contents`` is a line with the file's own metadata, a line for each page, and
``null``; that to ``parts`` a line for each part of an RDF document, and ``null``.
"""

import json
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from typing import BinaryIO, Final, NamedTuple

from aahcrawler.documents import docx_text, epub_text, odt_text, pdf_text, rdf_text
from aahcrawler.documents.content import ENCRYPTED, MAX_ANCHOR, About, CutError, EncryptedError
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


def package_contents(body: bytes) -> tuple[About, Iterator[Sheet]]:
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


MEMORY = 1 << 30
"""Bytes of address space: a file that wants more is given up."""
CPU_SECONDS = 15
"""Processor time that one file may take; it ends this process."""
COMPARED_SECONDS = 3
"""Processor time that comparing a file may take; of what takes longer nobody can say when it would end."""

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while head := requests.readline():
        asked = json.loads(head)
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = COMPARED_SECONDS if asked["wanted"] == "parts" else CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, resource.RLIM_INFINITY))
        body = requests.read(asked["length"])
        for line in _answer(body, asked):
            answers.write(json.dumps(line).encode() + b"\n")
            answers.flush()


def _answer(body: bytes, asked: Mapping[str, str]) -> Iterator[object]:
    try:
        if asked["wanted"] == "parts":
            for part in rdf_text.parts(body, asked["rdf"], asked["url"]):
                yield {"part": part}
        else:
            about, sheets = _contents(body, asked["rdf"], asked["url"])
            yield asdict(about)
            for sheet in sheets:
                yield asdict(sheet)
    except EncryptedError:
        yield {"error": ENCRYPTED}
    except (Exception, MemoryError, RecursionError) as error:
        yield {"error": type(error).__name__, "told": str(error)[:MAX_ANCHOR] if asked["rdf"] else ""}
    yield None


def _contents(body: bytes, rdf: str, url: str) -> tuple[About, Iterator[Sheet]]:
    """Read a body in the format of RDF that is declared, else in the one that its first bytes show.

    An encrypted DOCX file is in Microsoft's older container format.
    """
    if rdf:
        return rdf_text.contents(body, rdf, url)
    if body.startswith(_ZIP):
        return package_contents(body)
    if body.startswith(_OLE) and _ENCRYPTED_PACKAGE in body:
        raise EncryptedError
    return pdf_text.contents(body)


def main() -> None:
    """Serve requests from standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()

"""The child process that reads documents: takes bodies, writes lines of JSON, until its input ends.

A body is preceded by its length, eight bytes in big-endian order. The response to it is a line with the file's own
metadata, a line for each page, and ``null``.
"""

import json
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import BinaryIO

from aahcrawler.documents import packed_text, pdf_text
from aahcrawler.documents.content import ENCRYPTED, About, EncryptedError
from aahcrawler.page.transcript import Sheet

MEMORY = 1 << 30
"""Bytes of address space: a file that wants more is given up."""
CPU_SECONDS = 15
"""Processor time that one file may take; it ends this process."""

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED_PACKAGE = "EncryptedPackage".encode("utf-16-le")


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while len(head := requests.read(8)) == 8:
        used = resource.getrusage(resource.RUSAGE_SELF)
        allowed = int(used.ru_utime + used.ru_stime) + CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (allowed, resource.RLIM_INFINITY))
        body = requests.read(int.from_bytes(head))
        for line in _answer(body):
            answers.write(json.dumps(line).encode() + b"\n")
            answers.flush()


def _answer(body: bytes) -> Iterator[object]:
    try:
        about, sheets = _contents(body)
        yield asdict(about)
        for sheet in sheets:
            yield asdict(sheet)
    except EncryptedError:
        yield {"error": ENCRYPTED}
    except (Exception, MemoryError, RecursionError) as error:
        yield {"error": type(error).__name__}
    yield None


def _contents(body: bytes) -> tuple[About, Iterator[Sheet]]:
    """Read a body in the format that its first bytes show.

    An encrypted DOCX file is in Microsoft's older container format.
    """
    if body.startswith(_ZIP):
        return packed_text.contents(body)
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

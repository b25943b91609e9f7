"""The reader's child process: bodies in, lines of JSON out, until its input ends.

A body is preceded by its length, eight bytes, the highest first. The answer to it is a line with the file's own
metadata, a line for each page, and ``null``.
"""

import json
import resource
import signal
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import BinaryIO

from aahcrawler.documents.pdf_text import about, opened, sheets

MEMORY = 1 << 30
"""Bytes of address space: a file that wants more is given up."""
CPU_SECONDS = 15
"""Processor time that one file may take; it ends this process."""


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
        reader = opened(body)
        yield asdict(about(reader))
        for sheet in sheets(reader):
            yield asdict(sheet)
    except (Exception, MemoryError, RecursionError) as error:
        yield {"error": type(error).__name__}
    yield None


def main() -> None:
    """Serve the standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()

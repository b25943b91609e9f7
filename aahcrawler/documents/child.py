"""The child process that reads documents: takes bodies, writes lines of JSON, until its input ends.

A request is a line of JSON with the length of the body, what is known of it (``SentFile``), and what is wanted, and the
body. The response to ``contents`` is a line with the file's own metadata, a line for each page, and ``null``; that to
``parts`` a line for each part of what a document says, a line with the digest of all of them, and ``null``.
"""

import hashlib
import json
import resource
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, BinaryIO, Final

from aahcrawler.documents import json_values, office_text, query_results, rdf_text, sheet_text, table_text
from aahcrawler.documents.content import ENCRYPTED, MAX_ANCHOR, EncryptedError, SentFile
from aahcrawler.documents.formats import (
    JSON,
    JSON_LINES,
    OFFICE,
    RDF,
    RESULTS,
    SPREADSHEETS,
    TABLES,
    DocumentFormat,
    added_formats,
)

MEMORY = 1 << 30
"""Bytes of address space: a file that wants more is given up."""
CPU_SECONDS = 15
"""Processor time that one file may take; it ends this process."""
COMPARED_SECONDS = 3
"""Processor time that comparing graphs may take; of what takes longer nobody can say when it would end."""
SENT_PARTS = 16_000_000
"""Characters of the parts that are sent; of a document with more there is only the digest."""

_OWN: Final[tuple[tuple[frozenset[str], DocumentFormat], ...]] = (
    (OFFICE, office_text),
    (RDF, rdf_text),
    (TABLES, table_text),
    (SPREADSHEETS, sheet_text),
    (JSON_LINES | {JSON}, json_values),
    (RESULTS, query_results),
)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    while head := requests.readline():
        asked = json.loads(head)
        used = resource.getrusage(resource.RUSAGE_SELF)
        is_graph = asked["wanted"] == "parts" and asked["media_type"] in RDF
        seconds = COMPARED_SECONDS if is_graph else CPU_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, resource.RLIM_INFINITY))
        fields = {name: asked[name] for name in ("media_type", "url", "content_type", "encoding")}
        file = SentFile(requests.read(asked["length"]), **fields)
        for line in _answer(file, asked["wanted"]):
            answers.write(json.dumps(line).encode() + b"\n")
            answers.flush()


def _answer(file: SentFile, wanted: str) -> Iterator[object]:
    try:
        known = _format(file.media_type)
        if wanted == "parts":
            yield from _parts(known.parts(file))
        elif wanted == "columns":
            yield {"columns": columns(file)} if (columns := getattr(known, "columns", None)) else {"columns": {}}
        else:
            about, sheets = known.contents(file)
            yield asdict(about)
            for sheet in sheets:
                yield asdict(sheet)
    except EncryptedError:
        yield {"error": ENCRYPTED}
    except (Exception, MemoryError, RecursionError) as error:
        told = "" if file.media_type in OFFICE or not file.media_type else str(error)[:MAX_ANCHOR]
        yield {"error": type(error).__name__, "told": told}
    yield None


def _parts(parts: Iterator[str]) -> Iterator[Mapping[str, Any]]:
    """Yield parts, as far as they are not too many to be sent, and the digest of all of them in any order."""
    digests: list[bytes] = []
    size = 0
    for part in parts:
        size += len(part)
        if size <= SENT_PARTS:
            yield {"part": part}
        digests.append(hashlib.sha256(part.encode("utf-8", "surrogatepass")).digest()[:16])
    digests.sort()
    yield {"digest": hashlib.sha256(b"".join(digests)).hexdigest(), "all": size <= SENT_PARTS}


def _format(media_type: str) -> DocumentFormat:
    """Return the format of a media type; without one, that of the files that their first bytes tell."""
    own = next((known for types, known in _OWN if media_type in types), None)
    if own is not None:
        return own
    added = added_formats().get(media_type)
    return office_text if added is None else added.load()


def main() -> None:
    """Serve requests from standard input."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()

"""Measure how fast the captures of an archive are iterated, compared with FastWARC alone, and the memory it takes.

    python -m benchmarks.captures [--captures N] [--writers N] [--quick] [--folder FOLDER] --json FILE

WARC files are written as by N concurrent writers, each record a gzip member: a page of two kilobytes with its request
and metadata. ``--quick`` writes 20,000 captures instead of a million. FOLDER keeps them for another run. Each row is
measured in a process of its own, ``per_second`` by its processor time:

- ``fastwarc: records``: every record is visited, nothing is read.
- ``fastwarc: answers read``: URL, date and block of each response are read, file by file.
- ``source``: captures in order of time, with URL, date, status, method and place, including opening.
- ``source: again``: the same once more with an open source.
- ``source: by record``, ``source: exchanges``, ``source: pages``: captures looked up, and read with the request, or as
  a page.
"""

import argparse
import hashlib
import resource
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from random import Random

from fastwarc.warc import ArchiveIterator, WarcHeader, WarcRecordType

from aahcrawler.archive.records import labelled_digest, warc_date
from aahcrawler.captures import ArchivedCaptures
from aahcrawler.layout import WARC
from aahcrawler.segments import SegmentWriter, Series, segments
from benchmarks.results import Row, report

SAMPLE = 20_000
"""The number of captures that are looked up and read."""
QUICK, WHOLE = 20_000, 1_000_000
_BEGUN = datetime(2026, 1, 1, tzinfo=UTC)
_WORDS = (
    "flood",
    "harbour",
    "river",
    "council",
    "bridge",
    "report",
    "morning",
    "water",
    "people",
    "storm",
    "the",
    "of",
)
_FILE_BYTES = 256 << 20


def write_archive(folder: Path, captures: int, writers: int, seed: int = 1) -> None:
    """Write WARC files with so many captures; requests of one writer end in another order than they begin."""
    random = Random(seed)
    texts = [_page(random) for _ in range(50)]
    outputs = [SegmentWriter(Series(folder, f"w{n}", WARC, limit=_FILE_BYTES), lambda: _BEGUN) for n in range(writers)]
    for number in range(captures):
        date = warc_date(_BEGUN + timedelta(milliseconds=100 * number + random.randrange(3_000)))
        outputs[number % writers].append(*([member] for member in _records(number, date, texts[number % len(texts)])))
    for output in outputs:
        output.close()


def _page(random: Random) -> bytes:
    text = "".join(f"<p>{' '.join(random.choices(_WORDS, k=12))}.</p>\n" for _ in range(25))
    return f"<!DOCTYPE html><html><head><title>A page</title></head><body>\n{text}</body></html>".encode()


def _records(number: int, date: str, body: bytes) -> Iterator[bytes]:
    url, response = f"http://site{number % 997}.test/page/{number}", f"urn:uuid:00000000-0000-4000-8000-{number:012x}"
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body)
    digest = labelled_digest(hashlib.sha1(body, usedforsecurity=False).digest())
    asked = f"GET /page/{number} HTTP/1.1\r\nHost: site{number % 997}.test\r\n\r\n".encode()
    target, beside = f"WARC-Target-URI: {url}\r\n", f"WARC-Concurrent-To: <{response}>\r\n"
    said = f"WARC-Payload-Digest: {digest}\r\nContent-Type: application/http;msgtype=response\r\n"
    yield _record("response", response, date, target + said, head + body)
    kind = "Content-Type: application/http;msgtype=request\r\n"
    yield _record("request", response.replace("-4000-", "-4001-"), date, target + beside + kind, asked)
    kind = "Content-Type: application/json\r\n"
    yield _record("metadata", response.replace("-4000-", "-4002-"), date, beside + kind, b'{"format":1}')


def _record(kind: str, record_id: str, date: str, fields: str, block: bytes) -> bytes:
    head = f"WARC/1.1\r\nWARC-Type: {kind}\r\nWARC-Record-ID: <{record_id}>\r\nWARC-Date: {date}\r\n{fields}"
    return f"{head}Content-Length: {len(block)}\r\n\r\n".encode() + block + b"\r\n\r\n"


def _fastwarc_records(folder: Path) -> tuple[int, float]:
    begun = time.process_time()
    found = 0
    for path in segments(folder, WARC):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False):
                found += record.record_type == WarcRecordType.response
    return found, time.process_time() - begun


def _fastwarc_responses(folder: Path) -> tuple[int, float]:
    begun = time.process_time()
    found = 0
    for path in segments(folder, WARC):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, parse_http=False, record_types=WarcRecordType.response):
                record.headers.get(WarcHeader.WARC_TARGET_URI)
                record.record_date  # noqa: B018 - it is parsed when it is asked for
                record.reader.read()
                found += 1
    return found, time.process_time() - begun


def _source(folder: Path) -> tuple[int, float]:
    begun = time.process_time()
    with ArchivedCaptures(folder) as source:
        return sum(1 for _ in source.captures()), time.process_time() - begun


def _again(folder: Path) -> tuple[int, float]:
    with ArchivedCaptures(folder) as source:
        begun = time.process_time()
        return sum(1 for _ in source.captures()), time.process_time() - begun


def _by_record(folder: Path) -> tuple[int, float]:
    with ArchivedCaptures(folder) as source:
        known = [capture.record_id for capture in islice(source.captures(), SAMPLE)]
        begun = time.process_time()
        return sum(source.of_record(each) is not None for each in known), time.process_time() - begun


def _exchanges(folder: Path) -> tuple[int, float]:
    with ArchivedCaptures(folder) as source:
        captures, found = source.captures(), 0
        next(captures)  # Sorting is measured by another row.
        begun = time.process_time()
        for capture in islice(captures, SAMPLE):
            exchange = capture.exchange()
            if exchange is not None:
                with closing(exchange):
                    found += bool(exchange.response.read())
        return found, time.process_time() - begun


def _pages(folder: Path) -> tuple[int, float]:
    with ArchivedCaptures(folder) as source:
        captures = source.captures()
        next(captures)
        begun = time.process_time()
        return sum(each.page is not None for each in islice(captures, SAMPLE)), time.process_time() - begun


MEASURED: Mapping[str, Callable[[Path], tuple[int, float]]] = {
    "fastwarc: records": _fastwarc_records,
    "fastwarc: answers read": _fastwarc_responses,
    "source": _source,
    "source: again": _again,
    "source: by record": _by_record,
    "source: exchanges": _exchanges,
    "source: pages": _pages,
}


def measured(what: str, folder: Path) -> Row:
    """Return one row. The process must do nothing else."""
    captures, seconds = MEASURED[what](folder)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"what": what, "captures": captures, "per_second": captures / seconds, "peak_mib": peak}


def measure(folder: Path) -> list[Row]:
    """Return the rows for the archive in a folder."""
    rows = []
    for what in MEASURED:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            rows.append(process.submit(measured, what, folder).result())
    return rows


def main() -> None:
    """Make the archive and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--captures", type=int)
    parser.add_argument("--writers", type=int, default=4)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = arguments.folder or Path(name)
        if not segments(folder, WARC):
            write_archive(folder, arguments.captures or (QUICK if arguments.quick else WHOLE), arguments.writers)
        report(measure(folder), arguments.json)


if __name__ == "__main__":
    main()

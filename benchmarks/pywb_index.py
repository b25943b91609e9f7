"""Compares the index of a crawl with pywb's index of the same WARC files, and has pywb replay them by our index.

    python -m benchmarks.pywb_index CRAWL [--replay N] [--environment DIR] --json FILE

CRAWL is the folder of a crawl, finished or stopped. pywb and cdxj-indexer are installed into a virtual environment of
their own (`.cache/pywb` by default), since pywb pins an old client of Redis; that needs a package index, once.

- ``cdx-indexer`` (pywb's) and ``cdxj-indexer`` index the crawl's closed WARC files. Their lines are compared with ours
  one by one: key, time, URL, status, payload digest, offset, length and file. ``same`` are in both; ``left_out`` are
  theirs alone for a reason that `docs/warc.md` gives (answers with nothing to replay, metadata); ``missing`` are theirs
  alone without one; ``extra`` are ours alone. Goal: no line missing or extra. Pages of posted forms are left out on
  both sides, as their URLs say already what was posted; so are, for cdxj-indexer, all answers that were not got by GET:
  it writes values of JSON as Python does, and knows POST and PUT alone.
- ``replay`` asks pywb, which is given our index, for up to N captures with status 2xx and revisits, in the order of the
  index at even distances, by the method and with the body that they were asked for with. ``same`` are answered with
  exactly the bytes whose digest the line tells; the others are listed and count as ``missing``.

The exit code is 1 where anything is missing or extra.
"""

import argparse
import base64
import hashlib
import http.client
import json
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass
from email.parser import HeaderParser
from itertools import chain
from pathlib import Path

from aahcrawler.archive.folders import ArchiveFolder
from aahcrawler.archive.index import index_lines
from aahcrawler.archive.index_entry import IndexedRecords
from aahcrawler.archive.payload import status_of
from aahcrawler.archive.scanning import scan
from aahcrawler.layout import INDEX, WARC
from aahcrawler.posted_forms import posted_by
from aahcrawler.segments import is_open, segments
from benchmarks.results import Cell, report

PACKAGES = ("pywb~=2.10", "cdxj-indexer~=1.5", "setuptools<81")
INDEXERS = {"cdx-indexer": ("-j", "-s", "-p"), "cdxj-indexer": ("-s", "-p")}
COLLECTION = "aah"
PATIENCE = 30.0
LISTED = 20


@dataclass(frozen=True, slots=True, order=True)
class Line:
    """A line of an index, in the notation that all indexers share; unknown values are empty."""

    key: str
    moment: str
    url: str
    status: str
    digest: str
    offset: int
    length: int
    file: str

    @classmethod
    def parse(cls, line: bytes) -> "Line":
        """Read a line of CDXJ. The status of a revisit is left out: pywb never tells it."""
        key, moment, text = line.decode("utf-8").split(" ", 2)
        fields = json.loads(text)
        status = "" if fields.get("mime") == "warc/revisit" else str(fields.get("status", ""))
        return cls(
            key,
            moment,
            fields.get("url", ""),
            "" if status == "-" else status,
            str(fields.get("digest", "")).removeprefix("sha1:"),
            int(fields["offset"]),
            int(fields["length"]),
            fields["filename"],
        )


def installed(environment: Path) -> Path:
    """Return the folder of the programs of a virtual environment with pywb, made if it is not there."""
    programs = environment / "bin"
    if not (programs / "cdxj-indexer").exists():
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run([programs / "pip", "install", "--quiet", *PACKAGES], check=True)
    return programs


def made_by(program: Path, options: Sequence[str], files: Sequence[Path]) -> list[Line]:
    """Return an indexer's lines for some WARC files."""
    done = subprocess.run([program, *options, *files], capture_output=True, check=True)
    return [Line.parse(line) for line in done.stdout.splitlines() if b" {" in line]


def void_places(files: Sequence[Path]) -> set[tuple[str, int]]:
    """Return the places of records that we leave out on purpose: metadata, and answers with nothing to replay."""
    found = set()
    for path in files:
        with path.open("rb") as file:
            for record in scan(file):
                is_void = not record.http_head or status_of(record.http_head) == http.HTTPStatus.NOT_MODIFIED
                if record.kind == "metadata" or (record.kind == "response" and is_void):
                    found.add((path.name, record.offset))
    return found


def posted_places(files: Sequence[Path], *, by_forms: bool) -> set[tuple[str, int]]:
    """Return the places of answers that were not got by GET: all of them, or those of forms alone."""
    found = set()
    for path in files:
        records = IndexedRecords(path.name)
        with path.open("rb") as file:
            made = chain.from_iterable(records.take(record) for record in scan(file))
            for entry in chain(made, records.end()):
                if entry.asked.method != "GET" and (not by_forms or posted_by(entry.url) is not None):
                    found.add((path.name, entry.offset))
    return found


def posted_bodies(files: Sequence[Path]) -> dict[tuple[str, int], tuple[str, str, bytes]]:
    """Return method, media type and body of the requests that are no GET, by the places of their answers."""
    found = {}
    for path in files:
        with path.open("rb") as file:
            answer = -1
            for record in scan(file):
                if record.kind in {"response", "revisit"}:
                    answer = record.offset
                elif record.kind == "request" and not record.http_head.startswith(b"GET "):
                    line, _, fields = record.http_head.decode("latin-1").partition("\r\n")
                    named = HeaderParser().parsestr(fields)
                    asked = (line.partition(" ")[0], str(named.get("Content-Type", "")), record.body)
                    found[path.name, answer] = asked
    return found


def compared(
    ours: Sequence[Line],
    theirs: Sequence[Line],
    void: set[tuple[str, int]],
    apart: Set[tuple[str, int]] = frozenset(),
) -> dict[str, Cell]:
    """Count lines that both have and that only one has, and print the first of those that nothing explains.

    Lines of places that are set ``apart`` count for nothing on either side.
    """
    known, other = (
        Counter(line for line in lines if (line.file, line.offset) not in apart) for lines in (ours, theirs)
    )
    alone = sorted((other - known).elements())
    missing = [line for line in alone if (line.file, line.offset) not in void]
    extra = sorted((known - other).elements())
    for name, lines in (("missing", missing), ("extra", extra)):
        for line in lines[:LISTED]:
            print(f"{name}: {line}")
    return {
        "lines": len(ours),
        "theirs": len(theirs),
        "same": sum((known & other).values()),
        "left_out": len(alone) - len(missing),
        "missing": len(missing),
        "extra": len(extra),
    }


@contextmanager
def replaying(programs: Path, files: Sequence[Path], index: Path) -> Iterator[int]:
    """Run pywb over WARC files and an index of ours; yield its port on loopback."""
    with tempfile.TemporaryDirectory() as temporary, socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
        probe.close()
        subprocess.run([programs / "wb-manager", "init", COLLECTION], cwd=temporary, check=True, capture_output=True)
        collection = Path(temporary) / "collections" / COLLECTION
        for path in files:
            (collection / "archive" / path.name).symlink_to(path.resolve())
        (collection / "indexes" / INDEX).symlink_to(index.resolve())
        command = [str(programs / "wayback"), "--bind", "127.0.0.1", "--port", str(port)]
        with subprocess.Popen(command, cwd=temporary, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                wait_for(port)
                yield port
            finally:
                process.terminate()


def wait_for(port: int) -> None:
    """Wait until something listens; raise ``TimeoutError`` where nothing does for long."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    raise TimeoutError(f"pywb did not begin to listen within {PATIENCE:.0f} s")


def replayed(port: int, line: Line, asked: tuple[str, str, bytes] = ("GET", "", b"")) -> str:
    """Return the fault of pywb's answer for a capture that was asked for so, empty where it is right."""
    method, media_type, body = asked
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        headers = {"Accept-Encoding": "gzip, deflate, br, zstd"}
        headers |= {"Content-Type": media_type} if media_type else {}
        target = line.url if (form := posted_by(line.url)) is None else form.target
        connection.request(method, f"/{COLLECTION}/{line.moment}id_/{target}", body or None, headers)
        answer = connection.getresponse()
        digest = base64.b32encode(hashlib.sha1(answer.read(), usedforsecurity=False).digest()).decode("ascii")
    finally:
        connection.close()
    return "" if digest == line.digest else f"status {answer.status}, payload digest {digest}"


def replay(programs: Path, archive: ArchiveFolder, files: Sequence[Path], most: int) -> dict[str, Cell]:
    """Ask pywb for captures, and count those that it shows as they were."""
    index = archive.indexes / INDEX
    fit = [line for line in map(Line.parse, index_lines(index)) if line.status.startswith("2") or not line.status]
    # Captures of one URL within the same second cannot be told apart by their time.
    times = Counter((line.key, line.moment) for line in fit)
    fit = [line for line in fit if times[line.key, line.moment] == 1]
    # A HEAD is answered without the body that is compared, and what it and OPTIONS ask for is no replay's to show.
    posted = posted_bodies(files)
    fit = [line for line in fit if posted.get((line.file, line.offset), ("GET",))[0] in {"GET", "POST", "PUT"}]
    chosen = fit[:: max(1, len(fit) // most)][:most]
    with replaying(programs, files, index) as port:
        wrong = [
            (line, fault)
            for line in chosen
            if (fault := replayed(port, line, *filter(None, (posted.get((line.file, line.offset)),))))
        ]
    for line, found in wrong[:LISTED]:
        print(f"not replayed: {line}: {found}")
    return {
        "lines": len(chosen),
        "theirs": len(chosen),
        "same": len(chosen) - len(wrong),
        "left_out": 0,
        "missing": len(wrong),
        "extra": 0,
    }


def main() -> None:
    """Compare and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("crawl", type=Path)
    parser.add_argument("--replay", type=int, default=100, metavar="N", help="captures to replay; 0 for none")
    parser.add_argument("--environment", type=Path, default=Path(".cache/pywb"))
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    archive = ArchiveFolder.at(arguments.crawl)
    files = [path for path in segments(archive.files, WARC) if not is_open(path)]
    ours = [Line.parse(line) for line in index_lines(archive.indexes / INDEX)]
    programs, void = installed(arguments.environment.absolute()), void_places(files)
    rows: list[dict[str, Cell]] = []
    for name, options in INDEXERS.items():
        apart = posted_places(files, by_forms=name == "cdx-indexer")
        rows.append({"by": name, **compared(ours, made_by(programs / name, options, files), void, apart)})
    if arguments.replay:
        rows.append({"by": "replay", **replay(programs, archive, files, arguments.replay)})
    report(rows, arguments.json)
    if any(row["missing"] or row["extra"] for row in rows):
        sys.exit(1)


if __name__ == "__main__":
    main()

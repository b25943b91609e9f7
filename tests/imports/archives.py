"""Archives as other programs write them, made up, and what an import made of them."""

import gzip
import hashlib
import io
from base64 import b32encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from aahcrawler.imports.archive_import import ArchiveImport, ImportFault
from aahcrawler.imports.foreign_records import ForeignRecord, ForeignRecords, Loss
from aahcrawler.imports.import_writer import ImportCounts
from aahcrawler.layout import ARCHIVE, WARC

PAGE = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    b"<html><title>The dike at %s</title><article><h1>The dike at %s</h1>"
    b"<p>The river has risen by two metres since Monday, and the dike holds.</p></article></html>"
)


@dataclass(frozen=True)
class Written:
    """A record as it was written: its id, its block, and its bytes with header and end."""

    record_id: str
    block: bytes
    text: bytes


def record(
    number: int, block: bytes, kind: str = "response", version: str = "1.0", url: str = "", **fields: str
) -> Written:
    """Return a record with a block digest; a field given as empty text is left out."""
    record_id = f"urn:uuid:00000000-0000-4000-8000-{number:012d}"
    digest = "sha1:" + b32encode(hashlib.sha1(block, usedforsecurity=False).digest()).decode()
    media_type = {"response": "application/http;msgtype=response", "warcinfo": "application/warc-fields"}
    told = {
        "WARC-Type": kind,
        "WARC-Target-URI": "" if kind == "warcinfo" else url or f"http://dikes.test/{number}",
        "WARC-Date": f"2011-02-03T04:{number % 60:02d}:06Z",
        "WARC-Record-ID": f"<{record_id}>",
        "WARC-Block-Digest": digest,
        "Content-Type": media_type.get(kind, "application/http;msgtype=request"),
        "Content-Length": str(len(block)),
    }
    told |= {name.replace("_", "-"): value for name, value in fields.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in told.items() if value)
    text = f"WARC/{version}\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"
    return Written(record_id, block, text)


def pages(count: int, first: int = 1, version: str = "1.0") -> list[Written]:
    """Return responses with pages that differ."""
    names = (b"%d" % number for number in range(first, first + count))
    return [record(first + at, PAGE % (name, name), version=version) for at, name in enumerate(names)]


def members(records: Iterable[Written]) -> bytes:
    """Return records as gzip members of their own."""
    return b"".join(gzip.compress(each.text, mtime=0) for each in records)


def arc(records: Sequence[tuple[str, bytes]], version: int = 1) -> bytes:
    """Return an ARC file with records of URLs and blocks."""
    names = "URL IP-address Archive-date Content-type Archive-length"
    if version == 2:
        names = names.replace("Archive-length", "Result-code Checksum Location Offset Filename Archive-length")
    described = f"{version} 0 Example Archive\n{names}\n".encode()
    middle = " 200 - - 0 example.arc" if version == 2 else ""
    found = [b"filedesc://example.arc 0.0.0.0 19970102030405 text/plain%s %d\n" % (middle.encode(), len(described))]
    found += [described, b"\n"]
    for at, (url, block) in enumerate(records):
        head = f"{url} 192.0.2.7 199701020304{at:02d} text/html{middle} {len(block)}\n"
        found += [head.encode(), block, b"\n"]
    return b"".join(found)


def read(text: bytes, folder: Path) -> tuple[dict[str, bytes], list[Loss]]:
    """Return the blocks of the records of a file by their ids, or URLs where they have none, and what was lost."""
    blocks, losses = {}, []
    for found in ForeignRecords(io.BytesIO(text), len(text), folder):
        if isinstance(found, ForeignRecord):
            blocks[found.header.record_id or found.header.get("WARC-Target-URI")] = found.block.read()
        else:
            losses.append(found)
    return blocks, losses


def imported(root: Path, *files: Path, by_reference: bool = False) -> tuple[ImportCounts, list[ImportFault]]:
    """Import files into a folder; return what became of their records, and what was told."""
    told: list[ImportFault] = []
    root.mkdir(exist_ok=True)
    counts = ArchiveImport(root, "dikes", told.append, by_reference=by_reference).run(files)
    return counts, told


def kept(root: Path) -> Iterator[tuple[str, dict[str, str], bytes]]:
    """Yield type, header and block of each record in a folder's WARC files, as warcio reads them."""
    for path in sorted((root / ARCHIVE).glob(f"*.{WARC}")):
        with path.open("rb") as file:
            for each in ArchiveIterator(file, no_record_parse=True, check_digests=False):
                yield each.rec_type, dict(each.rec_headers.headers), each.raw_stream.read()


def blocks_by_id(root: Path) -> dict[str, bytes]:
    """Return the blocks of the records in a folder by their ids, those that tell of an import apart."""
    return {
        header["WARC-Record-ID"].strip("<>"): block for _, header, block in kept(root) if b"imported-from" not in block
    }


@st.composite
def damages(draw: st.DrawFn, size: int) -> tuple[str, int, bytes]:
    """Draw what is done to a file: bytes changed, cut out, put in, or all behind a place cut off."""
    kind = draw(st.sampled_from(("flip", "cut", "insert", "truncate")))
    place = draw(st.integers(0, size - 1))
    return kind, place, draw(st.binary(min_size=1, max_size=40))


def damaged(text: bytes, damage: tuple[str, int, bytes]) -> tuple[bytes, int, int]:
    """Return a damaged text, and from which byte to which the whole one is affected."""
    kind, place, garbage = damage
    match kind:
        case "flip":
            changed = bytes(each ^ 0x55 for each in text[place : place + len(garbage)])
            return text[:place] + changed + text[place + len(garbage) :], place, place + len(garbage)
        case "cut":
            return text[:place] + text[place + len(garbage) :], place, place + len(garbage)
        case "insert":
            return text[:place] + garbage + text[place:], place, place
        case _:
            return text[:place], place, len(text)

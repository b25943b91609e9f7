"""Searches what a crawl has written for secrets: in the spellings of URLs, forms, markup, JSON and base64, unpacked.

It shares no code with what masks secrets in a crawl.
"""

import gzip
import html
import io
import json
import re
import sqlite3
import zipfile
import zlib
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, quote_plus

import brotli
import zstandard
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord

from aahcrawler.layout import FRONTIER

_DEEPEST: Final = 4
"""How many packings are opened that lie within one another: an archive, its record, a packed page, and one more."""
_GZIP, _ZSTD, _ZIP, _SQLITE, _WARC = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PK\x03\x04", b"SQLite format 3\0", b"WARC/"


def spellings(secret: str) -> frozenset[bytes]:
    """Return how a secret may be written; in base64 also as a part of something longer, as ``user:secret`` is."""
    percented = "".join(f"%{byte:02X}" for byte in secret.encode())
    texts = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), percented, html.escape(secret)}
    texts |= {html.escape(secret, quote=False), json.dumps(secret)[1:-1], json.dumps(secret).replace("/", r"\/")[1:-1]}
    texts |= {_marked(secret, mark, kept) for mark in _MARKS for kept in ("", " ")}
    texts |= {re.sub("%..", lambda code: code[0].lower(), text) for text in texts}
    codes = {text.encode() for text in texts} | {secret.encode("latin-1", "replace"), secret.encode().hex().encode()}
    return frozenset({*codes, *_in_base64(secret.encode())})


_MARKS: Final = ("&#x{:x};".format, "&#x{:X};".format, "&#x{:02X};".format, "&#{};".format, r"\u{:04x}".format)


def _marked(secret: str, mark: Callable[[int], str], kept: str) -> str:
    return "".join(char if char.isascii() and (char.isalnum() or char in kept) else mark(ord(char)) for char in secret)


def _in_base64(secret: bytes) -> Iterator[bytes]:
    """Yield what base64 makes of a secret wherever it begins, without the signs that its neighbours take part in."""
    for before in range(3):
        whole = (len(secret) + before) // 3 * 3 - before
        for encode in (b64encode, urlsafe_b64encode):
            yield encode(bytes(before) + secret[:whole])[-(-before * 8 // 6) :]


def holding(places: Mapping[str, bytes], secrets: Iterable[str]) -> frozenset[str]:
    """Return which of some contents, by their names, hold one of the secrets in any spelling."""
    spelled = [re.escape(each) for secret in secrets for each in sorted(spellings(secret))]
    sought = re.compile(b"|".join(spelled) if spelled else b"(?!)")
    return frozenset(name for name, data in places.items() if any(map(sought.search, _unpacked(data))))


def leaks(folder: Path, said: Mapping[str, str], secrets: Iterable[str], tokens: Iterable[str]) -> list[str]:
    """Return the files of a crawl's folder, and the names of other texts, that hold a secret or a token.

    Tokens, by which sites know the crawl again, belong into the frontier; secrets belong nowhere.
    """
    places = {**contents(folder), **{name: text.encode() for name, text in said.items()}}
    outside = {name: data for name, data in places.items() if Path(name).parts[0] != FRONTIER}
    return sorted(holding(places, secrets) | holding(outside, tokens))


def contents(folder: Path) -> dict[str, bytes]:
    """Return all files below a folder, and their names, which begin at it. Sockets and links are left out."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink())
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def _unpacked(data: bytes, depth: int = _DEEPEST) -> Iterator[bytes]:
    """Yield bytes as they are, and what is packed in them."""
    yield data
    if depth:
        for part in _parts(data):
            yield from _unpacked(part, depth - 1)


def _parts(data: bytes) -> Iterator[bytes]:
    try:
        if data.startswith(_GZIP):
            yield gzip.decompress(data)
        elif data.startswith(_ZSTD):
            yield zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        elif data.startswith(_ZIP):
            with zipfile.ZipFile(io.BytesIO(data)) as packed:
                yield from map(packed.read, packed.namelist())
        elif data.startswith(_SQLITE):
            yield _dumped(data)
        elif data.startswith(_WARC):
            yield from map(_payload, ArchiveIterator(io.BytesIO(data)))
    except (
        OSError,
        EOFError,
        brotli.error,
        zlib.error,
        zstandard.ZstdError,
        zipfile.BadZipFile,
        sqlite3.DatabaseError,
    ) as error:
        raise ValueError("what is packed cannot be opened, so it cannot be searched") from error


def _payload(record: ArcWarcRecord) -> bytes:
    """Return what a record holds, without the codings of transfer and content."""
    head = record.http_headers
    if head is None or (head.get_header("Content-Encoding") or "").strip().lower() != "br":
        return bytes(record.content_stream().read())
    # What reads archives knows an older library of this coding.
    head.remove_header("Content-Encoding")
    return bytes(brotli.decompress(record.content_stream().read()))


def _dumped(data: bytes) -> bytes:
    """Return all values of a database: a long one is cut into pieces in its file."""
    connection = sqlite3.connect(":memory:")
    try:
        # Bytes 18 and 19 name a log beside the file, which one in memory has not.
        connection.deserialize(data[:18] + b"\1\1" + data[20:])
        connection.text_factory = bytes
        names = [row[0].decode() for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        rows = (row for name in names for row in connection.execute(f'SELECT * FROM "{name}"'))  # noqa: S608 - names of its own tables
        return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row)
    finally:
        connection.close()

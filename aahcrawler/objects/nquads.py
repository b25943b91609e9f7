"""Writes N-Quads from plain values; every line parses whatever a page contained. There are no blank nodes."""

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote, urlsplit

from pyoxigraph import NamedNode

from aahcrawler.layout import NQUADS
from aahcrawler.objects.vocabulary import SHORTENED, XSD_BOOLEAN, XSD_DATE_TIME, XSD_DOUBLE, XSD_INTEGER
from aahcrawler.segments import SegmentError, is_open, no_link, recover, segments
from aahcrawler.webobject import Person, Reference, Value

MAX_LITERAL_LENGTH = 8 << 20
"""Bytes of a literal's text as it is written; parsers take lines of at most 16 MiB."""
MAX_IRI_LENGTH = 1 << 16
"""Bytes of an IRI; a longer one is named by its digest."""

_LONG = "urn:aahcrawler:long:"
_LONG_IRI = re.compile(rb"(?<=<)[^<>\s]{%d,}(?=>)" % (MAX_IRI_LENGTH + 1))
_LITERAL = re.compile(rb'(<[^>]*>) (<[^>]*>) "(.*)"((?:\^\^<[^>]*>)?)', re.DOTALL)
_UNFIT = re.compile(r"%(?![0-9A-Fa-f]{2})|[^A-Za-z0-9\-._~:/?#@!$&'()*+,;=%]")
_INVALID = "urn:aahcrawler:invalid:"
_PERSON = "urn:aahcrawler:person:"


def iri(address: str) -> str:
    """Return an IRI term. An invalid IRI is percent-encoded where that makes it valid, else replaced by a URN of ours.

    >>> iri("http://a.test/x y"), iri("no address")
    ('<http://a.test/x%20y>', '<urn:aahcrawler:invalid:no%20address>')
    """
    return _iri(address) if len(address) <= MAX_IRI_LENGTH else f"<{bounded(address)}>"


def bounded(name: str) -> str:
    """Return an IRI, or a URN made from its digest where it is too long for parsers."""
    written = name.encode(errors="replace")
    return name if len(written) <= MAX_IRI_LENGTH else _digest(written).decode()


@lru_cache(maxsize=4096)
def _iri(address: str) -> str:
    return f"<{bounded(_named(address)[1:-1])}>"


def _named(address: str) -> str:
    return _valid(address) or _valid(_escaped(address)) or f"<{_INVALID}{quote(address, safe='', errors='replace')}>"


def text(value: str) -> str:
    r"""Return a string literal.

    >>> print(text('She said "no"'))
    "She said \"no\""
    """
    # Four searches for characters that are mostly absent beat one pass over every character, here and in the library.
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def typed(value: str, datatype: str) -> str:
    """Return a typed literal."""
    return f"{text(value)}^^<{datatype}>"


def quads(triples: Sequence[str], graph: str) -> bytes:
    """Return triples, each written ``subject predicate object``, as the lines of a graph, in UTF-8.

    Lone surrogates, which no encoding can express, become U+FFFD.
    """
    # Joined first, one astral character would make a string of four bytes a character of the whole page.
    try:
        lines = [triple.encode() for triple in triples]
    except UnicodeEncodeError:
        lines = [triple.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() for triple in triples]
    if max(map(len, lines), default=0) > MAX_LITERAL_LENGTH:
        lines = [part for line in lines for part in shortened(line)]
    end = f" {graph} .\n".encode()
    return end.join(lines) + end


def shortened(triple: bytes) -> Iterator[bytes]:
    """Yield a triple with its literal cut at ``MAX_LITERAL_LENGTH``, and another triple saying so if it was cut."""
    parts = _LITERAL.fullmatch(triple) if len(triple) > MAX_LITERAL_LENGTH else None
    if parts is None or len(parts[3]) <= MAX_LITERAL_LENGTH:
        yield triple
        return
    subject, predicate, written, datatype = parts.groups()
    yield b'%s %s "%s"%s' % (subject, predicate, _cut(written), datatype)
    yield b"%s <%s> %s" % (subject, SHORTENED.encode(), predicate)


def mended(graph: bytes) -> bytes:
    """Return the lines of a graph with every IRI and literal that is too long for parsers shortened."""
    lines = []
    for line in _LONG_IRI.sub(lambda found: _digest(found[0]), graph).splitlines(keepends=True):
        triple, space, name = line.rpartition(b" .")[0].rpartition(b" ")
        lines += [part + space + name + b" .\n" for part in shortened(triple)]
    return b"".join(lines)


def _cut(written: bytes) -> bytes:
    """Return the beginning of an escaped text, with no half character or half escape at its end."""
    kept = written[:MAX_LITERAL_LENGTH].decode(errors="ignore").encode()
    return kept[:-1] if (len(kept) - len(kept.rstrip(b"\\"))) % 2 else kept


def _digest(name: bytes) -> bytes:
    return f"{_LONG}{sha256(name).hexdigest()}".encode()


def moment(value: datetime) -> str:
    """Return a time as ``xsd:dateTime`` with its offset; a naive one counts as UTC.

    >>> moment(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC))
    '"2026-01-02T03:04:05Z"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    >>> moment(datetime.fromisoformat("2026-01-02T03:04:05+02:00"))
    '"2026-01-02T03:04:05+02:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    """
    offset = value.utcoffset()
    if offset and offset % timedelta(minutes=1):  # offsets of the nineteenth century have seconds, xsd:dateTime none
        value, offset = value.astimezone(UTC), None
    written = value.isoformat() if offset else f"{value.replace(tzinfo=None).isoformat()}Z"
    return f'"{written}"^^<{XSD_DATE_TIME}>'


def term(value: Value, site: str) -> str:
    """Return a property's value as a term; a person becomes the IRI that ``person`` gives."""
    match value:
        case str():
            return text(value)
        case Person():
            return person(value, site)
        case Reference():
            return iri(value.url)
        case datetime():
            return moment(value)
        case bool():
            return boolean(value)
        case int():
            return integer(value)
        case float():
            return double(value)


def boolean(value: bool) -> str:
    """Return an ``xsd:boolean``."""
    return f'"{str(value).lower()}"^^<{XSD_BOOLEAN}>'


def integer(value: int) -> str:
    """Return an ``xsd:integer``."""
    return f'"{value}"^^<{XSD_INTEGER}>'


def double(value: float) -> str:
    """Return an ``xsd:double``."""
    return f'"{str(value).upper() if value == value else "NaN"}"^^<{XSD_DOUBLE}>'


def person(somebody: Person, site: str) -> str:
    """Return the IRI of a person: the profile's URL with ``#person``, or a URN of site and name.

    >>> person(Person("Jane", "http://a.test/u/7"), "a.test"), person(Person("Jane  Doe"), "a.test")
    ('<http://a.test/u/7#person>', '<urn:aahcrawler:person:a.test:Jane%20Doe>')
    """
    if somebody.url:
        return iri(somebody.url if "#" in somebody.url else somebody.url + "#person")
    name = " ".join(somebody.name.split())
    urn = f"{_PERSON}{quote(site, safe='.-', errors='replace')}:{quote(name, safe='', errors='replace')}"
    return f"<{bounded(urn)}>"


@lru_cache(maxsize=64)
def site_of(url: str) -> str:
    """Return the site that the names on a page belong to: the page's host without a leading ``www.``.

    >>> site_of("https://www.A.test:8080/x")
    'a.test'
    """
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    return host.removeprefix("www.")


def _valid(address: str) -> str | None:
    # Parsers disagree about what counts as white space beyond ASCII.
    if not address.isascii():
        return None
    try:
        return str(NamedNode(address))
    except ValueError:
        return None


def _escaped(address: str) -> str:
    escaped = _UNFIT.sub(lambda match: quote(match[0], safe="", errors="replace"), address)
    document, mark, fragment = escaped.partition("#")
    return document + mark + fragment.replace("#", "%23")


_CHUNK = 1 << 16
_PART = ".part"


def mend(folder: Path) -> Iterator[str]:
    """Shorten the lines that are too long in each segment of a folder by today's rules; yield what was done.

    The part of a segment before its first such line keeps its bytes and offsets. No process may write meanwhile. Raises
    ``SegmentError`` where a segment is damaged or cannot be written.
    """
    recover(folder, NQUADS)
    for path in (path for path in segments(folder, NQUADS) if not is_open(path)):
        try:
            with path.open("rb") as file:
                count = sum(_mended(text) != text for _, text in _members(file))
            if count:
                _mend(path)
                yield f"{path}: texts or names too long to be read were shortened in {count} of its captures"
        except (OSError, EOFError, zlib.error) as error:
            raise SegmentError(f"{path}: cannot be mended ({error}). Restore it from a copy.") from error


def _mend(path: Path) -> None:
    part = path.with_name(path.name + _PART)
    with path.open("rb") as file, open(part, "wb", opener=no_link) as beside:
        for member, text in _members(file):
            whole = _mended(text)
            beside.write(member if whole == text else gzip.compress(whole, 1))
        beside.flush()
        os.fsync(beside.fileno())
    part.replace(path)


def _mended(text: bytes) -> bytes:
    return mended(text) if len(text) > MAX_LITERAL_LENGTH else text


def _members(file: BinaryIO) -> Iterator[tuple[bytes, bytes]]:
    """Yield each gzip member of a file, compressed and as text."""
    pending = file.read(_CHUNK)
    while pending:
        inflate, member, text = zlib.decompressobj(wbits=31), [], []
        while not inflate.eof:
            text.append(inflate.decompress(pending))
            member.append(pending[: len(pending) - len(inflate.unused_data)])
            pending = inflate.unused_data or file.read(_CHUNK)
            if not pending and not inflate.eof:
                raise EOFError("it ends in the middle of a capture")
        yield b"".join(member), b"".join(text)

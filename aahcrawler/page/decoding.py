"""Undo content codings (RFC 9110, section 8.4) up to a size limit."""

import re
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass

import brotli
import zstandard

MAX_CODINGS = 4
"""The most codings, one over the other, that are undone; a body that claims more is left unchanged."""

_PIECE = 16_384
_OUTPUT = 65_536
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_GZIP_MAGIC = b"\x1f\x8b"
_ZSTD_PIECE = 128  # a block of four bytes can stand for 128 KiB, and the library takes no bound on its output
_ZSTD_WINDOW = 8 * 1024 * 1024  # what a recipient has to accept at least (RFC 9659)


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body without its content codings; ``complete`` is False if data was corrupt, truncated or cut."""

    body: bytes
    complete: bool


def decode_content(body: bytes, content_encoding: str, limit: int) -> Decoded:
    """Undo the codings of a Content-Encoding field, the last one first, up to ``limit`` bytes of output.

    Known codings are gzip, deflate (with zlib's header or raw), br and zstd; an unknown name is ignored, as browsers
    do. Corrupt or truncated data yields the part that could be decoded. Plain text declared as compressed is returned
    unchanged, since some servers send it. Each of several codings is held to the limit, so memory stays within a small
    multiple of it, whatever the data.

    >>> decode_content(zlib.compress(b"text"), "deflate", 100)
    Decoded(body=b'text', complete=True)
    """
    names = [name for name in (part.strip().lower() for part in content_encoding.split(",")) if name in _DECODERS]
    if len(names) > MAX_CODINGS:
        return Decoded(body[:limit], complete=False)
    result = Decoded(body, complete=True)
    for name in reversed(names):
        if result.body:
            stage = _collect(_DECODERS[name](result.body), limit)
            result = Decoded(stage.body, stage.complete and result.complete)
            if not stage.body and not stage.complete and not _CONTROL.search(body, 0, _PIECE):
                return Decoded(body[:limit], complete=False)
    return Decoded(result.body[:limit], result.complete and len(result.body) <= limit)


class _TruncatedError(Exception):
    """The data ended before its coding did."""


def _collect(chunks: Iterator[bytes], limit: int) -> Decoded:
    output = bytearray()
    try:
        for chunk in chunks:
            output += chunk
            if len(output) > limit:
                return Decoded(bytes(output[:limit]), complete=False)
    except (_TruncatedError, zlib.error, brotli.error, zstandard.ZstdError):
        return Decoded(bytes(output), complete=False)
    return Decoded(bytes(output), complete=True)


def _gzip(body: bytes) -> Iterator[bytes]:
    """Yield the content of the members in order; bytes after the last member are ignored."""
    position = 0
    while position == 0 or body.startswith(_GZIP_MAGIC, position):
        position = yield from _inflate(body, position, 31)


def _deflate(body: bytes) -> Iterator[bytes]:
    """Yield the stream as the RFC has it, in zlib's format, or as some servers send it, without."""
    has_header = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    yield from _inflate(body, 0, 15 if has_header else -15)


def _inflate(body: bytes, position: int, window_bits: int) -> Generator[bytes, None, int]:
    """Yield one stream in bounded chunks; return the position after its end."""
    stream = zlib.decompressobj(window_bits)
    view = memoryview(body)
    while not stream.eof:
        pending: bytes | memoryview = stream.unconsumed_tail
        if not pending:
            pending = view[position : position + _PIECE]
            position += len(pending)
        if not pending:
            yield stream.flush()
            if not stream.eof:
                raise _TruncatedError
        else:
            yield stream.decompress(pending, _OUTPUT)
    return position - len(stream.unused_data)


def _brotli(body: bytes) -> Iterator[bytes]:
    stream = brotli.Decompressor()
    for start in range(0, len(body), _PIECE):
        chunk = stream.process(body[start : start + _PIECE], output_buffer_limit=_OUTPUT)
        while chunk:
            yield chunk
            chunk = stream.process(b"", output_buffer_limit=_OUTPUT)
        if stream.is_finished():
            return
    raise _TruncatedError


def _zstd(body: bytes) -> Iterator[bytes]:
    """Yield the content of the frames in order."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    position = 0
    while position < len(body):
        stream = decompressor.decompressobj()
        while not stream.eof:
            piece = body[position : position + _ZSTD_PIECE]
            if not piece:
                raise _TruncatedError
            position += len(piece)
            yield stream.decompress(piece)
        position -= len(stream.unused_data)


_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}

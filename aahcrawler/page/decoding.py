"""Undo content codings (RFC 9110, section 8.4) up to a size limit."""

import re
import zlib
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import brotli
import zstandard

MAX_CODINGS = 4
"""The most codings, one over the other, that are undone; a body that claims more is left unchanged."""

_PIECE = 16_384
_OUTPUT = 65_536
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_GZIP_MAGIC = b"\x1f\x8b"
_CRC_CHECK, _LENGTH_CHECK = "incorrect data check", "incorrect length check"
"""What zlib says of a wrong checksum, and of a wrong length behind it."""
_LENGTH_BYTES = 4
_ZSTD_PIECE = 128  # a block of four bytes can stand for 128 KiB, and the library takes no bound on its output
_ZSTD_WINDOW = 8 * 1024 * 1024  # what a recipient has to accept at least (RFC 9659)


class Fault(StrEnum):
    """What is wrong with coded data.

    ``CHECKSUM``: all of it could be decoded, but is not what its checksum or length says. ``UNCODED``: it is plain
    text. ``TOO_MANY``: it claims more codings than are undone.
    """

    CHECKSUM = "checksum"
    CORRUPT = "corrupt"
    TRUNCATED = "truncated"
    UNCODED = "uncoded"
    TOO_MANY = "too_many"


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body without its content codings; ``complete`` is False if it was cut at the limit or has a ``fault``."""

    body: bytes
    complete: bool
    fault: Fault | None = None


def decode_content(body: bytes, content_encoding: str, limit: int) -> Decoded:
    """Undo the codings of a Content-Encoding field, the last one first, up to ``limit`` bytes of output.

    Known codings are gzip, deflate (with zlib's header or raw), br and zstd; an unknown name is ignored, as browsers
    do. Corrupt or truncated data yields all that stands before the damage, data with a wrong checksum all of its
    content; what follows the end of coded data is ignored. Plain text declared as compressed is returned unchanged,
    since some servers send it. Each of several codings is held to the limit, so memory stays within a small multiple
    of it, whatever the data.

    >>> decode_content(zlib.compress(b"text"), "deflate", 100).body
    b'text'
    """
    names = [name for name in (part.strip().lower() for part in content_encoding.split(",")) if name in _DECODERS]
    if len(names) > MAX_CODINGS:
        return Decoded(body[:limit], complete=False, fault=Fault.TOO_MANY)
    result = Decoded(body, complete=True)
    for name in reversed(names):
        if result.body:
            stage = _collect(_DECODERS[name](result.body), limit)
            result = Decoded(stage.body, stage.complete and result.complete, result.fault or stage.fault)
            if not stage.body and not stage.complete and not _CONTROL.search(body, 0, _PIECE):
                return Decoded(body[:limit], complete=False, fault=Fault.UNCODED)
    return Decoded(result.body[:limit], result.complete and len(result.body) <= limit, result.fault)


def ungzipped(body: bytes) -> Iterator[bytes]:
    """Yield the content of a gzip file in bounded pieces, that of a damaged one up to the damage."""
    try:
        yield from _gzip(body)
    except (_TruncatedError, _ChecksumError, zlib.error):
        return


class _TruncatedError(Exception):
    """The data ended before its coding did."""


class _ChecksumError(Exception):
    """All of the data was decoded, but its checksum or length is another."""


_CORRUPT = (zlib.error, brotli.error, zstandard.ZstdError)


def _collect(chunks: Iterator[bytes], limit: int) -> Decoded:
    output, fault = bytearray(), None
    try:
        for chunk in chunks:
            output += chunk
            if len(output) > limit:
                return Decoded(bytes(output[:limit]), complete=False)
    except _TruncatedError:
        fault = Fault.TRUNCATED
    except _ChecksumError:
        fault = Fault.CHECKSUM
    except _CORRUPT:
        fault = Fault.CORRUPT
    return Decoded(bytes(output), fault is None, fault)


def _gzip(body: bytes) -> Iterator[bytes]:
    """Yield the content of the members in order; bytes after the last member are ignored."""
    position, is_wrong = 0, False
    while position == 0 or body.startswith(_GZIP_MAGIC, position):
        data = _Data(lambda: _Inflate(31), body, position)
        try:
            yield from data.chunks()
        except zlib.error as error:
            if not _is_of_checksum(error):
                raise
            is_wrong = True
            data.position += _LENGTH_BYTES if _CRC_CHECK in str(error) else 0
        position = data.position
    if is_wrong:
        raise _ChecksumError


def _deflate(body: bytes) -> Iterator[bytes]:
    """Yield the stream as the RFC has it, in zlib's format, or as some servers send it, without."""
    has_header = len(body) > 1 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    try:
        yield from _Data(lambda: _Inflate(15 if has_header else -15), body, 0).chunks()
    except zlib.error as error:
        if not _is_of_checksum(error):
            raise
        raise _ChecksumError from error


def _is_of_checksum(error: zlib.error) -> bool:
    return _CRC_CHECK in str(error) or _LENGTH_CHECK in str(error)


def _brotli(body: bytes) -> Iterator[bytes]:
    yield from _Data(_Brotli, body, 0).chunks()


def _zstd(body: bytes) -> Iterator[bytes]:
    """Yield the content of the frames in order; bytes after the last frame are ignored."""
    position = 0
    while position == 0 or body.startswith(_ZSTD_MAGIC, position):
        data = _Data(_Zstd, body, position, _ZSTD_PIECE)
        try:
            yield from data.chunks()
        except zstandard.ZstdError as error:
            if _ZSTD_CHECK not in str(error):
                raise
            raise _ChecksumError from error
        position = data.position


class _Stream(Protocol):
    """Decodes a stream piece by piece; ``unused`` is how many bytes of the last piece lie behind its end."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused(self) -> int: ...

    def feed(self, piece: bytes | memoryview) -> Iterator[bytes]: ...


class _Data:
    """A coded stream within a body; after ``chunks`` has ended, by an error or not, ``position`` is behind it."""

    def __init__(self, new: Callable[[], _Stream], body: bytes, begin: int, size: int = _PIECE) -> None:
        self._new = new
        self._view = memoryview(body)
        self._begin = begin
        self._size = size
        self.position = begin

    def chunks(self) -> Iterator[bytes]:
        """Yield the content in bounded chunks, all that stands before an error, and raise that."""
        stream = self._new()
        while not stream.eof:
            piece = self._view[self.position : self.position + self._size]
            if not piece:
                raise _TruncatedError
            had = 0
            try:
                for chunk in stream.feed(piece):
                    had += len(chunk)
                    yield chunk
            except _CORRUPT:
                stream = yield from self._by_bytes(had)
                return
            self.position += len(piece)
        self.position -= stream.unused

    def _by_bytes(self, had: int) -> Generator[bytes, None, _Stream]:
        """Decode once more, the piece that holds an error byte by byte: libraries withhold what it has before that.

        Of that piece ``had`` bytes of content were yielded before.
        """
        stream = self._new()
        for at in range(self._begin, self.position, self._size):
            for _ in stream.feed(self._view[at : min(at + self._size, self.position)]):
                pass
        end = min(self.position + self._size, len(self._view))
        while self.position < end and not stream.eof:
            self.position += 1
            for chunk in stream.feed(self._view[self.position - 1 : self.position]):
                yield chunk[had:]
                had = max(had - len(chunk), 0)
        return stream


class _Inflate:
    def __init__(self, window_bits: int) -> None:
        self._stream = zlib.decompressobj(window_bits)

    @property
    def eof(self) -> bool:
        return self._stream.eof

    @property
    def unused(self) -> int:
        return len(self._stream.unused_data)

    def feed(self, piece: bytes | memoryview) -> Iterator[bytes]:
        chunk = self._stream.decompress(piece, _OUTPUT)
        yield chunk
        while not self._stream.eof and (self._stream.unconsumed_tail or len(chunk) == _OUTPUT):
            chunk = self._stream.decompress(self._stream.unconsumed_tail, _OUTPUT)
            yield chunk


class _Brotli:
    unused = 0  # There is one stream, and what follows it does not matter.

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._stream.is_finished())

    def feed(self, piece: bytes | memoryview) -> Iterator[bytes]:
        chunk = self._stream.process(bytes(piece), output_buffer_limit=_OUTPUT)
        while chunk:
            yield chunk
            chunk = b"" if self.eof else self._stream.process(b"", output_buffer_limit=_OUTPUT)


class _Zstd:
    def __init__(self) -> None:
        self._stream = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW).decompressobj()

    @property
    def eof(self) -> bool:
        return bool(self._stream.eof)

    @property
    def unused(self) -> int:
        return len(self._stream.unused_data)

    def feed(self, piece: bytes | memoryview) -> Iterator[bytes]:
        yield self._stream.decompress(bytes(piece))


_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_CHECK = "doesn't match checksum"
_DECODERS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}

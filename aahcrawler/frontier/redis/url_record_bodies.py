"""Compress the words of a URL's record: the URL, its queue, the page that links there, the path.

Compressed is with Zstandard and a dictionary of what URLs are commonly made of (``urls-1.zdict``). Each body begins
with the number of its dictionary, so that records stay readable when there is a better one; 0 is text as it stands.

What of a Zstandard frame is the same for all bodies, or follows from its length, is left out and put back in (RFC 8878,
sections 3.1.1.1 and 3.1.1.2): of a URL of 70 characters it would be one byte in ten.
"""

import threading
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import zstandard

_NUMBER = 1
_FRAME = b"\x00\x38"
"""Header of a frame without magic number, checksum, size or number of a dictionary; its window is always enough."""
_WINDOW_LOG = 17
_BLOCK_BYTES = 3
_LAST_COMPRESSED = 5
"""The low bits of a block header: the last block, compressed."""
_LONGEST = 1 << _WINDOW_LOG


class Body(NamedTuple):
    """A URL, its queue, the URL of the page that linked there, and the path of hops."""

    url: str
    queue: str
    via: str
    path: str


def pack_body(body: Body) -> bytes:
    """Return the body of a record."""
    text = written(body)
    frame = _codec().compressor.compress(text) if len(text) < _LONGEST else b""
    start = len(_FRAME) + _BLOCK_BYTES
    whole = frame[:1] == _FRAME[:1] and frame[len(_FRAME) : start] == _block_header(len(frame) - start)
    if whole and len(frame) - start < len(text):
        return bytes((_NUMBER,)) + frame[start:]
    return b"\0" + text


def unpack_body(kept: bytes) -> Body:
    """Read the body of a record. Raise ValueError for one that a later version wrote."""
    url, via, path, named = unpack_words(kept)
    return Body(url, queue_of_words(url, named), via, path)


def unpack_words(kept: bytes) -> list[str]:
    """Read a URL, the page that linked there, the path, and what ``queue_of_words`` makes the queue of.

    Raise ValueError for a body that a later version wrote.
    """
    number, size = kept[0], len(kept) - 1
    if number == 0:
        text = kept[1:]
    elif number == _NUMBER:
        header = _HEADERS[size] if size < len(_HEADERS) else _header(size)
        text = _codec().decompressor.decompress(header + kept[1:], _LONGEST)
    else:
        raise ValueError(f"a queued URL was written with dictionary {number}, which this version does not have")
    return text.decode().split("\n")


def queue_of_words(url: str, named: str) -> str:
    """Return the queue of a URL by what its body says of it."""
    return named[1:] if named[0] == "=" else ".".join(_host(url).split(".")[-int(named) :])


def written(body: Body) -> bytes:
    """Return what is compressed: the queue as how many labels of the host it is, in full where it is none of them."""
    url, queue, via, path = body
    host = _host(url)
    is_of_host = host == queue or host.endswith(f".{queue}")
    named = queue.count(".") + 1 if is_of_host else f"={queue}"
    return f"{url}\n{via}\n{path}\n{named}".encode()


def _host(url: str) -> str:
    return url.partition("://")[2].partition("/")[0]


def _block_header(size: int) -> bytes:
    return (size << 3 | _LAST_COMPRESSED).to_bytes(_BLOCK_BYTES, "little")


def _header(size: int) -> bytes:
    return _FRAME + _block_header(size)


_HEADERS = tuple(map(_header, range(512)))
"""What stands before bodies of most lengths."""


@cache
def _parameters() -> zstandard.ZstdCompressionParameters:
    return zstandard.ZstdCompressionParameters.from_level(
        3,
        format=zstandard.FORMAT_ZSTD1_MAGICLESS,
        window_log=_WINDOW_LOG,
        write_content_size=0,
        write_checksum=0,
        write_dict_id=0,
    )


@cache
def _dictionary() -> zstandard.ZstdCompressionDict:
    kept = (files("aahcrawler.frontier.redis") / f"urls-{_NUMBER}.zdict").read_bytes()
    dictionary = zstandard.ZstdCompressionDict(kept)
    dictionary.precompute_compress(compression_params=_parameters())
    return dictionary


class _Codec(threading.local):
    """The compressor and decompressor of one thread: neither serves two threads at once."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(dict_data=_dictionary(), compression_params=_parameters())
        self.decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary(), format=zstandard.FORMAT_ZSTD1_MAGICLESS)


@cache
def _codec() -> _Codec:
    return _Codec()

"""The server's encoding of URLs: fingerprints, packed offers, and records.

The encodings are the same as in ``lua/records.lua``, ``lua/queues.lua`` and ``lua/offers.lua``; ``FORMAT`` is their
version.
"""

import struct
import threading
from collections.abc import Iterable
from functools import cache, lru_cache
from hashlib import blake2b
from importlib.resources import files
from math import isfinite
from typing import Final, NamedTuple

import zstandard

from aahcrawler.frontier.control import Effect, Post, Posted, UrlStatus, Wish
from aahcrawler.frontier.hops import LETTERS as HOPS
from aahcrawler.frontier.hops import MAX_HOPS
from aahcrawler.frontier.protocol import Kind, Lease, Offer, QueueCounts, Rescore, State

FORMAT = 5

STATES = {
    b"q": State.QUEUED,
    b"l": State.LEASED,
    b"d": State.DONE,
    b"f": State.FAILED,
    b"b": State.BLOCKED,
    b"w": State.DUE,
}
LETTERS = {state: letter.decode() for letter, state in STATES.items()}

_RECORD: Final = 128
_PLAIN_BYTES: Final = 19
"""The bytes before the body in a record without flags."""
_LEASED, _REQUISITE, _POSTED, _FRONT, _WIDE, _SEVERAL, _HELD = 1, 2, 4, 8, 16, 32, 64
"""Flags, as in ``lua/records.lua``."""
_KIND_LETTERS: dict[Kind, bytes] = {"page": b"p", "requisite": b"r"}
_OFFER_HEAD = struct.Struct(">8scHd6sB")
_RECORD_HEAD = struct.Struct(">BBH6s5s")
_LEASED_HEAD = struct.Struct(">IBBH6s5sid5s")
"""The head of a leased URL's record, in the usual case of a narrow value and one offer; the body follows."""
_TAKEN = struct.Struct(">dIH")
_NO_BOUND = 0xFFFFFFFF
_NARROW, _DOUBLE, _OFFERS, _LEASE = struct.Struct(">i"), struct.Struct(">d"), struct.Struct(">I"), struct.Struct(">d5s")
_RESCORE = struct.Struct(">8sd")
_QUEUE = struct.Struct(">cB5sdB5sdIIII")
_LENGTH = struct.Struct(">I")
_MILLION = 1_000_000
_ABOVE = 1e15
"""How much lower the rank of a URL at the front is than the rank of its score, as in ``lua/records.lua``."""
_MAX_DEPTH = 65_535
_MAX_SCORE = 1e9
_CHUNKED = 2
_ENDED_HEAD = 3
"""The bytes before the reason in the record of an ended URL: a letter, and the mark of the lease that ended it."""


def fingerprint(url: str) -> bytes:
    """Return the eight bytes that identify a URL.

    At 10 million URLs in a crawl, the probability that two share a fingerprint is 3 in a million; at a billion, 3 %.
    The later one is then treated as the earlier one.

    >>> fingerprint("http://a.test/").hex() == fingerprint("http://a.test/").hex()
    True
    >>> len(fingerprint("http://a.test/"))
    8
    """
    return blake2b(url.encode(), digest_size=8).digest()


@lru_cache(maxsize=65_536)
def queue_id(name: str) -> bytes:
    """Return the six bytes that identify a queue on the server.

    Queues with the same id take turns as if they were one; among a million queues, the probability of that is 1 in 500.
    """
    return blake2b(name.encode(), digest_size=6).digest()


def pack_offers(offers: Iterable[Offer]) -> bytes:
    """Pack offers one after another.

    Raises ``ValueError``, naming the offer and the reason, for an offer that a frontier cannot store.
    """
    return b"".join([_pack(offer) for offer in offers])


def pack_rescores(scores: Iterable[Rescore]) -> bytes:
    """Pack scores one after another. Raises ValueError for one that a frontier cannot store."""
    return b"".join([_RESCORE.pack(fingerprint(each.url), _micros(each.url, each.score)) for each in scores])


def _pack(offer: Offer) -> bytes:
    queue = offer.queue.encode()
    _check(offer, queue)
    body = pack_body(Body(offer.url, offer.queue, offer.via, offer.path))
    head = _OFFER_HEAD.pack(
        fingerprint(offer.url),
        _KIND_LETTERS[offer.kind],
        min(offer.depth, _MAX_DEPTH),
        _micros(offer.url, offer.score),
        queue_id(offer.queue),
        len(queue),
    )
    return b"".join((head, queue, _LENGTH.pack(len(body)), body))


def _micros(url: str, score: float) -> int:
    if not isfinite(score) or abs(score) > _MAX_SCORE:
        raise ValueError(f"the score of {url} is {score}; give a finite number below a billion")
    return round(score * _MILLION)


def _check(offer: Offer, queue: bytes) -> None:
    if not 0 < len(queue) <= 255 or b"\0" in queue:
        raise ValueError(f"{offer.queue!r} cannot name the queue of {offer.url}; use urls.queue_of")
    if offer.depth < 0 or not offer.url or "\n" in offer.url or "\n" in offer.via:
        raise ValueError(f"{offer.url!r} at depth {offer.depth} cannot be queued; offer canonical URLs, depth from 0")
    if offer.path and (len(offer.path) > MAX_HOPS or not HOPS.issuperset(offer.path)):
        raise ValueError(f"{offer.path!r} is no path to {offer.url}; give at most {MAX_HOPS} letters of hops.Hop")


class Record(NamedTuple):
    """The server's record of a URL that has not ended; ``value`` is its score, or the sum of ``offers`` scores."""

    flags: int
    attempt: int
    depth: int
    sequence: int
    value: float
    offers: int
    token: str
    state: State
    body: bytes

    @classmethod
    def unpack(cls, raw: bytes) -> "Record":
        """Decode a record."""
        flags, attempt, depth, _queue, sequence = _RECORD_HEAD.unpack_from(raw)
        at = _RECORD_HEAD.size
        number = _DOUBLE if flags & _WIDE else _NARROW
        (value,) = number.unpack_from(raw, at)
        at += number.size
        offers, token, state = 1, "", State.QUEUED
        if flags & _SEVERAL:
            (offers,) = _OFFERS.unpack_from(raw, at)
            at += _OFFERS.size
        if flags & _LEASED:
            since, batch = _LEASE.unpack_from(raw, at)
            at += _LEASE.size
            token, state = _token(since, batch), State.LEASED
        elif flags & _HELD:
            state = STATES[raw[at : at + 1]]
            at += 1
        return cls(flags, attempt, depth, int.from_bytes(sequence, "big"), value, offers, token, state, raw[at:])

    @property
    def kind(self) -> Kind:
        """Whether the URL is a page or a page requisite."""
        return "requisite" if self.flags & _REQUISITE else "page"

    @property
    def is_at_front(self) -> bool:
        """Whether it is a page that was moved to the front."""
        return bool(self.flags & _FRONT)

    @property
    def score(self) -> float:
        """The present score."""
        return (self.value if self.offers == 1 else (self.value / self.offers + 0.5) // 1) / _MILLION

    @property
    def order(self) -> tuple[int, float, int, int]:
        """The sort key of queued URLs: at the front, highest score, page requisites before pages, offered first."""
        return 0 if self.is_at_front else 1, -self.score, 0 if self.flags & _REQUISITE else 1, self.sequence

    def offer(self) -> Offer:
        """Return the offer that would create this record."""
        body = unpack_body(self.body)
        return Offer(body.url, body.queue, self.score, self.depth, self.kind, body.via, body.path)


def is_record(raw: bytes) -> bool:
    """Return whether these bytes are the record of a URL that has not ended."""
    return raw[0] >= _RECORD


def state_of(raw: bytes) -> State:
    """Return the state of a URL."""
    if raw[0] == _RECORD:
        return State.QUEUED
    return Record.unpack(raw).state if is_record(raw) else STATES[raw[:1].lower()]


def url_of(raw: bytes) -> str:
    """Return the URL in a record."""
    body = raw[_PLAIN_BYTES:] if raw[0] == _RECORD else Record.unpack(raw).body
    return unpack_words(body)[0]


def is_held(raw: bytes) -> bool:
    """Return whether a record belongs to a URL that is neither queued nor leased: due, or blocked."""
    return is_record(raw) and raw[0] & (_HELD | _LEASED) == _HELD


def held_reason(held: bytes | None) -> str:
    """Return why a URL that kept its record is blocked; empty if it is not blocked."""
    return held[_DOUBLE.size :].decode() if held else ""


def reason_of(raw: bytes) -> str:
    """Return why a URL ended, from its record."""
    return raw[_ENDED_HEAD:].decode()


def unpack_leases(packed: bytes) -> list[Lease]:
    """Decode the response of ``lua/lease.lua``."""
    leases: list[Lease] = []
    at = 0
    while at < len(packed):
        learned, left, taken = _TAKEN.unpack_from(packed, at)
        bound = None if left == _NO_BOUND else left
        at += _TAKEN.size
        queue = token = ""  # Those of one are those of all that were taken together.
        for _ in range(taken):
            size, flags, attempt, depth, _queue, _place, value, since, batch = _LEASED_HEAD.unpack_from(packed, at)
            end = at + _LENGTH.size + size
            if flags & (_WIDE | _SEVERAL):
                record = Record.unpack(packed[at + _LENGTH.size : end])
                score, body = record.score, record.body
                token = record.token
            else:
                score, body = value / _MILLION, packed[at + _LEASED_HEAD.size : end]
                token = token or _token(since, batch)
            url, via, path, named = unpack_words(body)
            queue = queue or queue_of_words(url, named)
            kind: Kind = "requisite" if flags & _REQUISITE else "page"
            known = max(0.0, score)
            leases.append(
                Lease(url, queue, known, depth, kind, via, attempt, token, path, score >= 0, learned / _MILLION, bound)
            )
            at = end
    return leases


def _token(since: float, batch: bytes) -> str:
    return f"{int.from_bytes(batch, 'big')}-{since:.0f}"


def unpack_queue(raw: bytes) -> tuple[str, QueueCounts]:
    """Return the name and the counts in the record of a queue."""
    pages, requisites, leased, done = _QUEUE.unpack_from(raw)[-4:]
    return raw[_QUEUE.size :].decode(), QueueCounts(pages, leased, done, requisites)


def heads_of_queue(raw: bytes) -> tuple[tuple[float, bytes] | None, tuple[float, bytes] | None]:
    """Return rank and sequence number of a queue's best page requisite and best page; None if it has none."""
    _place, _pages, page, page_best, _requisites, requisite, requisite_best, *_ = _QUEUE.unpack_from(raw)
    return _head(requisite, requisite_best), _head(page, page_best)


def best_of_queue(raw: bytes) -> float | None:
    """Return the best score in a queue; None if no URL with a score is queued."""
    ranks = [head[0] for head in heads_of_queue(raw) if head is not None]
    best = -min(ranks, default=1.0)
    if best > _ABOVE / 2:
        best -= _ABOVE
    return best / _MILLION if best >= 0 else None


def _head(sequence: bytes, best: float) -> tuple[float, bytes] | None:
    return (best, sequence) if any(sequence) else None


def is_chunked(raw: bytes) -> tuple[bool, bool]:
    """Return whether a queue's pages, and its page requisites, are stored in several parts (``order.lua``)."""
    _place, pages, _page, _best, requisites, *_ = _QUEUE.unpack_from(raw)
    return pages >= _CHUNKED, requisites >= _CHUNKED


_NUMBER = 1
_FRAME = b"\x00\x38"
"""The header of a Zstandard frame without magic number, checksum, size and dictionary number; its window always
suffices.
"""
_WINDOW_LOG = 17
_BLOCK_BYTES = 3
_LAST_COMPRESSED = 5
"""The low bits of a block header that mark the last block, compressed."""
_MAX_RECORD_LENGTH = 1 << _WINDOW_LOG


class Body(NamedTuple):
    """The texts of a record: a URL, its queue, the URL of the page that linked to it, and the path of hops."""

    url: str
    queue: str
    via: str
    path: str


def pack_body(body: Body) -> bytes:
    """Return the body of a record."""
    text = packed_body(body)
    frame = _codec().compressor.compress(text) if len(text) < _MAX_RECORD_LENGTH else b""
    start = len(_FRAME) + _BLOCK_BYTES
    whole = frame[:1] == _FRAME[:1] and frame[len(_FRAME) : start] == _block_header(len(frame) - start)
    if whole and len(frame) - start < len(text):
        return bytes((_NUMBER,)) + frame[start:]
    return b"\0" + text


def unpack_body(kept: bytes) -> Body:
    """Decode the body of a record. Raises ``ValueError`` for a body written by a later version."""
    url, via, path, named = unpack_words(kept)
    return Body(url, queue_of_words(url, named), via, path)


def unpack_words(kept: bytes) -> list[str]:
    """Decode the URL, the page that linked to it, the path, and the text from which ``queue_of_words`` makes the queue.

    Raises ``ValueError`` for a body written by a later version.
    """
    number, size = kept[0], len(kept) - 1
    if number == 0:
        text = kept[1:]
    elif number == _NUMBER:
        header = _HEADERS[size] if size < len(_HEADERS) else _header(size)
        text = _codec().decompressor.decompress(header + kept[1:], _MAX_RECORD_LENGTH)
    else:
        raise ValueError(f"a queued URL was written with dictionary {number}, which this version does not have")
    return text.decode().split("\n")


def queue_of_words(url: str, named: str) -> str:
    """Return the queue of a URL, given the text that its body stores for it."""
    return named[1:] if named[0] == "=" else ".".join(_host(url).split(".")[-int(named) :])


def packed_body(body: Body) -> bytes:
    """Return the uncompressed body; the queue is stored as a number of labels of the host if possible, else in full."""
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
"""The headers of blocks of the most common lengths."""


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
    """The compressor and decompressor of one thread, because neither is thread-safe."""

    def __init__(self) -> None:
        self.compressor = zstandard.ZstdCompressor(dict_data=_dictionary(), compression_params=_parameters())
        self.decompressor = zstandard.ZstdDecompressor(dict_data=_dictionary(), format=zstandard.FORMAT_ZSTD1_MAGICLESS)


@cache
def _codec() -> _Codec:
    return _Codec()


_HEAD = struct.Struct(">c12s4s")
_LETTERS = {Wish.SCORE: b"s", Wish.FRONT: b"f", Wish.BLOCK: b"b"}
_EFFECTS = {
    "a": Effect.ADDED,
    "r": Effect.RESCORED,
    "b": Effect.BLOCKED,
    "k": Effect.KNOWN,
    "!": Effect.MISUSED,
}


def pack_posts(posts: Iterable[Post]) -> bytes:
    """Pack posts one after another. Raises ValueError for an offer that a frontier cannot store."""
    return b"".join(
        _HEAD.pack(_LETTERS[post.wish], post.key, post.content) + pack_offers((post.offer,)) for post in posts
    )


def unpack_posted(letters: bytes) -> tuple[Posted, ...]:
    """Decode the response of ``lua/post.lua``: effect (in capitals if repeated) and state of each post."""
    words = letters.decode()
    return tuple(map(_posted, words[::2], words[1::2]))


@cache
def _posted(effect: str, state: str) -> Posted:
    return Posted(_EFFECTS[effect.lower()], STATES.get(state.encode()), effect.isupper())


def unpack_status(raw: bytes, reason: str = "") -> UrlStatus:
    """Decode what the server stores for a URL; ``reason`` is why a URL that kept its record is blocked."""
    if not is_record(raw):
        return UrlStatus(state_of(raw), None, reason=reason_of(raw))
    record = Record.unpack(raw)
    return UrlStatus(record.state, record.offer(), record.is_at_front, reason)

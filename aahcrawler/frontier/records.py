"""URLs as the frontier's server keeps them: fingerprints, packed offers, and the records of queued and leased URLs.

The encodings mirror ``lua/state.lua`` and ``lua/offers.lua``; ``FORMAT`` counts their versions.
"""

import struct
from collections.abc import Iterable
from hashlib import blake2b
from math import isfinite

from aahcrawler.frontier.protocol import Kind, Lease, Offer, QueueCounts, State

FORMAT = 1

STATES = {b"q": State.QUEUED, b"l": State.LEASED, b"d": State.DONE, b"f": State.FAILED, b"b": State.BLOCKED}
LETTERS = {state: letter.decode() for letter, state in STATES.items()}

_KINDS: dict[bytes, Kind] = {b"p": "page", b"r": "requisite"}
_KIND_LETTERS: dict[Kind, bytes] = {kind: letter for letter, kind in _KINDS.items()}
_OFFER_HEAD = struct.Struct(">8scHdB")
_RECORD_HEAD = struct.Struct(">ccHHId5sB")
_QUEUE = struct.Struct(">cB5sdB5sdIIII")
_LENGTH = struct.Struct(">I")
_MILLION = 1_000_000
_MAX_DEPTH = 65_535
_MAX_SCORE = 1e9
_FRONT = b"P"
"""The kind of a page that was moved to the front, above all scores."""


def fingerprint(url: str) -> bytes:
    """Return the eight bytes a URL is known by.

    Two URLs of one crawl share them with a probability of 3 in a million at 10 million URLs and 3 % at a billion;
    the later of the two is then taken for the earlier one.

    >>> fingerprint("http://a.test/").hex() == fingerprint("http://a.test/").hex()
    True
    >>> len(fingerprint("http://a.test/"))
    8
    """
    return blake2b(url.encode(), digest_size=8).digest()


def pack_offers(offers: Iterable[Offer]) -> bytes:
    """Pack offers one after another. Raise ValueError for one that a frontier cannot keep, saying which and why."""
    return b"".join(_pack(offer) for offer in offers)


def _pack(offer: Offer) -> bytes:
    queue = offer.queue.encode()
    _check(offer, queue)
    hops = f"\n{offer.redirects}" if offer.redirects else ""
    body = f"{offer.url}\n{offer.via}{hops}".encode()
    head = _OFFER_HEAD.pack(
        fingerprint(offer.url),
        _KIND_LETTERS[offer.kind],
        min(offer.depth, _MAX_DEPTH),
        round(offer.score * _MILLION),
        len(queue),
    )
    return b"".join((head, queue, _LENGTH.pack(len(body)), body))


def _check(offer: Offer, queue: bytes) -> None:
    if not isfinite(offer.score) or abs(offer.score) > _MAX_SCORE:
        raise ValueError(f"the score of {offer.url} is {offer.score}; give a finite number below a billion")
    if not 0 < len(queue) <= 255 or b"\0" in queue:
        raise ValueError(f"{offer.queue!r} cannot name the queue of {offer.url}; use urls.queue_of")
    if offer.depth < 0 or not offer.url or "\n" in offer.url + offer.via:
        raise ValueError(f"{offer.url!r} at depth {offer.depth} cannot be queued; offer canonical URLs, depth from 0")


def unpack_offer(record: bytes) -> Offer:
    """Return what a queued or leased URL's record says, its present score included."""
    _state, kind, _attempt, depth, offers, value, _sequence, length = _RECORD_HEAD.unpack_from(record)
    start = _RECORD_HEAD.size + length
    url, via, *hops = record[start:].decode().split("\n")
    queue = record[_RECORD_HEAD.size : start].decode()
    return Offer(url, queue, _score(value, offers), depth, _KINDS[kind.lower()], via, int(hops[0]) if hops else 0)


def unpack_lease(token: bytes, record: bytes) -> Lease:
    """Return the lease of a URL that has just been leased."""
    offer = unpack_offer(record)
    attempt = _RECORD_HEAD.unpack_from(record)[2]
    return Lease(
        offer.url,
        offer.queue,
        offer.score,
        offer.depth,
        offer.kind,
        offer.via,
        attempt,
        token.decode(),
        offer.redirects,
    )


def unpack_queue(raw: bytes) -> QueueCounts:
    """Return the counts in the record of a queue."""
    pages, requisites, leased, done = _QUEUE.unpack(raw)[-4:]
    return QueueCounts(pages, leased, done, requisites)


def is_at_front(record: bytes) -> bool:
    """Say whether a queued or leased URL's record is that of a page that was moved to the front."""
    return record[1:2] == _FRONT


def order(record: bytes) -> tuple[int, float, int, int]:
    """Return what queued URLs sort by: those at the front, the best, requisites before pages, the earliest offered.

    >>> from operator import lt
    >>> lt((1, -1.0, 0, 7), (1, -0.5, 0, 3))
    True
    """
    _state, kind, _attempt, _depth, offers, value, sequence, _length = _RECORD_HEAD.unpack_from(record)
    return 0 if kind == _FRONT else 1, -_score(value, offers), 0 if kind == b"r" else 1, int.from_bytes(sequence, "big")


def _score(value: float, offers: int) -> float:
    return (value if offers == 1 else (value / offers + 0.5) // 1) / _MILLION

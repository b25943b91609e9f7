"""Encodes posts from outside the crawl for the frontier's server, and decodes its responses."""

import struct
from collections.abc import Iterable
from functools import cache

from aahcrawler.frontier.posting import Effect, Post, Posted, UrlStatus, Wish
from aahcrawler.frontier.redis import url_records

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
        _HEAD.pack(_LETTERS[post.wish], post.key, post.content) + url_records.pack_offers((post.offer,))
        for post in posts
    )


def unpack_posted(letters: bytes) -> tuple[Posted, ...]:
    """Decode the response of ``lua/post.lua``: effect (in capitals if repeated) and state of each post."""
    words = letters.decode()
    return tuple(map(_posted, words[::2], words[1::2]))


@cache
def _posted(effect: str, state: str) -> Posted:
    return Posted(_EFFECTS[effect.lower()], url_records.STATES.get(state.encode()), effect.isupper())


def unpack_status(raw: bytes, reason: str = "") -> UrlStatus:
    """Decode what the server stores of a URL; ``reason`` is why one that kept its record is blocked."""
    if not url_records.is_record(raw):
        return UrlStatus(url_records.state_of(raw), None, reason=url_records.reason_of(raw))
    record = url_records.Record.unpack(raw)
    return UrlStatus(record.state, record.offer(), record.is_at_front, reason)

"""The keys of one partition of a crawl, and the Lua scripts that act on them atomically.

``lua/state.lua`` lists the keys. All have the same hash tag, so that one node of a cluster holds them.
"""

import math
import struct
import time
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast
from urllib.parse import quote

from redis import Redis
from redis.commands.core import Script

from aahcrawler.frontier.protocol import FrontierSettings, FrontierUnavailableError, Update
from aahcrawler.frontier.redis import url_records
from aahcrawler.frontier.redis.redis_client import unavailable

PER_CALL: Final = 500
"""The most items that one script works on, so that it occupies the server for some ten milliseconds."""
MICRO: Final = 1_000_000

_CONTEXT = struct.Struct(">dcIIIdIIHH")
_UPDATES = {Update.FIRST: b"f", Update.LAST: b"l", Update.MAX: b"m", Update.SUM: b"s", Update.AVG: b"a"}
_LOAD = 32
"""URLs in a hash (``lua/records.lua``): few enough to search one by one, enough for the hash's key to cost little."""
_CHUNK = 128
"""URLs of a queue in one zset (``lua/order.lua``): as many as servers keep in packed form by default."""
_UNBOUNDED = 2**32 - 1
_MAX_COUNTED_SECONDS = 10.0
"""The most seconds between two calls of one process that the server counts (``lua/clock.lua``)."""


class Keyspace:
    """The keys of a crawl in one partition.

    ``client`` must not decode responses; ``tag`` is the partition's hash tag. ``clock`` returns seconds; if it is None,
    the server's clock is used, so the clocks of workers need not agree. Raises ``FrontierUnavailableError`` if the
    server cannot be reached or stores this crawl in another format.
    """

    def __init__(
        self, client: Redis, tag: str, crawl: str, settings: FrontierSettings, clock: Callable[[], float] | None = None
    ) -> None:
        self.client = client
        self._tag = tag
        self._settings = settings
        self._pages: int | None = None
        self._clock = clock
        self._called = -math.inf
        self._crawl = quote(crawl, safe="")
        self._own = f"{tag}:c:{self._crawl}:"
        self._scripts = load(client)
        self._check_format(crawl)

    def use(self, settings: FrontierSettings) -> None:
        """Use other settings from the next call on."""
        self._settings, self._pages = settings, None

    def bound_pages(self, pages: int) -> None:
        """Limit the leased and done pages of this partition to ``pages``, whatever the settings say."""
        self._pages = pages

    def call(self, script: str, *arguments: bytes | str | float) -> Any:
        """Run a script for this crawl."""
        with unavailable():
            return self._scripts[script](keys=[self._tag], args=[self._crawl, self._context(), *arguments])

    def key(self, name: str) -> str:
        """Return the name of one of the crawl's keys."""
        return self._own + name

    def shared(self, name: str) -> str:
        """Return the name of a key that all crawls share."""
        return f"{self._tag}:s:{name}"

    def buckets(self) -> int:
        """Return the number of hashes among which URLs are divided."""
        with unavailable():
            return int(cast("bytes | None", self.client.hget(self.key("counts"), "buckets")) or 1)

    def queues(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the id and the record of each queue; a queue created meanwhile may be missing."""
        yield from self.client.hscan_iter(self.key("queues"), count=PER_CALL)

    def _context(self) -> bytes:
        settings = self._settings
        return _CONTEXT.pack(
            self._time(),
            _UPDATES[settings.update],
            settings.balance,
            (settings.pages or _UNBOUNDED) if self._pages is None else self._pages,
            settings.pages_per_queue,
            micros(settings.lease_seconds),
            settings.attempts,
            settings.connections,
            _LOAD,
            _CHUNK,
        )

    def _time(self) -> int:
        """Return the time in microseconds; for the server's clock, -1 minus the time since the previous call."""
        if self._clock is not None:
            return round(self._clock() * MICRO)
        before, self._called = self._called, time.monotonic()
        return -1 - round(min(self._called - before, _MAX_COUNTED_SECONDS) * MICRO)

    def _check_format(self, crawl: str) -> None:
        with unavailable():
            pipeline = self.client.pipeline(transaction=True)
            pipeline.set(self.key("format"), url_records.FORMAT, nx=True)
            pipeline.get(self.key("format"))
            kept = int(pipeline.execute()[1])
        if kept != url_records.FORMAT:
            raise FrontierUnavailableError(
                f"the frontier of crawl {crawl!r} is kept in format {kept}, this version reads {url_records.FORMAT}; "
                "go on with the version that began the crawl, or give the crawl another id"
            )


def micros(seconds: float) -> int:
    """Convert seconds to microseconds. Raises ``ValueError`` for a negative or excessive number of seconds."""
    if not 0 <= seconds < MICRO * MICRO:
        raise ValueError(f"{seconds} is no number of seconds to wait; give one from 0")
    return round(seconds * MICRO)


_STATE = ("state", "clock", "records", "politeness", "order", "queues")
_PARTS = {
    "offer": (*_STATE, "offers", "offer"),
    "rescore": (*_STATE, "rescore"),
    "lease": (*_STATE, "held", "leases", "lease"),
    "finish": (*_STATE, "leases", "offers", "finish"),
    "retry": (*_STATE, "leases", "retry"),
    "release": (*_STATE, "leases", "release"),
    "renew": (*_STATE, "leases", "renew"),
    "remember": (*_STATE, "leases", "remember"),
    "recover": (*_STATE, "leases", "recover"),
    "place": (*_STATE, "place"),
    "next_ready": (*_STATE, "held", "next_ready"),
    "post": (*_STATE, "held", "offers", "post"),
    "block": (*_STATE, "held", "leases", "block"),
    "unblock": (*_STATE, "held", "unblock"),
    "again": (*_STATE, "held", "again"),
    "restore": (*_STATE, "held", "restore"),
    "restore_queues": (*_STATE, "restore_queues"),
    "pause_queue": (*_STATE, "pause_queue"),
    "counts": ("state", "counts"),
    "known": ("state", "records", "known"),
    "best": (*_STATE, "best"),
    "walk": (*_STATE, "walk"),
    "buckets": ("state", "buckets"),
    "queue_records": ("state", "queue_records"),
    "ahead": (*_STATE, "ahead"),
    "standings": ("state", "clock", "politeness", "standings"),
    "claim": ("claim",),
    "unclaim": ("unclaim",),
    "reclaim": ("reclaim",),
}


@cache
def source(name: str) -> str:
    """Return the source of one script, including the parts it builds on."""
    folder = files("aahcrawler.frontier.redis") / "lua"
    return "\n".join((folder / f"{part}.lua").read_text(encoding="utf-8") for part in _PARTS[name])


def load(client: Redis) -> dict[str, Script]:
    """Return every script by name. Scripts are called by hash, and sent again to a server that has lost them."""
    return {name: client.register_script(source(name)) for name in _PARTS}

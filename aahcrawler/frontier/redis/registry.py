"""The registry of crawls on a Redis-protocol server.

Keys, all with one hash tag: ``crawls`` is a hash of JSON objects by the crawls' ids, ``definition:ID`` the compressed
newest definition of one, ``topic:ID`` the state of its topic, ``format`` the version of all this.
"""

import base64
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from redis import Redis
from redis.client import Pipeline
from redis.exceptions import WatchError

from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.registry import (
    LARGEST,
    MAX_CRAWLS,
    CrawlState,
    Definition,
    Registered,
    RegistryError,
    UnknownCrawlError,
)

TAG = "{aah}"
"""The hash tag of what a server keeps for all workers, beside the frontiers of crawls."""
FORMAT = 1

_MAX_PACKED = 2 * LARGEST
_T = TypeVar("_T")


class RedisRegistry:
    """The registry of a server; instances in any number of threads, processes and machines may share it.

    ``server`` is a client that does not decode responses, or its URL. ``clock`` returns the time in UTC. Raises
    ``FrontierUnavailableError`` when the server cannot be reached, and ``RegistryError`` where its registry is in
    another format.
    """

    def __init__(self, server: Redis | str, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._clock = clock
        self._check_format()

    def submit(
        self,
        crawl: str,
        definition: Definition,
        *,
        title: str = "",
        number: int = 0,
        begun_at: datetime | None = None,
    ) -> Registered:
        """See ``Registry.submit``."""
        packed = _packed(definition)

        def change(pipeline: Pipeline, known: Registered | None, kept: bytes | None) -> Registered:
            now = self._clock()
            submitted = Registered(crawl, max(1, number), 1, CrawlState.ACTIVE, "", now, begun_at or now, title)
            if known is not None:
                is_later = number > known.number
                submitted = replace(
                    submitted,
                    number=max(number, known.number),
                    version=known.version + (kept != packed),
                    changed_at=known.changed_at if known.state is CrawlState.ACTIVE and not is_later else now,
                    begun_at=submitted.begun_at if is_later else known.begun_at,
                )
            elif pipeline.hlen(_key("crawls")) >= MAX_CRAWLS:
                raise RegistryError(f"the server knows {MAX_CRAWLS:,} crawls already; give some another server")
            pipeline.multi()
            pipeline.hset(_key("crawls"), crawl, _written(submitted))
            pipeline.set(_key(f"definition:{crawl}"), packed)
            return submitted

        return self._changed(crawl, change)

    def crawls(self) -> Sequence[Registered]:
        """See ``Registry.crawls``."""
        with unavailable():
            found = cast("dict[bytes, bytes]", self._client.hgetall(_key("crawls")))
        return tuple(sorted((_read(name.decode(), entry) for name, entry in found.items()), key=lambda each: each.id))

    def definition(self, crawl: str) -> tuple[int, Definition]:
        """See ``Registry.definition``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.hget(_key("crawls"), crawl)
            pipeline.get(_key(f"definition:{crawl}"))
            entry, packed = pipeline.execute()
        if entry is None or packed is None:
            raise UnknownCrawlError(f"the server knows no crawl {crawl!r}; submit it first")
        return _read(crawl, entry).version, _unpacked(crawl, packed)

    def end(self, crawl: str, number: int, reason: str) -> bool:
        """See ``Registry.end``."""

        def change(pipeline: Pipeline, known: Registered | None, _: bytes | None) -> bool:
            pipeline.multi()
            if known is None or (known.number, known.state) != (number, CrawlState.ACTIVE):
                return False
            ended = replace(known, state=CrawlState.ENDED, reason=reason, changed_at=self._clock())
            pipeline.hset(_key("crawls"), crawl, _written(ended))
            return True

        return self._changed(crawl, change)

    def keep_topic(self, crawl: str, number: int, topic: str) -> None:
        """See ``Registry.keep_topic``."""
        content = json.dumps({"number": number, "topic": topic}).encode()
        with unavailable():
            self._client.set(_key(f"topic:{crawl}"), zlib.compress(content))

    def topic(self, crawl: str, number: int) -> str | None:
        """See ``Registry.topic``."""
        with unavailable():
            packed = cast("bytes | None", self._client.get(_key(f"topic:{crawl}")))
        if packed is None:
            return None
        entry = _object(_inflated(crawl, packed), f"the topic of crawl {crawl!r}")
        return str(entry.get("topic")) if entry.get("number") == number else None

    def close(self) -> None:
        """Close the connection; the server's data stay."""
        self._client.close()

    def _changed(self, crawl: str, change: Callable[[Pipeline, Registered | None, bytes | None], _T]) -> _T:
        """Make a change atomically, repeating it where another client has changed the same crawl meanwhile."""
        definition = _key(f"definition:{crawl}")
        with unavailable(), self._client.pipeline(transaction=True) as pipeline:
            while True:
                pipeline.watch(_key("crawls"), definition)  # type: ignore[no-untyped-call]
                entry = cast("bytes | None", pipeline.hget(_key("crawls"), crawl))
                kept = cast("bytes | None", pipeline.get(definition))
                changed = change(pipeline, None if entry is None else _read(crawl, entry), kept)
                with suppress(WatchError):
                    pipeline.execute()
                    return changed

    def _check_format(self) -> None:
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.set(_key("format"), FORMAT, nx=True)
            pipeline.get(_key("format"))
            kept = pipeline.execute()[1]
        if kept != str(FORMAT).encode():
            raise RegistryError(
                f"the server keeps its registry of crawls in format {kept!r}, this version reads {FORMAT}; "
                "use the version that began it, or another server"
            )


def _key(name: str) -> str:
    return f"{TAG}:{name}"


def _packed(definition: Definition) -> bytes:
    files = {name: base64.b64encode(content).decode() for name, content in sorted(definition.files.items())}
    entry = {"text": base64.b64encode(definition.text).decode(), "files": files}
    return zlib.compress(json.dumps(entry).encode())


def _unpacked(crawl: str, packed: bytes) -> Definition:
    what = f"the definition of crawl {crawl!r}"
    entry = _object(_inflated(crawl, packed), what)
    try:
        files = {str(name): base64.b64decode(content) for name, content in dict(entry["files"]).items()}
        return Definition(base64.b64decode(entry["text"]), files)
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(what) from error


def _inflated(crawl: str, packed: bytes) -> bytes:
    inflate = zlib.decompressobj()
    try:
        content = inflate.decompress(packed, _MAX_PACKED)
    except zlib.error as error:
        raise _damaged(f"what is kept of crawl {crawl!r}") from error
    if not inflate.eof:
        raise _damaged(f"what is kept of crawl {crawl!r}")
    return content


def _object(content: bytes, what: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(content)
    except ValueError as error:
        raise _damaged(what) from error
    if not isinstance(entry, dict):
        raise _damaged(what)
    return entry


def _damaged(what: str) -> RegistryError:
    return RegistryError(f"{what} cannot be read on the server; submit the crawl again")


def _written(crawl: Registered) -> bytes:
    return json.dumps(
        {
            "number": crawl.number,
            "version": crawl.version,
            "state": crawl.state,
            "reason": crawl.reason,
            "changed_at": crawl.changed_at.isoformat(),
            "begun_at": crawl.begun_at.isoformat(),
            "title": crawl.title,
        }
    ).encode()


def _read(crawl: str, content: bytes) -> Registered:
    entry = _object(content, f"the entry of crawl {crawl!r}")
    try:
        return Registered(
            crawl,
            int(entry["number"]),
            int(entry["version"]),
            CrawlState(entry["state"]),
            str(entry["reason"]),
            datetime.fromisoformat(entry["changed_at"]),
            datetime.fromisoformat(entry["begun_at"]),
            str(entry["title"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(f"the entry of crawl {crawl!r}") from error

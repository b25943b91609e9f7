"""What crawls and workers share on a Redis-protocol server: the registry of crawls, the register of workers, the log.

All keys have one hash tag: ``crawls`` is a hash of JSON objects by the crawls' ids, ``definition:ID`` the compressed
newest definition of a crawl, ``topic:ID`` the state of its topic, ``format`` the version of this format.
"""

import base64
import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from redis import Redis
from redis.client import Pipeline
from redis.exceptions import WatchError

from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.registry import (
    MAX_CRAWLS,
    MAX_DEFINITION_BYTES,
    MAX_EVENT_LENGTH,
    SILENCE,
    CrawlState,
    Definition,
    Doing,
    EventLog,
    Presence,
    Registered,
    Registry,
    RegistryError,
    UnknownCrawlError,
    Worker,
    WorkerEvent,
)

TAG = "{aah}"
"""The hash tag of all keys that workers share, besides the frontiers of crawls."""
FORMAT = 1

_MAX_PACKED = 2 * MAX_DEFINITION_BYTES
_T = TypeVar("_T")


class RedisRegistry:
    """The registry of a server; instances in any number of threads, processes and machines may share it.

    ``server`` is a client that does not decode responses, or its URL. ``clock`` returns the time in UTC. Raises
    ``FrontierUnavailableError`` if the server cannot be reached, and ``RegistryError`` if its registry has another
    format.
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
            elif pipeline.hlen(_crawl_key("crawls")) >= MAX_CRAWLS:
                raise RegistryError(f"the server knows {MAX_CRAWLS:,} crawls already; give some another server")
            pipeline.multi()
            pipeline.hset(_crawl_key("crawls"), crawl, _written_crawl(submitted))
            pipeline.set(_crawl_key(f"definition:{crawl}"), packed)
            return submitted

        return self._changed(crawl, change)

    def crawls(self) -> Sequence[Registered]:
        """See ``Registry.crawls``."""
        with unavailable():
            found = cast("dict[bytes, bytes]", self._client.hgetall(_crawl_key("crawls")))
        return tuple(
            sorted((_read_crawl(name.decode(), entry) for name, entry in found.items()), key=lambda each: each.id)
        )

    def definition(self, crawl: str) -> tuple[int, Definition]:
        """See ``Registry.definition``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.hget(_crawl_key("crawls"), crawl)
            pipeline.get(_crawl_key(f"definition:{crawl}"))
            entry, packed = pipeline.execute()
        if entry is None or packed is None:
            raise UnknownCrawlError(f"the server knows no crawl {crawl!r}; submit it first")
        return _read_crawl(crawl, entry).version, _unpacked(crawl, packed)

    def end(self, crawl: str, number: int, reason: str) -> bool:
        """See ``Registry.end``."""

        def change(pipeline: Pipeline, known: Registered | None, _: bytes | None) -> bool:
            pipeline.multi()
            if known is None or (known.number, known.state) != (number, CrawlState.ACTIVE):
                return False
            ended = replace(known, state=CrawlState.ENDED, reason=reason, changed_at=self._clock())
            pipeline.hset(_crawl_key("crawls"), crawl, _written_crawl(ended))
            return True

        return self._changed(crawl, change)

    def keep_topic(self, crawl: str, number: int, topic: str) -> None:
        """See ``Registry.keep_topic``."""
        content = json.dumps({"number": number, "topic": topic}).encode()
        with unavailable():
            self._client.set(_crawl_key(f"topic:{crawl}"), zlib.compress(content))

    def topic(self, crawl: str, number: int) -> str | None:
        """See ``Registry.topic``."""
        with unavailable():
            packed = cast("bytes | None", self._client.get(_crawl_key(f"topic:{crawl}")))
        if packed is None:
            return None
        entry = _object(_inflated(crawl, packed), f"the topic of crawl {crawl!r}")
        return str(entry.get("topic")) if entry.get("number") == number else None

    def close(self) -> None:
        """Close the connection; the server's data stay."""
        self._client.close()

    def _changed(self, crawl: str, change: Callable[[Pipeline, Registered | None, bytes | None], _T]) -> _T:
        """Make a change atomically, repeating it if another client changes the same crawl meanwhile."""
        definition = _crawl_key(f"definition:{crawl}")
        with unavailable(), self._client.pipeline(transaction=True) as pipeline:
            while True:
                pipeline.watch(_crawl_key("crawls"), definition)  # type: ignore[no-untyped-call]
                entry = cast("bytes | None", pipeline.hget(_crawl_key("crawls"), crawl))
                kept = cast("bytes | None", pipeline.get(definition))
                changed = change(pipeline, None if entry is None else _read_crawl(crawl, entry), kept)
                with suppress(WatchError):
                    pipeline.execute()
                    return changed

    def _check_format(self) -> None:
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.set(_crawl_key("format"), FORMAT, nx=True)
            pipeline.get(_crawl_key("format"))
            kept = pipeline.execute()[1]
        if kept != str(FORMAT).encode():
            raise RegistryError(
                f"the server keeps its registry of crawls in format {kept!r}, this version reads {FORMAT}; "
                "use the version that began it, or another server"
            )


def _crawl_key(name: str) -> str:
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


def _written_crawl(crawl: Registered) -> bytes:
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


def _read_crawl(crawl: str, content: bytes) -> Registered:
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


class RedisPresence:
    """Presence on a Redis-protocol server; ``silence``, in seconds, is how long an entry lasts without a heartbeat.

    Keys: ``worker:NAME``, which expires, for each member of the set ``workers``; ``office:OFFICE`` holds the name of
    the worker with that role.
    """

    def __init__(self, server: Redis | str, silence: float = SILENCE) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._milliseconds = round(silence * 1000)
        self._roles: dict[str, set[str]] = {}
        self._hold = self._client.register_script(_HOLD)
        self._leave = self._client.register_script(_LEAVE)

    def heartbeat(self, worker: Worker) -> None:
        """See ``Presence.heartbeat``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.sadd(_worker_key("workers"), worker.name)
            pipeline.set(_worker_key(f"worker:{worker.name}"), _written_worker(worker), px=self._milliseconds)
            pipeline.execute()

    def leave(self, name: str) -> None:
        """See ``Presence.leave``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.srem(_worker_key("workers"), name)
            pipeline.delete(_worker_key(f"worker:{name}"))
            pipeline.execute()
            for role in self._roles.pop(name, ()):
                self._leave(keys=[_worker_key(f"office:{role}")], args=[name])

    def workers(self) -> Sequence[Worker]:
        """See ``Presence.workers``. Unreadable entries are left out."""
        with unavailable():
            names = sorted(cast("set[bytes]", self._client.smembers(_worker_key("workers"))))
            if not names:
                return ()
            contents = cast(
                "list[bytes | None]", self._client.mget([_worker_key("worker:").encode() + name for name in names])
            )
            silent = [name for name, content in zip(names, contents, strict=True) if content is None]
            if silent:
                self._client.srem(_worker_key("workers"), *silent)
        found = (_read_worker(content) for content in contents if content is not None)
        return tuple(worker for worker in found if worker is not None)

    def hold(self, role: str, name: str) -> bool:
        """See ``Presence.hold``."""
        with unavailable():
            held = bool(self._hold(keys=[_worker_key(f"office:{role}")], args=[name, self._milliseconds]))
        if held:
            self._roles.setdefault(name, set()).add(role)
        return held

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


_HOLD = """
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""
_LEAVE = """
if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
"""


def _worker_key(name: str) -> str:
    return f"{TAG}:{name}"


def _written_worker(worker: Worker) -> bytes:
    return json.dumps(
        {
            "name": worker.name,
            "host": worker.host,
            "pid": worker.pid,
            "started_at": worker.started_at,
            "folder": worker.folder,
            "software": worker.software,
            "crawls": {crawl: dict(numbers) for crawl, numbers in worker.crawls.items()},
            "doing": worker.doing,
        }
    ).encode()


def _read_worker(content: bytes) -> Worker | None:
    try:
        fields: dict[str, Any] = json.loads(content)
        doing = {crawl: Doing(tuple(sites), *more) for crawl, (sites, *more) in fields.pop("doing", {}).items()}
        return Worker(**fields, doing=doing)
    except (TypeError, ValueError, AttributeError):
        return None


@dataclass(frozen=True, slots=True)
class Server:
    """The services of a shared server that workers use; ``address`` is the URL at which the frontiers are.

    ``disconnect`` interrupts every call that waits for a response; such a call raises an unspecified error.
    """

    address: str
    registry: Registry
    presence: Presence
    events: EventLog
    disconnect: Callable[[], None] = lambda: None


@contextmanager
def connected(address: str) -> Iterator[Server]:
    """Connect to the server at a URL, for use by any number of threads within the ``with`` block.

    Raises ``FrontierUnavailableError`` if it cannot be reached, and ``RegistryError`` for a registry of another
    version.
    """
    client = connect(address)
    try:
        yield Server(address, RedisRegistry(client), RedisPresence(client), RedisEventLog(client), client.close)
    finally:
        client.close()


MAX_EVENTS = 100_000
"""About how many events are kept; the oldest are dropped."""
_AT_ONCE = 1000


class RedisEventLog:
    """Events on a Redis-protocol server, in the stream ``events``; at least ``most`` of them are kept."""

    def __init__(self, server: Redis | str, most: int = MAX_EVENTS) -> None:
        self._client = connect(server) if isinstance(server, str) else server
        self._most = most

    def put(self, events: Sequence[WorkerEvent]) -> None:
        """See ``EventLog.put``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=False)
            for event in events:
                pipeline.xadd(_STREAM, dict(_event_fields(event)), maxlen=self._most, approximate=True)
            pipeline.execute()

    def read(self, after: str = "") -> Iterator[tuple[str, WorkerEvent]]:
        """See ``EventLog.read``."""
        while True:
            with unavailable():
                part = cast(
                    "list[tuple[bytes, dict[bytes, bytes]]]",
                    self._client.xrange(_STREAM, f"({after}" if after else "-", count=_AT_ONCE),
                )
            for place, fields in part:
                after = place.decode()
                yield after, _read_event(fields)
            if len(part) < _AT_ONCE:
                return

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


_STREAM = f"{TAG}:events"


def _event_fields(event: WorkerEvent) -> Iterator[tuple[str, str]]:
    yield from {
        "at": f"{event.at.timestamp():.3f}",
        "worker": event.worker,
        "crawl": event.crawl,
        "level": event.level,
        "subsystem": event.subsystem,
        "message": event.message[:MAX_EVENT_LENGTH].encode("utf-8", "replace").decode(),
    }.items()


def _read_event(fields: Mapping[bytes, bytes]) -> WorkerEvent:
    texts = {name.decode("utf-8", "replace"): value.decode("utf-8", "replace") for name, value in fields.items()}
    try:
        at = datetime.fromtimestamp(float(texts.get("at", "")), UTC)
    except (ValueError, OverflowError, OSError):
        at = datetime.fromtimestamp(0, UTC)
    return WorkerEvent(at, *(texts.get(name, "") for name in ("worker", "crawl", "level", "subsystem", "message")))

"""The register of workers on a shared Redis-protocol server (see ``aahcrawler.frontier.registry``)."""

import json
from collections.abc import Sequence
from typing import Any, cast

from redis import Redis

from aahcrawler.frontier.redis.redis_client import connect, unavailable
from aahcrawler.frontier.redis.registry import TAG
from aahcrawler.frontier.registry import SILENCE, Doing, Worker


class RedisPresence:
    """Presence on a Redis-protocol server. ``silence`` is in seconds.

    Keys: ``worker:NAME``, which expires, for each of the set ``workers``; ``office:OFFICE`` holds the name of a worker.
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
            pipeline.sadd(_key("workers"), worker.name)
            pipeline.set(_key(f"worker:{worker.name}"), _written(worker), px=self._milliseconds)
            pipeline.execute()

    def leave(self, name: str) -> None:
        """See ``Presence.leave``."""
        with unavailable():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.srem(_key("workers"), name)
            pipeline.delete(_key(f"worker:{name}"))
            pipeline.execute()
            for role in self._roles.pop(name, ()):
                self._leave(keys=[_key(f"office:{role}")], args=[name])

    def workers(self) -> Sequence[Worker]:
        """See ``Presence.workers``. Unreadable entries are left out."""
        with unavailable():
            names = sorted(cast("set[bytes]", self._client.smembers(_key("workers"))))
            if not names:
                return ()
            contents = cast(
                "list[bytes | None]", self._client.mget([_key("worker:").encode() + name for name in names])
            )
            silent = [name for name, content in zip(names, contents, strict=True) if content is None]
            if silent:
                self._client.srem(_key("workers"), *silent)
        found = (_read(content) for content in contents if content is not None)
        return tuple(worker for worker in found if worker is not None)

    def hold(self, role: str, name: str) -> bool:
        """See ``Presence.hold``."""
        with unavailable():
            held = bool(self._hold(keys=[_key(f"office:{role}")], args=[name, self._milliseconds]))
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


def _key(name: str) -> str:
    return f"{TAG}:{name}"


def _written(worker: Worker) -> bytes:
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


def _read(content: bytes) -> Worker | None:
    try:
        fields: dict[str, Any] = json.loads(content)
        doing = {crawl: Doing(tuple(sites), *more) for crawl, (sites, *more) in fields.pop("doing", {}).items()}
        return Worker(**fields, doing=doing)
    except (TypeError, ValueError, AttributeError):
        return None
